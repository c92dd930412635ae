package exemplar_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines/internal/exemplar"
)

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"nothing":         {``, `"weir"`},
		"broken":          {`{"type":`, `"weir"`},
		"string":          {`{"type":"string"}`, `"weir"`},
		"short string":    {`{"type":"string","maxLength":2}`, `"we"`},
		"long string":     {`{"type":"string","minLength":6}`, `"weirwe"`},
		"format":          {`{"type":"string","format":"date"}`, `"2026-01-01"`},
		"pattern":         {`{"type":"string","pattern":"^[a-z]{3}-\\d+$"}`, `"www-0"`},
		"odd pattern":     {`{"type":"string","pattern":"(?=x)y"}`, `"weir"`},
		"enum":            {`{"type":"string","enum":["b","a"]}`, `"b"`},
		"const":           {`{"const":{"a":1.50}}`, `{"a":1.50}`},
		"default":         {`{"type":"number","default":5}`, `5`},
		"null default":    {`{"type":"string","default":null}`, `"weir"`},
		"integer":         {`{"type":"integer"}`, `1`},
		"minimum":         {`{"type":"integer","minimum":60,"maximum":3600}`, `60`},
		"exclusive":       {`{"type":"integer","exclusiveMinimum":0}`, `1`},
		"far minimum":     {`{"type":"integer","minimum":-9007199254740991}`, `1`},
		"only maximum":    {`{"type":"number","maximum":-3}`, `-3`},
		"multiple":        {`{"type":"integer","minimum":5,"multipleOf":4}`, `8`},
		"type array":      {`{"type":["null","boolean"]}`, `false`},
		"any of":          {`{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `1`},
		"one of":          {`{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"type":"string"}]}`, `{"k":"x"}`},
		"all of":          {`{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"type":"boolean"}}}]}`, `{"a":false}`},
		"reference":       {`{"$ref":"#/$defs/x","$defs":{"x":{"type":"array","items":{"$ref":"#/$defs/y"},"minItems":2},"y":{"type":"integer"}}}`, `[1,1]`},
		"escaped pointer": {`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"null"}}}`, `null`},
		"foreign":         {`{"$ref":"https://example.org/x"}`, `"weir"`},
		"required only":   {`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"b":{}},"required":["z","a"]}`, `{"z":"weir","a":1}`},
		"required twice":  {`{"type":"object","required":["a","a"]}`, `{"a":"weir"}`},
		"prefix items":    {`{"prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2}`, `[1,"weir"]`},
		"true schema":     {`true`, `"weir"`},
	} {
		if got := string(exemplar.JSON([]byte(c.schema))); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestObject(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"n":{"type":["string","null"]},"list":{"type":"array"}},"required":["timeout","command"]}`)
	got := string(exemplar.Object(schema, exemplar.Member{Name: "command", JSON: `"echo"`}, exemplar.Member{Name: "n", JSON: `"d"`}, exemplar.Member{Name: "other", JSON: `1`}))
	if want := `{"timeout":1,"command":"echo","n":"d"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(exemplar.Object(nil, exemplar.Member{Name: "a", JSON: `1`})); got != `{"a":1}` {
		t.Errorf("without a schema: %s", got)
	}
	if !exemplar.Properties(schema, "n") || exemplar.Properties(schema, "x") {
		t.Error("Properties")
	}
	if exemplar.Type(schema, "list") != jsonscan.Array || exemplar.Type(schema, "x") != jsonscan.None {
		t.Error("Type")
	}
}

func TestHostileSchemas(t *testing.T) {
	for name, schema := range map[string]string{
		"self reference":      `{"$ref":"#"}`,
		"endless object":      `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`,
		"endless array":       `{"type":"array","items":{"$ref":"#"},"minItems":1000000000}`,
		"endless choice":      `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"deep":                strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 200) + "{}" + strings.Repeat("}}", 200),
		"long pattern":        `{"type":"string","pattern":"((((a{900}){900}){900}){900})"}`,
		"long string":         `{"type":"string","minLength":1e15}`,
		"required is no list": `{"type":"object","required":{"a":1},"properties":[]}`,
		"infinite bounds":     `{"type":"integer","minimum":1e308,"multipleOf":1e-308}`,
	} {
		got := exemplar.JSON([]byte(schema))
		if !json.Valid(got) || len(got) > 1<<20 {
			t.Errorf("%s: %d bytes, valid %v: %.100s", name, len(got), json.Valid(got), got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`))
	f.Add([]byte(`{"anyOf":[{"type":"number","minimum":1e400}],"allOf":[{}]}`))
	f.Add([]byte(`{"type":"string","pattern":"[^\\x00-\\x{10FFFF}]a{2,}|b*"}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if got := exemplar.JSON(schema); !json.Valid(got) {
			t.Fatalf("not JSON: %q", got)
		}
		if got := exemplar.Object(schema); !json.Valid(got) {
			t.Fatalf("not JSON: %q", got)
		}
	})
}
