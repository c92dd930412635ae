package vocab_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/split"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// Words, caches, heaps and borders change nothing of what the definition says.
func TestMergesFollowRank(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		byteLevel bool
		letters   string
	}{
		{"bytes", true, "abc"},
		{"characters", false, "abc▁é"},
		{"characters without tokens", false, "ab▁漢😀"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			for range 60 {
				s := randomSpec(rng, c.byteLevel, 60)
				tok := build(t, s)
				for _, n := range []int{1, 2, 3, 7, 20, 47, 48, 49, 50, 300} {
					text := randomText(rng, c.letters, n)
					want := naive(s, text)
					for range 3 { // found out, then remembered
						if got := tok.Encode(nil, text); !slices.Equal(got, want) {
							t.Fatalf("%q: ids %v, want %v", text, got, want)
						}
					}
					if got := string(tok.Decode(nil, want, false)); got != text {
						t.Fatalf("decoded %q, want %q", got, text)
					}
				}
			}
		})
	}
}

func TestUnknownCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fuse    bool
		unknown uint32
		want    []uint32
	}{
		{"each", false, 0, []uint32{1, 0, 0, 1, 0}},
		{"in a row", true, 0, []uint32{1, 0, 1, 0}},
		{"left out", false, vocab.NoToken, []uint32{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := build(t, &vocab.Spec{Tokens: []string{"?", "a"}, Unknown: c.unknown, FuseUnknown: c.fuse})
			if got := tok.Encode(nil, "axyaz"); !slices.Equal(got, c.want) {
				t.Errorf("ids %v, want %v", got, c.want)
			}
		})
	}
}

func TestIgnoreMerges(t *testing.T) {
	t.Parallel()
	s := bytesSpec()
	s.Tokens = append(s.Tokens, "xyz") // no merge makes it
	s.Added = nil
	id := uint32(len(s.Tokens) - 1)
	if got, want := build(t, s).Encode(nil, "xyz"), []uint32{'x', 'y', 'z'}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	s.IgnoreMerges = true
	if got, want := build(t, s).Encode(nil, "xyz"), []uint32{id}; !slices.Equal(got, want) {
		t.Errorf("ignoring merges: ids %v, want %v", got, want)
	}
	s.Literal = []uint32{id}
	if got, want := build(t, s).Encode(nil, "xyz"), []uint32{'x', 'y', 'z'}; !slices.Equal(got, want) {
		t.Errorf("a literal token matches: ids %v, want %v", got, want)
	}
}

// The Viterbi search finds what trying all cuts does.
func TestUnigramIsBest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		s := &vocab.Spec{Model: vocab.Unigram, Unknown: 0, Tokens: []string{"<unk>"}, Scores: []float64{0}}
		for range 20 {
			if text := randomText(rng, "abé", 1+rng.IntN(4)); !slices.Contains(s.Tokens, text) {
				s.Tokens, s.Scores = append(s.Tokens, text), append(s.Scores, -10*rng.Float64())
			}
		}
		tok := build(t, s)
		low := slices.Min(s.Scores) - 10
		for range 20 {
			text := []rune(randomText(rng, "abéx", 1+rng.IntN(9)))
			best := make([]float64, len(text)+1)
			for i := range text {
				best[i+1] = math.Inf(-1)
				for j := range i + 1 {
					score := math.Inf(-1)
					if id := slices.Index(s.Tokens, string(text[j:i+1])); id > 0 {
						score = s.Scores[id]
					} else if j == i {
						score = low
					}
					best[i+1] = max(best[i+1], best[j]+score)
				}
			}
			sum := 0.0
			unknown := 0
			for _, id := range tok.Encode(nil, string(text)) {
				if id == 0 {
					unknown++
				} else {
					sum += s.Scores[id]
				}
			}
			if chars := strings.Count(string(text), "x"); unknown == 0 && chars == 0 && math.Abs(sum-best[len(text)]) > 1e-9 {
				t.Fatalf("%q: score %v, want %v", string(text), sum, best[len(text)])
			} else if chars > 0 && unknown == 0 {
				t.Fatalf("%q: no unknown token", string(text))
			}
		}
	}
}

