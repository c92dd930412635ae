package assemble_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

func TestFragments(t *testing.T) {
	type frag = engines.Fragment
	text := func(s string) frag { return frag{Kind: engines.FragmentText, Text: s} }
	think := func(s string) frag { return frag{Kind: engines.FragmentReasoning, Text: s} }
	head := func(i int, id, name string) frag {
		return frag{Kind: engines.FragmentCall, Index: i, ID: id, Name: name}
	}
	part := func(i int, s string) frag { return frag{Kind: engines.FragmentCall, Index: i, Text: s} }
	declared := assemble.Options{Tools: []conv.ToolDef{{Name: "f"}, {Name: "g", Namespace: "ns"}, {Name: "patch", Kind: conv.Custom}}, Choice: parallel()}
	single := declared
	single.Choice.Parallel = false
	stop := declared
	stop.Stop = []string{"END"}
	for _, c := range []struct {
		name  string
		o     assemble.Options
		frags []frag
		why   event.Reason
		want  string
	}{
		{
			"order", declared,
			[]frag{think("a"), think("b"), text(""), text("c"), head(0, "x1", "f"), part(0, `{"a"`), part(0, `: 1}`), text("d")},
			event.ReasonToolUse,
			"reasoning \"ab\"\ntext \"c\"\nx1 f({\"a\": 1})\ntext \"d\"\ntool_calls",
		},
		{"two", declared, []frag{head(0, "x1", "f"), part(0, `{}`), head(1, "x2", "ns__g"), part(1, `{"b":2}`)}, event.ReasonToolUse, "x1 f({})\nx2 ns/g({\"b\":2})\ntool_calls"},
		{"names and ids repeated", declared, []frag{head(0, "x1", "f"), {Kind: engines.FragmentCall, ID: "x1", Name: "f", Text: "{"}, {Kind: engines.FragmentCall, ID: "x9", Name: "f", Text: "}"}}, event.ReasonToolUse, "x1 f({})\ntool_calls"},
		{"no arguments", declared, []frag{head(0, "x1", "f")}, event.ReasonToolUse, "x1 f({})\ntool_calls"},
		{"no arguments, cut", declared, []frag{head(0, "x1", "f")}, event.ReasonLength, "text \"{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": \"\nlength"},
		{"no arguments, then another", declared, []frag{head(0, "x1", "f"), head(1, "x2", "f"), part(1, "{}")}, event.ReasonStop, "x1 f({})\nx2 f({})\ntool_calls"},
		{"interleaved", declared, []frag{head(0, "x1", "f"), head(1, "x2", "f"), part(1, `{"b"`), part(0, `{"a":1`), part(1, `:2}`), part(0, `}`), part(1, " ")}, event.ReasonStop, "x1 f({\"a\":1})\nx2 f({\"b\":2})\ntool_calls"},
		{"cut", declared, []frag{head(0, "x1", "f"), part(0, `{"a": `)}, event.ReasonLength, "x1 f({\"a\": ) truncated\nlength"},
		{"whole, then cut", declared, []frag{head(0, "x1", "f"), part(0, `{}`)}, event.ReasonLength, "x1 f({})\nlength"},
		{"not JSON", declared, []frag{head(0, "x1", "f"), part(0, `{"a": `)}, event.ReasonToolUse, "x1 f({\"a\": ) malformed\nstop"},
		{"quoted", declared, []frag{head(0, "", "f"), part(0, `"{\"a\"`), part(0, `:1}"`)}, event.ReasonToolUse, "call_0 f({\"a\":1})\ntool_calls"},
		{"name after arguments", declared, []frag{part(0, `{"a"`), part(0, `:1}`), head(0, "x", "f")}, event.ReasonToolUse, "x f({\"a\":1})\ntool_calls"},
		{"no name", declared, []frag{part(0, `{"a":1}`), text("!")}, event.ReasonToolUse, "text \"{\\\"a\\\":1}!\"\nstop"},
		{"unknown", declared, []frag{head(0, "x", "no"), part(0, `{"a"`), part(0, `:1}`), text("!")}, event.ReasonToolUse, "text \"{\\\"name\\\": \\\"no\\\", \\\"arguments\\\": {\\\"a\\\":1}}!\"\nstop"},
		{"custom", declared, []frag{head(0, "x", "patch"), part(0, `{"input": "a`), part(0, `\nb"}`)}, event.ReasonToolUse, "custom x patch(a\nb)\ntool_calls"},
		{"late", declared, []frag{head(0, "x1", "f"), part(0, `{}`), head(1, "x2", "f"), part(1, `{}`), part(0, `{"real": 1}`)}, event.ReasonToolUse, "x1 f({})\nx2 f({})\nstop"},
		{"one call allowed", single, []frag{head(0, "x1", "f"), part(0, `{}`), head(1, "x2", "f"), part(1, `{}`), text("a")}, event.ReasonToolUse, "x1 f({})\ntool_calls"},
		{"stop string", stop, []frag{text("a E"), text("ND b"), head(0, "x1", "f")}, event.ReasonStop, "text \"a \"\nstop_sequence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out both
			check := &event.Checker{Next: &out}
			a := assemble.New(c.o, check)
			if err := a.Start(event.Usage{}); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.frags {
				if err := a.Fragment(f); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Finish(c.why, "", event.Usage{}); err != nil {
				t.Fatal(err)
			}
			if err := check.Close(); err != nil {
				t.Fatal(err)
			}
			if s := brief(&out.fold.Result); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
		})
	}
}

func TestFragmentBounds(t *testing.T) {
	a := assemble.New(free(), &event.Checker{})
	if err := a.Start(event.Usage{}); err != nil {
		t.Fatal(err)
	}
	call := func(i int, name, text string) {
		if err := a.Fragment(engines.Fragment{Kind: engines.FragmentCall, Index: i, Name: name, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	call(0, "f", "{")
	for i := range 1000 {
		call(i+1, "g", strings.Repeat("x", 64<<10))
	}
	if err := a.Finish(event.ReasonToolUse, "", event.Usage{}); err != nil {
		t.Fatal(err)
	}
	if s := a.Stats(); s.Late == 0 || s.Calls > 300 {
		t.Errorf("stats %+v", s)
	}
}

func BenchmarkFragment(b *testing.B) {
	a := assemble.New(free(), event.SinkFunc(func(*event.Event) error { return nil }))
	if err := a.Start(event.Usage{}); err != nil {
		b.Fatal(err)
	}
	f := engines.Fragment{Kind: engines.FragmentText, Text: "a token "}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Fragment(f); err != nil {
			b.Fatal(err)
		}
	}
}
