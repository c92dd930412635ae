package plughost_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// logBuffer is a log that tests read.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// blockingHandler calls a function for each line.
type blockingHandler struct{ f func() }

func (blockingHandler) Enabled(context.Context, slog.Level) bool    { return true }
func (h blockingHandler) Handle(context.Context, slog.Record) error { h.f(); return nil }
func (h blockingHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h blockingHandler) WithGroup(string) slog.Handler             { return h }
func (h blockingHandler) logger() *slog.Logger                      { return slog.New(h) }

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	manifest := func(s string) tiny { return tiny{manifest: s} }
	desc := func(d ...uint32) tiny { return tiny{desc: d} }
	extra := func(name string, f func(m *w.Module) int) tiny {
		return tiny{leave: name, more: func(m *w.Module) { m.Export(name, w.Func, f(m)) }}
	}
	const ok = abi.DescriptorSize
	for _, c := range []struct {
		name   string
		guest  tiny
		target error
		want   string
	}{
		{"no memory", tiny{leave: abi.ExportMemory}, nil, "export memory: missing"},
		{"no describe", tiny{leave: abi.ExportDescribe}, nil, "export weir1_describe: missing"},
		{"no open", tiny{leave: abi.ExportOpen}, nil, "export weir1_open: missing"},
		{"no feed", tiny{leave: abi.ExportFeed}, nil, "export weir1_feed: missing"},
		{"no finish", tiny{leave: abi.ExportFinish}, nil, "export weir1_finish: missing"},
		{"feed of another type", extra(abi.ExportFeed, func(m *w.Module) int {
			return m.Func(m.Type([]byte{w.I32}, []byte{w.I64}), nil, w.I64Const(0))
		}), nil, "export weir1_feed: got (i32) -> i64, want (i32, i32, i32) -> i64"},
		{"initialize of another type", extra(abi.ExportInitialize, func(m *w.Module) int {
			return m.Func(m.Type([]byte{w.I32}, nil), nil)
		}), nil, "export _initialize: got (i32) -> (), want () -> ()"},
		{"misspelt", tiny{more: func(m *w.Module) { m.Export("weir1_fnish", w.Func, 0) }}, nil, "export weir1_fnish: not known to ABI version 1"},
		{"memory is a function", tiny{leave: abi.ExportMemory, more: func(m *w.Module) { m.Export("memory", w.Func, 0) }}, nil, "export memory: got a func, want a memory"},
		{"trap in initialize", tiny{init: w.Unreachable}, nil, "_initialize: wasm error: unreachable"},
		{"magic", desc(1), host.ErrProtocol, "descriptor: magic 0x1, want 0x31494557"},
		{"size", desc(abi.Magic, 16), host.ErrProtocol, "descriptor: size 16, at least 32"},
		{"small input", desc(abi.Magic, ok, inAt, 4096), host.ErrProtocol, "input buffer of 4096 bytes, want 8192 to 1048576"},
		{"large input", desc(abi.Magic, ok, inAt, 1<<21), host.ErrProtocol, "input buffer of 2097152 bytes"},
		{"unaligned input", desc(abi.Magic, ok, inAt+2), host.ErrProtocol, "input buffer [16386,+8192) is not 4-aligned"},
		{"input outside", desc(abi.Magic, ok, 0x1f000), host.ErrProtocol, "input buffer [126976,+8192) lies outside the memory of 131072 bytes"},
		{"input at the end of 32 bits", desc(abi.Magic, ok, 0xfffffffc), host.ErrProtocol, "lies outside the memory"},
		{"large window", desc(abi.Magic, ok, inAt, inCap, stateAt, 4097), host.ErrProtocol, "state window of 4097 bytes, at most 4096"},
		{"window outside", desc(abi.Magic, ok, inAt, inCap, 0x1ffff), host.ErrProtocol, "state window [131071,+16) lies outside"},
		{"window in the input", desc(abi.Magic, ok, inAt, inCap, inAt+8), host.ErrProtocol, "overlaps the input buffer"},
		{"large manifest", desc(abi.Magic, ok, inAt, inCap, stateAt, 16, manifestAt, 65537), host.ErrProtocol, "manifest of 65537 bytes, at most 65536"},
		{"manifest outside", desc(abi.Magic, ok, inAt, inCap, stateAt, 16, 0x20000, 1), host.ErrProtocol, "manifest [131072,+1) lies outside"},
		{"empty manifest", desc(abi.Magic, ok, inAt, inCap, stateAt, 16, manifestAt, 0), nil, "manifest: empty: the module exports no program"},
		{"other ABI", manifest(`{"name":"a","version":"1","abi":2,"kinds":["parser"]}`), nil, `manifest: "abi": got 2, want 1`},
		{"other kind", manifest(`{"name":"a","version":"1","abi":1,"kinds":["engine"]}`), nil, `manifest: "kinds": got "engine", want "parser" or "template"`},
		{"no plan", manifest(`{"name":"a","version":"1","abi":1,"kinds":["template"]}`), nil, "export weir1_plan: missing"},
		{"import", tiny{imports: []sandbox.Import{{Module: "env", Name: "abort"}}}, sandbox.ErrModule, "env.abort is not allowed"},
		{"code that does not validate", tiny{feed: w.Add}, nil, "compile: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, plughost.Options{})
			_, err := h.Load(t.Context(), "", c.guest.wasm(), "bad.wasm")
			wantErr(t, err, c.target, c.want)
			wantErr(t, err, nil, "plugin bad.wasm: ")
			if h.Live() != 0 {
				t.Errorf("%d live", h.Live())
			}
		})
	}
	_, err := newHost(t, plughost.Options{}).Load(t.Context(), "other", tiny{}.wasm(), "x")
	wantErr(t, err, nil, `name is "tiny", want "other"`)
}

