package jinja

import (
	"slices"
	"strconv"
)

// endOfTuple reports whether no item of a tuple can begin here.
func (p *parser) endOfTuple(ends []string) bool {
	t := p.cur()
	switch t.kind {
	case tVarEnd, tBlockEnd:
		return true
	case tOp:
		return t.text == ")"
	case tName:
		return slices.Contains(ends, t.text)
	}
	return false
}

// tuple reads an expression, or several with commas between as a tuple.
func (p *parser) tuple(cond bool, ends []string, parens bool) (expr, error) {
	var items []expr
	tuple := false
	for !p.endOfTuple(ends) {
		e, err := p.conditional(cond)
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.skip(tOp, ",") {
			break
		}
		tuple = true
	}
	if !tuple {
		if len(items) > 0 {
			return items[0], nil
		}
		if !parens {
			return nil, p.fail("Expected an expression, got %s", p.cur())
		}
	}
	return &sequence{items: items, tuple: true}, nil
}

func (p *parser) expression() (expr, error) { return p.conditional(true) }

// conditional reads an expression; inline ifs belong to it when cond is set.
func (p *parser) conditional(cond bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	e, err := p.or()
	if !cond {
		return e, err
	}
	for err == nil && p.isWord("if") {
		c := &conditional{pos: p.pos(), then: e}
		p.next()
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.skip(tName, "else") {
			c.els, err = p.conditional(true)
		}
		e = c
	}
	return e, err
}

// chain reads operands of one level with the words or operators of that level between them.
func (p *parser) chain(operand func() (expr, error), k tokenKind, join func(where pos, op string, l, r expr) expr, ops ...string) (expr, error) {
	e, err := operand()
	for err == nil {
		t := p.cur()
		if t.kind != k || !slices.Contains(ops, t.text) {
			return e, nil
		}
		where := p.pos()
		p.next()
		var r expr
		if r, err = operand(); err == nil {
			e = join(where, t.text, e, r)
		}
	}
	return nil, err
}

func (p *parser) or() (expr, error) {
	return p.chain(p.and, tName, func(_ pos, _ string, l, r expr) expr { return &logical{false, l, r} }, "or")
}

func (p *parser) and() (expr, error) {
	return p.chain(p.not, tName, func(_ pos, _ string, l, r expr) expr { return &logical{true, l, r} }, "and")
}

func (p *parser) not() (expr, error) {
	if !p.isWord("not") {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.next()
	e, err := p.not()
	return &not{e}, err
}

func (p *parser) comparison() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	n := &comparison{pos: p.pos(), first: first}
	for {
		var op relation
		switch t := p.cur(); {
		case t.kind == tOp, p.isWord("in"):
			op = relationOf(t.text)
		case p.isWord("not") && p.peek().kind == tName && p.peek().text == "in":
			op = isNotIn
			p.next()
		}
		if op == noRelation {
			if len(n.ops) == 0 {
				return first, nil
			}
			return n, nil
		}
		p.next()
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		n.ops, n.rest = append(n.ops, op), append(n.rest, e)
	}
}

func (p *parser) sum() (expr, error) {
	return p.chain(p.joined, tOp, func(where pos, o string, l, r expr) expr {
		if o == "-" {
			return &binary{pos: where, op: opSub, l: l, r: r}
		}
		if s, ok := l.(*sum); ok {
			s.terms = append(s.terms, r)
			return s
		}
		return &sum{where, []expr{l, r}}
	}, "+", "-")
}

func (p *parser) joined() (expr, error) {
	e, err := p.product()
	if err != nil || !p.isOp("~") {
		return e, err
	}
	n := &joined{p.pos(), []expr{e}}
	for p.skip(tOp, "~") {
		if e, err = p.product(); err != nil {
			return nil, err
		}
		n.parts = append(n.parts, e)
	}
	return n, nil
}

func (p *parser) product() (expr, error) {
	return p.chain(p.power, tOp, func(where pos, o string, l, r expr) expr {
		return &binary{pos: where, op: map[string]op{"*": opMul, "/": opDiv, "//": opFloorDiv, "%": opMod}[o], l: l, r: r}
	}, "*", "/", "//", "%")
}

func (p *parser) power() (expr, error) {
	return p.chain(func() (expr, error) { return p.unary(true) }, tOp, func(where pos, _ string, l, r expr) expr {
		return &binary{pos: where, op: opPow, l: l, r: r}
	}, "**")
}

func (p *parser) unary(filters bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var e expr
	var err error
	if p.isOp("-") || p.isOp("+") {
		n := &unary{pos: p.pos(), neg: p.isOp("-")}
		p.next()
		n.of, err = p.unary(false)
		e = n
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filters {
		e, err = p.filterExpr(e)
	}
	return e, err
}

func (p *parser) primary() (expr, error) {
	where := p.pos()
	t := p.cur()
	switch t.kind {
	case tName:
		p.next()
		switch t.text {
		case "true", "True":
			return &constant{Bool(true)}, nil
		case "false", "False":
			return &constant{Bool(false)}, nil
		case "none", "None":
			return &constant{None()}, nil
		}
		p.read(t.text)
		return &variable{pos: where, name: t.text}, nil
	case tString:
		p.next()
		s := []byte(t.text)
		for p.cur().kind == tString { // neighbours are one string
			s = append(s, p.next().text...)
		}
		return &constant{text(valid(string(s)))}, nil
	case tInt, tFloat:
		p.next()
		v, err := literal(t)
		return &constant{v}, at(err, where)
	case tOp:
		switch t.text {
		case "(":
			p.next()
			e, err := p.tuple(true, nil, true)
			if err != nil {
				return nil, err
			}
			return e, p.expectOp(")")
		case "[":
			p.next()
			return p.list()
		case "{":
			p.next()
			return p.dict()
		}
	}
	return nil, p.fail("unexpected %s", t)
}

// literal is the value of a number.
func literal(t token) (Value, error) {
	if t.kind == tFloat {
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil && f == 0 {
			return Value{}, fail(SyntaxError, "not a number: %s", quote(t.text))
		}
		return Float(f), nil
	}
	s, base := t.text, 10
	if len(s) > 1 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'x':
			s, base = s[2:], 16
		case 'o':
			s, base = s[2:], 8
		case 'b':
			s, base = s[2:], 2
		}
	}
	v, err := parseInt(s, base)
	if err != nil {
		return Value{}, fail(SyntaxError, "%s", err.Error())
	}
	return v, nil
}

func (p *parser) list() (expr, error) {
	n := &sequence{}
	for !p.isOp("]") {
		if len(n.items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("]") {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, e)
	}
	p.next()
	return n, nil
}

func (p *parser) dict() (expr, error) {
	n := &dictExpr{}
	for !p.isOp("}") {
		if len(n.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.isOp("}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		n.keys, n.vals = append(n.keys, k), append(n.vals, v)
	}
	p.next()
	return n, nil
}
