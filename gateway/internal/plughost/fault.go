package plughost

import (
	"errors"
	"fmt"

	"github.com/weirgate/weir/abi/host"
)

// Kind is what a guest did wrong.
type Kind string

// Kinds of faults. Each budget that a guest can overrun is one of its own.
const (
	KindTrap     Kind = "trap"     // the code trapped: unreachable, a bad address, a division by zero
	KindFuel     Kind = "fuel"     // a call ran for too long, by its instructions or by the processor's time
	KindDepth    Kind = "depth"    // functions called each other too deep
	KindMemory   Kind = "memory"   // the code trapped with its memory grown to the limit
	KindRecords  Kind = "records"  // a call returned too many records, or ones outside its input
	KindProtocol Kind = "protocol" // a call broke another rule of the ABI
	KindExit     Kind = "exit"     // the guest called proc_exit
	KindRefused  Kind = "refused"  // a function returned an error
	KindBusy     Kind = "busy"     // no instance came free in time, which need not be the guest's fault
)

// Fault is a call of a guest that failed.
type Fault struct {
	Kind    Kind
	Plugin  string // its name, empty while that is not known
	Version string
	Export  string // function that was called
	Err     error
}

// Error names the plugin and the cause. The export is said by whoever made the call, as host.Fault does.
func (f *Fault) Error() string {
	if f.Plugin == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%s %s: %v", f.Plugin, f.Version, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// KindOf tells what went wrong from an error of a call, or from a host.Fault.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Kind
	}
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, ErrRetired):
		return KindBusy
	case errors.Is(err, errExit):
		return KindExit
	case errors.Is(err, errRecords), errors.Is(err, host.ErrRecords):
		return KindRecords
	case errors.Is(err, host.ErrProtocol):
		return KindProtocol
	case errors.Is(err, errRefused), errors.Is(err, ErrConfig):
		return KindRefused
	}
	return KindTrap
}

// Causes that KindOf tells apart.
var (
	errFuel    = errors.New("out of fuel")
	errTime    = errors.New("out of time")
	errDepth   = errors.New("calls nested too deep")
	errMemory  = errors.New("memory at its limit")
	errRecords = fmt.Errorf("%w: records", host.ErrProtocol)
	errRefused = errors.New("the guest returned an error")
)

// Fuel that the calls of a guest get, in instructions. The figures leave room above what was measured: 26
// to 39 a byte for scanners, 930,000 for one garbage collection of an allocating Go guest, 620,000 for
// the start of one. A million takes about half a millisecond.
const (
	loadFuel     = 100_000_000 // _initialize, weir1_describe, weir1_open, weir1_reserve
	feedFuel     = 3_000_000   // weir1_start, weir1_feed, weir1_finish
	feedFuelByte = 300         // for each byte of input
	planFuel     = 10_000_000  // weir1_plan
	planFuelByte = 1_000       // for each byte of the outline
	memoryPage   = 64 << 10
)

// feedBudget is the fuel of a call with n bytes of input.
func feedBudget(n int) int64 { return feedFuel + feedFuelByte*int64(n) }

func planBudget(n int) int64 { return planFuel + planFuelByte*int64(n) }

// classify makes a Fault of what the engine says of a call that did not return.
func (i *instance) classify(export string, err error) *Fault {
	f := i.fault(export, KindTrap, err)
	limits := &i.plugin.host.o.Limits
	switch {
	case errors.Is(err, errExit):
		f.Kind = KindExit
	case i.allowance.late:
		f.Kind, f.Err = KindFuel, fmt.Errorf("%w: %d instructions took more than %v", errTime, i.allowance.used(), i.allowance.limit())
	case i.allowance.spent():
		f.Kind, f.Err = KindFuel, fmt.Errorf("%w: %d instructions were allowed", errFuel, i.allowance.total)
	case int32(uint32(i.depth.Get())) > int32(limits.Depth):
		f.Kind, f.Err = KindDepth, fmt.Errorf("%w: at most %d", errDepth, limits.Depth)
	case i.memory.used >= uint64(limits.MemoryPages)*memoryPage:
		f.Kind, f.Err = KindMemory, fmt.Errorf("%w of %d pages: %w", errMemory, limits.MemoryPages, err)
	}
	return f
}

// fault makes a Fault of this instance's plugin.
func (i *instance) fault(export string, kind Kind, err error) *Fault {
	return &Fault{Kind: kind, Plugin: i.plugin.Name, Version: i.plugin.Version, Export: export, Err: err}
}
