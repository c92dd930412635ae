package jinja

import "slices"

type (
	filterFunc func(st *state, in Value, a *args) (Value, error)
	testFunc   func(st *state, in Value, a *args) (bool, error)
)

// builtin is a function, or a method with its object.
type builtin struct {
	name string
	fn   func(st *state, a *args) (Value, error)
}

func native(name string, fn func(st *state, a *args) (Value, error)) Value {
	return Value{k: kFunc, p: &builtin{name, fn}}
}

func (n *call) eval(st *state) (Value, error) {
	v, err := n.with(st, nil)
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

// callee evaluates what is called. A method is returned with its object, unbound.
func (n *call) callee(st *state) (fn Value, method filterFunc, err error) {
	g, ok := n.fn.(*getattr)
	if !ok {
		fn, err = n.fn.eval(st)
		return fn, nil, err
	}
	of, err := g.of.eval(st)
	if err != nil {
		return of, nil, err
	}
	if m := g.m.of(of); m != nil {
		return of, m, nil
	}
	fn, err = st.attr(of, g.attr, &g.m)
	if err != nil {
		err = at(err, g.pos)
	}
	return fn, nil, err
}

// with makes the call, with a caller for a call block.
func (n *call) with(st *state, caller *Value) (Value, error) {
	fn, method, err := n.callee(st)
	if err != nil {
		return fn, err
	}
	a, mark, err := n.values(st)
	if err != nil {
		return fn, err
	}
	with := a
	if caller != nil {
		with = &args{a.pos, append(slices.Clone(a.kw), named{"caller", *caller})}
	}
	if err := st.tick(1); err != nil {
		return fn, err
	}
	var v Value
	if method != nil {
		v, err = method(st, fn, with)
	} else {
		v, err = st.invoke(fn, with)
	}
	st.drop(a, mark)
	return v, err
}

// direct makes the call of a macro whose text goes to the output; done is false where it is no macro and
// nothing happened yet.
func (n *call) direct(st *state) (done bool, err error) {
	name, ok := n.fn.(*variable)
	if !ok {
		return false, nil
	}
	fn, err := name.eval(st)
	if err != nil || fn.k != kMacro {
		return false, err
	}
	a, mark, err := n.values(st)
	if err == nil {
		err = fn.p.(*macro).run(st, a)
	}
	if err != nil {
		return true, at(err, n.pos)
	}
	st.drop(a, mark)
	return true, nil
}

// writes makes the call of a macro and reports whether there is text, which is dropped; done is false where it is no
// macro and nothing happened yet.
func (n *call) writes(st *state) (done, ok bool, err error) {
	m := st.out.begin()
	if done, err = n.direct(st); done && err == nil {
		if ok, err = st.dropped(m); err != nil {
			err = at(err, n.pos)
		}
	}
	return done, ok, err
}

// invoke calls a value.
func (st *state) invoke(fn Value, a *args) (Value, error) {
	switch fn.k {
	case kFunc:
		return fn.p.(*builtin).fn(st, a)
	case kMacro:
		return fn.p.(*macro).call(st, a)
	case kLoop:
		return fn.p.(*loop).call(st, a)
	case kObject:
		if j, ok := fn.p.(*joiner); ok {
			_, err := a.bind("joiner")
			return j.next(), err
		}
	case kMissing, kUndef:
		return Value{}, fn.undefErr()
	}
	return Value{}, fail(TypeError, "'%s' object is not callable", fn.typeName())
}

func (n *filterExpr) eval(st *state) (Value, error) {
	v, err := n.of.eval(st)
	if err != nil {
		return v, err
	}
	return n.apply(st, v)
}

// apply filters v.
func (n *filterExpr) apply(st *state, v Value) (Value, error) {
	if n.fn == nil {
		return v, at(fail(RuntimeError, "No filter named %s found.", quote(n.name)), n.pos)
	}
	a, mark, err := n.values(st)
	if err != nil {
		return v, err
	}
	if err = st.tick(1); err == nil {
		v, err = n.fn(st, v, a)
	}
	if err != nil {
		return v, at(err, n.pos)
	}
	st.drop(a, mark)
	return v, nil
}
