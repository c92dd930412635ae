package plughost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// ErrNotQuarantined is returned by Unquarantine for a plugin that serves.
var ErrNotQuarantined = errors.New("plugin is not quarantined")

// ErrNoPrevious is returned by Rollback where there is no version to go back to.
var ErrNoPrevious = errors.New("no earlier version")

// SetRules makes rules hold: for files from the next look at the folder on, which is taken anew, and for
// quarantines at once.
func (r *Registry) SetRules(rules Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reflect.DeepEqual(r.rules, rules) {
		return
	}
	r.rules = rules
	for name, e := range *r.names.Load() {
		r.guard(name, e)
	}
	for _, f := range r.files {
		f.taken = false
	}
}

// guard sets when the versions of a name are quarantined. A built-in never is: there is nothing to go back
// to, and the trouble of one model would be that of all. r.mu is held.
func (r *Registry) guard(name string, e named) {
	if e.builtin {
		return
	}
	limit := min(r.rules.limit(name), maxQuarantine)
	for _, p := range [...]*Plugin{e.plugin, e.previous} {
		if p != nil {
			p.health.watch(limit, func() { r.quarantined(name, p) })
		}
	}
}

// quarantined tells of a version that failed too often. It runs in the goroutine of the stream whose fault
// was one too many, so it takes no lock that loading a plugin holds.
func (r *Registry) quarantined(name string, p *Plugin) {
	serves := "none"
	if s, err := r.Lookup(name); err == nil {
		serves = s.Version
	}
	r.host.log.LogAttrs(context.Background(), slog.LevelError, "plugin quarantined", slog.String("plugin", name), slog.String("version", p.Version),
		slog.String("digest", p.Digest), slog.Int("faults", p.Faults()), slog.String("serving", serves))
	r.tell(Change{Name: name, Quarantined: p})
}

// Rollback makes the version before the current one serve. The current one is kept in its place, so that a
// second call takes the first one back; its file is not taken again until its content changes.
func (r *Registry) Rollback(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := (*r.names.Load())[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	case e.previous == nil:
		return fmt.Errorf("%w of %s to go back to", ErrNoPrevious, name)
	}
	defer r.publish()
	for _, f := range r.files {
		if f.plugin == e.plugin {
			// The file holds the one or the other of the two: a second rollback takes back what is said of it.
			f.plugin, f.state, f.err = e.previous, time.Now(), nil
			if f.undone = e.plugin.Digest; f.tried != e.previous.Digest {
				f.err = fmt.Errorf("%w: version %s was rolled back to %s, until the file changes", errUndone, e.plugin.Version, e.previous.Version)
			}
		}
	}
	r.put(name, named{plugin: e.previous, previous: e.plugin})
	return nil
}

// Unquarantine lets the current version of a plugin serve again.
func (r *Registry) Unquarantine(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := (*r.names.Load())[name]
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	if !e.plugin.Quarantined() {
		return fmt.Errorf("%w: %s %s", ErrNotQuarantined, name, e.plugin.Version)
	}
	e.plugin.health.release()
	r.put(name, e)
	return nil
}

// trimEvery is how often idle instances are looked for.
const trimEvery = 30 * time.Second

// Tend closes instances that were not used for a while, until ctx ends.
func (r *Registry) Tend(ctx context.Context) {
	t := time.NewTicker(trimEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.Trim()
		}
	}
}

// Trim closes the idle instances of all pools that were not used since the last call.
func (r *Registry) Trim() {
	for _, e := range *r.names.Load() {
		e.plugin.Trim()
		if e.previous != nil {
			e.previous.Trim()
		}
	}
}
