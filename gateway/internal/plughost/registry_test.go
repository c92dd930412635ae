package plughost_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// folder drives a registry over a folder with a clock of its own.
type folder struct {
	t       *testing.T
	dir     string
	host    *plughost.Host
	reg     *plughost.Registry
	now     time.Time
	changes []string
	log     logBuffer
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir(), now: time.Unix(1000, 0)}
	f.host = newHost(t, plughost.Options{Log: f.log.logger()})
	f.reg = plughost.NewRegistry(f.host, func(c plughost.Change) {
		if c.Quarantined != nil {
			f.changes = append(f.changes, c.Name+" quarantined "+c.Quarantined.Version)
			return
		}
		from, to := "-", "-"
		if c.Old != nil {
			from = c.Old.Version
			if err := c.Old.Acquire(); err != nil {
				t.Error("the old version was retired before the notification")
			} else {
				c.Old.Release()
			}
		}
		if c.New != nil {
			to = c.New.Version
		}
		f.changes = append(f.changes, fmt.Sprintf("%s %s>%s #%d", c.Name, from, to, c.Generation))
	})
	t.Cleanup(func() {
		f.reg.Close()
		if n := f.host.Live(); n != 0 {
			t.Errorf("%d plugins live after Close", n)
		}
	})
	return f
}

// write puts a file in place, with a modification time that differs from any before.
func (f *folder) write(name string, b []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.now = f.now.Add(time.Millisecond)
	if err := os.Chtimes(path, f.now, f.now); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) delete(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) scan() { f.reg.ScanAt(f.t.Context(), f.dir, f.now) }

// settle scans until what is there has held.
func (f *folder) settle() {
	f.scan()
	f.now = f.now.Add(plughost.HoldFor)
	f.scan()
}

// want checks what a name means; an empty version means nothing.
func (f *folder) want(name, version string) {
	f.t.Helper()
	p, err := f.reg.Lookup(name)
	switch {
	case version == "":
		wantErr(f.t, err, plughost.ErrUnknown, `no such plugin: "`+name+`"`)
	case err != nil:
		f.t.Error(err)
	case p.Version != version:
		f.t.Errorf("%s is version %s, want %s", name, p.Version, version)
	}
}

func (f *folder) wantChanges(want ...string) {
	f.t.Helper()
	if got := strings.Join(f.changes, ", "); got != strings.Join(want, ", ") {
		f.t.Errorf("changes %s, want %s", got, strings.Join(want, ", "))
	}
	f.changes = nil
}

