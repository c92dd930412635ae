package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gapBounds are the upper bounds of the buckets of inter-token times: an engine on a GPU takes 2 to 50 ms
// a token, a CPU up to a second.
var gapBounds = [...]time.Duration{
	1 * time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 7 * time.Millisecond,
	10 * time.Millisecond, 15 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// gaps counts inter-token times within one turn. It belongs to the turn's goroutine, so that a token costs
// neither an atomic operation nor a lock; a model's histogram takes it in one go.
type gaps struct {
	buckets [len(gapBounds) + 1]uint32
	sum     time.Duration
	pending int
}

// flushEvery is after how many deltas a turn's gaps are handed over, so that a long turn is seen while it
// runs.
const flushEvery = 256

// observe counts n gaps of d/n each.
func (g *gaps) observe(d time.Duration, n int) {
	each := d / time.Duration(n)
	i := 0
	for i < len(gapBounds) && each > gapBounds[i] {
		i++
	}
	g.buckets[i] += uint32(n)
	g.sum += d
	g.pending++
}

// gapHistogram is the histogram of one model.
type gapHistogram struct {
	buckets [len(gapBounds) + 1]atomic.Uint64
	sum     atomic.Int64 // nanoseconds
}

// take adds a turn's gaps and empties them.
func (h *gapHistogram) take(g *gaps) {
	for i, n := range g.buckets {
		if n > 0 {
			h.buckets[i].Add(uint64(n))
		}
	}
	h.sum.Add(int64(g.sum))
	*g = gaps{}
}

// metric gives the histogram as it is now. Its buckets are read one by one, so a turn that is handed over
// meanwhile may be in some of them only; the count is that of the buckets.
func (h *gapHistogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	cumulative := make(map[float64]uint64, len(gapBounds))
	var n uint64
	for i := range h.buckets {
		n += h.buckets[i].Load()
		if i < len(gapBounds) {
			cumulative[gapBounds[i].Seconds()] = n
		}
	}
	return prometheus.MustNewConstHistogram(desc, n, time.Duration(h.sum.Load()).Seconds(), cumulative, labels...)
}

// gapCollector has the histograms of all sets of labels.
type gapCollector struct {
	desc *prometheus.Desc
	mu   sync.Mutex // guards of
	of   map[Labels]*gapHistogram
}

// histogram returns that of a set of labels, whose number is bounded by the caller.
func (c *gapCollector) histogram(l Labels) *gapHistogram {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.of[l]
	if h == nil {
		h = &gapHistogram{}
		c.of[l] = h
	}
	return h
}

// Describe sends the one description.
func (c *gapCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect sends all histograms.
func (c *gapCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, h := range c.of {
		out <- h.metric(c.desc, l.Surface, l.Model, l.Tenant)
	}
}

var _ prometheus.Collector = (*gapCollector)(nil)
