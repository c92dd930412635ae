package sandbox

// block is an open block: a function's body, a block, a loop, or an arm of an if.
type block struct {
	op    byte // opBlock, opLoop, opIf, opElse; opCall for the body
	hit   bool // something branches behind its end
	live  bool // its start can be reached
	entry int  // debt at its start; see meter
	debt  int  // the highest debt at a branch behind its end
	arity int  // values a branch to it carries
	width int  // the same with vectors twice, or 0 where there is at most one
	ways  int  // branches to it
	loop  int  // number of a loop
	spare int  // of locals, in front of a loop

	start    int // by the clock of locals
	passed   int // of locals, at its start
	assigned int // locals that its code assigns, vectors twice

	below           int // operands under its parameters
	params, results int
	known           int // of code, at its start
	least           int // of known, on the ways behind its end
}

// blockType reads the type of a block.
func (c *code) blockType() (params, results int, wide width) {
	b := c.byte("block type")
	switch {
	case c.err != nil || b == emptyBlock:
		return 0, 0, wide
	case b >= 0x40 && b < 0x80:
		if !ValueType(b).valid() {
			c.failf("block type %#x is not a value type", b)
		}
		return 0, 1, wide
	}
	c.pos--
	i := c.s33("block type")
	if c.err == nil && (i < 0 || i >= int64(len(c.m.types))) {
		c.failf("block of type %d of %d", i, len(c.m.types))
	}
	if c.err != nil {
		return 0, 0, wide
	}
	t := &c.m.types[i]
	c.carries(len(t.params) + len(t.results))
	return len(t.params), len(t.results), c.m.widths[i]
}

func (c *code) open() {
	params, results, wide := c.blockType()
	if len(c.blocks) > c.l.Nesting {
		c.failf("more than %d blocks within each other", c.l.Nesting)
	}
	b := block{
		op: c.op, live: c.live, arity: results, width: wide.results, entry: c.debt, start: c.tick(),
		below: max(c.height-params, c.floor), params: params, results: results, known: c.known, least: unset,
	}
	if c.op == opLoop {
		b.arity, b.width = params, wide.params
		if c.loops++; c.loops > c.l.Loops {
			c.failf("more than %d loops within each other", c.l.Loops)
		}
		c.loopStart(&b)
	}
	c.fork(1)
	b.passed = c.passed
	c.blocks = append(c.blocks, b)
	c.floor = b.below
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
		top.leave(c)
	}
	top.op = opElse
	c.live, c.debt, c.known, c.spare = top.live, top.entry, top.known, freeMoves
	c.height = top.below + top.params
}

func (c *code) close() {
	n := len(c.blocks) - 1
	if c.closed = c.blocks[n]; c.closed.op == opLoop {
		c.loops--
	}
	c.blocks = c.blocks[:n]
	b := &c.closed
	if b.op == opIf && b.live { // the way around the only arm
		b.hit, b.debt, b.least = true, max(b.debt, b.entry), min(b.least, b.known)
	}
	if !c.live {
		c.debt, c.known = 0, unset
	}
	if c.known = min(c.known, b.least); c.known == unset {
		c.known = 0
	}
	c.live, c.debt = c.live || b.hit, max(c.debt, b.debt)
	switch {
	case b.op == opLoop:
		c.loopEnd(b)
	case b.hit && n > 0:
		c.join(b)
	}
	c.squares += (b.ways + 1) * b.assigned * b.assigned
	c.height = b.below + b.results
	if n > 0 {
		c.floor = c.blocks[n-1].below
	}
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
	to.ways++
	c.carries(to.arity)
	switch {
	case !c.live:
	case to.op == opLoop:
		c.again(to)
	default:
		to.leave(c)
	}
}

// leave notes that a way leads behind the block's end.
func (b *block) leave(c *code) {
	b.hit, b.debt, b.least = true, max(b.debt, c.debt), min(b.least, c.known)
}

// dead marks what follows as out of reach.
func (c *code) dead() {
	c.live = false
	c.height = c.floor
}
