package jinja

import "slices"

// seq is a walk through a value.
type seq struct {
	items []Value // what is left, when next is nil
	gen   func(st *state) (Value, bool, error)
	size  int // how many there are in all, -1 where it is not known
}

func (q *seq) next(st *state) (Value, bool, error) {
	if q.gen != nil {
		return q.gen(st)
	}
	if len(q.items) == 0 {
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
		w, i := v.p.(*view), 0
		return &seq{size: w.d.len(), gen: func(st *state) (Value, bool, error) {
			if i >= w.d.len() {
				return Value{}, false, nil
			}
			i++
			return w.at(i - 1), true, st.tick(1)
		}}, nil
	case kStr:
		return characters(v.flat()), nil
	case kLoop:
		l := v.p.(*loop)
		return &seq{size: -1, gen: func(st *state) (Value, bool, error) {
			e, ok, err := l.step(st)
			return tuple(e, v), ok, err
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
	if q.gen == nil {
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

// loop is the loop variable.
type loop struct {
	q         *seq
	n         *forStmt
	up        *frame // around a recursive loop
	index     int    // from 0, -1 before the first
	size      int    // -1 while it is not known
	depth     int
	cur, prev Value
	ahead     Value // the next item, when it was looked at
	peeked    bool
	more      bool  // there is a next one, when peeked
	changed   Value // the arguments of the last call of changed
}

// step goes to the next item.
func (l *loop) step(st *state) (Value, bool, error) {
	v, ok := l.ahead, l.more
	if !l.peeked {
		var err error
		if v, ok, err = l.q.next(st); err != nil {
			return v, false, err
		}
	}
	l.peeked = false
	if !ok {
		l.peeked, l.more = true, false
		return Value{}, false, nil
	}
	l.index++
	l.prev, l.cur = l.cur, v
	return v, true, nil
}

func (l *loop) peek(st *state) (Value, bool, error) {
	if !l.peeked {
		v, ok, err := l.q.next(st)
		if err != nil {
			return v, false, err
		}
		l.ahead, l.more, l.peeked = v, ok, true
	}
	return l.ahead, l.more, nil
}

func (l *loop) length(st *state) (int, error) {
	if l.size < 0 {
		rest, err := st.drain(l.q)
		if err != nil {
			return 0, err
		}
		l.q = &seq{items: rest, size: len(rest)}
		l.size = len(rest) + l.index + 1
		if l.peeked && l.more {
			l.size++
		}
	}
	return l.size, nil
}

// attr is an attribute of the loop variable.
func (l *loop) attr(st *state, name string) (v Value, ok bool, err error) {
	switch name {
	case "index0":
		return Int(int64(l.index)), true, nil
	case "index":
		return Int(int64(l.index + 1)), true, nil
	case "first":
		return Bool(l.index == 0), true, nil
	case "last":
		_, more, err := l.peek(st)
		return Bool(!more), true, err
	case "length", "revindex", "revindex0":
		n, err := l.length(st)
		switch name {
		case "revindex":
			n -= l.index
		case "revindex0":
			n -= l.index + 1
		}
		return Int(int64(n)), true, err
	case "depth":
		return Int(int64(l.depth + 1)), true, nil
	case "depth0":
		return Int(int64(l.depth)), true, nil
	case "previtem":
		if l.index == 0 {
			return undefinedHint("there is no previous item"), true, nil
		}
		return l.prev, true, nil
	case "nextitem":
		v, more, err := l.peek(st)
		if !more {
			v = undefinedHint("there is no next item")
		}
		return v, true, err
	case "cycle", "changed":
		return Value{k: kFunc, p: &builtin{name: name, fn: func(st *state, a *args) (Value, error) { return l.method(st, name, a) }}}, true, nil
	}
	return Value{}, false, nil
}

func (l *loop) method(st *state, name string, a *args) (Value, error) {
	if name == "cycle" {
		if len(a.pos) == 0 {
			return Value{}, fail(TypeError, "no items for cycling given")
		}
		return a.pos[l.index%len(a.pos)], nil
	}
	now := tuple(slices.Clone(a.pos)...)
	if l.changed.k != kMissing {
		same, err := st.equal(l.changed, now)
		if same || err != nil {
			return Bool(false), err
		}
	}
	l.changed = now
	return Bool(true), nil
}

// call runs a recursive loop over other items; its text is the value.
func (l *loop) call(st *state, a *args) (Value, error) {
	if !l.n.recursive {
		return Value{}, fail(TypeError, "The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(a.pos) != 1 {
		return Value{}, fail(TypeError, "a loop takes 1 argument")
	}
	if err := st.deeper(); err != nil {
		return Value{}, err
	}
	m := st.out.begin()
	_, err := l.n.walk(st, a.pos[0], l.depth+1, l.up)
	st.depth--
	if err == nil && st.out.over {
		err = tooMuch("output", st.limits.Output)
	}
	if err != nil {
		return Value{}, err
	}
	v := st.out.end(m)
	return v, st.grow(len(v.s))
}

func (n *forStmt) exec(st *state) (flow, error) {
	v, err := n.iter.eval(st)
	if err != nil {
		return goOn, at(err, n.pos)
	}
	f, err := n.walk(st, v, 0, st.f)
	if err != nil {
		return goOn, at(err, n.pos)
	}
	return f, nil
}

// walk runs the loop over v. A recursive one has variables of its own for each level, within those of up.
func (n *forStmt) walk(st *state, v Value, depth int, up *frame) (flow, error) {
	q, err := st.iterate(v)
	if err != nil {
		return goOn, err
	}
	if n.recursive {
		outer := st.f
		st.f = &frame{slots: make([]Value, n.fn.slots), up: up}
		defer func() { st.f = outer }()
	}
	if n.test != nil {
		q = n.filter(q)
	}
	l := &loop{q: q, n: n, up: up, index: -1, size: q.size, depth: depth}
	// Jinja2 takes the else branch too when no round came to its end, as all of them did break or continue.
	whole := false
	for {
		var e Value
		var ok bool
		if n.loop {
			e, ok, err = l.step(st)
		} else {
			e, ok, err = q.next(st)
		}
		if err != nil {
			return goOn, err
		}
		if !ok {
			break
		}
		if err := st.tick(1); err != nil {
			return goOn, err
		}
		if n.loop {
			st.f.slots[n.loopSlot] = Value{k: kLoop, p: l}
		}
		if to, ok := n.target.(*variable); ok {
			st.f.slots[to.slot] = e
		} else if err := st.assign(n.target, e); err != nil {
			return goOn, err
		}
		st.enter(&n.bodyScope)
		f, err := st.run(n.body)
		if err != nil {
			return goOn, err
		}
		if f == doBreak {
			break
		}
		whole = whole || f == goOn
	}
	if whole || n.els == nil {
		return goOn, nil
	}
	st.enter(&n.elsScope)
	return st.run(n.els)
}

// filter is the walk through what of q passes the loop's test.
func (n *forStmt) filter(q *seq) *seq {
	return q.each(func(st *state, e Value) (Value, bool, error) {
		st.enter(&n.testScope)
		if err := st.assign(n.testTo, e); err != nil {
			return e, false, err
		}
		v, err := n.test.eval(st)
		return e, v.truth(), err
	})
}
