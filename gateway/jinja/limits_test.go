package jinja_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/jinja"
)

// TestHostileTemplates holds what a template may use to its limits. Each of these would not end, or take
// all memory or stack, without them.
func TestHostileTemplates(t *testing.T) {
	double := "{% set ns = namespace(s='ab', l=[1]) %}{% for x in range(100000) %}"
	for _, c := range []struct{ name, template, want string }{
		{"nested loops", "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "steps"},
		{"output", "{% for a in range(100000) %}{{ big }}{% endfor %}", "output"},
		{"output of a macro", "{% macro m() %}{{ big }}{{ big }}{% endmacro %}{% for a in range(100000) %}{{ m() }}{% endfor %}", "output"},
		{"string doubling", double + "{% set ns.s = ns.s + ns.s %}{% endfor %}", "string"},
		{"string doubling read", double + "{% set ns.s = ns.s + ns.s %}{{ ns.s[0] }}{% endfor %}", "string"},
		{"tilde", double + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}", "string"},
		{"list doubling", double + "{% set ns.l = ns.l + ns.l %}{% endfor %}", "memory"},
		{"list of lists", double + "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}", "depth"},
		{"shared lists printed", "{% set ns = namespace(l=[1]) %}{% for x in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}", "steps"},
		{"shared lists compared", "{% set ns = namespace(l=[1], m=[1]) %}{% for x in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}", "steps"},
		{"shared lists as JSON", "{% set ns = namespace(l=[1]) %}{% for x in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson }}", "steps"},
		{"shared tuples as a key", "{% set ns = namespace(l=(1,)) %}{% for x in range(40) %}{% set ns.l = (ns.l, ns.l) %}{% endfor %}{{ {ns.l: 1} }}", "memory"},
		{"macro recursion", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "depth"},
		{"loop recursion", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "depth"},
		{"range", "{{ range(10000000000) }}", "overflow"},
		{"repeated string", "{{ 'a' * 10000000000 }}", "string"},
		{"repeated list", "{{ [1] * 10000000000 }}", "memory"},
		{"power", "{{ 9 ** (9 ** 9) }}", "bits of an integer"},
		{"factorial", "{% set ns = namespace(n=1) %}{% for x in range(1, 100000) %}{% set ns.n = ns.n * x %}{% endfor %}", "steps"},
		{"center", "{{ 'a'.center(10000000000) }}", "string"},
		{"width", "{{ '%2000000000d' % 1 }}", "string"},
		{"format width", "{{ '{:2000000000}'.format(1) }}", "string"},
		{"precision", "{{ '%.2000000000f' % 1 }}", "value error"},
		{"indent", "{{ big|indent(2000000000) }}", "string"},
		{"zfill", "{{ '1'.zfill(10000000000) }}", "string"},
		{"expandtabs", "{{ '\t'.expandtabs(10000000000) }}", "string"},
		{"join", "{{ range(100000)|join(big) }}", "string"},
		{"replace", "{{ big.replace('', big) }}", "string"},
		{"batch", "{{ [1]|batch(10000000000, 0)|list }}", "memory"},
		{"slices", "{{ [1]|slice(10000000000)|list }}", "steps"},
		{"scans", "{% for a in range(100000) %}{{ 'nothing' in big }}{% endfor %}", "steps"},
		{"lengths", "{% for a in range(100000) %}{% set x = big|length %}{% endfor %}", "steps"},
		{"comparisons", "{% set q = big ~ 'a' %}{% set r = big ~ 'b' %}{% for a in range(100000) %}{% set x = q == r %}{% endfor %}", "steps"},
		{"splits", "{% for a in range(100000) %}{% set x = big.split('b') %}{% endfor %}", "memory"},
		{"ropes read", "{% for a in range(100000) %}{% set x = (big ~ a)[0] %}{% endfor %}", "memory"},
		{"characters", "{% for a in range(1000) %}{% for c in big %}{% endfor %}{% endfor %}", "steps"},
		{"sorts", "{% for a in range(1000) %}{% set x = big|sort %}{% endfor %}", "steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tpl, err := jinja.Compile(c.template, jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			vars := map[string]jinja.Value{"big": jinja.Text(strings.Repeat("ab", 50_000), jinja.Origin{Kind: jinja.FromUser})}
			_, err = tpl.Render(t.Context(), vars, jinja.RenderOptions{})
			var l *jinja.LimitError
			if got := failure(err); errors.As(err, &l) && l.What != c.want || l == nil && got != c.want {
				t.Errorf("got %v, want the limit of %s", err, c.want)
			}
		})
	}
}

