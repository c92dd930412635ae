package plughost

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// instance is one instantiated module. It is used by one goroutine at a time. Functions are looked up
// once: a handle costs 11 KB and 3 µs to make.
type instance struct {
	*guts
	plugin  *Plugin
	memory  *linear
	console *console
	lost    runtime.Cleanup

	describe, open, start, feed, finish, reserve, plan api.Function // nil where not exported

	allowance *allowance
	depth     api.MutableGlobal
	tell      func(CallStats)
	patience  time.Duration // that a call may take beyond what its fuel is worth

	view, input, state []byte // the whole memory as of the last call, its input buffer and its state window: it never moves
	inPtr              uint32 // of input
	manifest           []byte // as described; only filled by the trial
	stack              [3]uint64
}

// guts are what must be closed of an instance. A pool may lose an instance to the garbage collector, which
// then closes these.
type guts struct {
	module api.Module
	stub   *stub
	host   *Host
	claims int64  // memory that was claimed of the host
	gone   func() // tells the pool; nil for an instance of none
}

func (g *guts) close() {
	g.stub.detach(g.module)
	_ = g.module.Close(context.Background())
	g.host.memory.Add(-g.claims)
	if g.gone != nil {
		g.gone()
	}
}

// instanceCost is what an instance takes beside its memory: call stacks and handles of functions.
const instanceCost = 256 << 10

// protocolf makes an error of a guest that breaks the ABI.
func protocolf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", host.ErrProtocol, fmt.Errorf(format, args...))
}

// newInstance instantiates a plugin's module, initialises it and reads its descriptor. keep copies the
// manifest.
func newInstance(ctx context.Context, p *Plugin, keep bool) (*instance, error) {
	claims := instanceCost + int64(p.module.Memory.Min)*memoryPage
	if err := p.host.claim(claims); err != nil {
		return nil, err
	}
	memory := &linear{}
	m, err := p.engine.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), p.engine.compiled, p.host.module)
	if err != nil {
		memory.Free()
		p.host.memory.Add(-claims)
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	fuel, metered := m.ExportedGlobal(sandbox.ExportFuel).(api.MutableGlobal)
	depth, limited := m.ExportedGlobal(sandbox.ExportDepth).(api.MutableGlobal)
	if !metered || !limited {
		_ = m.Close(ctx)
		p.host.memory.Add(-claims)
		return nil, errors.New("the module is not metered")
	}
	c := p.stub.attach(m, fuel)
	i := &instance{
		guts:   &guts{module: m, stub: p.stub, host: p.host, claims: claims},
		plugin: p, memory: memory, console: c, allowance: &c.allowance, depth: depth, tell: p.host.o.OnCall,
	}
	if p.trusted.Load() {
		i.patience = patience
	}
	i.lost = runtime.AddCleanup(i, (*guts).close, i.guts)
	for name, f := range map[string]*api.Function{
		abi.ExportDescribe: &i.describe,
		abi.ExportOpen:     &i.open,
		abi.ExportStart:    &i.start,
		abi.ExportFeed:     &i.feed,
		abi.ExportFinish:   &i.finish,
		abi.ExportReserve:  &i.reserve,
		abi.ExportPlan:     &i.plan,
	} {
		if _, ok := p.module.Export(name); ok {
			*f = m.ExportedFunction(sandbox.ExportSliced + name)
		}
	}
	if _, ok := p.module.Export(abi.ExportInitialize); ok {
		err = i.setup(m.ExportedFunction(sandbox.ExportSliced+abi.ExportInitialize), abi.ExportInitialize, 0)
	}
	if err == nil {
		err = i.readDescriptor(keep)
	}
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (i *instance) close() {
	i.lost.Stop()
	i.guts.close()
	i.view, i.input, i.state = nil, nil, nil
}

// trap is a call that ended in the engine. Its text is one line; the rest, the addresses of a stack
// without names, is left out.
type trap struct{ err error }

func (t *trap) Error() string {
	line, _, _ := strings.Cut(t.err.Error(), "\n")
	return line
}

func (t *trap) Unwrap() error { return t.err }

// call runs a function with the arguments in i.stack and so much fuel. The error is a *Fault, with what
// the guest said of a trap.
func (i *instance) call(f api.Function, export string, fuel int64) error {
	if fuel < slice {
		return i.fault(export, KindFuel, fmt.Errorf("%w: earlier calls for the same input took what was allowed", errFuel))
	}
	i.console.begin()
	i.allowance.begin(fuel, i.patience)
	// No deadline: a context that can be cancelled costs the engine a goroutine a call.
	err := f.CallWithStack(context.Background(), i.stack[:])
	i.allowance.end()
	if err != nil {
		err = &trap{err}
		if word := i.console.word(); len(word) > 0 {
			err = fmt.Errorf("%w (guest: %q)", err, word)
		}
		return i.classify(export, err)
	}
	i.look()
	return nil
}

// observe tells Options.OnCall of a call that is over.
func (i *instance) observe(export string, in, records int) {
	if i.tell != nil {
		i.tellOf(export, in, records)
	}
}

func (i *instance) tellOf(export string, in, records int) {
	i.tell(CallStats{Export: export, In: in, Records: records, Fuel: i.allowance.used(), Memory: len(i.view)})
}

// bytes are n bytes of memory at ptr, to be used before the next call.
func (i *instance) bytes(ptr, n uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)
	if end > uint64(len(i.view)) {
		return nil, false
	}
	return i.view[ptr:end:end], true
}

