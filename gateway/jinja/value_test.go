package jinja_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// TestFromJSON holds documents to what json.dumps(json.loads(doc), ensure_ascii=False) and str give.
func TestFromJSON(t *testing.T) {
	for _, c := range []struct{ name, doc, json, str string }{
		{"order", `{"b":1,"a":{"z":null,"y":[]}}`, `{"b": 1, "a": {"z": null, "y": []}}`, `{'b': 1, 'a': {'z': None, 'y': []}}`},
		{"last duplicate in the first place", `{"a":1,"b":2,"a":3}`, `{"a": 3, "b": 2}`, `{'a': 3, 'b': 2}`},
		{"integers and floats", `[1,1.0,-0,-0.0,1.50,1e3,1E-7,1e16]`, `[1, 1.0, 0, -0.0, 1.5, 1000.0, 1e-07, 1e+16]`, `[1, 1.0, 0, -0.0, 1.5, 1000.0, 1e-07, 1e+16]`},
		{"large", `[12345678901234567890123,1e400,-1e400,1e-400]`, `[12345678901234567890123, Infinity, -Infinity, 0.0]`, `[12345678901234567890123, inf, -inf, 0.0]`},
		{"strings", `["\u00e9\ud83d\ude00\n\"\\\/\u007f"]`, `["é😀\n\"\\/` + "\x7f" + `"]`, `['é😀\n"\\/\x7f']`},
		{"lone surrogate", `"\ud800"`, `"` + "\ufffd" + `"`, "\ufffd"},
		{"white space", " [ 1 , { } ] ", `[1, {}]`, `[1, {}]`},
		{"literals", `[true,false,null]`, `[true, false, null]`, `[True, False, None]`},
		{"many members", manyMembers(30), strings.ReplaceAll(strings.ReplaceAll(manyMembers(30), ":", ": "), ",", ", "), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := jinja.FromJSON([]byte(c.doc), jinja.Origin{})
			if err != nil {
				t.Fatal(err)
			}
			tpl, err := jinja.Compile("{{ v|tojson }}\n{{ v }}", jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := renderBoth(t, tpl, map[string]jinja.Value{"v": v})
			js, str, _ := strings.Cut(got, "\n")
			if err != nil || js != c.json || c.str != "" && str != c.str {
				t.Errorf("got  %s and %s, %v\nwant %s and %s", js, str, err, c.json, c.str)
			}
		})
	}
	for _, bad := range []string{"", "[1,]", "{", "nul", `"\x"`, "1 2", strings.Repeat("[", 1000), strings.Repeat("9", 5000)} {
		if _, err := jinja.FromJSON([]byte(bad), jinja.Origin{}); err == nil {
			t.Errorf("%.20s was accepted", bad)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"` + name(i) + `":"` + name(i) + `"`)
	}
	return "{" + b.String()[1:] + "}"
}

func TestConstructors(t *testing.T) {
	user := jinja.Origin{Kind: jinja.FromUser}
	v := jinja.Object(
		jinja.Member{Name: "a", Value: jinja.List(jinja.None(), jinja.Bool(true), jinja.Int(-3), jinja.Float(2))},
		jinja.Member{Name: "b", Value: jinja.Text("x", user), Origin: user},
		jinja.Member{Name: "a", Value: jinja.List()},
		jinja.Member{Name: "undefined"},
	)
	if v.IsUndefined() || !(jinja.Value{}).IsUndefined() {
		t.Error("only the zero value is undefined")
	}
	tpl, err := jinja.Compile("{{ v.a }}{{ v.b }}{{ v.undefined is defined }}{{ v|length }}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := renderBoth(t, tpl, map[string]jinja.Value{"v": v})
	if err != nil || got != "[]xFalse3" {
		t.Errorf("got %q, %v", got, err)
	}
}
