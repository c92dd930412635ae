// Package host is the host's half of the parser protocol: it drives one stream through a guest, keeps
// what the guest left unconsumed, asks for the verdict on names and checks every law that one call can
// show. It does not care what runs the guest: Wasm instances in the gateway, native programs in tests.
package host

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
)

// Stream drives one stream. It is used by one goroutine. The zero value is not usable; see Open. The fields
// are in the order of their use: a feed of a stream among thousands finds none of them in a near cache, and most
// feeds need the first 128 bytes alone.
type Stream struct {
	raw    bool
	ended  bool
	hasRef bool
	holds  bool // buf has something
	fed    bool
	told   bool
	guest  Guest
	sink   Sink
	call   Call // plain between two feeds

	buf     []byte        // what is held between two feeds
	in      []byte        // within a feed or finish: what is still to be consumed, in buf or in the caller's bytes
	spans   []record.Span // of in, or of buf between two feeds
	refused record.Span   // verdict that stands: no call begins or gets its name at or before Off
	dropped int
	fault   *Fault
	_       [40]byte // a whole number of cache lines, so that none is begun within one
}

// firstHeld is the room that a stream makes for held bytes when it first has some: markers and short headers,
// with the piece behind them.
const firstHeld = 64

// Open begins a stream. start is the encoded start block. A guest that fails at start leaves a usable
// stream in raw mode, and the error tells why.
func Open(g Guest, sink Sink, start []byte) (*Stream, error) {
	s := &Stream{guest: g, sink: sink}
	s.call.Window = bytes.Clone(g.Template())
	s.call.Records = s.call.first[:0]
	if err := g.Start(s.call.Window, start); err != nil {
		s.raw, s.fault = true, &Fault{Export: abi.ExportStart, Err: err}
		return s, s.fault
	}
	return s, nil
}

// Raw returns a stream without a guest: everything is text.
func Raw(sink Sink) *Stream { return &Stream{sink: sink, raw: true} }

// Fault is the guest's fault that made the stream raw, or nil.
func (s *Stream) Fault() *Fault { return s.fault }

// TakeFault returns the fault once: nil from the second call on.
func (s *Stream) TakeFault() *Fault {
	if s.told {
		return nil
	}
	s.told = s.fault != nil
	return s.fault
}

// Fed reports whether the stream was given any bytes.
func (s *Stream) Fed() bool { return s.fed }

// Ended reports that the guest saw the end of the model's turn; later bytes are dropped and counted.
func (s *Stream) Ended() bool { return s.ended }

// Dropped counts the bytes that came after the end of the turn.
func (s *Stream) Dropped() int { return s.dropped }

// Held is the number of bytes waiting for more.
func (s *Stream) Held() int { return len(s.buf) }

// fail makes the stream raw: what is held becomes text, and the guest is not called again.
func (s *Stream) fail(export string, err error) error {
	s.raw = true
	if s.fault == nil {
		s.fault = &Fault{Export: export, Err: err}
	}
	return s.flushRaw()
}

func (s *Stream) flushRaw() error {
	b := s.in
	s.in, s.spans = nil, s.spans[:0]
	return s.text(b)
}

func (s *Stream) text(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return s.sink.Record(record.Record{Kind: record.Text, Len: uint32(len(b))}, b)
}