func TestWordPiece(t *testing.T) {
	t.Parallel()
	tok := build(t, &vocab.Spec{
		Model: vocab.WordPiece, Continuing: "##", MaxWord: 8,
		Tokens: []string{"[UNK]", "un", "##aff", "##able", "##a", "a"}, Cut: []vocab.Step{{Kind: vocab.Split, Text: " ", Behavior: vocab.Removed}},
		Decode: []vocab.Step{{Kind: vocab.Continue, Text: "##", Flag: true}},
	})
	for text, want := range map[string][]uint32{
		"unaff": {1, 2}, "unaffa a": {1, 2, 4, 5}, "unx un": {0, 1}, "unaffable": {0}, "": nil, "  ": nil,
	} {
		if got := tok.Encode(nil, text); !slices.Equal(got, want) {
			t.Errorf("%q: ids %v, want %v", text, got, want)
		}
	}
	if got := string(tok.Decode(nil, []uint32{1, 2, 4, 5}, false)); got != "unaffa a" {
		t.Errorf("decoded %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *vocab.Spec){
		"merge of no token":   func(s *vocab.Spec) { s.Merges[0].Left = 1 << 20 },
		"unknown of no token": func(s *vocab.Spec) { s.Unknown = 1 << 20 },
		"literal of no token": func(s *vocab.Spec) { s.Literal = []uint32{1 << 20} },
		"empty added token":   func(s *vocab.Spec) { s.Added[0].Text = "" },
		"id too high":         func(s *vocab.Spec) { s.Added[0].ID = vocab.MaxTokens },
		"id around too high":  func(s *vocab.Spec) { s.Before = []uint32{vocab.NoToken} },
		"model":               func(s *vocab.Spec) { s.Model = 9 },
		"scores missing":      func(s *vocab.Spec) { s.Model = vocab.Unigram },
		"score that is none": func(s *vocab.Spec) {
			s.Model = vocab.Unigram
			s.Scores = make([]float64, len(s.Tokens))
			s.Scores[7] = math.NaN()
		},
		"cutting normalizer": func(s *vocab.Spec) { s.Normalize = []vocab.Step{{Kind: vocab.Split, Text: "x"}} },
		"normalizing cutter": func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.NFC}} },
		"empty pattern":      func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Split}} },
		"no mark":            func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Metaspace}} },
		"two kinds of bytes": func(s *vocab.Spec) { s.Decode = append(s.Decode, vocab.Step{Kind: vocab.ByteFallback}) },
		"strip of the end": func(s *vocab.Spec) {
			s.Decode = []vocab.Step{{Kind: vocab.Fuse}, {Kind: vocab.Strip, Text: " ", Stop: 1}}
		},
		"too many steps":        func(s *vocab.Spec) { s.Normalize = make([]vocab.Step, vocab.MaxSteps+1) },
		"pattern not supported": func(s *vocab.Spec) { s.Cut = []vocab.Step{{Kind: vocab.Split, Text: `\b`, Regex: true}} },
	} {
		t.Run(name, func(t *testing.T) {
			s := bytesSpec()
			change(s)
			if _, err := vocab.New(s); !errors.Is(err, vocab.ErrVocabulary) && !errors.Is(err, split.ErrUnsupported) {
				t.Errorf("error %v, want one of ErrVocabulary or split.ErrUnsupported", err)
			}
		})
	}
}

func TestMergesOf(t *testing.T) {
	t.Parallel()
	tokens := []string{"a", "b", "ab", "ba", "aba"}
	find := func(text string) (uint32, bool) {
		i := slices.Index(tokens, text)
		return uint32(i), i >= 0
	}
	got, err := vocab.MergesOf(tokens, func(id uint32) (uint32, bool) { return id, id != 3 }, find)
	want := []vocab.Merge{{Left: 0, Right: 1, ID: 2, Rank: 2}, {Left: 0, Right: 3, ID: 4, Rank: 4}, {Left: 2, Right: 0, ID: 4, Rank: 4}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("merges %v, %v, want %v", got, err, want)
	}
}
