package jinja

import "slices"

// maxHeight bounds how high the tree of a template is, and with it the stack of all that walks through it;
// maxOpen bounds what is open while it is read.
const (
	maxHeight = 1000
	maxOpen   = 200
)

// parser builds the tree of a template.
type parser struct {
	lex   *lexer
	toks  []token
	i     int
	depth int
	loops int         // loops that are open in the function that is read
	fors  []*forStmt  // all loops whose body is open
	defs  []*function // all functions whose body is open
}

// parse reads a whole template, whose source was normalised.
func parse(src string) (*function, error) {
	l := &lexer{src: src, lineStart: true}
	toks, err := l.run()
	if err != nil {
		return nil, err
	}
	p := &parser{lex: l, toks: toks}
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	root := newFunction("", body)
	if height(root, 0) > maxHeight {
		return nil, tooMuch("depth", maxHeight)
	}
	fold(root)
	return root, nil
}

// height is how high the tree below n is, as far as it is not too high.
func height(n node, above int) int {
	high := above
	if above <= maxHeight {
		n.each(func(c node) { high = max(high, height(c, above+1)) })
	}
	return high
}

func newFunction(name string, body []stmt) *function {
	return &function{name: name, body: body, caller: -1, kwargs: -1, varargs: -1}
}

func (p *parser) cur() token { return p.toks[p.i] }

func (p *parser) peek() token { return p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if p.i+1 < len(p.toks) {
		p.i++
	}
	return t
}

func (p *parser) pos() pos { return pos(p.cur().off + 1) }

func (p *parser) fail(format string, args ...any) error {
	return p.lex.fail(p.cur().off, format, args...)
}

// is reports whether the next token is the operator or word given.
func (p *parser) is(k tokenKind, text string) bool {
	t := p.cur()
	return t.kind == k && t.text == text
}

func (p *parser) isOp(op string) bool  { return p.is(tOp, op) }
func (p *parser) isWord(w string) bool { return p.is(tName, w) }

func (p *parser) skip(k tokenKind, text string) bool {
	if p.is(k, text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectOp(op string) error {
	if !p.skip(tOp, op) {
		return p.fail("expected token %s, got %s", quote(op), p.cur())
	}
	return nil
}

func (p *parser) expect(k tokenKind) (token, error) {
	if p.cur().kind != k {
		return token{}, p.fail("expected token %s, got %s", tokenNames[k], p.cur())
	}
	return p.next(), nil
}

// enter counts a level of nesting; leave takes it back.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxOpen {
		return at(tooMuch("depth", maxOpen), p.pos())
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// body reads statements up to a tag that begins with one of ends, or to the end of the template when there
// are none. The word of the tag is the next token then.
func (p *parser) body(ends ...string) ([]stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var out []stmt
	for {
		var s stmt
		var err error
		switch t := p.next(); t.kind {
		case tData:
			s = &textStmt{text(t.text)}
		case tVarBegin:
			s, err = p.print(tVarEnd)
		case tBlockBegin:
			if p.cur().kind != tName {
				return nil, p.fail("tag name expected")
			}
			if slices.Contains(ends, p.cur().text) {
				return out, nil
			}
			if s, err = p.statement(); err == nil {
				_, err = p.expect(tBlockEnd)
			}
		case tEOF:
			if len(ends) > 0 {
				return nil, p.fail("unexpected end of template, expected %s", quote(ends[len(ends)-1]))
			}
			return out, nil
		default:
			return nil, p.fail("unexpected %s", t)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
}

// print reads what is printed, up to the end of its tag.
func (p *parser) print(end tokenKind) (stmt, error) {
	where := p.pos()
	e, err := p.tuple(true, nil, false)
	if err == nil {
		_, err = p.expect(end)
	}
	return &output{where, e}, err
}

// inner reads the rest of a tag and the body of a statement up to and with the word that ends it.
func (p *parser) inner(ends ...string) ([]stmt, string, error) {
	if p.skip(tOp, ":"); p.cur().kind != tBlockEnd {
		_, err := p.expect(tBlockEnd)
		return nil, "", err
	}
	p.next()
	body, err := p.body(ends...)
	if err != nil {
		return nil, "", err
	}
	return body, p.next().text, nil
}

// define reads the body of a function. Loops outside cannot be left from it.
func (p *parser) define(d *function, end string) error {
	loops := p.loops
	p.loops = 0
	p.defs = append(p.defs, d)
	var err error
	d.body, _, err = p.inner(end)
	p.defs = p.defs[:len(p.defs)-1]
	p.loops = loops
	return err
}

// read notes that a name is read, for those that mean something in a loop or a function around.
func (p *parser) read(name string) {
	switch name {
	case "loop":
		for _, n := range p.fors {
			n.loop = true
		}
	case "caller", "kwargs", "varargs":
		for _, d := range p.defs {
			d.reads = append(d.reads, name)
		}
	}
}

// statement reads a tag from its word on, up to the end of the tag that closes it.
func (p *parser) statement() (stmt, error) {
	where := p.pos()
	word := p.next().text
	switch word {
	case "if":
		return p.ifTag()
	case "for":
		return p.forTag(where)
	case "set":
		return p.setTag(where)
	case "macro":
		return p.macroTag(where)
	case "call":
		return p.callTag(where)
	case "filter":
		return p.filterTag(where)
	case "with":
		return p.withTag()
	case "print":
		e, err := p.tuple(true, nil, false)
		return &output{where, e}, err
	case "generation":
		n := &generation{where, newFunction("", nil)}
		return n, p.define(n.def, "endgeneration")
	case "break", "continue":
		if p.loops == 0 {
			p.i--
			return nil, p.fail("%s outside loop", quote(word))
		}
		if word == "break" {
			return &jump{doBreak}, nil
		}
		return &jump{doContinue}, nil
	case "include", "import", "from", "extends", "block", "autoescape":
		p.i--
		return nil, p.fail("the tag %s is not available in chat templates", quote(word))
	}
	p.i--
	return nil, p.fail("Encountered unknown tag %s.", quote(word))
}
