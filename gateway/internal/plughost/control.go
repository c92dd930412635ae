package plughost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
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
	for _, f := range r.files {
		f.dropAhead()
		f.taken = false
	}
	for name, e := range maps.Clone(*r.names.Load()) {
		if e.builtin {
			continue
		}
		r.recheck(e.plugin)
		if e.previous != nil {
			r.recheck(e.previous)
		}
		r.enforce(name, e)
	}
	r.publish()
}

// recheck looks for the signature of a plugin whose file was taken when no key was asked for, or another.
func (r *Registry) recheck(p *Plugin) {
	if r.rules.trusts(p.signer) {
		return
	}
	b, err := read(p.Origin, r.host.o.Limits.Size)
	if err != nil || digestOf(b) != p.Digest {
		return
	}
	if key, err := r.rules.signed(p.Origin, b); err == nil {
		p.signer = key
	}
}

// enforce takes away the versions of a name that the rules forbid.
func (r *Registry) enforce(name string, e named) {
	keep := e
	if e.previous != nil && r.rules.permits(e.previous) != nil {
		keep.previous = nil
	}
	if r.rules.permits(e.plugin) != nil {
		keep.plugin, keep.previous = keep.previous, nil
	}
	if keep.plugin == e.plugin && keep.previous == e.previous {
		r.guard(name, e)
		return
	}
	for _, f := range r.files {
		if f.plugin == e.plugin {
			f.plugin = keep.plugin
		}
	}
	r.put(name, keep)
	for _, p := range [...]*Plugin{e.plugin, e.previous} {
		if p != nil && p != keep.plugin && p != keep.previous {
			p.Retire()
		}
	}
	if keep.plugin == nil {
		r.freed(name)
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
			p.health.watch(limit, func(tenant string) { r.quarantined(name, p, tenant) })
		}
	}
}

// quarantined tells of a version that failed too often. It runs in the goroutine of the stream whose fault
// was one too many, so it takes no lock that loading a plugin holds.
func (r *Registry) quarantined(name string, p *Plugin, tenant string) {
	if tenant != "" {
		r.host.log.LogAttrs(context.Background(), slog.LevelError, "plugin quarantined for one tenant", slog.String("plugin", name),
			slog.String("version", p.Version), slog.String("tenant", tenant), slog.Int("faults", p.Faults()))
		return
	}
	serves := "none"
	if s, err := r.Lookup(name); err == nil {
		serves = s.Version
	}
	r.host.log.LogAttrs(context.Background(), slog.LevelError, "plugin quarantined", slog.String("plugin", name), slog.String("version", p.Version),
		slog.String("digest", p.Digest), slog.Int("faults", p.Faults()), slog.String("serving", serves))
	r.bad.add(p, ErrQuarantined)
	r.tell(Change{Name: name, Quarantined: p})
}

// blocked are contents that were rolled back or quarantined: under another file name, or with another custom
// section, they are the same. It has a lock of its own, since streams add to it.
type blocked struct {
	mu   sync.Mutex
	list []block // guarded by mu, the oldest first
}

type block struct {
	name, core string
	why        error
}

// maxBlocked bounds what is remembered.
const maxBlocked = 256

func (b *blocked) add(p *Plugin, why error) {
	b.forget(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == maxBlocked {
		b.list = slices.Delete(b.list, 0, 1)
	}
	b.list = append(b.list, block{name: p.Name, core: p.core, why: why})
}

func (b *blocked) forget(p *Plugin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = slices.DeleteFunc(b.list, func(x block) bool { return x.core == p.core })
}

// release forgets what was quarantined under a name, and reports whether there was anything.
func (b *blocked) release(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.list)
	b.list = slices.DeleteFunc(b.list, func(x block) bool { return x.name == name && errors.Is(x.why, ErrQuarantined) })
	return len(b.list) < n
}

// why tells why a plugin is blocked; nil if it is not.
func (b *blocked) why(p *Plugin) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.list {
		if x.core == p.core {
			return fmt.Errorf("%w: this content, as %s: change it, or release the plugin", x.why, x.name)
		}
	}
	return nil
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
	r.bad.forget(e.previous)
	r.bad.add(e.plugin, errUndone)
	defer r.publish()
	for _, f := range r.files {
		if f.plugin == e.plugin {
			// The file holds the one or the other of the two: a second rollback takes back what is said of it.
			f.plugin, f.state, f.err = e.previous, time.Now(), nil
			if f.tried != e.previous.Digest {
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
	if forgot := r.bad.release(name); forgot && (!ok || !e.plugin.Quarantined()) {
		for _, f := range r.files {
			f.taken = false
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	if !e.plugin.Quarantined() && !e.plugin.health.barsAny() {
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
