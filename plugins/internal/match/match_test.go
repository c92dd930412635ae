package match_test

import (
	"math/bits"
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
			if len(in) >= 2 && !tc.set.Begins(in[0], in[1]) {
				if at, id := slow(tc.texts, in, 0, false); at == 0 && id != match.None {
					t.Errorf("%q: missed a marker", in)
				}
			}
		}
	})
}

func TestBegins(t *testing.T) {
	s := match.New("<a", "[bc", "{")
	s.Watch('`')
	for in, want := range map[string]bool{"<a": true, "<b": true, "[b": true, "{x": true, "`x": true, "xa": true} {
		if got := s.Begins(in[0], in[1]); got != want {
			t.Errorf("%q: got %v", in, got)
		}
	}
	s = match.New("<a", "<b")
	for in, want := range map[string]bool{"<a": true, "<b": true, "<c": false, "< ": false, "<<": false, "ca": true} {
		if got := s.Begins(in[0], in[1]); got != want {
			t.Errorf("%q: got %v", in, got)
		}
	}
}

func TestStops(t *testing.T) {
	for _, tc := range []struct {
		name  string
		below byte
		bytes string
		ok    bool
	}{
		{"none", 0, "", true},
		{"one", 0, "<", true},
		{"three", 0, "<`\xe2", true},
		{"twice", 0, "<`<`<", true},
		{"with controls", ' ', "\"\\", true},
		{"too many", 0, "<`[{", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, ok := match.NewStops(tc.below, []byte(tc.bytes)...)
			if ok != tc.ok {
				t.Fatalf("%v, want %v", ok, tc.ok)
			}
			for c := range 256 {
				for place := range 8 {
					w := uint64(0x7f7e80fffe81a0c1)
					w = w&^(0xff<<(8*place)) | uint64(c)<<(8*place)
					stop := byte(c) < tc.below || strings.IndexByte(tc.bytes, byte(c)) >= 0 || tc.bytes == "" && c == 0
					if got := bits.TrailingZeros64(s.Marks(w)) / 8; ok && (stop && got != place || !stop && got != 8) {
						t.Fatalf("byte %#x at %d: the first mark is at %d", c, place, got)
					}
				}
			}
		})
	}
	set := match.New("<a", "<b")
	set.Watch('`')
	if s, ok := set.Stops('\n'); !ok || s.Marks('<') == 0 || s.Marks('`') == 0 || s.Marks('\n') == 0 || s.Marks('a') != 0 {
		t.Error("the stops of a set are wrong")
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
