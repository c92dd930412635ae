package openai

import (
	"bytes"

	"github.com/weirgate/weir/engines"
)

// layout remembers a chunk that said nothing but a piece of text. The chunks of a stream differ in
// that text alone, most of them, so the next one is compared with what stood around it instead of
// being read: equal bytes around the inside of a string are the same document but for that string.
type layout struct {
	prefix []byte // up to the text, its opening quote included
	suffix []byte // from the closing quote on
	kind   engines.FragmentKind

	texts    int // strings of text in the chunk being read
	from, to int // where the last one stands, quotes included
	off      bool
}

// begin forgets what the chunk before was.
func (l *layout) begin() { l.texts = 0 }

// note is called for each text, with the place where its string ends.
func (l *layout) note(kind engines.FragmentKind, size, end int) {
	l.texts++
	l.kind, l.from, l.to = kind, end-size, end
}

// learn keeps the layout of a chunk that was read and had one text.
func (l *layout) learn(data []byte) {
	l.prefix = append(l.prefix[:0], data[:l.from+1]...)
	l.suffix = append(l.suffix[:0], data[l.to-1:]...)
}

// match returns the inside of the text, when everything around it is known.
func (l *layout) match(data []byte) (inner []byte, ok bool) {
	if len(l.prefix) == 0 || l.off || len(data) < len(l.prefix)+len(l.suffix) || !bytes.HasPrefix(data, l.prefix) || !bytes.HasSuffix(data, l.suffix) {
		return nil, false
	}
	inner = data[len(l.prefix) : len(data)-len(l.suffix)]
	return inner, oneString(inner)
}

// oneString reports whether inner, between two quotes, is the inside of one string: every quote in it
// is escaped, and the one that follows it is not.
func oneString(inner []byte) bool {
	for {
		at := bytes.IndexByte(inner, '"')
		if at < 0 {
			return !escaped(inner)
		}
		if !escaped(inner[:at]) {
			return false
		}
		inner = inner[at+1:]
	}
}
