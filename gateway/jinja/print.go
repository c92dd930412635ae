package jinja

// printed writes the value of an expression to the output. What is only put together for that is never made.
func (st *state) printed(e expr) error {
	if done, err := st.printText(e); done || err != nil {
		return err
	}
	if s, ok := e.(*sum); ok {
		return s.print(st)
	}
	var tmp Value
	v, err := st.ref(e, &tmp)
	if err != nil {
		return err
	}
	return st.emit(v)
}

// printText writes the value of an expression if that is a plain string whatever its operands are; done is false
// where it may not be, and nothing happened yet.
func (st *state) printText(e expr) (done bool, err error) {
	switch e := e.(type) {
	case *constant:
		if e.v.k == kStr {
			return true, st.emit(&e.v)
		}
	case *joined:
		return true, e.print(st)
	case *filterExpr:
		if e.json {
			return true, e.print(st)
		}
	case *call:
		return e.direct(st)
	}
	return false, nil
}

// emit writes a value to the output.
func (st *state) emit(v *Value) error {
	if v.k == kStr && v.p == nil {
		st.out.add(v.s, v.n)
	} else if err := st.write(&st.out, *v); err != nil {
		return err
	}
	return st.full()
}

// full is the error of an output that is too long.
func (st *state) full() error {
	if st.out.over {
		return tooMuch("output", st.limits.Output)
	}
	return nil
}

// eval adds from left to right; neighbours that are plain strings are put together at once.
func (n *sum) eval(st *state) (Value, error) {
	base := len(st.stack)
	defer func() { st.stack = st.stack[:base] }()
	var acc Value
	for i, t := range n.terms {
		v, err := t.eval(st)
		if err != nil {
			return v, err
		}
		plain := v.k == kStr && v.f&markup == 0
		switch {
		case plain && (i == 0 || len(st.stack) > base):
			st.stack = append(st.stack, v)
			continue
		case i == 0:
			acc = v
			continue
		case len(st.stack) > base:
			acc, err = st.concat(st.stack[base:])
			st.stack = st.stack[:base]
		}
		if err == nil {
			acc, err = st.arith(opAdd, acc, v)
		}
		if err != nil {
			return acc, at(err, n.pos)
		}
		if acc.k == kStr && acc.f&markup == 0 {
			st.stack = append(st.stack, acc)
		}
	}
	if len(st.stack) > base {
		v, err := st.concat(st.stack[base:])
		if err != nil {
			return v, at(err, n.pos)
		}
		return v, nil
	}
	return acc, nil
}

// print writes the terms as long as they are plain strings. Anything else is added to what was written, as a value.
func (n *sum) print(st *state) error {
	m := st.out.begin()
	for i, t := range n.terms {
		done, err := st.printText(t)
		if err == nil && !done {
			var tmp Value
			v, err := st.ref(t, &tmp)
			if err != nil {
				return err
			}
			if v.k != kStr || v.f&markup != 0 {
				return n.printSum(st, m, i, *v)
			}
			if err = st.emit(v); err != nil {
				return at(err, n.pos)
			}
		}
		if err == nil {
			err = st.within(m)
		}
		if err != nil {
			return at(err, n.pos)
		}
	}
	return nil
}

// printSum writes the sum of what was written since m, of acc, which is the value of term i, and of the terms behind it.
func (n *sum) printSum(st *state, m mark, i int, acc Value) error {
	if i > 0 {
		text, err := st.taken(m)
		if err == nil {
			acc, err = st.arith(opAdd, text, acc)
		}
		if err != nil {
			return at(err, n.pos)
		}
	}
	for _, t := range n.terms[i+1:] {
		var tmp Value
		v, err := st.ref(t, &tmp)
		if err != nil {
			return err
		}
		if acc, err = st.arith(opAdd, acc, *v); err != nil {
			return at(err, n.pos)
		}
	}
	return at(st.emit(&acc), n.pos)
}

// within is the error of a string, written since m, that is too long.
func (st *state) within(m mark) error {
	if len(st.out.buf)-m.at > st.limits.String {
		return tooMuch("string", st.limits.String)
	}
	return nil
}

// taken takes what was written since m out of the output again.
func (st *state) taken(m mark) (Value, error) {
	if err := st.fits(m); err != nil {
		return Value{}, err
	}
	return st.out.end(m), nil
}

// dropped is taken for who only asks whether anything was written.
func (st *state) dropped(m mark) (some bool, err error) {
	if err := st.fits(m); err != nil {
		return false, err
	}
	some = len(st.out.buf) > m.at
	st.out.cut(m)
	return some, nil
}

// fits counts what was written since m as a string.
func (st *state) fits(m mark) error {
	if err := st.full(); err != nil {
		return err
	}
	if err := st.within(m); err != nil {
		return err
	}
	return st.grow(len(st.out.buf) - m.at)
}

func (n *joined) eval(st *state) (Value, error) {
	base := len(st.stack)
	defer func() { st.stack = st.stack[:base] }()
	for _, p := range n.parts {
		v, err := p.eval(st)
		if err == nil && v.k != kStr {
			v, err = st.toStr(v)
		}
		if err != nil {
			return v, at(err, n.pos)
		}
		st.stack = append(st.stack, v)
	}
	v, err := st.concat(st.stack[base:])
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *joined) print(st *state) error {
	m := st.out.begin()
	for _, p := range n.parts {
		err := st.printed(p)
		if err == nil {
			err = st.within(m)
		}
		if err != nil {
			return at(err, n.pos)
		}
	}
	return nil
}

// print writes the JSON of a value.
func (n *filterExpr) print(st *state) error {
	var tmp Value
	v, err := st.ref(n.of, &tmp)
	if err != nil {
		return err
	}
	a, mark, err := n.values(st)
	if err != nil {
		return err
	}
	if err = st.tick(1); err == nil {
		err = st.dump(&st.out, *v, a)
	}
	if err == nil {
		err = st.full()
	}
	if err != nil {
		return at(err, n.pos)
	}
	st.drop(a, mark)
	return nil
}
