package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Type is the type of a JSON value, told by its first byte.
type Type uint8

// Types.
const (
	None Type = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var typeNames = [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}

// String returns the JSON name of t.
func (t Type) String() string { return typeNames[t] }

// Error tells where a document is not JSON, or not what was expected.
type Error struct {
	Offset int    // in the document
	Want   string // what was expected there
}

func (e *Error) Error() string { return "byte " + strconv.Itoa(e.Offset) + ": expected " + e.Want }

// depthError is the offset of a container nested deeper than MaxDepth.
type depthError int

func (e depthError) Error() string { return "byte " + strconv.Itoa(int(e)) + ": nested too deep" }

// TypeOf tells the type of the value that begins at the start of b, white space aside.
func TypeOf(b []byte) Type {
	for _, c := range b {
		switch {
		case isSpace(c):
			continue
		case c == '{':
			return Object
		case c == '[':
			return Array
		case c == '"':
			return String
		case c == 't' || c == 'f':
			return Bool
		case c == 'n':
			return Null
		case c == '-' || isDigit(c):
			return Number
		}
		return None
	}
	return None
}

// Reader pulls values out of one complete document. Values are returned as slices of it, so nothing is
// copied and literals, key order and duplicates stay as they are. Raw control characters in strings are
// accepted. It is used by one goroutine.
type Reader struct {
	doc   []byte
	pos   int
	depth int
	first bool // an object was opened and none of its members read
}

// NewReader reads doc, which must not change while the reader is used.
func NewReader(doc []byte) *Reader { return &Reader{doc: doc} }

// Offset is where the reader stands.
func (r *Reader) Offset() int { return r.pos }

// space skips white space. Mostly there is none, so that this much is inlined.
func (r *Reader) space() {
	if r.pos < len(r.doc) && r.doc[r.pos] <= ' ' {
		r.spaces()
	}
}

func (r *Reader) spaces() {
	for r.pos < len(r.doc) && isSpace(r.doc[r.pos]) {
		r.pos++
	}
}

// fail is not inlined: it would double what calls it, which is read for each value.
//
//go:noinline
func (r *Reader) fail(want string) error { return &Error{Offset: r.pos, Want: want} }

// Peek tells the type of the next value without reading it.
func (r *Reader) Peek() Type {
	r.space()
	return TypeOf(r.doc[r.pos:])
}

// End checks that nothing but white space is left.
func (r *Reader) End() error {
	if r.space(); r.pos < len(r.doc) {
		return r.fail("the end of the document")
	}
	return nil
}

// Raw reads the next value whole and returns its bytes.
func (r *Reader) Raw() ([]byte, error) {
	r.space()
	from := r.pos
	if err := r.skip(); err != nil {
		return nil, err
	}
	return r.doc[from:r.pos], nil
}

// Text reads a string and appends its text to dst.
func (r *Reader) Text(dst []byte) ([]byte, error) {
	if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != '"' {
		return dst, r.fail("a string")
	}
	from := r.pos
	escaped, err := r.str()
	if err != nil {
		return dst, err
	}
	text := r.doc[from+1 : r.pos-1]
	if !escaped {
		return append(dst, text...), nil
	}
	if dst, err = AppendUnescaped(dst, text); err != nil {
		r.pos = from
		return dst, r.fail("a string with valid escapes")
	}
	return dst, nil
}

// Object reads an object and calls f for each member with the reader at its value. key is the member
// name, valid until f returns. f must read the value, exactly once; the reader checks it.
func (r *Reader) Object(f func(key []byte) error) error {
	if err := r.OpenObject(); err != nil {
		return err
	}
	for {
		key, ok, err := r.Member()
		if err != nil || !ok {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
}

// OpenObject reads the brace that opens an object; Member reads on. Together they are Object without a
// function, for those who count calls.
func (r *Reader) OpenObject() error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	r.first = true
	return nil
}

// Member reads the name of the next member of the object that is open, and leaves the reader at its value,
// which must be read, exactly once, before the next call. key is valid until then. ok is false when the
// object has ended.
func (r *Reader) Member() (key []byte, ok bool, err error) {
	r.space()
	if first := r.first; first {
		r.first = false
		if r.pos < len(r.doc) && r.doc[r.pos] == '}' {
			ok = true
		}
	} else if ok, err = r.next('}'); err != nil {
		return nil, false, err
	}
	if ok {
		r.pos++
		r.depth--
		return nil, false, nil
	}
	if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != '"' {
		return nil, false, r.fail("a member name")
	}
	from := r.pos
	escaped, err := r.str()
	if err != nil {
		return nil, false, err
	}
	key = r.doc[from+1 : r.pos-1]
	if escaped {
		if key, err = AppendUnescaped(nil, key); err != nil {
			return nil, false, r.fail("a member name with valid escapes")
		}
	}
	if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != ':' {
		return nil, false, r.fail("':'")
	}
	r.pos++
	r.space()
	return key, true, nil
}

// Array reads an array and calls f for each element with the reader at it; f must read it.
func (r *Reader) Array(f func(i int) error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	r.space()
	end := r.pos < len(r.doc) && r.doc[r.pos] == ']'
	for i := 0; !end; i++ {
		r.space()
		if err := f(i); err != nil {
			return err
		}
		r.space()
		var err error
		if end, err = r.next(']'); err != nil {
			return err
		}
	}
	r.pos++
	r.depth--
	return nil
}

// open reads the bracket of a container.
func (r *Reader) open(bracket byte, want string) error {
	if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != bracket {
		return r.fail(want)
	}
	if r.depth++; r.depth > MaxDepth {
		return depthError(r.pos)
	}
	r.pos++
	return nil
}

// next reads the comma behind a member, or reports that its container ends here.
func (r *Reader) next(bracket byte) (end bool, err error) {
	switch {
	case r.pos >= len(r.doc):
	case r.doc[r.pos] == ',':
		r.pos++
		return false, nil
	case r.doc[r.pos] == bracket:
		return true, nil
	}
	if bracket == ']' {
		return false, r.fail("',' or ']'")
	}
	return false, r.fail("',' or '}'")
}

// str reads a string, from its opening quote on, and tells whether there is a backslash in it.
func (r *Reader) str() (escaped bool, err error) {
	for i := r.pos + 1; i < len(r.doc); i += 2 {
		if i += unescaped(r.doc[i:]); i >= len(r.doc) {
			break
		}
		if r.doc[i] == '"' {
			r.pos = i + 1
			return escaped, nil
		}
		escaped = true
	}
	r.pos = len(r.doc)
	return escaped, r.fail("the end of a string")
}

// unescaped counts the bytes before the first quote or backslash.
func unescaped(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		if k := quotes(binary.LittleEndian.Uint64(b[i:])); k != 0 {
			return i + bits.TrailingZeros64(k)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// quotes marks quotes and backslashes as special does.
func quotes(w uint64) uint64 {
	q, e := w^ones*'"', w^ones*'\\'
	return ((q-ones)&^q | (e-ones)&^e) & tops
}

func (r *Reader) skip() error {
	switch r.Peek() {
	case String:
		_, err := r.str()
		return err
	case Object:
		return r.Object(func([]byte) error { return r.skip() })
	case Array:
		return r.Array(func(int) error { return r.skip() })
	case None:
		return r.fail("a value")
	}
	var m Machine
	n, s := m.Feed(r.doc[r.pos:])
	if s == More {
		s = m.End()
	}
	r.pos += n
	if s != Done {
		return r.fail("a JSON literal")
	}
	return nil
}
