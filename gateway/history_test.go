package gateway_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

// TestCounts has three ways to learn the length of a prompt, which must agree.
func TestCounts(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	s := messages()
	for _, c := range []struct {
		name    string
		members []string
		text    string
	}{
		{"plain", nil, "hello"},
		{"tools", []string{s.tools("f", "g")}, "hello"},
		{"system and thinking", []string{`"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind."}]`, thinks}, "say ünïcödé 😀"},
		{"long", nil, strings.Repeat("many words ", 300)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			body := s.body("sim", c.text, c.members...)
			resp, b := w.post(s.path+"/count_tokens", body)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Request-Id") == "" || resp.Header.Get("X-Weir-Count") != "" {
				t.Fatalf("%s %v: %s", resp.Status, resp.Header, b)
			}
			var counted struct {
				Tokens int `json:"input_tokens"`
			}
			strict(t, b, &counted)
			a := w.ask(s, s.body("sim", c.text, append(c.members, streamed)...))
			if counted.Tokens < 5 || a.Start != counted.Tokens || a.Input != counted.Tokens {
				t.Errorf("counted %d, message_start says %d, the end %d", counted.Tokens, a.Start, a.Input)
			}
		})
	}
	t.Run("without max_tokens", func(t *testing.T) {
		w := *w
		w.tb = t
		resp, b := w.post(s.path+"/count_tokens", `{"model":"sim","messages":[{"role":"user","content":"hi"}]}`)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", resp.Status, b)
		}
		resp, b = w.post(s.path+"/count_tokens", `{"model":"nosuch","messages":[{"role":"user","content":"hi"}]}`)
		if got := s.refusal(t, resp.StatusCode, b); got.Status != http.StatusNotFound {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("estimate", func(t *testing.T) {
		w := *w
		w.tb = t
		resp, b := w.post(s.path+"/count_tokens", s.body("double", "hello"))
		if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Weir-Count") != "estimate" {
			t.Errorf("%s, x-weir-count %q: %s", resp.Status, resp.Header.Get("X-Weir-Count"), b)
		}
	})
}

// TestEngineCounts asks the engine's own tokenizer.
func TestEngineCounts(t *testing.T) {
	t.Parallel()
	w := start(t, options{engine: `tokenize = "vllm"`, script: []enginetest.Script{{Chunks: enginetest.Say("Hi"), Cached: 3}}})
	s := messages()
	resp, b := w.post(s.path+"/count_tokens", s.body("double", "one two three"))
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	strict(t, b, &counted)
	a := w.ask(s, s.body("double", "one two three", streamed))
	if resp.Header.Get("X-Weir-Count") != "" || counted.Tokens == 0 || a.Start != counted.Tokens || a.Input != counted.Tokens || a.Cached != 3 {
		t.Errorf("counted %d (%q), the turn %+v", counted.Tokens, resp.Header.Get("X-Weir-Count"), a)
	}
}

// TestCachedTokens sends the same long prompt twice: the second time the simulated engine has it cached.
func TestCachedTokens(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		body := s.body("sim", s.name+strings.Repeat(" many words", 200), streamed, `"stream_options":{"include_usage":true}`)
		first, second := w.ask(s, body), w.ask(s, body)
		if second.Cached == 0 || second.Cached > second.Input || first.Input != second.Input {
			t.Errorf("first %d of %d, second %d of %d", first.Cached, first.Input, second.Cached, second.Input)
		}
	})
}

// TestAlias asks for a model by a pattern; the answer names it as the client did.
func TestAlias(t *testing.T) {
	t.Parallel()
	w := start(t, options{sim: `aliases = ["claude-*"]`})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		const name = "claude-sonnet-5[1m]"
		if a := w.ask(s, s.body(name, "say hi", streamed)); a.of("text") != "hi" || a.Model != name {
			t.Errorf("got %+v", a)
		}
		_, b := w.post(s.path, s.body(name, "say hi"))
		if a := s.whole(t, b); a.of("text") != "hi" || a.Model != name {
			t.Errorf("got %+v", a)
		}
	})
}

