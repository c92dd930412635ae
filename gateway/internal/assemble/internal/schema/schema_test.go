package schema_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/assemble/internal/schema"
)

func TestTypes(t *testing.T) {
	const str, null, integer, number = schema.String, schema.Null, schema.Integer, schema.Number
	cases := []struct {
		name, schema string
		want         schema.Types
	}{
		{"empty", `{}`, 0},
		{"true", `true`, 0},
		{"not JSON", `{"type": "string"`, 0},
		{"string", `{"type": "string"}`, str},
		{"list", `{"type": ["string", "null"]}`, str | null},
		{"foreign names", `{"type": ["STRING", "Int", "float", "dict", "list", "bool", "none"]}`, str | null | integer | number | schema.Object | schema.Array | schema.Boolean},
		{"unknown name", `{"type": "uuid"}`, 0},
		{"anyOf", `{"anyOf": [{"type": "integer"}, {"type": "null"}]}`, integer | null},
		{"oneOf", `{"oneOf": [{"type": "string"}, {"type": "array", "items": {}}]}`, str | schema.Array},
		{"anyOf unknown branch", `{"anyOf": [{"type": "integer"}, {}]}`, integer | str},
		{"allOf", `{"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}`, integer},
		{"allOf integer and number", `{"allOf": [{"type": "number"}, {"type": "integer"}]}`, integer},
		{"allOf contradicts", `{"allOf": [{"type": "string"}, {"type": "integer"}]}`, str},
		{"type beside anyOf of required", `{"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, schema.Object},
		{"enum", `{"enum": ["a", "b"]}`, str},
		{"enum mixed", `{"enum": [1, "auto", null]}`, integer | str | null},
		{"enum decimals", `{"enum": [1.5]}`, integer | number},
		{"const", `{"const": true}`, schema.Boolean},
		{"type beside enum", `{"type": "string", "enum": ["1", null]}`, str},
		{"nullable", `{"type": "integer", "nullable": true}`, integer | null},
		{"nullable unknown", `{"nullable": true}`, 0},
		{"ref", `{"$ref": "#/$defs/N", "$defs": {"N": {"type": "integer"}}}`, integer},
		{"ref escaped", `{"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "integer"}}}`, integer},
		{"ref chain", `{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "null"}}}`, null},
		{"ref cycle", `{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}`, 0},
		{"ref to itself", `{"$ref": "#"}`, 0},
		{"ref remote", `{"$ref": "https://example.com/s.json"}`, 0},
		{"ref missing", `{"$ref": "#/$defs/X"}`, 0},
		{"ref in an array", `{"anyOf": [{"type": "null"}, {"$ref": "#/anyOf/0"}]}`, null},
		{"properties alone", `{"properties": {"a": {}}}`, schema.Object},
		{"items alone", `{"items": {}}`, schema.Array},
		{"wrong shapes", `{"type": 5, "enum": 1, "properties": [], "anyOf": {}, "$ref": 1, "items": 3}`, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := schema.Parse([]byte(c.schema)).Types(); got != c.want {
				t.Errorf("types %b, want %b", got, c.want)
			}
		})
	}
}

func TestWalk(t *testing.T) {
	n := schema.Parse([]byte(`{
		"$defs": {"Tree": {"type": "object", "properties": {"value": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}},
		"allOf": [{"properties": {"tree": {"$ref": "#/$defs/Tree"}}}],
		"properties": {
			"pair": {"prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": {"type": "null"}},
			"old": {"items": [{"type": "number"}]},
			"map": {"additionalProperties": {"type": "boolean"}},
			"mode": {"enum": [1, "auto"]},
			"plain": {"enum": ["x", "y"]}
		}}`))
	p := func(n *schema.Node, name string) *schema.Node { return n.Property([]byte(name)) }
	deep := p(n, "tree")
	for range 20 {
		deep = p(deep, "kids").Item(3)
	}
	for name, c := range map[string]struct {
		node *schema.Node
		want schema.Types
	}{
		"deep":        {p(deep, "value"), schema.Integer},
		"first":       {p(n, "pair").Item(0), schema.String},
		"second":      {p(n, "pair").Item(1), schema.Boolean},
		"rest":        {p(n, "pair").Item(2), schema.Null},
		"old tuple":   {p(n, "old").Item(0), schema.Number},
		"old rest":    {p(n, "old").Item(1), 0},
		"map":         {p(p(n, "map"), "any"), schema.Boolean},
		"undeclared":  {p(n, "nosuch"), 0},
		"of a nobody": {p(p(n, "nosuch"), "a").Item(0), 0},
	} {
		if got := c.node.Types(); got != c.want {
			t.Errorf("%s: types %b, want %b", name, got, c.want)
		}
	}
	want := []schema.Literal{{Text: "1"}, {Text: "auto", String: true}}
	if got := p(n, "mode").Literals(); !slices.Equal(got, want) {
		t.Errorf("literals %v, want %v", got, want)
	}
	if got := p(n, "plain").Literals(); got != nil {
		t.Errorf("an enum of strings kept %v", got)
	}
}

// TestHostile asks schemas that would never end if every path were followed.
func TestHostile(t *testing.T) {
	fan := &bytes.Buffer{}
	fan.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range 60 {
		fmt.Fprintf(fan, `"d%d": {"anyOf": [%s]},`, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"$ref": "#/$defs/d%d"},`, i+1), 8), ","))
	}
	fan.WriteString(`"d60": {"type": "string"}}}`)
	wide := &bytes.Buffer{}
	wide.WriteString(`{"allOf": [`)
	for range 2000 {
		wide.WriteString(`{"$ref": "#/$defs/big"},`)
	}
	wide.WriteString(`{}], "$defs": {"big": {"properties": {`)
	for i := range 5000 {
		fmt.Fprintf(wide, `"p%d": {"type": "integer"},`, i)
	}
	wide.WriteString(`"z": {}}}}}`)
	for name, doc := range map[string]string{
		"fan out":  fan.String(),
		"wide":     wide.String(),
		"nested":   strings.Repeat(`{"anyOf":[`, 100) + `{}` + strings.Repeat(`]}`, 100),
		"deep":     strings.Repeat(`{"properties":{"a":`, 5000) + `{}` + strings.Repeat(`}}`, 5000),
		"too long": `{"type": "string", "x": "` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			n := schema.Parse([]byte(doc))
			for range 200 {
				n.Types()
				n = n.Property([]byte("a"))
			}
		})
	}
}

func FuzzNode(f *testing.F) {
	f.Add([]byte(`{"type": ["string"], "anyOf": [{"$ref": "#/a~0/0"}], "enum": [1, "a"], "properties": {"a": {"items": [{}]}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var walk func(n *schema.Node, depth int)
		walk = func(n *schema.Node, depth int) {
			n.Types()
			n.Literals()
			if depth < 6 {
				walk(n.Property([]byte("a")), depth+1)
				walk(n.Item(0), depth+1)
			}
		}
		walk(schema.Parse(doc), 0)
	})
}
