package kit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/kit"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// TestInspectExports has faults of exports beside others: all are told at once, with what was meant.
func TestInspectExports(t *testing.T) {
	t.Parallel()
	var m w.Module
	one := m.Type([]byte{w.I32}, []byte{w.I32})
	none := m.Type(nil, []byte{w.I32})
	m.Import("env", "memcpy", one)
	m.Import("wasi_snapshot_preview1", "path_open", one)
	f, d := m.Func(one, nil, w.I32Const(0)), m.Func(none, nil, w.I32Const(0))
	m.Memory(1)
	m.Export("memory", w.Memory, 0)
	m.Export("weir1_describe", w.Func, f)
	m.Export("weir_open", w.Func, f)
	m.Export("weir1_feed", w.Memory, 0)
	m.Export("weir1_finnish", w.Func, d)
	m.Export("weir1_something_else", w.Func, d)
	m.Export("other", w.Func, d)
	m.Data(0, []byte(`{"name": "Bad", "version": "1", "abi": 1, "kinds": ["parser"]}`))
	in := kit.Inspect(t.Context(), "bad.wasm", m.Bytes())
	for _, want := range []string{
		"env.memcpy is not allowed; is it an undefined function of C or Rust? ABI.md 15 lists the imports there are",
		"import wasi_snapshot_preview1.path_open is not allowed; a plugin has no files or sockets, ABI.md 15 lists the imports there are",
		"export weir1_describe: got (i32) -> i32, want () -> i32",
		`export weir1_open: missing; is it "weir_open"?`,
		"export weir1_feed: got memory, want (i32, i32, i32) -> i64",
		`export weir1_finish: missing; is it "weir1_finnish"?`,
		`export "weir1_finnish": not known to ABI version 1; the nearest is weir1_finish`,
		`export "weir1_something_else": not known to ABI version 1`,
		`manifest: "name": "Bad" is not a name`,
	} {
		if n := len(slices.DeleteFunc(slices.Clone(in.Refused), func(s string) bool { return !strings.Contains(s, want) })); n != 1 {
			t.Errorf("%q is told %d times", want, n)
		}
	}
	if len(in.Refused) != 9 {
		t.Errorf("got %d reasons: %q", len(in.Refused), in.Refused)
	}
}

// TestInspectEveryExport has every function of the ABI with its type: what is then refused is not an export, and
// comes from the host, which has looked at the exports too.
func TestInspectEveryExport(t *testing.T) {
	t.Parallel()
	var m w.Module
	i32, i64 := []byte{w.I32}, []byte{w.I64}
	three := []byte{w.I32, w.I32, w.I32}
	m.Memory(1)
	m.Export("memory", w.Memory, 0)
	for name, typ := range map[string][2][]byte{
		abi.ExportInitialize: {}, abi.ExportDescribe: {nil, i32}, abi.ExportOpen: {i32, i32}, abi.ExportStart: {i32, i32},
		abi.ExportFeed: {three, i64}, abi.ExportFinish: {three, i64}, abi.ExportReserve: {i32, i32}, abi.ExportPlan: {i32, i64}, abi.ExportRender: {i32, i64},
	} {
		code := []string{w.I32Const(0)}
		if len(typ[1]) == 0 {
			code = nil
		} else if typ[1][0] == w.I64 {
			code = []string{w.I64Const(0)}
		}
		m.Export(name, w.Func, m.Func(m.Type(typ[0], typ[1]), nil, code...))
	}
	in := kit.Inspect(t.Context(), "x.wasm", m.Bytes())
	if len(in.Refused) != 1 || !strings.Contains(in.Refused[0], "descriptor: magic") {
		t.Errorf("got %q, want a descriptor without its magic", in.Refused)
	}
}

// TestInspectTellsSome has a module with more faults than anybody reads.
func TestInspectTellsSome(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var m w.Module
	typ := m.Type(nil, nil)
	for i := range n {
		m.Import("env", fmt.Sprint("f", i), typ)
	}
	m.Memory(1)
	for i := range n {
		m.Export(fmt.Sprint("weir1_", i), w.Func, i)
	}
	if in := kit.Inspect(t.Context(), "x.wasm", m.Bytes()); len(in.Refused) < 10 || len(in.Refused) > 101 {
		t.Errorf("got %d reasons", len(in.Refused))
	}
}

// TestInspectImportedMemory says what to do about a memory that is to come from outside.
func TestInspectImportedMemory(t *testing.T) {
	t.Parallel()
	wasm := append(w.Header(), w.Section(2, w.Vec([][]byte{w.Cat(w.Name("env"), w.Name("memory"), []byte{w.Memory, 0, 1})}))...)
	in := kit.Inspect(t.Context(), "bad.wasm", wasm)
	if want := "env.memory is a memory, only functions may be imported; a plugin has and exports a memory of its own"; len(in.Refused) == 0 || !strings.HasSuffix(in.Refused[0], want) {
		t.Errorf("got %q, want one that ends in %q", in.Refused, want)
	}
	for _, text := range in.Refused[1:] {
		if strings.Contains(text, "import ") {
			t.Errorf("%q too", text)
		}
	}
}

func TestInspectTerminator(t *testing.T) {
	t.Parallel()
	in := kit.Inspect(t.Context(), "bad.wasm", (&stub{longer: 1}).module(t))
	if want := "expected the end of the document (a zero byte: is the terminator counted?)"; len(in.Refused) != 1 || !strings.HasSuffix(in.Refused[0], want) {
		t.Errorf("one byte more: got %q, want %q", in.Refused, want)
	}
	in = kit.Inspect(t.Context(), "bad.wasm", (&stub{longer: -1}).module(t))
	if len(in.Refused) != 1 || strings.Contains(in.Refused[0], "terminator") {
		t.Errorf("one byte less: got %q", in.Refused)
	}
}

// TestBearer has a manifest of any length taken from the module that has nothing else, and found in it.
func TestBearer(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 100, 1000} {
		b, err := json.Marshal(map[string]any{
			"name": "x", "version": "1", "abi": abi.Version, "kinds": []string{"parser", "template"}, "description": strings.Repeat("{", n),
		})
		if err != nil {
			t.Fatal(err)
		}
		wasm := kit.Bearer(b)
		in := kit.Inspect(t.Context(), "x.wasm", wasm)
		if len(in.Refused) > 0 || in.Manifest.Name != "x" || len(in.Manifest.Description) != n {
			t.Errorf("%d: got %+v", n, in)
		}
		if got := kit.Embedded(wasm); n < 32 && string(got) != string(b) {
			t.Errorf("%d: found %q, want %q", n, got, b)
		}
	}
	for _, wasm := range []string{"", `"kinds"`, strings.Repeat(`{"kinds"`, 1000), `{"kinds": []}`, `{"name": {"kinds": 1}`} {
		if got := kit.Embedded([]byte(wasm)); got != nil {
			t.Errorf("%.40q: found %q", wasm, got)
		}
	}
}

// TestWriteIsPlain has a module with a name that would reach for the terminal.
func TestWriteIsPlain(t *testing.T) {
	t.Parallel()
	var m w.Module
	typ := m.Type(nil, nil)
	m.Import("\x1b[2Jenv", "a\rb", typ)
	m.Memory(1)
	m.Export("x\x1b]0;", w.Memory, 0)
	var b strings.Builder
	if err := kit.Inspect(t.Context(), "bad.wasm", m.Bytes()).Write(&b); err != nil || strings.ContainsAny(b.String(), "\x1b\r") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
