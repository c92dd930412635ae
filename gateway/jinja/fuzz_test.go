package jinja_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// tight are limits under which a render ends at once.
var tight = jinja.Limits{Steps: 20_000, Memory: 4 << 20, Output: 1 << 16, String: 1 << 16, Depth: 50}

func seeds(f *testing.F) (templates []string, vars []byte) {
	f.Helper()
	doc, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		f.Fatal(err)
	}
	var file struct {
		Vars  json.RawMessage
		Cases []struct{ Template string }
	}
	if err := json.Unmarshal(doc, &file); err != nil {
		f.Fatal(err)
	}
	for _, c := range file.Cases {
		templates = append(templates, c.Template)
	}
	return templates, file.Vars
}

// renderTight renders within tight limits and checks what must hold for any template and any variables.
func renderTight(t *testing.T, tpl *jinja.Template, vars map[string]jinja.Value) {
	t.Helper()
	plain, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{Limits: tight, Now: clock})
	if len(plain.Text) > tight.Output {
		t.Fatalf("%d bytes of output", len(plain.Text))
	}
	with, werr := tpl.Render(t.Context(), vars, jinja.RenderOptions{Limits: tight, Now: clock, Origins: true})
	if (err == nil) != (werr == nil) || !bytes.Equal(plain.Text, with.Text) {
		t.Fatalf("with origins %q, %v; without %q, %v", with.Text, werr, plain.Text, err)
	}
	if err == nil {
		checkSpans(t, with)
		return
	}
	var e *jinja.Error
	var r *jinja.RaisedError
	var l *jinja.LimitError
	if !errors.As(err, &e) && !errors.As(err, &r) && !errors.As(err, &l) {
		t.Fatalf("an error of no kind: %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	templates, doc := seeds(f)
	for _, t := range templates {
		f.Add(t)
	}
	vars, err := members(doc)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tpl, err := jinja.Compile(src, jinja.Options{MaxSource: 1 << 14})
		if err != nil {
			return
		}
		tpl.Undeclared()
		tpl.TakesParts()
		renderTight(t, tpl, vars)
	})
}

func FuzzVariables(f *testing.F) {
	tpl, err := jinja.Compile(`{% macro show(v) %}{% if v is mapping %}{% for k, w in v|dictsort %}{{ k }}={{ show(w) }}{% endfor %}{% elif v is string %}{{ v.split('a')[-1].strip()|upper|title }}{{ v[1:-1] }}{{ v[::-1]|e }}{{ '%5s|{}' % v }}{% elif v is iterable %}{% for w in v %}{{ loop.previtem }}{{ show(w) }}{{ loop.last }}{% endfor %}{% else %}{{ v }}{{ v|int }}{{ v|float }}{% endif %}{% endmacro %}
{%- for m in messages or [] %}{{ m.role ~ ': ' ~ m['content'] }}{{ show(m) }}{{ m|tojson(indent=2, ensure_ascii=true) }}{{ m }}{{ m.content|replace('b', m.role)|indent|truncate(9)|urlencode }}{% endfor %}{{ messages|tojson }}`, jinja.Options{})
	if err != nil {
		f.Fatal(err)
	}
	_, doc := seeds(f)
	f.Add(doc)
	for _, s := range []string{
		`{"messages": [{"role": "user", "content": "hi \ud83d\ude00 \u0000"}]}`, `{"messages": [1e400, -0, 1e-400, 123456789012345678901234567890, -1.50]}`,
		`{"messages": {"a": {"a": 1, "a": 2}}}`, `{"messages": "\ud800"}`, `{"messages": [[[[]]], {"items": [], "content": ["x"]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		vars, err := members(doc)
		if err != nil {
			return
		}
		renderTight(t, tpl, vars)
	})
}
