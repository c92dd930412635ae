package jinja

// TakesParts reports whether the template walks through the content of a message as a list of parts: some
// loop runs over message['content'] or message.content, for a message out of a loop over messages. Else
// parts must be made one string before it is rendered. It is decided as vLLM decides it, by the shape of
// the template and without regard to scopes.
func (t *Template) TakesParts() bool {
	f := facts{}
	f.collect(t.root)
	lists := map[string]bool{"messages": true}
	for grown := true; grown; {
		grown = false
		for _, s := range f.sets {
			from := accessed(s.v, "")
			if !lists[from] {
				continue
			}
			to, ok := s.target.(*variable)
			if !ok {
				return false
			}
			grown = grown || !lists[to.name]
			lists[to.name] = true
		}
	}
	items := map[string]bool{}
	for _, l := range f.loops {
		if !lists[accessed(l.iter, "")] {
			continue
		}
		to, ok := l.target.(*variable)
		if !ok {
			return false
		}
		items[to.name] = true
	}
	for _, l := range f.loops {
		if items[accessed(l.iter, "content")] {
			_, ok := l.target.(*variable)
			return ok
		}
	}
	return false
}

type facts struct {
	sets  []*setStmt
	loops []*forStmt
}

func (f *facts) collect(n node) {
	switch n := n.(type) {
	case *setStmt:
		f.sets = append(f.sets, n)
	case *forStmt:
		f.loops = append(f.loops, n)
	}
	n.each(f.collect)
}

// accessed is the name of the variable that e reads, through filters, tests and slices, or whose member key
// it reads; empty where it does neither.
func accessed(e expr, key string) string {
	of := func(e expr) string {
		if v, ok := e.(*variable); ok {
			return v.name
		}
		return ""
	}
	switch n := e.(type) {
	case *filterExpr:
		return accessed(n.of, key)
	case *testExpr:
		return accessed(n.of, key)
	case *slice:
		return accessed(n.of, key)
	case *variable:
		if key == "" {
			return n.name
		}
	case *getattr:
		if key != "" && n.attr == key {
			return of(n.of)
		}
	case *getitem:
		if c, ok := n.key.(*constant); ok && key != "" && c.v.k == kStr && c.v.s == key {
			return of(n.of)
		}
	}
	return ""
}
