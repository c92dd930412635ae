package jinja

import "strings"

// holds reports whether an expression is true. No value is made of what is only asked for that.
func (st *state) holds(e expr) (bool, error) {
	switch e := e.(type) {
	case *comparison:
		return e.holds(st)
	case *logical:
		ok, err := st.holds(e.l)
		if err != nil || ok != e.and {
			return ok, err
		}
		return st.holds(e.r)
	case *not:
		ok, err := st.holds(e.of)
		return !ok, err
	case *testExpr:
		return e.holds(st)
	case *call:
		if done, ok, err := e.writes(st); done || err != nil {
			return ok, err
		}
	}
	var tmp Value
	v, err := st.ref(e, &tmp)
	return v.truth(), err
}

func (n *comparison) eval(st *state) (Value, error) {
	ok, err := n.holds(st)
	return Bool(ok), err
}

func (n *comparison) holds(st *state) (bool, error) {
	if len(n.ops) == 1 {
		if r, ok := n.rest[0].(*constant); ok { // what templates do most
			var tmp Value
			l, err := st.ref(n.first, &tmp)
			if err != nil {
				return false, err
			}
			ok, err := st.related(n.ops[0], l, &r.v)
			if err != nil {
				return false, at(err, n.pos)
			}
			return ok, nil
		}
	}
	var tmps [2]Value
	l, err := st.ref(n.first, &tmps[1])
	if err != nil {
		return false, err
	}
	for i, op := range n.ops {
		r, err := st.ref(n.rest[i], &tmps[i&1])
		if err != nil {
			return false, err
		}
		ok, err := st.related(op, l, r)
		if err != nil {
			return false, at(err, n.pos)
		}
		if !ok {
			return false, nil
		}
		l = r
	}
	return true, nil
}

// related reports whether l <op> r.
func (st *state) related(op relation, l, r *Value) (bool, error) {
	switch op {
	case isEqual, isUnequal:
		if l.k == kStr && r.k == kStr && l.p == nil && r.p == nil { // what templates do most
			if len(l.s) != len(r.s) {
				return op == isUnequal, st.tick(1)
			}
			return (l.s == r.s) == (op == isEqual), st.tick(1 + len(l.s)/scanBytes)
		}
		ok, err := st.equal(*l, *r)
		return ok == (op == isEqual), err
	case isIn, isNotIn:
		if l.k == kStr && r.k == kStr {
			if err := st.tick(r.len() / scanBytes); err != nil {
				return false, err
			}
			return strings.Contains(r.str(), l.str()) == (op == isIn), nil
		}
		if l.k == kStr && r.k == kDict && l.len() < scanBytes {
			return (r.dict().find(l.str()) != nil) == (op == isIn), nil
		}
		ok, err := st.contains(*r, *l)
		return ok == (op == isIn), err
	}
	return st.order(op, *l, *r)
}

func (n *testExpr) eval(st *state) (Value, error) {
	ok, err := n.holds(st)
	return Bool(ok), err
}

func (n *testExpr) holds(st *state) (bool, error) {
	var tmp Value
	v, err := st.ref(n.of, &tmp)
	if err != nil {
		return false, err
	}
	if n.kinds != 0 && n.none() {
		return n.kinds.has(v.k) != n.not, nil
	}
	if n.fn == nil {
		return false, at(fail(RuntimeError, "No test named %s found.", quote(n.name)), n.pos)
	}
	a, mark, err := n.values(st)
	if err != nil {
		return false, err
	}
	ok, err := n.fn(st, *v, a)
	if err != nil {
		return false, at(err, n.pos)
	}
	st.drop(a, mark)
	return ok != n.not, nil
}

func (n *logical) eval(st *state) (Value, error) {
	l, err := n.l.eval(st)
	if err != nil || l.truth() != n.and {
		return l, err
	}
	return n.r.eval(st)
}

func (n *not) eval(st *state) (Value, error) {
	ok, err := st.holds(n.of)
	return Bool(!ok), err
}

func (n *conditional) eval(st *state) (Value, error) {
	e, err := n.branch(st)
	if err != nil {
		return Value{}, err
	}
	if e == nil {
		return undefinedHint("the inline if-expression evaluated to false and no else section was defined."), nil
	}
	return e.eval(st)
}

// branch is what the condition chooses, nil where there is nothing.
func (n *conditional) branch(st *state) (expr, error) {
	ok, err := st.holds(n.test)
	if err != nil || ok {
		return n.then, err
	}
	return n.els, nil
}
