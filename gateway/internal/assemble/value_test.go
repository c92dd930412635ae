package assemble_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
)

func TestSchemaTypes(t *testing.T) {
	const (
		null    = `{"type": ["string", "null"]}`
		integer = `{"type": "integer"}`
		number  = `{"type": "number"}`
		boolean = `{"type": "boolean"}`
		object  = `{"type": "object"}`
		array   = `{"type": "array"}`
	)
	for _, c := range []struct{ name, schema, in, want string }{
		{"unknown", `{}`, `5`, `"5"`},
		{"unknown null", `true`, `null`, `"null"`},
		{"string of digits", `{"type": "string"}`, `02134`, `"02134"`},
		{"string of an exponent", `{"type": "string"}`, `1e5`, `"1e5"`},
		{"string of a word", `{"type": "string"}`, `true`, `"true"`},
		{"string of a null", `{"type": "string"}`, `null`, `"null"`},
		{"string of JSON", `{"type": "string"}`, `{"a": 1}`, `"{\"a\": 1}"`},
		{"string with all", `{"type": "string"}`, "a\"\\\n\t\x01</p>é😀", `"a\"\\\n\t\u0001</p>é😀"`},
		{"string, space kept", `{"type": "string"}`, "  a \n", `"  a \n"`},
		{"string, empty", `{"type": "string"}`, ``, `""`},
		{"string, not UTF-8", `{"type": "string"}`, "a\xe2\x82", "\"a\ufffd\""},
		{"integer", integer, `5`, `5`},
		{"integer, space", integer, " 5\n", `5`},
		{"integer, large", integer, `9223372036854775807`, `9223372036854775807`},
		{"integer, huge", integer, `-123456789012345678901234567890`, `-123456789012345678901234567890`},
		{"integer, zero fraction", integer, `20000.0`, `20000`},
		{"integer, fraction", integer, `5.5`, `"5.5"`},
		{"integer, exponent", integer, `1e5`, `1e5`},
		{"integer, word", integer, `five`, `"five"`},
		{"integer, leading zero", integer, `007`, `"007"`},
		{"integer, plus", integer, `+5`, `"+5"`},
		{"integer, empty", integer, ``, `""`},
		{"integer, null", integer, `null`, `"null"`},
		{"integer, boolean", integer, `True`, `"True"`},
		{"integer, object", integer, `{"a": 1}`, `"{\"a\": 1}"`},
		{"integer, quoted", integer, `"5"`, `"\"5\""`},
		{"integer, long text", integer, strings.Repeat("1", 5000), `"` + strings.Repeat("1", 5000) + `"`},
		{"integer, much space", integer, strings.Repeat(" ", 5000) + "1", `"` + strings.Repeat(" ", 5000) + `1"`},
		{"number", number, `108.20`, `108.20`},
		{"number, whole", number, `20000.0`, `20000.0`},
		{"number, NaN", number, `NaN`, `"NaN"`},
		{"number, infinity", number, `-Infinity`, `"-Infinity"`},
		{"number, 1e400", number, `1e400`, `1e400`},
		{"boolean", boolean, `true`, `true`},
		{"boolean, Python", boolean, `False`, `false`},
		{"boolean, one", boolean, `1`, `"1"`},
		{"boolean, shouted", boolean, `TRUE`, `"TRUE"`},
		{"nullable string", null, `null`, `null`},
		{"nullable string, Python", null, `None`, `null`},
		{"nullable string, begins so", null, `nullable`, `"nullable"`},
		{"nullable string, half", null, `nul`, `"nul"`},
		{"nullable string, spaced", null, ` null`, `" null"`},
		{"nullable string, number", null, `123`, `"123"`},
		{"nullable string, empty", null, ``, `""`},
		{"nullable integer", `{"anyOf": [{"type": "integer"}, {"type": "null"}]}`, `5`, `5`},
		{"nullable integer, null", `{"anyOf": [{"type": "integer"}, {"type": "null"}]}`, `None`, `null`},
		{"nullable integer, empty", `{"anyOf": [{"type": "integer"}, {"type": "null"}]}`, ``, `null`},
		{"string or integer", `{"type": ["integer", "string"]}`, `5`, `"5"`},
		{"string or boolean", `{"type": ["boolean", "string"]}`, `true`, `true`},
		{"enum", `{"enum": [1, "auto", null, "null"]}`, `1`, `1`},
		{"enum, string", `{"enum": [1, "auto"]}`, `auto`, `"auto"`},
		{"enum, both", `{"enum": [null, "null"]}`, `null`, `null`},
		{"enum, neither", `{"enum": [1, "auto"]}`, `12`, `"12"`},
		{"const", `{"const": true}`, `True`, `true`},
		{"object", object, "\n{\"a\": [1, 2.50], \"b\" : {}}\n", `{"a": [1, 2.50], "b" : {}}`},
		{"object, Python", object, `{'a': None, 'b': (1, 2,), 'c': "it's"}`, `{"a": null, "b": [1, 2], "c": "it's"}`},
		{"object, empty", object, ` `, `{}`},
		{"object, text", object, `none of it`, `malformed`},
		{"object, open", object, `{"a": 1`, `malformed`},
		{"object, broken", object, `{"a": b}`, `malformed`},
		{"object, quoted", object, `"{}"`, `malformed`},
		{"array", array, `[1, "a", {"b": [true]}, ]`, `[1, "a", {"b": [true]}]`},
		{"array, tuple", array, `('a', 'b')`, `["a", "b"]`},
		{"array, empty", array, ``, `[]`},
		{"array, text", array, `a, b`, `malformed`},
		{"array or null", `{"type": ["array", "null"]}`, `null`, `null`},
		{"array or null, text", `{"type": ["array", "null"]}`, `nothing`, `malformed`},
		{"array or integer", `{"type": ["array", "integer"]}`, `5`, `5`},
		{"object or string", `{"type": ["object", "string"]}`, ` {'a': 1}`, `{"a": 1}`},
		{"object or string, code", `{"type": ["object", "string"]}`, `{ return x }`, `"{ return x }"`},
		{"object or string, text", `{"type": ["object", "string"]}`, `x`, `"x"`},
		{"object or string, array", `{"type": ["object", "string"]}`, `[1]`, `"[1]"`},
		{"object or string, long", `{"type": ["object", "string"]}`, `{"a": "` + strings.Repeat("x", 70<<10) + `"}`, `"{\"a\": \"` + strings.Repeat("x", 70<<10) + `\"}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, invariant(t, prop(c.schema), kv("f", "p", c.in), event.ReasonStop), c.want)
		})
	}
}

// check wants one call, with p's value or malformed.
func check(t *testing.T, got turn, want string) {
	t.Helper()
	b := got.res.Blocks[0]
	if want == "malformed" {
		if b.Complete || b.Cause != event.CauseMalformed || got.res.Reason != event.ReasonStop {
			t.Errorf("got %s, complete %v, cause %q, finish %s", b.Call.Arguments, b.Complete, b.Cause, got.res.Reason)
		}
		return
	}
	if s := string(b.Call.Arguments); !b.Complete || s != `{"p": `+want+`}` {
		t.Errorf("got  %.200s %s\nwant %.200s", s, b.Cause, `{"p": `+want+`}`)
	}
}

func TestWireTypes(t *testing.T) {
	for _, c := range []struct {
		name     string
		aux      uint32
		esc      record.Flags
		in, want string
	}{
		{"string", str, 0, `5`, `"5"`},
		{"JSON number", js, 0, ` 5.50 `, `5.50`},
		{"JSON word", js, 0, `null`, `null`},
		{"JSON string", js, 0, `"a\u00e9"`, `"a\u00e9"`},
		{"JSON, Python string", js, 0, `'a"'`, `"a\""`},
		{"JSON, bare text", js, 0, `ACME`, `"ACME"`},
		{"JSON, empty", js, 0, ``, `""`},
		{"JSON object", js, 0, `{"a": 1}`, `{"a": 1}`},
		{"JSON array broken", js, 0, `[1`, `malformed`},
		{"escaped JSON", str, record.EscJSON, `a\n\"\ud83d\ude00`, `"a\n\"😀"`},
		{"escaped Python", str, record.EscPython, `it\'s \x41`, `"it's A"`},
		{"escaped XML", str, record.EscXML, `a &lt; b &amp;&amp; c`, `"a < b && c"`},
		{"escaped XML, typed", sch, record.EscXML, `[&quot;a&quot;]`, `["a"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := val(c.aux, c.in)
			v.flags |= c.esc
			check(t, invariant(t, prop(`{"type": "array"}`), cat(begin("<c>"), name("f"), key("p"), v, end()), event.ReasonStop), c.want)
		})
	}
}

func TestContainers(t *testing.T) {
	const nested = `{"type": "object", "properties": {
		"opts": {"type": "object", "properties": {"depth": {"type": "integer"}}},
		"ids": {"type": "array", "items": {"type": "integer"}},
		"rows": {"type": "array", "items": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
		"pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
		"n": {"type": "integer"}}}`
	item := func(v string) []rec { return cat(key("item"), val(sch, v)) }
	for _, c := range []struct {
		name string
		recs []rec
		want string
	}{
		{"none", nil, `{}`},
		{"two", cat(key("n"), val(sch, "1"), key("x"), val(sch, "1")), `{"n": 1, "x": "1"}`},
		{"twice", cat(key("n"), val(sch, "1"), key("n"), val(sch, "2"), key("x"), val(sch, "3")), `{"n": 1, "x": "3"}`},
		{"twice, a container", cat(key("n"), val(sch, "1"), key("n"), open(auto), key("a"), open(auto), shut(auto), shut(auto), key("x"), val(sch, "3")), `{"n": 1, "x": "3"}`},
		{"twice, within", cat(key("o"), open(obj), key("a"), val(sch, "1"), key("a"), val(sch, "2"), shut(obj), key("a"), val(sch, "3")), `{"o": {"a": "1"}, "a": "3"}`},
		{"object", cat(key("opts"), open(auto), key("depth"), val(sch, "2"), shut(auto)), `{"opts": {"depth": 2}}`},
		{"array", cat(key("ids"), open(auto), item("7"), item("8"), shut(auto)), `{"ids": [7, 8]}`},
		{"array, empty", cat(key("ids"), open(auto), shut(auto)), `{"ids": []}`},
		{"array, other tags", cat(key("ids"), open(auto), key("id"), val(sch, "7"), key("id"), val(sch, "8"), shut(auto)), `{"ids": [7, 8]}`},
		{"rows", cat(key("rows"), open(auto), key("item"), open(auto), key("ok"), val(sch, "True"), shut(auto), key("item"), open(auto), shut(auto), shut(auto)), `{"rows": [{"ok": true}, {}]}`},
		{"tuple", cat(key("pair"), open(arr), val(sch, "1"), val(sch, "2"), val(sch, "3"), shut(arr)), `{"pair": ["1", 2, "3"]}`},
		{"unknown, item", cat(key("u"), open(auto), item("1"), open(auto), shut(auto), shut(auto)), `{"u": ["1", {}]}`},
		{"unknown, no item", cat(key("u"), open(auto), key("a"), val(sch, "1"), key("item"), val(sch, "2"), shut(auto)), `{"u": {"a": "1", "item": "2"}}`},
		{"unknown, bare", cat(key("u"), open(auto), val(sch, "1"), shut(auto)), `{"u": ["1"]}`},
		{"unknown, empty", cat(key("u"), open(auto), shut(auto)), `{"u": {}}`},
		{"unknown, closed as an array", cat(key("u"), open(auto), shut(arr)), `{"u": []}`},
		{"pseudo-object", cat(key("o"), open(obj), key("a"), val(js, "1"), key("b"), open(arr), val(js, "1"), val(str, "y"), shut(arr), shut(obj)), `{"o": {"a": 1, "b": [1, "y"]}}`},
		{"escaped key", []rec{{kind: record.Key, flags: record.EscXML, text: "a&quot;"}, val(sch, "1")}, `{"a\"": "1"}`},
		{"key without value", cat(key("a"), key("b"), val(sch, "1")), `malformed`},
		{"key at the end", cat(key("a")), `malformed`},
		{"key at the end, twice", cat(key("a"), val(sch, "1"), key("a")), `malformed`},
		{"value without key", cat(val(sch, "1")), `malformed`},
		{"value without end", []rec{key("a"), {kind: record.Value, text: "1"}}, `malformed`},
		{"container without end", cat(key("a"), open(auto)), `malformed`},
		{"end without container", cat(shut(auto)), `malformed`},
		{"end of another", cat(key("a"), open(obj), shut(arr)), `malformed`},
		{"end while a key is dropped", cat(key("a"), val(sch, "1"), key("a"), shut(auto)), `malformed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invariant(t, with(nested), cat(begin("<c>"), name("f"), c.recs, end()), event.ReasonStop)
			b := got.res.Blocks[0]
			s := string(b.Call.Arguments)
			if !b.Complete {
				s = string(b.Cause)
			} else if !json.Valid(b.Call.Arguments) {
				t.Errorf("%s is not JSON", s)
			}
			if s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
	var deep []rec
	for range 100 {
		deep = append(deep, key("a"), open(auto))
	}
	for range 100 {
		deep = append(deep, shut(auto))
	}
	if b := run(t, free(), cat(begin("<c>"), name("f"), deep, end()), event.ReasonStop).res.Blocks[0]; b.Complete {
		t.Error("100 levels were accepted")
	}
}

// TestStreaming checks that string and container parameters leave while they are generated (P9): after
// each byte the arguments so far lag by no more than an open character or comma. A value that may be a
// container does so once it cannot be one.
func TestStreaming(t *testing.T) {
	for _, c := range []struct {
		name, schema, in string
		from             int // bytes after which it streams
	}{
		{"string", `{"type": "string"}`, strings.Repeat("line of code\n", 20), 0},
		{"array", `{"type": "array"}`, `["aaaa", {"b": "cccccccccc"}, "dddddd"]`, 0},
		{"nullable string", `{"type": ["string", "null"]}`, strings.Repeat("no", 50), 0},
		{"string or object", `{"type": ["string", "object"]}`, "{ code; }\n" + strings.Repeat("line of code\n", 20), len("{ code;")},
		{"string or array", `{"anyOf": [{"type": "array"}, {"type": "string"}]}`, "[1, 2]: " + strings.Repeat("line of code\n", 20), len("[1, 2]:")},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			s := &sizes{}
			feed(t, s, prop(c.schema), cat(begin("<c>"), name("f"), key("p")))
			for i := range len(c.in) {
				s.add(t, rec{kind: record.Value, aux: sch, text: c.in[i : i+1]})
				n++
				if lag := n - s.args; lag > 2 && n >= c.from {
					t.Fatalf("after %d bytes %d are out", n, s.args)
				}
			}
		})
	}
}
