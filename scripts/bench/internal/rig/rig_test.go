package rig_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// Roles of this program when a test starts it again.
const (
	roleServer = "server"
	roleWorker = "worker"
	roleBroken = "broken" // says something and leaves
	roleDeaf   = "deaf"   // a server that hears neither its input nor a signal
	roleParent = "parent" // runs a deaf server, says where, and stays
)

func TestMain(m *testing.M) {
	if len(os.Args) != 3 {
		os.Exit(m.Run())
	}
	var err error
	switch os.Args[1] {
	case roleServer:
		err = rig.Serve(context.Background(), os.Stdin, os.Stdout, serve)
	case roleDeaf:
		signal.Ignore(syscall.SIGTERM)
		silence, _ := io.Pipe()
		err = rig.Serve(context.Background(), silence, os.Stdout, serve)
	case roleWorker:
		err = rig.Work(os.Stdin, os.Stdout, func(n *int) int {
			for i := range 50_000_000 { // so that it takes time
				*n += i & 1
			}
			return *n
		})
	case roleBroken:
		err = errors.New("no table " + os.Args[2])
	case roleParent:
		err = parent()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, ln net.Listener) error {
	s := &http.Server{Handler: http.NotFoundHandler()}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func parent() error {
	r, err := rig.New("parent", os.Stderr)
	if err != nil {
		return err
	}
	p, err := r.Server(context.Background(), roleDeaf, nil)
	if err != nil {
		return err
	}
	_ = os.RemoveAll(r.Dir()) // which it will not come to
	fmt.Println(p.Addr)
	select {}
}

func newRig(t *testing.T, log io.Writer) *rig.Rig {
	t.Helper()
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else what ends seems to hang under the race detector
	r, err := rig.New("test", log)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ended waits until nobody listens any more.
func ended(t *testing.T, addr string) {
	t.Helper()
	for {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			return
		}
		c.Close()
		time.Sleep(10 * time.Millisecond)
	}
}

func TestProcesses(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, &log)
	server, err := r.Server(t.Context(), roleServer, "x")
	if err != nil {
		t.Fatal(err)
	}
	worker, err := r.Worker(t.Context(), roleWorker, "x")
	if err != nil {
		t.Fatal(err)
	}
	var got int
	work := func() error { return worker.Do(20, &got) }
	if runtime.GOOS == "linux" {
		spent, err := rig.Spent(work, worker, server)
		if err != nil || len(spent) != 2 || spent[0] <= 0 || spent[0] < spent[1] {
			t.Errorf("the worker and the idle server spent %v, error %v", spent, err)
		}
	} else if err := work(); err != nil {
		t.Error(err)
	}
	if got != 25_000_020 {
		t.Errorf("got %d", got)
	}
	if _, err := rig.Spent(func() error { return io.ErrNoProgress }); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("work that fails: %v", err)
	}
	r.Close()
	ended(t, server.Addr)
	if _, err := os.Stat(r.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("said %s", log.String())
	}
}

// TestFailures wants to read why a process did not start.
func TestFailures(t *testing.T) {
	r := newRig(t, io.Discard)
	defer r.Close()
	if _, err := r.Server(t.Context(), roleBroken, "of gauges"); err == nil || !strings.Contains(err.Error(), `no table "of gauges"`) {
		t.Errorf("got %v", err)
	}
	if err := r.Explain(io.EOF); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "broken said: ...no table") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Start(t.Context(), "missing", filepath.Join(r.Dir(), "missing")); err == nil {
		t.Error("a missing program starts")
	}
	if _, err := r.Weir(t.Context(), filepath.Join(r.Dir(), "missing"), ""); err == nil {
		t.Error("a missing weir starts")
	}
	if path, err := r.Build(t.Context(), "given"); path != "given" || err != nil {
		t.Errorf("built %s, %v", path, err)
	}
}

// TestDeaf wants an end by force where nothing else helps.
func TestDeaf(t *testing.T) {
	if testing.Short() {
		t.Skip("force comes after seconds")
	}
	var log bytes.Buffer
	r := newRig(t, &log)
	p, err := r.Server(t.Context(), roleDeaf, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	ended(t, p.Addr)
	if !strings.HasPrefix(log.String(), "test: deaf: signal: killed") {
		t.Errorf("said %q", log.String())
	}
}

// TestOrphans kills a benchmark, whose processes must not stay behind.
func TestOrphans(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel ends orphans on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, roleParent, "x")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	ended(t, strings.TrimSpace(addr))
}

func TestRounds(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, &log)
	defer r.Close()
	var order []int
	add := func(i int) error {
		order = append(order, i)
		return nil
	}
	if err := r.Rounds(t.Context(), "load", 3, 3, add); err != nil || !slices.Equal(order, []int{0, 1, 2, 2, 1, 0, 0, 1, 2}) {
		t.Errorf("order %v, error %v", order, err)
	}
	if !strings.HasSuffix(log.String(), "test: load: round 3 of 3\n") {
		t.Errorf("said %s", log.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := r.Rounds(ctx, "load", 2, 2, func(i int) error {
		cancel()
		return io.EOF
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if err := r.Rounds(ctx, "load", 2, 2, add); !errors.Is(err, context.Canceled) || len(order) != 9 {
		t.Errorf("got %v after %d", err, len(order))
	}
}

func TestWorkRefusesNonsense(t *testing.T) {
	if err := rig.Work(strings.NewReader(`1 "x"`), io.Discard, func(n *int) int { return *n }); err == nil {
		t.Error("a job that is none is done")
	}
	if err := rig.Work(strings.NewReader("1 2"), io.Discard, func(n *int) int { return *n }); err != nil {
		t.Error(err)
	}
}

// TestProxy posts through the proxy to a server that answers before it has read the request.
func TestProxy(t *testing.T) {
	listen := func(serve func(context.Context, net.Listener) error) string {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- serve(ctx, ln) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return ln.Addr().String()
	}
	to := listen(serve)
	via := listen(func(ctx context.Context, ln net.Listener) error { return rig.Proxy(ctx, ln, to) })
	for _, size := range []int{0, 1, 300_000} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+via, bytes.NewReader(make([]byte, size)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound || string(body) != "404 page not found\n" {
			t.Errorf("%d bytes: %s %q, error %v", size, resp.Status, body, err)
		}
	}
}