// TestConcurrency holds a tenant to its number of turns.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	w := start(t, options{tenants: "[[tenants]]\nname = \"all\"\nany_key = true\nmax_concurrent = 1\n"})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		gate := make(chan struct{}, 2)
		gate <- struct{}{}
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Gate: gate})
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := st.until("Hello")
		quota := want{status: 429, chatType: "rate_limit_error", code: "rate_limit_exceeded", messagesType: "rate_limit_error", text: "the limit of 1 concurrent requests"}
		resp, b := w.post(s.path, s.body("sim", "say hi", streamed))
		quota.check(t, s, s.refusal(t, resp.StatusCode, b))
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("retry-after %q", resp.Header.Get("Retry-After"))
		}
		k := w.dial(s.path)
		k.request("1", s.body("sim", "say hi"))
		_, e := k.refused(s)
		quota.check(t, s, e)
		k.next()
		gate <- struct{}{}
		if a := s.read(t, append(frames, st.rest()...)); a.of("text") != "Hello again" {
			t.Errorf("got %+v", a)
		}
		eventually(t, "there is room again", func() bool {
			resp, _ := w.post(s.path, s.body("sim", "say hi"))
			return resp.StatusCode == http.StatusOK
		})
	})
}

// TestThinkingReplayed sends thinking back in every form that clients have it.
func TestThinkingReplayed(t *testing.T) {
	t.Parallel()
	w := start(t, options{script: []enginetest.Script{{Chunks: enginetest.Say("Fine.")}}})
	s := messages()
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"r1"}]}`
	use := `{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}`
	for _, c := range []struct {
		name, block string
		in, out     string // of the prompt
	}{
		{name: "signed", block: `{"type":"thinking","thinking":"deep","signature":"weir1.unsealed"}`, in: "<think>\ndeep\n</think>"},
		{name: "signed by others", block: `{"type":"thinking","thinking":"deep","signature":"EqQBCkYIARgC"}`, in: "<think>\ndeep\n</think>"},
		{name: "empty signature", block: `{"type":"thinking","thinking":"deep","signature":""}`, in: "<think>\ndeep\n</think>"},
		{name: "no signature", block: `{"type":"thinking","thinking":"deep"}`, in: "<think>\ndeep\n</think>"},
		{name: "empty text", block: `{"type":"thinking","thinking":"","signature":"weir1.unsealed"}`, out: "<think>\n\n</think>\n\n<tool_call>"},
		{name: "empty text, signed by others", block: `{"type":"thinking","thinking":"","signature":"EqQB"}`, out: "EqQB"},
		{name: "redacted", block: `{"type":"redacted_thinking","data":"EmwKAhgB"}`, out: "EmwKAhgB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			w.double.Requests()
			body := object(`"model":"double"`, `"max_tokens":99`, streamed, thinks, s.tools("f"),
				`"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[`+c.block+`,`+use+`]},`+result+`]`)
			if a := w.ask(s, body); a.of("text") != "Fine." {
				t.Errorf("got %+v", a)
			}
			prompt := w.prompt()
			if !strings.Contains(prompt, c.in) || c.out != "" && strings.Contains(prompt, c.out) || !strings.Contains(prompt, `{"name": "f", "arguments": {"a": 1}}`) {
				t.Errorf("prompt:\n%s", prompt)
			}
		})
	}
}

