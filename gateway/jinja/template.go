package jinja

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what one render may use. A zero field is the default.
type Limits struct {
	Steps  int // parts of the template evaluated, items walked through; default 2,000,000
	Memory int // bytes of all that a render makes, in all; default 256 MiB
	Output int // bytes of the result; default 16 MiB, at most 2 GiB
	String int // bytes of any string; default 16 MiB
	Depth  int // calls of macros and loops within each other; default 200
}

// Defaults of Limits and Options.
const (
	defaultSteps  = 2_000_000
	defaultMemory = 256 << 20
	defaultOutput = 16 << 20
	defaultString = 16 << 20
	defaultDepth  = 200
	defaultSource = 1 << 20
)

// maxFirst bounds the buffer that a render starts with, since one long result says little of the next.
const maxFirst = 512 << 10

func (l Limits) defaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Steps, defaultSteps)
	set(&l.Memory, defaultMemory)
	set(&l.Output, defaultOutput)
	set(&l.String, defaultString)
	set(&l.Depth, defaultDepth)
	return l
}

// Options are those of Compile.
type Options struct {
	MaxSource int    // bytes of the template; default 1 MiB
	Limits    Limits // of renders that bring none
}

// Template is a compiled template. It is safe for concurrent use.
type Template struct {
	src    string // for the places of errors
	root   *function
	vars   []string        // names that are looked up outside the template
	given  []Value         // what they are where the render has none: the functions that every template has
	taken  map[string]bool // those of them that are not set in any case
	limits Limits
	size   atomic.Int64 // of the last result, where the next one starts
	states sync.Pool    // of *state that are not in use
}

// Compile reads a template. The error is an *Error of class SyntaxError, or a *LimitError.
func Compile(src string, o Options) (*Template, error) {
	if o.MaxSource <= 0 {
		o.MaxSource = defaultSource
	}
	if len(src) > o.MaxSource {
		return nil, tooMuch("bytes of a template", o.MaxSource)
	}
	t := &Template{src: normalise(valid(src)), limits: o.Limits.defaults()}
	var err error
	if t.root, err = parse(t.src); err == nil {
		err = t.resolve()
	}
	if err == nil {
		err = t.known()
	}
	if err != nil {
		return nil, located(err, t.src)
	}
	t.given = make([]Value, len(t.vars))
	for i, name := range t.vars {
		t.given[i] = global(name)
	}
	return t, nil
}

// known checks that the filters and tests named exist, where they are reached whatever a condition says.
// Elsewhere a missing one is an error only when it is reached.
func (t *Template) known() error {
	var err error
	var visit func(n node, soft bool)
	visit = func(n node, soft bool) {
		missing := func(what, name string, p pos) {
			if err == nil && !soft {
				err = at(fail(SyntaxError, "No %s named %s.", what, quote(name)), p)
			}
		}
		switch n := n.(type) {
		case *filterExpr:
			if n.fn == nil {
				missing("filter", n.name, n.pos)
			}
		case *testExpr:
			if n.fn == nil {
				missing("test", n.name, n.pos)
			}
		case *ifStmt, *conditional:
			soft = true
		case *forStmt, *macroStmt, *callBlock, *generation, *setBlock, *filterBlock, *withStmt:
			soft = false
		}
		n.each(func(c node) { visit(c, soft) })
	}
	visit(t.root, false)
	return err
}

// RenderOptions are those of one render.
type RenderOptions struct {
	Limits  Limits    // zero fields are the template's
	Now     time.Time // what strftime_now prints; the zero time leaves the function out
	Origins bool      // report Spans
	Buffer  []byte    // where the result is put if it fits; its content is lost
	Spans   []Span    // the same for Result.Spans
}

// Result is what a render wrote.
type Result struct {
	Text  []byte
	Spans []Span // the origins of all of Text, in order, when they were asked for
}

// Render renders the template with variables by name. The error is a *RaisedError where the template refuses
// its input, an *Error where Python would raise one, a *LimitError, or it wraps the context's.
func (t *Template) Render(ctx context.Context, vars map[string]Value, o RenderOptions) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render: %w", err)
	}
	st, _ := t.states.Get().(*state)
	if st == nil {
		st = &state{}
	}
	defer func() {
		if st.reset() {
			t.states.Put(st)
		}
	}()
	st.begin(t.limitsOf(o.Limits), &o, ctx.Err, t.root.slots)
	if n := int(t.size.Load()); cap(o.Buffer) == 0 {
		st.out.buf = make([]byte, 0, min(n+n/8, maxFirst)+512)
	}
	for i, name := range t.vars {
		v, ok := vars[name]
		if !ok && (name != nowFunction || !o.Now.IsZero()) {
			v = t.given[i]
		}
		st.vars = append(st.vars, v)
	}
	st.enter(&t.root.scope)
	if _, err := st.run(t.root.body); err != nil {
		return Result{}, located(err, t.src)
	}
	if err := st.full(); err != nil {
		return Result{}, err
	}
	t.size.Store(int64(len(st.out.buf)))
	r := Result{Text: st.out.buf}
	if o.Origins {
		r.Spans = st.out.spans(o.Spans[:0])
	}
	return r, nil
}

func (t *Template) limitsOf(l Limits) Limits {
	use := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	use(&l.Steps, t.limits.Steps)
	use(&l.Memory, t.limits.Memory)
	use(&l.Output, t.limits.Output)
	use(&l.String, t.limits.String)
	use(&l.Depth, t.limits.Depth)
	l.Output = min(l.Output, math.MaxInt32) // what a Span can tell
	return l
}

// Undeclared lists the names that the template takes from outside, sorted: its variables. Functions that
// every template has are not among them. Nor are names that all branches of an if set, which newer versions
// of Jinja2 list, as they look them up first.
func (t *Template) Undeclared() []string {
	var out []string
	for name := range t.taken {
		if !isGlobal(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
