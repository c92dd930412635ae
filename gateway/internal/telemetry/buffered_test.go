package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgate/weir/gateway/internal/telemetry"
)

// batches keeps what was written, one write a string.
type batches struct {
	mu    sync.Mutex
	list  []string
	err   error
	block chan struct{} // if not nil, a write waits for it
}

func (b *batches) Write(p []byte) (int, error) {
	if b.block != nil {
		<-b.block
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	b.list = append(b.list, string(p))
	return len(p), nil
}

func (b *batches) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got, want := fmt.Sprintf("%q", b.list), fmt.Sprintf("%q", want); got != want {
		t.Errorf("written %s, want %s", got, want)
	}
}

func write(t *testing.T, w *telemetry.Buffered, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if n, err := w.Write([]byte(l)); n != len(l) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
}

func TestBufferedWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &batches{}
		w := telemetry.NewBuffered(out)
		time.Sleep(time.Hour)
		write(t, w, "a\n")
		time.Sleep(200 * time.Millisecond)
		write(t, w, "b\n")
		out.want(t)
		time.Sleep(50 * time.Millisecond) // since the first line
		out.want(t, "a\nb\n")
		write(t, w, "c\n")
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		out.want(t, "a\nb\n", "c\n")
		write(t, w, "d\n")
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		out.want(t, "a\nb\n", "c\n", "d\n")
		if _, err := w.Write([]byte("e")); err == nil {
			t.Error("a closed log takes lines")
		}
		time.Sleep(time.Hour)
		out.want(t, "a\nb\n", "c\n", "d\n")
	})
}

func TestBufferedIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &batches{}
		w := telemetry.NewBuffered(out)
		line, huge := strings.Repeat("x", 40<<10), strings.Repeat("y", 200<<10)
		write(t, w, line, line, huge, "z")
		out.want(t, line, line, huge)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out.want(t, line, line, huge, "z")
	})
}

func TestBufferedFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &batches{err: errors.New("disk full")}
		w := telemetry.NewBuffered(out)
		write(t, w, "lost")
		if err := w.Flush(); !errors.Is(err, out.err) {
			t.Errorf("Flush: %v", err)
		}
		write(t, w, "lost, by the timer")
		time.Sleep(time.Second)
		synctest.Wait()
		out.err = nil
		write(t, w, "there")
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		out.want(t, "there")
	})
}

// TestBufferedDoesNotBlock wants that a slow file holds up nobody who writes lines.
func TestBufferedDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &batches{block: make(chan struct{})}
		w := telemetry.NewBuffered(out)
		write(t, w, "a")
		time.Sleep(time.Second) // the timer's write hangs
		write(t, w, "b", "c")
		close(out.block)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out.want(t, "a", "bc")
	})
}

func TestLoudLinesAreFlushed(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			out := &batches{}
			w := telemetry.NewBuffered(out)
			log := telemetry.NewLogger(w, json, new(slog.LevelVar))
			log.InfoContext(t.Context(), "i")
			out.want(t)
			log.With(slog.String("a", "b")).WithGroup("g").WarnContext(t.Context(), "w", slog.Int("n", 1))
			log.InfoContext(t.Context(), "i")
			log.ErrorContext(t.Context(), "e")
			log.InfoContext(t.Context(), "i")
			synctest.Wait()
			if len(out.list) != 2 || strings.Count(out.list[0], "\n") != 2 || strings.Count(out.list[1], "\n") != 2 {
				t.Errorf("written %q", out.list)
			}
			if err := w.Close(); err != nil || len(out.list) != 3 {
				t.Errorf("%v, written %q", err, out.list)
			}
		})
	}
}

// TestBufferedHammer wants each line once and whole, those of one writer in order.
func TestBufferedHammer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := telemetry.NewBuffered(&out)
	var wg sync.WaitGroup
	const writers, each = 8, 3000
	pad := strings.Repeat(".", 100)
	for g := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := fmt.Fprintf(w, "%d %d %s\n", g, i, pad); err != nil {
					t.Error(err)
				}
				if i%500 == 0 {
					_ = w.Flush()
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var next [writers]int
	for line := range strings.Lines(out.String()) {
		var g, i int
		var p string
		if n, err := fmt.Sscanf(line, "%d %d %s\n", &g, &i, &p); n != 3 || err != nil || p != pad || i != next[g] {
			t.Fatalf("line %q, want line %d of its writer", line, next[g])
		}
		next[g]++
	}
	for g, n := range next {
		if n != each {
			t.Errorf("%d lines of writer %d", n, g)
		}
	}
}
