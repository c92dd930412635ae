package sandbox

// body is where a function's body lies in the module, and what the meter needs to know of it.
type body struct {
	typ          uint32
	from, to     int     // locals included
	code         int     // its first instruction
	locals       int     // parameters included
	wide         []span  // locals that are vectors, parameters aside
	vectors      bool    // it may hold vectors
	assigned     int     // locals that its code assigns, with vectors twice
	heads        []int32 // what the starts of its loops cost, by number; nil where none costs anything
	values       int     // that calls, blocks and branches carry
	count        int     // sum of cost
	calls, loops bool
	sized        bool // an instruction is charged by the size of what it does
}

// frame is how many values a function of depth one may keep on the engine's stack.
const frame = 1_024

// weight is what a body counts for in the depth: the engine's stack holds its locals, and of the values
// on its operand stack at most one for two bytes of code, beside what calls and blocks leave. A vector is
// as large as two.
func (b *body) weight() int64 {
	n := b.locals + b.values + (b.to-b.from)/2
	if b.vectors {
		n *= 2
	}
	return int64(1 + n/frame)
}

// light tells whether a body leaves its test to the caller.
func (b *body) light() bool { return !b.calls && !b.loops && !b.sized && b.count <= light }

func (in *inspector) codeSection(r *reader) {
	n := r.count("bodies", 2, in.l.Functions)
	if r.err == nil && n != in.m.Functions {
		r.failf("%d bodies for %d functions", n, in.m.Functions)
		return
	}
	imported := len(in.m.Imports)
	in.m.bodies = make([]body, 0, n)
	for i := range imported {
		in.m.importNamed = in.m.importNamed || in.m.declared[i]
	}
	c := &code{reader: reader{b: r.b, section: r.section, item: "function"}, m: in.m, l: &in.l}
	r.item = c.item
	for i := range n {
		r.index = imported + i
		size := r.u32("size")
		if r.err == nil && uint64(size) > uint64(in.l.Body) {
			r.failf("%d bytes, at most %d", size, in.l.Body)
		}
		from := r.pos
		if r.skip(size, "body"); r.err != nil {
			return
		}
		c.index, c.pos, c.end = r.index, from, r.pos
		b := body{typ: in.m.funcs[r.index], from: from, to: r.pos}
		in.body(c, &b)
		if r.err = c.err; r.err != nil {
			return
		}
		in.m.bodies = append(in.m.bodies, b)
	}
	r.index = -1
}

// body reads a function body and sums up what the meter asks of it.
func (in *inspector) body(c *code, b *body) {
	b.locals = in.locals(&c.reader, b) + len(in.m.types[b.typ].params)
	if b.code = c.pos; c.err != nil {
		return
	}
	for c.begin(b); c.next(); {
		b.count += c.cost + c.toll
		switch c.op {
		case opCall, opCallIndirect:
			b.calls = true
		case opLoop:
			b.loops = true
		case opMemoryGrow:
			b.sized = true
		case opBulk:
			b.sized = b.sized || c.sized()
			if c.sub == bulkMemoryInit || c.sub == bulkDataDrop {
				in.m.dataNamed = true
			}
		}
	}
	c.leave(b)
	if in.m.work += c.work(b); in.m.work > in.l.Work {
		c.failf("the functions so far would take the compiler too long: %d units of work, at most %d", in.m.work, in.l.Work)
	}
}

// locals reads the groups of locals and returns their number.
func (in *inspector) locals(r *reader, b *body) int {
	total := uint64(0)
	for range r.count("groups of locals", 2, in.l.Locals) {
		from := total
		total += uint64(r.u32("number of locals"))
		t := r.value("type of locals")
		if r.err == nil && total > uint64(in.l.Locals) {
			r.failf("%d locals, at most %d", total, in.l.Locals)
		}
		if r.err != nil {
			return 0
		}
		if t == V128 {
			b.wide = append(b.wide, span{int32(from), int32(total)})
		}
	}
	return int(total)
}
