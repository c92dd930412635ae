//go:build wasip1

// Command bracket is a parser plugin: reasoning stands between << and >>, a tool call is
// [call:NAME {json}]. It speaks the ABI itself, keeps eight bytes a stream and allocates nothing. ABI.md numbers
// the sections named here.
package main

import (
	"encoding/binary"
	"unsafe"
)

const manifest = `{"name": "bracket", "version": "1.0.0", "abi": 1, "kinds": ["parser"],` +
	` "reasoning": ["bracket"], "tools": ["bracket"], "description": "<<reasoning>> and [call:NAME {json}]"}`

const format = "bracket"

// opener begins a call; a name of at most maxName bytes, a space and the brace of the arguments follow.
const (
	opener  = "[call:"
	maxName = 64
)

// Error codes (§14).
const (
	errConfig = -1
	errInput  = -2
)

// Kinds of records (§7), and the aux of a call that was cut.
const (
	kindText      = 1
	kindReasoning = 2
	kindBlockEnd  = 3
	kindMarker    = 4
	kindCallBegin = 5
	kindName      = 6
	kindArgs      = 8
	kindCallEnd   = 13
	truncated     = 1
)

// The input (§5): at most 1,024 bytes held and 512 new ones, with 513 spans behind them.
const (
	inCap    = 8192
	maxInput = 1536
	maxSpans = 513
)

// What the bytes at the start of the input are.
const (
	inText      = iota
	inReasoning // until >>
	behindName  // the space between name and arguments
	inArgs      // until the outermost brace closes
	behindCall  // the ] that closes the call, or text
)

// state is the state window (§10): what differs between streams. The host copies it in and out around each
// call.
type state struct {
	mode    uint8
	calls   bool // the request has tools
	quoted  bool // the arguments are inside a string
	escaped bool // and behind a backslash
	depth   uint32
}

type record struct {
	kind, flags          uint16
	address, length, aux uint32
}

// A Wasm export has no receiver, so the instance stands in static memory.
var p struct {
	input  [inCap / 4]uint32 // words, for the alignment
	state  state
	offers [8]uint32

	// No record is empty but the end of a call, and a call has three bytes at least.
	records   [maxInput*4/3 + 1]record
	count     int
	pos       int // in the input: what lies before it has records
	reasoning bool
	tools     bool
}

// in is the input buffer.
func in() *[inCap]byte { return (*[inCap]byte)(unsafe.Pointer(&p.input)) }

func address(ptr unsafe.Pointer) uint32 { return uint32(uintptr(ptr)) }

//go:wasmexport weir1_describe
func describe() uint32 {
	p.offers = [8]uint32{
		0x31494557, 32, address(unsafe.Pointer(&p.input)), inCap,
		address(unsafe.Pointer(&p.state)), uint32(unsafe.Sizeof(p.state)),
		address(unsafe.Pointer(unsafe.StringData(manifest))), uint32(len(manifest)),
	}
	return address(unsafe.Pointer(&p.offers))
}

//go:wasmexport weir1_open
func open(n uint32) int32 {
	p.reasoning, p.tools = true, true // where the config is silent
	if n > inCap || !configure(in()[:n]) {
		return errConfig
	}
	p.state = state{calls: p.tools}
	return 0
}

// configure looks at the strings of the outermost object: behind a colon they are values, else names (§3).
func configure(config []byte) bool {
	depth, colon, key := 0, false, config[:0]
	if len(config) == 0 || config[0] != '{' {
		return false
	}
	for i := 0; i < len(config); i++ {
		switch config[i] {
		case '{':
			depth++
			colon = false
		case '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			colon = false
		case ':':
			colon = true
		case '"':
			from := i + 1
			for i = from; i < len(config) && config[i] != '"'; i++ {
				if config[i] == '\\' {
					i++
				}
			}
			if i >= len(config) {
				return false
			}
			text := config[from:i]
			if depth != 1 {
				continue
			}
			if !colon {
				key = text
				continue
			}
			on := string(text) == format
			reasoning := string(key) == "reasoning"
			if !reasoning && string(key) != "tools" {
				continue
			}
			if !on && len(text) > 0 {
				return false
			}
			if reasoning {
				p.reasoning = on
			} else {
				p.tools = on
			}
		}
	}
	return depth == 0
}

func u32At(i int) uint32 { return binary.LittleEndian.Uint32(in()[i:]) }

// start looks for reasoning that the prompt has opened already (§4).
//
//go:wasmexport weir1_start
func start(n uint32) int32 {
	if n < 16 || n > inCap || u32At(12) != n-16 {
		return errInput
	}
	p.state = state{calls: p.tools && u32At(4) != 1 && u32At(8) != 0}
	tail := in()[16:n]
	for i := 1; p.reasoning && i < len(tail); i++ {
		switch {
		case p.state.mode == inText && tail[i-1] == '<' && tail[i] == '<':
			p.state.mode = inReasoning
			i++
		case p.state.mode == inReasoning && tail[i-1] == '>' && tail[i] == '>':
			p.state.mode = inText
			i++
		}
	}
	return 0
}

