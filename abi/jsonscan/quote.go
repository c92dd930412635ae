package jsonscan

import (
	"errors"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
// Unlike encoding/json it leaves <, > and & as they are.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendEscaped is AppendString without the quotes, for a string that is written in pieces.
func AppendEscaped[T string | []byte](dst []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := decodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				i++
				from = i
				continue
			}
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

func decodeRune[T string | []byte](s T) (rune, int) {
	n := min(len(s), utf8.UTFMax)
	var buf [utf8.UTFMax]byte
	copy(buf[:], s[:n])
	return utf8.DecodeRune(buf[:n])
}

// ErrString is what AppendUnquoted says of bytes that are not a JSON string.
var ErrString = errors.New("not a JSON string")

// AppendUnquoted appends the text of a JSON string given with its quotes. Lone surrogates become
// U+FFFD; raw control characters are let through, as several clients send them.
func AppendUnquoted(dst, s []byte) ([]byte, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return dst, ErrString
	}
	return AppendUnescaped(dst, s[1:len(s)-1])
}

// AppendUnescaped is AppendUnquoted for the inside of a string.
func AppendUnescaped(dst, s []byte) ([]byte, error) {
	for i := 0; i < len(s); {
		j := i + unescaped(s[i:])
		dst = append(dst, s[i:j]...)
		if j == len(s) {
			break
		}
		n, r := Escape(s[j:])
		if n <= 0 {
			return dst, ErrString
		}
		if r >= 0xD800 && r < 0xDC00 {
			if m, lo := Escape(s[j+n:]); m == 6 && lo >= 0xDC00 && lo < 0xE000 {
				r = 0x10000 + (r-0xD800)<<10 + (lo - 0xDC00)
				n += m
			}
		}
		dst = utf8.AppendRune(dst, r)
		i = j + n
	}
	return dst, nil
}

// Escape decodes the one JSON escape at the start of b: its length and code point (a surrogate half is
// returned as it is). Length 0 means that b is too short, -1 that there is no escape.
func Escape(b []byte) (n int, r rune) {
	if len(b) == 0 || b[0] != '\\' {
		return -1, 0
	}
	if len(b) == 1 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return 2, rune(b[1])
	case 'b':
		return 2, '\b'
	case 'f':
		return 2, '\f'
	case 'n':
		return 2, '\n'
	case 'r':
		return 2, '\r'
	case 't':
		return 2, '\t'
	case 'u':
	default:
		return -1, 0
	}
	for i := 2; i < 6; i++ {
		if i >= len(b) {
			return 0, 0
		}
		c := b[i]
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case isHex(c):
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1, 0
		}
	}
	return 6, r
}
