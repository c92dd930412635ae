package plughost_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

func TestRetire(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{})
	p := parser(t, h, tiny{}.wasm())
	g, err := p.Stream()
	if err != nil {
		t.Fatal(err)
	}
	p.Plugin().Retire()
	p.Plugin().Retire()
	_, err = p.Stream()
	wantErr(t, err, plughost.ErrRetired, "plugin tiny 1")
	_, err = p.Plugin().Parser([]byte("other"))
	wantErr(t, err, plughost.ErrRetired, "plugin tiny 1")
	if got, fault := parse(t, g, "drains"); got != `text "drains"` || fault != nil {
		t.Errorf("the stream that runs: %s, %v", got, fault)
	}
	if h.Live() != 1 {
		t.Errorf("%d live", h.Live())
	}
	g.Close()
	if h.Live() != 0 {
		t.Errorf("%d live after the last stream", h.Live())
	}
	wantErr(t, p.Feed(&host.Call{Window: make([]byte, 16)}), plughost.ErrRetired, "retired")
}

func TestReloadsLeaveNothing(t *testing.T) {
	h := newHost(t, plughost.Options{CacheDir: filepath.Join(t.TempDir(), "cache")})
	wasm := tiny{}.wasm()
	round := func() {
		p, err := h.Load(context.Background(), "tiny", wasm, "test")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Parser(nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := r.Stream()
		if err != nil {
			t.Fatal(err)
		}
		p.Retire()
		if got, fault := parse(t, g, "a", "b"); got != `text "ab"` || fault != nil {
			t.Fatalf("%s, %v", got, fault)
		}
		g.Close()
	}
	round()
	goroutines := runtime.NumGoroutine()
	heap := heapNow()
	for range 200 {
		round()
	}
	if n := h.Live(); n != 0 {
		t.Errorf("%d runtimes are left", n)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	// One runtime is more than 300 KB; 200 of them would be 60 MB.
	if grown := int64(heapNow()) - int64(heap); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func heapNow() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestCacheDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "cache")
	h := newHost(t, plughost.Options{CacheDir: dir})
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", st.Mode(), err)
	}
	load(t, h, tiny{}.wasm())
	var entries []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			entries = append(entries, path)
		}
		return err
	})
	if err != nil || len(entries) != 1 {
		t.Fatalf("cache holds %v, %v", entries, err)
	}
	// A damaged entry must not refuse the plugin.
	if err := os.WriteFile(entries[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, h, tiny{}.wasm())
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = plughost.New(plughost.Options{CacheDir: open})
	wantErr(t, err, fs.ErrPermission, "want 0700")
	_, err = plughost.New(plughost.Options{CacheDir: entries[0]})
	if err == nil || errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file as cache: %v", err)
	}
}
