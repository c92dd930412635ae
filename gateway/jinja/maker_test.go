package jinja_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// Objects of a Maker are those of Object, whatever their names.
func TestMakerObjects(t *testing.T) {
	t.Parallel()
	user := jinja.Origin{Kind: jinja.FromUser}
	member := func(name string, v int64) jinja.Member { return jinja.Member{Name: name, Value: jinja.Int(v)} }
	many := make([]jinja.Member, 40)
	for i := range many {
		many[i] = member("n"+strconv.Itoa(i), int64(i))
	}
	tpl := compiled(t, "{{ x }}{{ x | length }}{{ x.a }}{{ x.n39 }}{{ x | tojson }}")
	var m jinja.Maker
	for range 3 {
		for name, members := range map[string][]jinja.Member{
			"none":         nil,
			"two":          {member("a", 1), member("b", 2)},
			"same names":   {member("a", 3), member("b", 4)},
			"other order":  {member("b", 4), member("a", 3)},
			"of a user":    {{Name: "a", Value: jinja.Text("v", user), Origin: user}, member("b", 2)},
			"a name twice": {member("a", 1), member("b", 2), member("a", 3)},
			"no UTF-8":     {member("a\xff", 1)},
			"a long name":  {member(strings.Repeat("a", 100), 1)},
			"many":         many,
			"many, one":    many[39:],
		} {
			text, spans := rendered(t, tpl, jinja.Object(members...), jinja.RenderOptions{Origins: true})
			again, same := rendered(t, tpl, m.Object(members...), jinja.RenderOptions{Origins: true})
			if again != text || !reflect.DeepEqual(spans, same) {
				t.Errorf("%s: got %q %v, want %q %v", name, again, same, text, spans)
			}
		}
		for i := range 100 { // more kinds than are remembered
			if got, _ := rendered(t, compiled(t, "{{ x }}"), m.Object(member("k"+strconv.Itoa(i), 1)), jinja.RenderOptions{}); got != "{'k"+strconv.Itoa(i)+"': 1}" {
				t.Errorf("object %d is %s", i, got)
			}
		}
		m.Reset()
	}
}

// Values of a Maker stay what they are while others are made.
func TestMakerLists(t *testing.T) {
	t.Parallel()
	var m jinja.Maker
	tpl := compiled(t, "{% for o in x %}{{ o.a[0] }},{% endfor %}")
	for range 3 {
		var all []jinja.Value
		want := ""
		for i := range 500 {
			items := []jinja.Value{jinja.Int(int64(i)), jinja.None()}
			all = append(all, m.Object(jinja.Member{Name: "a", Value: m.List(items...)}))
			items[0] = jinja.Bool(false)
			want += strconv.Itoa(i) + ","
		}
		if got, _ := rendered(t, tpl, m.List(all...), jinja.RenderOptions{}); got != want {
			t.Errorf("got %s", got)
		}
		m.Reset()
	}
}

func TestMakerJoin(t *testing.T) {
	t.Parallel()
	user, host := jinja.Origin{Kind: jinja.FromUser}, jinja.Origin{Kind: jinja.FromHost}
	var m jinja.Maker
	x := m.Join(jinja.Text("Hi", user), jinja.Text("", host), jinja.Int(3), jinja.Text(" you", user), jinja.Text("\n", host), jinja.Text("<é\xff>", user))
	for template, want := range map[string]string{
		"{{ x }}":                      "(Hi you){\n}(<é\ufffd>)",
		"{{ x[1:5] }}{{ x | upper }}":  "(i yoHI YOU){\n}(<É\ufffd>)",
		"{{ x.split('\n')[1] }}":       "(<é\ufffd>)",
		"{{ x | tojson }}":             `"(Hi you){\n}(<é` + "\ufffd" + `>)"`,
		"{{ x | length }}{{ x | e }}!": "11(Hi you){\n}(&lt;é\ufffd&gt;)!",
	} {
		text, spans := rendered(t, compiled(t, template), x, jinja.RenderOptions{Origins: true})
		if got := marked(jinja.Result{Text: []byte(text), Spans: spans}); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
	if got, spans := rendered(t, compiled(t, "{{ x }}"), m.Join(), jinja.RenderOptions{Origins: true}); got != "" || len(spans) > 0 {
		t.Errorf("nothing joined is %q %v", got, spans)
	}
}
