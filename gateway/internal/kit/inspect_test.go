package kit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/kit"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// TestInspectTellsAll has a module with several faults: each is named, and what can be read is shown.
func TestInspectTellsAll(t *testing.T) {
	t.Parallel()
	var m w.Module
	typ := m.Type([]byte{w.I32}, []byte{w.I32})
	m.Import("env", "first", typ)
	m.Import("wasi_snapshot_preview1", "path_open", typ)
	m.Import("wasi_snapshot_preview1", "random_get", typ)
	f := m.Func(typ, nil, w.I32Const(0))
	m.Memory(300)
	m.Export("memory", w.Memory, 0)
	m.Export("weir1_open", w.Func, f)
	in := kit.Inspect(t.Context(), "bad.wasm", m.Bytes())
	for _, want := range []string{"env.first", "path_open", "random_get", "300", "export weir1_describe: missing"} {
		if !slices.ContainsFunc(in.Refused, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("got %q, want one with %q", in.Refused, want)
		}
	}
	if in.Manifest != nil || len(in.Imports) != 3 || len(in.Exports) != 2 || in.Functions != 1 || len(in.Memories) != 1 {
		t.Errorf("got %+v", in)
	}
	if got := in.Imports[1]; got.Name != "path_open" || got.Type != "(i32) -> i32" {
		t.Errorf("got %+v", got)
	}
	var b strings.Builder
	if err := in.Write(&b); err != nil || !strings.Contains(b.String(), "\nrefused:\n") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestInspectGarbage(t *testing.T) {
	t.Parallel()
	for _, wasm := range [][]byte{nil, []byte("\x00asm"), []byte("#!/bin/sh"), w.Header(), append(w.Header(), 1, 0xff, 0xff, 0xff, 0xff, 0x0f)} {
		if in := kit.Inspect(t.Context(), "x", wasm); len(in.Refused) == 0 {
			t.Errorf("%q is taken", wasm)
		}
	}
}

// FuzzInspect reads modules and runs nothing.
func FuzzInspect(f *testing.F) {
	for _, name := range []string{"c-parser.wasm", "zig-template.wasm"} {
		f.Add(readBuilt(f, name))
	}
	f.Add(append(w.Header(), w.Section(2, w.Cat(w.U32(1<<31), w.Name("env")))...))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		kit.Read(wasm)
		if text := kit.Embedded(wasm); len(text) > abi.MaxManifest {
			t.Errorf("a manifest of %d bytes", len(text))
		}
	})
}