// look renews what is seen of the memory, which grows and never shrinks.
func (i *instance) look() {
	if i.memory.used != uint64(len(i.view)) {
		i.grown()
	}
}

func (i *instance) grown() {
	size := i.memory.used
	i.view = i.memory.all[:size:size]
	more := instanceCost + int64(size) - i.claims
	i.host.memory.Add(more)
	i.claims += more
}

// setup is a call that prepares the instance.
func (i *instance) setup(f api.Function, export string, in int) error {
	usual := i.patience
	i.patience = patience
	err := i.call(f, export, loadFuel)
	i.patience = usual
	i.observe(export, in, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", export, err)
	}
	return nil
}

// readDescriptor asks where the guest's buffers are and checks it.
func (i *instance) readDescriptor(keep bool) error {
	if err := i.setup(i.describe, abi.ExportDescribe, 0); err != nil {
		return err
	}
	at := uint32(i.stack[0])
	b, ok := i.bytes(at, abi.DescriptorSize)
	if !ok || at%4 != 0 {
		return protocolf("descriptor at %d is not 4-aligned in the memory of %d bytes", at, len(i.view))
	}
	var d [8]uint32
	for k := range d {
		d[k] = binary.LittleEndian.Uint32(b[4*k:])
	}
	size := uint32(len(i.view))
	switch {
	case d[0] != abi.Magic:
		return protocolf("descriptor: magic %#x, want %#x", d[0], abi.Magic)
	case d[1] < abi.DescriptorSize: // more fields may follow
		return protocolf("descriptor: size %d, at least %d", d[1], abi.DescriptorSize)
	case d[2]%4 != 0 || d[3]%4 != 0:
		return protocolf("descriptor: input buffer [%d,+%d) is not 4-aligned", d[2], d[3])
	case d[3] < abi.MinInputCap || d[3] > abi.MaxInputCap:
		return protocolf("descriptor: input buffer of %d bytes, want %d to %d", d[3], abi.MinInputCap, abi.MaxInputCap)
	case !within(d[2], d[3], size):
		return protocolf("descriptor: input buffer [%d,+%d) lies outside the memory of %d bytes", d[2], d[3], size)
	case d[5] > abi.MaxWindow:
		return protocolf("descriptor: state window of %d bytes, at most %d", d[5], abi.MaxWindow)
	case !within(d[4], d[5], size):
		return protocolf("descriptor: state window [%d,+%d) lies outside the memory of %d bytes", d[4], d[5], size)
	case d[5] > 0 && uint64(d[4]) < uint64(d[2])+uint64(d[3]) && uint64(d[2]) < uint64(d[4])+uint64(d[5]):
		return protocolf("descriptor: state window [%d,+%d) overlaps the input buffer [%d,+%d)", d[4], d[5], d[2], d[3])
	case d[7] > abi.MaxManifest:
		return protocolf("descriptor: manifest of %d bytes, at most %d", d[7], abi.MaxManifest)
	case !within(d[6], d[7], size):
		return protocolf("descriptor: manifest [%d,+%d) lies outside the memory of %d bytes", d[6], d[7], size)
	}
	i.inPtr, i.input, i.state = d[2], i.view[d[2]:d[2]+d[3]], i.view[d[4]:d[4]+d[5]]
	if keep {
		text, _ := i.bytes(d[6], d[7])
		i.manifest = append([]byte(nil), text...)
	}
	return nil
}

