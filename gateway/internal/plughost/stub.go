package plughost

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// Errors of the wasip1 interface, as numbers.
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoNotsup  = 58
)

const (
	coarse    = 10 * time.Millisecond // clocks move in steps of this
	maxRandom = 64 << 10              // bytes of one random_get
	maxVecs   = 1024                  // buffers of one fd_write
	vecSize   = 8

	// What imports cost, beyond what the sandbox charges for any call of one. A unit is half a nanosecond.
	fuelRandom = 4 // for each byte
	fuelWrite  = 2
	fuelVector = 100   // for each buffer of an fd_write
	fuelLine   = 2_000 // for each line that is logged

	maxNap  = time.Millisecond // longest wait that poll_oneoff takes for granted
	maxNaps = 64               // such waits in one call
)

// Layout of the subscription and the event of poll_oneoff.
const (
	subTag, subClock, subTimeout, subFlags, subSize = 8, 0, 24, 40, 48
	eventSize                                       = 32
)

// errExit is what a guest that calls proc_exit traps with. The module is not closed, since that would
// free what the running call stands on.
var errExit = errors.New("the guest called proc_exit")

// stub is the host's side of the allowed imports, for one plugin version. It gives a guest nothing but
// randomness, a coarse clock and a capped log.
type stub struct {
	log   *lineLog
	began time.Time

	mu       sync.Mutex // guards consoles
	consoles map[api.Module]*console
}

func newStub(log *lineLog) *stub {
	return &stub{log: log, began: time.Now(), consoles: make(map[api.Module]*console)}
}

func (s *stub) attach(m api.Module, fuel api.MutableGlobal) *console {
	c := &console{log: s.log, allowance: allowance{fuel: fuel}}
	s.mu.Lock()
	s.consoles[m] = c
	s.mu.Unlock()
	return c
}

func (s *stub) detach(m api.Module) {
	s.mu.Lock()
	delete(s.consoles, m)
	s.mu.Unlock()
}

func (s *stub) console(m api.Module) *console {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.consoles[m]
}

// instantiate offers every allowed import to the guests of r.
func (s *stub) instantiate(ctx context.Context, r wazero.Runtime) error {
	funcs := s.functions()
	builders := map[string]wazero.HostModuleBuilder{}
	for _, i := range sandbox.Allowed() {
		f, ok := funcs[i.Module+"."+i.Name]
		if !ok {
			return fmt.Errorf("import %s.%s is allowed but not offered", i.Module, i.Name)
		}
		b := builders[i.Module]
		if b == nil {
			b = r.NewHostModuleBuilder(i.Module)
			builders[i.Module] = b
		}
		b.NewFunctionBuilder().WithGoModuleFunction(f, types(i.Type.Params()), types(i.Type.Results())).Export(i.Name)
	}
	for _, module := range []string{sandbox.ModuleWASI, sandbox.ModuleWeir} {
		if _, err := builders[module].Instantiate(ctx); err != nil {
			return fmt.Errorf("imports of %s: %w", module, err)
		}
	}
	return s.offerRefill(ctx, r)
}

func types(in []sandbox.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(in))
	for i, t := range in {
		out[i] = api.ValueType(t)
	}
	return out
}

func (s *stub) functions() map[string]api.GoModuleFunc {
	always := func(errno uint64) api.GoModuleFunc {
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errno }
	}
	const wasi = sandbox.ModuleWASI + "."
	return map[string]api.GoModuleFunc{
		wasi + "args_get":            always(errnoSuccess),
		wasi + "args_sizes_get":      zeroSizes,
		wasi + "clock_res_get":       clockRes,
		wasi + "clock_time_get":      s.clockTime,
		wasi + "environ_get":         always(errnoSuccess),
		wasi + "environ_sizes_get":   zeroSizes,
		wasi + "fd_close":            always(errnoBadf),
		wasi + "fd_fdstat_get":       always(errnoBadf),
		wasi + "fd_fdstat_set_flags": always(errnoBadf),
		wasi + "fd_prestat_dir_name": always(errnoBadf),
		wasi + "fd_prestat_get":      always(errnoBadf),
		wasi + "fd_read":             always(errnoBadf),
		wasi + "fd_seek":             always(errnoBadf),
		wasi + "fd_write":            s.fdWrite,
		wasi + "poll_oneoff":         s.pollOneoff,
		wasi + "proc_exit":           procExit,
		wasi + "random_get":          s.randomGet,
		wasi + "sched_yield":         always(errnoSuccess),
		sandbox.ModuleWeir + ".log":  s.weirLog,
	}
}

