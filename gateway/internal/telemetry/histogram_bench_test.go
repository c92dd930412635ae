package telemetry

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkObserve compares the turn's own counting with a histogram of the library that all turns share.
func BenchmarkObserve(b *testing.B) {
	b.Run("own", func(b *testing.B) {
		var h gapHistogram
		b.RunParallel(func(pb *testing.PB) {
			var g gaps
			for pb.Next() {
				g.observe(8*time.Millisecond, 1)
				if g.pending == flushEvery {
					h.take(&g)
				}
			}
		})
	})
	b.Run("library", func(b *testing.B) {
		bounds := make([]float64, len(gapBounds))
		for i, d := range gapBounds {
			bounds[i] = d.Seconds()
		}
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Buckets: bounds})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				h.Observe((8 * time.Millisecond).Seconds())
			}
		})
	})
}
