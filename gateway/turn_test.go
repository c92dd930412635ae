package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

const callF = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"

// plain drops the ids of blocks, which differ between turns.
func plain(blocks []block) string {
	var out []string
	for _, b := range blocks {
		out = append(out, fmt.Sprintf("%s %s%q", b.Kind, b.Name, b.Text))
	}
	return strings.Join(out, " | ")
}

// TestTurns tells what a scripted model writes, and what clients make of it, streamed and not.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	for _, c := range []struct {
		name    string
		members []string // of the request; STOP, NONE and ONE stand for the surface's own
		script  enginetest.Script
		blocks  string
		chat    string // finish
		message string
		cancels bool // the engine is cancelled
	}{
		{name: "text", script: enginetest.Script{Chunks: enginetest.Say("Hel", "lo.")}, blocks: `text "Hello."`, chat: "stop", message: "end_turn"},
		{name: "nothing", script: enginetest.Script{}, chat: "stop", message: "end_turn"},
		{name: "cut", script: enginetest.Script{Chunks: enginetest.Say("Hel"), Finish: "length"}, blocks: `text "Hel"`, chat: "length", message: "max_tokens"},
		{name: "filtered", script: enginetest.Script{Chunks: enginetest.Say("Hel"), Finish: "content_filter"}, blocks: `text "Hel"`, chat: "content_filter", message: "refusal"},
		{
			name: "thinking and a call", members: []string{"TOOLS"}, script: enginetest.Script{Chunks: enginetest.Say("<think>\nhm\n</think>\n\nSo.\n", callF)},
			blocks: `reasoning "hm" | text "So." | call f"{\"a\": 1}"`, chat: "tool_calls", message: "tool_use",
		},
		{
			name: "text after a call", members: []string{"TOOLS"}, script: enginetest.Script{Chunks: enginetest.Say(callF, " done")},
			blocks: `call f"{\"a\": 1}" | text " done"`, chat: "tool_calls", message: "tool_use",
		},
		{
			name: "two calls", members: []string{"TOOLS"}, script: enginetest.Script{Chunks: enginetest.Say(callF+"\n", callF)},
			blocks: `call f"{\"a\": 1}" | call f"{\"a\": 1}"`, chat: "tool_calls", message: "tool_use",
		},
		{
			name: "one call only", members: []string{"TOOLS", "ONE"}, script: enginetest.Script{Chunks: enginetest.Say(callF+"\n", callF), Fault: enginetest.FaultStall, At: 1},
			blocks: `call f"{\"a\": 1}"`, chat: "tool_calls", message: "tool_use", cancels: true,
		},
		{
			name: "no calls wanted", members: []string{"TOOLS", "NONE"}, script: enginetest.Script{Chunks: enginetest.Say(callF)},
			blocks: fmt.Sprintf("text %q", callF), chat: "stop", message: "end_turn",
		},
		{name: "no tools", script: enginetest.Script{Chunks: enginetest.Say(callF)}, blocks: fmt.Sprintf("text %q", callF), chat: "stop", message: "end_turn"},
		{
			name: "unknown tool", members: []string{"TOOLS"}, script: enginetest.Script{Chunks: enginetest.Say("<tool_call>\n{\"name\": \"g\", \"arg", "uments\": {}}\n</tool_call>")},
			blocks: `text "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>"`, chat: "stop", message: "end_turn",
		},
		{
			name: "stop sequence", members: []string{"STOP"}, script: enginetest.Script{Chunks: enginetest.Say("One, t", "wo, EN", "D three"), Fault: enginetest.FaultStall, At: 3},
			blocks: `text "One, two, "`, chat: "stop", message: "stop_sequence", cancels: true,
		},
		{
			name: "no stop in reasoning", members: []string{"STOP"}, script: enginetest.Script{Chunks: enginetest.Say("<think>\nthe END\n</think>\n\nOK")},
			blocks: `reasoning "the END" | text "OK"`, chat: "stop", message: "end_turn",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				none, one, finish := `"tool_choice":"none"`, `"parallel_tool_calls":false`, s.finish(c.chat, c.message)
				if s.name == "messages" {
					none, one = `"tool_choice":{"type":"none"}`, `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`
				}
				members := []string{thinks}
				for _, m := range c.members {
					members = append(members, strings.NewReplacer("TOOLS", s.tools("f"), "STOP", s.stops("never", "END"), "NONE", none, "ONE", one).Replace(m))
				}
				w.double.Play(c.script)
				body := s.body("double", "hello", members...)
				a := w.ask(s, s.body("double", "hello", append(members, streamed, `"stream_options":{"include_usage":true}`)...))
				if c.cancels {
					w.gone()
				}
				if got := plain(a.Blocks); got != c.blocks || a.Finish != finish {
					t.Errorf("got %s, %s; want %s, %s", got, a.Finish, c.blocks, finish)
				}
				if want := map[bool]string{true: "END"}[c.message == "stop_sequence" && s.name == "messages"]; a.Sequence != want {
					t.Errorf("stop sequence %q, want %q", a.Sequence, want)
				}
				k := w.dial(s.path)
				k.request("1", body)
				same(t, "socket", s.read(t, k.turn("1")), a)
				resp, b := w.post(s.path, body)
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s", resp.Status, b)
				}
				same(t, "not streamed", s.whole(t, b), fold(s, a))
			})
		})
	}
}

