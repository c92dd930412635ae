package sandbox

import "strings"

// code reads the instructions of one body and checks what can be checked without the types of operands.
// After next, op tells the instruction, at where it starts, and sub and arg its number behind a prefix
// and its index.
type code struct {
	reader
	m      *Module
	l      *Limits
	blocks []block
	closed block // by the last end or else
	known  int   // loads and stores on every way to here
	loops  int   // that are open

	effort
	locals
	stack

	at   int
	op   byte
	sub  uint32
	arg  uint32
	live bool // what follows can be reached
	cost int  // what the instruction takes from the fuel
	toll int  // the same for the start of a loop and the end of a block
	debt int  // of the meter; the reader only carries it along branches
	owed int  // what the instruction adds to it
}

// begin starts at the first instruction of function f, whose body's locals were read.
func (c *code) begin(f *body) {
	c.pos, c.end, c.err = f.code, f.to, nil
	c.enter(f)
	c.effort, c.stack = effort{}, stack{}
	results := len(c.m.types[f.typ].results)
	c.blocks = append(c.blocks[:0], block{op: opCall, live: true, start: c.tick(), arity: results, results: results, least: unset})
	c.live, c.debt, c.known, c.loops = true, 0, 0, 0
}

// next reads one instruction. It returns false behind the last one and at a failure.
func (c *code) next() bool {
	if c.err != nil || len(c.blocks) == 0 {
		return false
	}
	c.at = c.pos
	c.op = c.byte("the code")
	if c.err != nil {
		return false
	}
	c.toll = 0
	if c.cost = 1; free(c.op) {
		c.cost = 0
	}
	before := c.debt
	c.debt += c.cost
	switch s := shapes[c.op]; s {
	case plain:
		switch c.op {
		case opReturn:
			c.fork(1)
			c.carries(c.blocks[0].arity)
			c.dead()
		case opUnreachable:
			if c.live {
				c.fork(1)
			}
			c.dead()
		default:
			c.number()
		}
		c.lift(int(heights[c.op]))
	case local:
		if c.arg = c.short("local index"); uint64(c.arg) >= uint64(c.total) {
			c.failf("local %d of %d", c.arg, c.total)
		} else if c.op == opLocalGet {
			c.read(int(c.arg))
		} else {
			c.assign(int(c.arg))
		}
		c.lift(int(heights[c.op]))
	case const32:
		c.skipLEB(5, "constant")
		c.lift(1)
	case const64:
		c.skipLEB(10, "constant")
		c.lift(1)
	case address:
		c.address(alignments[c.op-0x28])
		c.lift(int(heights[c.op]))
	default:
		c.lift(int(heights[c.op]))
		c.rest(s)
	}
	c.owed = c.debt - before
	if c.cost > 0 {
		c.spare = freeMoves
	}
	return c.err == nil
}

// rest reads the immediates of what is less frequent.
func (c *code) rest(s shape) {
	switch s {
	case opens:
		c.open()
	case alternative:
		c.alternative()
	case closes:
		c.close()
	case label:
		c.arg = c.short("label")
		c.fork(1)
		if c.branch(c.arg); c.op != opBrIf {
			c.dead()
		}
	case labelTable:
		for range c.count("labels", 1, c.left()) {
			c.fork(1)
			c.branch(c.short("label"))
		}
		c.fork(1)
		c.branch(c.short("default label"))
		c.dead()
	case function:
		c.direct()
	case indirect:
		c.indirect++
		c.fork(1)
		c.arg = c.short("type index")
		if c.below(c.arg, len(c.m.types), "type") {
			c.call(c.arg, c.m.importNamed)
		}
		t := c.tableIndex()
		if c.err == nil && c.m.Tables[t].Element != FuncRef {
			c.failf("call through table %d of %v", t, c.m.Tables[t].Element)
		}
	case types:
		if n := c.u32("number of types"); c.err == nil && n != 1 {
			c.failf("select of %d types, want 1", n)
		}
		c.value("type of select")
	case global:
		c.global()
	case table:
		c.tableIndex()
		c.traps++
	case reserved:
		if c.memoryIndex(); c.op == opMemoryGrow {
			c.fork(sizedForks)
		}
	case float32s:
		c.skip(4, "constant")
	case float64s:
		c.skip(8, "constant")
	case reference:
		c.reference("null reference")
	case funcReference:
		c.funcReference()
	case bulk:
		c.bulk()
	case vector:
		c.vector()
	default:
		c.pos = c.at
		c.failf("instruction %#x is not known", c.op)
	}
}

// direct reads a call of a function by its index.
func (c *code) direct() {
	c.arg = c.short("function index")
	if !c.below(c.arg, len(c.m.funcs), "function") {
		return
	}
	c.call(c.m.funcs[c.arg], int(c.arg) < len(c.m.Imports))
	if c.l.refills && int(c.arg) == len(c.m.Imports)-1 {
		c.fork(1) // a test of the meter
	}
}

func (c *code) funcReference() {
	c.dear(fuelImport) // it leaves the code
	c.arg = c.u32("function index")
	if c.below(c.arg, len(c.m.funcs), "function") && !c.m.declared[c.arg] {
		c.failf("reference to function %d, which no export, element or global names", c.arg)
	}
}

