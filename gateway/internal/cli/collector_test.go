package cli

import (
	"context"
	"runtime/debug"
	"testing"
)

// TestPercentFor leaves the headroom beside what lives, and never less than the runtime would.
func TestPercentFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing", 0, 1600},
		{"a gateway without models", 25 << 20, 1600},
		{"some vocabularies", 100 << 20, 500},
		{"and many segments", 300 << 20, 150},
		{"as much as the headroom", 512 << 20, 100},
		{"more", 4 << 30, 100},
		{"all there is", ^uint64(0), 100},
	} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestRelaxCollector sets the collector back, and leaves alone what the environment says.
func TestRelaxCollector(t *testing.T) {
	current := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	before := current()
	ctx, cancel := context.WithCancel(t.Context())
	stop := relaxCollector(ctx)
	if got := current(); got != percentFor(0) {
		t.Errorf("set to %d, want %d", got, percentFor(0))
	}
	cancel()
	stop()
	if got := current(); got != before {
		t.Errorf("set back to %d, want %d", got, before)
	}
	t.Setenv("GOGC", "50")
	stop = relaxCollector(t.Context())
	if got := current(); got != before {
		t.Errorf("set to %d though GOGC is set", got)
	}
	stop()
}