// zeroSizes tells of no arguments, or of no environment.
func zeroSizes(_ context.Context, m api.Module, stack []uint64) {
	ok := m.Memory().WriteUint32Le(uint32(stack[0]), 0) && m.Memory().WriteUint32Le(uint32(stack[1]), 0)
	stack[0] = faultUnless(ok)
}

func faultUnless(ok bool) uint64 {
	if ok {
		return errnoSuccess
	}
	return errnoFault
}

func clockRes(_ context.Context, m api.Module, stack []uint64) {
	stack[0] = faultUnless(m.Memory().WriteUint64Le(uint32(stack[1]), uint64(coarse)))
}

// clockTime serves the wall clock (id 0) and the monotonic one (id 1), both in coarse steps.
func (s *stub) clockTime(_ context.Context, m api.Module, stack []uint64) {
	var v time.Duration
	switch uint32(stack[0]) {
	case 0:
		v = time.Duration(time.Now().UnixNano())
	case 1:
		v = time.Since(s.began)
	default:
		stack[0] = errnoInval
		return
	}
	stack[0] = faultUnless(m.Memory().WriteUint64Le(uint32(stack[2]), uint64(v.Truncate(coarse))))
}

func (s *stub) randomGet(_ context.Context, m api.Module, stack []uint64) {
	n, c := uint32(stack[1]), s.console(m)
	if n > maxRandom || c == nil {
		stack[0] = errnoInval
		return
	}
	c.charge(fuelRandom * int(n))
	b, ok := m.Memory().Read(uint32(stack[0]), n)
	if ok {
		_, _ = rand.Read(b) // never fails
	}
	stack[0] = faultUnless(ok)
}

// procExit traps. Panicking is how a host function of the engine does that; the engine turns it into
// the error of the call.
func procExit(_ context.Context, _ api.Module, stack []uint64) {
	panic(fmt.Errorf("%w with status %d", errExit, uint32(stack[0])))
}

// pollOneoff does not wait for anything. The one thing it grants, at once, is a short relative wait on a
// clock: the Go runtime naps while it prints a panic, and would lose the message to an error here.
func (s *stub) pollOneoff(_ context.Context, m api.Module, stack []uint64) {
	in, out, n, count := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	stack[0] = errnoNotsup
	c, mem := s.console(m), m.Memory()
	sub, ok := mem.Read(in, subSize)
	if n != 1 || c == nil || !ok {
		return
	}
	nap := binary.LittleEndian.Uint64(sub[subTimeout:])
	if sub[subTag] != subClock || binary.LittleEndian.Uint16(sub[subFlags:]) != 0 || nap > uint64(maxNap) {
		return
	}
	c.heard = true
	if c.naps++; c.naps > maxNaps {
		return
	}
	var event [eventSize]byte
	copy(event[:], sub[:8]) // the subscription's user data
	stack[0] = faultUnless(mem.Write(out, event[:]) && mem.WriteUint32Le(count, 1))
}

// fdWrite takes what goes to the standard output and error into the guest's console.
func (s *stub) fdWrite(ctx context.Context, m api.Module, stack []uint64) {
	fd, vecs, n, written := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	level := slog.LevelInfo
	switch {
	case fd == 2:
		level = slog.LevelWarn
	case fd != 1:
		stack[0] = errnoBadf
		return
	}
	c := s.console(m)
	if n > maxVecs || c == nil {
		stack[0] = errnoInval
		return
	}
	c.charge(fuelVector * int(n))
	mem := m.Memory()
	list, ok := mem.Read(vecs, n*vecSize)
	if !ok {
		stack[0] = errnoFault
		return
	}
	total := uint32(0)
	for ; len(list) > 0; list = list[vecSize:] {
		b, ok := mem.Read(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			stack[0] = errnoFault
			return
		}
		c.charge(fuelWrite * len(b))
		total += uint32(len(b))
		c.write(ctx, level, b)
	}
	stack[0] = faultUnless(mem.WriteUint32Le(written, total))
}

// weirLog is weir1.log(level, ptr, len): one line; levels are 0 debug, 1 info, 2 warn and 3 error.
func (s *stub) weirLog(ctx context.Context, m api.Module, stack []uint64) {
	b, ok := m.Memory().Read(uint32(stack[1]), min(uint32(stack[2]), maxLine))
	c := s.console(m)
	if !ok || c == nil {
		return
	}
	c.charge(fuelLine)
	level := slog.LevelError
	switch uint32(stack[0]) {
	case 0:
		level = slog.LevelDebug
	case 1:
		level = slog.LevelInfo
	case 2:
		level = slog.LevelWarn
	}
	s.log.line(ctx, level, b)
}