func within(ptr, n, size uint32) bool { return uint64(ptr)+uint64(n) <= uint64(size) }

// configure opens the instance with a configuration. Afterwards the state window is the template of a
// new stream.
func (i *instance) configure(config []byte) error {
	if err := i.room(len(config)); err != nil {
		return err
	}
	copy(i.input, config)
	i.stack[0] = uint64(len(config))
	if err := i.setup(i.open, abi.ExportOpen, len(config)); err != nil {
		return err
	}
	if code := int32(uint32(i.stack[0])); code != 0 {
		return fmt.Errorf("%w: %s returned %d", ErrConfig, abi.ExportOpen, code)
	}
	return i.readDescriptor(false)
}

// room makes sure that the input buffer holds n bytes.
func (i *instance) room(n int) error {
	if n <= len(i.input) {
		return nil
	}
	if i.reserve == nil {
		return fmt.Errorf("%d bytes of input for a buffer of %d, and %s is not exported", n, len(i.input), abi.ExportReserve)
	}
	want := (uint64(n) + 3) &^ 3 // so that spans at the end stay aligned
	if want > math.MaxUint32 {
		return fmt.Errorf("%d bytes of input", n)
	}
	i.stack[0] = want
	if err := i.setup(i.reserve, abi.ExportReserve, n); err != nil {
		return err
	}
	ptr := uint32(i.stack[0])
	switch {
	case ptr == 0:
		return fmt.Errorf("%s refused %d bytes", abi.ExportReserve, n)
	case ptr%4 != 0 || !within(ptr, uint32(want), uint32(len(i.view))):
		return protocolf("%s returned [%d,+%d) in a memory of %d bytes", abi.ExportReserve, ptr, want, len(i.view))
	}
	i.inPtr, i.input = ptr, i.view[ptr:uint64(ptr)+want]
	return nil
}

// errForeign tells of a window that is not of this plugin version: a stream must stay with its parser.
var errForeign = errors.New("window of another plugin")

// put copies a stream's window and input in.
func (i *instance) put(window, in []byte, spans []record.Span) error {
	if len(window) != len(i.state) {
		return fmt.Errorf("%w: %d bytes, want %d", errForeign, len(window), len(i.state))
	}
	if need := uint64(len(in)) + uint64(len(spans))*record.SpanSize; need > uint64(len(i.input)) {
		return fmt.Errorf("%d bytes and %d spans for a buffer of %d", len(in), len(spans), len(i.input))
	}
	copy(i.input, in)
	if len(spans) > 0 {
		i.putSpans(spans)
	}
	copy(i.state, window)
	return nil
}

// putSpans writes spans at the end of the input buffer.
func (i *instance) putSpans(spans []record.Span) {
	at := i.input[len(i.input)-len(spans)*record.SpanSize:]
	for _, s := range spans {
		binary.LittleEndian.PutUint32(at, s.Off)
		binary.LittleEndian.PutUint32(at[4:], s.Len)
		binary.LittleEndian.PutUint32(at[8:], s.Token)
		at = at[record.SpanSize:]
	}
}

// leave copies the window out after a call, and keeps what it was where the call may be taken back.
func (i *instance) leave(c *host.Call) {
	if n := len(c.Records); n > 0 && c.Records[n-1].Kind == record.Name {
		c.Keep()
	}
	copy(c.Window, i.state)
}

func (i *instance) begin(window, start []byte) error {
	if i.start == nil {
		return nil
	}
	if err := i.put(window, start, nil); err != nil {
		return err
	}
	i.stack[0] = uint64(len(start))
	err := i.call(i.start, abi.ExportStart, feedBudget(len(start)))
	i.observe(abi.ExportStart, len(start), 0)
	if err != nil {
		return err
	}
	if code := int32(uint32(i.stack[0])); code != 0 {
		return i.fault(abi.ExportStart, KindRefused, fmt.Errorf("%w: %s returned %d", errRefused, abi.ExportStart, code))
	}
	copy(window, i.state)
	return nil
}

