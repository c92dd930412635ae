package jinja

import (
	"fmt"
	"time"
)

const (
	checkEvery = 1024 // steps between looks at the context
	scanBytes  = 256  // bytes that are searched in a step
	valueBytes = 96   // what a value in a list is counted for
)

// state is one render.
type state struct {
	f      *frame
	top    frame // of the template
	out    builder
	stack  []Value  // arguments and operands that are being collected
	none   args     // arguments that are none; nobody changes them
	spare  []*args  // those that are not in use
	frames []*frame // and frames that are not
	vars   []Value
	limits Limits
	steps  int // left
	check  int // steps left when the context is asked next
	mem    int // bytes left
	depth  int
	track  bool // origins are asked for
	now    time.Time
	done   func() error
}

// frame holds the variables of a call of a function. up is the frame of the function around it.
type frame struct {
	slots []Value
	up    *frame
}

// frame is one with n variables.
func (st *state) frame(n int, up *frame) *frame {
	if last := len(st.frames) - 1; last >= 0 {
		f := st.frames[last]
		if st.frames = st.frames[:last]; cap(f.slots) >= n {
			f.slots, f.up = f.slots[:n], up
			return f
		}
	}
	return &frame{slots: make([]Value, n), up: up}
}

// Bounds of what a state keeps for the next render, in entries of each of its lists.
const (
	maxKept     = 1 << 12
	maxKeptRuns = 1 << 16
)

// begin makes the state ready for a render.
func (st *state) begin(l Limits, o *RenderOptions, done func() error, slots int) {
	if cap(st.top.slots) < slots {
		st.top.slots = make([]Value, slots)
	}
	st.top.slots = st.top.slots[:slots]
	st.f = &st.top
	st.limits, st.steps, st.mem = l, l.Steps, l.Memory
	st.check = max(0, st.steps-checkEvery)
	st.track, st.now, st.done = o.Origins, o.Now, done
	st.out = builder{buf: o.Buffer[:0], runs: st.out.runs[:0], max: l.Output, bare: !o.Origins}
}

// reset takes away all that is of a render. It reports whether the state is worth to be kept.
func (st *state) reset() bool {
	if cap(st.out.runs) > maxKeptRuns || max(cap(st.stack), cap(st.spare), cap(st.frames), len(st.vars)) > maxKept {
		return false
	}
	clear(st.stack[:cap(st.stack)])
	clear(st.vars)
	clear(st.top.slots)
	*st = state{
		top: frame{slots: st.top.slots[:0]}, out: builder{runs: st.out.runs},
		stack: st.stack[:0], spare: st.spare, frames: st.frames, vars: st.vars[:0],
	}
	return true
}

// tick counts n steps.
func (st *state) tick(n int) error {
	st.steps -= n
	if st.steps >= st.check {
		return nil
	}
	return st.look()
}

func (st *state) look() error {
	if st.steps < 0 {
		return tooMuch("steps", st.limits.Steps)
	}
	st.check = max(0, st.steps-checkEvery)
	if err := st.done(); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	return nil
}

// grow counts n bytes that are made.
func (st *state) grow(n int) error {
	if st.mem -= n; st.mem < 0 {
		return tooMuch("memory", st.limits.Memory)
	}
	return nil
}

// growItems counts a list of n items.
func (st *state) growItems(n int) error {
	if n > st.limits.Memory/valueBytes {
		return tooMuch("memory", st.limits.Memory)
	}
	if err := st.tick(n / 16); err != nil {
		return err
	}
	return st.grow(n * valueBytes)
}

// deeper counts a call within calls; who calls it takes one off depth after.
func (st *state) deeper() error {
	if st.depth++; st.depth > st.limits.Depth {
		return tooMuch("depth", st.limits.Depth)
	}
	return nil
}

// enter gives the variables of a scope their first values.
func (st *state) enter(s *scope) {
	st.steps -= len(s.loads) / 16 // the next to count steps gets the error
	for i := range s.loads {
		l := &s.loads[i]
		switch l.from {
		case fromVars:
			st.f.slots[l.slot] = st.vars[l.index]
		case fromOuter:
			f := st.f
			for range l.hops {
				f = f.up
			}
			st.f.slots[l.slot] = f.slots[l.index]
		default:
			st.f.slots[l.slot] = Value{}
		}
	}
}

// run executes statements.
func (st *state) run(body []stmt) (flow, error) {
	for _, s := range body {
		if f, err := s.exec(st); f != goOn || err != nil {
			return f, err
		}
	}
	return goOn, nil
}

// capture executes statements and returns what they wrote.
func (st *state) capture(body []stmt) (Value, flow, error) {
	m := st.out.begin()
	f, err := st.run(body)
	if err != nil {
		return Value{}, f, err
	}
	v, err := st.taken(m)
	return v, f, err
}
