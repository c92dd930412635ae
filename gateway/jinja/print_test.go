package jinja_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// What is printed part by part is what is printed as one value.
func TestPrintedIsTheValue(t *testing.T) {
	t.Parallel()
	vars := map[string]jinja.Value{
		"u": jinja.Text("<u>", jinja.Origin{Kind: jinja.FromUser}), "l": jinja.List(jinja.Int(1)), "n": jinja.None(),
		"d": fromJSON(t, `{"k": "v\n", "i": 1}`, jinja.Origin{Kind: jinja.FromToolSchema}),
	}
	const macros = "{% macro m(x) %}[{{ x }}{{ 'é' + u }}]{% endmacro %}{% macro none() %}{% endmacro %}{% set ns = namespace(n=0) %}{% macro next() %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{% endmacro %}"
	for _, e := range []string{
		"'a' + u + 'b'", "u + u", "'a' + m(u) + 'b'", "m(u) + m(m(u))", "'' + none() + ''", "none() + 'x'", "next() + next() + '-' + next()", "next() ~ next() ~ ns.n",
		"1 + 2", "l + l", "l + [u]", "1.5 + 1 + true", "(1 + 2) ~ u", "'a' ~ n ~ 1.0 ~ l ~ missing ~ u", "m(1) ~ (d | tojson) ~ (u | e)", "'a' + (d | tojson) + 'b'",
		"'<' + ('<' | safe) + '<'", "('<' | safe) + u + 'b'", "u + ('&' | safe)", "u + 'b' + ('&' | safe) + '<'", "'x' + ('a' if u else 'b') + ('c' if n else '')", "('a' + u) + (u + 'b')", "u if n", "u if u else 'b'",
		"'%s' % u + u", "'a' + u * 2", "d | tojson", "d | tojson | length", "u | tojson | upper", "(d | tojson)[1:5]", "'a' + u | upper", "m(u)[2:5] + u[0]",
		// These are errors.
		"'a' + 1", "'a' + m(u) + 1", "1 + 'a'", "'a' + missing", "m(u) + n", "'a' + d.x + 'b'", "l + 'a'", "('a' + u) + l", "'a' + missing.x", "missing | tojson",
	} {
		print := func(template string) (string, string) {
			tpl, err := jinja.Compile(macros+template, jinja.Options{})
			if err != nil {
				t.Fatalf("%s: %v", template, err)
			}
			r, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{Origins: true})
			var fail *jinja.Error
			if err != nil && !errors.As(err, &fail) {
				t.Fatalf("%s: %v", template, err)
			}
			if err != nil {
				return "", fail.Class.String() + fail.Message
			}
			checkSpans(t, r)
			return marked(r), ""
		}
		printed, failed := print("<" + "{{ " + e + " }}>")
		value, fails := print("{% set value = " + e + " %}<{{ value }}>")
		if printed != value || failed != fails {
			t.Errorf("%s: printed %q %s, its value %q %s", e, printed, failed, value, fails)
		}
	}
}

// Parts that are printed one by one keep to the limit of a string, and the JSON of a value to its own.
func TestPrintedStringsHaveALimit(t *testing.T) {
	t.Parallel()
	vars := map[string]jinja.Value{"s": jinja.Text(strings.Repeat("s", 60), jinja.Origin{})}
	for template, what := range map[string]string{
		"{{ s }}{{ s }}": "",
		"{{ s + s }}":    "string",
		"{{ s ~ s }}":    "string",
		"{% macro m() %}{{ s }}{% endmacro %}{{ m() + m() }}":         "string",
		"{% macro m() %}{{ s }}{% endmacro %}{{ m() ~ 1 ~ m() }}":     "string",
		"{{ [s, s] | tojson }}":                                       "string",
		"{{ s ~ (s | tojson) }}":                                      "string",
		"{% set x %}{{ s }}{{ s }}{% endset %}":                       "string",
		"{{ s + 'a' }}{{ s + 'b' }}{{ s ~ 'c' }}{{ s ~ s[:40] }}":     "output",
		"{% for i in range(9) %}{{ s | tojson }}{% endfor %}":         "output",
		"{% for i in range(9) %}{{ '-' ~ (s | tojson) }}{% endfor %}": "output",
	} {
		_, err := compiled(t, template).Render(t.Context(), vars, jinja.RenderOptions{Limits: jinja.Limits{String: 100, Output: 200}})
		var limit *jinja.LimitError
		if what == "" && err != nil || what != "" && (!errors.As(err, &limit) || limit.What != what) {
			t.Errorf("%s: got %v, want the limit of %q", template, err, what)
		}
	}
}

