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
		if t := typeOf[c]; t != None || !isSpace(c) {
			return t
		}
	}
	return None
}

// typeOf gives the type of the value that begins with a byte.
var typeOf = [256]Type{
	'{': Object, '[': Array, '"': String, 't': Bool, 'f': Bool, 'n': Null, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number, '5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
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

// Since returns the bytes of the document from an offset on up to where the reader stands.
func (r *Reader) Since(offset int) []byte { return r.doc[offset:r.pos] }

// space is the offset of the first byte of doc at or after i that is no white space. Mostly that is i, so that
// this much is inlined.
func space(doc []byte, i int) int {
	if i < len(doc) && doc[i] <= ' ' {
		return spaces(doc, i)
	}
	return i
}

func spaces(doc []byte, i int) int {
	for i < len(doc) && isSpace(doc[i]) {
		i++
	}
	return i
}

// next skips white space and reports whether c is what follows.
func (r *Reader) next(c byte) bool {
	r.pos = space(r.doc, r.pos)
	return r.pos < len(r.doc) && r.doc[r.pos] == c
}

const endOfString = "the end of a string"

// fail is not inlined: it would double what calls it, which is read for each value.
//
//go:noinline
func (r *Reader) fail(want string) error { return &Error{Offset: r.pos, Want: want} }

func (r *Reader) failAt(i int, want string) error {
	r.pos = i
	return r.fail(want)
}

// Peek tells the type of the next value without reading it.
func (r *Reader) Peek() Type {
	if r.pos = space(r.doc, r.pos); r.pos < len(r.doc) {
		return typeOf[r.doc[r.pos]]
	}
	return None
}

// End checks that nothing but white space is left.
func (r *Reader) End() error {
	if r.pos = space(r.doc, r.pos); r.pos < len(r.doc) {
		return r.fail("the end of the document")
	}
	return nil
}

// Raw reads the next value whole and returns its bytes.
func (r *Reader) Raw() ([]byte, error) {
	r.pos = space(r.doc, r.pos)
	from := r.pos
	if err := r.skip(); err != nil {
		return nil, err
	}
	return r.doc[from:r.pos], nil
}

// Text reads a string and appends its text to dst, which must not share memory with the document.
func (r *Reader) Text(dst []byte) ([]byte, error) {
	text, escaped, err := r.Unquote(dst)
	switch {
	case err != nil:
		return dst, err
	case escaped:
		return text, nil
	}
	return append(dst, text...), nil
}

// Unquote reads a string. A text without escapes is part of the document; any other is appended to dst, as
// Text does, and escaped is true.
func (r *Reader) Unquote(dst []byte) (text []byte, escaped bool, err error) {
	if !r.next('"') {
		return nil, false, r.fail("a string")
	}
	from := r.pos
	in := r.doc[from+1:]
	n := unescaped(in)
	if n < len(in) && in[n] == '"' {
		r.pos = from + n + 2
		return in[:n], false, nil
	}
	text, m := unescape(append(dst, in[:n]...), in[n:])
	if m >= 0 && n+m < len(in) {
		r.pos = from + n + m + 2
		return text, true, nil
	}
	if end, _ := str(r.doc, from); end < 0 {
		return nil, false, r.failAt(len(r.doc), endOfString)
	}
	return nil, false, r.fail("a string with valid escapes")
}

// Object reads an object and calls f for each member with the reader at its value. key is the member
// name as Member returns it. f must read the value, exactly once; the reader checks it.
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
// which must be read, exactly once, before the next call. key is part of the document, or has memory of its own
// if there are escapes in it. ok is false when the object has ended.
func (r *Reader) Member() (key []byte, ok bool, err error) {
	doc, i := r.doc, space(r.doc, r.pos)
	end := i < len(doc) && doc[i] == '}'
	switch {
	case r.first:
		r.first = false
	case i < len(doc) && doc[i] == ',':
		i = space(doc, i+1)
	case !end:
		return nil, false, r.failAt(i, "',' or '}'")
	}
	if end {
		r.pos = i + 1
		r.depth--
		return nil, false, nil
	}
	if i >= len(doc) || doc[i] != '"' {
		return nil, false, r.failAt(i, "a member name")
	}
	from := i + 1
	i, escaped := str(doc, i)
	if i < 0 {
		return nil, false, r.failAt(len(doc), endOfString)
	}
	key = doc[from : i-1]
	if escaped {
		if key, err = AppendUnescaped(nil, key); err != nil {
			return nil, false, r.failAt(i, "a member name with valid escapes")
		}
	}
	if i = space(doc, i); i >= len(doc) || doc[i] != ':' {
		return nil, false, r.failAt(i, "':'")
	}
	r.pos = space(doc, i+1)
	return key, true, nil
}

// Array reads an array and calls f for each element with the reader at it; f must read it.
func (r *Reader) Array(f func(i int) error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	end := r.next(']')
	for i := 0; !end; i++ {
		r.pos = space(r.doc, r.pos)
		if err := f(i); err != nil {
			return err
		}
		switch {
		case r.next(','):
			r.pos++
		case r.next(']'):
			end = true
		default:
			return r.fail("',' or ']'")
		}
	}
	r.pos++
	r.depth--
	return nil
}

// open reads the bracket of a container.
func (r *Reader) open(bracket byte, want string) error {
	if !r.next(bracket) {
		return r.fail(want)
	}
	if r.depth++; r.depth > MaxDepth {
		return depthError(r.pos)
	}
	r.pos++
	return nil
}

// str is the end of the string of doc whose opening quote is at i, behind its closing one; -1 where there is none.
func str(doc []byte, i int) (end int, escaped bool) {
	for i++; i < len(doc); i++ {
		if len(doc)-i >= 8 {
			k := quotes(binary.LittleEndian.Uint64(doc[i:]))
			if k == 0 {
				i += 7
				continue
			}
			i += bits.TrailingZeros64(k) / 8
		}
		switch doc[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
	}
	return -1, escaped
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
	return ((q - ones) | (e - ones)) &^ w & tops
}

func (r *Reader) skip() error {
	switch r.Peek() {
	case String:
		end, _ := str(r.doc, r.pos)
		if end < 0 {
			return r.failAt(len(r.doc), endOfString)
		}
		r.pos = end
		return nil
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

// Pass passes over the next value if its text is that of a value which was read before: an object, an array or a
// string, whose text ends where it does, so that nothing but the bytes needs to be looked at.
func (r *Reader) Pass(value []byte) bool {
	at := space(r.doc, r.pos)
	if len(value) > len(r.doc)-at || string(r.doc[at:at+len(value)]) != string(value) {
		return false
	}
	r.pos = at + len(value)
	return true
}
