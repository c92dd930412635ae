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

// Change tells that a name means another plugin from now on.
type Change struct {
	Name       string
	Old        *Plugin // nil when the name is new; it is retired after the notification
	New        *Plugin // nil when the name is gone
	Generation uint64  // of the name, counted up by each change
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
}

// Registry names the plugins that new streams use. Readers see immutable snapshots. It is safe for
// concurrent use.
type Registry struct {
	host   *Host
	notify func(Change)
	names  atomic.Pointer[map[string]named]
	status atomic.Pointer[[]fileStatus]

	mu          sync.Mutex        // guards what follows; held by whoever changes names
	reserved    map[string]string // name -> built-in that has it
	generations map[string]uint64
	files       map[string]*file
	dirErr      string // last trouble with the folder, so that it is told once
	closed      bool
}

type named struct {
	plugin     *Plugin
	generation uint64
	builtin    bool
}

// NewRegistry returns an empty registry. notify, which may be nil, is called for each change after new
// lookups see it and before the old version is retired, one call at a time; it must not call Scan,
// AddBuiltin or Close.
func NewRegistry(h *Host, notify func(Change)) *Registry {
	if notify == nil {
		notify = func(Change) {}
	}
	r := &Registry{
		host: h, notify: notify,
		reserved: map[string]string{}, generations: map[string]uint64{}, files: map[string]*file{},
	}
	r.names.Store(&map[string]named{})
	r.status.Store(&[]fileStatus{})
	return r
}

// AddBuiltin registers a plugin that nothing from a folder may replace, and reserves its name and the
// names of all formats and policies its manifest lists. Built-ins come before any Scan or Watch.
func (r *Registry) AddBuiltin(p *Plugin) error {
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

// Lookup returns the current version of a plugin, or an error that wraps ErrUnknown. A stream that
// finds the version retired by the time it begins looks again.
func (r *Registry) Lookup(name string) (*Plugin, error) {
	if e, ok := (*r.names.Load())[name]; ok {
		return e.plugin, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
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
		names[name].plugin.Retire()
	}
	for _, f := range r.files {
		f.dropAhead()
	}
	clear(r.files)
	r.publish()
}

// swap makes name mean p (nil: nothing), tells of it and retires what was there. r.mu is held.
func (r *Registry) swap(name string, p *Plugin, builtin bool) {
	old := *r.names.Load()
	next := maps.Clone(old)
	r.generations[name]++
	c := Change{Name: name, Old: old[name].plugin, New: p, Generation: r.generations[name]}
	if p == nil {
		delete(next, name)
	} else {
		next[name] = named{plugin: p, generation: c.Generation, builtin: builtin}
	}
	r.names.Store(&next)
	r.notify(c)
	id := []slog.Attr{slog.String("plugin", name), slog.Uint64("generation", c.Generation)}
	if p == nil {
		r.host.log.LogAttrs(context.Background(), slog.LevelInfo, "plugin removed", id...)
	} else {
		id = append(id, slog.String("version", p.Version), slog.String("digest", p.Digest), slog.String("origin", p.Origin))
		r.host.log.LogAttrs(context.Background(), slog.LevelInfo, "plugin loaded", id...)
	}
	if c.Old != nil {
		c.Old.Retire()
	}
}
