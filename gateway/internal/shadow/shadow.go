// Package shadow runs a second parser on a stream and compares the events of the two, so that a plugin can
// be tried on real output before anything of it is sent.
package shadow

import (
	"bytes"
	"errors"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

// Result is how the two parsers of a stream compare.
type Result string

// Results.
const (
	Same      Result = "same"
	Different Result = "different"
	Faulty    Result = "fault"     // the shadow failed before anything differed
	Unbounded Result = "unbounded" // one side was so far ahead that the comparison was given up
	Skipped   Result = "skipped"   // the shadow did not run, or the stream did not reach its end
)

// Results returns all of them, for labels of metrics.
func Results() []Result { return []Result{Same, Different, Faulty, Unbounded, Skipped} }

// Bounds of what is told of a difference, in bytes.
const (
	maxText   = 128     // of an event, and of the output on either side of the place
	maxOutput = 4 << 10 // of the latest output, so that the place is still in it
)

// Difference is the first place where two streams of events differ, with deltas that adjoin put together.
type Difference struct {
	Event  int // index among the events, from 0; the start of the turn, usage and dispatches do not count
	First  Place
	Second Place
	Output []byte // what the model wrote around the place, at most 128 bytes before and after; only with Options.Content
}

// At is the place in the model's output: an event may be given late, so it is the earlier of the two.
func (d *Difference) At() int { return min(d.First.At, d.Second.At) }

// Place is what one side has where the two differ.
type Place struct {
	Kind   event.Kind
	Detail string // phase, kind of tool, why a call ended or why the turn did, where Kind has one
	At     int    // offset in the model's output: exact in text and reasoning, else where the record begins, or near it
	Text   []byte // of the event from the difference on, at most 128 bytes; only with Options.Content
}

// Options are what a shadow needs.
type Options struct {
	Guest    host.Guest
	Assemble assemble.Options // of the first parser's assembler
	Content  bool             // content may be kept
}

// Stream is a shadow of one stream. It is used by one goroutine. What becomes of it shows in its Outcome
// alone: a shadow that fails or differs stops and costs no more.
type Stream struct {
	guest   host.Guest
	content bool
	asm     *assemble.Assembler
	parser  *host.Stream
	taps    [2]tap
	compare comparer
	attrs   []byte
	fed     int    // bytes of the model's output
	output  []byte // the latest of them, where content may be kept
	kept    int    // offset of its end
	result  Result // empty while nothing is settled
	fault   *host.Fault
}

// New returns a shadow that Begin starts.
func New(o Options) *Stream {
	s := &Stream{guest: o.Guest, content: o.Content}
	a := o.Assemble
	a.ID, a.KeepRaw, a.Dispatch = nil, false, false // for the client alone
	s.asm = assemble.New(a, event.SinkFunc(s.event))
	return s
}

// errSettled ends a call of the shadow's parser: nobody wants what is still to come.
var errSettled = errors.New("the comparison is over")

// Begin opens the second parser with the start block of the first, and returns the sink of records that
// the first one is to have in place of sink.
func (s *Stream) Begin(start []byte, sink host.Sink) host.Sink {
	s.taps[first].Sink, s.taps[second].Sink = sink, s.asm
	s.parser, _ = host.Open(s.guest, &s.taps[second], start)
	s.after()
	return &s.taps[first]
}

// Event takes an event of the first parser.
func (s *Stream) Event(e *event.Event) { s.take(first, e) }

// Feed gives bytes to the second parser that the first has got already.
func (s *Stream) Feed(p []byte, spans []record.Span) {
	s.keep(p)
	s.fed += len(p)
	if s.result != "" || s.asm.Ended() {
		return
	}
	_ = s.parser.Feed(p, spans, false) // errSettled
	s.after()
}

// Finish ends the second parser's stream as the first one's ended.
func (s *Stream) Finish(why abi.Why, r event.Reason, stopSequence string) {
	if s.result != "" {
		return
	}
	err := s.parser.Finish(why)
	if s.after(); err != nil || s.result != "" {
		return
	}
	err = s.asm.Finish(r, stopSequence, event.Usage{})
	if err == nil && s.compare.empty() && s.result == "" {
		s.result = Same
	}
}

// after settles what the second parser's last call made clear.
func (s *Stream) after() {
	if f := s.parser.Fault(); f != nil && s.result == "" {
		s.result, s.fault = Faulty, f
	}
}

// event takes an event of the second parser. What comes after its fault is raw output.
func (s *Stream) event(e *event.Event) error {
	if s.parser.Fault() != nil {
		return errSettled
	}
	if s.take(second, e); s.result != "" {
		return errSettled
	}
	return nil
}

func (s *Stream) take(from side, e *event.Event) {
	if s.result != "" {
		return
	}
	at, b := s.taps[from].at, e.Text
	switch e.Kind {
	case event.TurnStart, event.UsageKind, event.Dispatch:
		return
	case event.Finish:
		at = s.taps[from].next
	}
	if !isDelta(e.Kind) {
		s.attrs = attributes(s.attrs[:0], e)
		b = s.attrs
	}
	switch s.compare.add(from, e.Kind, at, b) {
	case differ:
		s.result = Different
		f := &s.compare.found
		f.First.At, f.Second.At = min(f.First.At, s.taps[first].next), min(f.Second.At, s.taps[second].next)
	case surplus:
		s.result = Unbounded
	}
}

// keep keeps the latest output, until what stands behind a difference is there too.
func (s *Stream) keep(p []byte) {
	if !s.content || s.result != "" && (s.result != Different || s.fed >= s.compare.found.At()+maxText) {
		return
	}
	s.kept = s.fed + len(p)
	if s.output = append(s.output, p...); s.result == "" && len(s.output) > 2*maxOutput {
		s.output = s.output[:copy(s.output, s.output[len(s.output)-maxOutput:])]
	}
}

// Outcome is what a comparison came to.
type Outcome struct {
	Result     Result
	Difference *Difference // of Different
	Fault      *host.Fault // of Faulty
}

// Outcome returns what the comparison came to, once nothing more is fed. A stream that was not finished is
// skipped, unless something was settled before.
func (s *Stream) Outcome() Outcome {
	o := Outcome{Result: s.result, Fault: s.fault}
	switch s.result {
	case "":
		o.Result = Skipped
	case Different:
		d := s.compare.found
		if !s.content {
			d.First.Text, d.Second.Text = nil, nil
		} else {
			d.Output = s.around(d.At())
		}
		o.Difference = &d
	}
	return o
}

// around is what is kept of the output around an offset.
func (s *Stream) around(at int) []byte {
	base := s.kept - len(s.output)
	from, to := max(at-maxText-base, 0), min(at+maxText-base, len(s.output))
	if from >= to {
		return nil
	}
	return bytes.Clone(s.output[from:to])
}

// tap notes how far into the output the records are that pass it: their bytes are the output, in order.
type tap struct {
	host.Sink
	at   int // where the latest record begins
	next int // where it ends
}

// Record passes a record on.
func (t *tap) Record(r record.Record, b []byte) error {
	t.at, t.next = t.next, t.next+len(b)
	return t.Sink.Record(r, b)
}

// Ending passes on that the stream ends.
func (t *tap) Ending() {
	if e, ok := t.Sink.(host.Ender); ok {
		e.Ending()
	}
}
