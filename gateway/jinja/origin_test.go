package jinja_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// marked writes a result with its origins: user text in (), of a tool's schema in [], the assistant's in
// <>, the host's in {}, the template's bare.
func marked(r jinja.Result) string {
	var b strings.Builder
	for _, s := range r.Spans {
		text := string(r.Text[s.Start:s.End])
		switch s.Origin.Kind {
		case jinja.FromTemplate:
			b.WriteString(text)
		case jinja.FromUser:
			b.WriteString("(" + text + ")")
		case jinja.FromToolSchema:
			b.WriteString("[" + text + "]")
		case jinja.FromAssistant:
			b.WriteString("<" + text + ">")
		case jinja.FromHost:
			b.WriteString("{" + text + "}")
		default:
			fmt.Fprintf(&b, "%s%s", s.Origin.Kind, text)
		}
	}
	return b.String()
}

func TestOrigins(t *testing.T) {
	user := jinja.Origin{Kind: jinja.FromUser, Message: 3, Part: 1}
	schema, err := jinja.FromJSON([]byte(`{"name": "f", "n": 1.5, "d": "a\nb"}`), jinja.Origin{Kind: jinja.FromToolSchema, Message: 0})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("u", 5000)
	vars := map[string]jinja.Value{
		"u":    jinja.Text("Hi, You", user),
		"a":    jinja.Text("as", jinja.Origin{Kind: jinja.FromAssistant}),
		"h":    jinja.Text("  h ", jinja.Origin{Kind: jinja.FromHost}),
		"tool": schema,
		"long": jinja.Text(long, user),
		"none": jinja.None(),
	}
	for _, c := range []struct{ name, template, want string }{
		{"print", "x{{ u }}y", "x(Hi, You)y"},
		{"concat", "{{ '<|' + u + '|>' + a }}", "<|(Hi, You)|><as>"},
		{"tilde", "{{ 1 ~ u ~ none }}", "1(Hi, You)None"},
		{"slice", "{{ ('ab' + u)[1:4] }}{{ u[0] }}{{ ('x' + u)[::-1] }}", "b(HiHuoY ,iH)x"},
		{"case", "{{ u|upper }}{{ (u + 'z')|lower }}{{ ('q ' ~ u)|title }}{{ (u ~ 'S').swapcase() }}", "(HI, YOUhi, you)zQ (Hi, YouhI, yOU)s"},
		{"split", "{{ u.split(', ')[1] }}{% for p in ('a,' ~ u).split(',') %}{{ p }};{% endfor %}", "(You)a;(Hi);( You);"},
		{"strip", "{{ h.strip() }}{{ (h ~ ' ')|trim }}", "{hh}"},
		{"replace", "{{ u.replace('Hi', a) }}{{ 'a-b'|replace('-', u) }}", "<as>(, You)a(Hi, You)b"},
		{"join", "{{ [u, a]|join('-') }}{{ u.join(['x', 'y']) }}", "(Hi, You)-<as>x(Hi, You)y"},
		{"percent", "{{ '%s|%5s|%.2s' % (u, a, u) }}", "(Hi, You)|   <as>|(Hi)"},
		{"format", "{{ '{}:{x:>4}'.format(u, x=a) }}", "(Hi, You):  <as>"},
		{"indent", "{{ ('l\n' ~ u)|indent(2) }}", "l\n  (Hi, You)"},
		{"tojson", "{{ tool|tojson }}", `{"[name": "f", "n": 1.5, "d": "a\nb]"}`},
		{"repr", "{{ [u] }}{{ {'k': a} }}", "['(Hi, You)']{'k': '<as>'}"},
		{"keys", "{% for k in tool %}{{ k }}{% endfor %}{% for k, v in tool|items %}{{ v }}{% endfor %}", `[namendf]1.5[a` + "\n" + `b]`},
		{"escape", "{{ ('<' ~ u)|e }}", "&lt;(Hi, You)"},
		{"macro", "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(u) }}{{ m(u)|upper }}{{ m(a) ~ u }}", "<(Hi, You)><(HI, YOU)><<as>>(Hi, You)"},
		{"set block", "{% set b %}1{{ u }}2{% endset %}{{ b }}{{ b[1:] }}", "1(Hi, You)2(Hi, You)2"},
		{"filter block", "{% filter upper %}a{{ u }}{% endfilter %}", "A(HI, YOU)"},
		{"namespace", "{% set ns = namespace(s='') %}{% for x in [u, a] %}{% set ns.s = ns.s + x + ';' %}{% endfor %}{{ ns.s }}", "(Hi, You);<as>;"},
		{"characters", "{% for c in ('x' ~ a) %}{{ c }}{% endfor %}{{ (a ~ 'y')|list|join('.') }}", "x<asa>.<s>.y"},
		{"long", "{{ ('a' + long + a + 'b')[4999:] }}", "(uu)<as>b"},
		{"long again", "{% set x = 'a' + long %}{% set y = x + a %}{{ y|length }}{{ y[5000:] }}{{ (y ~ x)[-1] }}", "5003(u)<as>(u)"},
		{"comparison keeps nothing", "{{ u == 'Hi, You' }}{{ u|length }}{{ 'You' in u }}", "True7True"},
		{"sort", "{{ [u, a, 'm']|sort|join(' ') }}", "<as> (Hi, You) m"},
		{"urlencode", "{{ u|urlencode }}", "(Hi%2C%20You)"},
		{"truncate", "{{ u|truncate(5, true, '~', 0) }}", "(Hi, )~"},
		{"pieces", "{{ u.partition(',')|join('|') }}{{ h.splitlines()|join }}{{ a.center(6, '*') }}", "(Hi)|(,)|( You){  h }**<as>**"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tpl, err := jinja.Compile(c.template, jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{Origins: true})
			if err != nil {
				t.Fatal(err)
			}
			checkSpans(t, r)
			// The same text without marks where an escape is wanted literally.
			if got := marked(r); got != c.want && strings.ReplaceAll(got, "\n", `\n`) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, s := range r.Spans {
				if s.Origin.Kind == jinja.FromUser && s.Origin != user {
					t.Errorf("user text of %+v, want %+v", s.Origin, user)
				}
			}
		})
	}
}

func TestOriginNames(t *testing.T) {
	for k, want := range map[jinja.OriginKind]string{jinja.FromTemplate: "template", jinja.FromToolResult: "tool_result", jinja.FromToolSchema: "tool_schema", 99: "unknown"} {
		if k.String() != want {
			t.Errorf("got %s, want %s", k, want)
		}
	}
	o := jinja.Origin{Kind: jinja.FromSystem, Message: 1 << 30, Part: -1}
	tpl, err := jinja.Compile("{{ x }}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tpl.Render(t.Context(), map[string]jinja.Value{"x": jinja.Text("a\xffb", o)}, jinja.RenderOptions{Origins: true})
	if err != nil || string(r.Text) != "a\ufffdb" || r.Spans[0].Origin != (jinja.Origin{Kind: jinja.FromSystem, Message: 1<<28 - 1}) {
		t.Errorf("got %q %v, %v", r.Text, r.Spans, err)
	}
}