// run is one feed or finish; third is the flags or the reason.
func (i *instance) run(f api.Function, name string, c *host.Call, third uint32) error {
	if err := i.put(c.Window, c.In, c.Spans); err != nil {
		return err
	}
	i.stack[0], i.stack[1], i.stack[2] = uint64(len(c.In)), uint64(len(c.Spans)), uint64(third)
	err := i.call(f, name, max(feedBudget(len(c.In))-c.Spent, 0))
	if err == nil {
		err = i.result(name, c)
	}
	if n := len(c.Records); n > 0 && (name == abi.ExportFinish || endsEarly(c.Records[n-1].Kind)) {
		c.Spent += i.allowance.used()
	}
	i.observe(name, len(c.In), len(c.Records))
	return err
}

// endsEarly reports whether a feed that ends with this kind is followed by another of the same bytes.
func endsEarly(k record.Kind) bool { return k == record.Name || k == record.CallBegin }

// result reads what a feed or finish returned: one record most of the time.
func (i *instance) result(name string, c *host.Call) error {
	v, n := i.stack[0], uint32(len(c.In))
	if ptr := v >> 32; uint32(v) == record.Size && ptr+record.Size <= uint64(len(i.view)) {
		b := i.view[ptr : ptr+record.Size]
		off, size := binary.LittleEndian.Uint32(b[4:])-i.inPtr, binary.LittleEndian.Uint32(b[8:])
		if off <= n && size <= n-off {
			// Field by field: a copy of the whole would wait for the stores of its parts.
			if len(c.Records) == cap(c.Records) {
				c.Records = slices.Grow(c.Records, 1)
			}
			c.Records = c.Records[:len(c.Records)+1]
			r := &c.Records[len(c.Records)-1]
			r.Kind, r.Flags = record.Kind(binary.LittleEndian.Uint16(b)), record.Flags(binary.LittleEndian.Uint16(b[2:]))
			r.Ptr, r.Len, r.Aux = off, size, binary.LittleEndian.Uint32(b[12:])
			i.leave(c)
			return nil
		}
	}
	return i.results(name, c)
}

// results is result in general.
func (i *instance) results(name string, c *host.Call) error {
	b, err := i.packed(int64(i.stack[0]), name, abi.MaxRecords*record.Size)
	if err == nil && len(b)%record.Size != 0 {
		err = protocolf("%s returned %d bytes of records, want a multiple of %d", name, len(b), record.Size)
	}
	if err == nil {
		c.Records, err = decode(c.Records, b, i.inPtr, uint32(len(c.In)))
	}
	if err != nil {
		return i.fault(name, KindOf(err), err)
	}
	i.leave(c)
	return nil
}

// packed reads the result of a function that returns an address and a length.
func (i *instance) packed(v int64, name string, limit int) ([]byte, error) {
	if v < 0 {
		return nil, fmt.Errorf("%w: %s returned %d", errRefused, name, v)
	}
	ptr, n := uint32(uint64(v)>>32), uint32(uint64(v))
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("%w: %s returned %d bytes, at most %d", errRecords, name, n, limit)
	}
	b, ok := i.bytes(ptr, n)
	if !ok {
		return nil, fmt.Errorf("%w: %s returned [%d,+%d) in a memory of %d bytes", errRecords, name, ptr, n, len(i.view))
	}
	return b, nil
}

// decode appends the records encoded in b, with addresses made offsets into the input of n bytes at
// base.
func decode(dst []record.Record, b []byte, base, n uint32) ([]record.Record, error) {
	for k := 0; len(b) >= record.Size; b = b[record.Size:] {
		r := record.Get(b)
		off := r.Ptr - base
		if off > n || r.Len > n-off {
			return dst, fmt.Errorf("%w: record %d (%v) at [%d,+%d), outside the input [%d,+%d)", errRecords, k, r.Kind, r.Ptr, r.Len, base, n)
		}
		r.Ptr = off
		dst = append(dst, r)
		k++
	}
	return dst, nil
}
