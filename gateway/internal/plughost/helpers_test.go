package plughost_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// Layout of the hand-assembled guests.
const (
	descAt     = 0x100
	stateAt    = 0x200
	manifestAt = 0x1000
	inAt       = 0x4000
	inCap      = 0x2000
	recordsAt  = 0x8000
	pages      = 2
)

// tiny is a hand-assembled guest. Zero members mean the usual: a parser that calls everything text.
type tiny struct {
	name, version string
	manifest      string
	desc          []uint32 // over the usual descriptor
	noState       bool
	init          string // code of _initialize
	open          string // code of weir1_open
	start         string // code of weir1_start, not exported when empty
	feed, finish  string
	leave         string            // export to leave out
	more          func(m *w.Module) // adds to the module
	imports       []sandbox.Import  // of the allowed ones, in their order
}

func put(ptr, kind uint32, from, n string) string {
	r := w.I32Const(int32(ptr))
	return r + w.I32Const(int32(kind)) + w.Store(0) + r + from + w.Store(4) + r + n + w.Store(8) + r + w.I32Const(0) + w.Store(12)
}

// answer returns n records.
func answer(n int64) string { return w.I64Const(recordsAt<<32 | n*record.Size) }

// allText says that the input is text.
func allText() string {
	return w.LocalGet(0) + w.Eqz + w.If + w.I64Const(0) + w.Return + w.End +
		put(recordsAt, uint32(record.Text), w.I32Const(inAt), w.LocalGet(0)) + answer(1)
}

func or(s, usual string) string {
	if s == "" {
		return usual
	}
	return s
}

func (g tiny) wasm() []byte {
	m := &w.Module{}
	types := map[string]int{}
	typ := func(params, results string) int {
		key := params + ":" + results
		if _, ok := types[key]; !ok {
			types[key] = m.Type([]byte(params), []byte(results))
		}
		return types[key]
	}
	const i, l = "\x7f", "\x7e"
	for _, im := range g.imports {
		var ps, rs []byte
		for _, t := range im.Type.Params() {
			ps = append(ps, byte(t))
		}
		for _, t := range im.Type.Results() {
			rs = append(rs, byte(t))
		}
		m.Import(im.Module, im.Name, typ(string(ps), string(rs)))
	}
	export := func(name string, f int) {
		if name != g.leave {
			m.Export(name, w.Func, f)
		}
	}
	export(abi.ExportInitialize, m.Func(typ("", ""), nil, g.init))
	export(abi.ExportDescribe, m.Func(typ("", i), nil, w.I32Const(descAt)))
	export(abi.ExportOpen, m.Func(typ(i, i), nil, or(g.open, w.I32Const(0))))
	if g.start != "" {
		export(abi.ExportStart, m.Func(typ(i, i), nil, g.start))
	}
	locals := []byte{w.I32, w.I32}
	export(abi.ExportFeed, m.Func(typ(i+i+i, l), locals, or(g.feed, allText())))
	export(abi.ExportFinish, m.Func(typ(i+i+i, l), locals, or(g.finish, allText())))
	m.Memory(pages)
	if g.leave != abi.ExportMemory {
		m.Export(abi.ExportMemory, w.Memory, 0)
	}
	manifest := or(g.manifest, fmt.Sprintf(`{"name": %q, "version": %q, "abi": 1, "kinds": ["parser"]}`, or(g.name, "tiny"), or(g.version, "1")))
	stateLen := uint32(16)
	if g.noState {
		stateLen = 0
	}
	desc := []uint32{abi.Magic, abi.DescriptorSize, inAt, inCap, stateAt, stateLen, manifestAt, uint32(len(manifest))}
	copy(desc, g.desc)
	var d []byte
	for _, v := range desc {
		d = binary.LittleEndian.AppendUint32(d, v)
	}
	m.Data(descAt, d)
	m.Data(manifestAt, []byte(manifest))
	if g.more != nil {
		g.more(m)
	}
	return m.Bytes()
}

func newHost(tb testing.TB, o plughost.Options) *plughost.Host {
	tb.Helper()
	h, err := plughost.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// load loads a module and retires it when the test ends.
func load(tb testing.TB, h *plughost.Host, wasm []byte) *plughost.Plugin {
	tb.Helper()
	p, err := h.Load(tb.Context(), "", wasm, tb.Name())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Retire)
	return p
}

func parser(tb testing.TB, h *plughost.Host, wasm []byte) *plughost.Parser {
	tb.Helper()
	r, err := load(tb, h, wasm).Parser([]byte("{}"))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// shared is set by TestMain: what is built once per test binary.
type shared struct {
	toggle func() ([]byte, error)
	cache  string
}

var once shared

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plughost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	once = shared{
		cache:  filepath.Join(dir, "cache"),
		toggle: sync.OnceValues(func() ([]byte, error) { return buildToggle(dir) }),
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// buildToggle builds the Go guest of testdata.
func buildToggle(dir string) ([]byte, error) {
	out := filepath.Join(dir, "toggle.wasm")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "./testdata/guest")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
}

func toggleWasm(tb testing.TB) []byte {
	tb.Helper()
	b, err := once.toggle()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// toggle is a parser of the Go guest, with compiled code kept for the other tests.
func toggle(tb testing.TB, o plughost.Options) *plughost.Parser {
	tb.Helper()
	o.CacheDir = once.cache
	return parser(tb, newHost(tb, o), toggleWasm(tb))
}

// trace collects records as text, like ones merged.
type trace struct {
	kind  record.Kind
	lines []string
	last  bytes.Buffer
	bytes bytes.Buffer
}

func (t *trace) Accept([]record.Record, []byte) bool { return true }

func (t *trace) Record(r record.Record, b []byte) error {
	t.bytes.Write(b)
	if r.Kind != t.kind {
		t.flush()
		t.kind = r.Kind
	}
	t.last.Write(b)
	return nil
}

func (t *trace) flush() {
	if t.last.Len() > 0 {
		t.lines = append(t.lines, fmt.Sprintf("%v %q", t.kind, t.last.String()))
		t.last.Reset()
	}
}

func (t *trace) String() string {
	t.flush()
	return strings.Join(t.lines, "; ")
}

// stream opens a stream and a sink for it.
func stream(tb testing.TB, g host.Guest, start []byte) (*host.Stream, *trace) {
	tb.Helper()
	t := &trace{}
	s, err := host.Open(g, t, start)
	if err != nil {
		tb.Fatal(err)
	}
	return s, t
}

// parse feeds pieces and finishes.
func parse(tb testing.TB, g host.Guest, pieces ...string) (string, *host.Fault) {
	tb.Helper()
	s, t := stream(tb, g, startBlock())
	for _, p := range pieces {
		if err := s.Feed([]byte(p), nil, false); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.Finish(abi.WhyStop); err != nil {
		tb.Fatal(err)
	}
	if got, want := t.bytes.String(), strings.Join(pieces, ""); got != want {
		tb.Fatalf("records hold %q, the input was %q", got, want)
	}
	return t.String(), s.Fault()
}

// wantErr checks that err wraps target (when not nil) and says text.
func wantErr(tb testing.TB, err, target error, text string) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || target != nil && !errors.Is(err, target) {
		tb.Errorf("got %v, want %v saying %q", err, target, text)
	}
}
