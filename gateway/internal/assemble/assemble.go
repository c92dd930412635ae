// Package assemble makes canonical events of one turn out of a parser's records or an engine's parsed
// fragments: it types and encodes arguments, repairs UTF-8, matches stop strings, names calls and decides
// how the turn ended.
package assemble

import (
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
)

// Limits, in bytes.
const (
	maxRaw      = 1 << 20 // raw bytes kept of a call
	maxDispatch = 4 << 20 // arguments kept for a dispatch
)

// Options say how a turn is to be read. They are copied; what they point to must not change.
type Options struct {
	Tools       []conv.ToolDef // the tools the model was given
	AnyName     bool           // accept every name, weak ones too: there is no request to check against
	Choice      conv.ToolChoice
	EmitUnknown bool     // emit calls of undeclared names instead of giving them back as text
	Stop        []string // the client's stop strings; each costs a step a byte of text
	KeepRaw     bool     // keep what the model wrote for a call, up to 1 MB, for turns that are not streamed
	Dispatch    bool     // emit Dispatch after a complete call, of at most 4 MB of arguments
	// ID makes the id of a call from its native one, which may be empty. The result is made unique in the
	// turn. Nil: the native id, else call_0, call_1 ...
	ID func(native string) string
}

// Stats count what a turn held beside its events.
type Stats struct {
	Calls      int // emitted
	Incomplete int // emitted, and not complete
	Returned   int // calls whose bytes were given back as text
	Unknown    int // calls of undeclared names, whatever became of them
	Duplicates int // parameters dropped because their name came before
	Malformed  int // bytes of markup that did not parse, given as text
	Junk       int // bytes of markup dropped
	Invalid    int // replacement characters written for bytes that are not UTF-8
	Dropped    int // bytes that came after the turn had ended
	Strays     int // records without the call or value they belong to
	Late       int // bytes of a structured call that was over already
	Reasoning  int // bytes of reasoning, as the model wrote them
}

// Assembler assembles one turn. It is used by one goroutine; its methods return the sink's errors alone,
// after which it must not be used. It is a host.Sink.
type Assembler struct {
	opt   Options
	sink  event.Sink
	tools toolset
	stats Stats
	ev    event.Event // reused, so that a delta allocates nothing
	over  bool        // Finish or Fail was called
	cut   event.Cause // why a call that ends now is not whole

	block  event.Kind // TextStart or ReasoningStart while such a block stands, else 0
	phase  event.Phase
	begun  bool // its start was emitted
	fix    repair
	space  space
	stops  stops
	ended  bool
	match  string
	isStop bool

	open    bool // a call is
	*inCall      // nil before the first call
	firstID string
	ids     map[string]struct{} // of the calls after the first
	tmp     []byte              // unescaped bytes
	out     []byte              // argument bytes of one record
	frags   fragments
}

// inCall is what calls take: half of the state, which a turn without one does not need.
type inCall struct {
	call   call
	params params
	value  value
}

// New makes an assembler whose events go to sink.
func New(o Options, sink event.Sink) *Assembler {
	a := &Assembler{opt: o, sink: sink, cut: event.CauseMalformed}
	a.stops.init(o.Stop)
	return a
}

// Start emits TurnStart with the prompt's tokens. It comes first, once.
func (a *Assembler) Start(u event.Usage) error {
	return a.emit(event.Event{Kind: event.TurnStart, Usage: u})
}

// Ended reports that nothing more is wanted of the engine: a stop string matched, or the one call that
// the request allows is complete. What comes after is dropped and counted.
func (a *Assembler) Ended() bool { return a.ended }

// Stopped returns the stop string that matched.
func (a *Assembler) Stopped() (string, bool) { return a.match, a.isStop }

// Ending tells that the parser was told the end of the stream; it is a host.Ender.
func (a *Assembler) Ending() { a.cut = event.CauseTruncated }

// Stats returns the counts so far.
func (a *Assembler) Stats() Stats {
	s := a.stats
	if s.Invalid = a.fix.replaced; a.inCall != nil {
		s.Invalid += a.value.fix.replaced
	}
	return s
}

