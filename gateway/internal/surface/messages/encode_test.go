package messages_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

func request() *surface.Request {
	return &surface.Request{Request: &conv.Request{}}
}

func file(story, kind string) string { return strings.ReplaceAll(story, " ", "_") + "." + kind }

func TestStreams(t *testing.T) {
	for _, s := range surfacetest.Stories() {
		t.Run(s.Name, func(t *testing.T) {
			got := surfacetest.Play(t, s.Events, messages.Surface{}, request(), surfacetest.Info())
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
			got := messages.Surface{}.Body(request(), surfacetest.Info(), surfacetest.Fold(t, s.Events))
			if !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
			surfacetest.Golden(t, file(s.Name, "body.json"), append(got, '\n'))
		})
	}
}

// TestGrammar holds every stream to the order that clients demand: one open block at a time, ascending
// indexes, a stop for each start.
func TestGrammar(t *testing.T) {
	for _, s := range surfacetest.Stories() {
		t.Run(s.Name, func(t *testing.T) {
			stream := surfacetest.Play(t, s.Events, messages.Surface{}, request(), surfacetest.Info())
			next, open, last := 0, -1, ""
			for line := range strings.SplitSeq(string(stream), "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok {
					continue
				}
				var e struct {
					Type  string
					Index int
				}
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatal(err)
				}
				switch e.Type {
				case "content_block_start":
					if open >= 0 || e.Index != next {
						t.Fatalf("%s with block %d open, next %d", line, open, next)
					}
					open, next = e.Index, next+1
				case "content_block_delta", "content_block_stop":
					if e.Index != open {
						t.Fatalf("%s with block %d open", line, open)
					}
					if e.Type == "content_block_stop" {
						open = -1
					}
				}
				last = e.Type
			}
			if open >= 0 || last != "message_stop" && last != "error" {
				t.Errorf("ends with %s, block %d open", last, open)
			}
		})
	}
}

func TestOmittedThinking(t *testing.T) {
	s := surfacetest.Stories()[1]
	req := request()
	req.Thinking.Omitted = true
	for name, got := range map[string]string{
		"stream": string(surfacetest.Play(t, s.Events, messages.Surface{}, req, surfacetest.Info())),
		"body":   string(messages.Surface{}.Body(req, surfacetest.Info(), surfacetest.Fold(t, s.Events))),
	} {
		if strings.Contains(got, "think.") || strings.Contains(got, "thinking_delta") || !strings.Contains(got, `"signature":"seal-1"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNoDispatchUnasked(t *testing.T) {
	info := surfacetest.Info()
	info.Dispatch = false
	if got := surfacetest.Play(t, surfacetest.Stories()[1].Events, messages.Surface{}, request(), info); bytes.Contains(got, []byte("dispatch")) {
		t.Errorf("%s", got)
	}
}

func TestCountBody(t *testing.T) {
	if got := string(messages.CountBody(42)); got != `{"input_tokens":42}` {
		t.Error(got)
	}
}

func TestDeltasDoNotAllocate(t *testing.T) {
	enc := messages.Surface{}.Encode(request(), surfacetest.Info(), surfacetest.Discard{})
	if err := enc.Event(&event.Event{Kind: event.TextStart}); err != nil {
		t.Fatal(err)
	}
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
	enc := messages.Surface{}.Encode(request(), surfacetest.Info(), surfacetest.Discard{})
	if err := enc.Event(&event.Event{Kind: event.TextStart}); err != nil {
		b.Fatal(err)
	}
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

func BenchmarkEncodeShort(b *testing.B) { surfacetest.BenchmarkShort(b, messages.Surface{}) }

// TestTornCall has a call that is not whole: it is closed where the turn ends or goes on, and left open before a fault,
// after which a client must not take it for a call.
func TestTornCall(t *testing.T) {
	call := []event.Event{
		{Kind: event.TurnStart},
		{Kind: event.ToolStart, Call: event.Call{ID: "toolu_1", Name: "f"}},
		{Kind: event.ToolArgs, Text: []byte(`{"a": "ha`)},
		{Kind: event.ToolEnd, Call: event.Call{ID: "toolu_1", Name: "f"}, Cause: event.CauseTruncated},
	}
	for _, c := range []struct {
		name string
		then []event.Event
		want string // the types of events after the arguments
	}{
		{"fault", []event.Event{{Kind: event.FaultKind, Fault: event.Fault{Kind: "engine", Message: "broke off"}}}, "error"},
		{"length", []event.Event{{Kind: event.UsageKind}, {Kind: event.Finish, Reason: event.ReasonLength}}, "content_block_stop message_delta message_stop"},
		{"text", []event.Event{{Kind: event.TextStart}, {Kind: event.TextEnd}, {Kind: event.UsageKind}, {Kind: event.Finish, Reason: event.ReasonStop}}, "content_block_stop content_block_start content_block_stop message_delta message_stop"},
		{"usage, then a fault", []event.Event{{Kind: event.UsageKind}, {Kind: event.FaultKind, Fault: event.Fault{Kind: "engine", Message: "broke off"}}}, "error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := string(surfacetest.Play(t, append(call[:4:4], c.then...), messages.Surface{}, request(), surfacetest.Info()))
			_, after, _ := strings.Cut(stream, `"partial_json":"{\"a\": \"ha"}}`)
			var types []string
			for line := range strings.SplitSeq(after, "\n") {
				if name, ok := strings.CutPrefix(line, "event: "); ok {
					types = append(types, name)
				}
			}
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
