package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/seal"
)

// Short for parts and messages.
func said(text string) conv.Part { return conv.Part{Kind: conv.Text, Text: text} }

func thinks(text, sealed string) conv.Part {
	return conv.Part{Kind: conv.Reasoning, Text: text, Seal: sealed}
}

func summary(text, sealed string) conv.Part {
	return conv.Part{Kind: conv.Summary, Text: text, Seal: sealed}
}

func called(id string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: id, Name: "f", Arguments: "{}"}}
}

func user(parts ...conv.Part) conv.Message { return conv.Message{Role: conv.User, Parts: parts} }

func model(parts ...conv.Part) conv.Message {
	return conv.Message{Role: conv.Assistant, Parts: parts}
}

// copyOf is a request that shares no memory with req which Unseal could write to.
func copyOf(req *conv.Request) *conv.Request {
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		out.Messages[i].Parts = slices.Clone(out.Messages[i].Parts)
	}
	return &out
}

func TestUnseal(t *testing.T) {
	t.Parallel()
	x := box(t)
	full := x.Reasoning("a", "f", []byte("thought"))
	none := x.Reasoning("a", "f", nil)
	others := x.Reasoning("b", "f", []byte("thought"))
	tag := x.Tag("a", "f", []byte("seen"))
	sum := x.Summary("a", []byte("it was so"))
	gone := box(t).Summary("a", []byte("it was so"))
	const foreign = "EqoBCkgIARABGAIiQL"
	const changed, compaction = "this reasoning was changed, or its key is gone", "this compaction was not made here, or its key is gone"
	for _, tt := range []struct {
		name   string
		in     []conv.Message
		want   []conv.Message
		report seal.Report
		strict bool
		fault  string
	}{
		{name: "a full seal", in: []conv.Message{user(said("hi")), model(thinks("", full), said("yes"), called("1"))}, want: []conv.Message{user(said("hi")), model(thinks("thought", ""), said("yes"), called("1"))}, report: seal.Report{Opened: 1}},
		{name: "it wins over what is visible", in: []conv.Message{model(thinks("a summary of it", full))}, want: []conv.Message{model(thinks("thought", ""))}, report: seal.Report{Opened: 1}},
		{name: "a seal of nothing", in: []conv.Message{model(thinks("seen", none), said("yes"))}, want: []conv.Message{model(said("yes"))}, report: seal.Report{Opened: 1}},
		{name: "a tag", in: []conv.Message{model(thinks("seen", tag))}, want: []conv.Message{model(thinks("seen", ""))}, report: seal.Report{Vouched: 1}},
		{name: "a tag of another text", in: []conv.Message{model(thinks("written", tag))}, want: []conv.Message{model(thinks("written", ""))}, report: seal.Report{Invalid: 1}},
		{name: "a tag of no text", in: []conv.Message{model(thinks("", tag), said("yes"))}, want: []conv.Message{model(said("yes"))}, report: seal.Report{Invalid: 1}},
		{name: "foreign with text", in: []conv.Message{model(thinks("seen", foreign))}, want: []conv.Message{model(thinks("seen", ""))}, report: seal.Report{Foreign: 1}},
		{name: "foreign without text", in: []conv.Message{user(said("hi")), model(thinks("", foreign)), user(said("go on"))}, want: []conv.Message{user(said("hi")), user(said("go on"))}, report: seal.Report{Foreign: 1}},
		{name: "another tenant's", in: []conv.Message{model(thinks("seen", others), thinks("", others), said("yes"))}, want: []conv.Message{model(thinks("seen", ""), said("yes"))}, report: seal.Report{Invalid: 2}},
		{name: "a summary as reasoning", in: []conv.Message{model(thinks("seen", sum))}, want: []conv.Message{model(thinks("seen", ""))}, report: seal.Report{Invalid: 1}},
		{name: "a summary", in: []conv.Message{user(summary("", sum)), user(said("go on"))}, want: []conv.Message{user(said("Summary of the conversation so far:\n\nit was so")), user(said("go on"))}, report: seal.Report{Opened: 1}},
		{name: "a summary that was kept", in: []conv.Message{user(summary("it was so", ""))}, want: []conv.Message{user(said("Summary of the conversation so far:\n\nit was so"))}, strict: true},
		{name: "a summary that was kept longer than its key", in: []conv.Message{user(summary("it was so", gone))}, want: []conv.Message{user(said("Summary of the conversation so far:\n\nit was so"))}, report: seal.Report{Invalid: 1}},
		{name: "a message that was empty", in: []conv.Message{user(), model(thinks("", full))}, want: []conv.Message{user(), model(thinks("thought", ""))}, report: seal.Report{Opened: 1}},
		{name: "seals of texts are nobody's", in: []conv.Message{model(conv.Part{Kind: conv.Text, Text: "x", Seal: foreign}, thinks("", full))}, want: []conv.Message{model(conv.Part{Kind: conv.Text, Text: "x", Seal: foreign}, thinks("thought", ""))}, report: seal.Report{Opened: 1}},
		{name: "several", in: []conv.Message{model(thinks("", full), thinks("seen", tag), thinks("x", foreign), thinks("y", others))}, want: []conv.Message{model(thinks("thought", ""), thinks("seen", ""), thinks("x", ""), thinks("y", ""))}, report: seal.Report{Opened: 1, Invalid: 1, Foreign: 1, Vouched: 1}},
		{name: "strict and valid", in: []conv.Message{model(thinks("", full), thinks("seen", tag), thinks("x", foreign))}, want: []conv.Message{model(thinks("thought", ""), thinks("seen", ""), thinks("x", ""))}, report: seal.Report{Opened: 1, Foreign: 1, Vouched: 1}, strict: true},

		{name: "strict and another tenant's", in: []conv.Message{model(thinks("", full), thinks("seen", others))}, report: seal.Report{Opened: 1, Invalid: 1}, strict: true, fault: changed},
		{name: "strict and a tag of another text", in: []conv.Message{model(thinks("written", tag))}, report: seal.Report{Invalid: 1}, strict: true, fault: changed},
		{name: "strict and a summary kept longer than its key", in: []conv.Message{user(summary("it was so", gone))}, report: seal.Report{Invalid: 1}, strict: true, fault: compaction},
		{name: "a foreign summary", in: []conv.Message{user(summary("", foreign))}, report: seal.Report{Foreign: 1}, fault: compaction},
		{name: "a summary whose key is gone", in: []conv.Message{user(summary("", gone))}, report: seal.Report{Invalid: 1}, fault: compaction},
		{name: "reasoning as a summary", in: []conv.Message{user(summary("", full))}, report: seal.Report{Invalid: 1}, fault: compaction},
		{name: "a summary without anything", in: []conv.Message{user(summary("", ""))}, report: seal.Report{Foreign: 1}, fault: compaction},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := &conv.Request{Model: "m", Messages: tt.in, Stop: []string{"x"}}
			before := copyOf(req)
			got, report, err := seal.Unseal(req, x, "a", tt.strict)
			if !reflect.DeepEqual(req, before) {
				t.Errorf("the request was changed to %+v", req)
			}
			if report != tt.report {
				t.Errorf("reports %+v, want %+v", report, tt.report)
			}
			if tt.fault != "" {
				f, ok := errors.AsType[*fault.Error](err)
				if got != nil || !ok || f.Kind != fault.Invalid || f.Param != "encrypted_content" || f.Public != tt.fault {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			before.Messages = tt.want
			if err != nil || !reflect.DeepEqual(got, before) {
				t.Errorf("got %+v, %v", got, err)
			}
			if again, report, err := seal.Unseal(got, x, "a", true); again != got || report != (seal.Report{}) || err != nil {
				t.Errorf("again: got %+v, %+v, %v", again, report, err)
			}
		})
	}
}

