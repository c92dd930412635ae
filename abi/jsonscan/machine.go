// Package jsonscan reads JSON without decoding it: a push machine that follows one value over any
// chunking in a fixed, pointer-free state (it may live in a plugin's window), a pull reader over
// complete bytes, and the escaping of strings. It allocates nothing on its own.
package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// MaxDepth is the deepest nesting a Machine follows; deeper input is bad. It bounds the state.
const MaxDepth = 256

// Status is what a Machine says after bytes.
type Status uint8

// Statuses.
const (
	More Status = iota // the value goes on
	Done               // the value is whole; later bytes are not its own
	Bad                // the bytes are not JSON
)

// Machine follows one JSON value (RFC 8259). The zero value is ready. It is plain data: copying it
// copies the parse.
type Machine struct {
	stack [MaxDepth / 64]uint64 // one bit a level: 1 object, 0 array
	depth uint16
	st    uint8
	key   bool // the open string is a member name
}

// Reset makes m ready for a new value.
func (m *Machine) Reset() { *m = Machine{} }

// Depth is the number of open containers.
func (m *Machine) Depth() int { return int(m.depth) }

// Started reports whether a byte of the value itself was seen.
func (m *Machine) Started() bool { return m.st > stValue || m.depth > 0 }

// InString reports whether the next byte belongs to a string.
func (m *Machine) InString() bool { return m.st >= stString && m.st <= stHex4 }

// Status tells where the parse stands, without input.
func (m *Machine) Status() Status {
	switch m.st {
	case stDone:
		return Done
	case stBad:
		return Bad
	}
	return More
}

// End tells what the value is if the input ends here: a number may be whole only then.
func (m *Machine) End() Status {
	if m.depth == 0 && wholeNumber(m.st) {
		return Done
	}
	return m.Status()
}

// wholeNumber reports a state in which a number may end.
func wholeNumber(st uint8) bool {
	return st == stZero || st == stInt || st == stFrac || st == stExpDigits
}

// Feed consumes bytes of b until the value ends, goes bad, or b is used up. n counts the value's own
// bytes and the white space before and inside it; a number ends before the byte that ends it.
//
// It is one loop over tables, and reads strings by the word, since guests spend their time in it and a
// call or a branch costs much more there than natively.
func (m *Machine) Feed(b []byte) (n int, s Status) {
	st := m.st
	for n < len(b) {
		if st == stString {
			if n = plain(b, n); n == len(b) {
				break
			}
		}
		to := steps[st%64][classOf[b[n]]%classes]
		if to-1 < states-1 {
			st = to
			n++
			continue
		}
		if to == misfit && wholeNumber(st) {
			if st = m.after(); st == stDone {
				break
			}
			continue
		}
		if st = m.do(to); st == stBad {
			break
		}
		n++
		if st == stDone {
			break
		}
	}
	m.st = st
	return n, m.Status()
}

// ones and tops have the lowest and the highest bit of each byte.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// plain is the offset of the first byte of b at or after from that needs attention in a string: a quote, a
// backslash or a control character.
func plain(b []byte, from int) int {
	for ; len(b)-from >= 8; from += 8 {
		if k := special(binary.LittleEndian.Uint64(b[from:])); k != 0 {
			return from + bits.TrailingZeros64(k)/8
		}
	}
	// A word of what is left; behind it are zeros, which are control characters.
	n := len(b) - from
	var w uint64
	switch {
	case n == 0:
		return from
	case len(b) >= 8:
		w = binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * (8 - uint(n)))
	case n >= 4:
		w = uint64(binary.LittleEndian.Uint32(b[from:])) | uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))<<(8*uint(n-4))
	default:
		w = uint64(b[from]) | uint64(b[from+n/2])<<(8*uint(n/2)) | uint64(b[len(b)-1])<<(8*uint(n-1))
	}
	return from + bits.TrailingZeros64(special(w))/8
}

// special marks with their highest bits the bytes of a word that need attention in a string. Marks above
// the lowest one may be wrong.
func special(w uint64) uint64 { return (w-ones*0x20)&^w&tops | quotes(w) }

// do does what an entry of steps asks for and returns the next state.
func (m *Machine) do(what uint8) uint8 {
	switch what {
	case doOpen, doOpenList:
		if m.depth >= MaxDepth {
			return stBad
		}
		w, bit := m.depth/64%(MaxDepth/64), uint64(1)<<(m.depth%64)
		m.depth++
		if what == doOpen {
			m.stack[w] |= bit
			return stKeyEnd
		}
		m.stack[w] &^= bit
		return stValueEnd
	case doClose, doCloseList:
		if m.depth == 0 || m.inObject() != (what == doClose) {
			return stBad
		}
		m.depth--
		return m.after()
	case doComma:
		if m.inObject() {
			return stKey
		}
		return stValue
	case doName:
		m.key = true
		return stString
	case doQuote:
		if m.key {
			m.key = false
			return stColon
		}
		return m.after()
	case doEnd:
		return m.after()
	}
	return stBad
}

func (m *Machine) inObject() bool {
	d := m.depth - 1
	return m.stack[d/64%(MaxDepth/64)]>>(d%64)&1 == 1
}

// after is the state after a value, inside whatever holds it.
func (m *Machine) after() uint8 {
	if m.depth == 0 {
		return stDone
	}
	return stNext
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
func isDigit(c byte) bool { return c-'0' < 10 }
func isHex(c byte) bool   { return isDigit(c) || (c|0x20)-'a' < 6 }

// Valid reports whether b is exactly one JSON value with optional white space around it.
func Valid(b []byte) bool {
	var m Machine
	n, s := m.Feed(b)
	if s == More {
		s = m.End()
	}
	if s != Done {
		return false
	}
	for _, c := range b[n:] {
		if !isSpace(c) {
			return false
		}
	}
	return true
}
