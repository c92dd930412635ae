package sandbox

// Globals that Prepare adds to a module and exports, for the host alone: a guest cannot name them, since
// their indices are past its own. A module that exports one of the names itself is refused.
const (
	// ExportFuel is a mutable i64: what a call may still spend, an instruction one. It starts as 0: the
	// host sets it before every call. A call that brings it below zero calls ImportRefill soon after, unless
	// it ends first.
	ExportFuel = "weir fuel"
	// ExportDepth is a mutable i32: how many functions are open, where one counts as more the larger it
	// is. It is 0 between calls; a call that brings it above Limits.Depth traps and leaves it so.
	ExportDepth = "weir depth"
	// ExportSliced begins the names of more functions: with the name of an exported function behind it, it does
	// what that does, with Slice for its fuel. That is how a call begins that shall cost little: the host's own way
	// to a global takes as long as forty instructions.
	ExportSliced = "weir sliced "
	// ours begins the names that are the gateway's.
	ours = "weir "
)

// Slice is the fuel that a function of ExportSliced begins with.
const Slice = 10_000

// What is charged beyond one for an instruction. A byte that a bulk instruction moves costs a half, an
// element of a table one. A page that the memory grows by is sixteen of the system's, which have to be found and
// filled with zeros; nothing is moved (the host sees to that).
const (
	fuelImport = 500    // a call of the host
	fuelGrow   = 100    // an attempt to grow the memory
	fuelPage   = 11_000 // a page that the memory grows by: the largest memory is what one feed may ask for, once
)

// Where fuel is tested. Charged is every instruction, most of them as one, and what is moved where ways
// meet; the tests are few, since each costs what two or three instructions do.
//
// The code of a function falls into regions, which are entered only at their start: each takes the
// cost of all its instructions from the fuel as it is entered, so that none runs unpaid. A region that
// begins a loop also tests the fuel, and so does the start of a function; what moves a given size is
// charged and tested by that size before it runs. Between two tests a function can only go forward, since
// all ways back lead to the start of a loop. The meter follows the highest number of instructions since the
// last test along all ways (the debt of code and block), and puts in one more test where it reaches stretch.
// A function of at most light instructions without calls and loops does not test; its instructions count
// as the caller's.
//
// So once fuel is below zero, each open function runs at most stretch instructions, plus light for its
// last call and what one join moves, before it tests or returns, and whatever it calls tests at once. A
// function that moves more than frame at once counts in the depth for more than one: a call is cut at most
// (Depth + 1) * (stretch + light + frame) instructions after the fuel is spent. Here what is dear counts a
// tenth of its cost.
const (
	stretch = 1_000
	light   = 200
)

// want is what a region begins with.
type want uint8

const (
	nothing want = iota // no region, or one that has begun
	charge
	test // charge and test
)

// dearest is what a region may cost; three bytes hold it.
const dearest = 1 << 19

// meter writes function bodies anew.
type meter struct {
	m           *Module
	l           *Limits
	fuel, depth uint32 // globals
	refill      uint32 // function
	types       []Signature
	code        code

	out    []byte
	copied int  // of the input
	next   want // what the next instruction that costs something begins with
	owed   bool // the function has not tested fuel yet
	region int  // where the region's cost stands in out, or -1
	cost   int  // of the region
	i64    uint32
	i32    uint32 // locals of the meter

	leaving map[string]int // types without parameters, by their results
}

