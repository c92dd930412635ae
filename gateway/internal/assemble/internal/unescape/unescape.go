// Package unescape undoes the escapes of text that arrives in pieces.
package unescape

import (
	"bytes"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
)

// maxHeld is the longest escape: a surrogate pair in JSON, and the longest XML reference taken for one.
const maxHeld = 12

// Nothing is the code point of an escape that stands for no character (a joined line).
const Nothing rune = -1

// Decoder undoes one kind of escape. It holds at most an unfinished escape between pieces, so any cut
// of the input gives the same output. What is not an escape stays as it was written. The zero value
// decodes record.EscNone; it is used by one goroutine.
type Decoder struct {
	esc  record.Flags
	n    uint8
	held [maxHeld]byte
}

// Reset begins a new text with the given escape.
func (d *Decoder) Reset(esc record.Flags) { d.esc, d.n = esc&record.EscMask, 0 }

// Plain reports that the next piece, if it has no escape, is its own text.
func (d *Decoder) Plain() bool { return d.esc == record.EscNone }

// Append decodes b and appends what is decided to dst.
func (d *Decoder) Append(dst, b []byte) []byte {
	if d.esc == record.EscNone {
		return append(dst, b...)
	}
	for len(b) > 0 {
		if d.n > 0 {
			held := int(d.n)
			p := d.held[:held+copy(d.held[held:], b)]
			out, used := d.one(dst, p, false)
			switch {
			case used == 0:
				d.n = uint8(len(p))
				return dst
			case used >= held:
				d.n, b = 0, b[used-held:]
			default:
				d.n = uint8(copy(d.held[:], d.held[used:held]))
			}
			dst = out
			continue
		}
		i := bytes.IndexByte(b, d.starter())
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i:]
		out, used := d.one(dst, b, false)
		if used == 0 {
			d.n = uint8(copy(d.held[:], b))
			return dst
		}
		dst, b = out, b[used:]
	}
	return dst
}

// Held are the last bytes that were given and are not decided, valid until the next call.
func (d *Decoder) Held() []byte { return d.held[:d.n] }

// Flush appends what is held: the text is over.
func (d *Decoder) Flush(dst []byte) []byte {
	p := d.held[:d.n]
	for len(p) > 0 {
		used := 0
		dst, used = d.one(dst, p, true)
		p = p[used:]
	}
	d.n = 0
	return dst
}

// Whole decodes a text that is there whole.
func Whole(dst, b []byte, esc record.Flags) []byte {
	var d Decoder
	d.Reset(esc)
	return d.Flush(d.Append(dst, b))
}

func (d *Decoder) starter() byte {
	if d.esc == record.EscXML {
		return '&'
	}
	return '\\'
}

// one decodes what stands at the start of p, an escape or a byte. used 0 means that more bytes must be
// seen; it does not happen when p is final or holds maxHeld bytes.
func (d *Decoder) one(dst, p []byte, final bool) (out []byte, used int) {
	if p[0] != d.starter() {
		return append(dst, p[0]), 1
	}
	var r rune
	switch d.esc {
	case record.EscJSON:
		used, r = JSON(p)
	case record.EscPython:
		used, r = Python(p)
	default:
		used, r = xml(p)
	}
	switch {
	case used == 0 && !final:
		return dst, 0
	case used == 0 && d.esc == record.EscJSON && len(p) >= 6:
		return utf8.AppendRune(dst, utf8.RuneError), 6 // half of a pair, cut
	case used == 0 && d.esc == record.EscPython && octal(p) > 0:
		return utf8.AppendRune(dst, octalValue(p[1:])), len(p)
	case used <= 0:
		return append(dst, p[0]), 1
	case r == Nothing:
		return dst, used
	}
	return utf8.AppendRune(dst, r), used
}

