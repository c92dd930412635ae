package jinja

// node is a part of a template. each calls f with its direct parts, in the order of the source.
type node interface {
	each(f func(node))
}

// expr is a part that has a value.
type expr interface {
	node
	eval(st *state) (Value, error)
}

// stmt is a part that writes or does something.
type stmt interface {
	node
	exec(st *state) (flow, error)
}

// flow tells how a statement ended.
type flow uint8

const (
	goOn flow = iota
	doBreak
	doContinue
)

// Expressions.
type (
	constant struct{ v Value }
	// variable is a name. hops and slot say where it is, once scopes are resolved.
	variable struct {
		pos   pos
		name  string
		store bool
		hops  int
		slot  int
	}
	// nsAttr is the target of an assignment to an attribute.
	nsAttr struct {
		of   *variable
		attr string
	}
	sequence struct { // list or tuple
		items []expr
		tuple bool
	}
	dictExpr struct{ keys, vals []expr }
	getattr  struct {
		pos  pos
		of   expr
		attr string
		m    methods
	}
	getitem struct {
		pos pos
		of  expr
		key expr
		m   *methods // of a key that is a constant string; else nil
	}
	slice struct {
		pos          pos
		of           expr
		lo, hi, step expr // nil where left out
		folded       bool // it is computed at compile time, where a type that has no slices is no error
	}
	call struct {
		pos pos
		fn  expr
		arguments
	}
	filterExpr struct {
		pos  pos
		of   expr // nil in a filter block
		name string
		fn   filterFunc // nil when there is none of that name
		json bool       // it is tojson
		arguments
	}
	testExpr struct {
		pos   pos
		of    expr
		name  string
		fn    testFunc
		kinds kinds // those for which it is true, where it asks for nothing else; else empty
		not   bool
		arguments
	}
	binary struct {
		pos  pos
		op   op
		l, r expr

		negated bool // the result changes its sign
	}
	// sum is a chain of additions, left to right.
	sum struct {
		pos   pos
		terms []expr
	}
	// joined is the ~ operator.
	joined struct {
		pos   pos
		parts []expr
	}
	logical struct {
		and  bool
		l, r expr
	}
	not   struct{ of expr }
	unary struct {
		pos pos
		neg bool
		of  expr
	}
	comparison struct {
		pos   pos
		first expr
		ops   []relation
		rest  []expr
	}
	conditional struct {
		pos             pos
		test, then, els expr // els is nil where left out
	}
)

// arguments are those of a call, a filter or a test.
type arguments struct {
	given      []expr
	kw         []keyword
	star, dict expr // *args and **kwargs, or nil
}

type keyword struct {
	name string
	v    expr
}

// Statements.
type (
	textStmt struct{ v Value }
	output   struct {
		pos pos
		of  expr
	}
	ifStmt struct {
		tests  []expr
		bodies [][]stmt
		els    []stmt
	}
	forStmt struct {
		pos       pos
		target    expr
		iter      expr
		test      expr // nil where left out
		body      []stmt
		els       []stmt
		recursive bool
		loop      bool // the body reads the loop variable
		fn        *function
		bodyScope scope
		testScope scope
		elsScope  scope
		testTo    expr // the target, as the test sees it
		loopSlot  int
	}
	setStmt struct {
		pos    pos
		target expr
		v      expr
	}
	setBlock struct {
		pos    pos
		target expr
		filter expr // filters over a nil operand, or nil
		body   []stmt
		scope  scope
	}
	macroStmt struct {
		pos pos
		to  *variable
		def *function
	}
	callBlock struct {
		pos  pos
		call *call
		def  *function
	}
	// generation is the tag of transformers that marks what the assistant said. It renders as its body.
	generation struct {
		pos pos
		def *function
	}
	filterBlock struct {
		pos    pos
		filter expr
		body   []stmt
		scope  scope
	}
	withStmt struct {
		targets, values []expr
		body            []stmt
		scope           scope
	}
	jump struct{ how flow }
)

