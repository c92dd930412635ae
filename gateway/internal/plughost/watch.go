package plughost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The folder is read every pollEvery, and what changed in it is taken when it has held for holdFor:
// meanwhile it is compiled, so that also a large module is live within about a second.
const (
	pollEvery = 50 * time.Millisecond
	holdFor   = 200 * time.Millisecond
)

// extension marks the files of a folder that are plugins.
const extension = ".wasm"

// stamp tells versions of a file apart without reading it.
type stamp struct {
	size int64
	time int64 // modification, ns
}

func stampOf(st fs.FileInfo) stamp { return stamp{size: st.Size(), time: st.ModTime().UnixNano()} }

// file is what is known of one file of a watched folder.
type file struct {
	dir, path string
	seen      stamp
	signature stamp     // of the signature beside it
	since     time.Time // when these were first seen
	gone      time.Time // when it was first missing; zero while it is there
	taken     bool      // seen was read
	tried     string    // digest of the content read last
	clash     string    // name that kept the content out
	failed    string    // digest of a content that could not be loaded
	failure   error     // why
	err       error     // why that content is refused
	told      string    // digest and error logged last
	state     time.Time // when plugin or err last changed
	plugin    *Plugin   // what serves; older than the content when that is refused
	next      *Plugin   // what the content seen last gives, loaded ahead of its time
}

// fileStatus is a snapshot of a file for Status.
type fileStatus struct {
	path   string
	err    string
	since  time.Time
	plugin *Plugin
}

// Watch keeps the registry in step with a folder until ctx ends: a file NAME.wasm that has held still is
// loaded under the name in its manifest, a changed one replaces it, a deleted one is retired. A file
// that cannot be loaded changes nothing: it is logged once per content and shown by Status. A missing
// folder counts as empty. What is loaded stays when Watch returns.
func (r *Registry) Watch(ctx context.Context, dir string) {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for ctx.Err() == nil {
		r.scan(ctx, dir, time.Now(), holdFor)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// Scan brings the registry in step with a folder once, taking files as they are. It is for startup,
// when no one is writing them; a file caught half-written is refused and taken by Watch when whole.
func (r *Registry) Scan(ctx context.Context, dir string) { r.scan(ctx, dir, time.Now(), 0) }

func (r *Registry) scan(ctx context.Context, dir string, now time.Time, hold time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	found, err := list(dir)
	if err != nil {
		// A folder that cannot be read says nothing of its files: what is loaded stays.
		if err.Error() != r.dirErr {
			r.dirErr = err.Error()
			r.host.log.LogAttrs(ctx, slog.LevelWarn, "plugin folder not read", slog.String("error", r.dirErr))
		}
		return
	}
	r.dirErr = ""
	defer r.publish()
	for path, f := range r.files {
		if _, there := found[path]; there || f.dir != dir {
			f.gone = time.Time{}
			continue
		}
		if f.gone.IsZero() {
			f.gone = now
		}
		if now.Sub(f.gone) >= hold {
			delete(r.files, path)
			r.remove(f)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		f := r.files[path]
		if f == nil {
			f = &file{dir: dir, path: path}
			r.files[path] = f
		}
		if s, sig := found[path], signatureStamp(path); f.since.IsZero() || s != f.seen || sig != f.signature {
			f.seen, f.signature, f.since, f.taken = s, sig, now, false
			f.dropAhead()
			if hold > 0 && ctx.Err() == nil {
				r.ahead(ctx, f)
			}
		}
		if !f.taken && now.Sub(f.since) >= hold && ctx.Err() == nil {
			r.take(ctx, f, now)
		}
	}
}

// maxFiles bounds the plugins of a folder.
const maxFiles = 256

// list returns the plugin files of a folder. Hidden files are left out: uploads often begin as such.
func list(dir string) (map[string]stamp, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]stamp{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), extension) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		if found[path] = stampOf(st); len(found) > maxFiles {
			return nil, fmt.Errorf("%s: more than %d plugins", dir, maxFiles)
		}
	}
	return found, nil
}

// take reads a file that has held still and puts what it holds in place.
func (r *Registry) take(ctx context.Context, f *file, now time.Time) {
	f.taken = true
	b, err := read(f.path, r.host.o.Limits.Size)
	if err == nil {
		if st, again := os.Stat(f.path); again != nil || stampOf(st) != f.seen {
			f.taken = false // still being written: seen anew by the next scan
			return
		}
	}
	f.tried = digestOf(b)
	if err == nil && f.plugin != nil && f.plugin.Digest == f.tried {
		if err = r.rules.permits(f.plugin); err == nil {
			f.err, f.clash, f.told = nil, "", ""
			return
		}
	}
	var p *Plugin
	if err == nil {
		if p = f.takeAhead(f.tried); p == nil {
			p, err = r.loadOnce(ctx, f, b, f.tried)
		}
	}
	if err == nil {
		if err = r.admit(f, p); err != nil {
			p.Retire()
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			f.taken = false // cut short, not refused
			return
		}
		r.refuse(ctx, f, err, now)
		return
	}
	f.err, f.clash, f.told, f.state = nil, "", "", now
	old := f.plugin
	f.plugin = p
	r.swap(p.Name, p, false)
	if old != nil && old.Name != p.Name {
		r.swap(old.Name, nil, false)
		r.freed(old.Name)
	}
}

