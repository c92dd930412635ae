package plughost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrUnknown is wrapped by Lookup for a name that no plugin has.
var ErrUnknown = errors.New("no such plugin")

// Change tells that a name means another plugin from now on, or that what it means was quarantined.
type Change struct {
	Name string
	// Quarantined is the version that failed too often, in a notification of its own: Old and New are nil
	// then, and the version before it serves, if there is one.
	Quarantined *Plugin
	Old         *Plugin // nil when the name is new; it is retired after the notification
	New         *Plugin // nil when the name is gone
	Generation  uint64  // of the name, counted up by each change
}

// Status is one plugin or one file that is none.
type Status struct {
	Name       string // empty for a file that never loaded
	Version    string
	Digest     string
	Origin     string // path, or what the built-in was called
	Builtin    bool
	Generation uint64
	Streams    int       // holds on the current version
	Err        string    // why the file's present content is refused; an older version may still serve
	Since      time.Time // when this came to be so; zero for built-ins
	Faults     int       // reported of the current version
	// Quarantined says that the current version failed too often. Previous then serves, if there is one.
	Quarantined bool
	Serving     string // version that new streams get; empty for none
	Previous    string // version before the current one, which is kept to go back to; empty for none
	PreviousSum string // its digest
}

// Registry names the plugins that new streams use. Readers see immutable snapshots. It is safe for
// concurrent use.
type Registry struct {
	host   *Host
	notify func(Change)
	tells  sync.Mutex // held while notify runs
	names  atomic.Pointer[map[string]named]
	status atomic.Pointer[[]fileStatus]

	mu          sync.Mutex // guards what follows; held by whoever changes names
	rules       Rules
	bad         *blocked
	reserved    map[string]string // name -> built-in that has it
	generations map[string]uint64
	files       map[string]*file
	dirErr      string // last trouble with the folder, so that it is told once
	closed      bool
}

type named struct {
	plugin     *Plugin
	previous   *Plugin // kept to go back to; nil for none
	generation uint64
	builtin    bool
}

// serving is the version that new streams get: the previous one while the current one is quarantined. It is
// nil if that cannot be.
func (n named) serving() *Plugin {
	switch {
	case !n.plugin.Quarantined():
		return n.plugin
	case n.previous != nil && !n.previous.Quarantined():
		return n.previous
	}
	return nil
}

// NewRegistry returns an empty registry. notify, which may be nil, is called for each change after new
// lookups see it and before the old version is retired, one call at a time; it must not call Scan,
// AddBuiltin or Close.
func NewRegistry(h *Host, notify func(Change)) *Registry {
	if notify == nil {
		notify = func(Change) {}
	}
	r := &Registry{
		host: h, notify: notify, rules: Rules{Quarantine: DefaultQuarantine}, bad: &blocked{},
		reserved: map[string]string{}, generations: map[string]uint64{}, files: map[string]*file{},
	}
	r.names.Store(&map[string]named{})
	r.status.Store(&[]fileStatus{})
	return r
}

// AddBuiltin registers a plugin that nothing from a folder may replace, and reserves its name and the
// names of all formats and policies its manifest lists. Built-ins come before any Scan or Watch.
func (r *Registry) AddBuiltin(p *Plugin) error {
	p.trusted.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("plugin %s: registry is closed", p.Name)
	}
	if old, ok := (*r.names.Load())[p.Name]; ok {
		return fmt.Errorf("plugin %s: the name belongs to %s already", p.Name, old.plugin.Origin)
	}
	m := &p.Manifest
	for _, name := range slices.Concat([]string{p.Name}, m.Families, m.Reasoning, m.Tools, m.Policies) {
		if owner, ok := r.reserved[name]; ok && owner != p.Name {
			return fmt.Errorf("plugin %s: the name %q is reserved by %s", p.Name, name, owner)
		}
	}
	for _, name := range slices.Concat([]string{p.Name}, m.Families, m.Reasoning, m.Tools, m.Policies) {
		r.reserved[name] = p.Name
	}
	r.swap(p.Name, p, true)
	return nil
}