// function is what has variables of its own: the template, a macro, the body of a call block.
type function struct {
	name     string // empty for the body of a call block
	params   []*variable
	defaults []expr // of the last parameters
	body     []stmt
	scope    scope
	slots    int  // variables in all its scopes
	kept     bool // something in it may keep its variables beyond a call

	reads                   []string // special names that the body reads
	caller, kwargs, varargs int      // slots of the special parameters, -1 where not used
	explicitCaller          bool     // caller is one of params
}

func (n *arguments) each(f func(node)) {
	eachOf(n.given, f)
	for _, k := range n.kw {
		f(k.v)
	}
	some(f, n.star, n.dict)
}

func eachOf[T node](list []T, f func(node)) {
	for _, n := range list {
		f(n)
	}
}

// some calls f with those of list that are there.
func some(f func(node), list ...expr) {
	for _, e := range list {
		if e != nil {
			f(e)
		}
	}
}

func (*constant) each(func(node))        {}
func (*variable) each(func(node))        {}
func (n *nsAttr) each(f func(node))      { f(n.of) }
func (n *sequence) each(f func(node))    { eachOf(n.items, f) }
func (n *getattr) each(f func(node))     { f(n.of) }
func (n *getitem) each(f func(node))     { some(f, n.of, n.key) }
func (n *slice) each(f func(node))       { some(f, n.of, n.lo, n.hi, n.step) }
func (n *call) each(f func(node))        { f(n.fn); n.arguments.each(f) }
func (n *filterExpr) each(f func(node))  { some(f, n.of); n.arguments.each(f) }
func (n *testExpr) each(f func(node))    { f(n.of); n.arguments.each(f) }
func (n *binary) each(f func(node))      { some(f, n.l, n.r) }
func (n *sum) each(f func(node))         { eachOf(n.terms, f) }
func (n *joined) each(f func(node))      { eachOf(n.parts, f) }
func (n *logical) each(f func(node))     { some(f, n.l, n.r) }
func (n *not) each(f func(node))         { f(n.of) }
func (n *unary) each(f func(node))       { f(n.of) }
func (n *comparison) each(f func(node))  { f(n.first); eachOf(n.rest, f) }
func (n *conditional) each(f func(node)) { some(f, n.test, n.then, n.els) }
func (*textStmt) each(func(node))        {}
func (n *output) each(f func(node))      { f(n.of) }
func (n *setStmt) each(f func(node))     { some(f, n.v, n.target) }
func (n *macroStmt) each(f func(node))   { f(n.to); n.def.each(f) }
func (n *generation) each(f func(node))  { n.def.each(f) }
func (*jump) each(func(node))            {}
func (n *callBlock) each(f func(node))   { f(n.call); n.def.each(f) }

func (n *dictExpr) each(f func(node)) {
	for i := range n.keys {
		f(n.keys[i])
		f(n.vals[i])
	}
}

func (n *ifStmt) each(f func(node)) {
	for i := range n.tests {
		f(n.tests[i])
		eachOf(n.bodies[i], f)
	}
	eachOf(n.els, f)
}

func (n *forStmt) each(f func(node)) {
	some(f, n.target, n.iter, n.test)
	eachOf(n.body, f)
	eachOf(n.els, f)
}

func (n *setBlock) each(f func(node)) {
	some(f, n.target, n.filter)
	eachOf(n.body, f)
}

func (n *filterBlock) each(f func(node)) {
	eachOf(n.body, f)
	f(n.filter)
}

func (n *withStmt) each(f func(node)) {
	eachOf(n.values, f)
	eachOf(n.targets, f)
	eachOf(n.body, f)
}

func (d *function) each(f func(node)) {
	eachOf(d.params, f)
	eachOf(d.defaults, f)
	eachOf(d.body, f)
}
