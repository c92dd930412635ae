package responses_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/transport"
)

func file(story, kind string) string { return strings.ReplaceAll(story, " ", "_") + "." + kind }

func TestStreams(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.Name, func(t *testing.T) {
			got := surfacetest.Play(t, s.Events, outgoing{}, request(), surfacetest.Info())
			surfacetest.Golden(t, file(s.Name, "stream"), got)
		})
	}
}

func TestBodies(t *testing.T) {
	for _, s := range stories() {
		if s.Name == "fault" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			req := request()
			req.Stream = false
			got := responses.Surface{}.Body(req, surfacetest.Info(), surfacetest.Fold(t, s.Events))
			if !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
			surfacetest.Golden(t, file(s.Name, "body.json"), append(got, '\n'))
		})
	}
}

// variants are the wishes that change what a turn looks like.
func variants() map[string]func(*responses.Surface, *responses.Own) {
	return map[string]func(*responses.Surface, *responses.Own){
		"silent":     func(*responses.Surface, *responses.Own) {},
		"summary":    func(_ *responses.Surface, o *responses.Own) { o.Summary = true },
		"encrypted":  func(_ *responses.Surface, o *responses.Own) { o.Encrypted = true },
		"open names": func(s *responses.Surface, o *responses.Own) { s.OpenNames, o.Summary, o.Encrypted = true, true, true },
		"compaction": func(_ *responses.Surface, o *responses.Own) { o.Compact, o.SealSummary = true, sealing() },
		"no seals":   func(_ *responses.Surface, o *responses.Own) { o.Compact = true },
	}
}

// TestGrammar holds every stream to the order that clients demand, and its last resource to the body.
func TestGrammar(t *testing.T) {
	for name, vary := range variants() {
		for _, s := range stories() {
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				for _, from := range []int{0, 1, 2, 1 << 20} { // where keepalives begin
					var sf responses.Surface
					req := request()
					vary(&sf, ownOf(req))
					terminal, resource := play(t, sf, s.Events, req, surfacetest.Info(), func(i int) bool { return i >= from })
					if s.Name == "fault" {
						if terminal != "response.failed" {
							t.Fatalf("ends with %s", terminal)
						}
						continue
					}
					if body := sf.Body(req, surfacetest.Info(), surfacetest.Fold(t, s.Events)); !bytes.Equal(body, resource) {
						t.Fatalf("the stream ends with\n%s\nthe body is\n%s", resource, body)
					}
				}
			})
		}
	}
}

func TestVariants(t *testing.T) {
	for _, name := range []string{"summary", "encrypted", "open names"} {
		t.Run(name, func(t *testing.T) {
			var s outgoing
			req := request()
			variants()[name](&s.Surface, ownOf(req))
			got := surfacetest.Play(t, story(t, "interleaved"), s, req, surfacetest.Info())
			surfacetest.Golden(t, file("interleaved "+name, "stream"), got)
			if open := bytes.Contains(got, []byte("event: response.reasoning.delta\n")); open != (name == "open names") {
				t.Errorf("open names: %v", open)
			}
		})
	}
}

func TestCompaction(t *testing.T) {
	for _, tt := range []struct {
		name, story, terminal string
		seal                  bool
	}{
		{"text", "text", "response.completed", true},
		{"text among others", "interleaved", "response.completed", true},
		{"cut off behind some text", "no usage", "response.completed", true},
		{"no text", "calls only", "response.failed", true},
		{"no text, cut off", "cut call", "response.failed", true},
		{"nothing", "empty", "response.failed", true},
		{"nothing that seals", "text", "response.failed", false},
		{"fault", "fault", "response.failed", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request()
			ownOf(req).Compact = true
			if tt.seal {
				ownOf(req).SealSummary = sealing()
			}
			terminal, resource := play(t, responses.Surface{}, story(t, tt.story), req, surfacetest.Info(), func(int) bool { return false })
			var r struct {
				Output []struct {
					Type, ID         string
					EncryptedContent string `json:"encrypted_content"`
				}
			}
			if err := json.Unmarshal(resource, &r); err != nil {
				t.Fatal(err)
			}
			if terminal != tt.terminal || (terminal == "response.completed") != (len(r.Output) == 1) {
				t.Fatalf("%s: %s", terminal, resource)
			}
			if len(r.Output) == 1 && (r.Output[0].Type != "compaction" || !strings.HasPrefix(r.Output[0].EncryptedContent, "seal 1 of ") || !strings.HasPrefix(r.Output[0].ID, "cmp_")) {
				t.Errorf("%s", resource)
			}
		})
	}
}

