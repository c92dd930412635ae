package jsonscan

import (
	"encoding/binary"
	"errors"
	"math/bits"
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

// AppendUnescaped is AppendUnquoted for the inside of a string. The text is never longer than s, which must
// not share memory with dst: more of dst's capacity may be written than the text takes.
func AppendUnescaped(dst, s []byte) ([]byte, error) {
	if cap(dst)-len(dst) < len(s) {
		dst = append(dst, make([]byte, len(s))...)[:len(dst)]
	}
	dst, n := unescape(dst, s)
	if n != len(s) {
		return dst, ErrString
	}
	return dst, nil
}

// unescape appends the text of s up to the first quote to dst. n is where that quote is, len(s) where there is
// none, and -1 where there is something that is not an escape.
//
// Most texts have an escape every few words, too often for a call to copy what is between two of them. So each
// word goes to dst before it is known how much of it is text, and what comes next is written over the rest.
func unescape(dst, s []byte) (text []byte, n int) {
	at, i := len(dst), 0
	for {
		dst = dst[:cap(dst)]
		for len(s)-i > 8 && len(dst)-at >= 8 {
			w := binary.LittleEndian.Uint64(s[i : i+8])
			binary.LittleEndian.PutUint64(dst[at:at+8], w)
			k := quotes(w)
			if k == 0 {
				i += 8
				at += 8
				continue
			}
			plain := bits.TrailingZeros64(k) / 8
			i += plain
			at += plain
			c := short[s[i+1]]
			if s[i] != '\\' || c == 0 {
				break
			}
			dst[at] = c
			i += 2
			at++
		}
		// The end of s, the end of dst, a quote, or an escape of more than two bytes.
		j := i + unescaped(s[i:])
		dst = append(dst[:at], s[i:j]...)
		if j == len(s) || s[j] == '"' {
			return dst, j
		}
		size := 0
		if dst, size = appendEscape(dst, s[j:]); size <= 0 {
			return dst, -1
		}
		at, i = len(dst), j+size
	}
}

// appendEscape appends the code point of the escape that s begins with, which may be two halves of a surrogate
// pair. Its length is that of Escape where there is none.
func appendEscape(dst, s []byte) (text []byte, n int) {
	n, r := Escape(s)
	if n <= 0 {
		return dst, n
	}
	if r >= 0xD800 && r < 0xDC00 {
		if m, lo := Escape(s[n:]); m == 6 && lo >= 0xDC00 && lo < 0xE000 {
			r = 0x10000 + (r-0xD800)<<10 + (lo - 0xDC00)
			n += m
		}
	}
	return utf8.AppendRune(dst, r), n
}

// short gives for the letter of an escape of two bytes what it stands for, and 0 for all others.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Escape decodes the one JSON escape at the start of b: its length and code point (a surrogate half is
// returned as it is). Length 0 means that b is too short, -1 that there is no escape.
func Escape(b []byte) (n int, r rune) {
	if len(b) == 0 || b[0] != '\\' {
		return -1, 0
	}
	if len(b) == 1 {
		return 0, 0
	}
	if c := short[b[1]]; c != 0 {
		return 2, rune(c)
	}
	if b[1] != 'u' {
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
