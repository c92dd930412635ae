package jinja_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

const schema = `{"type": "object", "properties": {"pláce": {"type": "string", "description": "a \"b\"\n\\ \u0007\u007f 😀", "enum": ["x", null, true, 1.50, 12345678901234567890]}}, "empty": {}, "none": [], "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10}`

func fromJSON(tb testing.TB, doc string, o jinja.Origin) jinja.Value {
	tb.Helper()
	v, err := jinja.FromJSON([]byte(doc), o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func compiled(tb testing.TB, template string) *jinja.Template {
	tb.Helper()
	t, err := jinja.Compile(template, jinja.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// rendered is the result with x for the variable, as text and spans.
func rendered(tb testing.TB, t *jinja.Template, x jinja.Value, o jinja.RenderOptions) (string, []jinja.Span) {
	tb.Helper()
	r, err := t.Render(tb.Context(), map[string]jinja.Value{"x": x}, o)
	if err != nil {
		tb.Fatal(err)
	}
	return string(r.Text), r.Spans
}

// readers are templates that read a value in many ways.
var readers = []string{ //nolint:gochecknoglobals // a table
	"{{ x | tojson }}",
	"{{ x | tojson }}{{ x | tojson(ensure_ascii=true) }}{{ x | tojson }}",
	"{{ x | tojson(indent=2) }}{{ x.properties | tojson(indent=1) }}",
	"{{ x | tojson(separators=(',', ':'), sort_keys=true) }}",
	"a{{ 'b' + (x | tojson) + 'c' }}{{ 'b' ~ (x.properties | tojson) }}",
	"{{ {'function': x, 'more': [x, x.none]} | tojson }}{{ [x] | tojson(indent=3) }}",
	"{% set s = x | tojson %}{{ s[3:20] }}{{ s | length }}{{ s | upper }}",
	"{% macro m() %}{{ x | tojson }}{% endmacro %}{{ m() }}{{ m() | replace('a', 'b') }}",
	"{% for k, v in x.items() %}{{ k }}={{ v }};{% endfor %}{% for k in x %}{{ k }}{% endfor %}",
	"{% for k, v in x | items %}{{ loop.index }}{{ k }}={{ v | tojson }}{% endfor %}",
	"{% for p in x.items() %}{{ p[0] }}{{ p[1] }}{% endfor %}{{ x.get('type') }}{{ 'type' in x }}{{ x['type'] }}{{ x.j }}{{ x | length }}",
	"{{ x }}{{ x == x }}{{ x.empty is mapping }}{{ x.properties.values() | list }}{{ x.none is sequence }}",
}

// What is kept of a value shows in nothing.
func TestKept(t *testing.T) {
	t.Parallel()
	one := jinja.Origin{Kind: jinja.FromToolSchema, Message: 7}
	plain := fromJSON(t, schema, one)
	mixed := jinja.Object(jinja.Member{Name: "properties", Value: plain}, jinja.Member{Name: "none", Value: jinja.List()}, jinja.Member{Name: "type", Value: jinja.Text("é", jinja.Origin{})})
	for name, v := range map[string]jinja.Value{"of one origin": plain, "of several": mixed} {
		for _, template := range readers {
			tpl := compiled(t, template)
			kept := v.Kept()
			for _, o := range []jinja.RenderOptions{{}, {Origins: true}, {}, {Origins: true}} {
				text, spans := rendered(t, tpl, v, o)
				again, same := rendered(t, tpl, kept, o)
				if again != text || !reflect.DeepEqual(spans, same) {
					t.Errorf("%s, %s, %+v: got %q, want %q", name, template, o, again, text)
				}
			}
		}
	}
}

// A copy with another origin is read as if it had been made with it, kept or not.
func TestFrom(t *testing.T) {
	t.Parallel()
	origins := []jinja.Origin{{Kind: jinja.FromAssistant, Message: 3, Part: 1}, {Kind: jinja.FromUser}, {}, {Kind: jinja.FromToolSchema, Message: 7}}
	first := fromJSON(t, schema, jinja.Origin{Kind: jinja.FromToolSchema, Message: 7})
	mixed := jinja.Object(jinja.Member{Name: "type", Value: jinja.Text("t", origins[0])}, jinja.Member{Name: "properties", Value: first}).Kept()
	var m jinja.Maker
	for _, template := range readers {
		tpl := compiled(t, template)
		for name, v := range map[string]jinja.Value{"plain": first, "kept": first.Kept(), "kept and read": first.Kept()} {
			if name == "kept and read" {
				rendered(t, tpl, v, jinja.RenderOptions{Origins: true})
			}
			for _, o := range append(origins, origins...) {
				text, spans := rendered(t, tpl, fromJSON(t, schema, o), jinja.RenderOptions{Origins: true})
				again, same := rendered(t, tpl, m.From(v, o), jinja.RenderOptions{Origins: true})
				if again != text || !reflect.DeepEqual(spans, same) {
					t.Errorf("%s, %s, %+v: got %q %v, want %q %v", name, template, o, again, same, text, spans)
				}
				m.Reset()
			}
		}
	}
	for _, o := range origins {
		_, spans := rendered(t, compiled(t, "{{ x | tojson }}"), m.From(mixed, o), jinja.RenderOptions{Origins: true})
		for _, s := range spans {
			if s.Origin != o && s.Origin != (jinja.Origin{}) {
				t.Errorf("%+v left in a copy for %+v", s.Origin, o)
			}
		}
	}
	if got := m.From(m.From(jinja.Text("a", origins[0]), origins[1]), origins[3]); got.IsUndefined() {
		t.Error("a copy of a string is undefined")
	}
}

// What was written before counts against the limits as if it were written anew.
func TestKeptCounts(t *testing.T) {
	t.Parallel()
	v := fromJSON(t, schema, jinja.Origin{Kind: jinja.FromUser}).Kept()
	tpl := compiled(t, "{% for i in range(100) %}{{ x | tojson }}{% set s = x | tojson %}{% endfor %}")
	rendered(t, tpl, v, jinja.RenderOptions{Origins: true})
	for what, l := range map[string]jinja.Limits{"steps": {Steps: 2000}, "memory": {Memory: 20_000}, "string": {String: 100}, "output": {Output: 500}} {
		_, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": v}, jinja.RenderOptions{Limits: l})
		var limit *jinja.LimitError
		if !errors.As(err, &limit) || limit.What != what {
			t.Errorf("got %v, want the limit of %s", err, what)
		}
	}
	deep := fromJSON(t, strings.Repeat("[", 200)+strings.Repeat("]", 200), jinja.Origin{}).Kept()
	tpl = compiled(t, "{% set ns = namespace(x=x) %}{{ x | tojson | length }}{% for i in range(400) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}")
	_, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": deep}, jinja.RenderOptions{})
	var limit *jinja.LimitError
	if !errors.As(err, &limit) || limit.What != "depth" {
		t.Errorf("got %v, want the limit of depth", err)
	}
}

// Renders at once keep the same value in several forms.
func TestKeptAtOnce(t *testing.T) {
	t.Parallel()
	v := fromJSON(t, schema, jinja.Origin{Kind: jinja.FromUser}).Kept()
	var wg sync.WaitGroup
	for i := range 8 {
		tpl := compiled(t, fmt.Sprintf("{{ x | tojson(indent=%d) }}{{ x | tojson }}", i%3))
		want, _ := rendered(t, tpl, fromJSON(t, schema, jinja.Origin{}), jinja.RenderOptions{})
		wg.Go(func() {
			var m jinja.Maker
			for j := range 100 {
				o := jinja.Origin{Kind: jinja.FromAssistant, Message: int32(j)}
				r, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": m.From(v, o)}, jinja.RenderOptions{Origins: j%2 == 0})
				if err != nil || string(r.Text) != want {
					t.Errorf("got %q, %v", r.Text, err)
					return
				}
				for _, s := range r.Spans {
					if s.Origin.Kind == jinja.FromUser || s.Origin.Kind == jinja.FromAssistant && s.Origin != o {
						t.Errorf("span %+v", s)
						return
					}
				}
				m.Reset()
			}
		})
	}
	wg.Wait()
}

// What is remembered of a value stays in proportion to it, whatever templates write of it.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	v := jinja.List(fromJSON(t, schema, jinja.Origin{Kind: jinja.FromUser}), fromJSON(t, "["+strings.Repeat("[[1, 2]],", 2000)+"0]", jinja.Origin{})).Kept()
	for _, template := range []string{
		"{{ x | tojson }}", "{{ x | tojson(indent=300) }}", "{% for e in x %}{{ e | tojson(indent=200) }}{{ e | tojson }}{% endfor %}",
		"{% for a in x[1][:2000] %}{{ a | tojson(indent=100) }}{{ a[0] | tojson(indent=100) }}{% endfor %}", "{{ x | tojson(ensure_ascii=true) }}{{ x[0] | tojson(separators=('" + strings.Repeat(",", 1000) + "', ':')) }}",
	} {
		want, _ := rendered(t, compiled(t, template), jinja.List(fromJSON(t, schema, jinja.Origin{}), fromJSON(t, "["+strings.Repeat("[[1, 2]],", 2000)+"0]", jinja.Origin{})), jinja.RenderOptions{})
		for _, origins := range []bool{true, false} {
			if got, _ := rendered(t, compiled(t, template), v, jinja.RenderOptions{Origins: origins}); got != want {
				t.Errorf("%s is another text the second time", template)
			}
			if left, most := jinja.Room(v); left < 0 || left > most {
				t.Errorf("%s: %d of %d bytes are left", template, left, most)
			}
		}
	}
}

// Bytes that are escaped are found wherever they stand in a word.
func TestPlainLen(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 24 {
			for _, fill := range []string{"a", "\x80", "\xff", "~", "!", "#", "[", "]"} {
				s := strings.Repeat(fill, at) + string([]byte{byte(c)}) + strings.Repeat(fill, 20)
				for _, ascii := range []bool{false, true} {
					want := len(s)
					for i := range len(s) {
						if b := s[i]; b < ' ' || b == '"' || b == '\\' || ascii && b >= 0x7f {
							want = i
							break
						}
					}
					if got := jinja.PlainLen(s, ascii); got != want {
						t.Fatalf("%q, ascii %t: %d, want %d", s, ascii, got, want)
					}
				}
			}
		}
	}
}
