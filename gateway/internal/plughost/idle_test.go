package plughost_test

import (
	"runtime"
	"testing"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/plugins/builtin"
)

// TestIdleStreamMemory: a stream between two deltas keeps its window and what is held, and no instance.
func TestIdleStreamMemory(t *testing.T) {
	const streams, most = 10_000, 1 << 10
	p := load(t, newHost(t, plughost.Options{CacheDir: once.cache}), builtin.Wasm())
	config := []byte(`{"reasoning":"qwen3","tools":"hermes"}`)
	open, guests := make([]*host.Stream, streams), make([]*plughost.Stream, streams)
	if _, err := p.Parser(config); err != nil { // whose first instance is nobody's
		t.Fatal(err)
	}
	quiesce(t, p)
	before := heap()
	for k := range open {
		g, err := p.Open("", config)
		if err != nil {
			t.Fatal(err)
		}
		guests[k] = g
		if open[k], err = host.Open(g, &discard{}, startBlock()); err != nil {
			t.Fatal(err)
		}
		if err := open[k].Feed([]byte("a marker may follow <"), nil, false); err != nil || open[k].Held() == 0 {
			t.Fatalf("held %d, %v", open[k].Held(), err)
		}
	}
	quiesce(t, p)
	each := (heap() - before) / streams
	t.Logf("%d bytes a stream, %d streams, %d instances", each, streams, p.Instances())
	if each > most {
		t.Errorf("%d bytes a stream, at most %d", each, most)
	}
	runtime.KeepAlive(open)
	for _, g := range guests {
		g.Close()
	}
}

// quiesce waits until a plugin without calls has no instance any more.
func quiesce(t *testing.T, p *plughost.Plugin) {
	t.Helper()
	await(t, "the end of idle instances", func() bool {
		p.Trim()
		runtime.GC()
		return p.Instances() == 0
	})
}
