package surfacetest

import (
	"strings"

	"github.com/weirgate/weir/abi/event"
)

// Story is a told turn.
type Story struct {
	Name   string
	Events []event.Event
}

func start() event.Event {
	return event.Event{Kind: event.TurnStart, Usage: event.Usage{Input: 120}}
}

func usage() event.Event {
	return event.Event{Kind: event.UsageKind, Usage: event.Usage{Input: 120, Cached: 64, Output: 31, Reasoning: 9}}
}

func finish(r event.Reason, sequence string) event.Event {
	return event.Event{Kind: event.Finish, Reason: r, StopSequence: sequence}
}

func block(open, delta, end event.Kind, seal string, texts ...string) []event.Event {
	out := []event.Event{{Kind: open}}
	for _, s := range texts {
		out = append(out, event.Event{Kind: delta, Text: []byte(s)})
	}
	return append(out, event.Event{Kind: end, Seal: seal})
}

func reasoning(seal string, texts ...string) []event.Event {
	return block(event.ReasoningStart, event.ReasoningDelta, event.ReasoningEnd, seal, texts...)
}

func text(texts ...string) []event.Event {
	return block(event.TextStart, event.TextDelta, event.TextEnd, "", texts...)
}

func call(index int, id, name string, args ...string) []event.Event {
	c := event.Call{Index: index, ID: id, Name: name}
	out := []event.Event{{Kind: event.ToolStart, Call: c}}
	var whole strings.Builder
	for _, s := range args {
		out = append(out, event.Event{Kind: event.ToolArgs, Text: []byte(s)})
		whole.WriteString(s)
	}
	out = append(out, event.Event{Kind: event.ToolEnd, Call: c, Complete: true})
	c.Arguments = []byte(whole.String())
	return append(out, event.Event{Kind: event.Dispatch, Call: c})
}

func turn(parts ...any) []event.Event {
	var out []event.Event
	for _, p := range parts {
		switch p := p.(type) {
		case event.Event:
			out = append(out, p)
		case []event.Event:
			out = append(out, p...)
		}
	}
	return out
}

// Stories are the turns that every surface tells in its golden files.
func Stories() []Story {
	cut := event.Call{Index: 1, ID: "call_2", Name: "Write"}
	return []Story{
		{"text", turn(start(), text("Hello ", "\"wörld\"\n", "😀</script>"), usage(), finish(event.ReasonStop, ""))},
		{"interleaved", turn(
			start(),
			reasoning("seal-1", "First ", "think."), text("Look."),
			call(0, "call_1", "Read", `{"path": `, `"a\"b.txt",`, "\n", `"n": 1.50}`),
			reasoning("", "Again."), call(1, "call_2", "List", `{}`),
			usage(), finish(event.ReasonToolUse, ""),
		)},
		{"calls only", turn(start(), call(0, "call_1", "Read", `{"path":"a"}`), usage(), finish(event.ReasonToolUse, ""))},
		{"cut call", turn(
			start(), call(0, "call_1", "Read", `{"path":"a"}`),
			event.Event{Kind: event.ToolStart, Call: cut}, event.Event{Kind: event.ToolArgs, Text: []byte(`{"text": "unfin`)},
			event.Event{Kind: event.ToolEnd, Call: cut, Cause: event.CauseTruncated, Text: []byte("<tool_call>\n{\"name\": \"Write\", \"arguments\": {\"text\": \"unfin")},
			usage(), finish(event.ReasonLength, ""),
		)},
		{"stop sequence", turn(start(), text("One, two"), usage(), finish(event.ReasonStopSequence, "\nthree"))},
		{"empty", turn(start(), usage(), finish(event.ReasonStop, ""))},
		{"no usage", turn(start(), text("x"), event.Event{Kind: event.UsageKind}, finish(event.ReasonContent, ""))},
		{"fault", turn(start(), text("Half"), event.Event{Kind: event.FaultKind, Fault: event.Fault{Kind: "busy", Message: "the engine is \"busy\""}})},
	}
}
