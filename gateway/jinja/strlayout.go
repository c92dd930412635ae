package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// justify is center, ljust and rjust.
func (st *state) justify(name string, v Value, a *args) (Value, error) {
	p, err := a.bind(name, "width", "fillchar")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		return v, fail(TypeError, "%s expected at least 1 argument, got 0", name)
	}
	width, err := intArg(p[0], name, 0)
	if err != nil {
		return v, err
	}
	fill := text(" ")
	if p[1].k != kMissing {
		if fill, err = stringArg(p[1], name); err != nil || utf8.RuneCountInString(fill.s) != 1 {
			return v, fail(TypeError, "The fill character must be exactly one character long")
		}
	}
	v = v.flat()
	n := int64(utf8.RuneCountInString(v.s))
	pad := max(0, width-n)
	left := int64(0)
	switch name {
	case "rjust":
		left = pad
	case "center":
		left = pad/2 + pad&width&1
	}
	return st.padded(v, fill, left, pad-left)
}

func (st *state) padded(v, fill Value, left, right int64) (Value, error) {
	if left+right > int64(st.limits.String) {
		return v, tooMuch("string", st.limits.String)
	}
	b := st.builder()
	for range left {
		b.text(fill)
	}
	b.text(v)
	for range right {
		b.text(fill)
	}
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

func strZfill(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("zfill", "width")
	if err != nil {
		return v, err
	}
	width, err := intArg(p[0], "zfill", 0)
	if err != nil {
		return v, err
	}
	v = v.flat()
	sign := 0
	if v.s != "" && (v.s[0] == '-' || v.s[0] == '+') {
		sign = 1
	}
	out, err := st.padded(v.sub(sign, len(v.s)), text("0"), max(0, width-int64(utf8.RuneCountInString(v.s))), 0)
	if err != nil || sign == 0 {
		return out, err
	}
	return st.add(v.sub(0, 1), out)
}

func strExpandtabs(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("expandtabs", "tabsize")
	if err != nil {
		return v, err
	}
	size, err := intArg(p[0], "expandtabs", 8)
	if err != nil {
		return v, err
	}
	size = min(size, int64(st.limits.String)+1)
	b := st.builder()
	col := int64(0)
	v.flat().origins(func(s string, org uint64) {
		for _, r := range s {
			switch r {
			case '\t':
				if size > 0 {
					n := size - col%size
					if b.room(int(n)) {
						b.add(strings.Repeat(" ", int(n)), org)
					}
					col += n
				}
			case '\n', '\r':
				col = 0
				b.rune(r, org)
			default:
				col++
				b.rune(r, org)
			}
		}
	})
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

// isKind is one of the methods that ask what all characters of s are.
func isKind(name, s string) bool {
	all := func(f func(r rune) bool) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !f(r) }) < 0
	}
	switch name {
	case "isalnum":
		return all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isalpha":
		return all(unicode.IsLetter)
	case "isascii":
		return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	case "isdecimal", "isdigit":
		return all(func(r rune) bool { return unicode.IsDigit(r) || name == "isdigit" && isSuperscript(r) })
	case "isnumeric":
		return all(unicode.IsNumber)
	case "isspace":
		return all(isSpace)
	case "isprintable":
		return s == "" || all(unicode.IsPrint)
	case "isidentifier":
		r, _ := utf8.DecodeRuneInString(s)
		return (unicode.IsLetter(r) || r == '_') && nameLen(s) == len(s)
	case "istitle":
		return isTitle(s)
	}
	upper, lower := strings.ContainsFunc(s, unicode.IsUpper), strings.ContainsFunc(s, unicode.IsLower)
	if strings.ContainsFunc(s, unicode.IsTitle) {
		return false
	}
	if name == "isupper" {
		return upper && !lower
	}
	return lower && !upper
}

func isSuperscript(r rune) bool {
	return r == 0xb2 || r == 0xb3 || r == 0xb9 || r == 0x2070 || r >= 0x2074 && r <= 0x2079 || r >= 0x2080 && r <= 0x2089
}

func isTitle(s string) bool {
	some, inWord := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			some, inWord = true, true
		case unicode.IsLower(r):
			if !inWord {
				return false
			}
			some = true
		default:
			inWord = false
		}
	}
	return some
}