// Feed gives new bytes. spans are relative to p, ascending and apart; one that is empty, longer than
// abi.MaxPiece, out of order or beyond p is not handed on. Only the sink's errors are returned: a guest's
// fault makes the stream raw and is told by Fault. boundary asks the guest to decide on what it holds.
func (s *Stream) Feed(p []byte, spans []record.Span, boundary bool) error {
	if len(spans) > 0 || boundary || !s.idle() || len(p) == 0 || len(p) > abi.MaxPiece {
		return s.feed(p, spans, boundary)
	}
	// One piece, and nothing is pending: that is what most deltas are. Most of these are one piece of content:
	// then there is nothing to check but that record, and nothing to keep.
	s.fed = true
	c := &s.call
	c.In, c.Records = p, c.Records[:0]
	err := s.guest.Feed(c)
	if recs := c.Records; err == nil && len(recs) == 1 {
		if r := &recs[0]; r.Ptr == 0 && int(r.Len) == len(p) && content(r) {
			// Field by field: a copy of the whole would wait for the stores of its parts.
			return s.sink.Record(record.Record{Kind: r.Kind, Len: uint32(len(p)), Aux: r.Aux}, p)
		}
	}
	s.in = p
	if err != nil {
		err = s.fail(abi.ExportFeed, err)
	} else {
		err = s.taken(0)
	}
	s.settle()
	return err
}

// feed is Feed in general.
func (s *Stream) feed(p []byte, spans []record.Span, boundary bool) error {
	s.fed = s.fed || len(p) > 0
	for done := 0; done < len(p) || boundary; {
		if s.ended {
			s.dropped += len(p) - done
			return nil
		}
		if s.raw {
			return s.text(p[done:])
		}
		end, used := s.piece(p, done, spans)
		if end == done && done < len(p) {
			s.append(p[done:])
			err := s.fail(abi.ExportFeed, fmt.Errorf("%w: %d spans left unconsumed", ErrProtocol, len(s.spans)))
			s.settle()
			return err
		}
		s.append(p[done:end])
		done, spans = end, spans[used:]
		flags := uint32(0)
		if boundary && done == len(p) {
			flags = abi.FlagBoundary
		}
		err := s.run(flags)
		s.settle()
		if err != nil || done == len(p) {
			return err
		}
	}
	return nil
}

// idle reports that nothing is pending: what is fed next begins a call of its own.
func (s *Stream) idle() bool { return !s.raw && !s.ended && !s.hasRef && !s.holds }

// content reports whether r is content as it mostly is, without flags; then it asks for no look at what is
// around it. What says no may be valid all the same.
func content(r *record.Record) bool {
	switch r.Kind {
	case record.Text:
		return r.Flags == 0 && r.Aux <= record.PhaseFinal
	case record.Reasoning:
		return r.Flags == 0 && r.Aux == 0
	case record.Args:
		return r.Flags == 0 && r.Aux <= record.ArgsAuto
	case record.Value:
		return r.Flags == 0 && r.Aux <= record.ValueSchema
	}
	return false
}

// append makes b, behind what is held, the input. Where nothing is held b is not copied.
func (s *Stream) append(b []byte) {
	if len(s.buf) == 0 {
		s.in = b
		return
	}
	s.buf = append(s.buf, b...)
	s.in = s.buf
}

// settle keeps what is left of the input until the next feed.
func (s *Stream) settle() {
	if len(s.in) > 0 && cap(s.buf) == 0 {
		s.buf = make([]byte, 0, max(firstHeld, len(s.in)))
	}
	s.buf = append(s.buf[:0], s.in...) // which may lie in buf
	s.in, s.holds = nil, len(s.buf) > 0
	s.call.plain()
}

// piece chooses how much of p[from:] is one piece: at most abi.MaxPiece, never through a span and never
// with more than MaxSpans. It adds the spans of p[from:end] to the stream's, and says how many it used.
func (s *Stream) piece(p []byte, from int, spans []record.Span) (end, used int) {
	base := uint32(len(s.buf))
	end = min(len(p), from+abi.MaxPiece)
	last := uint64(from)
	for ; used < len(spans); used++ {
		lo := uint64(spans[used].Off)
		hi := lo + uint64(spans[used].Len)
		if lo >= uint64(end) {
			break
		}
		if lo < last || hi == lo || hi-lo > abi.MaxPiece || hi > uint64(len(p)) {
			continue
		}
		if hi > uint64(end) || len(s.spans) == MaxSpans {
			end = int(lo)
			break
		}
		sp := spans[used]
		sp.Off += base - uint32(from)
		s.spans = append(s.spans, sp)
		last = hi
	}
	return end, used
}

