package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// teller makes a turn that keeps the grammar of events out of any bytes.
type teller struct {
	data       []byte
	events     []event.Event
	calls      int
	incomplete bool
}

func (t *teller) byte() byte {
	if len(t.data) == 0 {
		return 0
	}
	b := t.data[0]
	t.data = t.data[1:]
	return b
}

// text takes the next few bytes as UTF-8, never empty.
func (t *teller) text() []byte {
	n := min(int(t.byte()%16), len(t.data))
	s := strings.ToValidUTF8(string(t.data[:n]), "\uFFFD")
	t.data = t.data[n:]
	return []byte("~" + s)
}

func (t *teller) add(e event.Event) { t.events = append(t.events, e) }

func (t *teller) turn() []event.Event {
	t.add(event.Event{Kind: event.TurnStart, Usage: event.Usage{Input: int(t.byte())}})
	for len(t.data) > 0 && len(t.events) < 300 {
		t.block()
	}
	if t.byte(); len(t.events)%11 == 3 {
		t.add(event.Event{Kind: event.FaultKind, Fault: event.Fault{Kind: "quota", Message: "Try again in 2s."}})
		return t.events
	}
	t.add(event.Event{Kind: event.UsageKind, Usage: event.Usage{Input: t.calls, Output: len(t.events), Cached: 300}})
	reasons := []event.Reason{event.ReasonStop, event.ReasonLength, event.ReasonStopSequence, event.ReasonContent}
	if t.calls > 0 && !t.incomplete {
		reasons = append(reasons, event.ReasonToolUse)
	}
	t.add(event.Event{Kind: event.Finish, Reason: reasons[len(t.events)%len(reasons)], StopSequence: "stop"})
	return t.events
}

func (t *teller) block() {
	b := t.byte()
	n := int(b>>3) % 4
	switch b % 8 {
	case 0:
		t.add(event.Event{Kind: event.UsageKind, Usage: event.Usage{Input: int(t.byte()), Output: n}})
	case 1, 2:
		t.add(event.Event{Kind: event.ReasoningStart})
		for range n {
			t.add(event.Event{Kind: event.ReasoningDelta, Text: t.text()})
		}
		seal := ""
		if b%8 == 1 {
			seal = string(t.text())
		}
		t.add(event.Event{Kind: event.ReasoningEnd, Seal: seal})
	case 3, 4:
		t.add(event.Event{Kind: event.TextStart, Phase: event.Phase(n % 3)})
		for range n {
			t.add(event.Event{Kind: event.TextDelta, Text: t.text()})
		}
		t.add(event.Event{Kind: event.TextEnd})
	default:
		t.call(event.ToolKind(b%8-5), n)
	}
}

func (t *teller) call(kind event.ToolKind, n int) {
	c := event.Call{Index: t.calls, ID: fmt.Sprint("call_", t.calls), Name: string(t.text()), Kind: kind}
	if n == 3 {
		c.Namespace = string(t.text())
	}
	t.calls++
	t.add(event.Event{Kind: event.ToolStart, Call: c})
	var args []byte
	say := func(b []byte) {
		args = append(args, b...)
		t.add(event.Event{Kind: event.ToolArgs, Text: b})
	}
	end := event.Event{Kind: event.ToolEnd, Call: c, Complete: t.byte()%4 != 0}
	if !end.Complete {
		t.incomplete = true
		end.Cause = event.CauseTruncated
		if n%2 == 0 {
			end.Text = t.text()
		}
	}
	switch {
	case kind == event.Custom || !end.Complete || kind == event.ToolSearch && n == 1:
		for range n {
			say(t.text())
		}
	default:
		value, err := json.MarshalIndent(map[string]string{string(t.text()): string(t.text())}, "", "\t")
		if err != nil {
			panic(err) // strings marshal
		}
		say(value[:1])
		say(value[1:])
	}
	t.add(end)
	if end.Complete && n != 0 {
		c.Arguments = args
		t.add(event.Event{Kind: event.Dispatch, Call: c})
	}
}

