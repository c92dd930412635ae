package vocab

import (
	"math/rand/v2"
	"testing"
)

// A sealed trie finds what an unsealed one does: tokens that begin alike, that are the beginning of others or are
// put twice, whole, cut short and gone astray.
func TestSeal(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, texts := range [][]string{
		nil,
		{"<"},
		{"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>"},
		{"a", "ab", "abc", "abcdefgh", "abx", "b"},
		{"<a>", "<a>", "<ab>"},
	} {
		var open, sealed trie
		for id, text := range texts {
			open.put(text, uint32(id))
			sealed.put(text, uint32(id))
		}
		sealed.seal(texts)
		banned := newBitset(len(texts))
		if len(texts) > 1 {
			banned.add(1)
		}
		for range 2000 {
			s := ""
			for _, text := range texts {
				s += text[:rng.IntN(len(text)+1)]
			}
			for _, b := range []*ban{nil, {ids: banned, everywhere: true}} {
				for i := range len(s) {
					id, n := sealed.match(s, i, b)
					if wantID, want := open.match(s, i, b); n != want || n > 0 && id != wantID {
						t.Fatalf("%q of %q: %d, %d bytes, want %d, %d", s[i:], texts, id, n, wantID, want)
					}
				}
			}
		}
	}
}
