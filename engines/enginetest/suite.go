// Package enginetest is the contract suite every engine adapter passes, with a scripted server that
// injects faults into the HTTP ones.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
)

// Factory opens the engine under test.
type Factory struct {
	// Open makes an engine. base is the URL of a Double for HTTP engines, empty for others.
	Open func(tb testing.TB, base string) engines.Engine
	// HTTP says that the engine speaks to an OpenAI server, so that a Double can stand in for it.
	HTTP bool
	// Request makes a request that is answered with at least 20 deltas; nil means Request.
	Request func() *engines.Request
}

// Request asks for 60 words, as text and as a conversation.
func Request() *engines.Request {
	const text = "long 60"
	return &engines.Request{ID: "req-1", Model: "double", Prompt: text, Conversation: &conv.Request{
		Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{{Kind: conv.Text, Text: text}}}},
		Choice:   conv.ToolChoice{Parallel: true},
		Stream:   true,
	}}
}

// Output is a drained stream.
type Output struct {
	Text      string // bytes, or the text of text fragments
	Reasoning string
	Calls     map[int]*Call
	Spans     []string // the text under each span
	IDs       []uint32
	Unknown   bool // a delta with bytes had no ids
	Tokens    int
	Deltas    int
	Usage     *engines.Usage
	Finish    *engines.Finish
}

// Drain reads s to its end and closes it. It checks what every delta must keep to; the error is what
// ended the stream, nil for io.EOF.
func Drain(tb testing.TB, s engines.Stream) (Output, error) {
	tb.Helper()
	out := Output{Calls: map[int]*Call{}}
	defer func() {
		for range 2 {
			if err := s.Close(); err != nil {
				tb.Errorf("close: %v", err)
			}
		}
	}()
	for {
		d, err := s.Next()
		if err == io.EOF {
			if out.Finish == nil {
				tb.Errorf("io.EOF without a finish")
			}
			if _, err := s.Next(); err != io.EOF {
				tb.Errorf("after io.EOF: %v", err)
			}
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.add(tb, d)
	}
}

func (o *Output) add(tb testing.TB, d *engines.Delta) {
	tb.Helper()
	o.Deltas++
	if o.Finish != nil {
		tb.Errorf("a delta after the finish: %+v", d)
	}
	if len(d.Bytes) > 0 && len(d.Fragments) > 0 {
		tb.Errorf("a delta with bytes and fragments")
	}
	if len(d.Bytes) == 0 && len(d.Fragments) == 0 && d.Usage == nil && d.Finish == nil {
		tb.Errorf("an empty delta")
	}
	if len(d.IDs) > 0 && len(d.Fragments) > 0 {
		tb.Errorf("a delta with ids and fragments")
	}
	o.IDs = append(o.IDs, d.IDs...)
	o.Unknown = o.Unknown || len(d.Bytes) > 0 && len(d.IDs) == 0
	o.Tokens += d.Tokens
	end := uint32(0)
	for _, sp := range d.Spans {
		if sp.Off < end || int(sp.Off)+int(sp.Len) > len(d.Bytes) {
			tb.Errorf("span %+v overlaps or lies outside of %d bytes", sp, len(d.Bytes))
			continue
		}
		end = sp.Off + sp.Len
		o.Spans = append(o.Spans, string(d.Bytes[sp.Off:end]))
	}
	o.Text += string(d.Bytes)
	for _, f := range d.Fragments {
		switch f.Kind {
		case engines.FragmentText:
			o.Text += f.Text
		case engines.FragmentReasoning:
			o.Reasoning += f.Text
		case engines.FragmentCall:
			c := o.Calls[f.Index]
			if c == nil {
				c = &Call{Index: f.Index}
				o.Calls[f.Index] = c
			}
			c.ID += f.ID
			c.Name += f.Name
			c.Args += f.Text
		default:
			tb.Errorf("fragment of kind %d", f.Kind)
		}
	}
	// What a delta points to is the stream's own, so it is copied.
	if d.Usage != nil {
		u := *d.Usage
		o.Usage = &u
	}
	if d.Finish != nil {
		f := *d.Finish
		o.Finish = &f
	}
}

// Run holds an engine to the contract of package engines.
func Run(t *testing.T, f Factory) {
	t.Helper()
	if f.Request == nil {
		f.Request = Request
	}
	s := suite{f: f, double: NewDouble(Script{Chunks: Words(60)})}
	base := ""
	if f.HTTP {
		base = s.double.Serve(t)
	}
	s.engine = f.Open(t, base)
	t.Run("whole stream", s.whole)
	t.Run("token limit", s.limit)
	t.Run("cancelled before", s.canceledBefore)
	t.Run("cancelled between deltas", s.canceledBetween)
	t.Run("closed early", s.closedEarly)
	t.Run("concurrent", s.concurrent)
	t.Run("counter and prober", s.optional)
	if f.HTTP {
		s.http(t)
	}
}

type suite struct {
	f      Factory
	engine engines.Engine
	double *Double
}

func (s *suite) generate(t *testing.T, ctx context.Context) engines.Stream {
	t.Helper()
	st, err := s.engine.Generate(ctx, s.f.Request())
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	return st
}

func (s *suite) whole(t *testing.T) {
	out, err := Drain(t, s.generate(t, t.Context()))
	if err != nil || out.Text == "" || out.Finish.Reason != engines.ReasonStop {
		t.Fatalf("got %d bytes, %+v, %v", len(out.Text), out.Finish, err)
	}
	if out.Usage == nil || out.Usage.Output <= 0 || out.Usage.Input <= 0 || out.Usage.Cached > out.Usage.Input {
		t.Errorf("usage %+v", out.Usage)
	}
}

func (s *suite) limit(t *testing.T) {
	req := s.f.Request()
	req.MaxTokens = 3
	st, err := s.engine.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Drain(t, st)
	if err != nil || out.Finish.Reason != engines.ReasonLength {
		t.Fatalf("got %q, %+v, %v, want a finish by length", out.Text, out.Finish, err)
	}
	if out.Usage != nil && out.Usage.Output > 3 {
		t.Errorf("%d tokens, the limit is 3", out.Usage.Output)
	}
}

func canceledError(err error) bool {
	return errors.Is(err, context.Canceled) && !engines.Retryable(err)
}

func (s *suite) canceledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.engine.Generate(ctx, s.f.Request()); !canceledError(err) {
		t.Errorf("got %v, want the cancellation, not to be retried", err)
	}
}

