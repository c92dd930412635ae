package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// shared is what is made once for the whole test binary.
type shared struct {
	dir   string
	cache string // compiled plugins
	mu    sync.Mutex
	wasm  map[string][]byte // guests built so far, by version
}

var once shared

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	once.dir, once.cache, once.wasm = dir, filepath.Join(dir, "cache"), map[string][]byte{}
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

// guestWasm builds the plugin of testdata under a name and version.
func guestWasm(tb testing.TB, name, version string) []byte {
	tb.Helper()
	once.mu.Lock()
	defer once.mu.Unlock()
	key := name + "@" + version
	if b := once.wasm[key]; b != nil {
		return b
	}
	out := filepath.Join(once.dir, key+".wasm")
	flags := "-ldflags=-s -w -buildid= -X main.name=" + name + " -X main.version=" + version
	c := exec.CommandContext(tb.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", flags, "-o", out, "./testdata/plugin")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("build the plugin: %v: %s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	once.wasm[key] = b
	return b
}