// TestHostileSources compiles templates that are made to be slow or deep to read. Reading them is linear.
func TestHostileSources(t *testing.T) {
	const n = 100_000
	rep := strings.Repeat
	for _, c := range []struct{ name, source string }{
		{"parentheses", "{{ " + rep("(", n) + rep(")", n) + " }}"},
		{"lists", "{{ " + rep("[", n) + rep("]", n) + " }}"},
		{"not", "{{ " + rep("not ", n) + "x }}"},
		{"signs", "{{ " + rep("-", n) + "1 }}"},
		{"attributes", "{{ x" + rep(".a", n) + " }}"},
		{"items", "{{ x" + rep("[0]", n) + " }}"},
		{"slices", "{{ 1" + rep("[1:]", n) + " }}"},
		{"filters", "{{ x" + rep("|e", n) + " }}"},
		{"calls", "{{ x" + rep("()", n) + " }}"},
		{"powers", "{{ -1" + rep(" ** -1", n) + " ** x }}"},
		{"products", "{{ 1" + rep(" * 1", n) + " }}"},
		{"sums", "{{ 1" + rep(" + 1", n) + " }}"},
		{"alternatives", "{{ 1" + rep(" if x", n) + " }}"},
		{"else chains", "{{ 1" + rep(" if x else 1", n) + " }}"},
		{"or", "{{ 1" + rep(" or 1", n) + " }}"},
		{"ifs", rep("{% if x %}", n)},
		{"ifs that set", rep("{% if x %}{% set a = 1 %}{% endif %}", n/4)},
		{"many names", manyNames(20_000)},
		{"elifs", "{% if x %}" + rep("{% elif x %}{% set a = 1 %}", n/4) + "{% endif %}"},
		{"loops", rep("{% for x in y %}{{ loop.index }}", n/4)},
		{"macros", rep("{% macro m(x) %}{{ caller }}", n/4)},
		{"targets", "{% set " + rep("(", n) + "a" + rep(")", n) + " = 1 %}"},
		{"braces", rep("{", n)},
		{"open tags", rep("{%", n)},
		{"open comments", rep("{#", n)},
		{"raws", rep("{% raw %}", n/2)},
		{"quotes", "{{ " + rep("'a' ", n) + " }}"},
		{"one line", rep("{{ a }}", n)},
		{"parameters", "{% macro m(" + manyParams(10_000) + ") %}{% endmacro %}"},
		{"keywords", "{{ f(" + strings.ReplaceAll(manyParams(10_000), ",", "=1,") + "=1) }}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan struct{})
			defer close(done)
			tpl, err := jinja.Compile(c.source, jinja.Options{MaxSource: 8 << 20})
			if err != nil {
				return // refused is as good
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := tpl.Render(ctx, nil, jinja.RenderOptions{}); errors.Is(err, context.DeadlineExceeded) {
				t.Error("the render did not end")
			}
		})
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("{% if x %}{% set " + name(i) + " = 1 %}{% endif %}")
	}
	return b.String()
}

func manyParams(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = name(i)
	}
	return strings.Join(names, ",")
}

// name is the i-th of many names.
func name(i int) string {
	s := "v"
	for ; i > 0; i /= 26 {
		s += string(rune('a' + i%26))
	}
	return s + "_"
}

func TestSourceCap(t *testing.T) {
	_, err := jinja.Compile(strings.Repeat("a", 101), jinja.Options{MaxSource: 100})
	var l *jinja.LimitError
	if !errors.As(err, &l) || l.Limit != 100 {
		t.Errorf("got %v", err)
	}
}

func TestLimitsOfOneRender(t *testing.T) {
	tpl, err := jinja.Compile("{% for x in range(100) %}{{ x }}{% endfor %}", jinja.Options{Limits: jinja.Limits{Steps: 50}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Render(t.Context(), nil, jinja.RenderOptions{}); failure(err) != "limit" {
		t.Errorf("got %v, want the template's limit", err)
	}
	if _, err := tpl.Render(t.Context(), nil, jinja.RenderOptions{Limits: jinja.Limits{Steps: 5000}}); err != nil {
		t.Errorf("got %v with a limit of its own", err)
	}
}

func TestContextEndsRender(t *testing.T) {
	tpl, err := jinja.Compile("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tpl.Render(ctx, nil, jinja.RenderOptions{Limits: jinja.Limits{Steps: 1 << 40}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = tpl.Render(ctx, nil, jinja.RenderOptions{Limits: jinja.Limits{Steps: 1 << 40}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
