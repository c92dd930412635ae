package jinja

import "slices"

func (n *constant) eval(*state) (Value, error) { return n.v, nil }

func (n *variable) eval(st *state) (Value, error) {
	if v := n.at(st); v.k != kMissing {
		return *v, nil
	}
	return undefinedName(n.name), nil
}

// ref is where the value of an expression is: where it is kept already, else in tmp. Nothing is set while an expression
// is evaluated, so that it stays what it is for as long.
func (st *state) ref(e expr, tmp *Value) (v *Value, err error) {
	if v := st.locate(e, tmp, maxLocate); v != nil {
		return v, nil
	}
	*tmp, err = e.eval(st)
	return tmp, err
}

// at is where the variable is.
func (n *variable) at(st *state) *Value {
	f := st.f
	for range n.hops {
		f = f.up
	}
	return &f.slots[n.slot]
}

// eval of a target's attribute is never asked for.
func (n *nsAttr) eval(*state) (Value, error) { return Value{}, nil }

func (n *sequence) eval(st *state) (Value, error) {
	if err := st.growItems(len(n.items)); err != nil {
		return Value{}, err
	}
	out := make([]Value, len(n.items))
	for i, e := range n.items {
		v, err := e.eval(st)
		if err != nil {
			return v, err
		}
		out[i] = v
	}
	if n.tuple {
		return tuple(out...), nil
	}
	return List(out...), nil
}

func (n *dictExpr) eval(st *state) (Value, error) {
	if err := st.growItems(2 * len(n.keys)); err != nil {
		return Value{}, err
	}
	d := newDict(len(n.keys))
	for i := range n.keys {
		k, err := n.keys[i].eval(st)
		if err != nil {
			return k, err
		}
		v, err := n.vals[i].eval(st)
		if err != nil {
			return v, err
		}
		if err := d.put(st, k, v); err != nil {
			return v, err
		}
	}
	return d.value(), nil
}

