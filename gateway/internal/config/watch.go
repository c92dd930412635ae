package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Times of the watcher: how often it looks, and for how long a file must stay as it is before it is read,
// so that a file that is still being written is left alone.
const (
	pollEvery = 100 * time.Millisecond
	holdFor   = 200 * time.Millisecond
)

// Watcher keeps a file's configuration current. All its methods may be called concurrently.
type Watcher struct {
	path    string
	opts    Options
	apply   func(*Config) error
	report  func(error)
	current atomic.Pointer[Config]

	mu  sync.Mutex // serialises reloads; guards sum
	sum [32]byte   // of the content that was looked at last, good or bad
}

// Watch loads a file and returns a watcher of it. On every later change apply is called with the new
// configuration before Current gives it, and may refuse it. Report is called once for each outcome of a
// reload that nobody asked for: nil when a new configuration holds, else what was wrong with the one
// that was not taken. Both are called one at a time. Nothing happens until Run or Reload is called.
func Watch(path string, o Options, apply func(*Config) error, report func(error)) (*Watcher, error) {
	w := &Watcher{path: path, opts: o, apply: apply, report: report}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, data, o)
	if err != nil {
		return nil, err
	}
	w.sum = sha256.Sum256(data)
	w.current.Store(c)
	return w, nil
}

// Current returns the configuration that holds.
func (w *Watcher) Current() *Config { return w.current.Load() }

// Reload reads the file now. On any error what held before still holds.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := readFile(w.path)
	if err != nil {
		return err
	}
	return w.take(data)
}

// take makes data the configuration that holds. The caller has the lock.
func (w *Watcher) take(data []byte) error {
	w.sum = sha256.Sum256(data)
	c, err := Parse(w.path, data, w.opts)
	if err != nil {
		return err
	}
	if err := Diff(w.Current(), c); err != nil {
		return err
	}
	if err := w.apply(c); err != nil {
		return fmt.Errorf("configuration %s: %w", w.path, err)
	}
	w.current.Store(c)
	return nil
}

// changed reloads where the content is not that of the last look.
func (w *Watcher) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := readFile(w.path)
	if err == nil {
		if sha256.Sum256(data) == w.sum {
			return
		}
		err = w.take(data)
	}
	w.report(err)
}

// Run looks at the file until ctx ends, and takes every change that has held still for 200 ms. Size, time
// and identity of the file are what it goes by, so a renamed or relinked file counts as changed.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var settled, seen os.FileInfo // what was read last; what stands there now
	var gone bool
	var since time.Time
	// The first look may come after a change that Watch did not see, so it counts as one; the content
	// decides.
	for {
		info, err := os.Stat(w.path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			// Editors and mounts take a file away for a moment; only one that stays away is told.
			if !gone {
				gone, since, seen = true, time.Now(), nil
			} else if settled != nil && time.Since(since) >= holdFor {
				settled = nil
				w.report(fmt.Errorf("configuration: %w", err))
			}
		case err != nil || same(info, settled):
			gone, seen = false, nil
		case !same(info, seen):
			gone, seen, since = false, info, time.Now()
		case time.Since(since) >= holdFor:
			settled, seen = info, nil
			w.changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// Diff refuses a change of what is settled when the process starts. The error is Faults of the new file.
func Diff(old, next *Config) error {
	var fs Faults
	for _, s := range []struct {
		table, key string
		of         func(*Config) string
	}{
		{"server", "listen", func(c *Config) string { return c.Server.Listen }},
		{"server", "admin", func(c *Config) string { return c.Server.Admin }},
		{"server", "state_dir", func(c *Config) string { return c.Server.StateDir }},
		{"log", "format", func(c *Config) string { return string(c.Log.Format) }},
		{"plugins", "dir", func(c *Config) string { return c.Plugins.Dir }},
		{"plugins", "cache_dir", func(c *Config) string { return c.Plugins.CacheDir }},
		{"plugins", "max_memory", func(c *Config) string { return formatSize(c.Plugins.MaxMemory) }},
		{"plugins", "max_sticky", func(c *Config) string { return show(c.Plugins.MaxSticky) }},
		{"memory", "turns", func(c *Config) string { return formatSize(c.Memory.Turns) }},
		{"memory", "ledger", func(c *Config) string { return formatSize(c.Memory.Ledger) }},
		{"store", "path", func(c *Config) string { return c.Store.Path }},
		{"store", "max", func(c *Config) string { return formatSize(c.Store.Max) }},
		{"store", "ttl", func(c *Config) string { return formatDuration(c.Store.TTL) }},
		{"plugins", "watch", func(c *Config) string { return show(c.Plugins.Watch) }},
	} {
		if was, is := s.of(old), s.of(next); was != is {
			o := origin{file: next.origin.file, path: s.table}
			if next.origin.at != nil {
				o.at = next.origin.at.kid(s.table)
			}
			fs = append(fs, o.fault(s.key, showText(is), showText(was)+" as when weir started: restart to change it"))
		}
	}
	return fs.or()
}
