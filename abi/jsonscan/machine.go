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
}

// Reset makes m ready for a new value.
func (m *Machine) Reset() { *m = Machine{} }

// Depth is the number of open containers.
func (m *Machine) Depth() int { return int(m.depth) }

// Started reports whether a byte of the value itself was seen.
func (m *Machine) Started() bool { return m.st > stValue || m.depth > 0 }

// InString reports whether the next byte belongs to a string.
func (m *Machine) InString() bool { return m.st >= stEsc && m.st <= stString }

// Plain reports whether the next byte belongs to a string and changes nothing, unless it is a quote, a
// backslash or a control character.
func (m *Machine) Plain() bool { return m.st == stString || m.st == stKeyString }

// Status tells where the parse stands, without input.
func (m *Machine) Status() Status {
	if m.st < stDone {
		return More
	}
	return Done + Status(m.st-stDone)
}

// End tells what the value is if the input ends here: a number may be whole only then.
func (m *Machine) End() Status {
	if m.depth == 0 && wholeNumber(m.st) {
		return Done
	}
	return m.Status()
}

// wholeNumber reports a state in which a number may end.
func wholeNumber(st uint8) bool { return numbers>>(st%64)&1 != 0 }

// numbers has a bit for each state in which a number may end.
const numbers = 1<<stZero | 1<<stInt | 1<<stFrac | 1<<stExpDigits

// Feed consumes bytes of b until the value ends, goes bad, or b is used up. n counts the value's own
// bytes and the white space before and inside it; a number ends before the byte that ends it.
//
// It is one loop over tables, and reads strings by the word, since guests spend their time in it and a
// call or a branch costs much more there than natively.
func (m *Machine) Feed(b []byte) (n int, s Status) {
	st := uint(m.st)
	if m.Plain() {
		n = plain(b, 0)
	}
	for uint(n) < uint(len(b)) {
		to := uint(steps[st%uint(len(steps))][classOf[b[n]]%classes])
		switch {
		case to-1 < uint(stKeyString)-1:
			st = to
			n++
		case to == misfit && numbers>>(st%64)&1 != 0 && m.depth > 0:
			st = m.next()
		case to == uint(doQuote) && m.depth > 0:
			st = m.next()
			n++
		case to <= uint(stString) && to != misfit:
			st = to
			n = plain(b, n+1)
		default:
			if n, st = m.do(n, uint8(to), uint8(st)); st >= uint(stDone) {
				m.st = uint8(st)
				return n, m.Status()
			}
		}
	}
	m.st = uint8(st)
	return n, m.Status()
}

// plain is the offset of the first byte of b at or after from that needs attention in a string: a quote, a
// backslash or a control character. It reads words beyond the end of b where there is memory.
func plain(b []byte, from int) int {
	for ; from < len(b) && cap(b)-from >= 8; from += 8 {
		if k := special(binary.LittleEndian.Uint64(b[from : from+8])); k != 0 {
			return min(from+bits.TrailingZeros64(k)/8, len(b))
		}
	}
	for from < len(b) && !isSpecial(b[from]) {
		from++
	}
	return min(from, len(b))
}

// ones and tops have the lowest and the highest bit of each byte.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// IsEscape reports that c behind a backslash is an escape that ends there.
func IsEscape(c byte) bool { return steps[stEsc][classOf[c]%classes] == stString }

// special marks with their highest bits the bytes of a word that need attention in a string. Marks above
// the lowest one may be wrong.
func special(w uint64) uint64 { return (w-ones*0x20)&^w&tops | quotes(w) }

// do does what an entry of steps asks for at offset n in state st. It returns where to read on, and the
// next state.
func (m *Machine) do(n int, what, st uint8) (at int, next uint) {
	switch what {
	case misfit:
		if !wholeNumber(st) {
			return n, uint(stBad)
		}
		n--
	case doOpen, doOpenList:
		if m.depth >= MaxDepth {
			return n, uint(stBad)
		}
		w, bit := m.depth/64%(MaxDepth/64), uint64(1)<<(m.depth%64)
		m.depth++
		if what == doOpen {
			m.stack[w] |= bit
			return n + 1, uint(stKeyEnd)
		}
		m.stack[w] &^= bit
		return n + 1, uint(stValueEnd)
	case doClose:
		m.depth--
	}
	// A value ended, inside whatever holds it.
	if m.depth == 0 {
		return n + 1, uint(stDone)
	}
	return n + 1, m.next()
}

// next is the state after a value in a container: stNextItem, or the one before it in an object.
func (m *Machine) next() uint {
	d := m.depth - 1
	return uint(stNextItem) - uint(m.stack[d/64%(MaxDepth/64)]>>(d%64)&1)
}

func isSpecial(c byte) bool { return c < ' ' || c == '"' || c == '\\' }
func isSpace(c byte) bool   { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
func isDigit(c byte) bool   { return c-'0' < 10 }
func isHex(c byte) bool     { return isDigit(c) || (c|0x20)-'a' < 6 }

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
