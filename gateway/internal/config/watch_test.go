package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/config"
)

// watched is a file under watch and what came of it.
type watched struct {
	*config.Watcher
	path    string
	refuse  error
	applied []string // log levels
	reports chan error
}

func watch(t *testing.T, text string) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "weir.toml"), reports: make(chan error, 16)}
	w.write(t, text)
	var err error
	w.Watcher, err = config.Watch(w.path, options(t), func(c *config.Config) error {
		if w.refuse == nil {
			w.applied = append(w.applied, c.Log.Level)
		}
		return w.refuse
	}, func(err error) { w.reports <- err })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// write puts the file there in one step, as editors and mounts do.
func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	tmp := w.path + ".new"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, w.path); err != nil {
		t.Fatal(err)
	}
}

// run starts the watcher and ends it with the test.
func (w *watched) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func (w *watched) report(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.reports:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("no report")
		return nil
	}
}

func level(l string) string { return "[log]\nlevel = \"" + l + "\"\n" }

func TestReload(t *testing.T) {
	t.Parallel()
	w := watch(t, level("info"))
	for _, tt := range []struct {
		name, text, wantErr, wantLevel string
		refuse                         error
	}{
		{"good", level("debug"), "", "debug", nil},
		{"the same again", level("debug"), "", "debug", nil},
		{"bad value", level("loud"), "log.level: got \"loud\"", "debug", nil},
		{"not TOML", "[log", "syntax: ", "debug", nil},
		{"fixed setting", "[server]\nlisten = \"127.0.0.1:1\"", "restart to change it", "debug", nil},
		{"refused", level("warn"), "no such plugin", "debug", errors.New("no such plugin")},
		{"good after bad", level("error"), "", "error", nil},
	} {
		w.write(t, tt.text)
		w.refuse = tt.refuse
		before := w.Current()
		err := w.Reload()
		if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.wantErr)
		}
		if err != nil && w.Current() != before {
			t.Errorf("%s: the configuration changed all the same", tt.name)
		}
		if got := w.Current().Log.Level; got != tt.wantLevel {
			t.Errorf("%s: level %s, want %s", tt.name, got, tt.wantLevel)
		}
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(); !errors.Is(err, os.ErrNotExist) || w.Current().Log.Level != "error" {
		t.Errorf("no file: got %v", err)
	}
}

func TestRunTakesChanges(t *testing.T) {
	t.Parallel()
	w := watch(t, level("info"))
	w.run(t)
	w.write(t, level("debug"))
	if err := w.report(t); err != nil || w.Current().Log.Level != "debug" {
		t.Fatalf("good change: %v, level %s", err, w.Current().Log.Level)
	}
	w.write(t, level("loud"))
	var faults config.Faults
	if err := w.report(t); !errors.As(err, &faults) || faults[0].Line != 2 || w.Current().Log.Level != "debug" {
		t.Fatalf("bad change: %v, level %s", err, w.Current().Log.Level)
	}
	// Back to what holds is a change of the file, taken and told.
	w.write(t, level("debug"))
	if err := w.report(t); err != nil {
		t.Fatalf("back again: %v", err)
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if err := w.report(t); !errors.Is(err, os.ErrNotExist) || w.Current().Log.Level != "debug" {
		t.Fatalf("no file: %v", err)
	}
	w.write(t, level("warn"))
	if err := w.report(t); err != nil || w.Current().Log.Level != "warn" {
		t.Fatalf("file again: %v", err)
	}
}

// TestRunIgnoresSameContent touches the file, then changes it: only the change is told.
func TestRunIgnoresSameContent(t *testing.T) {
	t.Parallel()
	w := watch(t, level("info"))
	w.write(t, level("info"))
	w.run(t)
	w.write(t, level("info"))
	w.write(t, level("debug"))
	if err := w.report(t); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-w.reports:
		t.Errorf("a second report: %v", err)
	default:
	}
	if strings.Join(w.applied, " ") != "debug" {
		t.Errorf("applied %v", w.applied)
	}
}

// TestRunSeesChangeBeforeIt changes the file between Watch and Run.
func TestRunSeesChangeBeforeIt(t *testing.T) {
	t.Parallel()
	w := watch(t, level("info"))
	w.write(t, level("debug"))
	w.run(t)
	if err := w.report(t); err != nil || w.Current().Log.Level != "debug" {
		t.Fatalf("got %v, level %s", err, w.Current().Log.Level)
	}
}

// TestReloadHammer reads and reloads from many sides.
func TestReloadHammer(t *testing.T) {
	t.Parallel()
	w := watch(t, level("info"))
	w.run(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := w.Reload(); err != nil {
					t.Error(err)
				}
				if w.Current().Resolve("weir/sim") == nil {
					t.Error("half a configuration")
				}
			}
		})
	}
	wg.Wait()
}

func TestWatchRefusesBadStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.toml")
	if _, err := config.Watch(path, options(t), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, []byte("x = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Watch(path, options(t), nil, nil); err == nil {
		t.Error("bad file: no error")
	}
}
