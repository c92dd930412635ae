// Package taggedjson is the grammar of calls that are JSON objects between tags: Hermes, Qwen 2.5 and 3,
// LongCat, Nemotron's <TOOLCALL> and Jamba's <tool_calls>.
//
//	region = OPEN ws (object (ws object)* | "[" ws [object (ws "," ws object)*] ws "]") ws CLOSE
//	object = "{" member ("," member)* "}"
//
// One member holds the name, one the arguments, in any order; others are dropped and counted. A call
// begins when its name is whole. Where the arguments come first it begins there, and the name comes last;
// a weak call must have its name first. A call ends at the brace that closes its object. The arguments are
// passed on byte for byte, whatever JSON value they are. Names of members may be written with escapes, in
// up to 64 bytes. An element of an array that is no object with a name is malformed text, and an empty
// array is markup.
//
// Arguments that are not JSON stay together: up to CLOSE or another OPEN they are arguments, and the call
// ends truncated there. What breaks a call before its arguments ends it, and the rest is text. Nothing is
// repaired. CLOSE may be missing or doubled; one that the end of the stream cuts is dropped. An OPEN that no object with a name follows is text with its CLOSE, and so is a call
// that ends without a name, that breaks before its arguments, or whose name the host refuses; its
// neighbours are not.
package taggedjson

import (
	"bytes"
	"unsafe"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
)

// Config is a family's tags and member names.
type Config struct {
	Open, Close string
	Names       []string // members that hold the name
	Args        []string // members that hold the arguments
}

// Grammar reads calls of one Config.
type Grammar struct {
	cfg Config
	// What models write, with their spaces, from an object's brace to its name and from there to the
	// arguments. It is read as a whole where it is there as a whole.
	toName, toArgs string
	edges          *match.Set // of a wrapper
}

// Edges by id in Grammar.edges.
const (
	edgeClose = iota
	edgeOpen
)

// maxMember is the longest name of a member that is looked at, as it is written.
const maxMember = 64

// New makes the grammar of c. Empty member names become those of Hermes: name, arguments, parameters.
func New(c Config) *Grammar {
	if c.Names == nil {
		c.Names = []string{"name"}
	}
	if c.Args == nil {
		c.Args = []string{"arguments", "parameters"}
	}
	return &Grammar{
		cfg: c, toName: `{"` + c.Names[0] + `": "`, toArgs: `", "` + c.Args[0] + `": `,
		edges: match.New(c.Close, c.Open),
	}
}

// Openers implements grammar.Grammar.
func (g *Grammar) Openers() []grammar.Opener { return []grammar.Opener{{Text: g.cfg.Open}} }

// Closers implements grammar.Grammar.
func (g *Grammar) Closers() []string { return []string{g.cfg.Close} }

// member is what a member of the call object is.
type member uint8

const (
	other member = iota
	name
	args
)

// state is the grammar's part of the window. Offsets of a header count from its first byte.
type state struct {
	grammar.Common
	phase  phase  // of the body
	head   hphase // of a header
	member member // whose value is read or comes next
	array  bool   // in the array of a wrapper
	shut   bool   // the wrapper has its closer
	called bool   // a call of this wrapper is one for good
	named  bool   // the call has its name
	gave   bool   // the call has its arguments
	off    uint16 // bytes at the front that were read already
	key    uint16 // where the member's name begins
	name   uint16 // the call's name
	nameN  uint16
	elem   uint16 // the element of an array that is read
	first  uint16 // the first element that is no call, and the end of the last one; 0 if there is none
	last   uint16
}

// The state must fit in the window.
var _ [unsafe.Sizeof(grammar.State{}) - unsafe.Sizeof(state{})]struct{}

// hphase is where the reading of a header stands.
type hphase uint8

const (
	hOpen    hphase = iota // before the object
	hKey                   // before a member's name
	hText                  // in it
	hColon                 // before the colon
	hValue                 // before the value
	hName                  // in the name
	hSkip                  // in another value
	hComma                 // after a value
	hElement               // in an element that is no call
	hNext                  // after it
	hEmpty                 // after an array without any element
)

// Header implements grammar.Grammar.
func (g *Grammar) Header(st *grammar.State, h grammar.Header, b []byte) grammar.Verdict {
	s := grammar.View[state](st)
	if s.head == hOpen && s.off == 0 {
		s.off = uint16(h.Size)
		g.usual(s, b)
	}
	const limit = abi.MaxHeader + 1 // the name and the quote that ends it
	capped := len(b) > limit
	if capped {
		b = b[:limit]
	}
	for int(s.off) < len(b) {
		v := g.headerStep(s, h, b)
		switch {
		case v == grammar.No && s.array && h.Size > 0 && s.head < hElement && s.head != hOpen:
			s.head, s.off = hElement, s.elem
			s.key, s.name, s.nameN = 0, 0, 0
			s.JSON.Reset()
		case v != grammar.More:
			return v
		}
	}
	if capped {
		return grammar.No
	}
	return grammar.More
}

// usual reads an object that begins as models write it up to the quote before its name.
func (g *Grammar) usual(s *state, b []byte) {
	at := int(s.off)
	if at < len(b) && b[at] == '\n' {
		at++
	}
	n := at + len(g.toName)
	if n > len(b) || string(b[at:n]) != g.toName {
		return
	}
	s.head, s.member, s.elem = hName, name, uint16(at)
	s.key, s.name, s.off = uint16(at+2), uint16(n), uint16(n-1)
	s.JSON.Reset()
}

