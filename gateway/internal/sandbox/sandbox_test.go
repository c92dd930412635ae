package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	"github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

var i32 = []byte{wasmtest.I32}

// good is a module with every section a plugin may have.
func good() *wasmtest.Module {
	m := &wasmtest.Module{}
	void := m.Type(nil, nil)
	nullary := m.Type(nil, i32)
	log := m.Type([]byte{wasmtest.I32, wasmtest.I32, wasmtest.I32}, nil)
	m.Import(sandbox.ModuleWASI, "sched_yield", nullary)
	m.Import(sandbox.ModuleWeir, "log", log)
	init := m.Func(void, nil, wasmtest.Call(0), wasmtest.Drop)
	seven := m.Func(nullary, []byte{wasmtest.I32, wasmtest.I64}, wasmtest.I32Const(7))
	m.Table([]byte{0, 2})
	m.Memory(1)
	m.Global(-5)
	m.Export("memory", wasmtest.Memory, 0)
	m.Export("_initialize", wasmtest.Func, init)
	m.Export("seven", wasmtest.Func, seven)
	m.Element(0, uint32(seven), uint32(init))
	m.Data(16, []byte("data"))
	m.Custom("name", []byte{0x01, 0x06, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00})
	return m
}

func TestInspect(t *testing.T) {
	t.Parallel()
	m, err := sandbox.Inspect(good().Bytes(), sandbox.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Imports) != 2 || m.Imports[1].Module != "weir1" || m.Imports[1].Type.String() != "(i32, i32, i32) -> ()" {
		t.Errorf("imports: %v", m.Imports)
	}
	if m.Functions != 2 || m.Segments != 1 || m.Memory.Min != 1 || m.Memory.Bounded || len(m.Tables) != 1 {
		t.Errorf("got %+v", m)
	}
	e, ok := m.Export("seven")
	if !ok || e.Kind != sandbox.KindFunc || e.Type != sandbox.Sig(nil, []sandbox.ValueType{sandbox.I32}) {
		t.Errorf("seven: %+v %v", e, ok)
	}
	if e, _ := m.Export("memory"); e.Kind != sandbox.KindMemory || e.Type != (sandbox.Signature{}) {
		t.Errorf("memory: %+v", e)
	}
	if _, ok := m.Export("eight"); ok {
		t.Error("found an export that is not there")
	}
}