// JSON decodes the JSON escape at the start of p, joining surrogate pairs: its length and code point. A
// lone half gives U+FFFD. Length 0 means that p is too short to tell, -1 that there is no escape.
func JSON(p []byte) (int, rune) {
	n, r := jsonscan.Escape(p)
	if n <= 0 || r < 0xD800 || r >= 0xE000 {
		return n, r
	}
	if r >= 0xDC00 {
		return n, utf8.RuneError
	}
	rest := p[n:]
	switch {
	case len(rest) == 0:
		return 0, 0
	case rest[0] != '\\' || len(rest) > 1 && rest[1] != 'u':
		return n, utf8.RuneError
	}
	m, low := jsonscan.Escape(rest)
	switch {
	case m == 0:
		return 0, 0
	case m == 6 && low >= 0xDC00 && low < 0xE000:
		return n + m, 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
	}
	return n, utf8.RuneError
}

// Python decodes the escape of a Python string literal at the start of p; results are those of JSON, and
// Nothing for a joined line. Named characters are left as they are written.
func Python(p []byte) (int, rune) {
	if len(p) == 1 {
		return 0, 0
	}
	switch c := p[1]; c {
	case '\n':
		return 2, Nothing
	case '\\', '\'', '"':
		return 2, rune(c)
	case 'a':
		return 2, '\a'
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
	case 'v':
		return 2, '\v'
	case 'x':
		return hex(p, 2)
	case 'u':
		return JSON(p)
	case 'U':
		n, r := hex(p, 8)
		if n > 0 && !utf8.ValidRune(r) {
			r = utf8.RuneError
		}
		return n, r
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := octal(p)
		if n == len(p) && n < 4 {
			return 0, 0
		}
		return n, octalValue(p[1:n])
	}
	return -1, 0
}

// octal is the length of the octal escape at the start of p, 0 if there is none.
func octal(p []byte) int {
	n := 1
	for n < len(p) && n < 4 && p[n]-'0' < 8 {
		n++
	}
	if n == 1 {
		return 0
	}
	return n
}

func octalValue(digits []byte) (r rune) {
	for _, c := range digits {
		r = r<<3 | rune(c-'0')
	}
	return r
}

// hex decodes digits hexadecimal digits after a backslash and a letter.
func hex(p []byte, digits int) (int, rune) {
	r := rune(0)
	for i := 2; i < 2+digits; i++ {
		if i >= len(p) {
			return 0, 0
		}
		v, ok := digit(p[i])
		if !ok {
			return -1, 0
		}
		r = r<<4 | rune(v)
	}
	return 2 + digits, r
}

func digit(c byte) (byte, bool) {
	switch {
	case c-'0' < 10:
		return c - '0', true
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// xml decodes the predefined or numeric reference at the start of p.
func xml(p []byte) (int, rune) {
	end := 1
	for end < len(p) && end < maxHeld && (p[end] == '#' || p[end]-'0' < 10 || p[end]|0x20-'a' < 26) {
		end++
	}
	switch {
	case end == maxHeld:
		return -1, 0
	case end == len(p):
		return 0, 0
	case p[end] != ';':
		return -1, 0
	}
	switch name := string(p[1:end]); name {
	case "amp":
		return end + 1, '&'
	case "lt":
		return end + 1, '<'
	case "gt":
		return end + 1, '>'
	case "quot":
		return end + 1, '"'
	case "apos":
		return end + 1, '\''
	}
	if r, ok := numeric(p[1:end]); ok {
		return end + 1, r
	}
	return -1, 0
}

// numeric decodes #65 or #x41.
func numeric(s []byte) (rune, bool) {
	if len(s) < 2 || s[0] != '#' {
		return 0, false
	}
	base, s := rune(10), s[1:]
	if s[0]|0x20 == 'x' {
		base, s = 16, s[1:]
	}
	r := rune(0)
	for _, c := range s {
		v, ok := digit(c)
		if !ok || rune(v) >= base || r > utf8.MaxRune {
			return 0, false
		}
		r = r*base + rune(v)
	}
	return r, len(s) > 0 && r > 0 && utf8.ValidRune(r)
}