func TestDropInReplaceDelete(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.settle()
	f.write("x.wasm", tiny{version: "1"}.wasm())
	f.scan()
	f.now = f.now.Add(plughost.HoldFor - 1)
	f.scan()
	f.want("tiny", "")
	f.now = f.now.Add(1)
	f.scan()
	f.want("tiny", "1")
	f.wantChanges("tiny ->1 #1")

	old, err := f.reg.Acquire("tiny")
	if err != nil {
		t.Fatal(err)
	}
	r, err := old.Parser(nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := r.Stream()
	if err != nil {
		t.Fatal(err)
	}
	old.Release()
	s, tr := stream(t, g, startBlock())
	f.write("x.wasm", tiny{version: "2"}.wasm())
	f.settle()
	f.want("tiny", "2")
	f.wantChanges("tiny 1>2 #2")
	if f.reg.Generation("tiny") != 2 || f.host.Live() != 2 {
		t.Errorf("generation %d, %d live", f.reg.Generation("tiny"), f.host.Live())
	}
	if err := s.Feed([]byte("drains"), nil, false); err != nil || s.Fault() != nil || tr.String() != `text "drains"` {
		t.Errorf("the old stream: %s, %v, %v", tr, err, s.Fault())
	}
	g.Close()
	f.write("x.wasm", tiny{version: "2b"}.wasm())
	f.settle()
	f.wantChanges("tiny 2>2b #3")
	_, err = r.Stream()
	wantErr(t, err, plughost.ErrRetired, "plugin tiny 1")
	if f.host.Live() != 2 {
		t.Errorf("%d live, want the current version and the one before it", f.host.Live())
	}

	f.delete("x.wasm")
	f.scan()
	f.want("tiny", "2b")
	f.now = f.now.Add(plughost.HoldFor)
	f.scan()
	f.want("tiny", "")
	f.wantChanges("tiny 2b>- #4")
	if f.host.Live() != 0 || len(f.reg.Status()) != 0 {
		t.Errorf("%d live, status %+v", f.host.Live(), f.reg.Status())
	}
	f.write("x.wasm", tiny{version: "3"}.wasm())
	f.settle()
	f.wantChanges("tiny ->3 #5")
}

func TestFileThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	whole := tiny{}.wasm()
	for _, n := range []int{10, 100, len(whole)} {
		f.write("x.wasm", whole[:n])
		f.scan()
		f.now = f.now.Add(plughost.HoldFor / 2)
		f.scan()
		f.want("tiny", "")
	}
	f.settle()
	f.want("tiny", "1")
	if text := f.log.String(); strings.Contains(text, "refused") {
		t.Errorf("log: %s", text)
	}
	f.write("x.wasm", whole) // the same content again
	f.settle()
	f.wantChanges("tiny ->1 #1")
	f.delete("x.wasm") // replaced by delete and create within the time
	f.scan()
	f.write("x.wasm", whole)
	f.settle()
	f.wantChanges()
}

func TestBadFileChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	good := tiny{version: "1"}.wasm()
	f.write("x.wasm", good)
	f.settle()
	f.write("x.wasm", tiny{init: w.Unreachable}.wasm())
	f.settle()
	f.settle()
	f.want("tiny", "1")
	st := f.reg.Status()
	if len(st) != 1 || st[0].Version != "1" || !strings.Contains(st[0].Err, "_initialize: wasm error: unreachable") || st[0].Since.IsZero() {
		t.Errorf("status %+v", st)
	}
	f.write("x.wasm", tiny{init: w.Unreachable}.wasm()) // touched: not told again
	f.settle()
	if n := strings.Count(f.log.String(), "plugin refused"); n != 1 {
		t.Errorf("told %d times: %s", n, f.log.String())
	}
	f.write("x.wasm", good)
	f.settle()
	if st := f.reg.Status(); len(st) != 1 || st[0].Err != "" {
		t.Errorf("status %+v", st)
	}
	f.write("y.wasm", []byte("text"))
	f.write(".hidden.wasm", good)
	f.write("readme.txt", good)
	if err := os.Mkdir(filepath.Join(f.dir, "dir.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.settle()
	st = f.reg.Status()
	if len(st) != 2 || st[1].Name != "" || filepath.Base(st[1].Origin) != "y.wasm" || !strings.Contains(st[1].Err, "not a WebAssembly module") {
		t.Errorf("status %+v", st)
	}
	f.wantChanges("tiny ->1 #1")
	if f.host.Live() != 1 {
		t.Errorf("%d live", f.host.Live())
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	builtin := func(name, tools string) *plughost.Plugin {
		p, err := f.host.Load(t.Context(), "", tiny{manifest: `{"name":"` + name + `","version":"b","abi":1,"kinds":["parser"],"tools":["` + tools + `"]}`}.wasm(), "built-in")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := f.reg.AddBuiltin(builtin("builtin", "hermes")); err != nil {
		t.Fatal(err)
	}
	again := builtin("builtin", "x")
	wantErr(t, f.reg.AddBuiltin(again), nil, "the name belongs to built-in already")
	again.Retire()
	second := builtin("second", "hermes")
	wantErr(t, f.reg.AddBuiltin(second), nil, `the name "hermes" is reserved by builtin`)
	second.Retire()

	f.write("a.wasm", tiny{name: "builtin"}.wasm())
	f.write("b.wasm", tiny{name: "hermes"}.wasm())
	f.write("c.wasm", tiny{name: "mine", version: "c"}.wasm())
	f.write("d.wasm", tiny{name: "mine", version: "d"}.wasm())
	f.settle()
	f.want("builtin", "b")
	f.want("hermes", "")
	f.want("mine", "c")
	var errs []string
	for _, s := range f.reg.Status() {
		errs = append(errs, s.Name+": "+s.Err)
	}
	text := strings.Join(errs, "\n")
	for _, want := range []string{
		`a.wasm: the name "builtin" is reserved by the built-in builtin`,
		`b.wasm: the name "hermes" is reserved by the built-in builtin`,
		`d.wasm: the name "mine" belongs to ` + filepath.Join(f.dir, "c.wasm"),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("status lacks %q:\n%s", want, text)
		}
	}
	if st := f.reg.Status(); !st[0].Builtin || st[1].Builtin {
		t.Errorf("status %+v", st)
	}
	f.changes = nil
	f.delete("c.wasm") // the name is free for the file that was kept out
	f.settle()
	f.scan()
	f.want("mine", "d")
	f.wantChanges("mine c>- #2", "mine ->d #3")
	f.write("d.wasm", tiny{name: "yours", version: "e"}.wasm()) // a file that changes its name
	f.settle()
	f.want("mine", "")
	f.want("yours", "e")
	if f.host.Live() != 2 {
		t.Errorf("%d live", f.host.Live())
	}
}

func TestFolderTrouble(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{}.wasm())
	f.settle()
	dir := f.dir
	f.dir = filepath.Join(dir, "x.wasm") // not a folder: says nothing of the files
	f.settle()
	f.settle()
	f.want("tiny", "1")
	if n := strings.Count(f.log.String(), "plugin folder not read"); n != 1 {
		t.Errorf("told %d times", n)
	}
	f.dir = dir
	if err := os.RemoveAll(dir); err != nil { // a missing one is empty
		t.Fatal(err)
	}
	f.settle()
	f.want("tiny", "")
}

func TestScanTakesFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{}.wasm())
	f.reg.Scan(t.Context(), f.dir)
	f.want("tiny", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.write("y.wasm", tiny{name: "y"}.wasm())
	f.reg.Scan(ctx, f.dir)
	f.want("y", "")
	f.reg.Scan(t.Context(), f.dir)
	f.want("y", "1")
}