// short is u32 with the way of one byte in front.
func (c *code) short(what string) uint32 {
	if c.pos < c.end {
		if b := c.b[c.pos]; b < 0x80 {
			c.pos++
			return uint32(b)
		}
	}
	return c.u32(what)
}

func (c *code) below(i uint32, n int, what string) bool {
	if c.err == nil && uint64(i) >= uint64(n) {
		c.failf("%s %d of %d", what, i, n)
	}
	return c.err == nil
}

// memoryIndex reads the index of a memory, of which there is one.
func (c *code) memoryIndex() {
	if b := c.byte("memory index"); c.err == nil && b != 0 {
		c.failf("memory index %d, want 0", b)
	}
}

func (c *code) tableIndex() uint32 {
	i := c.u32("table index")
	c.below(i, len(c.m.Tables), "table")
	return i
}

func (c *code) address(natural byte) {
	if align := c.short("alignment"); c.err == nil && align > uint32(natural) {
		c.failf("alignment 2^%d, at most 2^%d", align, natural)
	}
	c.short("offset")
	c.known++
	c.traps++
}

func (c *code) global() {
	c.arg = c.short("global index")
	if c.below(c.arg, len(c.m.globals), "global") && c.op == opGlobalSet && !c.m.globals[c.arg].mutable {
		c.failf("global %d is not mutable", c.arg)
	}
}

func (c *code) bulk() {
	c.sub = c.u32("instruction")
	if c.err != nil {
		return
	}
	if c.sub <= bulkTableFill {
		c.lift(bulkHeight(c.sub))
		if c.sub == bulkTableGrow {
			c.dear(fuelImport)
		}
	}
	if c.sized() {
		c.fork(sizedForks)
	}
	switch {
	case c.sub < bulkMemoryInit: // saturating truncations
	case c.sub == bulkMemoryInit:
		c.segment(c.m.counted, "data segment")
		c.memoryIndex()
	case c.sub == bulkDataDrop:
		c.segment(c.m.counted, "data segment")
	case c.sub == bulkMemoryCopy:
		c.memoryIndex()
		c.memoryIndex()
	case c.sub == bulkMemoryFill:
		c.memoryIndex()
	case c.sub == bulkTableInit:
		s := c.segment(len(c.m.elemTypes), "element segment")
		t := c.tableIndex()
		if c.err == nil && c.m.elemTypes[s] != c.m.Tables[t].Element {
			c.failf("element segment of %v into table of %v", c.m.elemTypes[s], c.m.Tables[t].Element)
		}
	case c.sub == bulkElemDrop:
		c.segment(len(c.m.elemTypes), "element segment")
	case c.sub == bulkTableCopy:
		to, from := c.tableIndex(), c.tableIndex()
		if c.err == nil && c.m.Tables[to].Element != c.m.Tables[from].Element {
			c.failf("copy from table of %v into table of %v", c.m.Tables[from].Element, c.m.Tables[to].Element)
		}
	case c.sub <= bulkTableFill:
		c.tableIndex()
	default:
		c.failf("instruction %#x %d is not known", c.op, c.sub)
	}
}

// segment reads the index of a segment. Data segments are counted by the data count section, which
// the code needs since it stands in front of the data.
func (c *code) segment(n int, what string) uint32 {
	i := c.u32("segment index")
	c.below(i, max(n, 0), what)
	return i
}

func (c *code) vector() {
	c.sub = c.u32("instruction")
	if c.err != nil {
		return
	}
	c.vectors = true
	c.lanes++
	if c.sub <= vectorLast {
		c.lift(vectorHeight(c.sub))
		c.dear(vectorPrice(c.sub))
	}
	switch s := c.sub; {
	case s < uint32(len(vectorAccess)):
		c.address(vectorAccess[s])
	case s == vectorConst:
		c.skip(16, "constant")
	case s == vectorShuffle:
		for range 16 {
			c.lane(32)
		}
	case s >= vectorLaneFirst && s < vectorLaneFirst+uint32(len(vectorLanes)):
		c.lane(vectorLanes[s-vectorLaneFirst])
	case s >= vectorLoadLane && s < vectorLoadLane+uint32(len(vectorLaneAccess)):
		align := vectorLaneAccess[s-vectorLoadLane]
		c.address(align)
		if s < vectorLoadZero {
			c.lane(16 >> align)
		}
	case s > vectorLast || strings.IndexByte(vectorHoles, byte(s)) >= 0:
		c.failf("instruction %#x %d is not known", c.op, s)
	}
}

// free tells whether an instruction only gives the code its form: it costs nothing, and no way goes on
// without passing something that does.
func free(op byte) bool {
	return op == opBlock || op == opLoop || op == opElse || op == opEnd
}

// sized tells whether the instruction is charged by the size of what it does, on top of its cost.
func (c *code) sized() bool {
	switch c.op {
	case opMemoryGrow:
		return true
	case opBulk:
		switch c.sub {
		case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
			return true
		}
	}
	return false
}

func (c *code) lane(n byte) {
	if i := c.byte("lane"); c.err == nil && i >= n {
		c.failf("lane %d of %d", i, n)
	}
}
