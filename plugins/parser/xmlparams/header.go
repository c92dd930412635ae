// Package xmlparams is the grammar of calls in tags with raw values: Qwen3-Coder, Qwen 3.5 and later,
// Nemotron 3, MiMo, Step 3.5 and, with its own wrapper, Seed-OSS.
//
//	region   = [OPEN ws] function (ws function)* ws [CLOSE]
//	function = "<function=" NAME ">" ws (param ws)* "</function>"
//	param    = "<parameter=" KEY ">" [newline] VALUE [newline] "</parameter>"
//
// Values have no escaping, so what ends one is decided by how it began and by what follows. One newline on
// each side of a value belongs to the tags; where the first was CR LF, so may the last be. A value that
// begins with that newline is wrapped: in it only a tag that begins a line, but for blanks, can be one of
// the call's own, with one exception. A value without it is tight, and any tag can. Such a tag
//
//   - "</parameter>" ends the value when white space and then "<parameter=", "</function>" or the end of
//     the stream follow; a tight value also before CLOSE and OPEN, a wrapped one before CLOSE on the next
//     line, and before OPEN with "<function=" behind it: "</function>" was left out, and the call is
//     complete. A doubled one is dropped. One that does not begin its line ends a wrapped value too, when
//     the line ends with it and "<parameter=" or "</function>" follows.
//   - "<parameter=KEY>" ends the value: the closer was left out.
//   - "</function>" ends it when white space and then CLOSE, OPEN, "<function=" or the end of the stream
//     follow.
//
// A sample of the format in a value begins with "<function=NAME>" at the start of a line or behind OPEN,
// and "<parameter=KEY>" or "</function>" directly behind it, with plain names; up to its own
// "</function>" everything is data. All else is data, other markers of the family included: a line that is
// CLOSE alone does not end a wrapped value.
//
// So a value keeps every byte unless it holds a line of the format outside of a whole sample. No more
// than these tags and 32 bytes of white space between them are held; the rest of a value streams.
//
// A function without OPEN before it is weak, and counts only when a parameter or its end follows.
// "</function>" ends a call; CLOSE does where it was left out. What has no place between parameters ends
// the call as truncated, and the rest up to CLOSE is malformed text; where the call has no parameter yet,
// all of it is text, CLOSE included. Where the stream ends in a value, the value stays open. Nothing is
// repaired.
package xmlparams

import (
	"unsafe"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
)

// Config is a family's wrapper.
type Config struct {
	Open, Close string
	// Exact says that no newline around a value belongs to the tags.
	Exact bool
}

const (
	functionOpen   = "<function="
	functionClose  = "</function>"
	parameterOpen  = "<parameter="
	parameterClose = "</parameter>"
)

// Tags by id in Grammar.tags.
const (
	tagParameter = iota
	tagEndParameter
	tagEndFunction
	tagFunction
	tagClose
	tagOpen
)

// Openers by index.
const (
	openWrapper = iota
	openFunction
)

// Grammar reads calls of one Config.
type Grammar struct {
	cfg  Config
	tags *match.Set
}

// New makes the grammar of c.
func New(c Config) *Grammar {
	return &Grammar{cfg: c, tags: match.New(parameterOpen, parameterClose, functionClose, functionOpen, c.Close, c.Open)}
}

// Openers implements grammar.Grammar.
func (g *Grammar) Openers() []grammar.Opener {
	return []grammar.Opener{{Text: g.cfg.Open}, {Text: functionOpen, Weak: true}}
}

// Closers implements grammar.Grammar.
func (g *Grammar) Closers() []string { return []string{g.cfg.Close} }