// unsealed is a conversation of n messages without a seal.
func unsealed(n int) *conv.Request {
	req := &conv.Request{Model: "m"}
	for i := range n {
		if i%2 == 0 {
			req.Messages = append(req.Messages, user(said("go on")))
		} else {
			req.Messages = append(req.Messages, model(thinks("thought", ""), said("yes"), called("1")))
		}
	}
	return req
}

func TestUnsealNothing(t *testing.T) {
	x, req := box(t), unsealed(120)
	if n := testing.AllocsPerRun(10, func() {
		if got, report, err := seal.Unseal(req, x, "a", true); got != req || report != (seal.Report{}) || err != nil {
			t.Errorf("got %p, %+v, %v", got, report, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	empty := &conv.Request{}
	if got, _, err := seal.Unseal(empty, x, "a", true); got != empty || err != nil {
		t.Errorf("got %p, %v", got, err)
	}
}

// TestUnsealBound repeats one short seal of a long text.
func TestUnsealBound(t *testing.T) {
	t.Parallel()
	x := box(t)
	const size = 1 << 20
	s := x.Reasoning("a", "", bytes.Repeat([]byte("a"), size))
	req := &conv.Request{Messages: []conv.Message{model()}}
	for range seal.MaxOpened / size {
		req.Messages[0].Parts = append(req.Messages[0].Parts, thinks("", s))
	}
	if _, report, err := seal.Unseal(req, x, "a", false); err != nil || report.Opened != seal.MaxOpened/size {
		t.Errorf("at the bound: %+v, %v", report, err)
	}
	for name, p := range map[string]conv.Part{"reasoning": thinks("", s), "a summary": summary("", x.Summary("a", []byte("b")))} {
		over := *req
		over.Messages = append(slices.Clone(req.Messages), user(p))
		if got, _, err := seal.Unseal(&over, x, "a", false); got != nil || fault.From(err).Kind != fault.TooLarge {
			t.Errorf("%s over the bound: %v", name, err)
		}
	}
}

// FuzzUnseal makes conversations of any parts with any seals, genuine ones among them.
func FuzzUnseal(f *testing.F) {
	x, other := box(f), box(f)
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x10\x11\x12\x13\x14\x15\x20\x21\x22"), "weir1.r.AAAA", true)
	f.Add([]byte{2, 0, 2, 1, 2, 2, 7, 3, 2, 4, 0, 0, 7, 0}, "weir1.x", false)
	f.Fuzz(func(t *testing.T, script []byte, any string, strict bool) {
		seals := []string{
			"", any, x.Reasoning("a", any, []byte(any)), x.Summary("a", []byte(any)), x.Tag("a", any, []byte(any)), x.Reasoning("b", any, []byte(any)),
			other.Summary("a", []byte(any)), "weir1." + any, "weir1.r." + any, "weir1.t." + any,
		}
		req := &conv.Request{Messages: []conv.Message{user()}}
		for ; len(script) >= 2 && len(req.Messages) < 100; script = script[2:] {
			p := conv.Part{Kind: conv.PartKind(script[0] % 9), Seal: seals[int(script[1]&0x0f)%len(seals)]}
			if script[1]&0x10 != 0 {
				p.Text = any
			}
			last := &req.Messages[len(req.Messages)-1]
			if last.Parts = append(last.Parts, p); script[1]&0x20 != 0 {
				req.Messages = append(req.Messages, conv.Message{Role: conv.Role(script[0] % 6)})
			}
		}
		before := copyOf(req)
		got, report, err := seal.Unseal(req, x, "a", strict)
		if !reflect.DeepEqual(req, before) {
			t.Fatal("the request was changed")
		}
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok || got != nil {
				t.Errorf("got %v, %v", got, err)
			}
			return
		}
		if strict && report.Invalid > 0 {
			t.Errorf("strict, and %+v", report)
		}
		size := 0
		for _, m := range got.Messages {
			for _, p := range m.Parts {
				if p.Kind == conv.Summary || p.Kind == conv.Reasoning && p.Seal != "" {
					t.Errorf("still there: %+v", p)
				}
				size += len(p.Text)
			}
		}
		if parts := report.Opened + report.Invalid + report.Foreign + report.Vouched; size > 200*(len(any)+40) || parts > 200 {
			t.Errorf("%d bytes of %+v", size, report)
		}
		if again, _, err := seal.Unseal(got, x, "a", true); again != got || err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

func BenchmarkUnseal120(b *testing.B) {
	x, req := box(b), unsealed(120)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := seal.Unseal(req, x, "a", false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnsealSealed is a conversation of 60 turns with 2 KB of thinking each.
func BenchmarkUnsealSealed(b *testing.B) {
	x, req := box(b), unsealed(120)
	for i := 1; i < len(req.Messages); i += 2 {
		req.Messages[i].Parts[0] = thinks("", x.Reasoning("a", "f", fmt.Append(thought(2<<10), i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := seal.Unseal(req, x, "a", false); err != nil {
			b.Fatal(err)
		}
	}
}
