// Package literal turns a JSON value or a Python literal into JSON while it arrives.
//
//	value  = object | array | string | number | word
//	object = "{" [ key ":" value { "," key ":" value } [ "," ] ] "}"
//	array  = "[" [ value { "," value } [ "," ] ] "]"  |  "(" .. ")"
//	string = double or single quoted, with the escapes of either language
//	word   = true | false | null | True | False | None | NaN | Infinity
//
// Valid JSON comes out as it went in, byte for byte inside the value. NaN and the infinities become
// strings, tuples arrays, keys that are numbers or words strings; raw control characters in strings are
// escaped and a comma before a closer is dropped. Everything else (sets, calls, comments, names,
// triple quotes) is not a literal.
package literal

import (
	"bytes"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// Limits, in bytes.
const (
	MaxDepth = jsonscan.MaxDepth // open containers
	maxToken = 4096              // a number or word
	maxSpace = 4096              // white space held behind a comma; more commits the comma
)

type state uint8

const (
	atValue  state = iota // a value
	atFirst               // the first element of an array, or its end
	atKey                 // a key
	atNoKey               // the first key of an object, or its end
	atColon               // between key and value
	atNext                // a comma or the end of the container
	inString              //
	inEscape              // in a string, behind a backslash
	inToken               // in a number or word
	isDone                //
	isBad                 //
)

// Machine translates one value. The zero value is ready. Output depends on the input alone, not on how
// it was cut. It is used by one goroutine.
type Machine struct {
	st    state
	key   bool // the string or token is a key
	comma bool // a comma is held, and space behind it
	quote byte
	depth uint16
	nesc  uint8
	esc   [10]byte
	stack [MaxDepth]byte // the closers that are due
	token []byte
	space []byte
}

// Reset makes m ready for a new value and keeps its memory.
func (m *Machine) Reset() {
	m.st, m.key, m.comma, m.depth, m.nesc = atValue, false, false, 0, 0
	m.token, m.space = m.token[:0], m.space[:0]
}

// Status tells where the translation stands.
func (m *Machine) Status() jsonscan.Status {
	switch m.st {
	case isDone:
		return jsonscan.Done
	case isBad:
		return jsonscan.Bad
	}
	return jsonscan.More
}

// Append translates b and appends what is decided to dst. White space around the value is dropped. After
// Bad, what was appended before stands, and more input is ignored.
func (m *Machine) Append(dst, b []byte) ([]byte, jsonscan.Status) {
	for i := 0; i < len(b) && m.st != isBad; {
		if m.st == inString {
			n := m.plain(b[i:])
			dst = append(dst, b[i:i+n]...)
			if i += n; i == len(b) {
				break
			}
		}
		var again bool
		if dst, again = m.step(dst, b[i]); !again {
			i++
		}
	}
	return dst, m.Status()
}

// End says that the input is over: a number or word at the top may be whole only then.
func (m *Machine) End(dst []byte) ([]byte, jsonscan.Status) {
	if m.st == inToken && m.depth == 0 {
		dst = m.endToken(dst)
	}
	if m.st != isDone {
		m.st = isBad
	}
	return dst, m.Status()
}

// plain counts the leading bytes of b that stand for themselves in a string of either language.
func (m *Machine) plain(b []byte) int {
	for i, c := range b {
		if c < 0x20 || c == '\\' || c == '"' || c == m.quote {
			return i
		}
	}
	return len(b)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isTokenByte(c byte) bool {
	return c-'0' < 10 || c|0x20-'a' < 26 || c == '+' || c == '-' || c == '.' || c == '_'
}

// step takes one byte; again means that the byte ended something and must be taken once more.
func (m *Machine) step(dst []byte, c byte) (out []byte, again bool) {
	switch m.st {
	case inString:
		return m.inside(dst, c), false
	case inEscape:
		return m.escape(dst, c)
	case inToken:
		if isTokenByte(c) {
			if len(m.token) == maxToken {
				m.st = isBad
			}
			m.token = append(m.token, c)
			return dst, false
		}
		return m.endToken(dst), true
	}
	if isSpace(c) {
		return m.blank(dst, c), false
	}
	switch m.st {
	case atColon:
		if c != ':' {
			m.st = isBad
			return dst, false
		}
		m.st = atValue
		return append(dst, c), false
	case atNext:
		return m.next(dst, c), false
	case isDone:
		m.st = isBad
		return dst, false
	}
	return m.begin(dst, c), false
}

// blank keeps white space where JSON has it; behind a comma it waits with the comma.
func (m *Machine) blank(dst []byte, c byte) []byte {
	switch {
	case m.depth == 0:
		return dst
	case !m.comma:
		return append(dst, c)
	case len(m.space) == maxSpace:
		return append(m.commit(dst), c)
	}
	m.space = append(m.space, c)
	return dst
}

// commit writes a held comma.
func (m *Machine) commit(dst []byte) []byte {
	if m.comma {
		dst = append(append(dst, ','), m.space...)
		m.comma, m.space = false, m.space[:0]
	}
	return dst
}

// begin takes the first byte of a value or key, or a closer in its place.
func (m *Machine) begin(dst []byte, c byte) []byte {
	key := m.st == atKey || m.st == atNoKey
	switch c {
	case '}', ']', ')':
		if m.st == atFirst || m.st == atNoKey || m.comma {
			m.comma, m.space = false, m.space[:0]
			return m.pop(dst, c)
		}
		m.st = isBad
		return dst
	case '"', '\'':
		m.st, m.key, m.quote = inString, key, c
		return append(m.commit(dst), '"')
	}
	switch {
	case !key && c == '{':
		return m.push(m.commit(dst), '{', '}', atNoKey)
	case !key && c == '[':
		return m.push(m.commit(dst), '[', ']', atFirst)
	case !key && c == '(':
		return m.push(m.commit(dst), '[', ')', atFirst)
	case isTokenByte(c):
		m.st, m.key, m.token = inToken, key, append(m.token[:0], c)
		return m.commit(dst)
	}
	m.st = isBad
	return dst
}

func (m *Machine) push(dst []byte, open, closer byte, next state) []byte {
	if m.depth == MaxDepth {
		m.st = isBad
		return dst
	}
	m.stack[m.depth] = closer
	m.depth++
	m.st = next
	return append(dst, open)
}

func (m *Machine) pop(dst []byte, c byte) []byte {
	if m.depth == 0 || m.stack[m.depth-1] != c {
		m.st = isBad
		return dst
	}
	m.depth--
	if c == ')' {
		c = ']'
	}
	m.end()
	return append(dst, c)
}

// end is the end of a value or key within what holds it.
func (m *Machine) end() {
	switch {
	case m.key:
		m.st, m.key = atColon, false
	case m.depth == 0:
		m.st = isDone
	default:
		m.st = atNext
	}
}

func (m *Machine) next(dst []byte, c byte) []byte {
	if c != ',' {
		return m.pop(dst, c)
	}
	m.comma = true
	m.st = atValue
	if m.stack[m.depth-1] == '}' {
		m.st = atKey
	}
	return dst
}

// inside takes a byte of a string that is not plain.
func (m *Machine) inside(dst []byte, c byte) []byte {
	switch c {
	case m.quote:
		m.end()
		return append(dst, '"')
	case '\\':
		m.st, m.esc[0], m.nesc = inEscape, c, 1
		return dst
	}
	return jsonscan.AppendEscaped(dst, []byte{c})
}

// escape takes a byte behind a backslash. Escapes that JSON knows stay as they are; Python's own become
// characters; a backslash before anything else is one, as Python has it.
func (m *Machine) escape(dst []byte, c byte) (out []byte, again bool) {
	m.esc[m.nesc] = c
	m.nesc++
	p := m.esc[:m.nesc]
	n, _ := jsonscan.Escape(p)
	if n > 0 {
		m.st = inString
		return append(dst, p...), false
	}
	if n == 0 {
		return dst, false
	}
	if p[1] == 'u' {
		m.st = isBad
		return dst, false
	}
	used, r := unescape.Python(p)
	switch {
	case used == 0:
		return dst, false
	case used < 0 && len(p) > 2: // digits of \x or \U that are none
		m.st = isBad
		return dst, false
	case used < 0:
		m.st = inString
		return append(dst, '\\', '\\'), true
	}
	m.st = inString
	if r != unescape.Nothing {
		dst = jsonscan.AppendEscaped(dst, string(r))
	}
	return dst, used < len(p)
}

var words = [...]struct {
	from, to string
	text     bool // to is a string
}{
	{"true", "true", false},
	{"false", "false", false},
	{"null", "null", false},
	{"True", "true", false},
	{"False", "false", false},
	{"None", "null", false},
	{"NaN", "NaN", true},
	{"Infinity", "Infinity", true},
	{"-Infinity", "-Infinity", true},
}

// endToken writes the number or word that is over.
func (m *Machine) endToken(dst []byte) []byte {
	quoted := m.key
	text, ok := m.token, false
	for _, w := range words {
		if w.from == string(m.token) {
			text, ok = append(m.token[:0], w.to...), true
			quoted = quoted || w.text
			break
		}
	}
	if !ok {
		if text, ok = number(m.token); !ok {
			m.st = isBad
			return dst
		}
	}
	if quoted {
		dst = append(dst, '"')
	}
	dst = append(dst, text...)
	if quoted {
		dst = append(dst, '"')
	}
	m.end()
	return dst
}

// IsNumber reports whether t is exactly one JSON number.
func IsNumber(t []byte) bool {
	if len(t) == 0 || t[0] != '-' && t[0]-'0' >= 10 {
		return false
	}
	var m jsonscan.Machine
	n, s := m.Feed(t)
	return s == jsonscan.More && n == len(t) && m.End() == jsonscan.Done
}

// number returns t as JSON writes it: digits are kept, a sign + is dropped, a bare point gets its zero.
func number(t []byte) ([]byte, bool) {
	if IsNumber(t) {
		return t, true
	}
	sign, digits := t[:0], t
	switch t[0] {
	case '+':
		digits = t[1:]
	case '-':
		sign, digits = t[:1], t[1:]
	}
	whole, rest := digits, digits[len(digits):]
	if i := bytes.IndexByte(digits, '.'); i >= 0 {
		whole, rest = digits[:i], digits[i+1:]
		if len(whole) == 0 && len(rest) == 0 {
			return nil, false
		}
		if len(whole) == 0 {
			whole = []byte("0")
		}
		if len(rest) == 0 || rest[0]-'0' >= 10 {
			rest = append([]byte("0"), rest...)
		}
		rest = append([]byte("."), rest...)
	}
	out := bytes.Join([][]byte{sign, whole, rest}, nil)
	return out, IsNumber(out)
}