// A loop that is walked on from elsewhere asks its test about its own variables.
func TestLoopsOutliveTheirPlace(t *testing.T) {
	t.Parallel()
	const keep = "{% for x in [1, 2, 3] if x > low %}{% set ns.l = loop %}{% break %}{% endfor %}"
	for template, want := range map[string]string{
		"{% set ns = namespace(l=none) %}{% macro m(a, b, c, d, low=0) %}" + keep + "{% endmacro %}{{ m() }}{% for y in ns.l %}{{ y[0] }}{% endfor %}":               "23",
		"{% set ns = namespace(l=none) %}{% set low = 1 %}" + keep + "{% macro m(low=9) %}{% for y in ns.l %}{{ y[0] }}{{ low }}{% endfor %}{% endmacro %}{{ m() }}": "39",
	} {
		if got, _ := rendered(t, compiled(t, template), jinja.None(), jinja.RenderOptions{}); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
}

// The memory of a macro's variables is used again, and holds nothing of the call before.
func TestMacrosForget(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{% macro m(a, b) %}{% if a %}{% set c = a %}{% endif %}{{ c }}{{ b }},{% endmacro %}{{ m(1, 2) }}{{ m(0) }}{{ m(3) }}{{ m() }}":                                           "12,,3,,",
		"{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{{ n }}{% endmacro %}{{ f(3) }}{{ f(1) }}":                                                                      "321001231001",
		"{% macro outer(x) %}{% macro inner() %}{{ x }}{% endmacro %}{% set ns.f = inner %}{% endmacro %}{% set ns = namespace(f=none) %}{{ outer(1) }}{{ outer(2) }}{{ ns.f() }}": "2",
		"{% macro w() %}<{{ caller() }}>{% endmacro %}{% macro m(x) %}{% call w() %}{{ x }}{% endcall %}{% endmacro %}{{ m(1) }}{{ m(2) }}":                                        "<1><2>",
		"{% macro m(x) %}{{ x }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}{{ m(1) }}":                                                                               "1(2,){'k': 3}1(){}",
	} {
		tpl := compiled(t, template)
		for range 2 {
			if got, _ := rendered(t, tpl, jinja.None(), jinja.RenderOptions{}); got != want {
				t.Errorf("%s: got %q, want %q", template, got, want)
			}
		}
	}
}

// Results are put where the options say, and renders that share a template share no memory.
func TestBuffers(t *testing.T) {
	t.Parallel()
	tpl := compiled(t, "a{{ x }}b")
	x := jinja.Text("xyz", jinja.Origin{Kind: jinja.FromUser})
	buf, spans := make([]byte, 3, 64), make([]jinja.Span, 1, 8)
	r, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": x}, jinja.RenderOptions{Origins: true, Buffer: buf, Spans: spans})
	if err != nil || string(r.Text) != "axyzb" || len(r.Spans) != 3 || &r.Text[0] != &buf[0] || &r.Spans[0] != &spans[0] {
		t.Errorf("got %q %v, %v", r.Text, r.Spans, err)
	}
	other, _ := rendered(t, tpl, jinja.Text("other", jinja.Origin{}), jinja.RenderOptions{Origins: true})
	if string(r.Text) != "axyzb" || marked(r) != "a(xyz)b" || other != "aotherb" {
		t.Errorf("%q after %q", marked(r), other)
	}
}
