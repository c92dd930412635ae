package event_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
)

// Short forms for the tables.
var (
	start  = event.Event{Kind: event.TurnStart, Usage: event.Usage{Input: 9}}
	usage  = event.Event{Kind: event.UsageKind, Usage: event.Usage{Input: 10, Cached: 4, Output: 3}}
	stop   = event.Event{Kind: event.Finish, Reason: event.ReasonStop}
	tools  = event.Event{Kind: event.Finish, Reason: event.ReasonToolUse}
	failed = event.Event{Kind: event.FaultKind, Fault: event.Fault{Kind: "engine", Message: "gone"}}
)

func plain(k event.Kind) event.Event { return event.Event{Kind: k} }

func delta(k event.Kind, text string) event.Event { return event.Event{Kind: k, Text: []byte(text)} }

func call(index int, id string) event.Call { return event.Call{Index: index, ID: id, Name: "f"} }

func opens(c event.Call) event.Event { return event.Event{Kind: event.ToolStart, Call: c} }

func ends(c event.Call, cause event.Cause) event.Event {
	return event.Event{Kind: event.ToolEnd, Call: c, Complete: cause == event.CauseNone, Cause: cause}
}

func dispatch(c event.Call, args string) event.Event {
	c.Arguments = []byte(args)
	return event.Event{Kind: event.Dispatch, Call: c}
}