func TestPrepareRunsTheSame(t *testing.T) {
	t.Parallel()
	in := good().Bytes()
	before := bytes.Clone(in)
	out, m, err := sandbox.Prepare(in, sandbox.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(in, before) {
		t.Error("the input was changed")
	}
	if m.Functions != 2 {
		t.Errorf("got %+v", m)
	}
	again, err := sandbox.InspectPrepared(out)
	if err != nil {
		t.Fatalf("the result does not pass: %v", err)
	}
	if tb := again.Tables[0]; !tb.Bounded || tb.Max != uint32(sandbox.DefaultLimits().TableElements) || tb.Min != 2 {
		t.Errorf("table: %+v", tb)
	}
	if bytes.Contains(out, []byte("name")) {
		t.Error("a custom section is left")
	}
	rt := wazero.NewRuntime(t.Context())
	defer rt.Close(context.Background())
	c, err := rt.CompileModule(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(c.ExportedFunctions())); !slices.Equal(got, []string{"_initialize", "seven", sandbox.ExportSliced + "_initialize", sandbox.ExportSliced + "seven"}) {
		t.Errorf("exports %q", got)
	}
}

// TestSliced calls functions by the names that give them a slice: what they take comes off that, whatever the
// global held, and what they are given and return is what it is without.
func TestSliced(t *testing.T) {
	t.Parallel()
	m := &wasmtest.Module{}
	m.Import(sandbox.ModuleWASI, "sched_yield", m.Type(nil, i32))
	three := m.Type([]byte{wasmtest.I64, wasmtest.I64, wasmtest.F64}, []byte{wasmtest.F64, wasmtest.I64, wasmtest.I64})
	turned := m.Func(three, nil, wasmtest.LocalGet(2), wasmtest.LocalGet(1), wasmtest.LocalGet(0))
	down := m.Type(i32, nil)
	count := m.Func(down, nil, wasmtest.Loop, wasmtest.LocalGet(0), wasmtest.I32Const(1), wasmtest.Sub, "\x22\x00", wasmtest.BrIf(0), wasmtest.End)
	m.Memory(1)
	m.Export("yield", wasmtest.Func, 0)
	m.Export("turned", wasmtest.Func, turned)
	m.Export("count", wasmtest.Func, count)
	g := instance(t, engine(t), prepare(t, m.Bytes()))
	for _, fuel := range []int64{-5, 0, plenty} {
		for _, c := range []struct {
			name       string
			args, want []uint64
		}{
			{"yield", nil, []uint64{0}},
			{"turned", []uint64{7, math.MaxUint64, math.Float64bits(1.5)}, []uint64{math.Float64bits(1.5), math.MaxUint64, 7}},
			{"count", []uint64{100}, nil},
		} {
			plain, used, err := g.call(c.name, plenty, c.args...)
			must(t, err)
			got, left, err := g.call(sandbox.ExportSliced+c.name, fuel, c.args...)
			must(t, err)
			if took := sandbox.Slice - (fuel - left); took != used || !slices.Equal(got, c.want) || !slices.Equal(plain, c.want) {
				t.Errorf("%s with %d: %v and %d fuel, want %v and %d (%v without)", c.name, fuel, got, took, c.want, used, plain)
			}
		}
	}
	if _, _, err := g.call(sandbox.ExportSliced+"count", plenty, 100_000); err == nil {
		t.Error("more than a slice is not cut")
	}
}

// vec is a section whose vector claims n items and has none.
func vec(id byte, n uint32) []byte {
	return wasmtest.Cat(wasmtest.Header(), wasmtest.Section(id, wasmtest.U32(n)))
}

func raw(sections ...[]byte) []byte {
	return wasmtest.Cat(wasmtest.Header(), wasmtest.Cat(sections...))
}

// with is a module with one function and a memory, changed by f.
func with(f func(m *wasmtest.Module, void int)) []byte {
	m := &wasmtest.Module{}
	void := m.Type(nil, nil)
	f(m, void)
	return m.Bytes()
}

// refused is a module that must not pass, and a part of the message.
type refused struct {
	name string
	wasm []byte
	want string
}

func hostile() []refused { return append(badSections(), badItems()...) }

const huge = 0xffffffff

// badSections breaks what holds for sections and their counts.
func badSections() []refused {
	sec, cat, u32 := wasmtest.Section, wasmtest.Cat, wasmtest.U32
	types := sec(1, wasmtest.Vec([][]byte{{0x60, 0, 0}}))
	one := sec(3, []byte{1, 0})
	return []refused{
		{"empty", nil, "not a WebAssembly module"},
		{"text", []byte("(module (memory 1))"), "not a WebAssembly module"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "not a WebAssembly module"},
		{"no memory", raw(), "memory section: 0 memories, want 1"},
		{"huge types", vec(1, huge), "type section (byte 15): 4294967295 types, at most 10000"},
		{"types beyond the bytes", vec(1, 9000), "9000 types in 0 bytes"},
		{"huge parameters", raw(sec(1, cat([]byte{1, 0x60}, u32(huge)))), "type section, type 0 (byte 17): 4294967295 parameters, at most 1000"},
		{"huge results", raw(sec(1, cat([]byte{1, 0x60, 0}, u32(huge)))), "results, at most 1000"},
		{"form", raw(sec(1, []byte{1, 0x5f, 0, 0})), "form 0x5f is not a function type"},
		{"value type", raw(sec(1, []byte{1, 0x60, 1, 0x6a, 0})), "type of parameters 0x6a is not a value type"},
		{"huge imports", vec(2, huge), "import section (byte 15): 4294967295 imports, at most 64"},
		{"huge functions", vec(3, huge), "function section (byte 15): 4294967295 functions, at most 50000"},
		{"huge tables", vec(4, huge), "tables, at most 8"},
		{"huge memories", vec(5, huge), "memories, at most 1"},
		{"huge globals", vec(6, huge), "globals, at most 10000"},
		{"huge exports", vec(7, huge), "exports, at most 1000"},
		{"huge elements", vec(9, huge), "element segments, at most 200000"},
		{"huge code", vec(10, huge), "bodies, at most 50000"},
		{"huge data", vec(11, huge), "data segments, at most 200000"},
		{"start section", raw(types, one, sec(8, []byte{0})), "start section (byte 20): a start function is not allowed"},
		{"unknown section", raw(sec(13, nil)), "section id 13 is not known"},
		{"order", raw(sec(3, []byte{0}), sec(1, []byte{0})), "type section is out of order or there twice"},
		{"twice", raw(sec(1, []byte{0}), sec(1, []byte{0})), "type section is out of order or there twice"},
		{"section longer than the module", raw([]byte{1, 100, 0}), "type section of 100 bytes, 1 left"},
		{"section of 4 GB", raw(cat([]byte{1}, u32(huge))), "type section of 4294967295 bytes"},
		{"section without a size", raw([]byte{1}), "ends within size"},
		{"left over", raw(sec(1, []byte{0, 0})), "type section (byte 11): 1 bytes left over"},
		{"number too long", raw(sec(1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})), "is not an unsigned number of 32 bits"},
		{"number too large", raw(sec(1, []byte{0xff, 0xff, 0xff, 0xff, 0x1f})), "is not an unsigned number of 32 bits"},
		{"custom name", raw(sec(0, u32(huge))), "name of 4294967295 bytes, at most 1024"},
		{"custom name not UTF-8", raw(sec(0, []byte{1, 0xff})), "name is not UTF-8"},
	}
}

