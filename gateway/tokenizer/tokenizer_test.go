package tokenizer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer"
	"github.com/weirgate/weir/gateway/tokenizer/builtin"
)

func load(tb testing.TB) *tokenizer.Tokenizer {
	tb.Helper()
	tok, err := builtin.New()
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// texts are inputs that each stress one rule.
var texts = map[string]string{
	"empty":             "",
	"prose":             "The quick brown fox doesn't jump; it WALKS over 12345 lazy dogs.\n\nAnd so on…",
	"code":              "func main() {\n\tfor i := 0; i < 10; i++ {\n\t\tfmt.Println(\"x\", i)\n\t}\n}\n",
	"space":             "a  b   c\t\td \n \n\n   e    ",
	"scripts":           "Zürich 東京 Москва ελληνικά العربية हिन्दी 한국어 🇨🇭👩‍👩‍👧",
	"not utf-8":         "ok\xff\xfe\x80 \xe2\x82 half\xf0\x9f",
	"zero bytes":        "\x00\x00a\x00",
	"specials":          "<|im_start|>user\nhi<|im_end|>\n<think></think><tool_call>{}</tool_call>",
	"half specials":     "<|im_start <|im_end|<think <<<think>> </thin",
	"line ends":         "a\r\nb\rc\n\r\n\r",
	"one letter":        strings.Repeat("a", 5000),
	"one long word":     strings.Repeat("abcdefghij", 700),
	"long blank":        strings.Repeat(" ", 5000) + "x",
	"long cjk":          strings.Repeat("漢字", 2000),
	"contractions":      "I'll we'RE he's x' 'tis o'clock'",
	"digits":            "1 12 123 1234 12345 123456789",
	"json":              `{"name": "get_stock", "arguments": {"sym": "ACME", "days": 3}}`,
	"no-break space":    "a\u00a0b\u2003c",
	"markers in a word": "a<think>b</think>c",
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	tok := load(t)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			ids := tok.Encode(nil, text)
			if got := string(tok.Decode(ids)); got != text {
				t.Fatalf("decoded %q, want %q", got, text)
			}
			if n := tok.Count(text); n != len(ids) {
				t.Errorf("Count = %d, want %d", n, len(ids))
			}
			if again := tok.Encode([]uint32{7}, text); !slices.Equal(again[1:], ids) || again[0] != 7 {
				t.Error("Encode does not append the same ids to a filled slice")
			}
		})
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	tok := load(t)
	for _, c := range []struct {
		name, text, want string
	}{
		{"words", "Hello wide world", "Hello| wide| world"},
		{"contraction", "don't he'LL x'y", "don|'t| he|'LL| x|'y"},
		{"digits", "12345 6", "123|45| |6"},
		{"punctuation", "a, b!? (c)", "a|,| b|!?| (|c|)"},
		{"punctuation takes line ends", "x;\n\ny", "x|;\n\n|y"},
		{"blanks leave one", "a   b", "a|  | b"},
		{"blanks to the last line end", "a \n \n  b", "a| \n \n| | b"},
		{"blanks at the end", "a   ", "a|   "},
		{"tab before a word", "\tif", "\tif"},
		{"blank before a digit", "a 1", "a| |1"},
		{"specials are no pieces", "a<think>b", "a|b"},
		{"bytes that are not text", "a\xff\xfeb", "a|\xff\xfe|b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(slices.Collect(tok.Pieces(c.text)), "|"); got != c.want {
				t.Errorf("pieces %q, want %q", got, c.want)
			}
		})
	}
}

func TestSpecials(t *testing.T) {
	t.Parallel()
	tok := load(t)
	list := tok.Specials()
	if len(list) != len(builtin.Specials()) {
		t.Fatalf("%d special tokens, want %d", len(list), len(builtin.Specials()))
	}
	for _, s := range list {
		if id, ok := tok.Special(s.Text); !ok || id != s.ID {
			t.Errorf("Special(%q) = %d, %v, want %d", s.Text, id, ok, s.ID)
		}
		if ids := tok.Encode(nil, "a"+s.Text+"b"); len(ids) != 3 || ids[1] != s.ID {
			t.Errorf("%q within text gives %v, want id %d in the middle", s.Text, ids, s.ID)
		}
	}
	if _, ok := tok.Special("<think"); ok {
		t.Error("a proper prefix of a special token passes for one")
	}
	if _, ok := tok.Token(uint32(tok.Size())); ok {
		t.Error("an id beyond the vocabulary is a token")
	}
	if got := tok.Decode([]uint32{uint32(tok.Size()), 'x'}); string(got) != "x" {
		t.Errorf("an unknown id decodes to %q, want nothing", got)
	}
}

