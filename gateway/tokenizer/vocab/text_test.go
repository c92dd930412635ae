package vocab_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// spell returns the texts of ids, so that a vocabulary of characters shows what reached the model.
func spell(tok *vocab.Tokenizer, ids []uint32) string {
	var parts []string
	for _, id := range ids {
		text, _ := tok.Token(id)
		parts = append(parts, text)
	}
	return strings.Join(parts, "|")
}

// pieces makes a vocabulary whose tokens are words, so that each piece is a token; others are "?".
func pieces(words ...string) *vocab.Spec {
	return &vocab.Spec{Model: vocab.WordPiece, Continuing: "\x00", Tokens: append([]string{"?"}, words...)}
}

func TestAddedTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		added vocab.Added
		text  string
		want  string
	}{
		{"plain", vocab.Added{Text: "<x>"}, "a<x>b", "a|<x>|b"},
		{"twice", vocab.Added{Text: "<x>"}, "<x><x>", "<x>|<x>"},
		{"half", vocab.Added{Text: "<x>"}, "<x<x>", "<x|<x>"},
		{"left strip", vocab.Added{Text: "<x>", LeftStrip: true}, "a <x> b", "a|<x>| b"},
		{"right strip", vocab.Added{Text: "<x>", RightStrip: true}, "a <x> \n b", "a |<x>|b"},
		{"strips share white space", vocab.Added{Text: "<x>", LeftStrip: true, RightStrip: true}, "<x> <x>", "<x>|<x>"},
		{"single word", vocab.Added{Text: "ab", SingleWord: true}, "ab-cab ab", "ab|-cab |ab"},
		{"single word beside a joiner", vocab.Added{Text: "ab", SingleWord: true}, "ab\u200d", "ab\u200d"},
		{"normalized", vocab.Added{Text: "AB", Normalized: true}, "xab", "x|AB"},
		{"not normalized", vocab.Added{Text: "AB"}, "xab", "xab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pieces("a", "b", " b", "a ", "<x", "x", "xab", "-cab ", "ab\u200d")
			s.Normalize = []vocab.Step{{Kind: vocab.Lowercase}}
			c.added.ID = 50
			s.Added = []vocab.Added{c.added}
			if got := spell(build(t, s), build(t, s).Encode(nil, c.text)); got != c.want {
				t.Errorf("%q: tokens %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		steps    []vocab.Step
		in, want string
	}{
		{"NFC", []vocab.Step{{Kind: vocab.NFC}}, "e\u0301각", "é각"},
		{"NFD", []vocab.Step{{Kind: vocab.NFD}}, "é각", "e\u0301\u1100\u1161\u11a8"},
		{"NFKC", []vocab.Step{{Kind: vocab.NFKC}}, "ﬁ①", "fi1"},
		{"NFKD", []vocab.Step{{Kind: vocab.NFKD}}, "ﬁé", "fie\u0301"},
		{"lower case", []vocab.Step{{Kind: vocab.Lowercase}}, "AÉİΣ", "aéi\u0307σ"},
		{"strip", []vocab.Step{{Kind: vocab.StripSpace, Start: 1}}, " a ", "a "},
		{"accents", []vocab.Step{{Kind: vocab.NFD}, {Kind: vocab.StripAccents}}, "éa", "ea"},
		{"prepend and replace", []vocab.Step{{Kind: vocab.Prepend, Text: "▁"}, {Kind: vocab.Replace, Text: " ", With: "▁"}}, "a b", "▁a▁b"},
		{"replace pattern", []vocab.Step{{Kind: vocab.Replace, Text: `\s+`, Regex: true, With: "_"}}, "a \n b ", "a_b_"},
		{"clean", []vocab.Step{{Kind: vocab.CleanText}}, "a\x00\tb\u200b\u3000", "a b "},
		{"Chinese", []vocab.Step{{Kind: vocab.SpaceChinese}}, "a漢", "a 漢 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pieces(c.want)
			s.Normalize = c.steps
			tok := build(t, s)
			if got := spell(tok, tok.Encode(nil, c.in)); got != c.want {
				t.Errorf("%+q becomes %+q, want %+q", c.in, got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	cut := func(b vocab.Behavior, invert bool) []vocab.Step {
		return []vocab.Step{{Kind: vocab.Split, Text: "-", Behavior: b, Invert: invert}}
	}
	for _, c := range []struct {
		name     string
		steps    []vocab.Step
		in, want string
	}{
		{"isolated", cut(vocab.Isolated, false), "-a--b", "-|a|-|-|b"},
		{"removed", cut(vocab.Removed, false), "-a--b", "a|b"},
		{"previous", cut(vocab.Previous, false), "-a--b", "-|a-|-|b"},
		{"next", cut(vocab.Next, false), "-a--b-", "-a|-|-b|-"},
		{"contiguous", cut(vocab.Contiguous, false), "-a--b", "-|a|--|b"},
		{"inverted", cut(vocab.Removed, true), "-a--b", "-|-|-"},
		{"mark always", []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Flag: true}}, "a b<x>a", "▁a|▁b|<x>|▁a"},
		{"mark first", []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Flag: true, Scheme: vocab.First}}, "a b<x>a", "▁a|▁b|<x>|a"},
		{"mark never", []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Flag: true, Scheme: vocab.Never}}, "a  b", "a|▁|▁b"},
		{"mark without a cut", []vocab.Step{{Kind: vocab.Metaspace, Text: "▁"}}, "a b", "▁a▁b"},
		{"a blank first", []vocab.Step{{Kind: vocab.PrefixSpace}}, "a", " a"},
		{"there is one", []vocab.Step{{Kind: vocab.PrefixSpace}}, " a", " a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pieces(strings.Split(c.want, "|")...)
			slices.Sort(s.Tokens[1:])
			s.Tokens = slices.Compact(s.Tokens)
			s.Cut = c.steps
			s.Added = []vocab.Added{{ID: 90, Text: "<x>"}}
			tok := build(t, s)
			if got := spell(tok, tok.Encode(nil, c.in)); got != c.want {
				t.Errorf("%q cut into %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// A mark that stands first only is for texts whose first character normalization has left.
func TestMarkFirstBehindNormalizer(t *testing.T) {
	t.Parallel()
	s := pieces("a", "▁a")
	s.Normalize = []vocab.Step{{Kind: vocab.StripSpace, Start: 1}}
	s.Cut = []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Flag: true, Scheme: vocab.First}}
	tok := build(t, s)
	for in, want := range map[string]string{"a": "▁a", " a": "a"} {
		if got := spell(tok, tok.Encode(nil, in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	piece := []vocab.Step{{Kind: vocab.Replace, Text: "▁", With: " "}, {Kind: vocab.ByteFallback}, {Kind: vocab.Fuse}, {Kind: vocab.Strip, Text: " ", Start: 1}}
	tokens := []string{"▁a", "b", "<0xE6>", "<0xBC>", "<0xA2>", "<0xFF>", "##x", "y</w>", "\xe6", "\xbc\xa2", "\xf0\x9f"}
	for _, c := range []struct {
		name   string
		steps  []vocab.Step
		ids    []uint32
		want   string
		stream string // "": as want
	}{
		{"pieces", piece, []uint32{0, 1, 0}, "ab a", ""},
		{"bytes of a character", piece, []uint32{1, 2, 3, 4, 1}, "b漢b", ""},
		{"bytes of none", piece, []uint32{2, 5, 1}, "��b", ""},
		{"a character and a byte too many", piece, []uint32{2, 3, 4, 5}, "����", "漢�"},
		{"half a character at the end", piece, []uint32{2, 3}, "��", ""},
		{"bytes", []vocab.Step{{Kind: vocab.Bytes}}, []uint32{1, 8, 9, 1}, "b漢b", ""},
		{"bytes cut", []vocab.Step{{Kind: vocab.Bytes}}, []uint32{10, 1, 8}, "�b�", ""},
		{"none", nil, []uint32{1, 1}, "b b", ""},
		{"suffix", []vocab.Step{{Kind: vocab.Suffix, Text: "</w>"}}, []uint32{1, 7, 7}, "by y", ""},
		{"word pieces", []vocab.Step{{Kind: vocab.Continue, Text: "##"}}, []uint32{1, 6, 1}, "bx b", ""},
		{"mark", []vocab.Step{{Kind: vocab.Metaspace, Text: "▁"}}, []uint32{0, 0}, "a a", ""},
		{"no token", piece, []uint32{1, 999, 1}, "bb", ""},
		{"control", piece, []uint32{1, 11, 1}, "b<x>b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := build(t, &vocab.Spec{Tokens: tokens, Unknown: vocab.NoToken, Decode: c.steps, Added: []vocab.Added{{ID: 11, Text: "<x>", Special: true}}})
			if got := string(tok.Decode(nil, c.ids, false)); got != c.want {
				t.Errorf("decoded %q, want %q", got, c.want)
			}
			if got, want := string(tok.Decode(nil, c.ids, true)), strings.ReplaceAll(c.want, "<x>", ""); got != want {
				t.Errorf("decoded %q without control tokens, want %q", got, want)
			}
			s := tok.Stream(false)
			for range 2 { // a flushed stream starts anew
				var out []byte
				for _, id := range c.ids {
					if out = s.Append(out, id); !utf8.Valid(out) {
						t.Fatalf("half a character: %q", out)
					}
				}
				want := c.want
				if c.stream != "" {
					want = c.stream
				}
				if got := string(s.Flush(out)); got != want {
					t.Errorf("streamed %q, want %q", got, want)
				}
			}
		})
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	tok := build(t, bytesSpec())
	if got, want := string(tok.Decode(nil, tok.Encode(nil, "a\xff\xe6\xbcb"), false)), "a\ufffd\ufffd\ufffdb"; got != want {
		t.Errorf("decoded %q, want %q", got, want)
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	s := bytesSpec()
	s.Before, s.After = []uint32{262}, []uint32{263}
	tok := build(t, s)
	if got, want := tok.EncodeAround(nil, "a"), []uint32{262, 'a', 263}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if got, want := tok.Encode(nil, "a"), []uint32{'a'}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tok := build(t, bytesSpec())
	for text, want := range map[string]uint32{"<|start|>": 262, "ab": 256, "a": 'a'} {
		if id, ok := tok.ID(text); !ok || id != want {
			t.Errorf("ID(%q) = %d, %v, want %d", text, id, ok, want)
		}
		if got, ok := tok.Token(want); !ok || got != text {
			t.Errorf("Token(%d) = %q, %v, want %q", want, got, ok, text)
		}
	}
	if _, ok := tok.ID("nothing"); ok {
		t.Error("a text that is no token has an id")
	}
	if _, ok := tok.Token(uint32(tok.Size())); ok {
		t.Error("an id beyond the vocabulary is a token")
	}
	if !tok.Special(262) || tok.Special(264) || tok.Special('a') || tok.Special(1<<30) {
		t.Error("special tokens are not the control tokens")
	}
}
