package cli

import (
	"bytes"
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"
)

// How the garbage collector is set. The runtime lets it run whenever the heap has doubled, and what a gateway holds
// is little beside what its requests leave behind: some 100 MB, against a megabyte for each long prompt.
const (
	headroom     = 512 << 20 // bytes of garbage that may gather, at least
	percentSteps = 50
	leastPercent = 100 // of what lives: the runtime's own setting
	mostPercent  = 1600
	collectEvery = 5 * time.Second
)

// percentFor is the setting of the collector, in percent of what lives, that leaves so much headroom.
func percentFor(live uint64) int {
	p := headroom * 100 / max(live, 1) / percentSteps * percentSteps
	return int(min(max(p, leastPercent), mostPercent))
}

// relaxCollector keeps the collector's setting to the headroom until stop is called, which sets it back. Within
// a container it works harder as the container's limit comes near. What the environment says (GOGC, GOMEMLIMIT)
// is left as it is.
func relaxCollector(ctx context.Context) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	if limit := containerLimit(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit - limit/10)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	now := percentFor(0)
	before := debug.SetGCPercent(now)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(collectEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			metrics.Read(live)
			if p := percentFor(live[0].Value.Uint64()); p != now { // to set it stops the world
				debug.SetGCPercent(p)
				now = p
			}
		}
	}()
	return func() {
		cancel()
		<-done
		debug.SetGCPercent(before)
	}
}

// containerLimit is the memory that a Linux container may have, in bytes; 0: there is no limit, or none is told.
func containerLimit() int64 {
	b, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil { // the word max
		return 0
	}
	return n
}