func TestCheckerAccepts(t *testing.T) {
	a, b := call(0, "a"), call(1, "b")
	custom := event.Call{ID: "c", Name: "patch", Kind: event.Custom}
	for _, tt := range []struct {
		name   string
		events []event.Event
	}{
		{"nothing but usage", []event.Event{start, usage, stop}},
		{"blocks in turn", []event.Event{
			start, plain(event.ReasoningStart), delta(event.ReasoningDelta, "r"), plain(event.ReasoningEnd),
			plain(event.TextStart), delta(event.TextDelta, "é"), usage, delta(event.TextDelta, "t"), plain(event.TextEnd),
			plain(event.ReasoningStart), plain(event.ReasoningEnd), usage, stop,
		}},
		{"calls", []event.Event{
			start, opens(a), delta(event.ToolArgs, `{"x":`), delta(event.ToolArgs, `1}`), ends(a, ""), dispatch(a, `{"x":1}`),
			opens(b), delta(event.ToolArgs, `{}`), ends(b, ""), usage, tools,
		}},
		{"a custom call's input is no JSON", []event.Event{
			start, opens(custom), delta(event.ToolArgs, "*** patch"), ends(custom, ""), dispatch(custom, "*** patch"), usage, tools,
		}},
		{"an incomplete call", []event.Event{
			start, opens(a), delta(event.ToolArgs, `{"x`), ends(a, event.CauseTruncated), usage, stop,
		}},
		{"a fault", []event.Event{start, plain(event.TextStart), plain(event.TextEnd), failed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			passed := 0
			c := event.Checker{Next: event.SinkFunc(func(*event.Event) error { passed++; return nil })}
			for i := range tt.events {
				if err := c.Event(&tt.events[i]); err != nil {
					t.Fatalf("event %d: %v", i, err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if passed != len(tt.events) {
				t.Errorf("%d of %d events passed on", passed, len(tt.events))
			}
		})
	}
}

// TestCheckerRefuses expects the last event of each row to be refused, and no other.
func TestCheckerRefuses(t *testing.T) {
	a := call(0, "a")
	for _, tt := range []struct {
		name   string
		events []event.Event
	}{
		{"before the start", []event.Event{usage}},
		{"two starts", []event.Event{start, start}},
		{"an unknown kind", []event.Event{start, plain(99)}},
		{"two blocks open", []event.Event{start, plain(event.TextStart), plain(event.ReasoningStart)}},
		{"a delta without its block", []event.Event{start, delta(event.TextDelta, "x")}},
		{"a delta of another block", []event.Event{start, plain(event.TextStart), delta(event.ReasoningDelta, "x")}},
		{"an empty delta", []event.Event{start, plain(event.TextStart), delta(event.TextDelta, "")}},
		{"half a character", []event.Event{start, plain(event.TextStart), delta(event.TextDelta, "\xe2\x82")}},
		{"another block ends", []event.Event{start, plain(event.TextStart), plain(event.ReasoningEnd)}},
		{"nothing to end", []event.Event{start, plain(event.TextEnd)}},
		{"a call without a name", []event.Event{start, opens(event.Call{ID: "a"})}},
		{"a call without an id", []event.Event{start, opens(event.Call{Name: "f"})}},
		{"an index left out", []event.Event{start, opens(call(1, "a"))}},
		{"another call ends", []event.Event{start, opens(a), ends(call(0, "b"), event.CauseTruncated)}},
		{"complete without JSON", []event.Event{start, opens(a), delta(event.ToolArgs, "{"), ends(a, "")}},
		{"complete without arguments", []event.Event{start, opens(a), ends(a, "")}},
		{"incomplete without a cause", []event.Event{start, opens(a), {Kind: event.ToolEnd, Call: a}}},
		{"dispatch of an incomplete call", []event.Event{start, opens(a), ends(a, event.CauseTruncated), dispatch(a, "{}")}},
		{"dispatch later", []event.Event{start, opens(a), delta(event.ToolArgs, "{}"), ends(a, ""), usage, dispatch(a, "{}")}},
		{"dispatch twice", []event.Event{start, opens(a), delta(event.ToolArgs, "{}"), ends(a, ""), dispatch(a, "{}"), dispatch(a, "{}")}},
		{"dispatch of other arguments", []event.Event{start, opens(a), delta(event.ToolArgs, "{}"), ends(a, ""), dispatch(a, "{ }")}},
		{"a finish without usage", []event.Event{start, stop}},
		{"a finish with an open block", []event.Event{start, plain(event.TextStart), usage, stop}},
		{"a fault with an open block", []event.Event{start, plain(event.TextStart), failed}},
		{"tool use without calls", []event.Event{start, usage, tools}},
		{"tool use with an incomplete call", []event.Event{start, opens(a), ends(a, event.CauseTruncated), usage, tools}},
		{"after the finish", []event.Event{start, usage, stop, usage}},
		{"after a fault", []event.Event{start, failed, stop}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			passed := 0
			c := event.Checker{Next: event.SinkFunc(func(*event.Event) error { passed++; return nil })}
			var err error
			for i := range tt.events {
				if err != nil {
					t.Fatalf("event %d: %v", i-1, err)
				}
				err = c.Event(&tt.events[i])
			}
			if !errors.Is(err, event.ErrGrammar) {
				t.Errorf("got %v, expected a grammar fault", err)
			}
			if passed != len(tt.events)-1 {
				t.Errorf("%d events passed on, expected %d", passed, len(tt.events)-1)
			}
		})
	}
}

func TestCheckerMissesTheEnd(t *testing.T) {
	c := event.Checker{}
	if err := c.Event(&start); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); !errors.Is(err, event.ErrGrammar) {
		t.Errorf("got %v", err)
	}
}

func TestFolder(t *testing.T) {
	a, b := call(0, "a"), call(1, "b")
	broken := ends(b, event.CauseTruncated)
	broken.Text = []byte(`[f({"y`)
	events := []event.Event{
		start,
		plain(event.ReasoningStart), delta(event.ReasoningDelta, "wh"), delta(event.ReasoningDelta, "y"),
		{Kind: event.ReasoningEnd, Seal: "s"},
		{Kind: event.TextStart, Phase: event.PhaseFinal},
		delta(event.TextDelta, "so"), plain(event.TextEnd),
		opens(a), delta(event.ToolArgs, `{"x":`), delta(event.ToolArgs, `1}`), ends(a, ""), dispatch(a, `{"x":1}`),
		opens(b), delta(event.ToolArgs, `{"y`), broken,
		usage,
		{Kind: event.Finish, Reason: event.ReasonStopSequence, StopSequence: "END"},
	}
	var f event.Folder
	c := event.Checker{Next: &f}
	for i := range events {
		if err := c.Event(&events[i]); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		for j := range events[i].Text { // a sink that keeps something copies it
			events[i].Text[j] = '#'
		}
	}
	r := f.Result
	if len(r.Blocks) != 4 || r.Start.Input != 9 || r.Usage.Output != 3 || r.Reason != event.ReasonStopSequence || r.StopSequence != "END" || r.Fault != nil {
		t.Fatalf("got %+v", r)
	}
	if got := r.Blocks[0]; string(got.Text) != "why" || got.Seal != "s" {
		t.Errorf("reasoning %+v", got)
	}
	if got := r.Blocks[1]; string(got.Text) != "so" || got.Phase != event.PhaseFinal {
		t.Errorf("text %+v", got)
	}
	if got := r.Blocks[2]; string(got.Call.Arguments) != `{"x":1}` || !got.Complete {
		t.Errorf("call %+v", got)
	}
	if got := r.Blocks[3]; got.Complete || got.Cause != event.CauseTruncated || string(got.Raw) != `[f({"y` {
		t.Errorf("broken call %+v", got)
	}
	var visible []string
	for _, b := range r.Visible() {
		visible = append(visible, b.Kind.String()+" "+string(b.Text))
	}
	if got := strings.Join(visible, ", "); got != `reasoning_start why, text_start so, tool_start , text_start [f({"y` {
		t.Errorf("visible: %s", got)
	}
}

func TestFolderFault(t *testing.T) {
	var f event.Folder
	a := call(0, "a")
	for _, e := range []event.Event{start, opens(a), ends(a, event.CauseFault), failed} {
		if err := f.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if f.Result.Fault == nil || f.Result.Fault.Message != "gone" || f.Result.Reason != "" {
		t.Errorf("got %+v", f.Result)
	}
	if got := f.Result.Visible(); len(got) != 0 {
		t.Errorf("a call without raw bytes is visible: %+v", got)
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := event.TurnStart; k <= event.FaultKind; k++ {
		if name := k.String(); name == "unknown" || seen[name] {
			t.Errorf("kind %d is %q", k, name)
		} else {
			seen[name] = true
		}
	}
	if got := event.Kind(200).String(); got != "unknown" {
		t.Errorf("kind 200 is %q", got)
	}
}
