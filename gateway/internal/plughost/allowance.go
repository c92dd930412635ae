package plughost

import (
	"context"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// How fuel is given out. Fuel counts instructions, of which one that misses every cache takes a hundred times
// the usual: so a call gets it in slices, and from the second slice on the clock counts, too. A unit is worth
// three quarters of a nanosecond, which is two to three times what usual code takes.
const (
	slice     = 10_000
	headStart = 100 * time.Microsecond
)

// patience is for calls that nobody waits for, or whose code is weir's own: code that runs for the first time on a
// loaded machine takes a hundred times the usual.
const patience = time.Second

// worth is the processor time of so much fuel.
func worth(fuel int64) time.Duration { return time.Duration(fuel - fuel/4) }

// allowance is what one call may still use. It belongs to an instance, and is used by the goroutine that calls
// that.
type allowance struct {
	fuel api.MutableGlobal // the slice that the guest is at
	left int64             // fuel beyond it

	total int64         // fuel that the call began with
	limit time.Duration // processor time from the second slice on
	since time.Duration // the thread's processor time at the second slice
	timed bool          // since is set, and the goroutine bound to its thread
	late  bool          // time ran out
}

// begin gives a call its fuel, and the time that it is worth, or more to one that may take so long.
func (a *allowance) begin(fuel int64, patience time.Duration) {
	first := min(fuel, slice)
	a.total, a.left, a.late, a.limit = fuel, fuel-first, false, max(worth(fuel)+headStart, patience)
	a.fuel.Set(uint64(first))
}

// end is told when the call is over.
func (a *allowance) end() {
	if a.timed {
		a.timed = false
		runtime.UnlockOSThread()
	}
}

// used is the fuel that the call took so far.
func (a *allowance) used() int64 { return a.total - a.left - int64(a.fuel.Get()) }

// spent reports that the call may not go on.
func (a *allowance) spent() bool { return a.late || int64(a.fuel.Get()) < 0 }

// charge takes what an import is about to do from the fuel of the call. It does not return where that is not
// enough: the call of the guest ends as if its own code had spent it.
func (a *allowance) charge(n int) {
	now := int64(a.fuel.Get()) - int64(n)
	a.fuel.Set(uint64(now))
	if now < 0 {
		a.refill()
	}
}

// refill gives the next slice to a call whose fuel is below zero, or ends it with a panic.
func (a *allowance) refill() {
	now := int64(a.fuel.Get())
	more := min(slice-now, a.left)
	a.left -= more
	a.fuel.Set(uint64(now + more))
	switch {
	case now+more < 0:
		panic(errFuel)
	case !a.timed:
		// Until the end of the call, since each thread has a clock of its own.
		runtime.LockOSThread()
		a.timed, a.since = true, threadTime()
	}
	// What was bought on credit is yet to be done.
	if threadTime()-a.since+worth(max(-now, 0)) > a.limit {
		a.late = true
		panic(errTime)
	}
}

// offerRefill offers the import that asks for the next slice to the guests of r.
func (s *stub) offerRefill(ctx context.Context, r wazero.Runtime) error {
	f := api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) { s.console(m).refill() })
	_, err := r.NewHostModuleBuilder(sandbox.ModuleHost).NewFunctionBuilder().WithGoModuleFunction(f, nil, nil).Export(sandbox.ImportRefill).Instantiate(ctx)
	return err
}
