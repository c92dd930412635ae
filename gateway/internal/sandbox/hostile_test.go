package sandbox_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// endless is a module that exports f: (i32) -> i32 of this code, as function 0, and more functions.
func endless(code string, more ...string) []byte {
	m := &w.Module{}
	m.Type(i32, i32)
	m.Type(nil, nil)
	m.Export("f", w.Func, m.Func(0, i32, code))
	for _, c := range more {
		m.Func(0, i32, c)
	}
	m.Table([]byte{0, 4})
	m.Element(0, 0)
	m.Memory(16)
	m.Export("memory", w.Memory, 0)
	m.PassiveElement(0, 0, 0)
	m.Passive(make([]byte, 4096))
	return m.Bytes()
}

const (
	spent = "fuel"
	deep  = "depth"
)

// hostileGuests never end by themselves. cut is what must end them.
func hostileGuests() []struct {
	name string
	wasm []byte
	cut  string
} {
	get, forever := w.LocalGet(0), func(body string) string { return w.Loop + body + w.Br(0) + w.End + w.I32Const(0) }
	three := func(a, b, c string) string { return a + b + c }
	return []struct {
		name string
		wasm []byte
		cut  string
	}{
		{"loop", endless(forever("")), spent},
		{"loop that tests", endless(w.Loop + get + w.Eqz + w.BrIf(0) + w.I32Const(1) + w.BrIf(0) + w.End + get), spent},
		{"loop by table", endless(w.Loop + get + "\x0e\x01\x00\x00" + w.End + get), spent},
		{"loop behind dead code", endless(w.Block + w.Br(0) + forever("")[:2] + w.End + w.End + forever("")), spent},
		{"loop in an arm", endless(w.I32Const(1) + w.If + w.Else + w.End + get + w.Eqz + w.If + get + w.Return + w.End + forever("")), spent},
		{"loops within loops", endless(strings.Repeat(w.Loop, 30) + w.Br(29) + strings.Repeat(w.End, 30) + get), spent},
		{"loop of blocks", endless(w.Loop + w.Block + w.Block + w.Br(2) + w.End + w.End + w.End + get), spent},
		{"loop with a parameter", endless(get + "\x03\x00" + w.Br(0) + w.End), spent},
		{"calls in a loop", endless(forever(get+w.Call(1)+w.Drop), get), spent},
		{"fib", endless(get + w.Eqz + w.If + get + w.Return + w.End + get + w.I32Const(1) + w.Sub + w.Call(0) + get + w.I32Const(1) + w.Sub + w.Call(0) + w.Add), spent},
		{"fib by table", endless(get + w.Eqz + w.If + get + w.Return + w.End + get + w.I32Const(1) + w.Sub + w.I32Const(0) + "\x11\x00\x00" + get + w.I32Const(1) + w.Sub + w.I32Const(0) + "\x11\x00\x00" + w.Add), spent},
		{"many leaves", endless(strings.Repeat(get+w.Call(1)+w.Drop, 5000)+get+w.Call(0), strings.Repeat("\x01", 180)+get), spent},
		{"recursion", endless(get + w.Call(0)), deep},
		{"recursion by two", endless(get+w.Call(1), get+w.Call(0)), deep},
		{"recursion by table", endless(get + w.I32Const(0) + "\x11\x00\x00"), deep},
		{"recursion from a block", endless(w.Block + w.Block + get + w.Call(0) + w.Drop + w.End + w.End + get), deep},
		{"recursion with a full stack", endless(strings.Repeat(get, 10_000) + get + w.Call(0) + strings.Repeat(w.Add, 10_000)), deep},
		{"fill", endless(forever(three(w.I32Const(0), get, w.I32Const(1<<20)) + "\xfc\x0b\x00")), spent},
		{"copy", endless(forever(three(w.I32Const(0), w.I32Const(0), w.I32Const(1<<20)) + "\xfc\x0a\x00\x00")), spent},
		{"init", endless(forever(three(w.I32Const(0), w.I32Const(0), w.I32Const(4096)) + "\xfc\x08\x00\x00")), spent},
		{"fill of all", endless(forever(three(w.I32Const(0), get, w.I32Const(-1)) + "\xfc\x0b\x00")), spent},
		{"table copy", endless(forever(three(w.I32Const(0), w.I32Const(0), w.I32Const(4)) + "\xfc\x0e\x00\x00")), spent},
		{"table init", endless(forever(three(w.I32Const(0), w.I32Const(0), w.I32Const(3)) + "\xfc\x0c\x01\x00")), spent},
		{"table grow", endless(forever("\xd0\x70" + w.I32Const(-1) + "\xfc\x0f\x00" + w.Drop)), spent},
		{"grow", endless(forever(w.I32Const(1) + w.MemoryGrow + w.Drop)), spent},
	}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	for _, c := range hostileGuests() {
		t.Run(c.name, func(t *testing.T) {
			g := instance(t, rt, prepare(t, c.wasm))
			for _, fuel := range []int64{0, 1000, 2_000_000} {
				g.depth.Set(0)
				_, used, err := g.call("f", fuel, 900)
				if err == nil || !strings.Contains(err.Error(), "unreachable") && !strings.Contains(err.Error(), outOfFuel) {
					t.Fatalf("with %d fuel: %v", fuel, err)
				}
				left, depth := int64(g.fuel.Get()), int32(g.depth.Get())
				if c.cut == deep && fuel > 1_000 {
					if left < 0 || int(depth) <= sandbox.DefaultLimits().Depth {
						t.Errorf("with %d fuel: %d left at a depth of %d", fuel, left, depth)
					}
				} else if left >= 0 {
					t.Errorf("with %d fuel: %d left, depth %d", fuel, left, depth)
				}
				if c.name != "fill of all" && (used < 0 || left < -overrun) {
					t.Errorf("with %d fuel: %d used", fuel, used)
				}
			}
		})
	}
}