func TestParseManifest(t *testing.T) {
	t.Parallel()
	const head = `{"name":"a","version":"1","abi":1,"kinds":["parser"]`
	for _, c := range []struct{ name, in, want string }{
		{"least", head + `}`, ""},
		{"all", head + `,"description":"d","license":"MIT","families":["f"],"reasoning":["r"],"tools":["t","u"],"policies":[]}`, ""},
		{"unknown member", head + `,"x":1}`, `"x": unknown member`},
		{"case matters", head + `,"Tools":[]}`, `"Tools": unknown member`},
		{"twice", head + `,"name":"b"}`, `"name" is there twice`},
		{"missing", `{"name":"a"}`, `"version" is missing`},
		{"empty version", `{"name":"a","version":"","abi":1,"kinds":["parser"]}`, `"version" is empty`},
		{"no kinds", `{"name":"a","version":"1","abi":1,"kinds":[]}`, `"kinds" is empty`},
		{"bad name", `{"name":"A b","version":"1","abi":1,"kinds":["parser"]}`, `"A b" is not a name`},
		{"empty name", `{"name":"","version":"1","abi":1,"kinds":["parser"]}`, "the name is empty"},
		{"path as name", `{"name":"../x","version":"1","abi":1,"kinds":["parser"]}`, "is not a name"},
		{"abi as text", `{"name":"a","version":"1","abi":"1","kinds":["parser"]}`, "is not a whole number"},
		{"name as number", `{"name":1}`, `"name": byte 8: expected a string`},
		{"name twice in a list", head + `,"tools":["t","t"]}`, `"t" is there twice`},
		{"long", head + `,"description":"` + strings.Repeat("x", 1025) + `"}`, "1025 bytes, at most 1024"},
		{"more behind", head + `} {}`, "expected the end"},
		{"cut", head, "expected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := plughost.ParseManifest([]byte(c.in))
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" {
				wantErr(t, err, nil, c.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"name":"a","version":"1","abi":1,"kinds":["parser"],"tools":["t"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := plughost.ParseManifest(b); err == nil && (m.Name == "" || m.ABI != abi.Version || len(m.Kinds) == 0) {
			t.Errorf("passed: %+v", m)
		}
	})
}

// TestImports calls every allowed import from a guest: each must link, and none may reach out.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, im := range sandbox.Allowed() {
		t.Run(im.Name, func(t *testing.T) {
			t.Parallel()
			code := ""
			for _, p := range im.Type.Params() {
				if p == sandbox.I64 {
					code += w.I64Const(0)
				} else {
					code += w.I32Const(0)
				}
			}
			code += w.Call(0)
			if len(im.Type.Results()) == 1 {
				// The result goes into the error code of open.
				code = w.I32Const(0) + code + w.Sub
			} else {
				code += w.I32Const(0)
			}
			p := load(t, newHost(t, plughost.Options{}), tiny{imports: []sandbox.Import{im}, open: code}.wasm())
			_, err := p.Parser(nil)
			switch {
			case im.Name == "proc_exit":
				wantErr(t, err, nil, "the guest called proc_exit with status 0")
			case strings.HasPrefix(im.Name, "fd_"):
				wantErr(t, err, plughost.ErrConfig, "returned -8")
			case im.Name == "poll_oneoff":
				wantErr(t, err, plughost.ErrConfig, "returned -58")
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// TestImportsHoldBounds passes addresses outside the memory.
func TestImportsHoldBounds(t *testing.T) {
	t.Parallel()
	const out = -4
	for _, c := range []struct {
		name, args string
		want       string
	}{
		{"args_sizes_get", w.I32Const(out) + w.I32Const(0), "returned -21"},
		{"environ_sizes_get", w.I32Const(0) + w.I32Const(out), "returned -21"},
		{"clock_res_get", w.I32Const(0) + w.I32Const(out), "returned -21"},
		{"clock_time_get", w.I32Const(1) + w.I64Const(0) + w.I32Const(out), "returned -21"},
		{"clock_time_get", w.I32Const(9) + w.I64Const(0) + w.I32Const(0), "returned -28"},
		{"random_get", w.I32Const(out) + w.I32Const(8), "returned -21"},
		{"random_get", w.I32Const(0) + w.I32Const(1<<20), "returned -28"},
		{"fd_write", w.I32Const(1) + w.I32Const(out) + w.I32Const(1) + w.I32Const(0), "returned -21"},
		{"fd_write", w.I32Const(2) + w.I32Const(0) + w.I32Const(-1) + w.I32Const(0), "returned -28"},
		{"fd_write", w.I32Const(3) + w.I32Const(0) + w.I32Const(0) + w.I32Const(0), "returned -8"},
		{"fd_write", w.I32Const(1) + w.I32Const(0) + w.I32Const(0) + w.I32Const(out), "returned -21"},
	} {
		im := importOf(t, sandbox.ModuleWASI, c.name)
		p := load(t, newHost(t, plughost.Options{}), tiny{imports: []sandbox.Import{im}, open: w.I32Const(0) + c.args + w.Call(0) + w.Sub}.wasm())
		_, err := p.Parser(nil)
		wantErr(t, err, plughost.ErrConfig, c.want)
	}
}

// TestPollGrantsOnlyNaps subscribes to one clock with different waits.
func TestPollGrantsOnlyNaps(t *testing.T) {
	t.Parallel()
	poll := func(tag byte, ns uint64, flags byte) tiny {
		sub := make([]byte, 48)
		sub[8], sub[40] = tag, flags
		binary.LittleEndian.PutUint64(sub[24:], ns)
		return tiny{
			imports: []sandbox.Import{importOf(t, sandbox.ModuleWASI, "poll_oneoff")},
			more:    func(m *w.Module) { m.Data(0x9000, sub) },
		}
	}
	one := w.I32Const(0x9000) + w.I32Const(0x9100) + w.I32Const(1) + w.I32Const(0x9200) + w.Call(0)
	for _, c := range []struct {
		name  string
		guest tiny
		times int
		want  string
	}{
		{"nap", poll(0, 1_000_000, 0), 1, ""},
		{"long", poll(0, 1_000_001, 0), 1, "returned -58"},
		{"absolute", poll(0, 1, 1), 1, "returned -58"},
		{"file", poll(1, 1, 0), 1, "returned -58"},
		{"many naps", poll(0, 1, 0), 65, "returned -58"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.guest.open = strings.Repeat(one+w.Drop, c.times-1) + w.I32Const(0) + one + w.Sub
			_, err := load(t, newHost(t, plughost.Options{}), c.guest.wasm()).Parser(nil)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" {
				wantErr(t, err, plughost.ErrConfig, c.want)
			}
		})
	}
}

func TestGuestLogIsCapped(t *testing.T) {
	t.Parallel()
	var log logBuffer
	writes := tiny{
		imports: []sandbox.Import{importOf(t, sandbox.ModuleWeir, "log")},
		feed:    w.I32Const(2) + w.I32Const(inAt) + w.I32Const(inCap) + w.Call(0) + allText(),
	}
	p := parser(t, newHost(t, plughost.Options{Log: log.logger()}), writes.wasm())
	for range 1000 {
		if err := p.Feed(&host.Call{Window: make([]byte, 16), In: []byte("hello")}); err != nil {
			t.Fatal(err)
		}
	}
	text := log.String()
	if n := strings.Count(text, "plugin wrote"); n < 64 || n > 500 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(text, "level=WARN") || !strings.Contains(text, "plugin=tiny") || len(text) > 2<<20 {
		t.Errorf("log of %d bytes: %.300s", len(text), text)
	}
}
