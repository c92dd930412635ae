package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway"
)

// patience is how long a test waits for what must come; it is never what a test measures.
const patience = 2 * time.Minute

// options are the parts of a test's configuration that differ from the usual one: model "sim" on the
// simulated engine without any pace, model "double" on a scripted one.
type options struct {
	server  string // further lines of [server]
	plugins string // of [plugins]
	engine  string // of the scripted engine
	double  string // of model "double"
	sim     string // of model "sim"
	more    string // further tables
	tenants string // instead of the tenant that takes any key
	wrap    func(http.Handler) http.Handler
	script  []enginetest.Script
}

// world is a gateway that runs, with what stands around it.
type world struct {
	tb      testing.TB
	gw      *gateway.Gateway
	url     string
	http    *http.Client
	double  *enginetest.Double
	engine  string // base URL of the scripted engine
	file    string
	plugins string // the folder
	log     *logs
	opt     options
}

// start serves a gateway's handler until the test ends; nothing watches its files.
func start(tb testing.TB, o options) *world {
	tb.Helper()
	w := newWorld(tb, o)
	srv := httptest.NewServer(w.gw.Handler())
	w.url = srv.URL
	tb.Cleanup(func() {
		w.http.CloseIdleConnections()
		w.gw.Close() // sockets end, so that the server can
		srv.Close()
	})
	return w
}

// run runs a gateway as the command does. stop ends it and returns when Run has.
func run(tb testing.TB, o options) (w *world, stop func() error) {
	tb.Helper()
	w = newWorld(tb, o)
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- w.gw.Run(ctx, func(addr, _ string) { ready <- addr }) }()
	select {
	case addr := <-ready:
		w.url = "http://" + addr
	case err := <-done:
		cancel()
		tb.Fatal(err)
	}
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return fmt.Errorf("still running after %v", patience)
		}
	})
	tb.Cleanup(func() {
		w.http.CloseIdleConnections()
		if err := stop(); err != nil {
			tb.Error(err)
		}
		w.gw.Close()
	})
	return w, stop
}

func newWorld(tb testing.TB, o options) *world {
	tb.Helper()
	dir := tb.TempDir()
	w := &world{
		tb: tb, opt: o, file: filepath.Join(dir, "weir.toml"), plugins: filepath.Join(dir, "plugins"),
		double: enginetest.NewDouble(o.script...), http: &http.Client{Transport: &http.Transport{}}, log: &logs{},
	}
	if err := os.Mkdir(w.plugins, 0o700); err != nil {
		tb.Fatal(err)
	}
	var engine http.Handler = w.double
	if o.wrap != nil {
		engine = o.wrap(engine)
	}
	srv := httptest.NewServer(engine)
	tb.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	w.engine = srv.URL + "/v1"
	w.configure(o)
	if err := once.warm(); err != nil {
		tb.Fatal(err)
	}
	gw, err := gateway.New(tb.Context(), gateway.Options{
		ConfigFile: w.file, Listen: "127.0.0.1:0", Admin: "off", Version: "test",
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		tb.Fatal(err)
	}
	w.gw = gw
	return w
}

// configure writes the configuration file.
func (w *world) configure(o options) {
	w.tb.Helper()
	tenants := o.tenants
	if tenants == "" {
		tenants = "[[tenants]]\nname = \"all\"\nany_key = true\n"
	}
	text := fmt.Sprintf(`
[server]
%s
[plugins]
dir = %q
cache_dir = %q
%s
[engines.sim]
kind = "sim"
prefill_tps = 0
overhead = "0s"
token_time = "0s"
[engines.double]
kind = "openai"
url = %q
%s
[[models]]
id = "sim"
engines = ["sim"]
family = "qwen3"
reasoning = "qwen3"
tools = "hermes"
policy = "qwen3"
%s
[[models]]
id = "double"
engines = ["double"]
family = "qwen3"
reasoning = "qwen3"
tools = "hermes"
policy = "qwen3"
%s
%s
%s
`, o.server, w.plugins, once.cache, o.plugins, w.engine, o.engine, o.sim, o.double, o.more, tenants)
	w.write(text)
}

// write puts a text in place of the configuration file, whole.
func (w *world) write(text string) {
	w.tb.Helper()
	tmp := w.file + ".new"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.Rename(tmp, w.file); err != nil {
		w.tb.Fatal(err)
	}
}

// request makes a request whose body may be empty.
func (w *world) request(method, path, body string, header ...string) *http.Request {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.tb.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.tb.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return r
}

// send does a request. The body is closed with the test.
func (w *world) send(r *http.Request) *http.Response {
	w.tb.Helper()
	resp, err := w.http.Do(r)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.tb.Cleanup(func() { resp.Body.Close() })
	return resp
}

// do sends a request and reads its answer whole.
func (w *world) do(r *http.Request) (*http.Response, []byte) {
	w.tb.Helper()
	resp := w.send(r)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.tb.Fatal(err)
	}
	return resp, b
}