// TestOverrun holds the instructions that run after the fuel is spent to what meter.go promises: long code
// behind calls, in each of many open functions, and far from any loop.
func TestOverrun(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	mark := w.I32Const(0) + w.I32Const(0) + w.Load(0) + w.I32Const(1) + w.Add + w.Store(0)
	nops := func(n int) string { return strings.Repeat("\x01", n) }
	// Each level runs 40 steps of a thousand instructions behind its call, and counts them in memory.
	down := w.Block + w.LocalGet(0) + w.Eqz + w.BrIf(0) + w.LocalGet(0) + w.I32Const(1) + w.Sub + w.Call(0) + w.Drop + w.End
	for _, c := range []struct{ name, step string }{
		{"straight", mark + nops(994)},
		{"by branches", w.Block + mark + nops(960) + w.Br(0) + w.End},
		{"by arms", mark + w.LocalGet(0) + w.Eqz + w.If + nops(960) + w.Else + nops(960) + w.End},
		{"by leaves", mark + strings.Repeat(w.LocalGet(0)+w.Call(1)+w.Drop, 5) + nops(20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := instance(t, rt, prepare(t, endless(down+strings.Repeat(c.step, 40)+w.LocalGet(0), nops(190)+w.LocalGet(0))))
			_, used, err := g.call("f", plenty, 20)
			must(t, err)
			if n, _ := g.Memory().ReadUint32Le(0); n != 21*40 || used < 21*40*950 {
				t.Fatalf("%d steps, %d fuel used", n, used)
			}
			g.Memory().WriteUint32Le(0, 0)
			if _, used, err = g.call("f", 10_000, 20); err == nil {
				t.Error("not cut")
			}
			// Without tests on the way, each of 21 open functions would run its 40 steps.
			if n, _ := g.Memory().ReadUint32Le(0); n > 20 || used > 10_000+overrun {
				t.Errorf("%d thousand instructions ran and %d were charged, of 10,000", n, used)
			}
		})
	}
}

