// Package jsonscan reads JSON without decoding it: a push machine that follows one value over any
// chunking in a fixed, pointer-free state (it may live in a plugin's window), a pull reader over
// complete bytes, and the escaping of strings. It allocates nothing on its own.
package jsonscan

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

// state of a Machine, what it waits for next.
const (
	stValue    uint8 = iota // a value, after optional space
	stValueEnd              // first value of an array, or its end
	stKey                   // a member name
	stKeyEnd                // first member name, or the end of the object
	stColon
	stNext // comma or the end of the container
	stString
	stEsc
	stHex1
	stHex2
	stHex3
	stHex4
	stMinus
	stZero
	stInt
	stDot
	stFrac
	stExp
	stExpSign
	stExpDigits
	stLit
	stDone
	stBad
)

// Machine follows one JSON value (RFC 8259). The zero value is ready. It is plain data: copying it
// copies the parse.
type Machine struct {
	stack [MaxDepth / 64]uint64 // one bit a level: 1 object, 0 array
	depth uint16
	st    uint8
	key   bool  // the open string is a member name
	lit   uint8 // which literal: 't', 'f' or 'n'
	at    uint8 // bytes of the literal seen
}

// Reset makes m ready for a new value.
func (m *Machine) Reset() { *m = Machine{} }

// Depth is the number of open containers.
func (m *Machine) Depth() int { return int(m.depth) }

// Started reports whether a byte of the value itself was seen.
func (m *Machine) Started() bool { return m.st != stValue || m.depth > 0 }

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
	if m.depth == 0 {
		switch m.st {
		case stZero, stInt, stFrac, stExpDigits:
			return Done
		}
	}
	return m.Status()
}

// Feed consumes bytes of b until the value ends, goes bad, or b is used up. n counts the value's own
// bytes and the white space before and inside it; a number ends before the byte that ends it.
func (m *Machine) Feed(b []byte) (n int, s Status) {
	for n < len(b) {
		if m.st == stString {
			n += plain(b[n:])
			if n == len(b) {
				return n, More
			}
		}
		used, ok := m.step(b[n])
		if !ok {
			m.st = stBad
			return n, Bad
		}
		if used {
			n++
		}
		if m.st == stDone {
			return n, Done
		}
	}
	return n, m.Status()
}

// plain counts the leading bytes of b that need no attention inside a string.
func plain(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return len(b)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
func isDigit(c byte) bool { return c-'0' < 10 }
func isHex(c byte) bool   { return isDigit(c) || (c|0x20)-'a' < 6 }

// step takes one byte; used is false when the byte only ended a number.
func (m *Machine) step(c byte) (used, ok bool) {
	switch m.st {
	case stValue, stValueEnd:
		if isSpace(c) {
			return true, true
		}
		if m.st == stValueEnd && c == ']' {
			return true, m.pop(false)
		}
		return true, m.begin(c)
	case stKey, stKeyEnd:
		switch {
		case isSpace(c):
			return true, true
		case c == '"':
			m.st, m.key = stString, true
			return true, true
		case c == '}' && m.st == stKeyEnd:
			return true, m.pop(true)
		}
		return true, false
	case stColon:
		if c == ':' {
			m.st = stValue
			return true, true
		}
		return true, isSpace(c)
	case stNext:
		return true, m.next(c)
	case stString, stEsc, stHex1, stHex2, stHex3, stHex4:
		return true, m.str(c)
	case stLit:
		return true, m.literal(c)
	case stDone, stBad:
		return false, false
	}
	return m.number(c)
}

func (m *Machine) begin(c byte) bool {
	switch {
	case c == '{':
		m.st = stKeyEnd
		return m.push(true)
	case c == '[':
		m.st = stValueEnd
		return m.push(false)
	case c == '"':
		m.st, m.key = stString, false
	case c == '-':
		m.st = stMinus
	case c == '0':
		m.st = stZero
	case isDigit(c):
		m.st = stInt
	case c == 't' || c == 'f' || c == 'n':
		m.st, m.lit, m.at = stLit, c, 1
	default:
		return false
	}
	return true
}

func (m *Machine) push(object bool) bool {
	if m.depth >= MaxDepth {
		return false
	}
	w, bit := m.depth/64, uint64(1)<<(m.depth%64)
	if object {
		m.stack[w] |= bit
	} else {
		m.stack[w] &^= bit
	}
	m.depth++
	return true
}

func (m *Machine) inObject() bool {
	d := m.depth - 1
	return m.stack[d/64]>>(d%64)&1 == 1
}

func (m *Machine) pop(object bool) bool {
	if m.depth == 0 || m.inObject() != object {
		return false
	}
	m.depth--
	m.end()
	return true
}

// end is the end of a value inside whatever holds it.
func (m *Machine) end() {
	if m.depth == 0 {
		m.st = stDone
	} else {
		m.st = stNext
	}
}

func (m *Machine) next(c byte) bool {
	switch {
	case isSpace(c):
	case c == ',' && m.inObject():
		m.st = stKey
	case c == ',':
		m.st = stValue
	case c == '}':
		return m.pop(true)
	case c == ']':
		return m.pop(false)
	default:
		return false
	}
	return true
}

func (m *Machine) str(c byte) bool {
	switch m.st {
	case stString:
		switch {
		case c == '\\':
			m.st = stEsc
		case c == '"' && m.key:
			m.st, m.key = stColon, false
		case c == '"':
			m.end()
		default:
			return c >= 0x20
		}
	case stEsc:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			m.st = stString
		case 'u':
			m.st = stHex1
		default:
			return false
		}
	case stHex4:
		m.st = stString
		return isHex(c)
	default:
		m.st++
		return isHex(c)
	}
	return true
}

func (m *Machine) literal(c byte) bool {
	word := "true"
	switch m.lit {
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	}
	if c != word[m.at] {
		return false
	}
	if m.at++; int(m.at) == len(word) {
		m.end()
	}
	return true
}

func (m *Machine) number(c byte) (used, ok bool) {
	switch m.st {
	case stMinus:
		m.st = stInt
		if c == '0' {
			m.st = stZero
		}
		return true, isDigit(c)
	case stDot:
		m.st = stFrac
		return true, isDigit(c)
	case stExp:
		if c == '+' || c == '-' {
			m.st = stExpSign
			return true, true
		}
		m.st = stExpDigits
		return true, isDigit(c)
	case stExpSign:
		m.st = stExpDigits
		return true, isDigit(c)
	}
	switch {
	case isDigit(c) && m.st != stZero:
		return true, true
	case c == '.' && (m.st == stZero || m.st == stInt):
		m.st = stDot
		return true, true
	case (c == 'e' || c == 'E') && m.st != stExpDigits:
		m.st = stExp
		return true, true
	}
	m.end()
	return false, true
}

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
