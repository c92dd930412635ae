package main

import (
	"strconv"
	"strings"
	"unicode"
)

// addSpelled adds what the repository's own text is too narrow to teach: everyday words and their
// forms, numbers, runs of white space, and the letters of other scripts. Counts are small, so that real
// text comes first.
func addSpelled(base *pieces, counts map[string]int) {
	add := func(text string, n int) {
		for piece := range base.of(text) {
			counts[piece] += n
		}
	}
	word := func(w string, n int) {
		add(" "+w, 4*n)
		add(w, 2*n)
		add(title(w), n)
		add(" "+title(w), n)
	}
	for w := range strings.FieldsSeq(plainWords) {
		word(w, 6)
	}
	for w := range strings.FieldsSeq(nouns) {
		word(w, 5)
		word(plural(w), 2)
	}
	for w := range strings.FieldsSeq(verbs) {
		word(w, 5)
		for _, form := range []string{plural(w), suffixed(w, "ed"), suffixed(w, "ing"), suffixed(w, "er")} {
			word(form, 2)
		}
	}
	for w := range strings.FieldsSeq(qualities) {
		word(w, 5)
		word(adverb(w), 2)
	}
	for w := range strings.FieldsSeq(codeWords) {
		add(w, 12)
		add(" "+w, 6)
	}
	for i := range 1000 {
		if s := strconv.Itoa(i); i >= 100 {
			add(s, 3)
		} else {
			add(s, 40)
			add(strings.Repeat("0", 3-len(s))+s, 3)
		}
	}
	addRuns(add)
	addScripts(add)
}

// addRuns adds white space and rulers of many lengths; code and tables are full of them.
func addRuns(add func(string, int)) {
	for n := 1; n <= 64; n++ {
		add(strings.Repeat(" ", n)+"x", 400/n+4)
		add("\n"+strings.Repeat(" ", n)+"x", 400/n+4)
		if n <= 12 {
			add(strings.Repeat("\t", n)+"x", 300/n)
			add(strings.Repeat("\n", n), 200/n)
			add(strings.Repeat("\r\n", n), 40/n+2)
		}
	}
	for _, c := range "-=*#/_.~+" {
		for n := 2; n <= 32; n *= 2 {
			add(strings.Repeat(string(c), n), 20)
		}
	}
}

// addScripts adds the letters of scripts that need two or three bytes each, and the lead pairs of the
// large ones, so that such text costs a token or two a character and not three.
func addScripts(add func(string, int)) {
	for _, r := range [][3]rune{
		{0x00A1, 0x017F, 8}, // Latin with marks, signs
		{0x0391, 0x03C9, 8}, // Greek
		{0x0410, 0x044F, 12},
		{0x0451, 0x045F, 4},
		{0x05D0, 0x05EA, 6}, // Hebrew
		{0x0621, 0x064A, 6}, // Arabic
		{0x0905, 0x094D, 4}, // Devanagari
		{0x2010, 0x2027, 8}, // punctuation
		{0x2190, 0x21FF, 3}, // arrows
		{0x2500, 0x257F, 4}, // box drawing
		{0x3041, 0x30FF, 6}, // kana
		{0x3001, 0x3011, 6},
	} {
		for c := r[0]; c <= r[1]; c++ {
			add(string(c), int(r[2]))
		}
	}
	for c := rune(0x4E00); c <= 0x9FFF; c += 16 {
		add(string(c), 2)
	}
	for c := rune(0xAC00); c <= 0xD7A3; c += 32 {
		add(string(c), 2)
	}
}

func title(w string) string { return string(unicode.ToUpper(rune(w[0]))) + w[1:] }

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// plural is also the third person of a verb.
func plural(w string) string {
	last := w[len(w)-1]
	switch {
	case last == 'y' && !vowel(w[len(w)-2]):
		return w[:len(w)-1] + "ies"
	case last == 's' || last == 'x' || strings.HasSuffix(w, "ch") || strings.HasSuffix(w, "sh"):
		return w + "es"
	}
	return w + "s"
}

func suffixed(w, suffix string) string {
	last := w[len(w)-1]
	switch {
	case last == 'e':
		return w[:len(w)-1] + suffix
	case last == 'y' && !vowel(w[len(w)-2]) && suffix != "ing":
		return w[:len(w)-1] + "i" + suffix
	}
	return w + suffix
}

func adverb(w string) string {
	switch {
	case strings.HasSuffix(w, "le"):
		return w[:len(w)-1] + "y"
	case strings.HasSuffix(w, "y"):
		return w[:len(w)-1] + "ily"
	case strings.HasSuffix(w, "ic"):
		return w + "ally"
	}
	return w + "ly"
}