func (s *suite) canceledBetween(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := s.generate(t, ctx)
	if _, err := st.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	// What was read already may still come.
	for {
		if _, err := st.Next(); err != nil {
			if err != io.EOF && !canceledError(err) {
				t.Errorf("got %v, want the cancellation", err)
			}
			break
		}
	}
	if err := st.Close(); err != nil && !canceledError(err) {
		t.Errorf("close: %v", err)
	}
}

func (s *suite) closedEarly(t *testing.T) {
	st := s.generate(t, t.Context())
	if _, err := st.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if d, err := st.Next(); err == nil {
		t.Errorf("a delta after Close: %+v", d)
	}
	if _, err := Drain(t, s.generate(t, t.Context())); err != nil {
		t.Errorf("the next generation: %v", err)
	}
}

func (s *suite) concurrent(t *testing.T) {
	want, err := Drain(t, s.generate(t, t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			st, err := s.engine.Generate(t.Context(), s.f.Request())
			if err != nil {
				t.Errorf("stream %d: %v", i, err)
				return
			}
			if i%4 == 3 {
				_, _ = st.Next()
				_ = st.Close()
				return
			}
			got, err := Drain(t, st)
			if err != nil || got.Text != want.Text {
				t.Errorf("stream %d: %d bytes, want %d, %v", i, len(got.Text), len(want.Text), err)
			}
		})
	}
	wg.Wait()
}

func (s *suite) optional(t *testing.T) {
	if p, ok := s.engine.(engines.Prober); ok {
		if err := p.Probe(t.Context()); err != nil {
			t.Errorf("probe: %v", err)
		}
	}
	c, ok := s.engine.(engines.Counter)
	if !ok {
		return
	}
	n, err := c.CountTokens(t.Context(), s.f.Request())
	refused, ok := errors.AsType[*engines.Error](err)
	if err != nil && (!ok || refused.Class != engines.ClassRefused) || err == nil && n <= 0 {
		t.Errorf("count: %d, %v", n, err)
	}
}

// classOf names an error for a table.
func classOf(err error) string {
	var e *engines.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("%v", err)
	}
	names := [...]string{"?", "unavailable", "busy", "refused", "overflow", "internal", "protocol"}
	if e.Engine == "" || strings.TrimSpace(e.Message) == "" {
		return "an error without engine or message"
	}
	return names[min(int(e.Class), len(names)-1)]
}