func (n *getattr) eval(st *state) (Value, error) {
	var tmp Value
	of, err := st.ref(n.of, &tmp)
	if err != nil {
		return *of, err
	}
	switch { // what templates do most
	case of.k == kDict && n.m.dict == nil && !n.m.unsafeDict:
		if v := of.dict().find(n.attr); v != nil {
			return *v, nil
		}
	case of.k == kLoop && !n.m.hidden:
		if v, ok, err := of.p.(*loop).attr(st, n.attr); ok && err == nil {
			return v, nil
		}
	}
	v, err := st.attr(*of, n.attr, &n.m)
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *getitem) eval(st *state) (Value, error) {
	var tmps [2]Value
	of, err := st.ref(n.of, &tmps[0])
	if err != nil {
		return *of, err
	}
	key, err := st.ref(n.key, &tmps[1])
	if err != nil {
		return *key, err
	}
	switch { // what templates do most
	case of.k == kDict && key.k == kStr && key.len() < scanBytes:
		if v := of.dict().find(key.str()); v != nil {
			return *v, nil
		}
	case of.k == kList && key.k == kInt && key.n < uint64(len(of.items())):
		return of.items()[key.n], nil
	case of.k == kStr && n.m != nil && n.m.str == nil && !n.m.hidden:
		return undefinedAttr(*of, key.s), nil
	}
	v, err := st.item(*of, *key)
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *slice) eval(st *state) (Value, error) {
	of, err := n.of.eval(st)
	if err != nil {
		return of, err
	}
	var bounds [3]Value
	for i, e := range [...]expr{n.lo, n.hi, n.step} {
		if e == nil {
			continue
		}
		if bounds[i], err = e.eval(st); err != nil {
			return Value{}, err
		}
	}
	v, err := st.slicing(of, bounds)
	if n.folded && isClass(err, TypeError) {
		return undefinedHint("'" + objectName(of) + "' has no such element"), nil
	}
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *binary) eval(st *state) (Value, error) {
	var tmps [2]Value
	l, err := st.ref(n.l, &tmps[0])
	if err != nil {
		return *l, err
	}
	r, err := st.ref(n.r, &tmps[1])
	if err != nil {
		return *r, err
	}
	v, err := st.arith(n.op, *l, *r)
	if err == nil && n.negated {
		v, err = negate(v)
	}
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *unary) eval(st *state) (Value, error) {
	v, err := n.of.eval(st)
	if err != nil {
		return v, err
	}
	if n.neg {
		v, err = negate(v)
	} else if v, err = negate(v); err == nil {
		v, err = negate(v)
	}
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

// args are the values of arguments. Who keeps them clones them.
type args struct {
	pos []Value
	kw  []named
}

type named struct {
	name string
	v    Value
}

// none reports that there are no arguments.
func (n *arguments) none() bool {
	return len(n.given) == 0 && len(n.kw) == 0 && n.star == nil && n.dict == nil
}

// values evaluates arguments. They are valid until drop, which gets mark.
func (n *arguments) values(st *state) (a *args, mark int, err error) {
	mark = len(st.stack)
	if n.none() {
		return &st.none, mark, nil
	}
	if last := len(st.spare) - 1; last >= 0 {
		a, st.spare = st.spare[last], st.spare[:last]
	} else {
		a = &args{}
	}
	for _, e := range n.given {
		v, err := e.eval(st)
		if err != nil {
			return a, mark, err
		}
		st.stack = append(st.stack, v)
	}
	if n.star != nil {
		if err := st.spreadList(n.star); err != nil {
			return a, mark, err
		}
	}
	a.pos = st.stack[mark:len(st.stack):len(st.stack)]
	for _, k := range n.kw {
		v, err := k.v.eval(st)
		if err != nil {
			return a, mark, err
		}
		a.kw = append(a.kw, named{k.name, v})
	}
	if n.dict == nil {
		return a, mark, nil
	}
	v, err := n.dict.eval(st)
	if err == nil {
		err = st.spread(a, v)
	}
	return a, mark, err
}

// drop gives back what values returned.
func (st *state) drop(a *args, mark int) {
	st.stack = st.stack[:mark]
	if a != &st.none {
		clear(a.kw)
		a.pos, a.kw = nil, a.kw[:0]
		st.spare = append(st.spare, a)
	}
}

// spreadList adds the items of a list to the stack.
func (st *state) spreadList(e expr) error {
	v, err := e.eval(st)
	if err != nil {
		return err
	}
	items, err := st.slice(v)
	if err != nil {
		return err
	}
	st.stack = append(st.stack, items...)
	return st.growItems(len(items))
}

// spread adds the members of a dict as keyword arguments.
func (st *state) spread(a *args, v Value) error {
	if v.k != kDict {
		return fail(TypeError, "argument after ** must be a mapping, not %s", v.typeName())
	}
	d := v.dict()
	if err := st.growItems(d.len()); err != nil {
		return err
	}
	for i, k := range d.keys {
		if k.k != kStr {
			return fail(TypeError, "keywords must be strings")
		}
		if slices.ContainsFunc(a.kw, func(n named) bool { return n.name == k.s }) {
			return fail(TypeError, "got multiple values for keyword argument %s", quote(k.s))
		}
		a.kw = append(a.kw, named{k.s, d.vals[i]})
	}
	return st.tick(d.len() * (1 + len(a.kw)/64))
}

// bind gives the arguments by the names of the parameters; those not given are missing.
func (a *args) bind(fn string, params ...string) ([maxParams]Value, error) {
	var out [maxParams]Value
	if len(a.pos) > len(params) {
		return out, fail(TypeError, "%s() takes at most %d arguments (%d given)", fn, len(params), len(a.pos))
	}
	copy(out[:], a.pos)
	for _, k := range a.kw {
		i := slices.Index(params, k.name)
		switch {
		case i < 0:
			return out, fail(TypeError, "%s() got an unexpected keyword argument %s", fn, quote(k.name))
		case out[i].k != kMissing:
			return out, fail(TypeError, "%s() got multiple values for argument %s", fn, quote(k.name))
		}
		out[i] = k.v
	}
	return out, nil
}

// maxParams is how many parameters a filter or function has at most.
const maxParams = 6
