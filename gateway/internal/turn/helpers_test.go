package turn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// step is one thing that an engine's stream does, after a while.
type step struct {
	after time.Duration
	delta engines.Delta
	err   error
}

// engine is one whose every move is scripted. The tests run in a bubble of fake time.
type engine struct {
	headers time.Duration // until Generate returns
	refuse  error
	steps   []step
	calls   int
	closed  int
	gone    error // why the stream's context ended while the stream waited
}

func (*engine) Capabilities() engines.Capabilities { return engines.Capabilities{} }

// wait lets time go by, unless the context ends.
func (e *engine) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		e.gone = context.Cause(ctx)
		return fmt.Errorf("engine: %w", e.gone)
	}
}

func (e *engine) Generate(ctx context.Context, _ *engines.Request) (engines.Stream, error) {
	e.calls++
	if err := e.wait(ctx, e.headers); err != nil {
		return nil, err
	}
	if e.refuse != nil {
		return nil, e.refuse
	}
	return &engineStream{engine: e, ctx: ctx}, nil
}

type engineStream struct {
	*engine
	ctx context.Context //nolint:containedctx // because a stream lives as long as its generation
	at  int
}

func (s *engineStream) Next() (*engines.Delta, error) {
	if s.at == len(s.steps) {
		return nil, io.EOF
	}
	next := s.steps[s.at]
	s.at++
	if err := s.wait(s.ctx, next.after); err != nil {
		return nil, err
	}
	return &next.delta, next.err
}

func (s *engineStream) Close() error {
	s.closed++
	return nil
}

// peeking is a stream that knows what waits: steps without a delay.
type peeking struct{ *engine }

func (p peeking) Generate(ctx context.Context, r *engines.Request) (engines.Stream, error) {
	s, err := p.engine.Generate(ctx, r)
	if err != nil {
		return nil, err
	}
	return peekingStream{s.(*engineStream)}, nil
}

type peekingStream struct{ *engineStream }

func (s peekingStream) Ready() bool { return s.at == len(s.steps) || s.steps[s.at].after == 0 }

func say(after time.Duration, text string) step {
	return step{after: after, delta: engines.Delta{Bytes: []byte(text), Tokens: 1}}
}

func done(r engines.Reason) step {
	return step{delta: engines.Delta{Finish: &engines.Finish{Reason: r}, Usage: &engines.Usage{Input: 20, Cached: 5, Output: 7}}}
}

func failing(after time.Duration, class engines.Class) step {
	return step{after: after, err: &engines.Error{Class: class, Engine: "fake", Message: "secret"}}
}

// sink writes down what a client would get, and when.
type sink struct {
	event.Checker
	begun  time.Time
	lines  []string
	slow   func(flush int) time.Duration // how long a flush takes
	breaks int                           // the flush that fails; 0: none
	n      int
	hidden bool // nothing of the turn shows
}

func (s *sink) note(what string) {
	s.lines = append(s.lines, fmt.Sprintf("%v %s", time.Since(s.begun), what))
}

func (s *sink) Event(e *event.Event) error {
	text := e.Kind.String()
	switch e.Kind {
	case event.TextDelta, event.ReasoningDelta, event.ToolArgs:
		text += fmt.Sprintf(" %q", e.Text)
	case event.Finish:
		text += " " + string(e.Reason) + e.StopSequence
	case event.FaultKind:
		text += " " + e.Fault.Kind + ": " + e.Fault.Message
	case event.UsageKind:
		text += fmt.Sprintf(" %d/%d/%d", e.Usage.Input, e.Usage.Cached, e.Usage.Output)
	}
	s.note(text)
	return s.Checker.Event(e)
}

func (s *sink) KeepAlive() error {
	s.note("alive")
	return nil
}

var errGone = errors.New("broken pipe")

func (s *sink) Flush() (bool, error) {
	if s.n++; s.n == s.breaks {
		return false, errGone
	}
	if s.slow != nil {
		if d := s.slow(s.n); d > 0 {
			time.Sleep(d) //nolint:forbidigo // fake time: a client that does not read
		}
	}
	return !s.hidden, nil
}

func (s *sink) String() string { return strings.Join(s.lines, "\n") }

// meter counts.
type meter struct {
	tokens int
	faults []string
}

func (m *meter) Tokens(n int)              { m.tokens += n }
func (m *meter) PluginFault(f *host.Fault) { m.faults = append(m.faults, f.Error()) }

// newTurn is a streamed turn with usual times.
func newTurn(replicas ...turn.Replica) (*turn.Turn, *sink, *meter) {
	s, m := &sink{begun: time.Now()}, &meter{}
	return &turn.Turn{
		Request: &engines.Request{}, Prompt: &turn.Prompt{Tokens: 11}, Replicas: replicas, Streamed: true, Sink: s, Meter: m,
		Times: turn.Times{HeaderWait: 5 * time.Second, KeepAlive: 10 * time.Second, Idle: time.Minute},
	}, s, m
}

func replica(e engines.Engine) turn.Replica { return turn.Replica{Name: "r", Engine: e} }

// compare compares lines.
func compare(t *testing.T, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n"); got != w {
		t.Errorf("got:\n%s\nwant:\n%s", got, w)
	}
}

// plugin is a parser that calls what comes after a "/" reasoning, and fails at a "!".
type plugin struct {
	state   struct{ reasoning uint32 }
	noStart bool
}

func (*plugin) Manifest() string { return "{}" }

func (*plugin) Open([]byte) error { return nil }

func (p *plugin) Window() []byte { return guest.WindowOf(&p.state) }

func (p *plugin) Start(guest.Start) error {
	if p.noStart {
		return errors.New("no start")
	}
	return nil
}

func (p *plugin) Feed(in *guest.Input, out *guest.Out) {
	for _, b := range in.Bytes {
		switch {
		case b == '!':
			panic("boom")
		case b == '/':
			p.state.reasoning ^= 1
			out.Extend(record.Marker, 0, 0, 1)
		case b == '.':
			out.Extend(record.Marker, record.EndTurn, 0, 1)
		case p.state.reasoning != 0:
			out.Extend(record.Reasoning, 0, 0, 1)
		default:
			out.Extend(record.Text, 0, 0, 1)
		}
	}
}

func (p *plugin) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.Feed(in, out) }