// TestInterleavedReplay streams think, call, think, call, sends the turn back with its results as a client
// does, and looks for the same order in the next prompt.
func TestInterleavedReplay(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	s := messages()
	const wrote = "<think>\nfirst\n</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1.50,  \"t\": \"x\"}}\n</tool_call>\n" +
		"<think>\nsecond\n</think>\n\n<tool_call>\n{\"name\": \"g\", \"arguments\": {\"t\": \"\\u00e9\"}}\n</tool_call>"
	w.double.Play(enginetest.Script{Chunks: enginetest.Say(wrote[:7], wrote[7:100], wrote[100:])}, enginetest.Script{Chunks: enginetest.Say("Done.")})
	question := `{"role":"user","content":"go"}`
	common := []string{`"model":"double"`, `"max_tokens":99`, streamed, thinks, s.tools("f", "g")}
	a := w.ask(s, object(append(common, `"messages":[`+question+`]`)...))
	if a.kinds() != "reasoning call reasoning call" || a.Finish != "tool_use" {
		t.Fatalf("got %s, %s", plain(a.Blocks), a.Finish)
	}
	first := w.prompt()
	var content, results []string
	for _, b := range a.Blocks {
		if b.Kind == "reasoning" {
			content = append(content, object(`"type":"thinking"`, `"thinking":`+quote(b.Text), `"signature":"weir1.unsealed"`))
			continue
		}
		content = append(content, object(`"type":"tool_use"`, `"id":`+quote(b.ID), `"name":`+quote(b.Name), `"input":`+b.Text))
		// Results come as they are ready: the last call's first.
		results = append([]string{object(`"type":"tool_result"`, `"tool_use_id":`+quote(b.ID), `"content":`+quote("result of "+b.Name))}, results...)
	}
	turn := `{"role":"assistant","content":[` + strings.Join(content, ",") + `]},{"role":"user","content":[` + strings.Join(results, ",") + `]}`
	if a := w.ask(s, object(append(common, `"messages":[`+question+`,`+turn+`]`)...)); a.of("text") != "Done." {
		t.Errorf("got %+v", a)
	}
	second := w.prompt()
	if !strings.HasPrefix(second, first+wrote+"<|im_end|>\n") {
		t.Errorf("the prompt does not continue the first and what the model wrote:\n%s\nfirst:\n%s", second, first)
	}
	rest := second[min(len(second), len(first+wrote)):]
	if f, g := strings.Index(rest, "result of f"), strings.Index(rest, "result of g"); f < 0 || g < f {
		t.Errorf("the results are not in the order of the calls:\n%s", rest)
	}
}

// TestInterleavedOnChat has the same turn on chat, whose clients send back one reasoning and one list.
func TestInterleavedOnChat(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	s := chat()
	a := w.ask(s, s.body("sim", "interleave\ncall f {\"a\":1}\ncall g {\"a\":2}", s.tools("f", "g"), streamed))
	if a.kinds() != "reasoning call reasoning call" || a.Finish != "tool_calls" {
		t.Errorf("got %s, %s", plain(a.Blocks), a.Finish)
	}
}

// TestThinkingWithoutPolicy has a model entry without a template policy: what the client, or else the
// entry, says of thinking must reach the prompt all the same.
func TestThinkingWithoutPolicy(t *testing.T) {
	t.Parallel()
	const entry = "[[models]]\nid = \"NAME\"\nengines = [\"double\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\nthinking = \"NAME\"\n"
	w := start(t, options{more: strings.ReplaceAll(entry, "NAME", "on") + strings.ReplaceAll(entry, "NAME", "off"), script: []enginetest.Script{{Chunks: enginetest.Say("Hi")}}})
	const closed = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
	s := chat()
	for _, c := range []struct {
		name, model, member string
		thinks              bool
	}{
		{"entry on", "on", streamed, true},
		{"entry off", "off", streamed, false},
		{"client off", "on", `"enable_thinking":false`, false},
		{"client's effort none", "on", `"reasoning_effort":"none"`, false},
		{"client's template argument", "on", `"chat_template_kwargs":{"enable_thinking":false}`, false},
		{"client on", "off", `"enable_thinking":true`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			w.double.Requests()
			w.post(s.path, s.body(c.model, "hello", c.member))
			if prompt := w.prompt(); strings.HasSuffix(prompt, closed) == c.thinks {
				t.Errorf("thinks %v, but the prompt is\n%s", c.thinks, prompt)
			}
		})
	}
}
