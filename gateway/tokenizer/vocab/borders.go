package vocab

import (
	"math/rand/v2"
	"unicode/utf8"
)

// borders knows where text without words (SentencePiece's) can be cut all the same: between two
// characters that no merged token has next to each other no merge can ever join.
type borders struct {
	dense [denseChars * denseChars]bool // pairs of ASCII and the mark of a blank
	keys  []uint64                      // other pairs, plus 1; open addressing
	mult  uint64
	shift uint
}

// blankMark is U+2581, which stands for a blank.
const (
	blankMark  = '▁'
	denseChars = utf8.RuneSelf + 1
)

// newBorders returns nil where merges join tokens whose texts do not tell what they hold.
func newBorders(s *Spec, b *bpe) *borders {
	fallback := newBitset(len(s.Tokens))
	if b.byteFallback {
		for _, id := range b.bytes {
			fallback.add(id)
		}
	}
	made := newBitset(len(s.Tokens))
	count := 0
	for _, m := range s.Merges {
		if fallback.has(m.Left) || fallback.has(m.Right) || s.Tokens[m.ID] != s.Tokens[m.Left]+s.Tokens[m.Right] {
			return nil
		}
		if !made.has(m.ID) {
			made.add(m.ID)
			count += utf8.RuneCountInString(s.Tokens[m.ID]) - 1
		}
	}
	bits := uint(6)
	for 1<<bits < 2*min(count, 1<<22) {
		bits++
	}
	w := &borders{keys: make([]uint64, 1<<bits), mult: rand.Uint64() | 1, shift: 64 - bits}
	used := 0
	for id, text := range s.Tokens {
		if !made.has(uint32(id)) {
			continue
		}
		last := rune(-1)
		for _, r := range text {
			if last >= 0 && w.join(last, r) {
				if used++; used > len(w.keys)/2 {
					return nil
				}
			}
			last = r
		}
	}
	return w
}

// dense returns the small number of a frequent character.
func dense(r rune) (int, bool) {
	if r < utf8.RuneSelf {
		return int(r), true
	}
	return utf8.RuneSelf, r == blankMark
}

func (w *borders) place(key uint64) uint64 {
	h := key * w.mult
	return (h ^ h>>32) * 0x9E3779B97F4A7C15 >> w.shift
}

// join notes that a token has a and b next to each other, and reports whether a new key was needed.
func (w *borders) join(a, b rune) bool {
	i, ok1 := dense(a)
	j, ok2 := dense(b)
	if ok1 && ok2 {
		w.dense[i*denseChars+j] = true
		return false
	}
	key := uint64(a)<<32 | uint64(b) + 1
	mask := uint64(len(w.keys) - 1)
	for i := w.place(key); ; i = (i + 1) & mask {
		switch w.keys[i] {
		case key:
			return false
		case 0:
			w.keys[i] = key
			return true
		}
	}
}

func (w *borders) joined(a, b rune) bool {
	i, ok1 := dense(a)
	j, ok2 := dense(b)
	if ok1 && ok2 {
		return w.dense[i*denseChars+j]
	}
	key := uint64(a)<<32 | uint64(b) + 1
	mask := uint64(len(w.keys) - 1)
	for i := w.place(key); ; i = (i + 1) & mask {
		switch w.keys[i] {
		case key:
			return true
		case 0:
			return false
		}
	}
}

// next returns the length of the first word of s, which is not empty.
func (w *borders) next(s string) int {
	var last rune
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if i > 0 && !w.joined(last, r) {
			return i
		}
		last = r
		i += n
	}
	return len(s)
}
