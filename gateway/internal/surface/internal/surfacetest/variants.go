package surfacetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface"
)

// variant writes a request in another way that means the same.
type variant struct {
	name    string
	marks   bool // cache marks, ids of items and metadata on every object
	texts   bool // strings where one text part stands, and the other way round
	reverse bool // members in the opposite order
}

// opaque are the members whose value is the client's or the tool's own, and the marks.
var opaque = []string{
	"input_schema", "parameters", "input", "arguments", "schema", "format", "chat_template_kwargs", "logit_bias", "documents",
	"cache_control", "internal_chat_message_metadata_passthrough", "x", "metadata",
}

// SameInAllForms decodes a request in every way in which clients write the same, and wants one result.
func SameInAllForms(t *testing.T, name string, body []byte, decode func([]byte) (*surface.Request, error)) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var want *surface.Request
	for _, v := range []variant{{name: "plain"}, {name: "marks", marks: true}, {name: "texts", texts: true}, {name: "reverse", reverse: true}, {name: "all", marks: true, texts: true, reverse: true}} {
		form := v.append(nil, doc, "")
		got, err := decode(form)
		if err != nil {
			t.Errorf("%s, %s: %v", name, v.name, err)
			return
		}
		got.Ignored = nil // a marked block may be told twice
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %s: got\n%.2000v\nwant\n%.2000v", name, v.name, Dump(got.Messages), Dump(want.Messages))
		}
	}
}

// append writes the value of the member key.
func (v *variant) append(b []byte, value any, key string) []byte {
	if _, list := value.([]any); slices.Contains(opaque, key) && (key != "input" || !list) { // a list of items is the client's to vary
		return (&variant{}).append(b, value, "")
	}
	switch value := value.(type) {
	case map[string]any:
		return v.object(b, value)
	case []any:
		if text, ok := alone(value); ok && v.texts && (key == "content" || key == "system") {
			return v.append(b, text, "")
		}
		b = append(b, '[')
		for i, e := range value {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.append(b, e, "")
		}
		return append(b, ']')
	case string:
		if v.texts && (key == "content" || key == "system") {
			return v.append(b, []any{map[string]any{"type": "text", "text": value}}, "")
		}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // what was decoded can be encoded
	}
	return append(b, raw...)
}

// alone is the text of a list that has one text part and nothing else.
func alone(list []any) (string, bool) {
	if len(list) != 1 {
		return "", false
	}
	m, _ := list[0].(map[string]any)
	text, ok := m["text"].(string)
	return text, ok && m["type"] == "text"
}

func (v *variant) object(b []byte, m map[string]any) []byte {
	if v.marks {
		m = maps.Clone(m)
		marks := map[string]any{
			"cache_control": map[string]any{"type": "ephemeral", "ttl": "1h"}, "internal_chat_message_metadata_passthrough": map[string]any{"turn_id": "t"},
			"status": "completed", "citations": []any{}, "x": []any{map[string]any{"content": "y"}},
		}
		if m["type"] != "tool_use" && m["type"] != "function" {
			marks["id"] = fmt.Sprint("item_", len(b))
		}
		if _, message := m["role"]; message {
			marks["metadata"] = map[string]any{"user_id": "u"}
		}
		for k, mark := range marks {
			if _, there := m[k]; !there || k == "cache_control" {
				m[k] = mark
			}
		}
	}
	keys := slices.Sorted(maps.Keys(m))
	if v.reverse {
		slices.Reverse(keys)
	}
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(k)
		if err != nil {
			panic(err) // as above
		}
		b = append(append(b, name...), ':')
		b = v.append(b, m[k], k)
	}
	return append(b, '}')
}
