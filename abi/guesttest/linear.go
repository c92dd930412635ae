package guesttest

import (
	"testing"
	"time"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// Sizes of law L4, in bytes, each twice the one before.
const (
	minLinear = 64 << 10
	maxLinear = 1 << 20
)

// Linear checks the part of law L4 that needs no clock: gen(n), a case of about n bytes, is fed in 4-byte
// chunks, and what is held stays within the bounds of L3, so that no call can look again at more than
// that. BenchLinear measures.
func Linear(t *testing.T, open func(tb testing.TB) host.Guest, gen func(n int) Case) {
	t.Helper()
	for n := minLinear; n <= maxLinear; n *= 4 {
		c := gen(n)
		c.Want = ""
		most := 0
		tr, err := run(open(t), c, Every(4), func(s *host.Stream, _ int) { most = max(most, s.Held()) })
		if err != nil {
			t.Fatalf("%d bytes: %v\ntrace begins:\n%.400s", len(c.Input), err, tr.trace())
		}
		if most > maxHeld {
			t.Fatalf("L4: %d bytes: %d held, at most %d", len(c.Input), most, maxHeld)
		}
	}
}

// BenchLinear measures law L4 as a benchmark: 64 KB to 1 MB in 4-byte chunks, the best of some runs each.
// It reports ns/B for the largest and fails where twice the input takes more than 2.2 times as long.
func BenchLinear(b *testing.B, open func(tb testing.TB) host.Guest, gen func(n int) Case) {
	b.Helper()
	const bound, repeats = 2.2, 5
	var last time.Duration
	for n := minLinear; n <= maxLinear; n *= 2 {
		c := gen(n)
		best := time.Duration(1<<63 - 1)
		for range repeats {
			d, err := timed(open(b), c)
			if err != nil {
				b.Fatal(err)
			}
			best = min(best, d)
		}
		if last > 0 {
			b.Logf("%7d bytes: %v, %.2f times the half", len(c.Input), best, float64(best)/float64(last))
			if float64(best) > bound*float64(last) {
				b.Errorf("L4: %d bytes take %v, half of it %v", len(c.Input), best, last)
			}
		}
		last = best
		b.ReportMetric(float64(best.Nanoseconds())/float64(len(c.Input)), "ns/B")
	}
}

// timed feeds c in 4-byte chunks to a sink that drops everything.
func timed(g host.Guest, c Case) (time.Duration, error) {
	s, err := host.Open(g, discard{}, c.Start.Append(nil))
	if err != nil {
		return 0, err
	}
	in := []byte(c.Input)
	sizes := pieces(c, Every(4))
	spans := c.Spans
	start := time.Now()
	pos := 0
	for _, n := range sizes {
		here := spans[:0:0]
		if len(spans) > 0 {
			here = within(spans, pos, n)
			spans = spans[len(here):]
		}
		if err := s.Feed(in[pos:pos+n], here, false); err != nil {
			return 0, err
		}
		pos += n
	}
	err = s.Finish(c.Why)
	return time.Since(start), err
}

type discard struct{}

func (discard) Accept([]record.Record, []byte) bool { return true }
func (discard) Record(record.Record, []byte) error  { return nil }