// run feeds what is buffered until the guest has no verdict to wait for.
func (s *Stream) run(flags uint32) error {
	s.call.Spent = 0
	s.prepare(flags)
	if err := s.guest.Feed(&s.call); err != nil {
		return s.fail(abi.ExportFeed, err)
	}
	return s.taken(flags)
}

// taken takes what a feed returned, and feeds again while the guest waits for that.
func (s *Stream) taken(flags uint32) error {
	for {
		again, _, err := s.take(abi.ExportFeed)
		switch {
		case err != nil || s.raw || s.ended:
			return err
		case !again && len(s.in) > abi.MaxHeld:
			return s.fail(abi.ExportFeed, fmt.Errorf("%w: %d bytes left unconsumed, at most %d", ErrProtocol, len(s.in), abi.MaxHeld))
		case !again || len(s.in) == 0:
			return nil
		}
		s.prepare(flags)
		if err := s.guest.Feed(&s.call); err != nil {
			return s.fail(abi.ExportFeed, err)
		}
	}
}

// Ender is implemented by sinks that want to know that what follows comes because the stream ended: a call
// that ends truncated after that was cut, one before it broke.
type Ender interface {
	Ending()
}

// Finish ends the stream. After it the stream must not be used.
func (s *Stream) Finish(why abi.Why) error {
	if e, ok := s.sink.(Ender); ok {
		e.Ending()
	}
	s.in = s.buf
	err := s.finish(why)
	s.settle()
	return err
}

func (s *Stream) finish(why abi.Why) error {
	s.call.Spent = 0
	for !s.raw && !s.ended {
		n := len(s.in)
		s.prepare(0)
		if err := s.guest.Finish(&s.call, why); err != nil {
			return s.fail(abi.ExportFinish, err)
		}
		refused, used, err := s.take(abi.ExportFinish)
		if err != nil || s.raw {
			return err
		}
		if n == 0 {
			return nil
		}
		if used == 0 && !refused {
			return s.fail(abi.ExportFinish, fmt.Errorf("%w: %d bytes left and none consumed", ErrProtocol, n))
		}
	}
	if s.ended {
		s.dropped += len(s.in)
		s.in = nil
		return nil
	}
	return s.flushRaw()
}

func (s *Stream) prepare(flags uint32) {
	s.call.In, s.call.Flags, s.call.Records, s.call.before = s.in, flags, s.call.Records[:0], s.call.before[:0]
	s.call.Spans = s.spans
	if s.hasRef {
		s.spans = append(s.spans, s.refused)
		s.call.Spans = s.spans
		s.spans = s.spans[:len(s.spans)-1]
	}
}

// take checks and delivers the records of a call. again says that the guest waits to be called with
// what is left: after a name, after a refused one, and after a call_begin whose name comes last.
func (s *Stream) take(export string) (again bool, used int, err error) {
	recs := s.call.Records
	if len(recs) == 0 {
		return false, 0, nil
	}
	if err := s.check(recs); err != nil {
		return false, 0, s.fail(export, err)
	}
	last := recs[len(recs)-1]
	if last.Kind == record.Name && !s.sink.Accept(recs, s.in) {
		if err := s.refuse(recs); err != nil {
			return false, 0, s.fail(export, err)
		}
		return true, 0, nil
	}
	if last.Kind == record.Name || last.Kind == record.CallBegin {
		again = true
		if last.Ptr+last.Len == 0 {
			return false, 0, s.fail(export, fmt.Errorf("%w: a return after %v that consumes nothing", ErrProtocol, last.Kind))
		}
	}
	used = int(last.Ptr + last.Len)
	for _, r := range recs {
		if r.Kind >= record.KindIgnored {
			continue
		}
		if err := s.sink.Record(r, s.in[r.Ptr:r.Ptr+r.Len]); err != nil {
			return false, used, err
		}
		if r.Kind == record.Marker && r.Flags&record.EndTurn != 0 {
			s.ended = true
			s.dropped += len(s.in) - int(r.Ptr+r.Len)
			s.in, s.spans = nil, s.spans[:0]
			return false, used, nil
		}
	}
	s.consume(used)
	return again, used, nil
}

