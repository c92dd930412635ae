package match

import (
	"encoding/binary"
	"math/bits"
)

// byteSet is a few bytes that are looked for. Up to three of them, which is what markers come to, are
// looked for by the word: in a guest a branch for each byte costs more than all else.
type byteSet struct {
	has   [256]bool
	words [3]uint64 // a byte of the set in all eight places; the last is repeated
	n     int
}

// ones and tops have the lowest and the highest bit of each byte.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

func (s *byteSet) add(c byte) {
	if s.has[c] {
		return
	}
	s.has[c] = true
	for i := min(s.n, len(s.words)); i < len(s.words); i++ {
		s.words[i] = ones * uint64(c)
	}
	s.n++
}

// marks has the highest bit of each byte of w that is in a set of these words. Those above the lowest one
// may be wrong.
func marks(w, x, y, z uint64) uint64 {
	x ^= w
	y ^= w
	z ^= w
	return ((x-ones)&^x | (y-ones)&^y | (z-ones)&^z) & tops
}

// skip is the offset of the first byte of b at or after from that is in the set, else the length of b.
func (s *byteSet) skip(b []byte, from int) int {
	if s.n <= len(s.words) && s.n > 0 {
		x, y, z := s.words[0], s.words[1], s.words[2]
		for ; len(b)-from >= 8; from += 8 {
			if k := marks(binary.LittleEndian.Uint64(b[from:]), x, y, z); k != 0 {
				return from + bits.TrailingZeros64(k)/8
			}
		}
	}
	for from < len(b) && !s.has[b[from]] {
		from++
	}
	return min(from, len(b))
}

// Stops are a few bytes that are looked for in a word of text at once: up to three of them, and all that are
// less than some byte.
type Stops struct {
	words [3]uint64
	below uint64
}

// NewStops makes the stops of these bytes and of all that are less than below, which is at most 0x80.
// Without any byte it looks for NUL. It reports false when there are too many.
func NewStops(below byte, bytes ...byte) (s Stops, ok bool) {
	var set byteSet
	set.add(append(bytes, 0)[0])
	for _, c := range bytes {
		set.add(c)
	}
	return Stops{words: set.words, below: ones * uint64(below)}, set.n <= len(set.words)
}

// Marks has the highest bit of each byte of w that is a stop. Those above the lowest one may be wrong.
func (s *Stops) Marks(w uint64) uint64 {
	return marks(w, s.words[0], s.words[1], s.words[2]) | (w-s.below)&^w&tops
}
