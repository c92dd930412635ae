package event_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/weirgate/weir/abi/event"
)

func TestAppendJSON(t *testing.T) {
	call := event.Call{Index: 1, ID: "call_1", Name: "get", Namespace: "ns", Kind: event.Custom, Arguments: []byte(`{"a": 1}`)}
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{event.Event{Kind: event.TurnStart, Usage: event.Usage{Input: 5, Estimate: true}}, `{"type":"turn_start","input":5,"cached":0,"output":0,"reasoning":0,"estimate":true}`},
		{event.Event{Kind: event.ReasoningStart, Text: []byte("no")}, `{"type":"reasoning_start"}`},
		{event.Event{Kind: event.ReasoningDelta, Text: []byte("a\n\"<")}, `{"type":"reasoning_delta","text":"a\n\"<"}`},
		{event.Event{Kind: event.ReasoningEnd, Seal: "s"}, `{"type":"reasoning_end","seal":"s"}`},
		{event.Event{Kind: event.TextStart, Phase: event.PhaseCommentary}, `{"type":"text_start","phase":"commentary"}`},
		{event.Event{Kind: event.TextStart}, `{"type":"text_start"}`},
		{
			event.Event{Kind: event.TextDelta, Text: []byte("é"), Tokens: []event.Token{{ID: 7, Bytes: []byte("é"), Logprob: -0.5, Top: []event.Token{{ID: 8, Logprob: float32(math.Inf(-1))}}}}},
			`{"type":"text_delta","text":"é","tokens":[{"id":7,"bytes":"é","logprob":-0.5,"top":[{"id":8,"bytes":"","logprob":-9999}]}]}`,
		},
		{event.Event{Kind: event.TextEnd}, `{"type":"text_end"}`},
		{event.Event{Kind: event.ToolStart, Call: call}, `{"type":"tool_start","index":1,"id":"call_1","name":"get","namespace":"ns","kind":"custom"}`},
		{event.Event{Kind: event.ToolArgs, Text: []byte(`{"a": `)}, `{"type":"tool_args","text":"{\"a\": "}`},
		{event.Event{Kind: event.ToolEnd, Call: call, Complete: true}, `{"type":"tool_end","index":1,"id":"call_1","complete":true}`},
		{event.Event{Kind: event.ToolEnd, Call: call, Cause: event.CauseTruncated, Text: []byte("raw")}, `{"type":"tool_end","index":1,"id":"call_1","complete":false,"cause":"truncated","text":"raw"}`},
		{event.Event{Kind: event.Dispatch, Call: call}, `{"type":"dispatch","index":1,"id":"call_1","name":"get","namespace":"ns","kind":"custom","arguments":"{\"a\": 1}"}`},
		{event.Event{Kind: event.UsageKind, Usage: event.Usage{Input: 3, Cached: 2, Output: 9, Reasoning: 4}}, `{"type":"usage","input":3,"cached":2,"output":9,"reasoning":4}`},
		{event.Event{Kind: event.Finish, Reason: event.ReasonStopSequence, StopSequence: "X"}, `{"type":"finish","reason":"stop_sequence","stop_sequence":"X"}`},
		{event.Event{Kind: event.FaultKind, Fault: event.Fault{Kind: "engine", Message: "gone"}}, `{"type":"fault","kind":"engine","message":"gone"}`},
	} {
		t.Run(c.e.Kind.String(), func(t *testing.T) {
			got := event.AppendJSON([]byte("x"), &c.e)
			if string(got) != "x"+c.want {
				t.Errorf("got  %s\nwant x%s", got, c.want)
			}
			if !json.Valid(got[1:]) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func TestResultAppendJSON(t *testing.T) {
	call := func(id, args string) event.Call {
		return event.Call{ID: id, Name: "f", Arguments: []byte(args)}
	}
	for _, c := range []struct {
		name string
		r    event.Result
		want string
	}{
		{"empty", event.Result{Reason: event.ReasonStop}, `{"blocks":[],"reasoning":"","content":"","tool_calls":[],"finish_reason":"stop"}`},
		{"all", event.Result{Reason: event.ReasonLength, Blocks: []event.Block{
			{Kind: event.ReasoningStart, Text: []byte("r1")},
			{Kind: event.TextStart, Text: []byte("t1")},
			{Kind: event.ToolStart, Call: call("call_0", "{}"), Complete: true},
			{Kind: event.ReasoningStart, Text: []byte("r2")},
			{Kind: event.TextStart, Text: []byte("\"t2")},
			{Kind: event.ToolStart, Call: call("call_1", `{"a`), Raw: []byte("<raw")},
		}}, `{"blocks":[{"type":"reasoning","text":"r1"},{"type":"text","text":"t1"},` +
			`{"type":"tool_call","text":"","id":"call_0","name":"f","arguments":"{}","complete":true},` +
			`{"type":"reasoning","text":"r2"},{"type":"text","text":"\"t2"},` +
			`{"type":"tool_call","text":"<raw","id":"call_1","name":"f","arguments":"{\"a","complete":false}],` +
			`"reasoning":"r1r2","content":"t1\"t2","tool_calls":[{"id":"call_0","name":"f","arguments":"{}","complete":true},` +
			`{"id":"call_1","name":"f","arguments":"{\"a","complete":false}],"finish_reason":"length"}`},
		{"fault", event.Result{Fault: &event.Fault{Kind: "engine", Message: "m"}}, `{"blocks":[],"reasoning":"","content":"","tool_calls":[],"finish_reason":"","fault":{"kind":"engine","message":"m"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.r.AppendJSON(nil)
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !json.Valid(got) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e := &event.Event{Kind: event.TextDelta, Text: []byte("a token ")}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = event.AppendJSON(dst[:0], e)
	}
}
