package sandbox_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	"github.com/weirgate/weir/plugins/builtin"
)

// BenchmarkPrepare prepares the largest guest there is.
func BenchmarkPrepare(b *testing.B) {
	wasm := builtin.Wasm()
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		out, _, err := sandbox.Prepare(wasm, sandbox.DefaultLimits())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(out)), "bytes-out")
	}
}

// BenchmarkFeed is one feed of the built-in guest, as it is and with its meters.
func BenchmarkFeed(b *testing.B) {
	for _, c := range []struct {
		name, before, piece string
	}{
		{"text8", "So: ", "plain te"},
		{"json8", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": \"", "plain te"},
		{"text512", "So: ", strings.Repeat("plain te", 64)},
		{"json512", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": \"", strings.Repeat("plain te", 64)},
	} {
		for _, metered := range []bool{false, true} {
			name, wasm := c.name+"/plain", builtin.Wasm()
			if metered {
				name, wasm = c.name+"/metered", prepare(b, wasm)
			}
			b.Run(name, func(b *testing.B) {
				s := open(b, instance(b, engine(b), wasm), hermes)
				must(b, s.push(c.before))
				must(b, s.push(c.piece))
				for b.Loop() {
					if err := s.raw(len(c.piece)); err != nil {
						b.Fatal(err)
					}
				}
				if metered {
					b.ReportMetric(float64(s.used), "fuel/feed")
				}
			})
		}
	}
}