//go:wasmexport weir1_feed
func feed(n, spans, flags uint32) int64 {
	if !run(n, spans, flags&1 != 0) {
		return errInput
	}
	return result()
}

// finish is a feed where nothing more can come. The last one has no input and closes what is open (§6).
//
//go:wasmexport weir1_finish
func finish(n, spans, _ uint32) int64 {
	if !run(n, spans, true) {
		return errInput
	}
	if n == 0 && p.state.mode == inArgs {
		emit(kindCallEnd, 0, truncated)
		p.state.mode = inText
	}
	return result()
}

func result() int64 {
	return int64(address(unsafe.Pointer(&p.records)))<<32 | int64(p.count)*int64(unsafe.Sizeof(record{}))
}

// run emits records until a marker may go on behind the input, or a name has come. last says that nothing
// follows the input. It returns false where the input breaks the ABI.
func run(n, spans uint32, last bool) bool {
	p.count, p.pos = 0, 0
	if n > maxInput || spans > maxSpans {
		return false
	}
	refused := -1 // no call begins up to here: the verdict is the last span (§9)
	if spans > 0 && u32At(inCap-4) == 0xFFFFFFFF {
		refused = int(u32At(inCap - 12))
	}
	for more := true; more && p.pos < int(n); {
		b := in()[p.pos:n]
		switch p.state.mode {
		case inText:
			more = text(b, p.pos > refused, last)
		case inReasoning:
			more = thought(b, last)
		case behindName:
			emit(kindMarker, 1, 0)
			p.state.mode, p.state.depth = inArgs, 0
		case inArgs:
			args(b)
		default:
			if b[0] == ']' {
				emit(kindMarker, 1, 0)
			}
			p.state.mode = inText
		}
	}
	return true
}

// emit says what the next n bytes are; content and arguments are added to a record that is like them.
func emit(kind uint16, n int, aux uint32) {
	content := kind == kindText || kind == kindReasoning || kind == kindArgs
	if content && p.count > 0 && p.records[p.count-1].kind == kind {
		p.records[p.count-1].length += uint32(n)
	} else {
		p.records[p.count] = record{kind: kind, address: address(unsafe.Pointer(&p.input)) + uint32(p.pos), length: uint32(n), aux: aux}
		p.count++
	}
	p.pos += n
}

// text emits text, a marker or a header; false where it must see more, and after a name.
func text(b []byte, mayCall, last bool) bool {
	n := 0
	for n < len(b) && (b[n] != '<' || !p.reasoning) && (b[n] != '[' || !p.state.calls) {
		n++
	}
	switch {
	case n > 0:
		emit(kindText, n, 0)
		return true
	case b[0] == '<' && len(b) > 1 && b[1] == '<':
		emit(kindMarker, 2, 0)
		p.state.mode = inReasoning
		return true
	case b[0] == '<' && len(b) == 1 && !last:
		return false
	case b[0] == '[' && mayCall:
		name, partial := header(b)
		if name > 0 {
			emit(kindCallBegin, len(opener), 0)
			emit(kindName, name, 0)
			p.state.mode = behindName
			return false
		}
		if partial && !last {
			return false
		}
	}
	emit(kindText, 1, 0)
	return true
}

// header returns the length of the name if b begins with a whole header, else 0. partial says that b is
// the beginning of one.
func header(b []byte) (name int, partial bool) {
	n := 0
	for ; n < len(opener); n++ {
		if n == len(b) {
			return 0, true
		}
		if b[n] != opener[n] {
			return 0, false
		}
	}
	for n < len(b) && isName(b[n]) {
		n++
	}
	name = n - len(opener)
	switch {
	case name > maxName:
		return 0, false
	case n == len(b):
		return 0, true
	case name == 0 || b[n] != ' ':
		return 0, false
	case n+1 == len(b):
		return 0, true
	case b[n+1] != '{':
		return 0, false
	}
	return name, false
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// thought emits reasoning or its closer; false where it must see more.
func thought(b []byte, last bool) bool {
	n := 0
	for n < len(b) && b[n] != '>' {
		n++
	}
	switch {
	case n > 0:
		emit(kindReasoning, n, 0)
	case len(b) > 1 && b[1] == '>':
		emit(kindBlockEnd, 2, 0)
		p.state.mode = inText
	case len(b) == 1 && !last:
		return false
	default:
		emit(kindReasoning, 1, 0)
	}
	return true
}

// args emits arguments, and the end of the call behind the brace that closes them.
func args(b []byte) {
	s := &p.state
	for i, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		}
		if s.depth == 0 {
			emit(kindArgs, i+1, 0)
			emit(kindCallEnd, 0, 0)
			s.mode = behindCall
			return
		}
	}
	emit(kindArgs, len(b), 0)
}

func main() {}