// badItems breaks what holds for the items within.
func badItems() []refused {
	sec, cat, u32 := wasmtest.Section, wasmtest.Cat, wasmtest.U32
	types := sec(1, wasmtest.Vec([][]byte{{0x60, 0, 0}}))
	one := sec(3, []byte{1, 0})
	return []refused{
		{"two memories", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Memory(1) }), "2 memories, at most 1"},
		{"shared memory", with(func(m *wasmtest.Module, _ int) { m.RawMemory([]byte{3, 1, 1}) }), "memory section, memory 0 (byte 18): a shared memory is not allowed"},
		{"64-bit memory", with(func(m *wasmtest.Module, _ int) { m.RawMemory([]byte{4, 1}) }), "flags 0x4, want 0 or 1"},
		{"large memory", with(func(m *wasmtest.Module, _ int) { m.Memory(257) }), "257 pages, at most 256"},
		{"memory of 4 GB", with(func(m *wasmtest.Module, _ int) { m.Memory(65536) }), "65536 pages, at most 256"},
		{"memory bounds", with(func(m *wasmtest.Module, _ int) { m.RawMemory([]byte{1, 2, 1}) }), "memory with minimum 2 and maximum 1"},
		{"large table", with(func(m *wasmtest.Module, _ int) { m.Table(cat([]byte{0}, u32(100_000_000))); m.Memory(1) }), "table section, table 0 (byte 23): 100000000 elements, at most 65536"},
		{"nine tables", with(func(m *wasmtest.Module, _ int) {
			for range 9 {
				m.Table([]byte{0, 1})
			}
			m.Memory(1)
		}), "9 tables, at most 8"},
		{"forbidden import", with(func(m *wasmtest.Module, v int) { m.Import(sandbox.ModuleWASI, "path_open", v); m.Memory(1) }), "import section, import 0 (byte 52): wasi_snapshot_preview1.path_open is not allowed"},
		{"forbidden module", with(func(m *wasmtest.Module, v int) { m.Import("env", "abort", v); m.Memory(1) }), "env.abort is not allowed"},
		{"import of another type", with(func(m *wasmtest.Module, v int) { m.Import(sandbox.ModuleWASI, "fd_write", v); m.Memory(1) }), "fd_write has type () -> (), want (i32, i32, i32, i32) -> i32"},
		{"imported memory", raw(sec(2, cat([]byte{1}, wasmtest.Name("env"), wasmtest.Name("memory"), []byte{2, 0, 1}))), "env.memory is a memory, only functions may be imported"},
		{"import type", raw(types, sec(2, cat([]byte{1}, wasmtest.Name("weir1"), wasmtest.Name("log"), []byte{0, 9}))), "type 9 of 1"},
		{"function type", raw(types, sec(3, []byte{1, 1})), "function section, function 0 (byte 18): type 1 of 1"},
		{"body too large", with(func(m *wasmtest.Module, v int) { m.Memory(1); m.Body(v, make([]byte, 256<<10+1)) }), "code section, function 0 (byte 31): 262145 bytes, at most 262144"},
		{"body beyond the section", raw(types, one, sec(5, []byte{1, 0, 1}), sec(10, []byte{1, 50, 0})), "body of 50 bytes, 1 left"},
		{"body without end", with(func(m *wasmtest.Module, v int) { m.Memory(1); m.Body(v, []byte{0, 1}) }), "function 0 (byte 29): ends within the code"},
		{"empty body", raw(types, one, sec(5, []byte{1, 0, 1}), sec(10, []byte{1, 0, 0})), "function 0 (byte 27): ends within number of groups of locals"},
		{"many locals", with(func(m *wasmtest.Module, v int) {
			m.Memory(1)
			m.Body(v, cat([]byte{1}, u32(50_000_000), []byte{wasmtest.I32, 0x0b}))
		}), "50000000 locals, at most 10000"},
		{"sum of locals", with(func(m *wasmtest.Module, v int) {
			m.Memory(1)
			m.Body(v, cat([]byte{2}, u32(huge), i32, u32(huge), i32, []byte{0x0b}))
		}), "4294967295 locals, at most 10000"},
		{"groups of locals", with(func(m *wasmtest.Module, v int) { m.Memory(1); m.Body(v, u32(huge)) }), "groups of locals, at most 10000"},
		{"bodies missing", raw(types, one, sec(5, []byte{1, 0, 1})), "code section: 0 bodies for 1 functions"},
		{"export twice", with(func(m *wasmtest.Module, _ int) {
			m.Memory(1)
			m.Export("a", wasmtest.Memory, 0)
			m.Export("a", wasmtest.Memory, 0)
		}), `export section, export 1 (byte 30): "a" is exported twice`},
		{"export index", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Export("f", wasmtest.Func, 0) }), `"f" is func 0 of 0`},
		{"export kind", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Export("f", 9, 0) }), `"f" is of kind 9`},
		{"long name", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Export(strings.Repeat("x", 1025), 2, 0) }), "name of 1025 bytes, at most 1024"},
		{"element function", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Table([]byte{0, 1}); m.Element(0, 4) }), "function 4 of 0"},
		{"element table", with(func(m *wasmtest.Module, _ int) { m.Memory(1); m.Element(0) }), "table 0 of 0"},
		{"element entries", raw(sec(4, []byte{1, 0x70, 0, 1}), sec(5, []byte{1, 0, 1}), sec(9, cat([]byte{1, 0, 0x41, 0, 0x0b}, u32(huge)))), "elements, at most 200000"},
		{"element flags", raw(sec(5, []byte{1, 0, 1}), sec(9, []byte{1, 8, 0, 0})), "flags 0x8, at most 7"},
		{"data size", raw(sec(5, []byte{1, 0, 1}), sec(11, cat([]byte{1, 1}, u32(huge)))), "data section, segment 0 (byte 22): content of 4294967295 bytes, 0 left"},
		{"data memory", raw(sec(5, []byte{1, 0, 1}), sec(11, []byte{1, 2, 1, 0})), "memory 1 of 1"},
		{"data count", raw(sec(5, []byte{1, 0, 1}), sec(12, []byte{5})), "data section: 0 segments, the data count section says 5"},
		{"global expression", raw(sec(5, []byte{1, 0, 1}), sec(6, []byte{1, 0x7f, 0, 0x10, 0, 0x0b})), "instruction 0x10 in a constant expression"},
		{"global of itself", raw(sec(5, []byte{1, 0, 1}), sec(6, []byte{1, 0x7f, 0, 0x23, 0, 0x0b})), "global 0 of 0"},
		{"long constant", raw(sec(5, []byte{1, 0, 1}), sec(6, []byte{1, 0x7f, 0, 0x41, 0, 0x41, 0, 0x0b})), "more than one instruction"},
		{"mutability", raw(sec(5, []byte{1, 0, 1}), sec(6, []byte{1, 0x7f, 2, 0x41, 0, 0x0b})), "mutability 0x2"},
	}
}

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := sandbox.Inspect(c.wasm, sandbox.DefaultLimits())
			if !errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, _, err := sandbox.Prepare(c.wasm, sandbox.DefaultLimits()); err == nil {
				t.Error("Prepare let it pass")
			}
		})
	}
}

