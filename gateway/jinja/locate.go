package jinja

// maxLocate is how many names and keys behind each other are looked up without copying what is between.
const maxLocate = 8

// locate is the value of an expression that is only looked up, as most are in a template: where it is kept, or in tmp
// where it is made. It is nil for all else, and then nothing happened: who needs the value evaluates the expression.
func (st *state) locate(e expr, tmp *Value, deep int) *Value {
	switch e := e.(type) {
	case *constant:
		return &e.v
	case *variable:
		if v := e.at(st); v.k != kMissing {
			return v
		}
	case *getattr:
		if deep == 0 {
			return nil
		}
		if of := st.locate(e.of, tmp, deep-1); of != nil {
			return e.within(of, tmp)
		}
	case *getitem:
		if deep == 0 {
			return nil
		}
		if of := st.locate(e.of, tmp, deep-1); of != nil {
			return e.within(st, of)
		}
	}
	return nil
}

// within is the attribute of a dict or a loop, nil where it takes more to find it.
func (n *getattr) within(of, tmp *Value) *Value {
	switch {
	case of.k == kDict && n.m.dict == nil && !n.m.unsafeDict:
		if v := of.dict().find(n.attr); v != nil {
			return v
		}
		if !n.m.hidden {
			*tmp = undefinedAttr(*of, n.attr)
			return tmp
		}
	case of.k == kLoop && !n.m.hidden:
		if v, ok := of.p.(*loop).place(n.attr); ok {
			*tmp = v
			return tmp
		}
	}
	return nil
}

// within is the item of a dict or a list, nil where it takes more to find it.
func (n *getitem) within(st *state, of *Value) *Value {
	switch of.k {
	case kDict:
		if key, ok := n.key.(*constant); ok && key.v.k == kStr && key.v.p == nil && len(key.v.s) < scanBytes {
			return of.dict().find(key.v.s)
		}
	case kList:
		if i, ok := st.whole(n.key); ok && uint64(i) < uint64(len(of.items())) {
			return &of.items()[i]
		}
	}
	return nil
}

// whole is an integer that templates count with, plus or minus another; ok is false for all else.
func (st *state) whole(e expr) (i int64, ok bool) {
	l, r, o := e, expr(nil), opAdd
	switch e := e.(type) {
	case *binary:
		if e.op != opSub || e.negated {
			return 0, false
		}
		l, r, o = e.l, e.r, opSub
	case *sum:
		if len(e.terms) != 2 {
			return 0, false
		}
		l, r = e.terms[0], e.terms[1]
	}
	i, ok = st.counter(l)
	if !ok || r == nil {
		return i, ok
	}
	by, ok := st.counter(r)
	if !ok {
		return 0, false
	}
	v, ok, _ := smallArith(o, i, by)
	return v.int(), ok
}

// counter is a constant, a variable or an attribute of a loop that is an integer.
func (st *state) counter(e expr) (i int64, ok bool) {
	switch e := e.(type) {
	case *constant:
		return e.v.int(), e.v.k == kInt
	case *variable:
		v := e.at(st)
		return v.int(), v.k == kInt
	case *getattr:
		of, ok := e.of.(*variable)
		if !ok || e.m.hidden {
			return 0, false
		}
		if of := of.at(st); of.k == kLoop {
			v, ok := of.p.(*loop).place(e.attr)
			return v.int(), ok && v.k == kInt
		}
	}
	return 0, false
}