// same compares what two turns said, ids aside.
func same(t *testing.T, what string, got, want answer) {
	t.Helper()
	if plain(got.Blocks) != plain(want.Blocks) || got.Finish != want.Finish || got.Sequence != want.Sequence {
		t.Errorf("%s: got %s, %s, want %s, %s", what, plain(got.Blocks), got.Finish, plain(want.Blocks), want.Finish)
	}
	if got.Input != want.Input || got.Output != want.Output || got.Cached != want.Cached {
		t.Errorf("%s: usage %d, %d, %d, want %d, %d, %d", what, got.Input, got.Cached, got.Output, want.Input, want.Cached, want.Output)
	}
}

// fold is what a streamed answer is when it is told at once: on chat reasoning, text and calls.
func fold(s surface, a answer) answer {
	if s.name != "chat" {
		return a
	}
	out := a
	out.Blocks = nil
	for _, kind := range []string{"reasoning", "text"} {
		if text := a.of(kind); text != "" {
			out.Blocks = append(out.Blocks, block{Kind: kind, Text: text})
		}
	}
	out.Blocks = append(out.Blocks, a.calls()...)
	return out
}

// TestIncompleteCalls has calls that are not whole: the finish never asks the client to run them, and an
// answer that is not streamed holds what the model wrote as text.
func TestIncompleteCalls(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	const open = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": "
	for _, c := range []struct {
		name, text, finish string
		args               string // of the streamed call
		raw                string // of the text in the whole answer
		chat, messages     string
	}{
		{name: "cut", text: open + `"half`, finish: "length", args: `{"t": "half`, raw: open + `"half`, chat: "length", messages: "max_tokens"},
		{name: "stopped", text: open + `"half`, args: `{"t": "half`, raw: open + `"half`, chat: "stop", messages: "end_turn"},
		{name: "not JSON", text: open + "half}}\n</tool_call>", args: "{\"t\": half}}\n", raw: open + "half}}\n</tool_call>", chat: "stop", messages: "end_turn"},
		{name: "not an object", text: "<tool_call>\n{\"name\": \"f\", \"arguments\": 5}\n</tool_call>", args: "5", raw: "<tool_call>\n{\"name\": \"f\", \"arguments\": 5}", chat: "stop", messages: "end_turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				w.double.Play(enginetest.Script{Chunks: enginetest.Say("Well.\n", callF+"\n", c.text), Finish: c.finish})
				finish := s.finish(c.chat, c.messages)
				a := w.ask(s, s.body("double", "hello", s.tools("f"), streamed), "X-Weir-Dispatch", "1")
				calls := a.calls()
				if len(calls) != 2 || calls[0].Text != `{"a": 1}` || calls[1].Text != c.args || a.of("text") != "Well." || a.Finish != finish {
					t.Errorf("streamed: %s, %s", plain(a.Blocks), a.Finish)
				}
				if len(a.Dispatched) != 1 || a.Dispatched[0] != calls[0] {
					t.Errorf("dispatched %+v", a.Dispatched)
				}
				_, b := w.post(s.path, s.body("double", "hello", s.tools("f")))
				a = s.whole(t, b)
				if calls := a.calls(); len(calls) != 1 || calls[0].Text != `{"a": 1}` || a.of("text") != "Well."+c.raw || a.Finish != finish {
					t.Errorf("whole: %s, %s", plain(a.Blocks), a.Finish)
				}
			})
		})
	}
}

// TestUnknownToolEmitted has a model whose entry lets undeclared tools through.
func TestUnknownToolEmitted(t *testing.T) {
	t.Parallel()
	w := start(t, options{double: `unknown_tools = "emit"`, script: []enginetest.Script{{Chunks: enginetest.Say("<tool_call>\n{\"name\": \"g\"}\n</tool_call>")}}})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		a := w.ask(s, s.body("double", "hello", s.tools("f"), streamed))
		if got := plain(a.Blocks); got != `call g"{}"` || a.Finish != s.calls {
			t.Errorf("got %s, %s", got, a.Finish)
		}
	})
}

// TestDispatch is on by the request's header or by the tenant, and tells of whole calls alone.
func TestDispatch(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	on := start(t, options{tenants: "[[tenants]]\nname = \"all\"\nany_key = true\ndispatch = true\n"})
	onEach(t, func(t *testing.T, s surface) {
		body := s.body("sim", "call f {\"a\": 1}\ncall f {\"a\": 2}", s.tools("f"), streamed)
		for _, c := range []struct {
			name   string
			w      world
			header []string
			want   bool
		}{
			{"off", *w, nil, false},
			{"header", *w, []string{"X-Weir-Dispatch", "1"}, true},
			{"header says no", *w, []string{"X-Weir-Dispatch", "0"}, false},
			{"tenant", *on, nil, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				c.w.tb = t
				a := c.w.ask(s, body, c.header...)
				if calls := a.calls(); len(calls) != 2 || c.want != (len(a.Dispatched) == 2) {
					t.Fatalf("calls %+v, dispatched %+v", calls, a.Dispatched)
				}
				for i, d := range a.Dispatched {
					if d != a.calls()[i] {
						t.Errorf("dispatched %+v, the call is %+v", d, a.calls()[i])
					}
				}
			})
		}
	})
}