// check holds one call to the laws: known kinds and flags, no gap, nothing beyond the input, and a
// return directly after a name, and after a call_begin without one.
func (s *Stream) check(recs []record.Record) error {
	if len(recs) > abi.MaxRecords {
		return fmt.Errorf("%w: %d, at most %d", ErrRecords, len(recs), abi.MaxRecords)
	}
	pos, header, empty := uint64(0), false, 0
	for i, r := range recs {
		if r.Len == 0 {
			empty++
		}
		if err := record.Check(r); err != nil {
			return fmt.Errorf("%w: record %d: %w", ErrProtocol, i, err)
		}
		if uint64(r.Ptr) != pos || pos+uint64(r.Len) > uint64(len(s.in)) {
			return fmt.Errorf("%w: record %d (%v) covers [%d,+%d) of %d bytes, expected to begin at %d", ErrRecords, i, r.Kind, r.Ptr, r.Len, len(s.in), pos)
		}
		pos += uint64(r.Len)
		switch r.Kind {
		case record.Name, record.ID, record.Key:
			if r.Len > abi.MaxHeader {
				return fmt.Errorf("%w: record %d: %v of %d bytes, at most %d", ErrProtocol, i, r.Kind, r.Len, abi.MaxHeader)
			}
		}
		if r.Kind == record.Name && i != len(recs)-1 {
			return fmt.Errorf("%w: %d records after a name, expected a return", ErrProtocol, len(recs)-1-i)
		}
		switch r.Kind {
		case record.CallBegin:
			header = i != len(recs)-1
		case record.Name:
			header = false
		case record.Marker, record.ID:
		default:
			if header && r.Kind < record.KindIgnored {
				return fmt.Errorf("%w: record %d: %v after a call_begin, expected its name or a return", ErrProtocol, i, r.Kind)
			}
		}
	}
	if header {
		return fmt.Errorf("%w: a header without its name, expected a return after its call_begin", ErrProtocol)
	}
	if most := abi.MaxEmpty + 4*pos; uint64(empty) > most {
		return fmt.Errorf("%w: %d without bytes beside %d bytes, at most %d", ErrRecords, empty, pos, most)
	}
	return nil
}

// refuse goes back to before the call and forbids a call at its opener, or the name where the call began in
// an earlier feed.
func (s *Stream) refuse(recs []record.Record) error {
	if len(s.call.Window) == 0 {
		return ErrSticky
	}
	off := recs[len(recs)-1].Ptr
	for _, r := range slices.Backward(recs) {
		if r.Kind == record.CallBegin {
			off = r.Ptr
			break
		}
	}
	if s.hasRef && off <= s.refused.Off {
		return fmt.Errorf("%w: a call at %d though it was refused up to %d", ErrProtocol, off, s.refused.Off)
	}
	copy(s.call.Window, s.call.before)
	s.refused, s.hasRef = record.Span{Off: off, Token: abi.RefusedToken}, true
	return nil
}

// consume drops the first n bytes and what belongs to them.
func (s *Stream) consume(n int) {
	if n == 0 {
		return
	}
	s.in = s.in[n:]
	k := 0
	for _, sp := range s.spans {
		if int(sp.Off) >= n {
			sp.Off -= uint32(n)
			s.spans[k] = sp
			k++
		}
	}
	s.spans = s.spans[:k]
	if s.hasRef {
		if int(s.refused.Off) < n {
			s.hasRef = false
		} else {
			s.refused.Off -= uint32(n)
		}
	}
}
