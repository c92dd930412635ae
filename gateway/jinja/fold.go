package jinja

// Jinja2 computes constant expressions when it compiles a template. That shows in two places: a slice of a
// constant that has no slices prints nothing where it would be an error, and a negative constant is written
// into Python code as it is, where ** binds closer than its sign.

// fold marks what that changes below n.
func fold(n node) {
	if o, ok := n.(*output); ok && folds(o.of) {
		markSlices(o.of)
	}
	if b, ok := n.(*binary); ok && b.op == opPow && !folds(b.r) {
		if u, ok := b.l.(*unary); ok && u.neg && folds(u.of) {
			b.l, b.negated = u.of, true
		}
	}
	n.each(fold)
}

func markSlices(n node) {
	if s, ok := n.(*slice); ok {
		s.folded = true
	}
	n.each(markSlices)
}

// folds reports whether Jinja2 computes e when it compiles a template.
func folds(e node) bool {
	switch e := e.(type) {
	case *constant:
		return true
	case *filterExpr:
		switch e.name {
		case "map", "select", "reject", "selectattr", "rejectattr": // they are given what is rendered
			return false
		}
	case *testExpr, *sequence, *dictExpr, *unary, *not, *binary, *sum, *joined, *logical, *comparison, *conditional, *getitem, *slice:
	default:
		return false
	}
	all := true
	e.each(func(c node) { all = all && folds(c) })
	return all
}
