// Package match finds the first of a few markers in text that arrives in pieces, holding back no more
// than what may still become one.
package match

// Results of Find that name no marker.
const (
	None    = -1 // no marker begins in the bytes
	Partial = -2 // the bytes end in what may become a marker
)

// Set is a compiled set of markers. It is read-only after New and safe for concurrent use.
type Set struct {
	first byteSet   // bytes that begin a marker
	look  byteSet   // those, and what Watch added
	next  [256]bool // bytes that follow the first one of a marker
	texts []string
}

// New compiles texts; a marker's index in texts is its id. Empty texts are not allowed to match.
func New(texts ...string) *Set {
	s := &Set{texts: texts}
	for _, t := range texts {
		if t != "" {
			s.first.add(t[0])
		}
		for c := range s.next {
			s.next[c] = s.next[c] || len(t) == 1 || len(t) > 1 && t[1] == byte(c)
		}
	}
	s.look = s.first
	return s
}

// Watch makes c one of Stops too. It belongs to the making of a set.
func (s *Set) Watch(c byte) { s.look.add(c) }

// Len is the number of markers.
func (s *Set) Len() int { return len(s.texts) }

// Text is the marker with this id.
func (s *Set) Text(id int) string { return s.texts[id] }

// Find looks at b from offset from on and returns where the first marker begins, and which it is. Of
// two that begin at one place the longer wins, so a shorter one that may still grow is Partial. With
// final nothing follows b: what is not whole is not a marker.
//
// A caller that gets Partial keeps the bytes from at on and passes their offset as from next time, so
// that a byte is looked at once, and a held byte once more for each byte of a marker that follows it.
func (s *Set) Find(b []byte, from int, final bool) (at, id int) {
	for at = s.skip(b, from); at < len(b); at = s.skip(b, at+1) {
		if id := s.At(b[at:], final); id != None {
			return at, id
		}
	}
	return len(b), None
}

// Begins reports that c with next behind it may begin a marker, or that c is no byte that begins one.
func (s *Set) Begins(c, next byte) bool { return !s.first.has[c] || s.next[next] }

// Stops are the bytes that begin a marker or are watched, and more. It reports false when they are too many.
func (s *Set) Stops(more ...byte) (Stops, bool) {
	for c, in := range s.look.has {
		if in {
			more = append(more, byte(c))
		}
	}
	return NewStops(0, more...)
}

// skip is the offset of the next byte at or after from that can begin a marker.
func (s *Set) skip(b []byte, from int) int { return s.first.skip(b, from) }

// At says which marker b begins with. Nothing at all is Partial, unless it is final.
func (s *Set) At(b []byte, final bool) int {
	if len(b) == 0 {
		if final {
			return None
		}
		return Partial
	}
	best, size, partial := None, 0, false
	two := len(b) > 1
	for id, t := range s.texts {
		if t == "" || t[0] != b[0] || two && len(t) > 1 && t[1] != b[1] {
			continue
		}
		if len(b) < len(t) {
			partial = partial || !final && t[:len(b)] == string(b)
		} else if len(t) > size && string(b[:len(t)]) == t {
			best, size = id, len(t)
		}
	}
	if partial {
		return Partial
	}
	return best
}