// body returns a body with its meters, without its size. The result is valid until the next call.
func (w *meter) body(f *body) []byte {
	c := &w.code
	w.out, w.copied = w.locals(w.out[:0], f), f.code
	w.owed, w.region = false, -1
	w.next = test
	switch {
	case f.light():
		w.next = charge
	case f.calls || f.loops:
		w.next, w.owed = charge, true
	}
	if f.calls {
		w.enter(f)
	}
	alive := true
	for c.begin(f); c.next(); alive = c.live {
		if alive {
			w.instruction()
		}
		if (c.op == opCall || c.op == opRefFunc) && c.arg >= w.refill {
			w.upTo(c.at)
			w.out = appendU32(append(w.out, c.op), c.arg+1)
			w.copied = c.pos
		}
		if c.op == opReturn && f.calls {
			w.upTo(c.at)
			w.out = appendU32(append(w.out, opBr), uint32(len(c.blocks)-1))
			w.copied = c.pos
		}
		switch {
		case c.op == opEnd && c.closed.op == opBlock && !c.closed.hit:
		case c.op == opLoop, c.op == opIf, c.op == opElse, c.op == opEnd:
			w.close()
			w.begin()
		}
		if c.toll > 0 && c.live && len(c.blocks) > 0 {
			w.join()
		}
	}
	w.upTo(f.to)
	if f.calls {
		w.out = append(w.out, opGlobalGet)
		w.out = appendU32(w.out, w.depth)
		w.out = append(appendS64(append(w.out, opI32Const), f.weight()), opI32Sub, opGlobalSet)
		w.out = appendU32(w.out, w.depth)
		w.out = append(w.out, opEnd)
	}
	return w.out
}

// begin asks for a region to begin at the next instruction that costs something.
func (w *meter) begin() {
	switch c := &w.code; {
	case !c.live:
		w.next = nothing
	case c.op == opLoop:
		w.next, w.owed = test, false
	default:
		w.next = max(w.next, charge)
	}
}

// instruction charges and tests what comes before the instruction that was read.
func (w *meter) instruction() {
	c := &w.code
	if c.cost == 0 {
		return
	}
	switch {
	case c.debt >= stretch && w.next != test:
		w.close()
		w.next = test
	case w.region >= 0 && w.cost >= dearest:
		w.close()
		w.next = charge
	}
	if w.next != nothing {
		w.open(c.at)
	}
	w.cost += c.cost
	switch c.op {
	case opBr, opBrIf, opBrTable, opIf, opReturn, opCall, opCallIndirect:
		if w.owed {
			w.upTo(c.at)
			w.out = appendU32(append(w.out, opGlobalGet), w.fuel)
			w.test()
		}
		w.debts()
	case opMemoryGrow, opBulk:
		if c.sized() {
			w.upTo(c.at)
			w.bySize()
		}
	}
}

// debts adds what a call may run without a test.
func (w *meter) debts() {
	c := &w.code
	switch c.op {
	case opCall:
		if i := int(c.arg) - len(w.m.Imports); i >= 0 && w.m.bodies[i].light() {
			c.debt += w.m.bodies[i].count
		}
	case opCallIndirect:
		c.debt += light
	}
}

// join charges what the instruction that was read costs where it leads, since ways meet there.
func (w *meter) join() {
	c := &w.code
	if c.debt >= stretch {
		w.next = test
	}
	c.owed = 0
	w.open(c.pos)
	w.cost = c.toll
}

// open begins a region in front of the instruction at pos.
func (w *meter) open(pos int) {
	w.upTo(pos)
	w.out = appendU32(append(w.out, opGlobalGet), w.fuel)
	w.out = append(w.out, opI64Const)
	w.region, w.cost = len(w.out), 0
	w.out = append(w.out, 0, 0, 0, opI64Sub)
	if w.next == test {
		w.settle()
	} else {
		w.out = appendU32(append(w.out, opGlobalSet), w.fuel)
	}
	w.next = nothing
}

// close ends the region.
func (w *meter) close() {
	if w.region < 0 {
		return
	}
	at := w.out[w.region:]
	at[0], at[1], at[2] = byte(w.cost)|0x80, byte(w.cost>>7)|0x80, byte(w.cost>>14)
	w.region = -1
}

// settle stores the fuel that lies on the stack, and tests it.
func (w *meter) settle() {
	w.out = appendU32(append(w.out, opLocalTee), w.i64)
	w.out = appendU32(append(w.out, opGlobalSet), w.fuel)
	w.out = appendU32(append(w.out, opLocalGet), w.i64)
	w.test()
}