// Finish ends the turn: what is open is closed, a call as incomplete, then Usage and Finish go out. r and
// stopSequence are what the engine said. The reason emitted is length if the engine said so, tool_calls
// only if there were calls and all are complete, and else the stop.
func (a *Assembler) Finish(r event.Reason, stopSequence string, u event.Usage) error {
	if a.over {
		return nil
	}
	if err := a.closeAll(event.CauseTruncated, r != event.ReasonLength && r != event.ReasonContent); err != nil {
		return err
	}
	a.over = true
	if a.isStop {
		stopSequence = a.match
	}
	if err := a.emit(event.Event{Kind: event.UsageKind, Usage: u}); err != nil {
		return err
	}
	return a.emit(event.Event{Kind: event.Finish, Reason: a.reason(r), StopSequence: stopSequence})
}

func (a *Assembler) reason(r event.Reason) event.Reason {
	switch {
	case r == event.ReasonLength || r == event.ReasonContent:
		return r
	case a.stats.Calls > 0 && a.stats.Incomplete == 0 && !a.frags.lost:
		return event.ReasonToolUse
	case a.isStop || r == event.ReasonStopSequence:
		return event.ReasonStopSequence
	}
	return event.ReasonStop
}

// Fail ends the turn with a fault: what is open is closed first, a call as incomplete.
func (a *Assembler) Fail(f event.Fault) error {
	if a.over {
		return nil
	}
	if err := a.closeAll(event.CauseFault, false); err != nil {
		return err
	}
	a.over = true
	return a.emit(event.Event{Kind: event.FaultKind, Fault: f})
}

// closeAll closes the open call and block. whole says that the end was not a cut, so that a structured
// call is what it is.
func (a *Assembler) closeAll(cause event.Cause, whole bool) error {
	if err := a.endFragments(cause, whole); err != nil {
		return err
	}
	if a.open {
		if err := a.endCall(false, cause); err != nil {
			return err
		}
	}
	return a.closeBlock()
}

func (a *Assembler) emit(e event.Event) error {
	a.ev = e
	return a.sink.Event(&a.ev)
}

// Record takes one record of the parser.
func (a *Assembler) Record(r record.Record, b []byte) error {
	switch {
	case a.ended || a.over:
		a.stats.Dropped += len(b)
		return nil
	case a.open:
		return a.callRecord(r, b)
	}
	if r.Kind != record.Marker && r.Kind != record.CallBegin {
		a.space = space{}
	}
	switch r.Kind {
	case record.Text:
		if r.Flags&record.Malformed != 0 {
			a.stats.Malformed += len(b)
		}
		return a.text(b, event.Phase(r.Aux))
	case record.Reasoning:
		return a.reasoning(b)
	case record.BlockEnd:
		return a.closeBlock()
	case record.Marker:
		if r.Flags&record.Junk != 0 {
			a.stats.Junk += len(b)
		}
		a.space.marker(b)
		return nil
	case record.CallBegin:
		a.beginCall(r.Flags&record.Weak != 0)
		return a.keep(b)
	}
	a.stats.Strays++
	return a.text(b, a.textPhase())
}

// Accept gives the verdict on the name that ends recs, of a call that begins in them or is open.
func (a *Assembler) Accept(recs []record.Record, in []byte) bool {
	if a.ended || a.over {
		return true
	}
	begin := slices.IndexFunc(recs, func(r record.Record) bool { return r.Kind == record.CallBegin })
	weak := false
	switch {
	case begin >= 0:
		weak = recs[begin].Flags&record.Weak != 0
	case a.open && a.call.returned:
		return false
	case a.inCall != nil:
		weak = a.call.weak
	}
	last := recs[len(recs)-1]
	a.tmp = unescapeWhole(a.tmp[:0], in[last.Ptr:last.Ptr+last.Len], last.Flags)
	unknown := a.stats.Unknown
	_, ok := a.verdict(a.tmp, weak)
	if ok {
		a.stats.Unknown = unknown // it counts with its record
	}
	return ok
}
