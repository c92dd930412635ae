package sandbox_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// overrun is how many instructions may run after fuel is spent, as meter.go promises.
const overrun = 1001 * (1200 + 1024)

// outcome is all that a run of a program leaves.
type outcome struct {
	trap    string
	results []uint64
	memory  []byte
	globals [3]uint64
	count   int64
}

func (o *outcome) same(p *outcome) error {
	switch {
	case o.trap != p.trap:
		return fmt.Errorf("trap %q, want %q", p.trap, o.trap)
	case !slices.Equal(o.results, p.results):
		return fmt.Errorf("results %v, want %v", p.results, o.results)
	case o.globals != p.globals:
		return fmt.Errorf("globals %v, want %v", p.globals, o.globals)
	case !bytes.Equal(o.memory, p.memory):
		return fmt.Errorf("other memory")
	}
	return nil
}

// compiled is a module that is compiled once and instantiated for each run.
type compiled struct {
	rt wazero.Runtime
	wazero.CompiledModule
}

func compile(tb testing.TB, rt wazero.Runtime, wasm []byte) compiled {
	tb.Helper()
	c, err := rt.CompileModule(tb.Context(), wasm)
	must(tb, err)
	return compiled{rt, c}
}

// run calls one function of a new instance.
func (c compiled) run(tb testing.TB, name string, fuel int64) (*outcome, *guest) {
	tb.Helper()
	m, err := c.rt.InstantiateModule(tb.Context(), c.CompiledModule, wazero.NewModuleConfig().WithName(""))
	must(tb, err)
	defer m.Close(tb.Context())
	g := newGuest(m)
	args := make([]uint64, len(g.ExportedFunction(name).Definition().ParamTypes()))
	for i := range args {
		args[i] = uint64(3*i + 2)
	}
	r, _, err := g.call(name, fuel, args...)
	o := &outcome{results: r, memory: bytes.Clone(memory(g)), count: int64(g.ExportedGlobal("count").Get())}
	if err != nil {
		o.trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	for i, n := range []string{"calls", "g32", "g64"} {
		o.globals[i] = g.ExportedGlobal(n).Get()
	}
	return o, g
}

// checkProgram runs one generated program as it is, metered, counted, and metered with too little fuel.
func checkProgram(tb testing.TB, rt wazero.Runtime, seed uint64, traps map[string]int) {
	tb.Helper()
	plainWasm, countedWasm := generate(seed, false), generate(seed, true)
	var all [4]compiled
	for i, b := range [][]byte{plainWasm, countedWasm, prepare(tb, plainWasm), prepare(tb, countedWasm)} {
		all[i] = compile(tb, rt, b)
		defer all[i].Close(tb.Context())
	}
	plain, counted, metered, countedMetered := all[0], all[1], all[2], all[3]
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		want, _ := plain.run(tb, name, 0)
		traps[want.trap]++
		got, g := metered.run(tb, name, plenty)
		if err := want.same(got); err != nil {
			tb.Fatalf("seed %d, %s: metered: %v", seed, name, err)
		}
		if d := g.depth.Get(); want.trap == "" && d != 0 {
			tb.Fatalf("seed %d, %s: depth %d afterwards", seed, name, d)
		}
		used := plenty - int64(g.fuel.Get())
		truth, _ := counted.run(tb, name, 0)
		if truth.trap != want.trap || truth.count > used {
			tb.Fatalf("seed %d, %s: %d instructions ran (%q), %d were paid", seed, name, truth.count, truth.trap, used)
		}
		_, g = metered.run(tb, name, used)
		if left := int64(g.fuel.Get()); left != 0 {
			tb.Fatalf("seed %d, %s: a second run leaves %d of %d", seed, name, left, used)
		}
		for _, fuel := range []int64{0, used / 3, used - 1} {
			got, g := metered.run(tb, name, fuel)
			left := int64(g.fuel.Get())
			if left >= 0 || left < -overrun {
				tb.Fatalf("seed %d, %s: %d of %d fuel leaves %d", seed, name, fuel, used, left)
			}
			if got.trap == "" {
				if err := want.same(got); err != nil {
					tb.Fatalf("seed %d, %s: not cut with %d of %d fuel, but %v", seed, name, fuel, used, err)
				}
			}
			got, _ = countedMetered.run(tb, name, fuel)
			if got.count > fuel+overrun {
				tb.Fatalf("seed %d, %s: %d instructions with %d fuel", seed, name, got.count, fuel)
			}
		}
	}
}

// TestMeterPrograms runs generated programs with and without meters.
func TestMeterPrograms(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	traps := map[string]int{}
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		checkProgram(t, rt, seed, traps)
	}
	t.Log(traps)
	if traps[""] < int(seeds) || len(traps) < 3 {
		t.Errorf("the programs say little: %v", traps)
	}
}

// FuzzMeter is TestMeterPrograms with seeds of the fuzzer's choice.
func FuzzMeter(f *testing.F) {
	rt := engine(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkProgram(t, rt, seed, map[string]int{}) })
}
