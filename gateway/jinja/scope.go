package jinja

import (
	"maps"
	"slices"
)

// Names are resolved as Jinja2 does it: for each scope it is found out first, over the whole scope, which
// names are read before they are set, and a name belongs to the scope that sets it. A scope that is
// entered gives such names their first value: from the scope around it, from the variables of the render,
// or none. That decides what a template prints that sets a name in one branch and reads it after.

// load tells how a variable gets its first value when its scope is entered.
type load struct {
	slot  int
	from  loadFrom
	index int // of the name among the template's, or the slot of the variable outside
	hops  int // functions between, for the latter
}

type loadFrom uint8

const (
	fromEntry loadFrom = iota // what enters the scope sets it
	fromNothing
	fromVars
	fromOuter
)

// scope is what is done on entering it.
type scope struct{ loads []load }

// ref is where a variable is.
type ref struct {
	fn   *function
	slot int
}

// how a variable gets its first value, before slots are final.
type source struct {
	from  loadFrom
	name  string
	outer ref
	set   bool // every branch sets it, so that it is taken from outside in form only
}

// symbols are the names of one scope. The branches of an if are layers over it, which are merged into it
// after.
type symbols struct {
	parent *symbols
	under  *symbols // of a layer, what it is over
	fn     *function
	own    map[string]ref // where the scope keeps a name; the same in all layers
	refs   map[string]ref
	loads  map[ref]source
	stores map[string]bool
}

func (s *symbols) inner() *symbols { return s.child(s.fn) }

func (s *symbols) child(fn *function) *symbols {
	return &symbols{parent: s, fn: fn, own: map[string]ref{}, refs: map[string]ref{}, loads: map[ref]source{}, stores: map[string]bool{}}
}

func (s *symbols) branch() *symbols {
	return &symbols{parent: s.parent, under: s, fn: s.fn, own: s.own, refs: map[string]ref{}, loads: map[ref]source{}, stores: map[string]bool{}}
}

// local finds a name of the scope itself.
func (s *symbols) local(name string) (ref, bool) {
	for ; s != nil; s = s.under {
		if r, ok := s.refs[name]; ok {
			return r, true
		}
	}
	return ref{}, false
}

func (s *symbols) find(name string) (ref, bool) {
	for ; s != nil; s = s.parent {
		if r, ok := s.local(name); ok {
			return r, true
		}
	}
	return ref{}, false
}

func (s *symbols) stored(name string) bool {
	for ; s != nil; s = s.under {
		if s.stores[name] {
			return true
		}
	}
	return false
}

func (s *symbols) define(name string, src source) ref {
	r, ok := s.own[name]
	if !ok {
		r = ref{s.fn, s.fn.slots}
		s.fn.slots++
		s.own[name] = r
	}
	s.refs[name] = r
	s.loads[r] = src
	return r
}

// param declares a name that gets its value from what enters the scope.
func (s *symbols) param(name string) ref {
	s.stores[name] = true
	return s.define(name, source{from: fromEntry})
}

func (s *symbols) load(name string) {
	if _, ok := s.find(name); !ok {
		s.define(name, source{from: fromVars, name: name})
	}
}

func (s *symbols) store(name string) {
	s.stores[name] = true
	if _, ok := s.local(name); ok {
		return
	}
	if outer, ok := s.parent.find(name); ok {
		s.define(name, source{from: fromOuter, outer: outer})
		return
	}
	s.define(name, source{from: fromNothing})
}

// merge takes in what the branches of an if did. A name that they set may still have the value from before.
func (s *symbols) merge(branches ...*symbols) {
	set := map[string]int{}
	for _, b := range branches {
		for name := range b.stores {
			if !s.stored(name) {
				set[name]++
			}
		}
	}
	for _, b := range branches {
		maps.Copy(s.refs, b.refs)
		maps.Copy(s.loads, b.loads)
		maps.Copy(s.stores, b.stores)
	}
	for name, n := range set {
		target := s.own[name]
		src := source{from: fromVars, name: name}
		if outer, ok := s.parent.find(name); ok {
			src = source{from: fromOuter, outer: outer}
		}
		last := s.loads[target]
		src.set = n == len(branches) && (last.from != fromVars || last.set)
		s.loads[target] = src
	}
}

// note finds out which names n reads and sets in the scope s; scopes within it are not looked into.
func (s *symbols) note(n node) {
	switch n := n.(type) {
	case *variable:
		if n.store {
			s.store(n.name)
		} else {
			s.load(n.name)
		}
	case *ifStmt:
		s.noteIf(n)
	case *forStmt:
		s.note(n.iter)
	case *macroStmt:
		s.note(n.to)
	case *callBlock:
		s.note(n.call)
	case *filterBlock:
		s.note(n.filter)
	case *withStmt:
		for _, v := range n.values {
			s.note(v)
		}
	case *setBlock:
		s.note(n.target)
	case *generation:
	default:
		n.each(s.note)
	}
}

func (s *symbols) noteIf(n *ifStmt) {
	s.note(n.tests[0])
	first, middle, last := s.branch(), s.branch(), s.branch()
	for _, c := range n.bodies[0] {
		first.note(c)
	}
	for i := 1; i < len(n.tests); i++ {
		// An elif is an if of its own within the branch.
		middle.noteIf(&ifStmt{tests: n.tests[i : i+1], bodies: n.bodies[i : i+1]})
	}
	for _, c := range n.els {
		last.note(c)
	}
	s.merge(first, middle, last)
}

func noteAll[T node](s *symbols, list []T) {
	for _, n := range list {
		s.note(n)
	}
}

// noteParams declares the names of a target as given from outside.
func (s *symbols) noteParams(target expr) {
	eachName(target, func(n *variable) { s.param(n.name) })
}