// post is do for a POST.
func (w *world) post(path, body string, header ...string) (*http.Response, []byte) {
	w.tb.Helper()
	return w.do(w.request(http.MethodPost, path, body, header...))
}

// frames posts and reads a stream to its end.
func (w *world) frames(path, body string, header ...string) []frame {
	w.tb.Helper()
	return w.open(path, body, header...).rest()
}

// open posts and returns the stream that must come.
func (w *world) open(path, body string, header ...string) *stream {
	w.tb.Helper()
	resp := w.send(w.request(http.MethodPost, path, body, header...))
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream; charset=utf-8" {
		b, _ := io.ReadAll(resp.Body)
		w.tb.Fatalf("status %d, %s: %s", resp.StatusCode, kind, b)
	}
	return newStream(w.tb, resp)
}

// ask streams a turn on a surface.
func (w *world) ask(s surface, body string, header ...string) answer {
	w.tb.Helper()
	return s.read(w.tb, w.frames(s.path, body, header...))
}

// prompt is the one prompt that the scripted engine has got since the last look.
func (w *world) prompt() string {
	w.tb.Helper()
	got := w.double.Requests()
	if len(got) != 1 {
		w.tb.Fatalf("the engine got %d requests, want 1", len(got))
	}
	return field(w.tb, got[0].Body, "prompt")
}

// gone waits until the scripted engine sees that its client left.
func (w *world) gone() {
	w.tb.Helper()
	select {
	case <-w.double.Gone():
	case <-time.After(patience):
		w.tb.Fatal("the engine's request was not cancelled")
	}
}

// eventually waits until f says yes.
func eventually(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !f(); <-tick.C {
		if time.Now().After(end) {
			tb.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// logs keeps a log.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// untilEngine gives a request a context that ends as soon as the scripted engine has got it.
func (w *world) untilEngine(r *http.Request) *http.Request {
	w.tb.Helper()
	w.double.Requests()
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		for end := time.Now().Add(patience); len(w.double.Requests()) == 0 && time.Now().Before(end); {
			wait := time.NewTimer(5 * time.Millisecond)
			<-wait.C
		}
	}()
	w.tb.Cleanup(func() {
		cancel()
		<-done
	})
	return r.WithContext(ctx)
}

// defaultWorld serves the embedded default, with folders of the test's own.
func defaultWorld(tb testing.TB) *world {
	tb.Helper()
	dir := tb.TempDir()
	if err := once.warm(); err != nil {
		tb.Fatal(err)
	}
	gw, err := gateway.New(tb.Context(), gateway.Options{LookupEnv: func(name string) (string, bool) {
		switch name {
		case "XDG_DATA_HOME", "HOME":
			return dir, true
		case "XDG_CACHE_HOME":
			return once.dir, true
		}
		return "", false
	}})
	if err != nil {
		tb.Fatal(err)
	}
	srv := httptest.NewServer(gw.Handler())
	w := &world{tb: tb, gw: gw, url: srv.URL, http: &http.Client{Transport: &http.Transport{}}}
	tb.Cleanup(func() {
		w.http.CloseIdleConnections()
		gw.Close()
		srv.Close()
	})
	return w
}
