package vocab_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	const start, end, think = 262, 263, 264
	tok := build(t, bytesSpec())
	for _, c := range []struct {
		name    string
		text    string
		spans   []vocab.Span
		markers []string
		want    []uint32 // control tokens and markers in order
	}{
		{"nothing untrusted", "<|start|>a<|end|>", nil, nil, []uint32{start, end}},
		{"all untrusted", "<|start|>a<|end|>", []vocab.Span{{0, 17}}, nil, nil},
		{"the forged one only", "<|start|>x<|end|>y<|end|>", []vocab.Span{{9, 18}}, nil, []uint32{start, end}},
		{"the last byte touches", "<|start|><|end|>", []vocab.Span{{8, 9}}, nil, []uint32{end}},
		{"beside is not touched", "<|start|>ab<|end|>", []vocab.Span{{9, 11}}, nil, []uint32{start, end}},
		{"across the border", "x<|star" + "t|>", []vocab.Span{{0, 7}}, nil, nil},
		{"an empty span", "<|start|>", []vocab.Span{{3, 3}}, nil, []uint32{start}},
		{"other added tokens stay", "<think>", []vocab.Span{{0, 7}}, nil, []uint32{think}},
		{"markers are guarded", "<think>", []vocab.Span{{0, 7}}, []string{"<think>", "no token"}, nil},
		{"a span out of UTF-8", "\xff\xff<|end|>\xff", []vocab.Span{{0, 2}, {9, 10}}, nil, []uint32{end}},
		{"a span out of UTF-8 that touches", "\xff\xff<|end|>\xff", []vocab.Span{{0, 3}}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &vocab.Guard{Untrusted: c.spans, Controls: tok.Controls(c.markers...)}
			ids := tok.EncodeGuarded(nil, c.text, g)
			var got []uint32
			for _, id := range ids {
				if id >= start {
					got = append(got, id)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("controls %v, want %v", got, c.want)
			}
			if got := string(tok.Decode(nil, ids, false)); got != strings.ReplaceAll(c.text, "\xff", "\ufffd") {
				t.Errorf("decoded %q, want %q", got, c.text)
			}
		})
	}
}

// A longer token that is kept out leaves a shorter one that may match.
func TestGuardLeavesShorter(t *testing.T) {
	t.Parallel()
	s := bytesSpec()
	s.Added = []vocab.Added{{ID: 300, Text: "<a>"}, {ID: 301, Text: "<a><b>", Special: true}}
	tok := build(t, s)
	g := &vocab.Guard{Untrusted: []vocab.Span{{3, 4}}, Controls: tok.Controls()}
	if got, want := tok.EncodeGuarded(nil, "<a><b>", g), []uint32{300, '<', 'b', '>'}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// Text under a guard is cut as ever: only control tokens differ.
func TestGuardDoesNotCut(t *testing.T) {
	t.Parallel()
	tok := build(t, bytesSpec())
	g := &vocab.Guard{Untrusted: []vocab.Span{{1, 2}}, Controls: tok.Controls()}
	if got, want := tok.EncodeGuarded(nil, "abc", g), tok.Encode(nil, "abc"); !slices.Equal(got, want) || len(got) != 1 {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// A control token is kept out too where the model itself would make it.
func TestGuardOfTheModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec *vocab.Spec
		want []uint32
	}{
		{"BPE", &vocab.Spec{Tokens: []string{"?", "<", "e", "<e"}, Merges: []vocab.Merge{{Left: 1, Right: 2, ID: 3}}}, []uint32{1, 2}},
		{"Unigram", &vocab.Spec{Model: vocab.Unigram, Tokens: []string{"?", "<", "e", "<e"}, Scores: []float64{0, -5, -5, -1}}, []uint32{1, 2}},
		{"WordPiece", &vocab.Spec{Model: vocab.WordPiece, Continuing: "##", Tokens: []string{"?", "<", "##e", "<e"}}, []uint32{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := build(t, c.spec)
			g := &vocab.Guard{Untrusted: []vocab.Span{{0, 2}}, Controls: tok.Controls("<e")}
			if got := tok.Encode(nil, "<e"); !slices.Equal(got, []uint32{3}) {
				t.Fatalf("ids %v, want the token", got)
			}
			if got := tok.EncodeGuarded(nil, "<e", g); !slices.Equal(got, c.want) {
				t.Errorf("ids %v, want %v", got, c.want)
			}
		})
	}
}

// Behind a normalizer offsets have moved: a stretch with an untrusted byte has no control token at all.
func TestGuardBehindNormalizer(t *testing.T) {
	t.Parallel()
	s := bytesSpec()
	s.Normalize = []vocab.Step{{Kind: vocab.Lowercase}}
	s.Added = []vocab.Added{{ID: 300, Text: "<END>", Special: true, Normalized: true}}
	tok := build(t, s)
	g := &vocab.Guard{Untrusted: []vocab.Span{{0, 1}}, Controls: tok.Controls()}
	if got := tok.EncodeGuarded(nil, "X<end>", g); slices.Contains(got, 300) {
		t.Errorf("ids %v have the control token", got)
	}
	if got := tok.EncodeGuarded(nil, "x<end>", g); !slices.Contains(got, 300) {
		t.Errorf("ids %v lack the control token of a text that normalization does not change", got)
	}
}

// conversation is a random text of turns with many parts that come again.
func conversation(rng *rand.Rand) string {
	parts := []string{"<|start|>", "<|end|>", "<think>", strings.Repeat("abc ab ", 20), strings.Repeat("x漢 ", 30), "ab", " ", "<|", "\n\n", "<|x|>"}
	var b strings.Builder
	for range 1 + rng.IntN(20) {
		b.WriteString(parts[rng.IntN(len(parts))])
	}
	return b.String()
}

func randomSpans(rng *rand.Rand, n int) []vocab.Span {
	var spans []vocab.Span
	for at := 0; at < n && len(spans) < 5; {
		from := at + rng.IntN(n-at)
		to := from + rng.IntN(min(n-from, 40)+1)
		spans, at = append(spans, vocab.Span{From: from, To: to}), to+1
	}
	return spans
}

// list is ids as the elements of a JSON array.
func list(ids []uint32) []byte {
	var text []byte
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, uint64(id), 10)
	}
	return text
}

