package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// operators of two bytes; the others have one.
var longOps = [...]string{"//", "**", "==", "!=", ">=", "<="}

// operator is the length of the operator at the start of s, 0 if there is none.
func operator(s string) int {
	for _, o := range longOps {
		if strings.HasPrefix(s, o) {
			return 2
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", s[0]) >= 0 {
		return 1
	}
	return 0
}

// nameLen is the length of the word at the start of s.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return i
		}
	}
	return len(s)
}

// digits is the length of digits at the start of s with single underscores between them.
func digits(s string) int {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '_' && i > 0 && s[i-1] != '_' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9') {
		i++
	}
	return i
}

// exponent is the length of an exponent at the start of s.
func exponent(s string) int {
	if s == "" || s[0]|0x20 != 'e' {
		return 0
	}
	i := 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	if n := digits(s[i:]); n > 0 {
		return i + n
	}
	return 0
}

// number is the length of the number at the start of s. Directly behind a dot there are no floats.
func number(s string, dotted bool) (n int, float bool) {
	n = digits(s)
	if !dotted {
		end := n
		if end < len(s) && s[end] == '.' {
			if d := digits(s[end+1:]); d > 0 {
				end += 1 + d
			}
		}
		end += exponent(s[end:])
		if end > n {
			return end, true
		}
	}
	if s[0] != '0' || len(s) < 2 {
		return n, false
	}
	set := ""
	switch s[1] | 0x20 {
	case 'b':
		set = "01"
	case 'o':
		set = "01234567"
	case 'x':
		set = "0123456789abcdefABCDEF"
	default:
		return len(s[:n]) - len(strings.TrimLeft(s[:n], "0_")), false
	}
	end := 2
	for end < len(s) && (strings.IndexByte(set, s[end]) >= 0 || s[end] == '_' && end+1 < len(s) && strings.IndexByte(set, s[end+1]) >= 0) {
		end++
	}
	if end == 2 {
		return 1, false
	}
	return end, false
}

// closing is where the string that opens s is closed, -1 if it is not.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i
		}
	}
	return -1
}

// unescape is the value of a string literal, with Python's escapes.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		n, err := escapeAt(&b, s[i:])
		if err != nil {
			return "", err
		}
		s = s[i+n:]
	}
}

var simpleEscapes = [...]struct{ c, is byte }{
	{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'\'', '\''}, {'"', '"'}, {'a', 7}, {'b', 8}, {'f', 12}, {'v', 11},
}

// escapeAt writes what the escape at the start of s stands for and returns its length.
func escapeAt(b *strings.Builder, s string) (int, error) {
	if len(s) < 2 {
		return 0, fail(SyntaxError, "\\ at end of string")
	}
	c := s[1]
	for _, e := range simpleEscapes {
		if c == e.c {
			b.WriteByte(e.is)
			return 2, nil
		}
	}
	switch {
	case c == '\n':
		return 2, nil
	case c >= '0' && c <= '7':
		n := 2
		for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		r, err := strconv.ParseUint(s[1:n], 8, 32)
		b.WriteRune(rune(r))
		return n, err
	case c == 'x' || c == 'u' || c == 'U':
		return codePoint(b, s)
	case c == 'N':
		return 0, fail(SyntaxError, "characters cannot be named in a string")
	}
	// An unknown escape stands for itself.
	_, n := utf8.DecodeRuneInString(s[1:])
	b.WriteString(s[:1+n])
	return 1 + n, nil
}

// codePoint writes the character that a \x, \u or \U escape at the start of s names, and returns its length.
func codePoint(b *strings.Builder, s string) (int, error) {
	n := 4
	switch s[1] {
	case 'u':
		n = 6
	case 'U':
		n = 10
	}
	if len(s) < n {
		return 0, fail(SyntaxError, "truncated \\%c escape", s[1])
	}
	r, err := strconv.ParseUint(s[2:n], 16, 32)
	if err != nil || r > unicode.MaxRune {
		return 0, fail(SyntaxError, "truncated \\%c escape", s[1])
	}
	if r >= 0xd800 && r < 0xdc00 && len(s) >= 12 && s[6:8] == `\u` {
		if lo, err := strconv.ParseUint(s[8:12], 16, 32); err == nil && lo >= 0xdc00 && lo < 0xe000 {
			b.WriteRune(0x10000 + rune(r-0xd800)<<10 + rune(lo-0xdc00))
			return 12, nil
		}
	}
	b.WriteRune(rune(r))
	return n, nil
}
