package sandbox

// What the engine's compiler needs for a function, in units of at most 20 nanoseconds, as measured for
// functions that are made of one thing each. It grows with the square of the blocks and branches, and with
// what is live at each of them. What counts is the rewritten code: the meters have branches too.
const (
	workFunction = 1_000
	workByte     = 5
	workLive     = 12  // an operand that is live at a branch
	workNoted    = 10  // a local that is live at a branch, or as passJoin where ways meet
	workValue    = 35  // a value that a call moves
	workCarried  = 100 // a value that a block or branch moves
	workTrap     = 120
	workVector   = 180
	workCall     = 150
	workIndirect = 600
	workReload   = 10 // a global that may have changed, for each call

	perSquare  = 12 // of the square of the moves that are put in order on a way
	perTraps   = 80 // of the square of the instructions with a test
	perGlobals = 2  // globals that are listed for each function
)

// effort is what one function has that the compiler takes time for.
type effort struct {
	forks    int // blocks and branches; see Limits.Branches
	spread   int // for each of them, the locals and operands
	operands int // for each of them, the operands
	noted    int // for each of them, and for each join, the locals that are needed behind
	checked  int // for each of them, the addresses that are known to be within the memory
	values   int // that blocks, branches and calls move; see Limits.Values
	carried  int // of them those of blocks and branches
	squares  int // for each way to where ways meet, the square of what is moved
	calls    int
	indirect int // calls
	traps    int // instructions that the engine puts a test in front of
	lanes    int // instructions on vectors
}

// work is what the compiler does for a function that was read.
func (c *code) work(f *body) int {
	return workFunction + workByte*(f.to-f.from) +
		c.forks*c.forks + c.spread + c.checked +
		workLive*c.operands + workNoted*c.noted +
		workValue*(c.values-c.carried) + workCarried*c.carried +
		c.squares/perSquare +
		workVector*c.lanes + workTrap*c.traps + c.traps*c.traps/perTraps +
		c.calls*(workCall+workReload*c.m.mutable) + workIndirect*c.indirect +
		len(c.m.globals)/perGlobals
}

// perChecked is how many checked addresses count for one local in Limits.Merges.
const perChecked = 4

// fork counts what makes the compiler join what is live.
func (c *code) fork(n int) {
	c.forks += n
	c.passed += n
	c.spread += n * (c.total + c.height)
	c.operands += n * c.height
	c.checked += n * c.known
	switch {
	case c.forks > c.l.Branches:
		c.failf("more than %d blocks and branches", c.l.Branches)
	case c.spread+c.checked/perChecked > c.l.Merges:
		c.failf("%d blocks and branches among %d locals and what else is live, at most %d multiplied", c.forks, c.total, c.l.Merges)
	}
}

// passJoin is how much more a join is for a local than a branch.
const passJoin = 3

// sizedForks is what an instruction that is charged by size becomes: loops of the engine, with tests.
const sizedForks = 6

// call counts what a call moves.
func (c *code) call(typ uint32, imported bool) {
	t, width := &c.m.types[typ], c.m.widths[typ]
	n, wide := len(t.params)+len(t.results), width.params+width.results
	c.calls++
	c.values += n
	c.moved()
	c.vectors = c.vectors || wide > n
	c.cost += max(0, wide-freeValues)
	c.debt += max(0, wide-freeValues)
	if imported {
		c.dear(fuelImport)
	}
	c.lift(-len(t.params))
	c.lift(len(t.results))
}

// carries counts the values of a block or branch.
func (c *code) carries(n int) {
	c.squares += n * n
	c.carried += n
	c.values += n
	c.moved()
}

func (c *code) moved() {
	if c.values+c.calls*c.m.mutable > c.l.Values && c.err == nil {
		c.failf("blocks, branches and calls move more than %d values and globals", c.l.Values)
	}
}