// state is the grammar's part of the window. Offsets count from the first byte that is not emitted.
type state struct {
	grammar.Common
	phase   phase
	head    hphase
	wrapper bool // the region has an opener
	shut    bool // it has its closer
	called  bool // a call of this region is one for good
	gave    bool // the call has a parameter
	wrapped bool // a newline stands before the value
	crlf    bool // the newline before the value was CR LF
	after   after
	sample  bool // in a sample of the format in the value
	off     uint16
	name    uint16 // of a header: where the function's name begins
	nameN   uint16
	look    lookahead
}

// The state must fit in the window.
var _ [unsafe.Sizeof(grammar.State{}) - unsafe.Sizeof(state{})]struct{}

// hphase is where the reading of a header stands.
type hphase uint8

const (
	hStart hphase = iota
	hTag          // before the function's tag
	hName         // in its name
	hTail         // behind it, where proof is wanted that this is a call
)

// Header implements grammar.Grammar.
func (g *Grammar) Header(st *grammar.State, h grammar.Header, b []byte) grammar.Verdict {
	s := grammar.View[state](st)
	if s.head == hStart {
		s.off, s.head = uint16(h.Size), hTag
		if h.Opener == openWrapper {
			s.wrapper = true
		} else {
			s.head, s.name = hName, s.off
		}
	}
	if s.head == hTag {
		if v := s.tag(b); v != grammar.Yes {
			return v
		}
	}
	if s.head == hName {
		if v := s.function(b); v != grammar.Yes {
			return v
		}
		if h.Opener == openWrapper || !h.Weak {
			return grammar.Yes
		}
		s.head = hTail
		s.off++
	}
	return g.proof(s, b)
}

// tag reads white space and the function's tag behind an opener.
func (s *state) tag(b []byte) grammar.Verdict {
	s.off += uint16(grammar.Space(b[s.off:min(len(b), abi.MaxHeader)]))
	rest := b[s.off:]
	switch n := min(len(rest), len(functionOpen)); {
	case int(s.off) >= abi.MaxHeader || string(rest[:n]) != functionOpen[:n]:
		return grammar.No
	case n < len(functionOpen):
		return grammar.More
	}
	s.off += uint16(len(functionOpen))
	s.head, s.name = hName, s.off
	return grammar.Yes
}

// function reads the function's name up to the bracket behind it.
func (s *state) function(b []byte) grammar.Verdict {
	for int(s.off) <= abi.MaxHeader {
		switch {
		case int(s.off) == len(b):
			return grammar.More
		case plain(b[s.off]):
			s.off++
			continue
		case b[s.off] == '>' && s.off > s.name:
			s.nameN = s.off - s.name
			return grammar.Yes
		}
		break
	}
	return grammar.No
}

// proof looks for a parameter or the function's end behind a header that no opener vouches for.
func (g *Grammar) proof(s *state, b []byte) grammar.Verdict {
	for int(s.off) < len(b) && grammar.IsSpace(b[s.off]) {
		if int(s.off-s.name-s.nameN) > abi.MaxSpace {
			return grammar.No
		}
		s.off++
	}
	switch g.tags.At(b[s.off:], false) {
	case tagParameter, tagEndFunction:
		return grammar.Yes
	case match.Partial:
		return grammar.More
	}
	return grammar.No
}

// plain reports a byte that a name may hold.
func plain(c byte) bool {
	switch c {
	case '<', '>', '"', '\'', '`', '=', '{', '}', 0x7f:
		return false
	}
	return c > ' '
}

// Begin implements grammar.Grammar.
func (g *Grammar) Begin(st *grammar.State, h grammar.Header, in *grammar.Input) {
	s := grammar.View[state](st)
	flags := record.Flags(0)
	if h.Weak {
		flags = record.Weak
	}
	in.Emit(record.CallBegin, flags, 0, int(s.name))
	in.Emit(record.Name, record.EscNone, 0, int(s.nameN))
	s.phase, s.gave = atName, false
	s.forget()
}

// forget drops what is known of a header, so that the next one starts anew.
func (s *state) forget() { s.head, s.off, s.name, s.nameN = hStart, 0, 0, 0 }
