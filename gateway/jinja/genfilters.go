package jinja

import "slices"

func filterBatch(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("batch", "linecount", "fill_with")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		return v, fail(TypeError, "do_batch() missing 1 required positional argument: 'linecount'")
	}
	return lazy(func(st *state) (*seq, error) {
		items, err := st.slice(v)
		if err != nil {
			return nil, err
		}
		n, ok := p[0].index()
		if !ok {
			return nil, fail(TypeError, "a batch has an integer number of items")
		}
		return &seq{gen: func(st *state) (Value, bool, error) {
			if len(items) == 0 {
				return Value{}, false, nil
			}
			k := len(items)
			if n > 0 {
				k = int(min(int64(k), n))
			}
			row := items[:k:k]
			items = items[k:]
			if p[1].k != kMissing && p[1].k != kNone {
				row, err = st.filled(row, p[1], n)
			}
			if err == nil {
				err = st.tick(1)
			}
			return List(row...), err == nil, err
		}}, nil
	}), nil
}

// filled is row with as many values behind it as make it n long.
func (st *state) filled(row []Value, with Value, n int64) ([]Value, error) {
	if n > int64(st.limits.Memory/valueBytes) {
		return nil, tooMuch("memory", st.limits.Memory)
	}
	more := int(n) - len(row)
	if more <= 0 {
		return row, nil
	}
	return append(row, slices.Repeat([]Value{with}, more)...), st.growItems(int(n))
}

func filterSlice(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("slice", "slices", "fill_with")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		return v, fail(TypeError, "sync_do_slice() missing 1 required positional argument: 'slices'")
	}
	return lazy(func(st *state) (*seq, error) {
		items, err := st.slice(v)
		if err != nil {
			return nil, err
		}
		n, ok := p[0].index()
		switch {
		case !ok:
			return nil, fail(TypeError, "the number of slices is an integer")
		case n == 0:
			return nil, fail(ZeroDivisionError, "integer division or modulo by zero")
		}
		size, extra := int64(len(items))/n, int64(len(items))%n
		i, from := int64(0), int64(0)
		return &seq{gen: func(st *state) (Value, bool, error) {
			if i >= n {
				return Value{}, false, nil
			}
			k := size
			if i < extra {
				k++
			}
			row := items[from : from+k : from+k]
			if p[1].k != kMissing && p[1].k != kNone && i >= extra {
				row = append(row, p[1])
			}
			from += k
			i++
			return List(row...), true, st.tick(1)
		}}, nil
	}), nil
}

func filterGroupby(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("groupby", "attribute", "default", "case_sensitive")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		return v, fail(TypeError, "sync_do_groupby() missing 1 required positional argument: 'attribute'")
	}
	all, err := st.keys(v, p[0], p[1], p[2])
	if err != nil {
		return v, err
	}
	if err := st.sortKeyed(all, false); err != nil {
		return v, err
	}
	get := getter(p[0], p[1], false)
	var out []Value
	for i := 0; i < len(all); {
		k := i + 1
		for k < len(all) {
			same, err := st.equal(all[i].key, all[k].key)
			if err != nil {
				return v, err
			}
			if !same {
				break
			}
			k++
		}
		name, err := get(st, all[i].v)
		if err != nil {
			return v, err
		}
		pair := &list{v: []Value{name, List(values(all[i:k])...)}, group: true}
		out = append(out, Value{k: kTuple, p: pair})
		i = k
	}
	return List(out...), st.growItems(len(out))
}

func filterMap(_ *state, v Value, a *args) (Value, error) {
	pos, kw := slices.Clone(a.pos), slices.Clone(a.kw)
	return lazy(func(st *state) (*seq, error) {
		if !v.truth() {
			return &seq{}, nil
		}
		get, err := st.mapper(pos, kw)
		if err != nil {
			return nil, err
		}
		q, err := st.iterate(v)
		if err != nil {
			return nil, err
		}
		return q.each(func(st *state, e Value) (Value, bool, error) {
			e, err := get(st, e)
			return e, true, err
		}), nil
	}), nil
}

// mapper is what the map filter does to an item: take an attribute, or apply a filter.
func (st *state) mapper(pos []Value, kw []named) (func(st *state, v Value) (Value, error), error) {
	if i := slices.IndexFunc(kw, func(k named) bool { return k.name == "attribute" }); i >= 0 && len(pos) == 0 {
		missing := Value{}
		for _, k := range kw {
			switch k.name {
			case "attribute":
			case "default":
				missing = k.v
			default:
				return nil, fail(FilterArgumentError, "Unexpected keyword argument %s", quote(k.name))
			}
		}
		return getter(kw[i].v, missing, false), nil
	}
	if len(pos) == 0 {
		return nil, fail(FilterArgumentError, "map requires a filter argument")
	}
	fn := filterFunc(nil)
	if pos[0].k == kStr {
		fn = filters(pos[0].str())
	}
	if fn == nil {
		name, err := st.reprText(pos[0])
		if err == nil {
			err = fail(RuntimeError, "No filter named %s.", name)
		}
		return nil, err
	}
	return func(st *state, v Value) (Value, error) {
		return fn(st, v, &args{pos: pos[1:], kw: kw})
	}, nil
}

// choose is select, reject, selectattr and rejectattr.
func (st *state) choose(v Value, a *args, keep, byAttr bool) (Value, error) {
	pos, kw := slices.Clone(a.pos), slices.Clone(a.kw)
	return lazy(func(st *state) (*seq, error) {
		if !v.truth() {
			return &seq{}, nil
		}
		get := getter(Value{}, Value{}, false)
		if byAttr {
			if len(pos) == 0 {
				return nil, fail(FilterArgumentError, "Missing parameter for attribute name")
			}
			get = getter(pos[0], Value{}, false)
			pos = pos[1:]
		}
		q, err := st.iterate(v)
		if err != nil {
			return nil, err
		}
		passes, err := st.test(pos)
		if err != nil {
			return nil, err
		}
		with := &args{pos: pos[min(1, len(pos)):], kw: kw}
		return q.each(func(st *state, e Value) (Value, bool, error) {
			x, err := get(st, e)
			if err != nil {
				return e, false, err
			}
			ok, err := passes(st, x, with)
			return e, ok == keep, err
		}), nil
	}), nil
}

// test finds the test that is named by the first of pos; with none it is whether a value is true.
func (st *state) test(pos []Value) (testFunc, error) {
	if len(pos) == 0 {
		return truthful, nil
	}
	if pos[0].k == kStr {
		if fn := tests(pos[0].str()); fn != nil {
			return fn, nil
		}
	}
	name, err := st.reprText(pos[0])
	if err == nil {
		err = fail(RuntimeError, "No test named %s.", name)
	}
	return nil, err
}

func truthful(_ *state, v Value, _ *args) (bool, error) { return v.truth(), nil }
