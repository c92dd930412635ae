package jinja_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// TestCases renders the templates of testdata/cases.json. What they give, and what kind of error they end
// with, is what Jinja2 3.1.6 says with the settings of transformers.
func TestCases(t *testing.T) {
	doc, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vars  json.RawMessage
		Cases []struct {
			Name, Template string
			Want           string
			Fails          string
		}
	}
	if err := json.Unmarshal(doc, &file); err != nil {
		t.Fatal(err)
	}
	vars := variables(t, file.Vars)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			tpl, err := jinja.Compile(c.Template, jinja.Options{})
			got := ""
			if err == nil {
				got, err = renderBoth(t, tpl, vars)
			}
			if kind := failure(err); kind != c.Fails {
				t.Fatalf("%s: failed with %q (%v), want %q", c.Template, kind, err, c.Fails)
			}
			if got != c.Want {
				t.Errorf("%s:\ngot  %q\nwant %q", c.Template, got, c.Want)
			}
		})
	}
}

// failure is the kind of an error.
func failure(err error) string {
	var e *jinja.Error
	var r *jinja.RaisedError
	var l *jinja.LimitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Class.String()
	case errors.As(err, &r):
		return "raised"
	case errors.As(err, &l):
		return "limit"
	}
	return err.Error()
}

func TestErrorsNameThePlace(t *testing.T) {
	for _, c := range []struct{ name, template, want string }{
		{"syntax", "a\n{% if x %}\n  {{ 1 + }}{% endif %}", "3:10: syntax error: unexpected end of print statement"},
		{"unknown tag", "{% foo %}", "1:4: syntax error: Encountered unknown tag 'foo'."},
		{"no loader", "\n\n{% include 'a' %}", "3:4: syntax error: the tag 'include' is not available in chat templates"},
		{"unknown filter", "é {{ x | nope }}", "1:10: syntax error: No filter named 'nope'."},
		{"not closed", "{{ 'a }}", "1:4: syntax error: unexpected char \"'\""},
		{"undefined", "a\n  {{ nope.x }}", "2:10: undefined: 'nope' is undefined"},
		{"attribute of none", "{{ none.a.b }}", "1:10: undefined: 'None' has no attribute 'a'"},
		{"in a macro", "{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}{{ m() }}", "2:6: division by zero: division by zero"},
		{"raised", "\n {{ raise_exception('only ' ~ 2) }}", "2:20: raised: only 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tpl, err := jinja.Compile(c.template, jinja.Options{})
			if err == nil {
				_, err = tpl.Render(t.Context(), nil, jinja.RenderOptions{})
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestRaised(t *testing.T) {
	tpl, err := jinja.Compile("{% if not messages %}{{ raise_exception('no messages') }}{% endif %}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tpl.Render(t.Context(), nil, jinja.RenderOptions{})
	var raised *jinja.RaisedError
	if !errors.As(err, &raised) || raised.Message != "no messages" || raised.Line != 1 {
		t.Errorf("got %v", err)
	}
}

func TestVariablesHideFunctions(t *testing.T) {
	tpl, err := jinja.Compile("{{ range }}{{ strftime_now is defined }}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tpl.Render(t.Context(), map[string]jinja.Value{"range": jinja.Int(5)}, jinja.RenderOptions{})
	if err != nil || string(r.Text) != "5False" {
		t.Errorf("got %q, %v", r.Text, err)
	}
}

func TestBufferIsUsed(t *testing.T) {
	tpl, err := jinja.Compile("abc{{ x }}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5, 64)
	r, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": jinja.Float(1.5)}, jinja.RenderOptions{Buffer: buf})
	if err != nil || string(r.Text) != "abc1.5" || &r.Text[0] != &buf[0] {
		t.Errorf("got %q, %v", r.Text, err)
	}
}

// TestConcurrentRenders holds a template and values to being shared.
func TestConcurrentRenders(t *testing.T) {
	tpl, err := jinja.Compile(`{% set ns = namespace(s='') %}{% macro m(x) %}<{{ x.content }}>{% endmacro %}
{%- for x in messages %}{% set ns.s = ns.s + m(x) + pad %}{% endfor %}{{ ns.s|length }}{{ messages|tojson|length }}{{ ns.s[-3:] }}`, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	vars := variables(t, []byte(`{"messages": [{"content": "a"}, {"content": "bb", "x": [1, 2.5, {"y": null}]}], "pad": "`+strings.Repeat("p", 5000)+`"}`))
	want, err := renderBoth(t, tpl, vars)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 20 {
				r, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{Origins: i%2 == 0})
				if err != nil || string(r.Text) != want {
					t.Errorf("got %q, %v", r.Text, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestUndeclared(t *testing.T) {
	tpl, err := jinja.Compile(`{% set a = 1 %}{{ a }}{{ b }}{% for c in d %}{{ c }}{{ loop.index }}{{ range(3) }}{% endfor %}{% if e %}{% set f = 1 %}{% endif %}{{ f }}`, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tpl.Undeclared(), " "); got != "b d e f" {
		t.Errorf("got %s", got)
	}
}

func TestTakesParts(t *testing.T) {
	for _, c := range []struct {
		name, template string
		want           bool
	}{
		{"string", "{% for m in messages %}{{ m.content }}{% endfor %}", false},
		{"attribute", "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}", true},
		{"item of a slice", "{% for m in messages[1:] %}{% for p in m['content']|list %}{% endfor %}{% endfor %}", true},
		{"alias", "{% set a = messages %}{% set b = a[1:] %}{% for m in b %}{% for p in m.content %}{% endfor %}{% endfor %}", true},
		{"aliases in a circle", "{% set a = messages %}{% set messages = a %}{% for m in a %}{{ m.content }}{% endfor %}", false},
		{"other key", "{% for m in messages %}{% for p in m.tool_calls %}{% endfor %}{% endfor %}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tpl, err := jinja.Compile(c.template, jinja.Options{})
			if err != nil || tpl.TakesParts() != c.want {
				t.Errorf("got %v, want %v (%v)", !c.want, c.want, err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	tpl, err := jinja.Compile(`{% for m in messages %}{% if m.role == 'developer' %}{{ raise_exception('no') }}{% elif m.role != 'tool' %}{{ m.content }}{% endif %}{% endfor %}`, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		role string
		want bool
	}{{"user", true}, {"tool", false}, {"developer", false}} {
		vars := variables(t, []byte(`{"messages": [{"role": "`+c.role+`", "content": "SENTINEL"}]}`))
		got, err := tpl.Probe(t.Context(), vars, jinja.RenderOptions{}, "SENTINEL", "OTHER")
		if err != nil || got[0] != c.want || got[1] {
			t.Errorf("%s: %v, %v", c.role, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tpl.Probe(ctx, nil, jinja.RenderOptions{}, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
