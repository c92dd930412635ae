package ucd_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// What package unicode knows of a character, the tables say too; they know more of newer ones.
func TestClassesAgreeWithOlderUnicode(t *testing.T) {
	t.Parallel()
	sets := map[string]uint32{
		"L": ucd.Letter, "M": ucd.Mark, "N": ucd.Number, "P": ucd.Punctuation, "S": ucd.Symbol, "Z": ucd.Separator,
		"Lu": 1 << ucd.Lu, "Ll": 1 << ucd.Ll, "Lt": 1 << ucd.Lt, "Lm": 1 << ucd.Lm, "Lo": 1 << ucd.Lo, "Mn": 1 << ucd.Mn, "Mc": 1 << ucd.Mc, "Me": 1 << ucd.Me,
		"Nd": 1 << ucd.Nd, "Nl": 1 << ucd.Nl, "No": 1 << ucd.No, "Pc": 1 << ucd.Pc, "Pd": 1 << ucd.Pd, "Ps": 1 << ucd.Ps, "Pe": 1 << ucd.Pe,
		"Pi": 1 << ucd.Pi, "Pf": 1 << ucd.Pf, "Po": 1 << ucd.Po, "Sm": 1 << ucd.Sm, "Sc": 1 << ucd.Sc, "Sk": 1 << ucd.Sk, "So": 1 << ucd.So,
		"Zs": 1 << ucd.Zs, "Zl": 1 << ucd.Zl, "Zp": 1 << ucd.Zp, "Cc": 1 << ucd.Cc, "Cf": 1 << ucd.Cf, "Co": 1 << ucd.Co,
	}
	changed := map[string]int{}
	for name, set := range sets {
		for r := rune(0); r <= ucd.MaxRune; r++ {
			if unicode.Is(unicode.Categories[name], r) && !ucd.ClassOf(r).Is(set) {
				changed[name]++
			}
		}
	}
	// Unicode has moved a few characters from one category to another since.
	for name, n := range changed {
		if n > 8 {
			t.Errorf("%d characters of category %s are of another", n, name)
		}
	}
	for r := rune(0); r <= ucd.MaxRune; r++ {
		c := ucd.ClassOf(r)
		if c.Space() != unicode.Is(unicode.White_Space, r) {
			t.Errorf("U+%04X: white space %v", r, c.Space())
		}
		if unicode.Is(unicode.Han, r) && !c.Han() {
			t.Errorf("U+%04X is not Han", r)
		}
		if (unicode.IsLetter(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Pc, r)) && !c.Word() {
			t.Errorf("U+%04X is no word character", r)
		}
	}
}

func TestNewerCharacters(t *testing.T) {
	t.Parallel()
	for r, want := range map[rune]ucd.Category{
		0x1c89: ucd.Lu, 0x10d70: ucd.Ll, 0x10d40: ucd.Nd, 0x1cd50: ucd.So, 0x2ebf0: ucd.Lo, 'a': ucd.Ll, 0xd800: ucd.Cs, 0xe000: ucd.Co, 0x378: ucd.Cn,
	} {
		if got := ucd.ClassOf(r).Category(); got != want {
			t.Errorf("U+%04X has category %d, want %d", r, got, want)
		}
	}
	if ucd.ClassOf(-1) != 0 || ucd.ClassOf(ucd.MaxRune+1) != 0 {
		t.Error("what is no code point has a class")
	}
}

func TestNormalForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, nfc, nfd, nfkc, nfkd string }{
		{"ASCII", "plain", "plain", "plain", "plain", "plain"},
		{"composed", "é", "é", "e\u0301", "é", "e\u0301"},
		{"two marks", "ǘ", "ǘ", "u\u0308\u0301", "ǘ", "u\u0308\u0301"},
		{"marks out of order", "q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
		{"a mark between that blocks", "e\u0302\u0300", "ề", "e\u0302\u0300", "ề", "e\u0302\u0300"},
		{"a lower mark between", "e\u0323\u0301", "ẹ\u0301", "e\u0323\u0301", "ẹ\u0301", "e\u0323\u0301"},
		{"Hangul", "각", "각", "\u1100\u1161\u11a8", "각", "\u1100\u1161\u11a8"},
		{"Hangul in parts", "\u1100\u1161\u11a8\u11a8", "각\u11a8", "\u1100\u1161\u11a8\u11a8", "각\u11a8", "\u1100\u1161\u11a8\u11a8"},
		{"not composed again", "\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"},
		{"ligature", "ﬁ", "ﬁ", "ﬁ", "fi", "fi"},
		{"long expansion", "ﷺ", "ﷺ", "ﷺ", "صلى الله عليه وسلم", "صلى الله عليه وسلم"},
		{"singleton", "Å", "Å", "A\u030a", "Å", "A\u030a"},
		{"newer than Unicode 9", "\u32ff", "\u32ff", "\u32ff", "\u32ff", "\u32ff"},
		{"mark first", "\u0301a", "\u0301a", "\u0301a", "\u0301a", "\u0301a"},
	} {
		for form, want := range map[ucd.Form]string{ucd.NFC: c.nfc, ucd.NFD: c.nfd, ucd.NFKC: c.nfkc, ucd.NFKD: c.nfkd} {
			n := ucd.NewNormalizer(form)
			got := string(n.Append([]byte("x"), c.in)[1:])
			if got != want {
				t.Errorf("%s in %v: %+q, want %+q", c.name, form, got, want)
			}
			if again := string(n.Append(nil, got)); again != got {
				t.Errorf("%s in %v twice: %+q, want %+q", c.name, form, again, got)
			}
			if n.Normal(c.in) && got != c.in {
				t.Errorf("%s passes for normal in %v", c.name, form)
			}
		}
	}
}

// Many marks in a row take no more than sorting them.
func TestManyMarks(t *testing.T) {
	t.Parallel()
	in := "a" + strings.Repeat("\u0301\u0323", 50_000)
	want := "a" + strings.Repeat("\u0323", 50_000) + strings.Repeat("\u0301", 50_000)
	if got := string(ucd.NewNormalizer(ucd.NFD).Append(nil, in)); got != want {
		t.Error("the marks are not in order")
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("e\u0301각\u1100\u1161")
	var forms [4]*ucd.Normalizer
	for i := range forms {
		forms[i] = ucd.NewNormalizer(ucd.Form(i))
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		for _, n := range forms {
			once := string(n.Append(nil, s))
			if twice := string(n.Append(nil, once)); twice != once {
				t.Fatalf("%v of %+q: %+q, and of that %+q", n.Form(), s, once, twice)
			}
		}
		c, d := string(forms[ucd.NFC].Append(nil, s)), string(forms[ucd.NFD].Append(nil, s))
		if got := string(forms[ucd.NFC].Append(nil, d)); got != c {
			t.Fatalf("%+q composes to %+q, its parts to %+q", s, c, got)
		}
	})
}