// TestCutCall: clients run a call as soon as it is done, so one that was cut short never is.
func TestCutCall(t *testing.T) {
	var c collected
	enc := responses.Surface{}.Encode(request(), surfacetest.Info(), &c)
	for _, ev := range story(t, "cut call") {
		if err := enc.Event(&ev); err != nil {
			t.Fatal(err)
		}
	}
	terminal, resource := checkStream(t, c.frames)
	if terminal != "response.incomplete" || !strings.Contains(string(resource), `"reason":"max_output_tokens"`) {
		t.Errorf("%s: %s", terminal, resource)
	}
	for _, f := range c.frames {
		if bytes.Contains(f.Data, []byte("call_2")) && f.Event != "response.output_item.added" && f.Event != "response.incomplete" {
			t.Errorf("%s", f.Data)
		}
	}
}

// TestEmptyArguments: a call without arguments has an empty object, also in the deltas.
func TestEmptyArguments(t *testing.T) {
	call := event.Call{ID: "call_1", Name: "list"}
	events := []event.Event{{Kind: event.TurnStart}, {Kind: event.ToolStart, Call: call}, {Kind: event.ToolEnd, Call: call, Complete: true}, {Kind: event.UsageKind}, {Kind: event.Finish}}
	var c collected
	req := request()
	enc := responses.Surface{}.Encode(req, surfacetest.Info(), &c)
	for i := range events {
		if err := enc.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	_, resource := checkStream(t, c.frames)
	if body := (responses.Surface{}).Body(req, surfacetest.Info(), surfacetest.Fold(t, events)); !bytes.Equal(body, resource) || !strings.Contains(string(body), `"arguments":"{}"`) {
		t.Errorf("%s\n%s", resource, body)
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct{ kind, message, want string }{
		{"overflow", "too long", `{"code":"context_length_exceeded","message":"too long"}`},
		{"quota", "Try again in 2s.", `{"code":"rate_limit_exceeded","message":"Try again in 2s."}`},
		{"invalid", "no", `{"code":"invalid_prompt","message":"no"}`},
		{"unsupported", "no", `{"code":"invalid_prompt","message":"no"}`},
		{"busy", "busy, try again", `{"code":"server_error","message":"busy, try again"}`},
		{"unavailable", "", `{"code":"server_error","message":"unavailable"}`},
		{"timeout", "x", `{"code":"server_error","message":"x"}`},
		{"engine", "x", `{"code":"server_error","message":"x"}`},
		{"unheard_of", "x", `{"code":"server_error","message":"x"}`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			events := []event.Event{{Kind: event.TurnStart}, {Kind: event.FaultKind, Fault: event.Fault{Kind: tt.kind, Message: tt.message}}}
			terminal, resource := play(t, responses.Surface{}, events, request(), surfacetest.Info(), func(int) bool { return false })
			var r struct{ Error json.RawMessage }
			if err := json.Unmarshal(resource, &r); err != nil || terminal != "response.failed" || string(r.Error) != tt.want {
				t.Errorf("%s %s, %v", terminal, r.Error, err)
			}
		})
	}
}

func TestWarm(t *testing.T) {
	var c collected
	req := request()
	ownOf(req).Previous = "resp_before"
	if err := (responses.Surface{}).Warm(req, surfacetest.Info(), &c); err != nil {
		t.Fatal(err)
	}
	terminal, resource := checkStream(t, c.frames)
	body := responses.Surface{}.Body(req, surfacetest.Info(), &event.Result{})
	if terminal != "response.completed" || len(c.frames) != 2 || !bytes.Equal(body, resource) {
		t.Errorf("%s, %d frames: %s, body %s", terminal, len(c.frames), resource, body)
	}
	if !strings.Contains(string(resource), `"previous_response_id":"resp_before","output":[],"usage":{"input_tokens":0,`) {
		t.Errorf("%s", resource)
	}
}

func TestNoDispatchUnasked(t *testing.T) {
	info := surfacetest.Info()
	info.Dispatch = false
	if got := surfacetest.Play(t, story(t, "interleaved"), outgoing{}, request(), info); bytes.Contains(got, []byte("dispatch")) {
		t.Errorf("%s", got)
	}
}

func TestDeltasDoNotAllocate(t *testing.T) {
	for name, vary := range variants() {
		var s responses.Surface
		req := request()
		vary(&s, ownOf(req))
		for _, evs := range deltas() {
			enc := s.Encode(req, surfacetest.Info(), surfacetest.Discard{})
			for i := range evs[:2] {
				if err := enc.Event(&evs[i]); err != nil {
					t.Fatal(err)
				}
			}
			if n := testing.AllocsPerRun(1000, func() {
				if err := enc.Event(&evs[2]); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %v: %v allocations", name, evs[2].Kind, n)
			}
		}
	}
}

// deltas begin a turn and a block, and have one delta of it.
func deltas() [][]event.Event {
	start := event.Event{Kind: event.TurnStart}
	return [][]event.Event{
		{start, {Kind: event.TextStart}, {Kind: event.TextDelta, Text: []byte(" some \"text\"\n")}},
		{start, {Kind: event.ReasoningStart}, {Kind: event.ReasoningDelta, Text: []byte(" some text\n")}},
		{start, {Kind: event.ToolStart, Call: event.Call{ID: "call_1", Name: "f"}}, {Kind: event.ToolArgs, Text: []byte(`"some":`)}},
		{start, {Kind: event.ToolStart, Call: event.Call{ID: "call_1", Name: "f", Kind: event.Custom}}, {Kind: event.ToolArgs, Text: []byte(`some`)}},
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	for _, evs := range deltas() {
		b.Run(evs[2].Kind.String()+"/"+evs[1].Call.Kind.String(), func(b *testing.B) {
			var enc surface.Encoder
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%4096 == 0 { // a long answer; all of it is kept for its end
					enc = responses.Surface{}.Encode(request(), surfacetest.Info(), surfacetest.Discard{})
					for k := range evs[:2] {
						if err := enc.Event(&evs[k]); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := enc.Event(&evs[2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeShort(b *testing.B) { surfacetest.BenchmarkShort(b, outgoing{}) }

// broken is a writer whose client leaves after some frames.
type broken struct {
	surfacetest.Discard
	left int
}

var errGone = bytes.ErrTooLarge

func (w *broken) Write(f transport.Frame) error {
	if w.left--; w.left < 0 {
		return errGone
	}
	return w.Discard.Write(f)
}

// TestGone: the error of a writer comes out of the event that it broke.
func TestGone(t *testing.T) {
	events := slices.Concat(story(t, "interleaved"))
	for left := range 60 {
		req := request()
		ownOf(req).Summary = true
		enc := responses.Surface{}.Encode(req, surfacetest.Info(), &broken{left: left})
		var err error
		for i := range events {
			if err = enc.Event(&events[i]); err != nil {
				break
			}
		}
		if err == nil {
			if left < 20 {
				t.Errorf("%d frames were enough", left)
			}
			return
		}
	}
	t.Error("the error of a writer stays")
}
