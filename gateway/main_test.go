package gateway_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/plugins/builtin"
)

// shared is what is made once for the whole test binary.
type shared struct {
	dir   string
	cache string                 // compiled plugins
	warm  func() error           // compiles the built-in guest into the cache
	guest func() ([]byte, error) // builds the plugin of testdata
}

var once shared

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	once.dir, once.cache = dir, filepath.Join(dir, "weir") // where $XDG_CACHE_HOME/weir would be
	once.guest = sync.OnceValues(buildGuest)
	once.warm = sync.OnceValue(func() error { return compile(builtin.Wasm()) })
	before := runtime.NumGoroutine()
	code := m.Run()
	if code == 0 {
		if text := leaked(before); text != "" {
			fmt.Fprintf(os.Stderr, "goroutines outlive the tests:\n%s\n", text)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// compile loads a plugin once for its compiled code, so that gateways which start side by side do not all
// compile it.
func compile(wasm []byte) error {
	h, err := plughost.New(plughost.Options{CacheDir: once.cache})
	if err != nil {
		return err
	}
	p, err := h.Load(context.Background(), "", wasm, "cache")
	if err != nil {
		return err
	}
	p.Retire()
	return nil
}

// leaked waits until no more goroutines run than before the tests, and returns the stacks of those that
// still do after a while.
func leaked(before int) string {
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			return string(buf[:runtime.Stack(buf, true)])
		}
		wait := time.NewTimer(20 * time.Millisecond)
		<-wait.C
	}
	return ""
}

// buildGuest builds the plugin of testdata and compiles it into the cache.
func buildGuest() ([]byte, error) {
	out := filepath.Join(once.dir, "plugin.wasm")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "./testdata/plugin")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the plugin: %w: %s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return b, compile(b)
}

// guestWasm is the plugin of testdata.
func guestWasm(tb testing.TB) []byte {
	tb.Helper()
	b, err := once.guest()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
