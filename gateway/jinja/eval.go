package jinja

import "slices"

func (n *constant) eval(*state) (Value, error) { return n.v, nil }

func (n *variable) eval(st *state) (Value, error) {
	f := st.f
	for range n.hops {
		f = f.up
	}
	if v := f.slots[n.slot]; v.k != kMissing {
		return v, nil
	}
	return undefinedName(n.name), nil
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
	of, err := n.of.eval(st)
	if err != nil {
		return of, err
	}
	if of.k == kDict && n.m.dict == nil { // what templates do most
		if v, ok := of.p.(*dict).get(n.attr); ok && !n.m.unsafeDict {
			return v, nil
		}
	}
	v, err := st.attr(of, n.attr, &n.m)
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
}

func (n *getitem) eval(st *state) (Value, error) {
	of, err := n.of.eval(st)
	if err != nil {
		return of, err
	}
	key, err := n.key.eval(st)
	if err != nil {
		return key, err
	}
	if of.k == kDict && key.k == kStr && key.len() < scanBytes {
		if v, ok := of.p.(*dict).get(key.str()); ok {
			return v, nil
		}
	}
	v, err := st.item(of, key)
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
	l, err := n.l.eval(st)
	if err != nil {
		return l, err
	}
	r, err := n.r.eval(st)
	if err != nil {
		return r, err
	}
	v, err := st.arith(n.op, l, r)
	if err == nil && n.negated {
		v, err = negate(v)
	}
	if err != nil {
		return v, at(err, n.pos)
	}
	return v, nil
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

func (n *logical) eval(st *state) (Value, error) {
	l, err := n.l.eval(st)
	if err != nil || l.truth() != n.and {
		return l, err
	}
	return n.r.eval(st)
}

func (n *not) eval(st *state) (Value, error) {
	v, err := n.of.eval(st)
	return Bool(!v.truth()), err
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

func (n *comparison) eval(st *state) (Value, error) {
	l, err := n.first.eval(st)
	if err != nil {
		return l, err
	}
	for i, op := range n.ops {
		r, err := n.rest[i].eval(st)
		if err != nil {
			return r, err
		}
		var ok bool
		switch op {
		case "==", "!=":
			ok, err = st.equal(l, r)
			ok = ok == (op == "==")
		case "in", "not in":
			ok, err = st.contains(r, l)
			ok = ok == (op == "in")
		default:
			ok, err = st.order(op, l, r)
		}
		if err != nil {
			return r, at(err, n.pos)
		}
		if !ok {
			return Bool(false), nil
		}
		l = r
	}
	return Bool(true), nil
}

func (n *conditional) eval(st *state) (Value, error) {
	v, err := n.test.eval(st)
	switch {
	case err != nil:
		return v, err
	case v.truth():
		return n.then.eval(st)
	case n.els != nil:
		return n.els.eval(st)
	}
	return undefinedHint("the inline if-expression evaluated to false and no else section was defined."), nil
}

// args are the values of arguments. Who keeps pos clones it.
type args struct {
	pos []Value
	kw  []named
}

type named struct {
	name string
	v    Value
}

// values evaluates arguments. They are valid until the stack is cut to mark.
func (n *arguments) values(st *state) (a *args, mark int, err error) {
	mark = len(st.stack)
	if len(n.given) == 0 && n.star == nil && len(n.kw) == 0 && n.dict == nil {
		return &st.none, mark, nil
	}
	a = &args{}
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