// Lookup returns the version of a plugin that serves, or an error that wraps ErrUnknown or ErrQuarantined. A
// stream that finds the version retired by the time it begins looks again.
func (r *Registry) Lookup(name string) (*Plugin, error) {
	e, ok := (*r.names.Load())[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	if p := e.serving(); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: %s %s", ErrQuarantined, name, e.plugin.Version)
}

// Acquire looks a plugin up and holds it, over a swap that happens in between.
func (r *Registry) Acquire(name string) (*Plugin, error) {
	for {
		p, err := r.Lookup(name)
		if err != nil {
			return nil, err
		}
		err = p.Acquire()
		if err == nil {
			return p, nil
		}
		if again, lost := r.Lookup(name); lost == nil && again == p {
			return nil, err // retired by its owner, not replaced
		}
	}
}

// Generation is the number of the change that gave a name its meaning; 0 means that it has none.
func (r *Registry) Generation(name string) uint64 { return (*r.names.Load())[name].generation }

// Status lists all plugins by name, and then the refused files by path.
func (r *Registry) Status() []Status {
	var out []Status
	files := *r.status.Load()
	names := *r.names.Load()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		e := names[name]
		s := Status{
			Name: name, Version: e.plugin.Version, Digest: e.plugin.Digest, Origin: e.plugin.Origin,
			Builtin: e.builtin, Generation: e.generation, Streams: e.plugin.Holders(),
			Faults: e.plugin.Faults(), Quarantined: e.plugin.Quarantined(),
		}
		if p := e.serving(); p != nil {
			s.Serving = p.Version
		}
		if e.previous != nil {
			s.Previous, s.PreviousSum = e.previous.Version, e.previous.Digest
		}
		for _, f := range files {
			if f.plugin == e.plugin {
				s.Err, s.Since = f.err, f.since
			}
		}
		out = append(out, s)
	}
	for _, f := range files {
		if f.plugin == nil && f.err != "" {
			out = append(out, Status{Origin: f.path, Err: f.err, Since: f.since})
		}
	}
	return out
}

// Close retires all plugins. Streams that hold one run on.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	names := *r.names.Load()
	r.names.Store(&map[string]named{})
	for _, name := range slices.Sorted(maps.Keys(names)) {
		names[name].retire()
	}
	for _, f := range r.files {
		f.dropAhead()
	}
	clear(r.files)
	r.publish()
}

// retire retires both versions.
func (n named) retire() {
	if n.previous != nil {
		n.previous.Retire()
	}
	if n.plugin != nil {
		n.plugin.Retire()
	}
}

// swap makes name mean p (nil: nothing), tells of it and retires what is not kept: the version before p stays
// to go back to, or the one before that if it is quarantined. r.mu is held.
func (r *Registry) swap(name string, p *Plugin, builtin bool) {
	e := (*r.names.Load())[name]
	var previous *Plugin
	if p != nil && e.plugin != nil {
		if previous = e.serving(); previous != nil && r.rules.permits(previous) != nil && !builtin {
			previous = nil
		}
	}
	r.put(name, named{plugin: p, previous: previous, builtin: builtin})
	for _, old := range [...]*Plugin{e.plugin, e.previous} {
		if old != nil && old != previous && old != p {
			old.Retire()
		}
	}
	if previous != nil {
		previous.Trim() // what is not used by the second call is let go
	}
}

// put makes name mean e, and tells of it. r.mu is held.
func (r *Registry) put(name string, e named) {
	old := *r.names.Load()
	next := maps.Clone(old)
	r.generations[name]++
	e.generation = r.generations[name]
	c := Change{Name: name, Old: old[name].plugin, New: e.plugin, Generation: e.generation}
	id := []slog.Attr{slog.String("plugin", name), slog.Uint64("generation", c.Generation)}
	if e.plugin == nil {
		delete(next, name)
	} else {
		next[name] = e
		r.guard(name, e)
	}
	r.names.Store(&next)
	r.tell(c)
	if e.plugin == nil {
		r.host.log.LogAttrs(context.Background(), slog.LevelInfo, "plugin removed", id...)
		return
	}
	id = append(id, slog.String("version", e.plugin.Version), slog.String("digest", e.plugin.Digest), slog.String("origin", e.plugin.Origin))
	r.host.log.LogAttrs(context.Background(), slog.LevelInfo, "plugin loaded", id...)
}

// tell notifies, one call at a time.
func (r *Registry) tell(c Change) {
	r.tells.Lock()
	defer r.tells.Unlock()
	r.notify(c)
}
