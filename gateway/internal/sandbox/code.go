package sandbox

import "strings"

// block is an open block: a function's body, a block, a loop, or an arm of an if.
type block struct {
	op    byte // opBlock, opLoop, opIf, opElse; opCall for the body
	hit   bool // something branches behind its end
	live  bool // its start can be reached
	entry int  // debt at its start; see meter
	debt  int  // the highest debt at a branch behind its end
	arity int  // values a branch to it carries
}

// code reads the instructions of one body and checks what can be checked without the types of operands.
// After next, op tells the instruction, at where it starts, and sub and arg its number behind a prefix
// and its index.
type code struct {
	reader
	m      *Module
	l      *Limits
	locals int // parameters included
	blocks []block
	closed block // by the last end or else
	values int   // that blocks, branches and calls move; see Limits.Values
	forks  int   // blocks and branches so far; see Limits.Branches
	loops  int   // that are open

	at   int
	op   byte
	sub  uint32
	arg  uint32
	live bool // what follows can be reached
	debt int  // of the meter; the reader only carries it along branches
}

// begin starts at the first instruction of function f, whose body's locals were read.
func (c *code) begin(f *body) {
	c.pos, c.end, c.err = f.code, f.to, nil
	c.locals = f.locals
	results := len(c.m.types[f.typ].results)
	c.blocks = append(c.blocks[:0], block{op: opCall, live: true, arity: results})
	c.live, c.debt, c.values, c.forks, c.loops = true, 0, 0, 0, 0
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
	if !free(c.op) {
		c.debt++
	}
	switch s := shapes[c.op]; s {
	case plain:
		switch c.op {
		case opReturn:
			c.fork()
			c.carries(c.blocks[0].arity)
			c.live = false
		case opUnreachable:
			c.live = false
		}
	case local:
		if c.arg = c.short("local index"); uint64(c.arg) >= uint64(c.locals) {
			c.failf("local %d of %d", c.arg, c.locals)
		}
	case const32:
		c.skipLEB(5, "constant")
	case const64:
		c.skipLEB(10, "constant")
	case address:
		c.address(alignments[c.op-0x28])
	default:
		c.rest(s)
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
		c.fork()
		c.branch(c.arg)
		c.live = c.live && c.op == opBrIf
	case labelTable:
		for range c.count("labels", 1, c.left()) {
			c.fork()
			c.branch(c.short("label"))
		}
		c.fork()
		c.branch(c.short("default label"))
		c.live = false
	case function:
		c.arg = c.short("function index")
		if c.below(c.arg, len(c.m.funcs), "function") {
			c.moves(c.m.types[c.m.funcs[c.arg]])
		}
	case indirect:
		c.arg = c.short("type index")
		if c.below(c.arg, len(c.m.types), "type") {
			c.moves(c.m.types[c.arg])
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
	case reserved:
		c.memoryIndex()
	case float32s:
		c.skip(4, "constant")
	case float64s:
		c.skip(8, "constant")
	case reference:
		c.reference("null reference")
	case funcReference:
		c.arg = c.u32("function index")
		if c.below(c.arg, len(c.m.funcs), "function") && !c.m.declared[c.arg] {
			c.failf("reference to function %d, which no export, element or global names", c.arg)
		}
	case bulk:
		c.bulk()
	case vector:
		c.vector()
	default:
		c.pos = c.at
		c.failf("instruction %#x is not known", c.op)
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
}

func (c *code) global() {
	c.arg = c.short("global index")
	if c.below(c.arg, len(c.m.globals), "global") && c.op == opGlobalSet && !c.m.globals[c.arg].mutable {
		c.failf("global %d is not mutable", c.arg)
	}
}

// moves counts the values that a call or block takes and leaves.
func (c *code) moves(t Signature) { c.carries(len(t.params) + len(t.results)) }

func (c *code) carries(n int) {
	if c.values += n; c.values > c.l.Values && c.err == nil {
		c.failf("blocks, branches and calls move more than %d values", c.l.Values)
	}
}

// blockType reads the type of a block.
func (c *code) blockType() (params, results int) {
	b := c.byte("block type")
	switch {
	case c.err != nil || b == emptyBlock:
		return 0, 0
	case b >= 0x40 && b < 0x80:
		if !ValueType(b).valid() {
			c.failf("block type %#x is not a value type", b)
		}
		return 0, 1
	}
	c.pos--
	i := c.s33("block type")
	if c.err == nil && (i < 0 || i >= int64(len(c.m.types))) {
		c.failf("block of type %d of %d", i, len(c.m.types))
	}
	if c.err != nil {
		return 0, 0
	}
	t := c.m.types[i]
	c.moves(t)
	return len(t.params), len(t.results)
}

// fork counts what makes the engine's compiler join locals.
func (c *code) fork() {
	switch c.forks++; {
	case c.forks > c.l.Branches:
		c.failf("more than %d blocks and branches", c.l.Branches)
	case c.forks*c.locals > c.l.Merges:
		c.failf("%d blocks and branches and %d locals, at most %d multiplied", c.forks, c.locals, c.l.Merges)
	}
}

func (c *code) open() {
	params, results := c.blockType()
	if len(c.blocks) > c.l.Nesting {
		c.failf("more than %d blocks within each other", c.l.Nesting)
	}
	arity := results
	if c.op == opLoop {
		arity = params
		if c.loops++; c.loops > c.l.Loops {
			c.failf("more than %d loops within each other", c.l.Loops)
		}
	}
	c.fork()
	c.blocks = append(c.blocks, block{op: c.op, live: c.live, arity: arity, entry: c.debt})
}

func (c *code) alternative() {
	top := &c.blocks[len(c.blocks)-1]
	if top.op != opIf {
		c.failf("else without if")
		return
	}
	c.closed = *top
	// The end of the first arm leads behind the if, like a branch. What led to the if leads to this arm.
	if c.live {
		top.hit, top.debt = true, max(top.debt, c.debt)
	}
	top.op = opElse
	c.live, c.debt = top.live, top.entry
}

func (c *code) close() {
	n := len(c.blocks) - 1
	if c.closed = c.blocks[n]; c.closed.op == opLoop {
		c.loops--
	}
	c.blocks = c.blocks[:n]
	if b := &c.closed; b.op == opIf && b.live { // the way around the only arm
		b.hit, b.debt = true, max(b.debt, b.entry)
	}
	if !c.live {
		c.debt = 0
	}
	c.live, c.debt = c.live || c.closed.hit, max(c.debt, c.closed.debt)
	if n == 0 && c.pos != c.end {
		c.failf("%d bytes behind the end of the body", c.end-c.pos)
	}
}

// branch checks a label and notes that it is branched to.
func (c *code) branch(label uint32) {
	n := len(c.blocks)
	if !c.below(label, n, "label") {
		return
	}
	to := &c.blocks[n-1-int(label)]
	c.carries(to.arity)
	if c.live && to.op != opLoop {
		to.hit, to.debt = true, max(to.debt, c.debt)
	}
}

func (c *code) bulk() {
	c.sub = c.u32("instruction")
	if c.err != nil {
		return
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

// cost is what the instruction takes from the fuel.
func (c *code) cost() int {
	if free(c.op) {
		return 0
	}
	switch c.op {
	case opCall:
		if int(c.arg) < len(c.m.Imports) {
			return fuelImport
		}
	case opCallIndirect:
		if c.m.importNamed {
			return fuelImport
		}
	}
	return 1
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