// resolver gives every name its place.
type resolver struct {
	t      *Template
	vars   map[string]int
	failed error
}

// resolve resolves a whole template.
func (t *Template) resolve() error {
	t.taken = map[string]bool{}
	r := &resolver{t: t, vars: map[string]int{}}
	top := (*symbols)(nil).child(t.root)
	noteAll(top, t.root.body)
	for _, s := range t.root.body {
		r.walk(s, top)
	}
	t.root.scope = r.scope(top)
	return r.failed
}

// scope is what entering the scope of s does.
func (r *resolver) scope(s *symbols) scope {
	var out scope
	order := slices.SortedFunc(maps.Keys(s.loads), func(a, b ref) int { return a.slot - b.slot })
	for _, at := range order {
		src := s.loads[at]
		l := load{slot: at.slot, from: src.from}
		switch src.from {
		case fromEntry:
			continue
		case fromVars:
			i, ok := r.vars[src.name]
			if !ok {
				i = len(r.t.vars)
				r.vars[src.name] = i
				r.t.vars = append(r.t.vars, src.name)
			}
			l.index = i
			if !src.set {
				r.t.taken[src.name] = true
			}
		case fromOuter:
			l.index, l.hops = src.outer.slot, hops(s.fn, src.outer.fn, s)
		}
		out.loads = append(out.loads, l)
	}
	return out
}

// hops counts the functions from the one of s out to another.
func hops(from, to *function, s *symbols) int {
	n := 0
	for s != nil && from != to {
		if s = s.parent; s != nil && s.fn != from {
			from = s.fn
			n++
		}
	}
	return n
}

// walk resolves the names in n, which is in the scope s.
func (r *resolver) walk(n node, s *symbols) {
	switch n := n.(type) {
	case *variable:
		at, ok := s.find(n.name)
		if !ok {
			r.failed = fail(SyntaxError, "no scope holds %s", quote(n.name))
			return
		}
		n.slot, n.hops = at.slot, hops(s.fn, at.fn, s)
	case *forStmt:
		r.loop(n, s)
	case *macroStmt:
		r.walk(n.to, s)
		r.function(n.def, s)
	case *callBlock:
		r.walk(n.call, s)
		r.function(n.def, s)
	case *generation:
		r.function(n.def, s)
	case *setBlock:
		in := s.inner()
		noteAll(in, n.body)
		if n.filter != nil {
			in.note(n.filter)
		}
		walkAll(r, n.body, in)
		r.walk(n.target, s)
		if n.filter != nil {
			r.walk(n.filter, in)
		}
		n.scope = r.scope(in)
	case *filterBlock:
		in := s.inner()
		noteAll(in, n.body)
		in.note(n.filter)
		walkAll(r, n.body, in)
		r.walk(n.filter, in)
		n.scope = r.scope(in)
	case *withStmt:
		in := s.inner()
		noteAll(in, n.targets)
		noteAll(in, n.body)
		walkAll(r, n.values, s)
		walkAll(r, n.targets, in)
		walkAll(r, n.body, in)
		n.scope = r.scope(in)
	default:
		n.each(func(c node) { r.walk(c, s) })
	}
}

func walkAll[T node](r *resolver, list []T, s *symbols) {
	for _, n := range list {
		r.walk(n, s)
	}
}

func (r *resolver) loop(n *forStmt, s *symbols) {
	in := s.inner()
	if n.recursive {
		n.fn = newFunction("loop", nil)
		in = s.child(n.fn)
	}
	if n.loop {
		n.loopSlot = in.param("loop").slot
	}
	in.noteParams(n.target)
	noteAll(in, n.body)
	els, test := s.child(in.fn), s.child(in.fn)
	noteAll(els, n.els)
	r.walk(n.iter, s)
	r.walk(n.target, in)
	if n.test != nil {
		test.noteParams(n.testTo)
		test.note(n.test)
		r.walk(n.testTo, test)
		r.walk(n.test, test)
		n.testScope = r.scope(test)
	}
	walkAll(r, n.body, in)
	walkAll(r, n.els, els)
	n.bodyScope, n.elsScope = r.scope(in), r.scope(els)
}

func (r *resolver) function(d *function, s *symbols) {
	in := s.child(d)
	for i, p := range d.params {
		in.param(p.name)
		d.explicitCaller = d.explicitCaller || p.name == "caller"
		if p.name == "caller" && i < len(d.params)-len(d.defaults) && slices.Contains(d.reads, "caller") {
			r.failed = at(fail(SyntaxError, `When defining macros or call blocks the special "caller" argument must be omitted or be given a default.`), p.pos)
		}
	}
	special := func(name string, slot *int) {
		isParam := slices.ContainsFunc(d.params, func(p *variable) bool { return p.name == name })
		if !isParam && slices.Contains(d.reads, name) {
			*slot = in.param(name).slot
		}
	}
	special("caller", &d.caller)
	special("kwargs", &d.kwargs)
	special("varargs", &d.varargs)
	noteAll(in, d.defaults)
	noteAll(in, d.body)
	for _, p := range d.params {
		r.walk(p, in)
	}
	walkAll(r, d.defaults, in)
	walkAll(r, d.body, in)
	d.scope = r.scope(in)
	d.kept = keeps(d)
}

// keeps reports whether something below n holds on to the variables around it.
func keeps(n node) bool {
	found := false
	n.each(func(c node) {
		switch c := c.(type) {
		case *macroStmt, *callBlock, *generation:
			found = true
		case *forStmt:
			found = found || c.recursive || c.test != nil // which is asked as the loop goes on, wherever that is
		}
		found = found || keeps(c)
	})
	return found
}
