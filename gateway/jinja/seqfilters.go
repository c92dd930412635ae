package jinja

import (
	"strconv"
	"strings"
)

// sequenceFilters finds a filter that works on several values.
func sequenceFilters(name string) filterFunc {
	switch name {
	case "list":
		return filterList
	case "items":
		return filterItems
	case "first", "last":
		return func(st *state, v Value, a *args) (Value, error) {
			if _, err := a.bind(name); err != nil {
				return v, err
			}
			return st.edge(v, name == "last")
		}
	case "join":
		return filterJoin
	case "reverse":
		return filterReverse
	case "sort":
		return filterSort
	case "dictsort":
		return filterDictsort
	case "unique":
		return filterUnique
	case "min", "max":
		return func(st *state, v Value, a *args) (Value, error) { return st.extreme(name, v, a) }
	case "sum":
		return filterSum
	case "batch":
		return filterBatch
	case "slice":
		return filterSlice
	case "groupby":
		return filterGroupby
	case "map":
		return filterMap
	case "select", "reject", "selectattr", "rejectattr":
		return func(st *state, v Value, a *args) (Value, error) {
			return st.choose(v, a, strings.HasPrefix(name, "select"), strings.HasSuffix(name, "attr"))
		}
	}
	return nil
}

// lazy is a generator that begins its work when the first item is asked for.
func lazy(start func(st *state) (*seq, error)) Value {
	q := &seq{size: -1}
	q.gen = func(st *state) (Value, bool, error) {
		in, err := start(st)
		if err != nil {
			return Value{}, false, err
		}
		q.gen = in.next
		return in.next(st)
	}
	return Value{k: kIter, p: q}
}

// over is a generator over items.
func over(items []Value) Value {
	return Value{k: kIter, p: &seq{size: -1, items: items}}
}

func filterList(st *state, v Value, a *args) (Value, error) {
	if _, err := a.bind("list"); err != nil {
		return v, err
	}
	items, err := st.slice(v)
	return List(items...), err
}

func filterItems(_ *state, v Value, a *args) (Value, error) {
	_, err := a.bind("items")
	if v.k == kDict {
		return Value{k: kIter, p: &seq{view: &view{v.dict(), 'i'}, size: -1}}, err
	}
	return lazy(func(*state) (*seq, error) {
		if v.k > kUndef {
			return nil, fail(TypeError, "Can only get item pairs from a mapping.")
		}
		return &seq{}, nil
	}), err
}

// edge is the first or last item.
func (st *state) edge(v Value, last bool) (Value, error) {
	word := "first"
	if last {
		word = "last"
	}
	none := undefinedHint("No " + word + " item, sequence was empty.")
	switch v.k {
	case kStr, kRange:
		i := int64(0)
		if last {
			i = -1
		}
		c, ok, err := st.at(v, i)
		if !ok {
			return none, err
		}
		if !last {
			c.f = 0
		}
		return c, nil
	case kIter, kLoop:
		if last {
			return v, fail(TypeError, "'%s' object is not reversible", v.typeName())
		}
	case kMissing, kUndef:
		return none, nil
	case kNone, kBool, kInt, kBig, kFloat:
		if last {
			return v, fail(TypeError, "'%s' object is not reversible", v.typeName())
		}
	}
	if !last {
		q, err := st.iterate(v)
		if err != nil {
			return v, err
		}
		e, ok, err := q.next(st)
		if !ok {
			return none, err
		}
		return e, err
	}
	items, err := st.slice(v)
	if err != nil || len(items) == 0 {
		return none, err
	}
	return items[len(items)-1], nil
}

func filterJoin(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("join", "d", "attribute")
	if err != nil {
		return v, err
	}
	sep := text("")
	if p[0].k != kMissing {
		if sep, err = st.plainStr(p[0]); err != nil {
			return v, err
		}
	}
	get := getter(p[1], Value{}, false)
	q, err := st.iterate(v)
	if err != nil {
		return v, err
	}
	b := st.builder()
	for i := 0; ; i++ {
		e, ok, err := q.next(st)
		if err != nil {
			return v, err
		}
		if !ok {
			return st.built(&b)
		}
		if e, err = get(st, e); err != nil {
			return v, err
		}
		if i > 0 {
			b.text(sep)
		}
		if err := st.write(&b, e); err != nil {
			return v, err
		}
		if err := st.tick(1); err != nil || b.over {
			return v, orTooMuch(err, st)
		}
	}
}

func orTooMuch(err error, st *state) error {
	if err == nil {
		return tooMuch("string", st.limits.String)
	}
	return err
}

func filterReverse(st *state, v Value, a *args) (Value, error) {
	if _, err := a.bind("reverse"); err != nil {
		return v, err
	}
	if v.k == kStr {
		return st.slicing(v, [3]Value{{}, {}, Int(-1)})
	}
	if v.k == kNone || v.numeric() {
		return v, fail(FilterArgumentError, "argument must be iterable")
	}
	items, err := st.slice(v)
	if err != nil {
		return v, fail(FilterArgumentError, "argument must be iterable")
	}
	if err := st.growItems(len(items)); err != nil {
		return v, err
	}
	out := make([]Value, len(items))
	for i, e := range items {
		out[len(out)-1-i] = e
	}
	if v.k == kIter {
		return List(out...), nil
	}
	return over(out), nil
}

// getter is what takes an attribute like "a.b.0" out of items; with none the items themselves. fold makes
// strings lower case, for comparisons.
func getter(attr, missing Value, fold bool) func(st *state, v Value) (Value, error) {
	var parts []Value
	switch attr.k {
	case kMissing, kNone:
	case kStr:
		for s := range strings.SplitSeq(attr.str(), ".") {
			if i, err := strconv.ParseInt(s, 10, 64); err == nil && isDigits(s) {
				parts = append(parts, Int(i))
			} else {
				parts = append(parts, text(s))
			}
		}
	default:
		parts = []Value{attr}
	}
	return func(st *state, v Value) (Value, error) {
		for _, p := range parts {
			var err error
			if v, err = st.item(v, p); err != nil {
				return v, err
			}
			if v.k <= kUndef && missing.k != kMissing && missing.k != kNone {
				v = missing
			}
		}
		if fold && v.k == kStr {
			return st.recase("lower", v)
		}
		return v, nil
	}
}

func filterUnique(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("unique", "case_sensitive", "attribute")
	return lazy(func(st *state) (*seq, error) {
		get := getter(p[1], Value{}, !p[0].truth())
		q, err := st.iterate(v)
		if err != nil {
			return nil, err
		}
		seen := map[dictKey]bool{}
		return q.each(func(st *state, e Value) (Value, bool, error) {
			k, err := get(st, e)
			if err != nil {
				return e, false, err
			}
			h, err := hash(st, k, 0)
			if err != nil || seen[h] {
				return e, false, err
			}
			seen[h] = true
			return e, true, st.grow(valueBytes)
		}), nil
	}), err
}

func filterSum(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("sum", "attribute", "start")
	if err != nil {
		return v, err
	}
	sum := p[1]
	switch sum.k {
	case kMissing:
		sum = Int(0)
	case kStr:
		return v, fail(TypeError, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	list, err := st.keys(v, p[0], Value{}, Bool(true))
	if err != nil {
		return v, err
	}
	for _, e := range list {
		if sum, err = st.arith(opAdd, sum, e.key); err != nil {
			return v, err
		}
	}
	return sum, nil
}
