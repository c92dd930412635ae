// Package grammar is what the composed parser and the grammars of tool calls agree on: the parser finds
// where a call may begin, the grammar reads its header, its body and what stands between two calls.
package grammar

import (
	"unsafe"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/match"
)

// State is a grammar's part of the state window: what the parser knows of too, and plain words; the grammar
// views all of it as its own struct (see View). It is zeroed before each header that follows an opener.
type State struct {
	Common
	own [4]uint64
}

// Common is what a grammar's struct begins with: what input may change that the parser reads in the grammar's
// place (see Plain).
type Common struct {
	JSON jsonscan.Machine // the JSON value that is read
	Line bool             // only blanks were delivered since the last newline of a raw value, or since its beginning if that begins a line
}

// View views s as a grammar's own state. T must begin with Common, be free of pointers and no larger than
// State, which the grammar asserts when it is compiled.
func View[T any](s *State) *T { return (*T)(unsafe.Pointer(s)) }

// Opener is a marker at which a call may begin.
type Opener struct {
	Text string
	Weak bool // it opens no wrapper, so it is never enough for a name nobody declared
}

// Verdict says whether a header is one.
type Verdict uint8

// Verdicts.
const (
	More  Verdict = iota // the bytes end before it is decided
	No                   // no call begins here
	Yes                  // the header is whole
	Early                // a call begins, and its name comes last
	Void                 // a wrapper without any call: all of it is markup
)

// Next is what a grammar wants after Body.
type Next uint8

// What Body wants.
const (
	Hold   Next = iota // all that can be decided is emitted
	Named              // a name was emitted, or a call began whose name comes last: return from the feed
	Leave              // what follows is content
	Owed               // as Leave, and a closer of this grammar that comes later is a marker
	Broken             // as Owed, and what comes before the closer is malformed
)

// Plain says what a grammar would do with the next byte, so that the parser can do it.
type Plain uint8

// Values of Plain.
const (
	Never Plain = iota // something of its own
	JSON               // read on in State.JSON, a value of the arguments of which bytes were read, and pass it on
	Raw                // pass on what is none of Tags as a value, but for a newline at the end, and keep State.Line
)

// Header is what a grammar knows of a call's header. Offsets count from the opener's first byte.
type Header struct {
	Opener int  // index in Openers
	Size   int  // bytes of the opener
	Weak   bool // the call is weak, by its opener or by its place
}

// Grammar reads the calls of one family of formats. It holds nothing but its configuration; all that
// differs between streams is in State.
type Grammar interface { //nolint:interfacebloat // because a format of calls is one thing, read by one machine
	Openers() []Opener
	// Closers are the closers of a wrapper; they are markers while one is owed.
	Closers() []string
	// Tags is what may matter in a raw value; nil if there are none.
	Tags() *match.Set
	// Header reads b, which begins at an opener, on from where it stopped the last time. It emits
	// nothing. It must answer No when the header is longer than abi.MaxHeader.
	Header(s *State, h Header, b []byte) Verdict
	// Begin emits the records of a header for which Header said Yes or Early: call_begin up to name,
	// or up to the value of the arguments. After Void it emits the wrapper.
	Begin(s *State, h Header, in *Input)
	// Plain says how the next input may be read, or a part of it, instead of by Body. The call was not refused.
	Plain(s *State) Plain
	// Whole tells that the parser read State.JSON to its end.
	Whole(s *State)
	// Body reads on after Begin: the rest of the call, and whatever may follow it in its wrapper. At
	// the end of the stream it emits all of the input, and closes what is open as truncated.
	Body(s *State, in *Input) Next
}

// Input is one feed, as far as a grammar may touch it. What was emitted is Out.Pos long; the grammar
// reads on from there.
type Input struct {
	Bytes   []byte
	Out     *guest.Out
	Refused int  // no call begins, and none gets its name, at or before this offset of Bytes; -1 if there is no such offset
	Decided bool // nothing continues Bytes: what is not whole is not a marker, and nothing may be held
	Final   bool // as Decided, and the stream ends
	Mute    bool // the call was refused: it is read as before, and every byte of it is text
	Last    Last
}

// Last is what a grammar emitted last, of what the reasoning stage must know.
type Last uint8

// Values of Last.
const (
	Nothing Last = iota
	Wrote        // text
	Began        // a call
)

// Rest is what is not emitted yet.
func (in *Input) Rest() []byte { return in.Bytes[in.Out.Pos():] }

// Emit emits the next n bytes as a record of their own, or as text when the call was refused.
func (in *Input) Emit(k record.Kind, f record.Flags, aux uint32, n int) {
	if in.Mute {
		in.text(n)
		return
	}
	if k == record.CallBegin {
		in.Last = Began
	}
	in.Out.Emit(k, f, aux, n)
}

// Extend emits the next n bytes together with a like record before them. Nothing is nothing.
func (in *Input) Extend(k record.Kind, f record.Flags, aux uint32, n int) {
	switch {
	case n == 0:
	case in.Mute:
		in.text(n)
	default:
		in.Out.Extend(k, f, aux, n)
	}
}

// Marker emits the next n bytes as markup.
func (in *Input) Marker(n int) { in.Extend(record.Marker, 0, 0, n) }

func (in *Input) text(n int) {
	if n > 0 {
		in.Last = Wrote
		in.Out.Extend(record.Text, 0, record.PhaseNone, n)
	}
}

// Text emits the next n bytes as content, refused or not.
func (in *Input) Text(n int) { in.text(n) }

// Malformed emits the next n bytes as markup that did not parse.
func (in *Input) Malformed(n int) {
	if n > 0 && !in.Mute {
		in.Last = Wrote
		in.Out.Extend(record.Text, record.Malformed, record.PhaseNone, n)
		return
	}
	in.text(n)
}

// IsSpace reports white space as the formats mean it.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// Space counts the white space at the start of b.
func Space(b []byte) int {
	for i, c := range b {
		if !IsSpace(c) {
			return i
		}
	}
	return len(b)
}

// Line reports that only blanks stand at the end of b, on its line; before says so of what stands before b.
func Line(b []byte, before bool) bool {
	for n := len(b); n > 0; n-- {
		if c := b[n-1]; c != ' ' && c != '\t' {
			return c == '\n'
		}
	}
	return before
}

// Begins reports whether b is a beginning of text, and not all of it.
func Begins(text string, b []byte) bool { return len(b) < len(text) && text[:len(b)] == string(b) }

// TrailingSpace counts the white space at the end of b, at most max bytes of it.
func TrailingSpace(b []byte, max int) int {
	n := 0
	for n < max && n < len(b) && IsSpace(b[len(b)-1-n]) {
		n++
	}
	return n
}
