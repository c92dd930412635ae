package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

// recording is a request that a client made, as it went over the wire.
func recording(tb testing.TB, name string) string {
	tb.Helper()
	raw, err := os.ReadFile(data(tb, "recorded", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(raw, &r); err != nil {
		tb.Fatal(err)
	}
	var body bytes.Buffer // the files are indented, requests are not
	if err := json.Compact(&body, r.Body); err != nil {
		tb.Fatal(err)
	}
	return body.String()
}

// TestSharedSystemPrompt has two users of one client begin their sessions. The client's line that differs in each
// is taken off, so that their prompts are the same from the first token to the end of the system prompt and of the
// tools; where it is left, nothing is shared, and within a session the ledger names it.
func TestSharedSystemPrompt(t *testing.T) {
	t.Parallel()
	one, other := recording(t, "claude-code__cc_text__001"), recording(t, "claude-code__cc_tool__001")
	const mark = "cc_version=2.1.332."
	if !strings.Contains(one, mark+"9a2") || !strings.Contains(other, mark+"28c") {
		t.Fatal("the recordings are not those of two sessions")
	}
	var said struct {
		System []struct{ Text string }
		Tools  []struct {
			Name     string
			Deferred bool `json:"defer_loading"`
		}
	}
	if err := json.Unmarshal([]byte(one), &said); err != nil {
		t.Fatal(err)
	}
	dir := smallFolder(t, nil)
	for _, c := range []struct {
		name, member string
		strips       bool
	}{{"stripped", "", true}, {"left", "strip_preamble = false\n", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, options{
				more:    modelEntry("small", "sim", dirOf(dir)+"aliases = [\"*\"]\ncontext = 1000000\n"),
				tenants: "[[tenants]]\nname = \"all\"\nany_key = true\n" + c.member,
			})
			tp := w.tapped(act)
			ask := func(session, body string) step {
				t.Helper()
				s := messages()
				resp := w.send(w.request(http.MethodPost, s.path+"?beta=true", body, "X-Claude-Code-Session-Id", session))
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%s", resp.Status)
				}
				s.read(t, newStream(t, resp).rest())
				return step{heard: tp.of(t, resp.Header.Get(s.idHeader)), prefix: resp.Header.Get("X-Weir-Prefix")}
			}
			a, b := ask("1", one), ask("2", other)
			shared := sharedIDs(a.ids, b.ids)
			text := len(tokenText(a.ids[:shared])) // of what is shared
			begin, end := len(a.prompt), 0
			for _, s := range said.System[1:] {
				at := strings.Index(a.prompt, s.Text)
				if at < 0 {
					t.Fatalf("the prompt has not %q", s.Text)
				}
				begin, end = min(begin, at), max(end, at+len(s.Text))
			}
			for _, tool := range said.Tools {
				if !tool.Deferred {
					end = max(end, strings.Index(a.prompt, `"name": "`+tool.Name+`"`))
				}
			}
			if c.strips && (text < end || strings.Contains(a.prompt, mark)) || !c.strips && text >= begin {
				t.Errorf("%d bytes are shared; the system prompt begins at %d, with the tools it ends behind %d", text, begin, end)
			}
			if a.prefix != "reused=0; cause=first" || b.prefix != "reused=0; cause=first" {
				t.Errorf("two sessions: %s, %s", a.prefix, b.prefix)
			}

			again := ask("1", strings.Replace(one, mark+"9a2", mark+"0f1", 1))
			want := "cause=header_changed"
			if c.strips {
				want = "cause=none"
			}
			if !strings.HasSuffix(again.prefix, want) {
				t.Errorf("the line changes: %s, want %s", again.prefix, want)
			}
		})
	}
}

// tokenText is the text of tokens of the small vocabulary.
func tokenText(ids []uint32) string {
	var b strings.Builder
	for _, id := range ids {
		if n := int(id) - len(byteTokens()); n >= 0 {
			b.WriteString(markTokens()[n])
			continue
		}
		b.WriteByte('x')
	}
	return b.String()
}
