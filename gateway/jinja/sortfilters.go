package jinja

import (
	"strings"
)

// keyed are items with what they are compared by.
type keyed struct{ key, v Value }

// keys gives all of v with their keys.
func (st *state) keys(v, attr, missing, sensitive Value) ([]keyed, error) {
	get := getter(attr, missing, !sensitive.truth())
	items, err := st.slice(v)
	if err != nil {
		return nil, err
	}
	if err := st.growItems(2 * len(items)); err != nil {
		return nil, err
	}
	out := make([]keyed, len(items))
	for i, e := range items {
		k, err := get(st, e)
		if err != nil {
			return nil, err
		}
		out[i] = keyed{k, e}
	}
	return out, nil
}

// sortBy sorts stably. It ends at the first error of less.
func sortBy[T any](list []T, less func(a, b T) (bool, error)) error {
	if len(list) < 2 {
		return nil
	}
	m := len(list) / 2
	if err := sortBy(list[:m], less); err != nil {
		return err
	}
	if err := sortBy(list[m:], less); err != nil {
		return err
	}
	left := append([]T(nil), list[:m]...)
	right := list[m:]
	for i := range list {
		if len(left) == 0 {
			return nil
		}
		if len(right) > 0 {
			after, err := less(right[0], left[0])
			if err != nil {
				return err
			}
			if after {
				list[i], right = right[0], right[1:]
				continue
			}
		}
		list[i], left = left[0], left[1:]
	}
	return nil
}

func (st *state) sortKeyed(list []keyed, reverse bool) error {
	return sortBy(list, func(a, b keyed) (bool, error) {
		if reverse {
			a, b = b, a
		}
		return st.less(a.key, b.key)
	})
}

func filterSort(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("sort", "reverse", "case_sensitive", "attribute")
	if err != nil {
		return v, err
	}
	list, err := st.sortKeys(v, p[2], p[1])
	if err != nil {
		return v, err
	}
	err = sortBy(list, func(a, b keyed) (bool, error) {
		if p[0].truth() {
			a, b = b, a
		}
		// The keys are compared as lists of one are: equal ones need no order.
		if same, err := st.equal(a.key, b.key); same || err != nil {
			return false, err
		}
		return st.less(a.key, b.key)
	})
	if err != nil {
		return v, err
	}
	return List(values(list)...), nil
}

// sortKeys is keys, where several attributes may be named with commas between them.
func (st *state) sortKeys(v, attr, sensitive Value) ([]keyed, error) {
	if attr.k != kStr || !strings.Contains(attr.str(), ",") {
		return st.keys(v, attr, Value{}, sensitive)
	}
	items, err := st.slice(v)
	if err != nil {
		return nil, err
	}
	out := make([]keyed, len(items))
	names := strings.Split(attr.str(), ",")
	if err := st.growItems(len(items) * (len(names) + 2)); err != nil {
		return nil, err
	}
	for i, e := range items {
		all := make([]Value, len(names))
		for k, n := range names {
			get := getter(text(n), Value{}, !sensitive.truth())
			if all[k], err = get(st, e); err != nil {
				return nil, err
			}
		}
		out[i] = keyed{List(all...), e}
	}
	return out, nil
}

func values(list []keyed) []Value {
	out := make([]Value, len(list))
	for i, k := range list {
		out[i] = k.v
	}
	return out
}

func filterDictsort(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("dictsort", "case_sensitive", "by", "reverse")
	if err != nil {
		return v, err
	}
	by := int64(0)
	if p[1].k != kMissing {
		switch {
		case p[1].k == kStr && p[1].str() == "key":
		case p[1].k == kStr && p[1].str() == "value":
			by = 1
		default:
			return v, fail(FilterArgumentError, `You can only sort by either "key" or "value"`)
		}
	}
	if v.k <= kUndef {
		return v, v.undefErr()
	}
	if v.k != kDict {
		return v, fail(AttributeError, "'%s' object has no attribute 'items'", v.typeName())
	}
	list, err := st.keys(Value{k: kView, p: &view{v.dict(), 'i'}}, Int(by), Value{}, p[0])
	if err != nil {
		return v, err
	}
	if err := st.sortKeyed(list, p[2].truth()); err != nil {
		return v, err
	}
	return List(values(list)...), nil
}

// extreme is min and max.
func (st *state) extreme(name string, v Value, a *args) (Value, error) {
	p, err := a.bind(name, "case_sensitive", "attribute")
	if err != nil {
		return v, err
	}
	list, err := st.keys(v, p[1], Value{}, p[0])
	if err != nil {
		return v, err
	}
	if len(list) == 0 {
		return undefinedHint("No aggregated item, sequence was empty."), nil
	}
	best := list[0]
	for _, e := range list[1:] {
		x, y, op := e.key, best.key, isLess
		if name == "max" {
			op = isGreater
		}
		better, err := st.order(op, x, y)
		if err != nil {
			return v, err
		}
		if better {
			best = e
		}
	}
	return best.v, nil
}
