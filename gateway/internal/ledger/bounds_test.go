package ledger_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/ledger"
)

// ids are n tokens that differ with seed.
func ids(seed, n int) []uint32 {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	out := make([]uint32, n)
	for i := range out {
		out[i] = r.Uint32() >> 14
	}
	return out
}

func session(i int) ledger.Key { return ledger.Key{Tenant: "t", Session: strconv.Itoa(i)} }

// TestMemory fills a small ledger: tokens go before keys, and keys before the bound is passed.
func TestMemory(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	l := ledger.New(ledger.Options{MaxBytes: limit})
	base := ids(0, 20_000)
	for i := range 20 {
		l.Observe(&ledger.Prompt{Key: session(i), IDs: base})
		if got := l.Stats().Bytes; got > limit {
			t.Fatalf("%d bytes after %d prompts", got, i)
		}
	}
	if n := l.Stats().Keys; n != 20 {
		t.Errorf("%d keys, want all: their hashes are small", n)
	}
	more := append(ids(0, 20_000), 1)
	if r := l.Observe(&ledger.Prompt{Key: session(19), IDs: more}); r.Shared != 20_000 || !r.Exact {
		t.Errorf("shared %d, exact %v: the last key has its tokens", r.Shared, r.Exact)
	}
	if r := l.Observe(&ledger.Prompt{Key: session(0), IDs: more}); r.Shared != 20_000/64*64 || r.Exact || r.Cause != ledger.None {
		t.Errorf("shared %d, exact %v, %v: the first key has its hashes", r.Shared, r.Exact, r.Cause)
	}
	if r := l.Observe(&ledger.Prompt{Key: session(0), IDs: more}); r.Shared != 20_001 || !r.Exact {
		t.Errorf("shared %d, exact %v: it has tokens again", r.Shared, r.Exact)
	}
	for i := range 2000 {
		l.Observe(&ledger.Prompt{Key: session(i), IDs: base[:1000+i]})
		if got := l.Stats().Bytes; got > limit {
			t.Fatalf("%d bytes after %d prompts", got, i)
		}
	}
	if n := l.Stats().Keys; n < 100 || n > 1500 {
		t.Errorf("%d keys", n)
	}
	if r := l.Observe(&ledger.Prompt{Key: session(0), IDs: base}); r.Cause != ledger.First {
		t.Errorf("%v: the first key is long gone", r.Cause)
	}
}

// TestHugePrompt wants one that is larger than the ledger to leave it usable.
func TestHugePrompt(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	l := ledger.New(ledger.Options{MaxBytes: limit})
	for i := range 3 {
		r := l.Observe(&ledger.Prompt{Key: session(0), IDs: ids(0, 200_000)})
		if i > 0 && r.Shared != 200_000 {
			t.Errorf("shared %d", r.Shared)
		}
		l.Append(r.Ref, ledger.Answer{IDs: ids(1, 100_000)})
	}
	l = ledger.New(ledger.Options{MaxBytes: 8 << 10})
	for range 3 {
		l.Observe(&ledger.Prompt{Key: session(0), IDs: ids(0, 200_000)})
		if s := l.Stats(); s.Bytes > 8<<10 || s.Keys > 1 {
			t.Errorf("%+v", s)
		}
	}
}

// TestSharedMemory wants a conversation to take the memory of its longest prompt, about.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	all := ids(0, 40_000)
	for n := 1000; n <= len(all); n += 300 {
		if r := l.Observe(&ledger.Prompt{Key: key, IDs: all[:n]}); n > 1000 && r.Shared != n-300 {
			t.Fatalf("shared %d of %d", r.Shared, n)
		}
	}
	// Branches off the end share all but their own.
	for i := range 20 {
		l.Observe(&ledger.Prompt{Key: key, IDs: append(all[:39_000:39_000], ids(i+1, 1000)...)})
	}
	if got, want := l.Stats().Bytes, 4*len(all)+8*(8*len(all)/64+2*4*1100); got > want {
		t.Errorf("%d bytes, want at most %d", got, want)
	}
}

func TestHostileParts(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	text := prose(1, 100)
	for _, parts := range [][]ledger.Part{
		{{Kind: ledger.User, Start: -1, End: 5}},
		{{Kind: ledger.User, Start: 5, End: 1 << 40}},
		{{Kind: ledger.User, Start: 10, End: 20}, {Kind: ledger.System, Start: 5, End: 15}},
		{{Kind: ledger.Kind(99), Message: -1, Part: 1 << 40, Start: 0, End: 3}},
		{{Kind: ledger.User, Start: 10, End: 20}, {Kind: ledger.User, Start: 15, End: 12}, {Kind: ledger.User, Start: 12, End: 1000}},
		nil,
	} {
		for _, p := range []*ledger.Prompt{{Text: text, Parts: parts}, {IDs: ids(1, 300), Parts: parts}, {Parts: parts}} {
			p.Key = key
			if r := l.Observe(p); r.Shared > r.Tokens || r.Expected > r.Shared {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestConcurrent hammers a few keys of a ledger that is always short of memory.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	l := ledger.New(ledger.Options{MaxBytes: limit, Prompts: 3, Anonymous: 5})
	base := ids(0, 6000)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			for i := range 200 {
				p := &ledger.Prompt{Key: session(r.IntN(6)), IDs: base[:r.IntN(len(base))]}
				if i%5 == 0 {
					p.Key.Session = ""
				}
				rep := l.Observe(p)
				if rep.Shared > len(p.IDs) {
					t.Errorf("shared %d of %d", rep.Shared, len(p.IDs))
				}
				if i%3 == 0 {
					l.Append(rep.Ref, ledger.Answer{IDs: ids(w, 100)})
				}
				if i%50 == 0 {
					_ = l.Stats()
				}
			}
		})
	}
	wg.Wait()
	var n uint64
	s := l.Stats()
	for c := range ledger.Causes() {
		n += s.Prompts[c]
	}
	if n != 1600 || s.Bytes > limit || s.Bytes < 0 {
		t.Errorf("%d prompts, %d bytes", n, s.Bytes)
	}
	// A prompt whose hashes alone are too much takes everything with it, and the account must come out even.
	l.Observe(&ledger.Prompt{Key: key, IDs: ids(0, 2<<20)})
	if s := l.Stats(); s.Bytes != 0 || s.Keys != 0 {
		t.Errorf("%d bytes in %d keys", s.Bytes, s.Keys)
	}
}

// TestDeterministic wants reports not to depend on the seed of the hashes.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	var want []ledger.Report
	for run := range 3 {
		l := ledger.New(ledger.Options{})
		var got []ledger.Report
		for _, s := range append(append(frame(), history()...), side()...) {
			for i, req := range s.turns {
				var st style
				if n := len(s.styles); n > 0 {
					st = s.styles[min(i, n-1)]
				}
				r := l.Observe(render(t, l, key, req, st))
				r.Ref = ledger.Ref{}
				got = append(got, r)
			}
		}
		if run == 0 {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("run %d, prompt %d: %+v, then %+v", run, i, want[i], got[i])
			}
		}
	}
}
