package guest

import (
	"unsafe"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
)

// inputCap is the size of the static input buffer; plan and render may reserve a larger one.
const inputCap = 16 << 10

// The guest has one program and static buffers: a Wasm instance is single-threaded and its exports
// have no receiver, so this state can live nowhere else.
var (
	program  Program
	planner  Planner
	buffer   = make([]byte, inputCap)
	call     Input // reused, so that a feed allocates nothing
	out      = Out{recs: make([]record.Record, 0, abi.MaxRecords)}
	planOut  []byte
	desc     [8]uint32
	manifest []byte
)

// Export makes p the program (a Program, a Planner, or both) that this module's exports serve. Call it
// from an init function of package main: in c-shared mode main does not run.
func Export(p interface{ Manifest() string }) {
	program, _ = p.(Program)
	planner, _ = p.(Planner)
	manifest = []byte(p.Manifest())
}

func addr(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

//go:wasmexport weir1_describe
func describe() uint32 {
	var window []byte
	if program != nil {
		window = program.Window()
	}
	desc = [8]uint32{abi.Magic, abi.DescriptorSize, addr(buffer), uint32(len(buffer)), addr(window), uint32(len(window)), addr(manifest), uint32(len(manifest))}
	return uint32(uintptr(unsafe.Pointer(&desc)))
}

//go:wasmexport weir1_open
func open(n uint32) int32 {
	if uint64(n) > uint64(len(buffer)) {
		return -abi.ErrInput
	}
	var err error
	if program != nil {
		err = program.Open(buffer[:n])
	} else if planner != nil {
		err = planner.Open(buffer[:n])
	}
	if err != nil {
		return -abi.ErrConfig
	}
	return 0
}

//go:wasmexport weir1_start
func start(n uint32) int32 {
	if program == nil || uint64(n) > uint64(len(buffer)) {
		return -abi.ErrInput
	}
	s, err := ParseStart(buffer[:n])
	if err != nil {
		return -abi.ErrInput
	}
	if program.Start(s) != nil {
		return -abi.ErrInternal
	}
	return 0
}

func input(n, nspans, flags uint32) bool {
	if program == nil || uint64(n)+uint64(nspans)*record.SpanSize > uint64(len(buffer)) {
		return false
	}
	var spans []record.Span
	if nspans > 0 {
		spans = unsafe.Slice((*record.Span)(unsafe.Pointer(&buffer[len(buffer)-int(nspans)*record.SpanSize])), nspans)
	}
	out.Reset(addr(buffer))
	call = Input{Bytes: buffer[:n:n], Spans: spans, Flags: flags}
	return true
}

func result() int64 {
	n := len(out.recs)
	if n == 0 {
		return 0
	}
	return int64(uint64(uintptr(unsafe.Pointer(&out.recs[0])))<<32 | uint64(n*record.Size))
}

//go:wasmexport weir1_feed
func feed(n, nspans, flags uint32) int64 {
	if !input(n, nspans, flags) {
		return -abi.ErrInput
	}
	program.Feed(&call, &out)
	return result()
}

//go:wasmexport weir1_finish
func finish(n, nspans, why uint32) int64 {
	if !input(n, nspans, 0) {
		return -abi.ErrInput
	}
	program.Finish(&call, abi.Why(why), &out)
	return result()
}

//go:wasmexport weir1_reserve
func reserve(n uint32) uint32 {
	if n > abi.MaxInputCap*16 {
		return 0
	}
	if uint64(n) > uint64(len(buffer)) {
		buffer = make([]byte, n)
	}
	return addr(buffer)
}

//go:wasmexport weir1_plan
func runPlan(n uint32) int64 {
	if planner == nil || uint64(n) > uint64(len(buffer)) {
		return -abi.ErrInput
	}
	b, err := planner.Plan(planOut[:0], buffer[:n])
	if err != nil {
		return -abi.ErrInput
	}
	planOut = b
	if len(b) == 0 {
		return 0
	}
	return int64(uint64(addr(b))<<32 | uint64(len(b)))
}
