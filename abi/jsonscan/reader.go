package jsonscan

import "strconv"

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
}

// NewReader reads doc, which must not change while the reader is used.
func NewReader(doc []byte) *Reader { return &Reader{doc: doc} }

// Offset is where the reader stands.
func (r *Reader) Offset() int { return r.pos }

func (r *Reader) space() {
	for r.pos < len(r.doc) && isSpace(r.doc[r.pos]) {
		r.pos++
	}
}

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
	if r.Peek() != String {
		return dst, r.fail("a string")
	}
	from := r.pos
	if err := r.str(); err != nil {
		return dst, err
	}
	dst, err := AppendUnescaped(dst, r.doc[from+1:r.pos-1])
	if err != nil {
		r.pos = from
		return dst, r.fail("a string with valid escapes")
	}
	return dst, nil
}

// Object reads an object and calls f for each member with the reader at its value. key is the member
// name, valid until f returns. f must read the value, exactly once; the reader checks it.
func (r *Reader) Object(f func(key []byte) error) error {
	return r.container('{', '}', "an object", func() error {
		from := r.pos
		if r.Peek() != String {
			return r.fail("a member name")
		}
		if err := r.str(); err != nil {
			return err
		}
		key := r.doc[from+1 : r.pos-1]
		for _, c := range key {
			if c == '\\' {
				text, err := AppendUnescaped(nil, key)
				if err != nil {
					return r.fail("a member name with valid escapes")
				}
				key = text
				break
			}
		}
		if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != ':' {
			return r.fail("':'")
		}
		r.pos++
		r.space()
		return f(key)
	})
}

// Array reads an array and calls f for each element with the reader at it; f must read it.
func (r *Reader) Array(f func(i int) error) error {
	i := -1
	return r.container('[', ']', "an array", func() error {
		i++
		return f(i)
	})
}

func (r *Reader) container(open, end byte, want string, member func() error) error {
	if r.space(); r.pos >= len(r.doc) || r.doc[r.pos] != open {
		return r.fail(want)
	}
	if r.depth++; r.depth > MaxDepth {
		return depthError(r.pos)
	}
	r.pos++
	if r.space(); r.pos < len(r.doc) && r.doc[r.pos] == end {
		r.pos++
		r.depth--
		return nil
	}
	for {
		r.space()
		if err := member(); err != nil {
			return err
		}
		r.space()
		switch {
		case r.pos >= len(r.doc):
			return r.fail("',' or '" + string(end) + "'")
		case r.doc[r.pos] == ',':
			r.pos++
		case r.doc[r.pos] == end:
			r.pos++
			r.depth--
			return nil
		default:
			return r.fail("',' or '" + string(end) + "'")
		}
	}
}

// str reads a string, from its opening quote on.
func (r *Reader) str() error {
	for i := r.pos + 1; i < len(r.doc); i++ {
		switch r.doc[i] {
		case '"':
			r.pos = i + 1
			return nil
		case '\\':
			i++
		}
	}
	r.pos = len(r.doc)
	return r.fail("the end of a string")
}

func (r *Reader) skip() error {
	switch r.Peek() {
	case String:
		return r.str()
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
