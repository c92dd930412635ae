package plughost_test

import (
	"testing"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// discard is a sink that only counts.
type discard struct{ n int }

func (*discard) Accept([]record.Record, []byte) bool { return true }

func (d *discard) Record(_ record.Record, b []byte) error { d.n += len(b); return nil }

func benchFeed(b *testing.B, p *plughost.Parser, text string) {
	b.Helper()
	s, err := host.Open(p, &discard{}, startBlock())
	if err != nil {
		b.Fatal(err)
	}
	piece := []byte(text)
	b.SetBytes(int64(len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Feed(piece, nil, false); err != nil {
			b.Fatal(err)
		}
	}
	if s.Fault() != nil {
		b.Fatal(s.Fault())
	}
}

func BenchmarkFeed8(b *testing.B) {
	b.Run("tiny", func(b *testing.B) { benchFeed(b, parser(b, newHost(b, plughost.Options{}), tiny{}.wasm()), "8 bytes.") })
	b.Run("go", func(b *testing.B) { benchFeed(b, toggle(b, plughost.Options{}), "8 bytes.") })
}

func BenchmarkFeed512(b *testing.B) {
	text := make([]byte, 512)
	b.Run("tiny", func(b *testing.B) {
		benchFeed(b, parser(b, newHost(b, plughost.Options{}), tiny{}.wasm()), string(text))
	})
	b.Run("go", func(b *testing.B) { benchFeed(b, toggle(b, plughost.Options{}), string(text)) })
}

func BenchmarkFeed8Parallel(b *testing.B) {
	p := toggle(b, plughost.Options{})
	b.RunParallel(func(pb *testing.PB) {
		s, err := host.Open(p, &discard{}, startBlock())
		if err != nil {
			b.Error(err)
			return
		}
		piece := []byte("8 bytes.")
		for pb.Next() {
			if err := s.Feed(piece, nil, false); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	wasm := toggleWasm(b)
	h := newHost(b, plughost.Options{CacheDir: once.cache})
	for b.Loop() {
		p, err := h.Load(b.Context(), "", wasm, "bench")
		if err != nil {
			b.Fatal(err)
		}
		p.Retire()
	}
}
