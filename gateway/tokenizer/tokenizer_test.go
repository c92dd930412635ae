package tokenizer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer"
	"github.com/weirgate/weir/gateway/tokenizer/builtin"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
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
			var got strings.Builder
			for _, id := range ids {
				token, _ := tok.Token(id)
				got.WriteString(token)
			}
			if got.String() != text {
				t.Fatalf("decoded %q, want %q", got.String(), text)
			}
			if again := tok.Encode([]uint32{7}, text); !slices.Equal(again[1:], ids) || again[0] != 7 {
				t.Error("Encode does not append the same ids to a filled slice")
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
	for i, s := range list {
		if s.Text != builtin.Specials()[i] || i > 0 && s.ID <= list[i-1].ID {
			t.Errorf("special token %d is %q with id %d, want %q and ids in order", i, s.Text, s.ID, builtin.Specials()[i])
		}
		if id, ok := tok.Special(s.Text); !ok || id != s.ID {
			t.Errorf("Special(%q) = %d, %v, want %d", s.Text, id, ok, s.ID)
		}
		if ids := tok.Encode(nil, "a"+s.Text+"b"); len(ids) != 3 || ids[1] != s.ID {
			t.Errorf("%q within text gives %v, want id %d in the middle", s.Text, ids, s.ID)
		}
	}
	for _, text := range []string{"<think", "a", "", "nothing of the kind"} {
		if _, ok := tok.Special(text); ok {
			t.Errorf("%q passes for a special token", text)
		}
	}
	if _, ok := tok.Token(uint32(tok.Vocabulary().Size())); ok {
		t.Error("an id beyond the vocabulary is a token")
	}
}

// Special tokens come in id order, whatever order the vocabulary lists them in, and others are none.
func TestSpecialsInOrder(t *testing.T) {
	t.Parallel()
	v, err := vocab.New(&vocab.Spec{Unknown: vocab.NoToken, Added: []vocab.Added{{ID: 9, Text: "<z>", Special: true}, {ID: 5, Text: "<word>"}, {ID: 3, Text: "<a>", Special: true}}})
	if err != nil {
		t.Fatal(err)
	}
	tok := tokenizer.New(v)
	if got, want := tok.Specials(), []tokenizer.Special{{Text: "<a>", ID: 3}, {Text: "<z>", ID: 9}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, ok := tok.Special("<word>"); ok {
		t.Error("an added token passes for a special one")
	}
}

// The vocabulary must be worth its ids: prose and code cost about a token for each four bytes. And prompts
// are put together of parts.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	tok := load(t)
	for _, name := range []string{"prose", "code", "json"} {
		if n := len(tok.Encode(nil, texts[name])); n*2 > len(texts[name]) {
			t.Errorf("%s: %d tokens for %d bytes", name, n, len(texts[name]))
		}
	}
	if !tok.Vocabulary().Concatenates() {
		t.Error("prompts cannot be put together")
	}
}

// fill repeats text up to about n bytes.
func fill(text string, n int) string { return strings.Repeat(text, n/len(text)+1)[:n] }

func BenchmarkEncode(b *testing.B) {
	tok := load(b)
	chat := "<|im_start|>user\n" + texts["prose"] + "\n" + texts["code"] + "<|im_end|>\n<|im_start|>assistant\n<think>\nLet me look at the file first.\n</think>\n\n<tool_call>\n" +
		texts["json"] + "\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nlatency_p99 = 41.07ms, throughput_qps = 1843\n</tool_response><|im_end|>\n"
	for _, c := range []struct{ name, text string }{
		{"chat200K", fill(chat, 200_000)},
		{"letter1M", fill("a", 1_000_000)},
		{"letters1M", fill("qzxjvkqw", 1_000_000)},
		{"blank1M", fill(" ", 1_000_000)},
		{"angle1M", fill("<", 1_000_000)},
		{"marker1M", fill("<|im_start|", 1_000_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ids []uint32
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.Encode(ids[:0], c.text)
			}
			b.ReportMetric(float64(len(ids)), "tokens")
		})
	}
}

// BenchmarkLoad is part of a cold start.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		load(b)
	}
}
