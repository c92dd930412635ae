package jinja

// postfix reads attributes, items and calls behind e.
func (p *parser) postfix(e expr) (expr, error) {
	var err error
	for err == nil {
		switch {
		case p.isOp("."), p.isOp("["):
			e, err = p.subscript(e)
		case p.isOp("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

// filterExpr reads filters, tests and calls behind e.
func (p *parser) filterExpr(e expr) (expr, error) {
	var err error
	for err == nil {
		switch {
		case p.isOp("|"):
			e, err = p.oneFilter(e)
		case p.isWord("is"):
			e, err = p.test(e)
		case p.isOp("("):
			e, err = p.call(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

// filters reads filters behind e, which is nil where a block is filtered.
func (p *parser) filters(e expr) (expr, error) {
	for p.isOp("|") {
		var err error
		if e, err = p.oneFilter(e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (p *parser) oneFilter(e expr) (expr, error) {
	p.next()
	where := p.pos()
	t, err := p.expect(tName)
	if err != nil {
		return nil, err
	}
	return p.filter(e, t, where)
}

// filter reads the rest of a filter after the first word of its name.
func (p *parser) filter(e expr, t token, where pos) (expr, error) {
	n := &filterExpr{pos: where, of: e, name: t.text, json: t.text == "tojson"}
	for p.skip(tOp, ".") {
		t, err := p.expect(tName)
		if err != nil {
			return nil, err
		}
		n.name, n.json = n.name+"."+t.text, false
	}
	n.fn = filters(n.name)
	if !p.isOp("(") {
		return n, nil
	}
	var err error
	n.arguments, err = p.arguments()
	return n, err
}

func (p *parser) test(e expr) (expr, error) {
	p.next()
	n := &testExpr{pos: p.pos(), of: e, not: p.skip(tName, "not")}
	t, err := p.expect(tName)
	if err != nil {
		return nil, err
	}
	n.name = t.text
	for p.skip(tOp, ".") {
		t, err := p.expect(tName)
		if err != nil {
			return nil, err
		}
		n.name += "." + t.text
	}
	n.fn, n.kinds = tests(n.name), kindTest(n.name)
	if p.isOp("(") {
		n.arguments, err = p.arguments()
		return n, err
	}
	switch t := p.cur(); t.kind {
	case tName:
		if t.text == "else" || t.text == "or" || t.text == "and" {
			return n, nil
		}
		if t.text == "is" {
			return nil, p.fail("You cannot chain multiple tests with is")
		}
	case tString, tInt, tFloat:
	case tOp:
		if t.text != "[" && t.text != "{" {
			return n, nil
		}
	default:
		return n, nil
	}
	arg, err := p.primary()
	if err == nil {
		arg, err = p.postfix(arg)
	}
	n.given = []expr{arg}
	return n, err
}

func (p *parser) call(e expr) (expr, error) {
	n := &call{pos: p.pos(), fn: e}
	var err error
	n.arguments, err = p.arguments()
	return n, err
}

func (p *parser) arguments() (arguments, error) {
	var a arguments
	p.next()
	for first := true; !p.isOp(")"); first = false {
		if !first {
			if err := p.expectOp(","); err != nil {
				return a, err
			}
			if p.isOp(")") {
				break
			}
		}
		if err := p.argument(&a); err != nil {
			return a, err
		}
	}
	p.next()
	return a, nil
}

func (p *parser) argument(a *arguments) error {
	var err error
	switch t := p.cur(); {
	case p.isOp("*") && a.star == nil && a.dict == nil:
		p.next()
		a.star, err = p.expression()
	case p.isOp("**") && a.dict == nil:
		p.next()
		a.dict, err = p.expression()
	case t.kind == tName && p.peek().kind == tOp && p.peek().text == "=" && a.dict == nil:
		p.next()
		p.next()
		for _, k := range a.kw {
			if k.name == t.text {
				return p.fail("keyword argument repeated: %s", t.text)
			}
		}
		var v expr
		v, err = p.expression()
		a.kw = append(a.kw, keyword{t.text, v})
	case len(a.kw) == 0 && a.star == nil && a.dict == nil:
		var v expr
		v, err = p.expression()
		a.given = append(a.given, v)
	default:
		return p.fail("invalid syntax for function call expression")
	}
	return err
}

func (p *parser) subscript(e expr) (expr, error) {
	where := p.pos()
	if p.next().text == "." {
		switch t := p.next(); t.kind {
		case tName:
			return &getattr{pos: where, of: e, attr: t.text, m: methodsOf(t.text)}, nil
		case tInt:
			v, err := literal(t)
			return &getitem{pos: where, of: e, key: &constant{v}}, at(err, where)
		}
		p.i--
		return nil, p.fail("expected name or number")
	}
	var keys []expr
	var last expr
	for !p.isOp("]") {
		if len(keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		k, err := p.subscribed(where, e)
		if err != nil {
			return nil, err
		}
		keys, last = append(keys, k), k
	}
	p.next()
	switch len(keys) {
	case 0:
		return nil, at(fail(SyntaxError, "Expected subscript expression"), where)
	case 1:
		if s, ok := last.(*slice); ok && s.of == e {
			return s, nil
		}
		n := &getitem{pos: where, of: e, key: last}
		if c, ok := last.(*constant); ok && c.v.k == kStr {
			m := methodsOf(c.v.s)
			n.m = &m
		}
		return n, nil
	}
	for _, k := range keys {
		if s, ok := k.(*slice); ok && s.of == e {
			return nil, at(fail(SyntaxError, "a slice cannot be a part of a key"), where)
		}
	}
	return &getitem{pos: where, of: e, key: &sequence{items: keys, tuple: true}}, nil
}

// subscribed reads a key or a slice of e.
func (p *parser) subscribed(where pos, e expr) (expr, error) {
	part := func() (expr, error) {
		if p.isOp(":") || p.isOp("]") || p.isOp(",") {
			return nil, nil
		}
		return p.expression()
	}
	lo, err := part()
	if err != nil {
		return nil, err
	}
	if lo != nil && !p.isOp(":") {
		return lo, nil
	}
	if err := p.expectOp(":"); err != nil {
		return nil, err
	}
	s := &slice{pos: where, of: e, lo: lo}
	if s.hi, err = part(); err != nil {
		return nil, err
	}
	if p.skip(tOp, ":") {
		s.step, err = part()
	}
	return s, err
}
