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

// misses reports that no byte of b is in the set.
func (s *byteSet) misses(b []byte) bool {
	n := len(b)
	if s.n > len(s.words) || n == 0 || s.n == 0 {
		return s.skip(b, 0) == n
	}
	x, y, z := s.words[0], s.words[1], s.words[2]
	var w uint64 // what is left; some bytes may be in it twice
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			if marks(binary.LittleEndian.Uint64(b[i:]), x, y, z) != 0 {
				return false
			}
		}
		w = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		w = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	default:
		w = uint64(b[0])*(ones&^0xffff) | uint64(b[n/2])<<8 | uint64(b[n-1])
	}
	return marks(w, x, y, z) == 0
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
