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
	out    builder
	stack  []Value // arguments and operands that are being collected
	none   args    // arguments that are none; nobody changes them
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
	if err == nil && st.out.over {
		err = tooMuch("output", st.limits.Output)
	}
	if err != nil {
		return Value{}, f, err
	}
	v := st.out.end(m)
	if len(v.s) > st.limits.String {
		return Value{}, f, tooMuch("string", st.limits.String)
	}
	return v, f, st.grow(len(v.s))
}

// emit writes a value.
func (st *state) emit(v Value) error {
	if v.k == kStr && !st.track && v.p == nil {
		if st.out.room(len(v.s)) {
			st.out.buf = append(st.out.buf, v.s...)
			return nil
		}
	} else if err := st.write(&st.out, v); err != nil {
		return err
	}
	if st.out.over {
		return tooMuch("output", st.limits.Output)
	}
	return nil
}
