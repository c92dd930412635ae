package ucd

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// Form is a Unicode normalization form.
type Form uint8

// The normalization forms.
const (
	NFC Form = iota
	NFD
	NFKC
	NFKD
)

var formNames = [...]string{NFC: "NFC", NFD: "NFD", NFKC: "NFKC", NFKD: "NFKD"}

func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

//go:embed norm.bin
var normData []byte

// The composition of Hangul syllables is arithmetic.
const (
	hangulS, hangulL, hangulV, hangulT = 0xAC00, 0x1100, 0x1161, 0x11A7
	countL, countV, countT             = 19, 21, 28
	countS                             = countL * countV * countT
)

// Normalizer brings text to one form. It does not change and is safe for concurrent use.
type Normalizer struct {
	form      Form
	inert     []uint64 // bitmap of characters that the form keeps wherever they stand
	decompose map[rune][]rune
	combining map[rune]uint8
	compose   map[[2]rune]rune // nil for the decomposed forms
}

// normReader reads the varints of norm.bin.
type normReader struct{ rest []byte }

func (r *normReader) next() int {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[max(n, 0):]
	return int(v)
}

// NewNormalizer builds the tables of a form, some hundred KB.
func NewNormalizer(form Form) *Normalizer {
	n := &Normalizer{form: form, inert: make([]uint64, (MaxRune+1)/64), decompose: make(map[rune][]rune), combining: make(map[rune]uint8)}
	for i := range n.inert {
		n.inert[i] = ^uint64(0)
	}
	r := normReader{rest: normData}
	for range r.next() {
		c, class := rune(r.next()), uint8(r.next())
		n.combining[c] = class
		n.stir(c)
	}
	for _, apply := range []bool{true, form == NFKC || form == NFKD} {
		for range r.next() {
			c := rune(r.next())
			parts := make([]rune, r.next())
			for i := range parts {
				parts[i] = rune(r.next())
			}
			if apply {
				n.decompose[c] = parts
			}
		}
	}
	if form == NFC || form == NFKC {
		n.addCompositions(&r)
	}
	n.findInert()
	return n
}

func (n *Normalizer) addCompositions(r *normReader) {
	n.compose = make(map[[2]rune]rune)
	for range r.next() {
		a, b, c := rune(r.next()), rune(r.next()), rune(r.next())
		n.compose[[2]rune{a, b}] = c
		n.stir(b)
	}
	for c := rune(hangulV); c < hangulV+countV; c++ {
		n.stir(c)
	}
	for c := rune(hangulT + 1); c < hangulT+countT; c++ {
		n.stir(c)
	}
}

// findInert takes the characters that do not stay as they are out of the inert ones.
func (n *Normalizer) findInert() {
	for c, parts := range n.decompose {
		if n.compose == nil || !slices.Equal(n.recompose(slices.Clone(parts)), []rune{c}) {
			n.stir(c)
		}
	}
	if n.compose == nil {
		for c := rune(hangulS); c < hangulS+countS; c++ {
			n.stir(c)
		}
	}
}

func (n *Normalizer) stir(c rune) { n.inert[c>>6] &^= 1 << (c & 63) }

// Form returns the form that n was made for.
func (n *Normalizer) Form() Form { return n.form }

// Normal reports whether s is certainly in n's form already; false may be a false alarm.
func (n *Normalizer) Normal(s string) bool {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i += ascii(s[i:])
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if n.inert[r>>6]>>(r&63)&1 == 0 {
			return false
		}
		i += size
	}
	return true
}

// ascii is how many ASCII characters s, which begins with one, begins with, or some of them.
func ascii(s string) int {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if high := binary.LittleEndian.Uint64(b[n:]) & 0x8080808080808080; high != 0 {
			return n + bits.TrailingZeros64(high)/8
		}
	}
	return max(n, 1)
}

// Append appends s in n's form to dst. s is valid UTF-8.
func (n *Normalizer) Append(dst []byte, s string) []byte {
	if n.Normal(s) {
		return append(dst, s...)
	}
	out := make([]rune, 0, len(s))
	for _, r := range s {
		out = n.appendDecomposed(out, r)
	}
	n.order(out)
	if n.compose != nil {
		out = n.recompose(out)
	}
	for _, r := range out {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func (n *Normalizer) appendDecomposed(out []rune, r rune) []rune {
	if r >= hangulS && r < hangulS+countS {
		i := r - hangulS
		out = append(out, hangulL+i/(countV*countT), hangulV+i%(countV*countT)/countT)
		if t := i % countT; t > 0 {
			out = append(out, hangulT+t)
		}
		return out
	}
	if parts, ok := n.decompose[r]; ok {
		return append(out, parts...)
	}
	return append(out, r)
}

// order sorts each run of combining characters by class, keeping the order within a class.
func (n *Normalizer) order(out []rune) {
	for i := 0; i < len(out); {
		if out[i] < utf8.RuneSelf || n.combining[out[i]] == 0 {
			i++
			continue
		}
		end := i + 1
		for end < len(out) && n.combining[out[end]] != 0 {
			end++
		}
		if end > i+1 {
			slices.SortStableFunc(out[i:end], func(a, b rune) int { return int(n.combining[a]) - int(n.combining[b]) })
		}
		i = end
	}
}

// recompose joins what composes, in place: a character with the last starter before it, unless one of
// the same or a higher class stands between.
func (n *Normalizer) recompose(in []rune) []rune {
	out, starter, last := in[:0], -1, uint8(0)
	for _, r := range in {
		class := uint8(0)
		if r >= utf8.RuneSelf {
			class = n.combining[r]
		}
		if starter >= 0 && (len(out) == starter+1 || last < class && last != 0) {
			if c, ok := n.pair(out[starter], r); ok {
				out[starter] = c
				continue
			}
		}
		out = append(out, r)
		if last = class; class == 0 {
			starter = len(out) - 1
		}
	}
	return out
}

func (n *Normalizer) pair(a, b rune) (rune, bool) {
	if a >= hangulL && a < hangulL+countL && b >= hangulV && b < hangulV+countV {
		return hangulS + ((a-hangulL)*countV+b-hangulV)*countT, true
	}
	if a >= hangulS && a < hangulS+countS && (a-hangulS)%countT == 0 && b > hangulT && b < hangulT+countT {
		return a + b - hangulT, true
	}
	c, ok := n.compose[[2]rune{a, b}]
	return c, ok
}
