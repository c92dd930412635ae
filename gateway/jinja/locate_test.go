package jinja_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// told is what a template prints, with its origins, or its error.
func told(t *testing.T, template string, vars map[string]jinja.Value) string {
	t.Helper()
	tpl, err := jinja.Compile(template, jinja.Options{})
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	r, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{Origins: true})
	var fail *jinja.Error
	switch {
	case errors.As(err, &fail):
		return fail.Class.String() + ": " + fail.Message
	case err != nil:
		t.Fatalf("%s: %v", template, err)
	}
	checkSpans(t, r)
	return marked(r)
}

// What names and keys lead to is the same whether it is looked up where it is or evaluated link by link, as behind an
// item of a list that is made for it.
func TestNamesAndKeysAreLookedUp(t *testing.T) {
	t.Parallel()
	vars := map[string]jinja.Value{
		"d": fromJSON(t, `{"k": "v", "n": null, "i": 1, "l": ["a", "b", ["c"]], "d": {"d": {"d": {"d": {"d": {"d": {"d": {"d": {"d": {"d": {"k": "deep"}}}}}}}}}}, "items": 2, "__x__": 3, "keys": {"k": 4}}`,
			jinja.Origin{Kind: jinja.FromUser, Message: 1}),
		"key": jinja.Text("k", jinja.Origin{}), "one": jinja.Int(1), "yes": jinja.Bool(true),
	}
	for _, path := range []string{
		".k", "['k']", "[key]", ".n", ".n.x", ".missing", ".missing.x", "['missing']", "['missing'].x", "[0]", "[none]", ".items", "['items']", ".__x__", ".__class__", ".pop", ".keys.k", ".k.upper",
		".l[0]", ".l[one]", ".l[one + 1][0]", ".l[one - 1]", ".l[1 - one]", ".l[-1]", ".l[-9]", ".l[9]", ".l[yes]", ".l['0']", ".l[9223372036854775807 + one]", ".l[missing]", ".l.append", ".l[2].x", ".k[0]", ".k.x", ".i.real", ".i.x",
		".d.d.d", strings.Repeat(".d", 9) + ".d.k", strings.Repeat(".d", 12), strings.Repeat(".d", 10) + ".x", "[1][0]",
	} {
		for _, use := range []string{"{{ @ }}", "{% if @ %}yes{% else %}no{% endif %}", "{{ @ == 'v' }}", "{{ 'v' != @ }}", "{{ @ is defined }}", "{{ @ is string }}", "{{ '<' ~ @ ~ '>' }}", "{% for x in @ or [] %}{{ x }}{% endfor %}", "{{ [@] | first }}", "{{ @ < 2 }}"} {
			got := told(t, strings.ReplaceAll(use, "@", "d"+path), vars)
			if want := told(t, strings.ReplaceAll(use, "@", "[d][0]"+path), vars); got != want {
				t.Errorf("%s of d%s: %s, link by link %s", use, path, got, want)
			}
		}
	}
	vars["name"] = vars["key"]
	for _, items := range []string{"d.l", "d.l | select", "'abc'", "d", "range(3)"} {
		for _, attr := range []string{".index", ".index0", ".first", ".last", ".length", ".revindex", ".previtem", ".nextitem", ".depth", ".x", "['last']", ".__x__"} {
			loop := func(of string) string {
				return told(t, "{% for x in "+items+" %}{% if not "+of+attr+" %}no {% endif %}{{ "+of+attr+" is defined }} {{ d.l[loop.index0 - 1] == d.l["+of+".index0 - 1] }} {{ "+of+attr+" }};{% endfor %}", vars)
			}
			if got, want := loop("loop"), loop("[loop][0]"); got != want {
				t.Errorf("loop%s over %s: %s, link by link %s", attr, items, got, want)
			}
		}
	}
}

// A macro that is only asked whether it writes something leaves nothing behind, and keeps to the limits of its text.
func TestMacrosAsConditions(t *testing.T) {
	t.Parallel()
	vars := map[string]jinja.Value{"u": jinja.Text("<u>", jinja.Origin{Kind: jinja.FromUser}), "empty": jinja.Text("", jinja.Origin{})}
	const macros = "{% macro m(x) %}{{ x }}{% endmacro %}{% macro outer(x) %}[{% if m(x) %}{{ m(x) }}{% endif %}]{% endmacro %}a{{ u }}"
	for _, e := range []string{"m(u)", "m(empty)", "not m(u)", "m(empty) or m(u)", "m(u) and m(empty)", "outer(empty)", "m(outer(u))", "m(1, 2)", "m(u + 1)", "missing(u)", "u()", "namespace(a=1)", "m(missing.x)"} {
		got := told(t, macros+"{% if "+e+" %}yes{% else %}no{% endif %}{{ u }}b", vars)
		if want := told(t, macros+"{% set v = ("+e+") %}{% if v %}yes{% else %}no{% endif %}{{ u }}b", vars); got != want {
			t.Errorf("if %s: %s, as a value %s", e, got, want)
		}
	}
	for template, limits := range map[string]jinja.Limits{
		"{% macro m() %}{{ u * 30 }}{{ u * 30 }}{% endmacro %}{% if m() %}{% endif %}":                          {String: 100},
		"{% macro m() %}{{ u * 30 }}{% endmacro %}{% for i in range(100) %}{% if m() %}{% endif %}{% endfor %}": {Memory: 8000},
	} {
		tpl, err := jinja.Compile(template, jinja.Options{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		var over *jinja.LimitError
		if _, err = tpl.Render(t.Context(), vars, jinja.RenderOptions{}); !errors.As(err, &over) {
			t.Errorf("%s: %v", template, err)
		}
	}
}
