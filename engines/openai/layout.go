package openai

import (
	"bytes"

	"github.com/weirgate/weir/engines"
)

// maxLayout bounds the chunks whose layout is remembered, in bytes: the first one may repeat the prompt.
const maxLayout = 4 << 10

// layout remembers a chunk that said nothing but a piece of text and its ids. The chunks of a stream differ
// in these alone, most of them, so the next one is compared with what stood around them instead of being
// read: equal bytes around the inside of a string and of a list of numbers are the same document but for
// those two.
type layout struct {
	prefix []byte // up to the text, its opening quote included
	middle []byte // from the closing quote to the ids, their opening bracket included; empty: there are no ids
	suffix []byte // from the closing quote or bracket on
	kind   engines.FragmentKind

	text, ids span // the last ones in the chunk being read
	off       bool
}

// span is where something stands in a chunk, quotes or brackets included, and how often there was such.
type span struct{ from, to, count int }

func (s *span) note(size, end int) { s.from, s.to, s.count = end-size, end, s.count+1 }

// begin forgets what the chunk before was.
func (l *layout) begin() { l.text, l.ids = span{}, span{} }

// note is called for each text, with the place where its string ends.
func (l *layout) note(kind engines.FragmentKind, size, end int) {
	l.kind = kind
	l.text.note(size, end)
}

// noteIDs is called for each list of ids, with the place where it ends.
func (l *layout) noteIDs(size, end int) { l.ids.note(size, end) }

// learn keeps the layout of a chunk that was read, if it had one text, and after it the ids or none.
func (l *layout) learn(data []byte) {
	if l.text.count != 1 || l.ids.count > 1 || l.ids.count == 1 && l.ids.from < l.text.to || len(data) > maxLayout {
		return
	}
	end := l.text.to - 1
	l.prefix = append(l.prefix[:0], data[:l.text.from+1]...)
	l.middle = l.middle[:0]
	if l.ids.count == 1 {
		l.middle = append(l.middle, data[end:l.ids.from+1]...)
		end = l.ids.to - 1
	}
	l.suffix = append(l.suffix[:0], data[end:]...)
}

// match returns the inside of the text and of the list of ids, when everything around them is known.
func (l *layout) match(data []byte) (text, ids []byte, ok bool) {
	if len(l.prefix) == 0 || l.off || len(data) < len(l.prefix)+len(l.middle)+len(l.suffix) || !bytes.HasPrefix(data, l.prefix) || !bytes.HasSuffix(data, l.suffix) {
		return nil, nil, false
	}
	inner := data[len(l.prefix) : len(data)-len(l.suffix)]
	end := stringEnd(inner)
	if len(l.middle) == 0 {
		return inner, nil, end == len(inner) && !escaped(inner)
	}
	if !bytes.HasPrefix(inner[end:], l.middle) {
		return nil, nil, false
	}
	ids = inner[end+len(l.middle):]
	return inner[:end], ids, numbers(ids)
}

// stringEnd returns where the string ends that b begins within: at the first quote that is not escaped, or
// behind b.
func stringEnd(b []byte) int {
	for from := 0; ; {
		at := bytes.IndexByte(b[from:], '"')
		if at < 0 {
			return len(b)
		}
		if from += at; !escaped(b[:from]) {
			return from
		}
		from++
	}
}

// numbers reports whether b is numbers as JSON writes them, of at most nine digits and with commas between
// them, or nothing.
func numbers(b []byte) bool {
	size := 0
	for i, c := range b {
		switch {
		case c == ',' && size > 0 && i+1 < len(b):
			size = 0
		case c < '0' || c > '9' || size == 9 || size == 1 && b[i-1] == '0':
			return false
		default:
			size++
		}
	}
	return true
}