// FuzzEncode tells any turn that keeps the grammar of events: the stream keeps this surface's, whatever the client
// wished, and ends with what the body of the same turn is.
func FuzzEncode(f *testing.F) {
	f.Add(byte(0), byte(0), []byte{})
	f.Add(byte(1), byte(3), []byte("\x10\x19\x05think\x1b\x04text\x1d\x02fn\x01\x03key\x05value\x1e\x02cu\x01\x04patch\x1f\x02se\x01\x02q"))
	f.Add(byte(4), byte(7), []byte("\x10\x1b\x04text\x1d\x02fn\x00\x03\xff\n\"\x02\xe2\x28"))
	f.Add(byte(2), byte(1), bytes.Repeat([]byte("\x0d\x02ab\x00\x0e\x01\x0f"), 8))
	f.Fuzz(checkTurn)
}

// TestAnyTurn is FuzzEncode over a few turns of chance, the same every time.
func TestAnyTurn(t *testing.T) {
	r := rand.NewChaCha8([32]byte{})
	for range 300 {
		data := make([]byte, r.Uint64()%400)
		r.Read(data) // never fails
		checkTurn(t, byte(r.Uint64()), byte(r.Uint64()%8), data)
	}
}

func checkTurn(t *testing.T, wish, keepAlive byte, data []byte) {
	t.Helper()
	events := (&teller{data: data}).turn()
	var s responses.Surface
	req := request()
	own := ownOf(req)
	s.OpenNames, own.Summary, own.Encrypted = wish&1 != 0, wish&2 != 0, wish&4 != 0
	if own.Compact = wish&24 == 24; own.Compact && wish&32 == 0 {
		own.SealSummary = sealing()
	}
	info := surfacetest.Info()
	info.Dispatch = wish&64 == 0
	terminal, resource := play(t, s, events, req, info, func(i int) bool { return keepAlive != 0 && i%int(keepAlive) == 0 })
	res := surfacetest.Fold(t, events)
	if res.Fault != nil {
		if terminal != "response.failed" {
			t.Fatalf("a fault ends with %s", terminal)
		}
		return
	}
	body := s.Body(req, info, res)
	if !bytes.Equal(body, resource) {
		t.Fatalf("the stream ends with\n%s\nthe body is\n%s", resource, body)
	}
	items := responses.Output(req, info, res)
	var r struct{ Output []json.RawMessage }
	if err := json.Unmarshal(body, &r); err != nil || len(items) != len(r.Output) {
		t.Fatalf("%d items of %s, %v", len(items), body, err)
	}
	whole := true
	for i := range items {
		whole = whole && !bytes.Contains(items[i].JSON, []byte(`"status":"incomplete"`))
		if !bytes.Equal(items[i].JSON, r.Output[i]) {
			t.Fatalf("item %s, shown was %s", items[i].JSON, r.Output[i])
		}
	}
	req.Stream = false
	if plain := s.Body(req, info, res); !json.Valid(plain) || whole && !bytes.Equal(plain, body) {
		t.Fatalf("not streamed it is\n%s\nstreamed\n%s", plain, body)
	}
}

// FuzzEcho repeats anything as a member of the resource: the resource stays JSON on one line.
func FuzzEcho(f *testing.F) {
	for _, s := range []string{``, `null`, `[{"type":"function"}]`, "{\"format\":{\"type\":\"json_schema\"},\n\"a\":\"\x00\xff\"}", `{"type":"allowed_tools"`, "[1,\t{}]", `{"a":1}{`, ` { } `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req := request()
		ownOf(req).Echo = responses.Echo{
			Tools: raw, ToolChoice: raw, Text: raw, Reasoning: raw, Metadata: raw, Truncation: raw, MaxToolCalls: raw, ServiceTier: raw,
			PromptCacheKey: raw, PromptCacheRetention: raw, SafetyIdentifier: raw, User: raw, Include: raw, TopLogprobs: raw, Instructions: raw,
		}
		if jsonscan.Valid(raw) { // what a decoder let through
			body := responses.Surface{}.Body(req, surfacetest.Info(), &event.Result{})
			if !json.Valid(body) || bytes.ContainsAny(body, "\r\n") {
				t.Fatalf("%q", body)
			}
		}
	})
}
