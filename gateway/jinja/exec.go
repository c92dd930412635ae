package jinja

func (n *textStmt) exec(st *state) (flow, error) {
	if err := st.tick(1); err != nil {
		return goOn, err
	}
	return goOn, st.emit(&n.v)
}

func (n *output) exec(st *state) (flow, error) {
	if err := st.tick(1); err != nil {
		return goOn, at(err, n.pos)
	}
	if err := st.printed(n.of); err != nil {
		return goOn, at(err, n.pos)
	}
	return goOn, nil
}

func (n *ifStmt) exec(st *state) (flow, error) {
	for i, t := range n.tests {
		ok, err := st.holds(t)
		if err != nil {
			return goOn, err
		}
		if ok {
			return st.run(n.bodies[i])
		}
	}
	return st.run(n.els)
}

func (n *jump) exec(*state) (flow, error) { return n.how, nil }

func (n *setStmt) exec(st *state) (flow, error) {
	if err := st.tick(1); err != nil {
		return goOn, at(err, n.pos)
	}
	v, err := n.v.eval(st)
	if err == nil {
		err = st.assign(n.target, v)
	}
	if err != nil {
		return goOn, at(err, n.pos)
	}
	return goOn, nil
}

// assign sets what a target names.
func (st *state) assign(target expr, v Value) error {
	switch t := target.(type) {
	case *variable:
		st.set(t, v)
	case *nsAttr:
		of, err := t.of.eval(st)
		if err != nil {
			return err
		}
		ns, ok := of.p.(*namespace)
		if !ok {
			return fail(RuntimeError, "cannot assign attribute on non-namespace object")
		}
		ns.d.set(text(t.attr), v)
		return st.grow(valueBytes)
	case *sequence:
		items, err := st.unpack(v, len(t.items))
		if err != nil {
			return err
		}
		for i, e := range t.items {
			if err := st.assign(e, items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (st *state) set(t *variable, v Value) {
	f := st.f
	for range t.hops {
		f = f.up
	}
	f.slots[t.slot] = v
}

// unpack takes n items from v, exactly.
func (st *state) unpack(v Value, n int) ([]Value, error) {
	items, err := st.slice(v)
	switch {
	case err != nil && v.k != kUndef && v.k != kMissing:
		return nil, fail(TypeError, "cannot unpack non-iterable %s object", v.typeName())
	case err != nil:
		return nil, err
	case len(items) > n:
		return nil, fail(ValueError, "too many values to unpack (expected %d)", n)
	case len(items) < n:
		return nil, fail(ValueError, "not enough values to unpack (expected %d, got %d)", n, len(items))
	}
	return items, nil
}

func (n *setBlock) exec(st *state) (flow, error) {
	st.enter(&n.scope)
	v, f, err := st.capture(n.body)
	if err == nil && f == goOn {
		if n.filter != nil {
			v, err = st.filtered(n.filter, v)
		}
		if err == nil {
			err = st.assign(n.target, v)
		}
	}
	if err != nil {
		return goOn, at(err, n.pos)
	}
	return f, nil
}

// filtered applies filters that stand before a block to what it wrote.
func (st *state) filtered(e expr, v Value) (Value, error) {
	f, ok := e.(*filterExpr)
	if !ok {
		return v, nil
	}
	if f.of != nil {
		var err error
		if v, err = st.filtered(f.of, v); err != nil {
			return v, err
		}
	}
	return f.apply(st, v)
}

func (n *filterBlock) exec(st *state) (flow, error) {
	st.enter(&n.scope)
	v, f, err := st.capture(n.body)
	if err == nil && f == goOn {
		if v, err = st.filtered(n.filter, v); err == nil && v.k != kStr {
			err = fail(TypeError, "a filter block must give a str, not %s", v.typeName())
		}
		if err == nil {
			err = st.emit(&v)
		}
	}
	if err != nil {
		return goOn, at(err, n.pos)
	}
	return f, nil
}

func (n *withStmt) exec(st *state) (flow, error) {
	st.enter(&n.scope)
	for i, t := range n.targets {
		v, err := n.values[i].eval(st)
		if err != nil {
			return goOn, err
		}
		if err := st.assign(t, v); err != nil {
			return goOn, err
		}
	}
	return st.run(n.body)
}

func (n *macroStmt) exec(st *state) (flow, error) {
	st.set(n.to, Value{k: kMacro, p: &macro{n.def, st.f}})
	return goOn, st.grow(valueBytes)
}

func (n *generation) exec(st *state) (flow, error) {
	m := &macro{n.def, st.f}
	return goOn, at(m.run(st, &args{}), n.pos)
}

func (n *callBlock) exec(st *state) (flow, error) {
	caller := Value{k: kMacro, p: &macro{n.def, st.f}}
	v, err := n.call.with(st, &caller)
	if err == nil {
		err = st.emit(&v)
	}
	if err != nil {
		return goOn, at(err, n.pos)
	}
	return goOn, nil
}