// TestWatch runs the real loop, with streams that come and go over many swaps.
func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.reg.Watch(ctx, f.dir) })
	f.write("x.wasm", tiny{version: "0"}.wasm())
	await(t, "the plugin", func() bool { _, err := f.reg.Lookup("tiny"); return err == nil })
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				p, err := f.reg.Acquire("tiny")
				if err != nil {
					t.Error(err)
					return
				}
				if r, err := p.Parser(nil); err != nil {
					if !strings.Contains(err.Error(), "retired") {
						t.Error(err)
					}
				} else if g, err := r.Stream(); err == nil {
					s, _ := host.Open(g, &trace{}, startBlock())
					for range 20 {
						_ = s.Feed([]byte("piece"), nil, false)
					}
					if s.Fault() != nil {
						t.Error(s.Fault())
					}
					g.Close()
				}
				p.Release()
			}
		})
	}
	for k := 1; k <= 3; k++ {
		version := strconv.Itoa(k)
		f.write("x.wasm", tiny{version: version}.wasm())
		await(t, "version "+version, func() bool { p, err := f.reg.Lookup("tiny"); return err == nil && p.Version == version })
	}
	cancel()
	wg.Wait()
	if n := f.host.Live(); n != 2 {
		t.Errorf("%d live, want the current version and the one before it", n)
	}
	if p, err := f.reg.Lookup("tiny"); err != nil || p.Holders() != 0 {
		t.Errorf("after Watch: %v", err)
	}
}

// await polls for what another goroutine brings about. The bound is for a broken test alone.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}
