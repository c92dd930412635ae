package vocab_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func TestConcatenates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *vocab.Spec)
		want   bool
	}{
		{"bytes and control tokens", func(*vocab.Spec) {}, true},
		{"a composing normalizer", func(s *vocab.Spec) { s.Normalize = []vocab.Step{{Kind: vocab.NFC}} }, true},
		{"something put first", func(s *vocab.Spec) { s.Normalize = []vocab.Step{{Kind: vocab.Prepend, Text: "▁"}} }, false},
		{"white space taken off", func(s *vocab.Spec) { s.Normalize = []vocab.Step{{Kind: vocab.StripSpace, Start: 1}} }, false},
		{"a blank put first", func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.PrefixSpace}} }, false},
		{"a mark always first", func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Metaspace, Text: "▁"}} }, false},
		{"a mark first", func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Scheme: vocab.First}} }, false},
		{"a mark never first", func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Metaspace, Text: "▁", Scheme: vocab.Never}} }, true},
		{"a control token that strips", func(s *vocab.Spec) { s.Added[1].LeftStrip = true }, false},
		{"a token that is a word", func(s *vocab.Spec) { s.Added[2].SingleWord = true }, false},
		{"a control token that is normalized", func(s *vocab.Spec) {
			s.Normalize, s.Added[0].Normalized = []vocab.Step{{Kind: vocab.Lowercase}}, true
		}, false},
		{"a token that ends as a control token begins", func(s *vocab.Spec) { s.Added[2].Text = "a<|e" }, false},
		{"a token that holds a control token", func(s *vocab.Spec) { s.Added[2].Text = "a<|end|>b" }, false},
		{"a token that begins with a control token", func(s *vocab.Spec) { s.Added[2].Text = "<|end|>b" }, true},
		{"a token that holds the beginning of one", func(s *vocab.Spec) { s.Added[2].Text = "a<|eb" }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := bytesSpec()
			c.change(s)
			tok := build(t, s)
			if got := tok.Concatenates(); got != c.want {
				t.Fatalf("%v, want %v", got, c.want)
			}
			if c.want {
				concatenated(t, tok)
			}
		})
	}
}

// concatenated cuts random texts before control tokens.
func concatenated(t *testing.T, tok *vocab.Tokenizer) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		a, b := conversation(rng), "<|end|>"+conversation(rng)
		if got, want := tok.Encode(tok.Encode(nil, a), b), tok.Encode(nil, a+b); !slices.Equal(got, want) {
			t.Fatalf("%q and %q: ids %v, want %v", a, b, got, want)
		}
	}
}