// ahead loads a file that was just seen, so that compiling it, the longest part, overlaps the time that it
// must hold still. What comes of it counts only if the file then holds the same bytes; a file that is still
// being written mostly fails at once, and nothing is said of it.
func (r *Registry) ahead(ctx context.Context, f *file) {
	b, err := read(f.path, r.host.o.Limits.Size)
	if err != nil {
		return
	}
	digest := digestOf(b)
	if f.plugin != nil && f.plugin.Digest == digest {
		return
	}
	if p, err := r.loadOnce(ctx, f, b, digest); err == nil {
		f.next = p
	}
}

// loadOnce is load, but does not try a second time what failed by itself.
func (r *Registry) loadOnce(ctx context.Context, f *file, b []byte, digest string) (*Plugin, error) {
	if digest == f.failed {
		return nil, f.failure
	}
	p, err := r.load(ctx, b, f.path)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrSignature) {
		f.failed, f.failure = digest, err
	}
	return p, err
}

// takeAhead gives what ahead loaded, if it is of these bytes.
func (f *file) takeAhead(digest string) *Plugin {
	p := f.next
	if p == nil || p.Digest != digest {
		f.dropAhead()
		return nil
	}
	f.next = nil
	return p
}

func (f *file) dropAhead() {
	if f.next != nil {
		f.next.Retire()
		f.next = nil
	}
}

// load loads a plugin and tries what every stream of it needs: a model entry opens a dropped-in parser
// with an empty object, so one that fails at that would fail every request.
func (r *Registry) load(ctx context.Context, b []byte, path string) (*Plugin, error) {
	key, err := r.rules.signed(path, b)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	p, err := r.host.Load(ctx, "", b, path)
	if err != nil {
		return nil, err
	}
	p.signer = key
	if err := p.selfTest(); err != nil {
		p.Retire()
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	return p, nil
}

// admit checks that a name is free, or is that of the same file.
func (r *Registry) admit(f *file, p *Plugin) error {
	f.clash = ""
	if err := r.rules.permits(p); err != nil {
		return fmt.Errorf("plugin %s: %w", f.path, err)
	}
	if why := r.bad.why(p); why != nil {
		return fmt.Errorf("plugin %s: %w", f.path, why)
	}
	if owner, ok := r.reserved[p.Name]; ok {
		f.clash = p.Name
		return fmt.Errorf("plugin %s: the name %q is reserved by the built-in %s", f.path, p.Name, owner)
	}
	if e, ok := (*r.names.Load())[p.Name]; ok && e.plugin != f.plugin {
		f.clash = p.Name
		return fmt.Errorf("plugin %s: the name %q belongs to %s", f.path, p.Name, e.plugin.Origin)
	}
	return nil
}

func (r *Registry) refuse(ctx context.Context, f *file, err error, now time.Time) {
	f.err, f.state = err, now
	if key := f.tried + err.Error(); key != f.told {
		f.told = key
		r.host.log.LogAttrs(ctx, slog.LevelError, "plugin refused", slog.String("origin", f.path), slog.String("error", err.Error()))
	}
}

// remove forgets a deleted file and retires what it gave.
func (r *Registry) remove(f *file) {
	f.dropAhead()
	if f.plugin != nil {
		r.swap(f.plugin.Name, nil, false)
		r.freed(f.plugin.Name)
	}
}

// freed lets files that a name kept out try again.
func (r *Registry) freed(name string) {
	for _, f := range r.files {
		if f.clash == name {
			f.taken = false
		}
	}
}

// publish makes the files' state visible to Status. r.mu is held.
func (r *Registry) publish() {
	out := make([]fileStatus, 0, len(r.files))
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[path]
		s := fileStatus{path: path, since: f.state, plugin: f.plugin}
		if f.err != nil {
			s.err = f.err.Error()
		}
		out = append(out, s)
	}
	r.status.Store(&out)
}

// read reads a file of at most limit bytes.
func read(path string, limit int) ([]byte, error) {
	// Opening a pipe would wait for a writer, for ever perhaps.
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("plugin %s: not a regular file: %w", path, errors.Join(err, fs.ErrInvalid))
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	if len(b) > limit {
		return nil, fmt.Errorf("plugin %s: more than %d bytes", path, limit)
	}
	return b, nil
}
