package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
	"github.com/weirgate/weir/plugins/builtin"
)

// functions is a module with n functions (i32) -> () of this code and these locals, and one of everything
// that the code may name. Function 0 is () -> 1,000 values, and function 1 takes and leaves as many.
func functions(n, locals int, code string, more ...func(m *w.Module)) []byte {
	m := &w.Module{}
	m.Type(i32, nil)
	m.Type(nil, many(w.I64, 1000))
	m.Type(many(w.I64, 1000), many(w.I64, 1000))
	m.Func(1, nil, w.Unreachable)
	m.Func(2, nil, w.Unreachable)
	for range n {
		m.Body(0, withLocals(locals, w.I64, code))
	}
	m.Table([]byte{0, 4})
	m.PassiveElement(0, 0, 0)
	m.Passive(make([]byte, 64))
	m.Memory(1)
	for _, f := range more {
		f(m)
	}
	return m.Bytes()
}

// TestBombs refuses small modules that the engine's compiler would take many seconds or gigabytes for.
func TestBombs(t *testing.T) {
	t.Parallel()
	get, zero := w.LocalGet(0), w.I32Const(0)
	three := zero + zero + zero
	load := zero + w.Load(0)
	ifs := func(n int) string { return strings.Repeat(get+w.If+w.End, n) }
	phis := strings.Repeat(w.Loop+get+w.If+shuffle(9990)+w.End+get+w.BrIf(0)+w.End, 3)
	const (
		branches = "more than 8000 blocks and branches"
		live     = "and what else is live, at most 524288 multiplied"
		work     = "would take the compiler too long"
		moves    = "blocks, branches and calls move more than 262144 values and globals"
	)
	globals := func(m *w.Module) {
		for range 9_000 {
			m.Global(1)
		}
	}
	for _, c := range []struct {
		name string
		wasm []byte
		want string // a part of the message, or empty
	}{
		{"fills", functions(1, 1, strings.Repeat(three+"\xfc\x0b\x00", 4_000)), branches},
		{"copies", functions(1, 1, strings.Repeat(three+"\xfc\x0a\x00\x00", 4_000)), branches},
		{"table inits", functions(1, 1, strings.Repeat(three+"\xfc\x0c\x00\x00", 12_000)), branches},
		{"table fills", functions(1, 1, strings.Repeat(zero+"\xd0\x70"+zero+"\xfc\x11\x00", 4_000)), branches},
		{"grows", functions(1, 1, strings.Repeat(zero+w.MemoryGrow+w.Drop, 16_000)), branches},
		{"calls through the table", functions(1, 1, strings.Repeat(get+zero+"\x11\x00\x00", 10_000)), branches},
		{"a thousand copies", functions(1, 1, strings.Repeat(three+"\xfc\x0a\x00\x00", 1_000)), ""},
		{"values", functions(256, 1, w.Call(0)+strings.Repeat(w.Call(1), 128)+w.Unreachable), work},
		{"values of a few functions", functions(8, 1, w.Call(0)+strings.Repeat(w.Call(1), 128)+w.Unreachable), ""},
		{"operands", functions(1, 1, strings.Repeat(get+"\x67", 16_000)+ifs(2_000)+strings.Repeat(w.Add, 15_999)+w.Drop), live},
		{"checked addresses", functions(1, 1, strings.Repeat(load+w.Drop, 16_000)+ifs(2_000)), live},
		{"both", functions(1, 1, strings.Repeat(load, 16_000)+ifs(2_000)+strings.Repeat(w.Add, 15_999)+w.Drop), live},
		{"checked on one way alone", functions(1, 1, strings.Repeat(get+w.If+load+w.Drop+w.End, 2_000)), ""},
		{"locals at joins", functions(8, 9_990, phis), work},
		{"locals at joins of one function", functions(1, 9_990, phis), ""},
		{"locals over joins", functions(12, 100, shuffle(100)+ifs(4_000)+shuffle(100)), work},
		{"branches", functions(6, 1, w.Block+strings.Repeat(get+w.BrIf(0), 7_990)+w.End), work},
		{"tests", functions(10, 1, strings.Repeat("\xd2\x01"+w.Drop, 60_000), func(m *w.Module) { m.Export("x", w.Func, 1) }), work},
		{"vectors", functions(20, 1, vector+strings.Repeat("\xfd\x62", 100_000)+w.Drop), work},
		{"globals", functions(1, 1, strings.Repeat(get+w.Call(2), 1_000), globals), moves},
		{"globals of many functions", functions(49_000, 1, "", func(m *w.Module) { globals(m) }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := sandbox.Prepare(c.wasm, sandbox.DefaultLimits())
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestWorkOfBuiltin keeps the built-in guest, two megabytes of a standard Go toolchain, at a quarter of
// what a module may cost the compiler.
func TestWorkOfBuiltin(t *testing.T) {
	t.Parallel()
	n, err := sandbox.Work(prepare(t, builtin.Wasm()))
	if limit := sandbox.DefaultLimits().Work; err != nil || n > limit/4 {
		t.Errorf("%d units of work, at most %d (%v)", n, limit/4, err)
	}
}
