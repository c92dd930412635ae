package vocab_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func build(tb testing.TB, s *vocab.Spec) *vocab.Tokenizer {
	tb.Helper()
	tok, err := vocab.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// bytesSpec is a byte-level vocabulary: the bytes, a few merges, and control tokens.
func bytesSpec() *vocab.Spec {
	s := &vocab.Spec{ByteLevel: true, Unknown: vocab.NoToken, Decode: []vocab.Step{{Kind: vocab.Bytes}}}
	for i := range 256 {
		s.Tokens = append(s.Tokens, string([]byte{byte(i)}))
	}
	for i, pair := range [][2]string{{"a", "b"}, {"ab", "c"}, {"<", "|"}, {"|", ">"}, {" ", "ab"}, {"漢"[:1], "漢"[1:2]}} {
		merge(s, pair[0], pair[1], i)
	}
	for _, text := range []string{"<|start|>", "<|end|>"} {
		s.Added = append(s.Added, vocab.Added{ID: uint32(len(s.Tokens) + len(s.Added)), Text: text, Special: true})
	}
	s.Added = append(s.Added, vocab.Added{ID: uint32(len(s.Tokens) + len(s.Added)), Text: "<think>"})
	s.Cut = []vocab.Step{{Kind: vocab.Split, Text: `\s?\S+|\s+`, Regex: true}}
	return s
}

func merge(s *vocab.Spec, left, right string, rank int) {
	l, r := slices.Index(s.Tokens, left), slices.Index(s.Tokens, right)
	id := slices.Index(s.Tokens, left+right)
	if id < 0 {
		id = len(s.Tokens)
		s.Tokens = append(s.Tokens, left+right)
	}
	s.Merges = append(s.Merges, vocab.Merge{Left: uint32(l), Right: uint32(r), ID: uint32(id), Rank: uint32(rank)})
}

// randomSpec has random merges over a few characters. Without byteLevel characters outside of them
// become bytes.
func randomSpec(rng *rand.Rand, byteLevel bool, n int) *vocab.Spec {
	s := &vocab.Spec{ByteLevel: byteLevel, ByteFallback: !byteLevel, Unknown: vocab.NoToken}
	for i := range 256 {
		if byteLevel {
			s.Tokens = append(s.Tokens, string([]byte{byte(i)}))
		} else {
			s.Tokens = append(s.Tokens, fmt.Sprintf("<0x%02X>", i))
		}
	}
	start := 256
	if byteLevel {
		start = 'a'
	} else {
		s.Tokens = append(s.Tokens, "a", "b", "c", "▁", "é")
	}
	for rank := range n {
		pick := func() string {
			if i := rng.IntN(len(s.Tokens) - 251); i >= 5 {
				return s.Tokens[251+i]
			}
			return s.Tokens[start+rng.IntN(3)]
		}
		if l, r := pick(), pick(); len(l)+len(r) < 40 {
			merge(s, l, r, rank)
		}
	}
	if byteLevel {
		s.Decode = []vocab.Step{{Kind: vocab.Bytes}}
	} else {
		s.Decode = []vocab.Step{{Kind: vocab.ByteFallback}, {Kind: vocab.Fuse}}
	}
	return s
}

// naive merges by the definition: the pair of the lowest rank, the leftmost of those, over and over.
func naive(s *vocab.Spec, text string) []uint32 {
	var ids []uint32
	for i := 0; i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		if s.ByteLevel {
			n = 1
		}
		if id := slices.Index(s.Tokens, text[i:i+n]); id >= 0 {
			ids = append(ids, uint32(id))
		} else {
			for _, b := range []byte(text[i : i+n]) {
				ids = append(ids, uint32(b))
			}
		}
		i += n
	}
	last := make(map[[2]uint32]vocab.Merge)
	for _, m := range s.Merges {
		last[[2]uint32{m.Left, m.Right}] = m
	}
	for {
		best, at := vocab.Merge{Rank: ^uint32(0)}, -1
		for i := 1; i < len(ids); i++ {
			if m, ok := last[[2]uint32{ids[i-1], ids[i]}]; ok && m.Rank < best.Rank {
				best, at = m, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at-1, at+1, best.ID)
	}
}

func randomText(rng *rand.Rand, parts string, n int) string {
	chars := []rune(parts)
	var b strings.Builder
	for range n {
		b.WriteRune(chars[rng.IntN(len(chars))])
	}
	return b.String()
}
