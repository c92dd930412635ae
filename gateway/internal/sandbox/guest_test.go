package sandbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

const outOfFuel = "out of fuel"

// engine is a runtime that offers every import; none does anything, and the clock stands.
func engine(tb testing.TB) wazero.Runtime {
	tb.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(256))
	tb.Cleanup(func() { rt.Close(ctx) })
	builders := map[string]wazero.HostModuleBuilder{}
	for _, i := range sandbox.Allowed() {
		b := builders[i.Module]
		if b == nil {
			b = rt.NewHostModuleBuilder(i.Module)
			builders[i.Module] = b
		}
		f := func(_ context.Context, m api.Module, stack []uint64) {
			errno := uint64(0)
			switch i.Name {
			case "args_sizes_get", "environ_sizes_get":
				m.Memory().WriteUint32Le(uint32(stack[0]), 0)
				m.Memory().WriteUint32Le(uint32(stack[1]), 0)
			case "clock_time_get":
				m.Memory().WriteUint64Le(uint32(stack[2]), 1e18)
			case "proc_exit":
				panic(sys.NewExitError(uint32(stack[0])))
			case "args_get", "environ_get", "random_get", "sched_yield":
			default:
				errno = 8
			}
			if len(i.Type.Results()) > 0 {
				stack[0] = errno
			}
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(f), valueTypes(i.Type.Params()), valueTypes(i.Type.Results())).Export(i.Name)
	}
	// Nobody gets more fuel.
	refill := api.GoModuleFunc(func(context.Context, api.Module, []uint64) { panic(outOfFuel) })
	builders[sandbox.ModuleHost] = rt.NewHostModuleBuilder(sandbox.ModuleHost).NewFunctionBuilder().WithGoModuleFunction(refill, nil, nil).Export(sandbox.ImportRefill)
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return rt
}

func valueTypes(in []sandbox.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(in))
	for i, t := range in {
		out[i] = api.ValueType(t)
	}
	return out
}

// guest is an instance, metered or not.
type guest struct {
	api.Module
	fuel, depth api.MutableGlobal // nil when not metered
}

const plenty = math.MaxInt64 / 2

func instance(tb testing.TB, rt wazero.Runtime, wasm []byte) *guest {
	tb.Helper()
	m, err := rt.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	must(tb, err)
	return newGuest(m)
}

func newGuest(m api.Module) *guest {
	g := &guest{Module: m}
	if f := m.ExportedGlobal(sandbox.ExportFuel); f != nil {
		g.fuel = f.(api.MutableGlobal)
		g.depth = m.ExportedGlobal(sandbox.ExportDepth).(api.MutableGlobal)
	}
	return g
}

// call runs an exported function with fuel, where the guest is metered, and returns what was used.
func (g *guest) call(name string, fuel int64, args ...uint64) (results []uint64, used int64, err error) {
	if g.fuel != nil {
		g.fuel.Set(uint64(fuel))
	}
	results, err = g.ExportedFunction(name).Call(context.Background(), args...)
	if g.fuel != nil {
		used = fuel - int64(g.fuel.Get())
	}
	return results, used, err
}

// stream drives a parser plugin without a host.
type stream struct {
	*guest
	in      uint32
	feed    api.Function
	stack   [3]uint64
	rest    []byte
	used    int64
	records []byte
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// open initialises a guest and opens it with a configuration.
func open(tb testing.TB, g *guest, config string) *stream {
	tb.Helper()
	_, _, err := g.call(abi.ExportInitialize, plenty)
	must(tb, err)
	s := &stream{guest: g, feed: g.ExportedFunction(abi.ExportFeed)}
	s.describe(tb)
	g.Memory().Write(s.in, []byte(config))
	r, _, err := g.call(abi.ExportOpen, plenty, uint64(len(config)))
	must(tb, err)
	if uint32(r[0]) != 0 {
		tb.Fatalf("open: %d", r[0])
	}
	s.describe(tb)
	return s
}

func (s *stream) describe(tb testing.TB) {
	tb.Helper()
	r, _, err := s.call(abi.ExportDescribe, plenty)
	must(tb, err)
	s.in, _ = s.Memory().ReadUint32Le(uint32(r[0]) + 8)
}

// raw is one feed of what lies in the input buffer.
func (s *stream) raw(n int) error {
	if s.fuel != nil {
		s.fuel.Set(plenty)
	}
	s.stack[0], s.stack[1], s.stack[2] = uint64(n), 0, 0
	err := s.feed.CallWithStack(context.Background(), s.stack[:])
	if s.fuel != nil {
		s.used = plenty - int64(s.fuel.Get())
	}
	return err
}

// push feeds a piece and collects the records, which go without addresses.
func (s *stream) push(piece string) error {
	s.rest = append(s.rest, piece...)
	s.Memory().Write(s.in, s.rest)
	if err := s.raw(len(s.rest)); err != nil {
		return err
	}
	v := s.stack[0]
	if int64(v) < 0 {
		return errors.New("feed returned an error")
	}
	b, _ := s.Memory().Read(uint32(v>>32), uint32(v))
	for ; len(b) >= record.Size; b = b[record.Size:] {
		s.records = append(s.records, b[:4]...)
		s.records = append(s.records, b[8:record.Size]...)
		n := binary.LittleEndian.Uint32(b[8:])
		s.records = append(s.records, s.rest[:n]...)
		s.rest = s.rest[n:]
	}
	return nil
}