func TestInspectSize(t *testing.T) {
	t.Parallel()
	l := sandbox.DefaultLimits()
	l.Size = 8
	_, err := sandbox.Inspect(good().Bytes(), l)
	if err == nil || !strings.Contains(err.Error(), "bytes, at most 8") {
		t.Errorf("got %v", err)
	}
}

func TestInspectTruncated(t *testing.T) {
	t.Parallel()
	b := good().Bytes()
	for n := range b {
		_, err := sandbox.Inspect(b[:n], sandbox.DefaultLimits())
		// A cut between sections leaves a module; it then lacks something or is whole without the rest.
		if err != nil && !errors.Is(err, sandbox.ErrModule) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestInspectCustomSections(t *testing.T) {
	t.Parallel()
	m := good()
	for range 1000 {
		m.Custom("x", nil)
	}
	_, err := sandbox.Inspect(m.Bytes(), sandbox.DefaultLimits())
	if err == nil || !strings.Contains(err.Error(), "more than 1000 custom sections") {
		t.Errorf("got %v", err)
	}
}

// TestInspectMemory holds the reader to memory in proportion to the input, whatever the counts say.
func TestInspectMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range hostile() {
		_, _ = sandbox.Inspect(c.wasm, sandbox.DefaultLimits())
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}

func TestAllowedIsOrdered(t *testing.T) {
	t.Parallel()
	all := sandbox.Allowed()
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Module+"."+a.Name >= b.Module+"."+b.Name {
			t.Errorf("%s.%s stands before %s.%s", a.Module, a.Name, b.Module, b.Name)
		}
	}
}
