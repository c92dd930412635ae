package sim

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
)

// Stream is one generation, a token a delta.
type Stream struct {
	e      *Engine
	ctx    context.Context //nolint:containedctx // the caller's; it outlives Generate because the stream does
	ticket *ticket
	unhook func() bool
	once   sync.Once // leaves the batch

	vocab     *Tokens
	ids       []uint32
	prompt    string
	input     int // tokens of the prompt
	out       []byte
	marks     []mark
	tokens    []token // of out; nil: it is cut at random
	stop      string
	limit     int
	failAfter int // -1: never

	begun  bool
	first  time.Time // when the first token is due
	cached int
	at     int // in out
	mark   int // in marks
	sent   int // tokens
	random uint64
	err    error

	delta engines.Delta
	spans [1]record.Span
	id    [1]uint32
	usage engines.Usage
	fin   engines.Finish
}

// write renders the turn and finds its special tokens and its end.
func (s *Stream) write(t Turn, req *engines.Request) {
	special := s.vocab.special
	s.out = s.e.cfg.RenderTurn(t, req.Model)
	s.marks = marks(s.out, &t, special)
	s.out, s.stop = cutStop(s.out, s.marks, req.Stop, special)
	s.tokens = s.vocab.cut(s.out, s.marks)
	s.random = mix(s.e.cfg.Seed, string(s.out))
}

// leave frees the generation's place.
func (s *Stream) leave() { s.once.Do(func() { s.e.sched.leave(s.ticket) }) }

// Ready reports whether Next would return at once.
func (s *Stream) Ready() bool {
	if s.err != nil || s.ctx.Err() != nil {
		return true
	}
	select {
	case <-s.ticket.admitted:
	default:
		return false
	}
	s.begin()
	return !s.due().After(s.e.cfg.Clock.Now())
}

// begin computes the prompt, once the generation is in the batch.
func (s *Stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.cached = s.e.cache.enter(s.ids, s.prompt)
	now := s.e.cfg.Clock.Now()
	if s.e.cfg.Scale == 0 {
		s.first = now
		return
	}
	var work time.Duration
	if rate := s.e.cfg.PrefillRate; rate > 0 {
		work = time.Duration(float64(s.input-s.cached) / rate * float64(time.Second))
	}
	s.first = s.e.sched.begin(now, s.e.scaled(work)).Add(s.e.scaled(s.e.cfg.Overhead))
}

// due is when the next token is there. The end of the turn is a token like others.
func (s *Stream) due() time.Time {
	return s.first.Add(time.Duration(s.sent) * s.e.scaled(s.e.cfg.TokenTime))
}

// Next returns the next token, valid until the following call, and the finish after the last.
func (s *Stream) Next() (*engines.Delta, error) {
	if s.err != nil {
		return nil, s.err
	}
	select {
	case <-s.ctx.Done():
		return nil, s.end(s.e.canceled(s.ctx))
	case <-s.ticket.admitted:
	}
	s.begin()
	if s.ctx.Err() != nil || s.e.cfg.Scale != 0 && s.e.cfg.Clock.Wait(s.ctx, s.due()) != nil {
		return nil, s.end(s.e.canceled(s.ctx))
	}
	s.delta = engines.Delta{}
	switch {
	case s.sent == s.failAfter:
		return nil, s.end(s.e.fail(engines.ClassProtocol, "the stream broke off, as it was told to"))
	case s.at == len(s.out):
		s.finish(engines.ReasonStop, s.stop)
	case s.sent == s.limit:
		s.finish(engines.ReasonLength, "")
	default:
		s.token()
	}
	return &s.delta, nil
}

func (s *Stream) token() {
	n := 0
	switch {
	case s.mark < len(s.marks) && s.marks[s.mark].from == s.at:
		m := s.marks[s.mark]
		n = min(m.to, len(s.out)) - m.from
		s.spans[0] = record.Span{Off: 0, Len: uint32(n), Token: m.id}
		s.delta.Spans = s.spans[:]
		s.mark++
	case s.tokens != nil:
		n = s.tokens[s.sent].size
	default:
		next := -1
		if s.mark < len(s.marks) {
			next = s.marks[s.mark].from
		}
		s.random = random(s.random)
		n = piece(s.out, s.at, next, s.random>>32)
	}
	if s.tokens != nil {
		s.id[0] = s.tokens[s.sent].id
		s.delta.IDs = s.id[:]
	}
	s.delta.Bytes = s.out[s.at : s.at+n : s.at+n]
	s.delta.Tokens = 1
	s.at += n
	s.sent++
}

func (s *Stream) finish(reason engines.Reason, stop string) {
	s.usage = engines.Usage{Input: s.input, Cached: s.cached, Output: s.sent}
	s.fin = engines.Finish{Reason: reason, Stop: stop}
	s.delta.Usage, s.delta.Finish = &s.usage, &s.fin
	_ = s.end(io.EOF)
}

// end makes err what every later Next returns.
func (s *Stream) end(err error) error {
	s.err = err
	s.unhook()
	s.leave()
	return err
}

// Close ends the generation. It may be called twice.
func (s *Stream) Close() error {
	if s.err == nil {
		_ = s.end(io.ErrClosedPipe)
	}
	return nil
}