// headerStep reads on to the next phase; it makes progress or the phase changes.
func (g *Grammar) headerStep(s *state, h grammar.Header, b []byte) grammar.Verdict {
	switch s.head {
	case hText, hName, hSkip:
		return g.headerValue(s, b)
	case hElement:
		return s.headerElement(b)
	case hEmpty:
		return g.headerClose(s, b)
	}
	c := b[s.off]
	if grammar.IsSpace(c) {
		s.off++
		return grammar.More
	}
	switch {
	case s.head == hOpen && c == '{':
		s.head, s.elem = hKey, s.off
	case s.head == hOpen && h.Size == 0:
		return grammar.No
	case s.head == hOpen && c == '[' && !s.array:
		s.array = true
	case s.head == hOpen && c == ']' && s.array && s.first == 0:
		s.head = hEmpty
	case s.head == hOpen && c != ']' && c != ',' && s.array:
		s.head, s.elem = hElement, s.off
		s.JSON.Reset()
		return grammar.More
	case s.head == hNext && c == ',':
		s.head = hOpen
	case s.head == hKey && c == '"':
		s.head, s.key = hText, s.off+1
		s.JSON.Reset()
		return grammar.More
	case s.head == hColon && c == ':':
		s.head = hValue
		if s.member == args {
			if h.Weak {
				return grammar.No
			}
			s.off++
			return grammar.Early
		}
	case s.head == hValue && s.member == name && c == '"':
		s.head, s.name = hName, s.off+1
		s.JSON.Reset()
		return grammar.More
	case s.head == hValue && s.member == other:
		s.head = hSkip
		s.JSON.Reset()
		return grammar.More
	case s.head == hComma && c == ',':
		s.head = hKey
	default:
		return grammar.No
	}
	s.off++
	return grammar.More
}

// headerValue follows a member's name, the call's name or a value that is not needed yet.
func (g *Grammar) headerValue(s *state, b []byte) grammar.Verdict {
	n, status := s.JSON.Feed(b[s.off:])
	s.off += uint16(n)
	switch status {
	case jsonscan.Bad:
		return grammar.No
	case jsonscan.More:
		return grammar.More
	}
	switch s.head {
	case hText:
		s.member = g.classify(b[s.key : s.off-1])
		s.head = hColon
	case hName:
		s.nameN = s.off - 1 - s.name
		if s.nameN == 0 {
			return grammar.No
		}
		return grammar.Yes
	default:
		s.head = hComma
	}
	return grammar.More
}

// headerElement reads an element of an array that is no call.
func (s *state) headerElement(b []byte) grammar.Verdict {
	n, status := s.JSON.Feed(b[s.off:])
	s.off += uint16(n)
	switch status {
	case jsonscan.Bad:
		return grammar.No
	case jsonscan.Done:
		if s.first == 0 {
			s.first = s.elem
		}
		s.head, s.last = hNext, s.off
	}
	return grammar.More
}

// headerClose reads the closer behind an empty array.
func (g *Grammar) headerClose(s *state, b []byte) grammar.Verdict {
	if s.key == 0 {
		if s.off += uint16(grammar.Space(b[s.off:])); int(s.off) == len(b) {
			return grammar.More
		}
		s.key = s.off
	}
	switch g.closer(b[s.key:], false) {
	case match.Partial:
		s.off = uint16(len(b))
		return grammar.More
	case match.None:
		return grammar.No
	}
	s.off = s.key + uint16(len(g.cfg.Close))
	return grammar.Void
}

func (g *Grammar) classify(key []byte) member {
	var buf [maxMember]byte
	if len(key) <= maxMember && bytes.IndexByte(key, '\\') >= 0 {
		plain, err := jsonscan.AppendUnescaped(buf[:0], key)
		if err != nil {
			return other
		}
		key = plain
	}
	switch {
	case has(g.cfg.Names, key):
		return name
	case has(g.cfg.Args, key):
		return args
	}
	return other
}

// has reports whether key is one of names. It makes no string of it.
func has(names []string, key []byte) bool {
	for _, n := range names {
		if len(n) == len(key) && n == string(key) {
			return true
		}
	}
	return false
}

// Begin implements grammar.Grammar.
func (g *Grammar) Begin(st *grammar.State, h grammar.Header, in *grammar.Input) {
	s := grammar.View[state](st)
	if s.head == hEmpty {
		in.Marker(int(s.off))
		s.forget()
		return
	}
	flags := record.Flags(0)
	if h.Weak {
		flags = record.Weak
	}
	if s.first > 0 {
		in.Marker(int(s.first))
		in.Malformed(int(s.last - s.first))
		in.Marker(int(s.elem - s.last))
		s.off -= s.elem
		s.name -= s.elem
	}
	if s.nameN == 0 {
		in.Emit(record.CallBegin, flags, 0, int(s.off))
		s.JSON.Reset()
		s.phase = inArgs
	} else {
		text := in.Rest()[s.name : s.name+s.nameN]
		in.Emit(record.CallBegin, flags, 0, int(s.name))
		in.Emit(record.Name, escapes(text), 0, int(s.nameN))
		s.phase = atQuote
	}
	s.named, s.gave = s.nameN > 0, false
	s.forget()
}

// forget drops what is known of a header, so that the next one starts anew.
func (s *state) forget() {
	s.head = hOpen
	s.off, s.key, s.name, s.nameN = 0, 0, 0, 0
	s.elem, s.first, s.last = 0, 0, 0
}

// escapes is how the host must read a name.
func escapes(text []byte) record.Flags {
	if bytes.IndexByte(text, '\\') >= 0 {
		return record.EscJSON
	}
	return record.EscNone
}