// test asks for more if the fuel that lies on the stack is below zero.
func (w *meter) test() {
	w.out = append(w.out, opI64Const, 0, opI64LtS, opIf, emptyBlock, opCall)
	w.out = append(appendU32(w.out, w.refill), opEnd)
	w.owed, w.code.debt = false, w.code.owed
}

// bySize charges the size that lies on the stack for the instruction that was read. Growing beyond a
// limit fails and costs no more than growing to it.
func (w *meter) bySize() {
	c := &w.code
	w.out = appendU32(append(w.out, opLocalTee), w.i32)
	w.out = appendU32(append(w.out, opGlobalGet), w.fuel)
	w.out = appendU32(append(w.out, opLocalGet), w.i32)
	switch {
	case c.op == opMemoryGrow:
		w.atMost(w.l.MemoryPages)
	case c.sub == bulkTableGrow:
		w.atMost(w.l.TableElements)
	}
	w.out = append(w.out, opI64ExtendU)
	switch {
	case c.op == opMemoryGrow:
		w.out = appendS64(append(w.out, opI64Const), fuelPage)
		w.out = appendS64(append(w.out, opI64Mul, opI64Const), fuelGrow)
		w.out = append(w.out, opI64Add)
	case c.sub == bulkMemoryInit, c.sub == bulkMemoryCopy, c.sub == bulkMemoryFill:
		w.out = append(w.out, opI64Const, 1, opI64ShrU)
	}
	w.out = append(w.out, opI64Sub)
	w.settle()
}

// atMost holds the number on the stack, which is that of w.i32, to a limit.
func (w *meter) atMost(n int) {
	limit := appendS64([]byte{opI32Const}, int64(int32(n)))
	w.out = append(w.out, limit...)
	w.out = appendU32(append(w.out, opLocalGet), w.i32)
	w.out = append(w.out, limit...)
	w.out = append(w.out, opI32LtU, opSelect)
}

// enter counts the function in, and opens a block around its code: what leaves the function leaves the
// block, whose label has the number that the function's had, and counts it out behind the block's end.
func (w *meter) enter(f *body) {
	w.out = appendU32(append(w.out, opGlobalGet), w.depth)
	w.out = append(appendS64(append(w.out, opI32Const), f.weight()), opI32Add)
	w.out = appendU32(append(w.out, opLocalTee), w.i32)
	w.out = appendU32(append(w.out, opGlobalSet), w.depth)
	w.out = appendU32(append(w.out, opLocalGet), w.i32)
	w.out = appendS64(append(w.out, opI32Const), int64(int32(w.l.Depth)))
	w.out = append(w.out, opI32GtS, opIf, emptyBlock, opUnreachable, opEnd, opBlock)
	switch results := w.m.types[f.typ].results; len(results) {
	case 0:
		w.out = append(w.out, emptyBlock)
	case 1:
		w.out = append(w.out, results[0])
	default:
		w.out = appendS64(w.out, int64(w.leaves(results)))
	}
}

// leaves is the index of the type without parameters that leaves results.
func (w *meter) leaves(results string) int {
	if w.leaving == nil {
		w.leaving = map[string]int{}
		for i, t := range w.types {
			if t.params == "" {
				w.leaving[t.results] = i
			}
		}
	}
	i, ok := w.leaving[results]
	if !ok {
		i = len(w.types)
		w.leaving[results] = i
		w.types = append(w.types, Signature{results: results})
	}
	return i
}

// locals appends the locals of a body, and those of the meter where it needs them.
func (w *meter) locals(dst []byte, f *body) []byte {
	w.i64, w.i32 = uint32(f.locals), uint32(f.locals)
	r := &reader{b: w.code.b, pos: f.from, end: f.code}
	groups := r.u32("groups of locals")
	if f.light() {
		return append(dst, r.b[f.from:f.code]...)
	}
	w.i32++
	dst = appendU32(dst, groups+2)
	dst = append(dst, r.b[r.pos:f.code]...)
	return append(dst, 1, byte(I64), 1, byte(I32))
}

func (w *meter) upTo(to int) {
	w.out = append(w.out, w.code.b[w.copied:to]...)
	w.copied = to
}