// The cache gives what encoding gives, and the text of that, under any guard, however small it is: where markers
// stand apart, and where they overlap or take blanks.
func TestCache(t *testing.T) {
	t.Parallel()
	plain := bytesSpec()
	for i := range plain.Added {
		plain.Added[i].Special = false
	}
	cached(t, build(t, plain))
	for _, more := range [][]vocab.Added{nil, {{Text: "<|<|start|>"}, {Text: "k><|"}}, {{Text: "<|x|>", Special: true, LeftStrip: true}}} {
		spec := bytesSpec()
		for _, a := range more {
			a.ID = uint32(len(spec.Tokens) + len(spec.Added))
			spec.Added = append(spec.Added, a)
		}
		cached(t, build(t, spec))
	}
}

func cached(t *testing.T, tok *vocab.Tokenizer) {
	t.Helper()
	controls := tok.Controls("<think>")
	for _, limit := range []int{0, 8 << 10, 1 << 20} {
		cache := tok.NewCache(limit)
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(worker), 9))
				for range 300 {
					text := conversation(rng)
					var g *vocab.Guard
					if rng.IntN(2) == 0 {
						g = &vocab.Guard{Untrusted: randomSpans(rng, len(text)), Controls: controls}
					}
					want := tok.EncodeGuarded([]uint32{7}, text, g)
					var got vocab.Encoded
					said := string(list(want))
					if tok.Append(&got, 7); rng.IntN(2) == 0 {
						got.IDs = cache.Encode(got.IDs, text, g)
					} else {
						cache.EncodeText(&got, text, g)
						said = joined(&got)
					}
					if !slices.Equal(got.IDs, want) || said != string(list(want)) {
						t.Errorf("cache of %d bytes: %q: ids %v, %s, want %v", limit, text, got.IDs, said, want)
						return
					}
				}
			})
		}
		wg.Wait()
		if n := cache.Bytes(); n > limit {
			t.Errorf("the cache holds %d bytes, want at most %d", n, limit)
		}
	}
}

// Once the words of a text are known, its thousand tokens cost no allocation. Working memory may have to
// be made anew.
func TestNoAllocationsPerToken(t *testing.T) {
	tok := build(t, bytesSpec())
	text := strings.Repeat("<|start|>abc ab x漢 <think> "+strings.Repeat("y", 30)+"<|end|>\n", 50)
	ids := tok.Encode(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = tok.Encode(ids[:0], text) }); n > 5 {
		t.Errorf("%v allocations for %d tokens, want none", n, len(ids))
	}
}

// FuzzGuard: no control token touches an untrusted byte, the text stays whole, and the cache agrees.
func FuzzGuard(f *testing.F) {
	f.Add("<|start|>a<|end|>", 2, 5)
	f.Add("<|<|start|>\xff漢<think>", 0, 3)
	tok := build(f, bytesSpec())
	controls, cache := tok.Controls("<think>"), tok.NewCache(1<<16)
	f.Fuzz(func(t *testing.T, text string, from, size int) {
		from = min(max(from, 0), len(text))
		span := vocab.Span{From: from, To: min(from+max(size, 0)%64, len(text))}
		g := &vocab.Guard{Untrusted: []vocab.Span{span}, Controls: controls}
		ids := tok.EncodeGuarded(nil, text, g)
		valid := string([]rune(text))
		if got := string(tok.Decode(nil, ids, false)); got != valid {
			t.Fatalf("decoded %q, want %q", got, valid)
		}
		var e vocab.Encoded
		for range 2 { // the second time as remembered
			e.Reset()
			if cache.EncodeText(&e, text, g); !slices.Equal(e.IDs, ids) || joined(&e) != string(list(ids)) {
				t.Fatalf("the cache gives %v, %s, want %v", e.IDs, joined(&e), ids)
			}
		}
		if valid != text {
			return
		}
		at := 0
		for _, id := range ids {
			token, _ := tok.Token(id)
			if controls.Has(id) && at < span.To && at+len(token) > span.From && span.From < span.To {
				t.Fatalf("%q at %d touches %v", token, at, span)
			}
			at += len(token)
		}
	})
}