// TestCharges holds the charges of single instructions.
func TestCharges(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	get := w.LocalGet(0)
	for _, c := range []struct {
		name, code string
		arg        uint32
		want       int64
	}{
		{"nothing", "", 0, 0},
		{"one", get + w.Drop, 0, 2},
		{"form is free", w.Block + w.Block + w.End + get + w.Drop + w.End + w.Loop + w.End, 0, 2},
		{"arm not run", get + w.If + "\x01\x01" + w.End, 0, 2},
		{"arm run", get + w.If + "\x01\x01" + w.End, 1, 4},
		{"other arm", get + w.If + "\x01\x01" + w.Else + "\x01" + w.End, 0, 3},
		{"arm that goes on, other that leaves", get + w.If + "\x01" + w.Else + w.Return + w.End + "\x01\x01", 1, 5},
		{"arm that leaves, other that goes on", get + w.If + w.Return + w.Else + "\x01" + w.End + "\x01\x01", 0, 5},
		{"dead code", w.Return + "\x01\x01", 0, 1},
		{"behind a block that is left", w.Block + get + w.BrIf(0) + "\x01\x01\x01" + w.End + "\x01", 1, 6},
		{"loop of three", w.Loop + get + w.I32Const(1) + w.Sub + w.LocalSet(0) + get + w.BrIf(0) + w.End, 3, 18},
		{"fill of 80", w.I32Const(0) + w.I32Const(0) + get + "\xfc\x0b\x00", 80, 4 + 40},
		{"fill of 7", w.I32Const(0) + w.I32Const(0) + get + "\xfc\x0b\x00", 7, 4 + 3},
		{"copy of 64 KiB", w.I32Const(0) + w.I32Const(0) + get + "\xfc\x0a\x00\x00", 1 << 16, 4 + 1<<15},
		{"grow by nothing", get + w.MemoryGrow + w.Drop, 0, 3 + 100},
		{"grow by one", get + w.MemoryGrow + w.Drop, 1, 3 + 100 + 11_000},
		{"grow by more than there is", get + w.MemoryGrow + w.Drop, math.MaxUint32, 3 + 100 + 256*11_000},
		{"grow a table beyond its limit", "\xd0\x70" + get + "\xfc\x0f\x00" + w.Drop, math.MaxUint32, 3 + 500 + 65536},
		{"fill a table", w.I32Const(0) + "\xd0\x70" + get + "\xfc\x11\x00", 2, 4 + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &w.Module{}
			m.Type(i32, nil)
			m.Export("f", w.Func, m.Func(0, nil, c.code))
			m.Table([]byte{0, 2})
			m.Memory(16)
			g := instance(t, rt, prepare(t, m.Bytes()))
			_, used, err := g.call("f", plenty, uint64(c.arg))
			if err != nil || used != c.want {
				t.Errorf("%d fuel used, want %d (%v)", used, c.want, err)
			}
		})
	}
}

// TestDearRegion charges what is more than a region may cost: calls of the host in straight code, among what
// tests the fuel.
func TestDearRegion(t *testing.T) {
	t.Parallel()
	m := &w.Module{}
	yield := m.Type(nil, i32)
	void := m.Type(nil, nil)
	m.Import(sandbox.ModuleWASI, "sched_yield", yield)
	calls := strings.Repeat(w.Call(0)+w.Drop, 400) + w.I32Const(0) + w.I32Const(0) + w.I32Const(0) + "\xfc\x0b\x00"
	m.Export("f", w.Func, m.Func(void, nil, strings.Repeat(calls, 50)))
	m.Memory(1)
	g := instance(t, engine(t), prepare(t, m.Bytes()))
	if _, used, err := g.call("f", plenty); err != nil || used != 50*(400*501+4) {
		t.Errorf("%d fuel used (%v)", used, err)
	}
}

// TestHostCalls charges calls of imported functions more than others, also those through the table.
func TestHostCalls(t *testing.T) {
	t.Parallel()
	m := &w.Module{}
	yield := m.Type(nil, i32)
	void := m.Type(nil, nil)
	m.Import(sandbox.ModuleWASI, "sched_yield", yield)
	m.Export("direct", w.Func, m.Func(void, nil, w.Call(0), w.Drop))
	m.Export("table", w.Func, m.Func(void, nil, w.I32Const(0), "\x11\x00\x00", w.Drop))
	m.Table([]byte{0, 1})
	m.Element(0, 0)
	m.Memory(1)
	g := instance(t, engine(t), prepare(t, m.Bytes()))
	for name, want := range map[string]int64{"direct": 501, "table": 502} {
		_, used, err := g.call(name, plenty)
		if err != nil || used != want || g.depth.Get() != 0 {
			t.Errorf("%s: %d fuel used at depth %d (%v)", name, used, g.depth.Get(), err)
		}
	}
}

// TestManySlowFunctions: functions that are within the limits one by one are too many together.
func TestManySlowFunctions(t *testing.T) {
	m := &w.Module{}
	typ := m.Type(nil, nil)
	code := strings.Repeat(w.Block+w.End, 4_000)
	for range 24 {
		m.Func(typ, nil, code)
	}
	m.Memory(1)
	_, _, err := sandbox.Prepare(m.Bytes(), sandbox.DefaultLimits())
	if err == nil || !strings.Contains(err.Error(), "would take the compiler too long") {
		t.Errorf("got %v", err)
	}
}
