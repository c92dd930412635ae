package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// recase changes the case of a string: upper, lower, title, capitalize, swapcase or casefold. Characters
// keep their origins.
func (st *state) recase(how string, v Value) (Value, error) {
	v = v.flat()
	if err := st.tick(len(v.s) / 16); err != nil {
		return v, err
	}
	if out, ok := recaseASCII(how, v); ok {
		return out, st.grow(len(v.s))
	}
	b := st.builder()
	word, first, at := false, true, 0
	v.origins(func(s string, org uint64) {
		for _, r := range s {
			up := false
			switch how {
			case "upper":
				up = true
			case "title":
				up = !word
			case "capitalize":
				up = first
			case "swapcase":
				up = unicode.IsLower(r)
			}
			switch {
			case up && how != "upper" && how != "swapcase":
				b.special(r, titleSpecial, unicode.ToTitle(r), org)
			case up:
				b.special(r, upperSpecial, unicode.ToUpper(r), org)
			case how == "swapcase" && !unicode.IsUpper(r):
				b.rune(r, org)
			case how == "casefold" && r == 'ß':
				b.add("ss", org)
			default:
				b.lower(r, v.s, at, org)
			}
			word, first = isCased(r), false
			at += utf8.RuneLen(r)
		}
	})
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

// recaseASCII is recase of ASCII text of one origin.
func recaseASCII(how string, v Value) (Value, bool) {
	if v.p != nil {
		return v, false
	}
	for i := range len(v.s) {
		if v.s[i] >= utf8.RuneSelf {
			return v, false
		}
	}
	switch how {
	case "upper":
		v.s = strings.ToUpper(v.s)
	case "lower", "casefold":
		v.s = strings.ToLower(v.s)
	default:
		return v, false
	}
	return v, true
}

func (b *builder) special(r rune, table map[rune]string, simple rune, org uint64) {
	if s, ok := table[r]; ok {
		b.add(s, org)
		return
	}
	b.rune(simple, org)
}

// lower writes the lower case of the character of s at a byte.
func (b *builder) lower(r rune, s string, at int, org uint64) {
	switch {
	case r == 0x130:
		b.add("i\u0307", org)
	case r == 0x3a3 && finalSigma(s, at):
		b.rune(0x3c2, org)
	default:
		b.rune(unicode.ToLower(r), org)
	}
}

// finalSigma reports whether the capital sigma at a byte of s ends a word.
func finalSigma(s string, at int) bool {
	before := strings.TrimRightFunc(s[:at], isCaseIgnorable)
	r, _ := utf8.DecodeLastRuneInString(before)
	if before == "" || !isCased(r) {
		return false
	}
	after := strings.TrimLeftFunc(s[at+2:], isCaseIgnorable)
	r, _ = utf8.DecodeRuneInString(after)
	return after == "" || !isCased(r)
}

func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) || unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func isCaseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune(".:'\u00b7\u2018\u2019\u2024\u2027", r)
}

func upperOf(r rune) rune { return unicode.ToUpper(r) }
