package sandbox

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// Where ways meet, the engine moves each local that one of them has changed, and each value that is carried
// there; a call moves its parameters and results. A block's end, a loop's start and a call cost what they
// move beyond these numbers, which compilers seldom go beyond: the functions of the standard Go toolchain
// assign at most 21 locals. What is free takes the time of some ten instructions, so it is free once for
// each instruction that costs something: ends that follow one another share it.
const (
	freeMoves  = 24 // of joins
	freeValues = 8  // of calls
)

// width counts the values of a function type, vectors twice.
type width struct{ params, results int }

func widthOf(types string) int { return len(types) + strings.Count(types, string([]byte{byte(V128)})) }

// span is a range of locals, parameters aside.
type span struct{ from, to int32 }

// unset is more than there can be of anything.
const unset = math.MaxInt

// locals follows which of its locals a function assigns.
type locals struct {
	total   int // parameters included
	spare   int // of freeMoves
	params  string
	wide    []span  // locals that are vectors
	vectors bool    // the function may hold vectors
	clock   int     // of blocks; it is never set back, so that last needs no clearing
	last    []int   // when each local was last assigned
	passed  int     // branches, and more for joins; never set back either
	base    int     // passed at the start of the function
	seen    []int   // passed when each local was last read or assigned
	heads   []int32 // what the starts of the loops cost, by number, as their ends tell
	told    []int32 // the same as an earlier reading found it
}

// enter begins with a function.
func (c *code) enter(f *body) {
	c.total, c.params, c.wide = f.locals, c.m.types[f.typ].params, f.wide
	c.vectors = c.m.vectors || len(f.wide) > 0 || c.m.widths[f.typ] != width{len(c.params), len(c.m.types[f.typ].results)}
	c.heads, c.told = c.heads[:0], f.heads
	if n := f.locals - len(c.last); n > 0 {
		c.last = append(c.last, make([]int, n)...)
		c.seen = append(c.seen, make([]int, n)...)
	}
	c.base, c.spare = c.passed, freeMoves
}

// leave keeps what was found.
func (c *code) leave(f *body) {
	f.vectors, f.assigned, f.values = c.vectors, c.closed.assigned, c.values
	if slices.ContainsFunc(c.heads, func(cost int32) bool { return cost > 0 }) {
		f.heads = slices.Clone(c.heads)
	}
}

// tick is the time at which a block begins.
func (c *code) tick() int {
	c.clock++
	return c.clock
}

// read follows a local back to where it was last seen: it was live at each branch between, and at each
// join the compiler notes its value.
func (c *code) read(local int) {
	c.noted += c.passed - max(c.seen[local], c.base)
	c.seen[local] = c.passed
}

// again does that for all locals that a loop has seen so far, at a way back to its start.
func (c *code) again(loop *block) {
	for i, at := range c.seen[:c.total] {
		if at >= loop.passed {
			c.read(i)
		}
	}
}

// assign counts a local for the blocks that have begun since it was last assigned.
func (c *code) assign(local int) {
	c.read(local)
	before := c.last[local]
	if before == c.clock {
		return
	}
	c.last[local] = c.clock
	n := 1
	if len(c.wide) > 0 || c.vectors && local < len(c.params) {
		n = c.size(local)
	}
	for i := len(c.blocks) - 1; i >= 0 && c.blocks[i].start > before; i-- {
		c.blocks[i].assigned += n
	}
}

// size is 2 for a vector.
func (c *code) size(local int) int {
	if local < len(c.params) {
		return widthOf(c.params[local : local+1])
	}
	local -= len(c.params)
	i := sort.Search(len(c.wide), func(i int) bool { return int(c.wide[i].to) > local })
	if i < len(c.wide) && int(c.wide[i].from) <= local {
		return 2
	}
	return 1
}

// loopStart gives a loop its number, and tells what an earlier reading found its start to cost.
func (c *code) loopStart(b *block) {
	b.loop, b.spare = len(c.heads), c.spare
	c.heads, c.spare = append(c.heads, 0), 0
	if c.told != nil {
		c.toll = int(c.told[b.loop])
	}
	c.passed += passJoin
}

// loopEnd keeps what the loop's start costs.
func (c *code) loopEnd(b *block) {
	c.heads[b.loop] = int32(max(0, b.assigned+b.width-b.spare))
}

// join charges for the end of a block, where ways meet.
func (c *code) join(b *block) {
	n := b.assigned + b.width
	c.toll = max(0, n-c.spare)
	c.spare = max(0, c.spare-n)
	c.debt += c.toll
	c.passed += passJoin
}

// stack follows how many operands there are.
type stack struct {
	height int
	floor  int // of the innermost block, where unreachable code finds as many as it likes
}

func (s *stack) lift(n int) { s.height = max(s.height+n, s.floor) }
