package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRawControls has clients that send line breaks and escape sequences of terminals raw in their strings: they are
// part of the text, on each surface, and break no frame of the answer.
func TestRawControls(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		const said = "one\ntwo\t\x1b[0m\x01"
		body := strings.ReplaceAll(s.body("double", "TEXT", streamed, s.tools("f")), "TEXT", said)
		body = strings.ReplaceAll(body, `"type":"integer"`, "\"type\":\n\"integer\",\"description\":\"a\nb\"")
		a := w.ask(s, body)
		if a.Fault != nil {
			t.Errorf("the turn failed: %+v", a.Fault)
		}
		if got := w.prompt(); !strings.Contains(got, said) || !strings.Contains(got, `"description": "a\nb"`) {
			t.Errorf("the prompt is %q", got)
		}
	})
}

// TestCompactionOverWindow asks for a summary of a conversation that is over the window: the oldest results of tools give
// way, the newest stay, and what cannot be made short enough is an overflow.
func TestCompactionOverWindow(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: "[[models]]\nid = \"small\"\nengines = [\"sim\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\ntools = \"hermes\"\ncontext = 4096\nmax_output = 512\nmin_room = 512\n"})
	turns := func(n int, result string) string {
		items := []string{object(`"role":"user"`, `"content":"the task"`)}
		for i := range n {
			id := quote(fmt.Sprint("call_", i))
			items = append(items, object(`"type":"function_call"`, `"call_id":`+id, `"name":"f"`, `"arguments":"{}"`),
				object(`"type":"function_call_output"`, `"call_id":`+id, `"output":`+quote(fmt.Sprintf("result %d %s", i, result))))
		}
		return strings.Join(items, ",")
	}
	long := turns(8, strings.Repeat("and more of it, ", 200))
	s := responses()
	ask := func(path, input string) (*http.Response, []byte) {
		return w.post(path, object(`"model":"small"`, s.tools("f"), `"input":[`+input+`]`))
	}
	if resp, b := ask(s.path, long); resp.StatusCode != http.StatusBadRequest || s.refusal(t, resp.StatusCode, b).Code != "context_length_exceeded" {
		t.Fatalf("the conversation is not too long: %s", b)
	}
	resp, b := ask(s.path, long+`,{"type":"compaction_trigger"}`)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, b)
	}
	res := parseResponse(t, b)
	if len(res.Output) != 1 || res.Output[0].Type != "compaction" || res.Output[0].Sealed == "" {
		t.Fatalf("not one compaction: %s", b)
	}
	if resp, b := ask(s.path+"/compact", long); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), `"response.compaction"`) {
		t.Errorf("%s: %s", resp.Status, b)
	}
	next := object(`"type":"compaction"`, `"encrypted_content":`+quote(res.Output[0].Sealed)) + "," + object(`"role":"user"`, `"content":"say on we go"`)
	if resp, b := ask(s.path, next); resp.StatusCode != http.StatusOK || s.whole(t, b).of("text") != "on we go" {
		t.Errorf("going on from it: %s: %s", resp.Status, b)
	}
	hopeless := object(`"role":"user"`, `"content":`+quote(strings.Repeat("words of the user's, ", 2000))) + `,{"type":"compaction_trigger"}`
	if resp, b := ask(s.path, hopeless); resp.StatusCode != http.StatusBadRequest || s.refusal(t, resp.StatusCode, b).Code != "context_length_exceeded" {
		t.Errorf("nothing can be cut: %s: %s", resp.Status, b)
	}
}

// TestGrammarIsCounted has a custom tool with a grammar: the tool is served, and what is not enforced is counted.
func TestGrammarIsCounted(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	const patch = `"tools":[{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},{"type":"custom","name":"note","format":{"type":"text"}}]`
	a := w.ask(responses(), responses().body("sim", "call apply_patch *** Begin Patch", streamed, patch))
	if calls := a.calls(); len(calls) != 1 || calls[0].Name != "apply_patch" || !strings.Contains(calls[0].Text, "*** Begin Patch") {
		t.Errorf("got %+v", a)
	}
	if n := w.metric("weir_tool_grammars_ignored_total"); n != 1 {
		t.Errorf("%v grammars were counted", n)
	}
}

// TestUnkeptIsSealed: an answer that is not kept has its reasoning sealed, whether its client or its tenant wants it so.
func TestUnkeptIsSealed(t *testing.T) {
	t.Parallel()
	s := responses()
	keeps := start(t, options{})
	never := start(t, options{tenants: "[[tenants]]\nname = \"default\"\nany_key = true\nstore = false\n"})
	for _, c := range []struct {
		name   string
		w      *world
		member string
		sealed bool
	}{
		{"kept", keeps, `"store":true`, false},
		{"not kept for the client", keeps, `"store":false`, true},
		{"not kept for the tenant", never, `"store":true`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *c.w
			w.tb = t
			resp, b := w.post(s.path, s.body("sim", "say hi", c.member))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", resp.Status, b)
			}
			res := parseResponse(t, b)
			for _, it := range res.Output {
				if it.Type == "reasoning" && (it.Sealed != "") != c.sealed {
					t.Errorf("sealed as %q", it.Sealed)
				}
			}
			if len(res.Output) < 2 || res.Store == c.sealed {
				t.Errorf("got %s", b)
			}
		})
	}
}