func TestLongestSpecialWins(t *testing.T) {
	t.Parallel()
	tok, err := tokenizer.New(nil, []string{"<a>", "<a>b", "#", "<a>bcd"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "<a>bc#<a>"), []uint32{257, 'c', 258, 256}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// naive merges by the definition: the lowest-ranked adjacent pair, leftmost first, over and over.
func naive(merges map[tokenizer.Pair]uint32, piece string) []uint32 {
	var ids []uint32
	for i := range len(piece) {
		ids = append(ids, uint32(piece[i]))
	}
	for {
		best, at := ^uint32(0), -1
		for i := 1; i < len(ids); i++ {
			if id, ok := merges[tokenizer.Pair{Left: ids[i-1], Right: ids[i]}]; ok && id < best {
				best, at = id, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at-1, at+1, best)
	}
}

func TestMergesFollowRank(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		merges, ranks := randomMerges(rng, 40)
		tok, err := tokenizer.New(merges, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 2, 3, 7, 20, 47, 48, 49, 50, 200, 700} {
			var b strings.Builder
			for range n {
				b.WriteByte("abc"[rng.IntN(3)])
			}
			got, want := tok.Encode(nil, b.String()), naive(ranks, b.String())
			if !slices.Equal(got, want) {
				t.Fatalf("%d letters: ids %v, want %v", n, got, want)
			}
		}
	}
}

func randomMerges(rng *rand.Rand, n int) ([]tokenizer.Pair, map[tokenizer.Pair]uint32) {
	ids := []uint32{'a', 'b', 'c'}
	ranks := make(map[tokenizer.Pair]uint32)
	size := map[uint32]int{'a': 1, 'b': 1, 'c': 1}
	var merges []tokenizer.Pair
	for range n {
		p := tokenizer.Pair{Left: ids[rng.IntN(len(ids))], Right: ids[rng.IntN(len(ids))]}
		if _, ok := ranks[p]; ok || size[p.Left]+size[p.Right] > 64 {
			continue
		}
		id := uint32(256 + len(merges))
		ranks[p], size[id] = id, size[p.Left]+size[p.Right]
		merges, ids = append(merges, p), append(ids, id)
	}
	return merges, ranks
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	double := make([]tokenizer.Pair, 10)
	double[0] = tokenizer.Pair{Left: 'a', Right: 'a'}
	for i := 1; i < len(double); i++ {
		double[i] = tokenizer.Pair{Left: uint32(255 + i), Right: uint32(255 + i)}
	}
	for _, c := range []struct {
		name     string
		merges   []tokenizer.Pair
		specials []string
	}{
		{"merge of itself", []tokenizer.Pair{{Left: 256, Right: 'a'}}, nil},
		{"pair twice", []tokenizer.Pair{{Left: 'a', Right: 'b'}, {Left: 'a', Right: 'b'}}, nil},
		{"token too long", double, nil},
		{"empty special", nil, []string{""}},
		{"special twice", nil, []string{"<x>", "<x>"}},
		{"special too long", nil, []string{strings.Repeat("x", tokenizer.MaxToken+1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := tokenizer.New(c.merges, c.specials); !errors.Is(err, tokenizer.ErrVocabulary) {
				t.Errorf("error %v, want one of ErrVocabulary", err)
			}
		})
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	tok := load(t)
	image := tok.AppendImage(nil)
	if len(image) > 200<<10 {
		t.Errorf("the built-in image has %d bytes, want at most 200 KB", len(image))
	}
	again, err := tokenizer.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.AppendImage(nil), image) {
		t.Error("an image loaded and written differs")
	}
	for _, c := range []struct {
		name  string
		image []byte
	}{
		{"empty", nil},
		{"no magic", []byte("WTK2\x00\x00")},
		{"cut", image[:len(image)/2]},
		{"bytes behind", append(slices.Clone(image), 0)},
		{"count over the bytes left", append([]byte("WTK1"), binary.AppendUvarint(nil, 1<<19)...)},
		{"number without end", append([]byte("WTK1"), bytes.Repeat([]byte{0xff}, 20)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := tokenizer.Load(c.image); !errors.Is(err, tokenizer.ErrVocabulary) {
				t.Errorf("error %v, want one of ErrVocabulary", err)
			}
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	tok := load(t)
	want := make(map[string][]uint32)
	for name, text := range texts {
		want[name] = tok.Encode(nil, text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				for name, text := range texts {
					if got := tok.Encode(nil, text); !slices.Equal(got, want[name]) {
						t.Errorf("%s: ids differ between goroutines", name)
					}
					tok.Count(text)
				}
			}
		})
	}
	wg.Wait()
}

// The vocabulary must be worth its ids: prose and code cost about a token for each four bytes.
func TestBuiltinCompresses(t *testing.T) {
	t.Parallel()
	tok := load(t)
	for _, name := range []string{"prose", "code", "json"} {
		if n := tok.Count(texts[name]); n*2 > len(texts[name]) {
			t.Errorf("%s: %d tokens for %d bytes", name, n, len(texts[name]))
		}
	}
}

func FuzzEncode(f *testing.F) {
	tok := load(f)
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Encode(nil, text)
		if got := string(tok.Decode(ids)); got != text {
			t.Fatalf("decoded %q, want %q", got, text)
		}
		if n := tok.Count(text); n != len(ids) {
			t.Fatalf("Count = %d, want %d", n, len(ids))
		}
	})
}

func FuzzLoad(f *testing.F) {
	tok, err := tokenizer.New([]tokenizer.Pair{{Left: 'a', Right: 'b'}, {Left: 256, Right: 256}}, []string{"<x>", "<x>y"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tok.AppendImage(nil))
	f.Add([]byte("WTK1\x00\x00"))
	f.Fuzz(func(t *testing.T, image []byte) {
		tok, err := tokenizer.Load(image)
		if err != nil {
			return
		}
		const text = "ab<x>y\xff aabb"
		if got := string(tok.Decode(tok.Encode(nil, text))); got != text {
			t.Fatalf("decoded %q, want %q", got, text)
		}
	})
}
