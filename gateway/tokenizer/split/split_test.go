package split_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/split"
)

const (
	short  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	blanks = `|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// patterns are those with a scanner of their own.
var patterns = map[string]string{
	"gpt2":       `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
	"qwen":       short + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks,
	"llama3":     short + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks,
	"qwen marks": short + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*` + blanks,
	"o200k": `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + short + `?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + short +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + blanks,
	"han": `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+` + short + `?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*` + short +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks,
}

var deepSeek = []string{
	`\p{N}{1,3}`, "[一-龥぀-ゟ゠-ヿ]+",
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*" + blanks,
}

// alphabet has characters at the borders of each class.
var alphabet = []string{
	"a", "b", "s", "S", "t", "L", "E", "R", "v", "A", "Z", "'", "'", "'s", "'LL", "'re", "ſ", "K", " ", " ", "  ", "\t", "\n", "\r", "\r\n", "\u00a0", "\u2028", "\u0085", "\u3000",
	"1", "2", "٣", "½", "〇", ".", "/", "-", "!", "_", "$", "+", "。", "・", "゛", "é", "É", "ǅ", "ʰ", "ー", "々", "漢", "字", "の", "ｱ", "龥", "龦", "\u3097", "\u3099", "⺀", "ع", "ह", "ि", "\u0301", "\u20dd",
	"😀", "\u200d", "\x00", "\x7f", "\u200b", "\U0001cd50", "\U00010d50", "\ue000", "\ufffd", "\U0010ffff", "\ufeff", "ﬁ", "ß", "ω",
}

func random(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// cut returns the pieces of text, what does not match between its neighbours.
func cut(p *split.Pattern, text string) []string {
	var out []string
	for i := 0; i < len(text); {
		start, end := p.Next(text, i)
		if start > i {
			out = append(out, text[i:start])
		}
		if end > start {
			out = append(out, text[start:end])
		}
		i = max(end, start)
	}
	return out
}

func compile(tb testing.TB, generic bool, pattern string) *split.Pattern {
	tb.Helper()
	f := split.Compile
	if generic {
		f = split.CompileGeneric
	}
	p, err := f(pattern, split.Oniguruma)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestScannersEqualPatterns(t *testing.T) {
	t.Parallel()
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fast, slow := compile(t, false, pattern), compile(t, true, pattern)
			if !fast.Fast() || slow.Fast() {
				t.Fatal("the pattern is not known, or the generic matcher is not one")
			}
			rng := rand.New(rand.NewPCG(7, 7))
			for range 10_000 {
				text := random(rng, 1+rng.IntN(12))
				if got, want := cut(fast, text), cut(slow, text); !slices.Equal(got, want) {
					t.Fatalf("%q cut into %q, want %q", text, got, want)
				}
			}
		})
	}
}

func TestFusedEqualsRow(t *testing.T) {
	t.Parallel()
	row := make([]*split.Pattern, len(deepSeek))
	for i, pattern := range deepSeek {
		row[i] = compile(t, true, pattern)
	}
	fused := split.Fuse(row)
	if fused == nil {
		t.Fatal("the row is not known")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for range 20_000 {
		text := random(rng, 1+rng.IntN(12))
		want := []string{text}
		for _, p := range row {
			var finer []string
			for _, piece := range want {
				finer = append(finer, cut(p, piece)...)
			}
			want = finer
		}
		if got := cut(fused, text); !slices.Equal(got, want) {
			t.Fatalf("%q cut into %q, want %q", text, got, want)
		}
	}
	if split.Fuse(row[:2]) != nil || split.Fuse(nil) != nil {
		t.Error("an unknown row is fused")
	}
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pattern, text, want string
	}{
		{"first alternative wins", `a|ab`, "abab", "a|b|a|b"},
		{"greedy gives back", `a*ab`, "aaab", "aaab"},
		{"lazy", `a+?b?`, "aab", "a|ab"},
		{"possessive keeps", `a++a|b`, "aab", "aa|b"},
		{"counts", `\d{2,3}`, "1234567", "123|456|7"},
		{"lower count", `x{2,}`, "xxxyx", "xxx|yx"},
		{"exact count", `x{2}`, "xxxxx", "xx|xx|x"},
		{"look-ahead", `a(?=b)`, "abaab", "a|ba|a|b"},
		{"negative look-ahead", `\s+(?!\S)`, "a   b", "a|  | b"},
		{"no case", `(?i:'s|k)`, "'SkK'ſ", "'S|k|K|'ſ"},
		{"optional group", `a(?:bc)?`, "abcab", "abc|a|b"},
		{"group", `(?:a|b)c`, "acbcc", "ac|bc|c"},
		{"negated class", `[^a-c]`, "axb", "a|x|b"},
		{"class within a class", `[x[ab]]+`, "axby", "axb|y"},
		{"intersection", `[a-f&&[^c]]+`, "abcdef", "ab|c|def"},
		{"class escapes", `[\-\]\\]+`, `a-]\`, `a|-]\`},
		{"dash at the end", `[a-]+`, "b-a", "b|-a"},
		{"negated property", `\P{L}+`, "ab12", "ab|12"},
		{"property negated inside", `\p{^L}+`, "ab12", "ab|12"},
		{"hex", `\x41|\x{1F600}|\u0042`, "A😀B", "A|😀|B"},
		{"dot", `.`, "a\nb", "a|\n|b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(cut(compile(t, false, c.pattern), c.text), "|"); got != c.want {
				t.Errorf("cut into %s, want %s", got, c.want)
			}
		})
	}
}

func TestFancyDialect(t *testing.T) {
	t.Parallel()
	p, err := split.Compile(`\p{N}{1,3}+|[^\r\n\p{L}\p{N}]?+\p{L}++|\s++$|\s`, split.Fancy)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(cut(p, "1234 ab  x  "), "|"), "123|4| ab| | x|  "; got != want {
		t.Errorf("cut into %s, want %s", got, want)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{
		"empty":               ``,
		"empty match":         `a*`,
		"optional only":       `(?:a)?`,
		"look-behind":         `(?<=a)b`,
		"back-reference":      `(a)\1`,
		"word border":         `\bword`,
		"anchor":              `^a`,
		"repeated group":      `(?:ab)+`,
		"repeated count":      `\d{1,3}+`,
		"unknown property":    `\p{Klingon}`,
		"open group":          `(a`,
		"closed group":        `a)`,
		"open class":          `[a`,
		"posix class":         `[[:alpha:]]`,
		"descending range":    `[z-a]`,
		"class of nothing":    `[a&&b]`,
		"count too high":      `a{1,100000}`,
		"ligature":            `(?i:ss)`,
		"flag":                `(?s)a`,
		"deep":                strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100),
		"too long":            strings.Repeat("a", 9000),
		"not UTF-8":           "a\xff",
		"quantified look":     `(?=a)+b`,
		"trailing backslash":  `a\`,
		"surrogate":           `\x{d800}`,
		"half a property":     `\p{L`,
		"quantifier of those": `a+*`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := split.Compile(pattern, split.Oniguruma); !errors.Is(err, split.ErrUnsupported) {
				t.Errorf("error %v, want one of ErrUnsupported", err)
			}
		})
	}
}

// A pattern that fails late over and over must not take more than linear time: this would run for
// minutes otherwise.
func TestHostilePattern(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 50_000)
	if got := cut(compile(t, false, `a*a*a*a*b|c`), text); len(got) != 1 || got[0] != text {
		t.Errorf("%d pieces, want the text whole", len(got))
	}
}

func FuzzCompile(f *testing.F) {
	for _, pattern := range patterns {
		f.Add(pattern, "Hello 漢字\n 'S x")
	}
	f.Add(`a{2,3}?(?!b)[^\p{L}&&[a-z]]`, "aab")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 64 || len(text) > 256 || !utf8.ValidString(text) {
			t.Skip()
		}
		fast, err := split.Compile(pattern, split.Oniguruma)
		if err != nil {
			if !errors.Is(err, split.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		slow, err := split.CompileGeneric(pattern, split.Oniguruma)
		if err != nil {
			t.Fatal(err)
		}
		got, want := cut(fast, text), cut(slow, text)
		if strings.Join(got, "") != text || !slices.Equal(got, want) {
			t.Fatalf("%q cut into %q, want %q", text, got, want)
		}
	})
}
