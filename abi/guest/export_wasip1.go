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
	opener   interface{ Open(config []byte) error }
	program  Program
	planner  Planner
	renderer Renderer
	buffer   []byte
	call     Input // reused, so that a feed allocates nothing; its bytes are a beginning of buffer
	out      Out
	answered []byte // the last plan or answer of a renderer
	desc     [8]uint32
	manifest []byte
)

// Export makes p (a Program, a Planner, a Renderer, or more than one) what this module's exports serve. Call it
// from an init function of package main: in c-shared mode main does not run. Where p has a method Parser()
// Program, the streams are that one's, and of p only Manifest, Open, Plan and Render are used.
func Export(p interface{ Manifest() string }) {
	opener, _ = p.(interface{ Open(config []byte) error })
	program, _ = p.(Program)
	planner, _ = p.(Planner)
	renderer, _ = p.(Renderer)
	if has, ok := p.(interface{ Parser() Program }); ok {
		program = has.Parser()
	}
	manifest = []byte(p.Manifest())
	place(make([]byte, inputCap))
}

// place makes b the input buffer. The next call of a parser restores the rest.
func place(b []byte) { buffer, out.base = b, addr(b) }

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
	if opener != nil && opener.Open(buffer[:n]) != nil {
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

// read makes a call's input of the n bytes that the host put into the buffer, and empties the output. It
// changes lengths only, since a pointer that is stored costs a look at the collector, and it is small enough
// to be part of what calls it, since a call costs a guest more than all that is done here.
func read(n, flags uint32) {
	call.Bytes, call.Flags = call.Bytes[:n], flags
	out.n, out.next = 0, out.base
}

// moved reports that the call's bytes do not begin where the buffer does: a program may take them apart.
func moved() bool { return unsafe.SliceData(call.Bytes) != unsafe.SliceData(buffer) }

// restore makes the call's bytes the buffer again, and reports whether n fit in.
//
//go:noinline
func restore(n uint32) bool {
	if program == nil || uint64(n) > uint64(len(buffer)) {
		return false
	}
	call.Bytes = buffer
	return true
}

// readSpans takes the spans at the end of the buffer, and reports whether there is room for them behind n
// bytes. The spans of the last call are left out if there are none.
//
//go:noinline
func readSpans(n, nspans uint32) bool {
	size := uint64(nspans) * record.SpanSize
	if uint64(n)+size > uint64(len(buffer)) {
		return false
	}
	call.Spans = nil
	if nspans > 0 {
		call.Spans = unsafe.Slice((*record.Span)(unsafe.Pointer(&buffer[uint64(len(buffer))-size])), nspans)
	}
	return true
}

// answer is what the host reads: where the records are, and their size in bytes.
func answer() int64 {
	return int64(uintptr(unsafe.Pointer(&out.recs)))<<32 | int64(out.n)*record.Size
}

//go:wasmexport weir1_feed
func feed(n, nspans, flags uint32) int64 {
	if uint32(len(call.Spans))|nspans != 0 && !readSpans(n, nspans) {
		return -abi.ErrInput
	}
	if moved() || uint64(n) > uint64(cap(call.Bytes)) {
		if !restore(n) {
			return -abi.ErrInput
		}
		return feed(n, nspans, flags)
	}
	read(n, flags)
	program.Feed(&call, &out)
	return answer()
}

//go:wasmexport weir1_finish
func finish(n, nspans, why uint32) int64 {
	if uint32(len(call.Spans))|nspans != 0 && !readSpans(n, nspans) {
		return -abi.ErrInput
	}
	if moved() || uint64(n) > uint64(cap(call.Bytes)) {
		if !restore(n) {
			return -abi.ErrInput
		}
		return finish(n, nspans, why)
	}
	read(n, 0)
	program.Finish(&call, abi.Why(why), &out)
	return answer()
}

//go:wasmexport weir1_reserve
func reserve(n uint32) uint32 {
	if n > abi.MaxInputCap*16 {
		return 0
	}
	if uint64(n) > uint64(len(buffer)) {
		place(make([]byte, n))
	}
	return addr(buffer)
}

//go:wasmexport weir1_plan
func runPlan(n uint32) int64 {
	if planner == nil {
		return -abi.ErrInput
	}
	return reply(n, planner.Plan)
}

//go:wasmexport weir1_render
func runRender(n uint32) int64 {
	if renderer == nil {
		return -abi.ErrInput
	}
	return reply(n, renderer.Render)
}

// reply gives the n bytes in the buffer to f and returns where its answer is.
func reply(n uint32, f func(dst, in []byte) ([]byte, error)) int64 {
	if uint64(n) > uint64(len(buffer)) {
		return -abi.ErrInput
	}
	b, err := f(answered[:0], buffer[:n])
	if err != nil {
		return -abi.ErrInput
	}
	answered = b
	if len(b) == 0 {
		return 0
	}
	return int64(uint64(addr(b))<<32 | uint64(len(b)))
}
