package jinja

import "slices"

// loop is the loop variable.
type loop struct {
	n       *forStmt
	up      *frame  // around a recursive loop
	items   []Value // all of them, where a list is walked through
	ahead   *ahead  // else
	index   int     // from 0, -1 before the first
	size    int     // -1 while it is not known
	depth   int
	changed *Value // the arguments of the last call of changed
}

// ahead walks through what is no list, and looks at the next item before it is its turn.
type ahead struct {
	q               *seq
	prev, cur, next Value
	peeked          bool
	more            bool // there is a next one, when peeked
}

// step goes to the next item, nil at the end.
func (l *loop) step(st *state) (*Value, error) {
	if l.ahead == nil {
		if l.index+1 >= len(l.items) {
			return nil, nil
		}
		l.index++
		return &l.items[l.index], nil
	}
	a := l.ahead
	if more, err := a.peek(st); err != nil || !more {
		return nil, err
	}
	l.index++
	a.prev, a.cur, a.peeked = a.cur, a.next, false
	return &a.cur, nil
}

func (a *ahead) peek(st *state) (bool, error) {
	if !a.peeked {
		v, ok, err := a.q.next(st)
		if err != nil {
			return false, err
		}
		a.next, a.more, a.peeked = v, ok, true
	}
	return a.more, nil
}

// peek is the next item, nil where there is none.
func (l *loop) peek(st *state) (*Value, error) {
	if l.ahead == nil {
		if l.index+1 >= len(l.items) {
			return nil, nil
		}
		return &l.items[l.index+1], nil
	}
	if more, err := l.ahead.peek(st); err != nil || !more {
		return nil, err
	}
	return &l.ahead.next, nil
}

// last is the item before.
func (l *loop) last() Value {
	if l.ahead == nil {
		return l.items[l.index-1]
	}
	return l.ahead.prev
}

func (l *loop) length(st *state) (int, error) {
	if l.size < 0 {
		a := l.ahead
		rest, err := st.drain(a.q)
		if err != nil {
			return 0, err
		}
		a.q = &seq{items: rest, size: len(rest)}
		l.size = len(rest) + l.index + 1
		if a.peeked && a.more {
			l.size++
		}
	}
	return l.size, nil
}

// place is an attribute of the loop variable that tells where the loop is, if that is known without a look ahead.
func (l *loop) place(name string) (v Value, ok bool) {
	switch name {
	case "index0":
		return Int(int64(l.index)), true
	case "index":
		return Int(int64(l.index + 1)), true
	case "first":
		return Bool(l.index == 0), true
	case "last":
		return Bool(l.index+1 >= len(l.items)), l.ahead == nil
	}
	return Value{}, false
}

// attr is an attribute of the loop variable.
func (l *loop) attr(st *state, name string) (v Value, ok bool, err error) {
	if v, ok := l.place(name); ok {
		return v, true, nil
	}
	switch name {
	case "last":
		next, err := l.peek(st)
		return Bool(next == nil), true, err
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
		return l.last(), true, nil
	case "nextitem":
		next, err := l.peek(st)
		if next == nil {
			return undefinedHint("there is no next item"), true, err
		}
		return *next, true, err
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
	if l.changed != nil {
		same, err := st.equal(*l.changed, now)
		if same || err != nil {
			return Bool(false), err
		}
	}
	l.changed = &now
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
	if err != nil {
		return Value{}, err
	}
	return st.taken(m)
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
	var items []Value
	var q *seq
	if v.k == kList || v.k == kTuple {
		items = v.items()
	} else {
		var err error
		if q, err = st.iterate(v); err != nil {
			return goOn, err
		}
	}
	if n.recursive {
		outer := st.f
		st.f = &frame{slots: make([]Value, n.fn.slots), up: up}
		defer func() { st.f = outer }()
	}
	if n.test != nil {
		if q == nil {
			q = &seq{items: items, size: len(items)}
		}
		q = n.filter(st, q)
	}
	w := walker{items: items, q: q}
	if n.loop {
		w.l = &loop{n: n, up: up, items: items, index: -1, size: len(items), depth: depth}
		if q != nil {
			w.l.ahead, w.l.size = &ahead{q: q}, q.size
		}
	}
	// Jinja2 takes the else branch too when no round came to its end, as all of them did break or continue.
	whole := false
	for {
		if more, err := n.next(st, &w); err != nil {
			return goOn, err
		} else if !more {
			break
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

// walker is a loop that runs.
type walker struct {
	items []Value // what is left of a list
	q     *seq    // what is walked through, if it is no list
	l     *loop   // nil where nobody asks for it
	cur   Value
}

// next sets the variables of the next round; it reports false where there is none.
func (n *forStmt) next(st *state, w *walker) (bool, error) {
	if w.l == nil && w.q != nil && w.q.view != nil && w.q.view.what == 'i' {
		if to, ok := n.target.(*sequence); ok && len(to.items) == 2 {
			return w.pair(st, to)
		}
	}
	e := &w.cur
	switch {
	case w.l != nil:
		var err error
		if e, err = w.l.step(st); err != nil || e == nil {
			return false, err
		}
		if s := &st.f.slots[n.loopSlot]; s.p != any(w.l) {
			*s = Value{k: kLoop, p: w.l}
		}
	case w.q != nil:
		var ok bool
		var err error
		if w.cur, ok, err = w.q.next(st); err != nil || !ok {
			return false, err
		}
	case len(w.items) == 0:
		return false, nil
	default:
		e, w.items = &w.items[0], w.items[1:]
	}
	if err := st.tick(1); err != nil {
		return false, err
	}
	if to, ok := n.target.(*variable); ok {
		st.f.slots[to.slot] = *e
		return true, nil
	}
	return true, st.assign(n.target, *e)
}

// pair is next for the members of a dict, without making a tuple of each.
func (w *walker) pair(st *state, to *sequence) (bool, error) {
	q := w.q
	if q.at == q.view.d.len() {
		return false, nil
	}
	k, v := q.view.d.keys[q.at], q.view.d.vals[q.at]
	q.at++
	if err := st.tick(2); err != nil {
		return false, err
	}
	if err := st.assign(to.items[0], k); err != nil {
		return false, err
	}
	return true, st.assign(to.items[1], v)
}

// filter is the walk through what of q passes the loop's test. The loop may be walked on from elsewhere, but its test
// is about the variables that are around it.
func (n *forStmt) filter(st *state, q *seq) *seq {
	f := st.f
	return q.each(func(st *state, e Value) (Value, bool, error) {
		outer := st.f
		st.f = f
		defer func() { st.f = outer }()
		st.enter(&n.testScope)
		if err := st.assign(n.testTo, e); err != nil {
			return e, false, err
		}
		ok, err := st.holds(n.test)
		return e, ok, err
	})
}
