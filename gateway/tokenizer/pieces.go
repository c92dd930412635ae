package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// class is what a character is to the cutting of text into pieces.
type class uint8

const (
	other  class = iota // punctuation, symbols, marks, control characters, bytes that are not UTF-8
	letter              // Unicode L
	number              // Unicode N
	line                // CR and LF
	space               // other white space
)

// ascii is the class of each ASCII byte.
var ascii = [utf8.RuneSelf]class{
	'\t': space, '\v': space, '\f': space, ' ': space, '\n': line, '\r': line,
	'0': number, '1': number, '2': number, '3': number, '4': number,
	'5': number, '6': number, '7': number, '8': number, '9': number,
	'A': letter, 'B': letter, 'C': letter, 'D': letter, 'E': letter, 'F': letter, 'G': letter, 'H': letter, 'I': letter,
	'J': letter, 'K': letter, 'L': letter, 'M': letter, 'N': letter, 'O': letter, 'P': letter, 'Q': letter, 'R': letter,
	'S': letter, 'T': letter, 'U': letter, 'V': letter, 'W': letter, 'X': letter, 'Y': letter, 'Z': letter,
	'a': letter, 'b': letter, 'c': letter, 'd': letter, 'e': letter, 'f': letter, 'g': letter, 'h': letter, 'i': letter,
	'j': letter, 'k': letter, 'l': letter, 'm': letter, 'n': letter, 'o': letter, 'p': letter, 'q': letter, 'r': letter,
	's': letter, 't': letter, 'u': letter, 'v': letter, 'w': letter, 'x': letter, 'y': letter, 'z': letter,
}

// classAt tells the class and the length of the character at the start of s, which is not empty.
func classAt(s string) (class, int) {
	if s[0] < utf8.RuneSelf {
		return ascii[s[0]], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case n == 1:
		return other, 1
	case unicode.IsLetter(r):
		return letter, n
	case unicode.IsNumber(r):
		return number, n
	case unicode.IsSpace(r):
		return space, n
	}
	return other, n
}

// run returns where the run of class c from i on ends, at the latest with the character that
// reaches MaxPiece bytes.
func run(s string, i int, c class) int {
	for i < len(s) && i < MaxPiece {
		k, n := classAt(s[i:])
		if k != c {
			break
		}
		i += n
	}
	return i
}

// pieceLen is the length of the first piece of s, which is not empty. A piece is the first of these
// that fits: an English contraction; letters with at most one character before them that is neither a
// letter, a number nor a line end; up to three numbers; punctuation with at most one blank before and
// all line ends after it; white space up to its last line end; white space without the one character
// that belongs to what follows. These are the rules of the widely used 100K vocabularies, with numbers
// in groups of three.
func pieceLen(s string) int {
	c, n := classAt(s)
	switch c {
	case letter:
		return run(s, n, letter)
	case number:
		for i := 1; i < 3 && n < len(s); i++ {
			k, m := classAt(s[n:])
			if k != number {
				break
			}
			n += m
		}
		return n
	case line:
		return blanks(s)
	}
	if s[0] == '\'' {
		if n := contraction(s); n > 0 {
			return n
		}
	}
	next, m := other, 0
	if n < len(s) {
		next, m = classAt(s[n:])
	}
	switch {
	case next == letter && m > 0:
		return run(s, n+m, letter)
	case c == other:
		return run(s, run(s, n, other), line)
	case s[0] == ' ' && next == other && m > 0:
		return run(s, run(s, n+m, other), line)
	}
	return blanks(s)
}

// contraction is the length of 's 't 'd 'm 'll 're 've at the start of s, in either case, or 0.
func contraction(s string) int {
	if len(s) < 2 {
		return 0
	}
	a := s[1] | 0x20
	switch a {
	case 's', 't', 'd', 'm':
		return 2
	}
	if len(s) < 3 {
		return 0
	}
	b := s[2] | 0x20
	if a == 'l' && b == 'l' || (a == 'r' || a == 'v') && b == 'e' {
		return 3
	}
	return 0
}

// blanks is the length of the piece of white space at the start of s.
func blanks(s string) int {
	end, lastLine, last := 0, 0, 0
	for end < len(s) && end < MaxPiece {
		c, n := classAt(s[end:])
		if c != line && c != space {
			break
		}
		if c == line {
			lastLine = end + n
		}
		last = end
		end += n
	}
	switch {
	case lastLine > 0:
		return lastLine
	case end == len(s) || end >= MaxPiece || last == 0:
		return end
	}
	return last
}
