package jinja

// seq is a walk through a value: through the items of a list, the members of a dict, or what a function gives.
type seq struct {
	items []Value // what is left
	view  *view
	at    int // of the view
	gen   func(st *state) (Value, bool, error)
	size  int // how many there are in all, -1 where it is not known
}

func (q *seq) next(st *state) (Value, bool, error) {
	switch {
	case q.gen != nil:
		return q.gen(st)
	case q.view != nil:
		if q.at == q.view.d.len() {
			return Value{}, false, nil
		}
		q.at++
		return q.view.item(q.at - 1), true, st.tick(1)
	case len(q.items) == 0:
		return Value{}, false, nil
	}
	v := q.items[0]
	q.items = q.items[1:]
	return v, true, nil
}

// iterate is iter(v).
func (st *state) iterate(v Value) (*seq, error) {
	switch v.k {
	case kIter:
		return v.p.(*seq), nil
	case kRange:
		r, i := v.p.(*span), int64(0)
		return &seq{size: int(r.len()), gen: func(st *state) (Value, bool, error) {
			if i >= r.len() {
				return Value{}, false, nil
			}
			i++
			return r.at(i - 1), true, st.tick(1)
		}}, nil
	case kView:
		w := v.p.(*view)
		return &seq{view: w, size: w.d.len()}, nil
	case kStr:
		return characters(v.flat()), nil
	case kLoop:
		l := v.p.(*loop)
		return &seq{size: -1, gen: func(st *state) (Value, bool, error) {
			e, err := l.step(st)
			if err != nil || e == nil {
				return Value{}, false, err
			}
			return tuple(*e, v), true, nil
		}}, nil
	}
	items, err := st.slice(v)
	return &seq{items: items, size: len(items)}, err
}

// each walks through what f makes of the items; f reports whether an item is kept.
func (q *seq) each(f func(st *state, v Value) (Value, bool, error)) *seq {
	return &seq{size: -1, gen: func(st *state) (Value, bool, error) {
		for {
			v, ok, err := q.next(st)
			if err == nil {
				err = st.tick(1)
			}
			if err != nil || !ok {
				return v, false, err
			}
			v, keep, err := f(st, v)
			if err != nil || keep {
				return v, err == nil, err
			}
		}
	}}
}

// characters walks through those of a flat string.
func characters(v Value) *seq {
	at := 0
	return &seq{size: -1, gen: func(st *state) (Value, bool, error) {
		if at >= len(v.s) {
			return Value{}, false, nil
		}
		n := offset(v.s[at:], 1)
		c := v.sub(at, at+n)
		c.f = 0
		at += n
		return c, true, st.tick(1)
	}}
}

// slice is list(v), without copying where it is one.
func (st *state) slice(v Value) ([]Value, error) {
	switch v.k {
	case kList, kTuple:
		return v.items(), nil
	case kDict:
		return v.dict().keys, st.tick(v.dict().len() / 16)
	case kMissing, kUndef:
		return nil, nil
	case kStr, kRange, kView, kIter, kLoop:
		q, err := st.iterate(v)
		if err != nil {
			return nil, err
		}
		return st.drain(q)
	}
	return nil, fail(TypeError, "'%s' object is not iterable", v.typeName())
}

// drain is what is left of a walk.
func (st *state) drain(q *seq) ([]Value, error) {
	if q.gen == nil && q.view == nil {
		out := q.items
		q.items = nil
		return out, nil
	}
	var out []Value
	for {
		v, ok, err := q.next(st)
		if err != nil || !ok {
			return out, err
		}
		if err := st.grow(valueBytes); err != nil {
			return nil, err
		}
		if err := st.tick(1); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}
