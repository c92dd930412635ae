package chat_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
)

func request() *surface.Request {
	return &surface.Request{Request: &conv.Request{}, IncludeUsage: true}
}

func file(story, kind string) string { return strings.ReplaceAll(story, " ", "_") + "." + kind }

func TestStreams(t *testing.T) {
	for _, s := range surfacetest.Stories() {
		t.Run(s.Name, func(t *testing.T) {
			got := surfacetest.Play(t, s.Events, chat.Surface{}, request(), surfacetest.Info())
			surfacetest.Golden(t, file(s.Name, "stream"), got)
		})
	}
}

func TestBodies(t *testing.T) {
	for _, s := range surfacetest.Stories() {
		if s.Name == "fault" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			got := chat.Surface{}.Body(request(), surfacetest.Info(), surfacetest.Fold(t, s.Events))
			if !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
			surfacetest.Golden(t, file(s.Name, "body.json"), append(got, '\n'))
		})
	}
}

func TestOptionalChunks(t *testing.T) {
	s := surfacetest.Stories()[1]
	req, info := request(), surfacetest.Info()
	req.IncludeUsage, info.Dispatch = false, false
	got := surfacetest.Play(t, s.Events, chat.Surface{}, req, info)
	for _, not := range []string{`"usage"`, "tool_call_dispatch", `"choices":[]`} {
		if bytes.Contains(got, []byte(not)) {
			t.Errorf("%s was not asked for", not)
		}
	}
}

// TestStreamEqualsBody puts a stream together as a client does and compares it with the body.
func TestStreamEqualsBody(t *testing.T) {
	s := surfacetest.Stories()[1]
	stream := surfacetest.Play(t, s.Events, chat.Surface{}, request(), surfacetest.Info())
	type message struct {
		Content          string
		ReasoningContent string `json:"reasoning_content"`
		ToolCalls        []struct {
			Index    int
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	var got message
	for line := range strings.SplitSeq(string(stream), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct{ Choices []struct{ Delta message } }
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		for _, ch := range c.Choices {
			got.Content += ch.Delta.Content
			got.ReasoningContent += ch.Delta.ReasoningContent
			for _, tc := range ch.Delta.ToolCalls {
				if tc.Index == len(got.ToolCalls) {
					got.ToolCalls = append(got.ToolCalls, tc)
				} else {
					got.ToolCalls[tc.Index].Function.Arguments += tc.Function.Arguments
				}
			}
		}
	}
	var body struct{ Choices []struct{ Message message } }
	if err := json.Unmarshal(chat.Surface{}.Body(request(), surfacetest.Info(), surfacetest.Fold(t, s.Events)), &body); err != nil {
		t.Fatal(err)
	}
	want := body.Choices[0].Message
	for i := range want.ToolCalls {
		want.ToolCalls[i].Index = i
	}
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("stream %s\nbody   %s", g, w)
	}
}

func TestCustomCall(t *testing.T) {
	c := event.Call{ID: "call_1", Name: "apply_patch", Kind: event.Custom}
	done := c
	done.Arguments = []byte("*** Begin\n")
	events := []event.Event{
		{Kind: event.TurnStart},
		{Kind: event.ToolStart, Call: c},
		{Kind: event.ToolArgs, Text: done.Arguments},
		{Kind: event.ToolEnd, Call: c, Complete: true},
		{Kind: event.Dispatch, Call: done},
		{Kind: event.UsageKind},
		{Kind: event.Finish, Reason: event.ReasonToolUse},
	}
	got := string(surfacetest.Play(t, events, chat.Surface{}, request(), surfacetest.Info()))
	for _, want := range []string{
		`{"index":0,"id":"call_1","type":"custom","custom":{"name":"apply_patch","input":""}}`,
		`{"index":0,"custom":{"input":"*** Begin\n"}}`,
		`"tool_call_dispatch":{"index":0,"id":"call_1","name":"apply_patch","arguments":"*** Begin\n"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s in\n%s", want, got)
		}
	}
}

func TestDeltasDoNotAllocate(t *testing.T) {
	enc := chat.Surface{}.Encode(request(), surfacetest.Info(), surfacetest.Discard{})
	events := []event.Event{
		{Kind: event.TextDelta, Text: []byte(" some text\n")},
		{Kind: event.ReasoningDelta, Text: []byte(" some text\n")},
		{Kind: event.ToolArgs, Text: []byte(`"some":`)},
	}
	for i := range events {
		if n := testing.AllocsPerRun(100, func() {
			if err := enc.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", events[i].Kind, n)
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	enc := chat.Surface{}.Encode(request(), surfacetest.Info(), surfacetest.Discard{})
	for _, ev := range []event.Event{
		{Kind: event.TextDelta, Text: []byte(" hello w")},
		{Kind: event.ToolArgs, Text: []byte(`", "x": `)},
	} {
		b.Run(ev.Kind.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := enc.Event(&ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeShort(b *testing.B) { surfacetest.BenchmarkShort(b, chat.Surface{}) }
