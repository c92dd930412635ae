package plughost_test

import (
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// TestTime ends calls by what the clock says: a guest that is slow all the time, but not one whose processor was
// away for a while, however long.
func TestTime(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for _, c := range []struct {
		name  string
		fuel  int64
		takes []time.Duration // the slices, one after the other
		over  int             // the slice behind which it is
	}{
		{"usual code", 3_000_000, repeat(4*us, 300), -1},
		{"all loads miss", 3_000_000, repeat(300*us, 300), 8},
		{"as slow as can be", 3_000_000, repeat(1000*us, 300), 3},
		{"no longer than can be", 3_000_000, repeat(5000*us, 300), 3},
		{"away once, for long", 3_000_000, append([]time.Duration{time.Second}, repeat(4*us, 290)...), -1},
		{"away twice", 3_000_000, append([]time.Duration{20 * time.Millisecond, 4 * us, time.Second}, repeat(us, 290)...), -1},
		{"slow, of a small budget", 100_000, repeat(100*us, 9), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turn, now, got := plughost.Clock(c.fuel), time.Hour, -1
			for k, d := range append([]time.Duration{0}, c.takes...) {
				if now += d; turn(now, -1, sandbox.Slice) {
					got = k
					break
				}
			}
			if got != c.over {
				t.Errorf("over behind slice %d, want %d", got, c.over)
			}
		})
	}
	t.Run("bought on credit", func(t *testing.T) {
		t.Parallel()
		turn := plughost.Clock(3_000_000)
		if turn(0, -2_500_000, 2_510_000) {
			t.Fatal("over before it is done")
		}
		if turn(time.Millisecond, -1, sandbox.Slice) {
			t.Error("over though it took no more than it was worth")
		}
		if !turn(3*time.Millisecond, -1_500_000, sandbox.Slice) {
			t.Error("not over, with what is bought and not done")
		}
	})
}

func repeat(d time.Duration, n int) []time.Duration {
	out := make([]time.Duration, n)
	for k := range out {
		out[k] = d
	}
	return out
}

// TestLinear holds the memory of instances: it begins as zeros, keeps its place and content as it grows, refuses
// what is beyond its end, and may be given back twice.
func TestLinear(t *testing.T) {
	t.Parallel()
	const page = 64 << 10
	for _, most := range []uint64{page, 3 * page, 256 * page} {
		m := plughost.Linear().Allocate(page, most)
		first := m.Reallocate(page)
		if len(first) != page || cap(first) != page {
			t.Fatalf("%d bytes of %d, want %d", len(first), cap(first), page)
		}
		first[page-1] = 7
		for size := uint64(page); size <= most; size += page {
			b := m.Reallocate(size)
			switch {
			case uint64(len(b)) != size || &b[0] != &first[0] || b[page-1] != 7:
				t.Fatalf("grown to %d bytes: %d, or moved", size, len(b))
			case size > page && (b[size-1] != 0 || b[size-page] != 0):
				t.Fatalf("grown to %d bytes: not zero", size)
			}
			b[size-1] = 7
		}
		if b := m.Reallocate(most + page); b != nil {
			t.Errorf("grew beyond its end, to %d bytes", len(b))
		}
		m.Free()
		m.Free()
	}
	none := plughost.Linear().Allocate(0, 0)
	if b := none.Reallocate(0); len(b) != 0 || none.Reallocate(page) != nil {
		t.Error("a memory that may not grow did")
	}
	none.Free()
}
