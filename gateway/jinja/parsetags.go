package jinja

func (p *parser) ifTag() (stmt, error) {
	n := &ifStmt{}
	for {
		test, err := p.tuple(false, nil, false)
		if err != nil {
			return nil, err
		}
		body, end, err := p.inner("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		n.tests, n.bodies = append(n.tests, test), append(n.bodies, body)
		if end == "else" {
			n.els, _, err = p.inner("endif")
			return n, err
		}
		if end == "endif" {
			return n, nil
		}
	}
}

func (p *parser) forTag(where pos) (stmt, error) {
	n := &forStmt{pos: where, loopSlot: -1}
	var err error
	if n.target, err = p.target([]string{"in"}, false); err != nil {
		return nil, err
	}
	if !p.skip(tName, "in") {
		return nil, p.fail("expected token 'in', got %s", p.cur())
	}
	if n.iter, err = p.tuple(false, []string{"recursive"}, false); err != nil {
		return nil, err
	}
	if p.skip(tName, "if") {
		if n.test, err = p.expression(); err != nil {
			return nil, err
		}
		n.testTo = copyTarget(n.target)
	}
	n.recursive = p.skip(tName, "recursive")
	loops := p.loops
	defer func() { p.loops = loops }()
	if p.loops++; n.recursive {
		p.loops = 1
	}
	n.loop = n.recursive
	p.fors = append(p.fors, n)
	var end string
	n.body, end, err = p.inner("endfor", "else")
	p.fors = p.fors[:len(p.fors)-1]
	if err != nil {
		return nil, err
	}
	if end == "else" {
		p.loops = loops
		if n.els, _, err = p.inner("endfor"); err != nil {
			return nil, err
		}
	}
	bad := false
	eachName(n.target, func(v *variable) { bad = bad || v.name == "loop" })
	if bad {
		return nil, at(fail(SyntaxError, "Can't assign to special loop variable in for-loop target"), where)
	}
	return n, nil
}

// copyTarget is a target over again, for the scope of a loop's test.
func copyTarget(e expr) expr {
	switch e := e.(type) {
	case *variable:
		c := *e
		return &c
	case *sequence:
		c := &sequence{tuple: true}
		for _, i := range e.items {
			c.items = append(c.items, copyTarget(i))
		}
		return c
	}
	return e
}

// eachName calls f with the names of a target.
func eachName(e node, f func(*variable)) {
	if n, ok := e.(*variable); ok {
		f(n)
		return
	}
	e.each(func(c node) { eachName(c, f) })
}

func (p *parser) setTag(where pos) (stmt, error) {
	to, err := p.target(nil, true)
	if err != nil {
		return nil, err
	}
	if p.skip(tOp, "=") {
		v, err := p.tuple(true, nil, false)
		return &setStmt{where, to, v}, err
	}
	n := &setBlock{pos: where, target: to}
	if n.filter, err = p.filters(nil); err != nil {
		return nil, err
	}
	n.body, _, err = p.inner("endset")
	return n, err
}

func (p *parser) macroTag(where pos) (stmt, error) {
	t, err := p.expect(tName)
	if err != nil {
		return nil, err
	}
	def := newFunction(t.text, nil)
	if err := p.signature(def); err != nil {
		return nil, err
	}
	n := &macroStmt{where, &variable{pos: where, name: t.text, store: true}, def}
	return n, p.define(def, "endmacro")
}

// signature reads the parameters of a macro or call block.
func (p *parser) signature(d *function) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.isOp(")") {
		if len(d.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		where := p.pos()
		t, err := p.expect(tName)
		if err != nil {
			return err
		}
		d.params = append(d.params, &variable{pos: where, name: t.text, store: true})
		if p.skip(tOp, "=") {
			e, err := p.expression()
			if err != nil {
				return err
			}
			d.defaults = append(d.defaults, e)
		} else if len(d.defaults) > 0 {
			return p.fail("non-default argument follows default argument")
		}
	}
	p.next()
	for i, a := range d.params {
		for _, b := range d.params[:i] {
			if a.name == b.name {
				return at(fail(SyntaxError, "duplicate argument %s", quote(a.name)), a.pos)
			}
		}
	}
	return nil
}

func (p *parser) callTag(where pos) (stmt, error) {
	def := newFunction("", nil)
	if p.isOp("(") {
		if err := p.signature(def); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	c, ok := e.(*call)
	if !ok {
		return nil, p.fail("expected call")
	}
	return &callBlock{where, c, def}, p.define(def, "endcall")
}

func (p *parser) filterTag(where pos) (stmt, error) {
	t, err := p.expect(tName)
	if err != nil {
		return nil, err
	}
	first, err := p.filter(nil, t, where)
	if err != nil {
		return nil, err
	}
	n := &filterBlock{pos: where}
	if n.filter, err = p.filters(first); err != nil {
		return nil, err
	}
	n.body, _, err = p.inner("endfilter")
	return n, err
}

func (p *parser) withTag() (stmt, error) {
	n := &withStmt{}
	for p.cur().kind != tBlockEnd {
		if len(n.targets) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		to, err := p.target(nil, false)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		n.targets, n.values = append(n.targets, to), append(n.values, v)
	}
	var err error
	n.body, _, err = p.inner("endwith")
	return n, err
}

// target reads what is assigned to: names, or tuples of them, up to a word of ends.
func (p *parser) target(ends []string, namespaces bool) (expr, error) {
	var items []expr
	tuple := false
	for !p.endOfTuple(ends) {
		e, err := p.targetItem(ends, namespaces)
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.skip(tOp, ",") {
			break
		}
		tuple = true
	}
	switch {
	case len(items) == 0:
		return nil, p.fail("Expected an expression, got %s", p.cur())
	case !tuple:
		return items[0], nil
	}
	return &sequence{items: items, tuple: true}, nil
}

func (p *parser) targetItem(ends []string, namespaces bool) (expr, error) {
	where := p.pos()
	if p.skip(tOp, "(") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		e, err := p.target(ends, false)
		if err != nil {
			return nil, err
		}
		return e, p.expectOp(")")
	}
	t, err := p.expect(tName)
	if err != nil {
		return nil, err
	}
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		return nil, at(fail(SyntaxError, "can't assign to 'const'"), where)
	}
	if namespaces && p.skip(tOp, ".") {
		attr, err := p.expect(tName)
		return &nsAttr{&variable{pos: where, name: t.text}, attr.text}, err
	}
	return &variable{pos: where, name: t.text, store: true}, nil
}
