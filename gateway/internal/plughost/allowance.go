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
// three quarters of a nanosecond, which is two to three times what usual code takes. No unit counts for more than
// the slowest there is: on a virtual machine the thread's clock also runs while the host has given the processor
// to another, for milliseconds at a time, and that is not the guest's doing. Where threads have no clock, fuel alone
// ends a call.
const (
	slice     = sandbox.Slice
	headStart = 100 * time.Microsecond
	slowest   = 100 * time.Nanosecond
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

	total    int64         // fuel that the call began with
	patience time.Duration // that the call may take beyond what its fuel is worth
	took     time.Duration // processor time from the second slice to the present one
	since    time.Duration // the thread's processor time when the present slice began
	given    int64         // fuel of the present slice
	timed    bool          // since is set, and the goroutine bound to its thread
	late     bool          // time ran out
}

// begin prepares a call that may take so much fuel. It begins with a slice, which is the guest's own doing
// (sandbox.ExportSliced), and so can't be given less.
func (a *allowance) begin(fuel int64, patience time.Duration) {
	a.total, a.left, a.late, a.patience = fuel, fuel-slice, false, patience
}

// limit is the processor time that the call may take from the second slice on.
func (a *allowance) limit() time.Duration { return max(worth(a.total)+headStart, a.patience) }

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
	if now+more < 0 {
		panic(errFuel)
	}
	if !a.timed {
		runtime.LockOSThread() // until the end of the call, since each thread has a clock of its own
	}
	if a.turn(ThreadTime(), now, more) {
		a.late = true
		panic(errTime)
	}
}

// turn ends a slice that left so much fuel, below zero where some was spent on credit, and begins one of more. It
// reports whether the time is over.
func (a *allowance) turn(clock time.Duration, now, more int64) bool {
	if a.timed {
		a.took += min(clock-a.since, time.Duration(a.given-now)*slowest)
	} else {
		a.timed, a.took = true, 0
	}
	a.since, a.given = clock, now+more
	// What was bought on credit is yet to be done.
	return a.took+worth(max(-now, 0)) > a.limit()
}

// offerRefill offers the import that asks for the next slice to the guests of r.
func (s *stub) offerRefill(ctx context.Context, r wazero.Runtime) error {
	f := api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) { s.console(m).refill() })
	_, err := r.NewHostModuleBuilder(sandbox.ModuleHost).NewFunctionBuilder().WithGoModuleFunction(f, nil, nil).Export(sandbox.ImportRefill).Instantiate(ctx)
	return err
}
