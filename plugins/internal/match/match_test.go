package match_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/plugins/internal/match"
)

func TestFind(t *testing.T) {
	s := match.New("<think>", "</think>", "<tool_call>", "<tool_calls>", "", "[X]")
	for _, tc := range []struct {
		name, in string
		from     int
		final    bool
		at, id   int
	}{
		{"empty", "", 0, false, 0, match.None},
		{"none", "plain text", 0, false, 10, match.None},
		{"first", "a<think>b</think>", 0, false, 1, 0},
		{"from", "a<think>b</think>", 2, false, 9, 1},
		{"from-past-the-end", "ab", 3, false, 2, match.None},
		{"partial", "a<thi", 0, false, 1, match.Partial},
		{"partial-final", "a<thi", 0, true, 5, match.None},
		{"lone-byte", "a<", 0, false, 1, match.Partial},
		{"not-partial", "a<thx", 0, false, 5, match.None},
		{"after-a-false-start", "<<think>", 0, false, 1, 0},
		{"in-a-false-start", "<thi<think>", 0, false, 4, 0},
		{"other-first-byte", "a[X]<think>", 0, false, 1, 5},
		{"longer-undecided", "<tool_call", 0, false, 0, match.Partial},
		{"shorter", "<tool_call>", 0, false, 0, 2},
		{"longer", "<tool_calls>", 0, false, 0, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if at, id := s.Find([]byte(tc.in), tc.from, tc.final); at != tc.at || id != tc.id {
				t.Errorf("got %d, %d, want %d, %d", at, id, tc.at, tc.id)
			}
		})
	}
}

func TestLongestOfTwo(t *testing.T) {
	s := match.New("ab", "abc")
	for in, want := range map[string]int{"ab": match.Partial, "abc": 1, "abd": 0} {
		if _, id := s.Find([]byte(in), 0, false); id != want {
			t.Errorf("%q: got %d, want %d", in, id, want)
		}
	}
	if s.At(nil, false) != match.Partial || s.At(nil, true) != match.None {
		t.Error("nothing at all")
	}
	if _, id := s.Find([]byte("ab"), 0, true); id != 0 {
		t.Errorf("at the end: got %d, want 0", id)
	}
}

// FuzzFind compares with a search that looks for every marker at every byte.
func FuzzFind(f *testing.F) {
	texts := []string{"<think>", "</think>", "<t", "<tool_call>", "ab"}
	one, many := match.New(texts[:4]...), match.New(texts...)
	f.Add("x<think>", 0, false)
	f.Add(strings.Repeat("y", 100)+"<tool_cal", 3, true)
	f.Fuzz(func(t *testing.T, in string, from int, final bool) {
		if from < 0 || from > len(in) {
			return
		}
		for _, tc := range []struct {
			set   *match.Set
			texts []string
		}{{one, texts[:4]}, {many, texts}} {
			at, id := tc.set.Find([]byte(in), from, final)
			wantAt, wantID := slow(tc.texts, in, from, final)
			if at != wantAt || id != wantID {
				t.Errorf("%q from %d, final %v: got %d, %d, want %d, %d", in, from, final, at, id, wantAt, wantID)
			}
		}
	})
}

func TestMisses(t *testing.T) {
	for _, texts := range [][]string{{"<a"}, {"<a", "[b"}, {"<a", "[b", "{c"}, {"<a", "[b", "{c", "(d"}, nil} {
		s := match.New(texts...)
		s.Watch('`')
		for n := range 20 {
			clean := strings.Repeat("\x00x\xff", 7)[:n]
			if !s.Misses([]byte(clean)) {
				t.Errorf("%q: %q has none of them", texts, clean)
			}
			for i := range n {
				for _, m := range append([]string{"`"}, texts...) {
					dirty := clean[:i] + m[:1] + clean[i+1:]
					if s.Misses([]byte(dirty)) {
						t.Errorf("%q: missed one in %q", texts, dirty)
					}
				}
			}
		}
	}
}

func slow(texts []string, in string, from int, final bool) (int, int) {
	for at := from; at < len(in); at++ {
		best := match.None
		for id, m := range texts {
			rest := in[at:]
			if !final && len(rest) < len(m) && strings.HasPrefix(m, rest) {
				return at, match.Partial
			}
			if strings.HasPrefix(rest, m) && (best < 0 || len(m) > len(texts[best])) {
				best = id
			}
		}
		if best >= 0 {
			return at, best
		}
	}
	return len(in), match.None
}

func BenchmarkFind(b *testing.B) {
	s := match.New("<think>", "</think>", "<tool_call>", "</tool_call>")
	for _, text := range []string{"8 bytes.", strings.Repeat("the quick brown fox ", 25), strings.Repeat("<thin", 100)} {
		b.Run("", func(b *testing.B) {
			in := []byte(text)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				s.Find(in, 0, false)
			}
		})
	}
}
