package split

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// flags says of a character what the known patterns ask.
type flags uint8

const (
	fLetter flags = 1 << iota // L
	fNumber                   // N
	fSpace                    // \s
	fLine                     // CR, LF
	fUpper                    // Lu, Lt, Lm, Lo, M
	fLower                    // Ll, Lm, Lo, M
	fMark                     // M
	fSign                     // P, S
)

// upper, lower, digit, sign and blank are the flags of ASCII.
const (
	up = fLetter | fUpper
	lo = fLetter | fLower
	no = fNumber
	si = fSign
	sp = fSpace
	nl = fSpace | fLine
)

var asciiFlags = [utf8.RuneSelf]flags{
	'\t': sp, '\n': nl, '\v': sp, '\f': sp, '\r': nl, ' ': sp,
	'!': si, '"': si, '#': si, '$': si, '%': si, '&': si, '\'': si, '(': si, ')': si, '*': si, '+': si, ',': si, '-': si, '.': si, '/': si,
	'0': no, '1': no, '2': no, '3': no, '4': no, '5': no, '6': no, '7': no, '8': no, '9': no,
	':': si, ';': si, '<': si, '=': si, '>': si, '?': si, '@': si,
	'A': up, 'B': up, 'C': up, 'D': up, 'E': up, 'F': up, 'G': up, 'H': up, 'I': up, 'J': up, 'K': up, 'L': up, 'M': up,
	'N': up, 'O': up, 'P': up, 'Q': up, 'R': up, 'S': up, 'T': up, 'U': up, 'V': up, 'W': up, 'X': up, 'Y': up, 'Z': up,
	'[': si, '\\': si, ']': si, '^': si, '_': si, '`': si,
	'a': lo, 'b': lo, 'c': lo, 'd': lo, 'e': lo, 'f': lo, 'g': lo, 'h': lo, 'i': lo, 'j': lo, 'k': lo, 'l': lo, 'm': lo,
	'n': lo, 'o': lo, 'p': lo, 'q': lo, 'r': lo, 's': lo, 't': lo, 'u': lo, 'v': lo, 'w': lo, 'x': lo, 'y': lo, 'z': lo,
	'{': si, '|': si, '}': si, '~': si,
}

var categoryFlags = [32]flags{
	ucd.Lu: up, ucd.Ll: lo, ucd.Lt: up, ucd.Lm: up | lo, ucd.Lo: up | lo,
	ucd.Mn: fMark | fUpper | fLower, ucd.Mc: fMark | fUpper | fLower, ucd.Me: fMark | fUpper | fLower,
	ucd.Nd: no, ucd.Nl: no, ucd.No: no,
	ucd.Pc: si, ucd.Pd: si, ucd.Ps: si, ucd.Pe: si, ucd.Pi: si, ucd.Pf: si, ucd.Po: si,
	ucd.Sm: si, ucd.Sc: si, ucd.Sk: si, ucd.So: si,
}

// at returns the flags and the length of the character at i; length 0 is the end of s.
func at(s string, i int) (flags, int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return asciiFlags[c], 1
	}
	return wide(s[i:])
}

func wide(s string) (flags, int) {
	r, n := utf8.DecodeRuneInString(s)
	c := ucd.ClassOf(r)
	f := categoryFlags[c.Category()]
	if c.Space() {
		f |= fSpace
	}
	return f, n
}

// letters is the number of ASCII letters that the eight bytes of x begin with, the lowest first.
func letters(x uint64) int {
	const ones = 0x0101010101010101
	y := (x | 0x20*ones) & (0x7f * ones)
	from, past := y+(0x80-'a')*ones, y+(0x7f-'z')*ones // a high bit says: at least a, more than z
	return bits.TrailingZeros64(^(from&^past&^x)&(0x80*ones)) / 8
}

// runOf returns where the characters with any flag of want, from i on, end.
func runOf(s string, i int, want flags) int {
	for want&fLetter != 0 && i+8 <= len(s) { // words are letters, eight at a time
		n := letters(binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[i:]))
		if i += n; n < 8 {
			break
		}
	}
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if asciiFlags[c]&want == 0 {
				return i
			}
			i++
			continue
		}
		f, n := wide(s[i:])
		if f&want == 0 {
			return i
		}
		i += n
	}
	return i
}

// runNot returns where the characters with no flag of stop, from i on, end.
func runNot(s string, i int, stop flags) int {
	for i < len(s) {
		f, n := at(s, i)
		if f&stop != 0 {
			return i
		}
		i += n
	}
	return i
}

// numbers returns the end of at most limit numbers.
func numbers(s string, i, limit int) int {
	for ; limit > 0; limit-- {
		f, n := at(s, i)
		if f&fNumber == 0 {
			return i
		}
		i += n
	}
	return i
}

// lineEnds returns the end of the CR, LF and extra (0: none) from i on.
func lineEnds(s string, i int, extra byte) int {
	for i < len(s) && (s[i] == '\n' || s[i] == '\r' || extra != 0 && s[i] == extra) {
		i++
	}
	return i
}

// blanks is \s*[\r\n]+|\s+(?!\S)|\s+ at i, where white space stands. limit is where the text ends for
// the condition.
func blanks(s string, i, limit int) int {
	end, line, last := i, -1, i
	for end < limit {
		f, n := at(s, end)
		if f&fSpace == 0 {
			break
		}
		last = end
		if end += n; f&fLine != 0 {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end == limit || last == i:
		return end
	}
	return last
}

// contraction returns the end of (?i:'s|'t|'re|'ve|'m|'ll|'d) at i, or i.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'l':
		if i+2 < len(s) && s[i+2]|0x20 == 'l' {
			return i + 3
		}
	case 'r', 'v':
		if i+2 < len(s) && s[i+2]|0x20 == 'e' {
			return i + 3
		}
	}
	if strings.HasPrefix(s[i+1:], "ſ") { // the long s is an s without regard to case
		return i + 1 + len("ſ")
	}
	return i
}
