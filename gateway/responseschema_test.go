package gateway_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// schema has the members that an object must have, each with the JSON types that it may be: string, int, number, bool,
// array, object, null. A number may be an int. A path with dots counts where its parent is an object.
type schema map[string]string

// resourceSchema is the answer's resource (ResponseResource of the Open Responses specification): what may be null has to be there too.
var resourceSchema = schema{
	"id": "string", "object": "string", "created_at": "int", "completed_at": "int null", "status": "string", "incomplete_details": "object null", "model": "string",
	"previous_response_id": "string null", "instructions": "string null", "output": "array", "error": "object null", "tools": "array", "tool_choice": "string object",
	"truncation": "string", "parallel_tool_calls": "bool", "text": "object", "top_p": "number", "presence_penalty": "number", "frequency_penalty": "number",
	"top_logprobs": "int", "temperature": "number", "reasoning": "object null", "usage": "object null", "max_output_tokens": "int null", "max_tool_calls": "int null",
	"store": "bool", "background": "bool", "service_tier": "string", "metadata": "object", "safety_identifier": "string null", "prompt_cache_key": "string null",

	"incomplete_details.reason": "string", "error.code": "string", "error.message": "string", "text.format": "object", "text.format.type": "string",
	"reasoning.effort": "string null", "reasoning.summary": "string null",
	"usage.input_tokens": "int", "usage.output_tokens": "int", "usage.total_tokens": "int",
	"usage.input_tokens_details.cached_tokens": "int", "usage.output_tokens_details.reasoning_tokens": "int",
}

// compactionSchema is the answer of compact.
var compactionSchema = schema{
	"id": "string", "object": "string", "created_at": "int", "output": "array", "usage": "object",
	"usage.input_tokens": "int", "usage.output_tokens": "int", "usage.total_tokens": "int",
}

// toolSchema is a function among the tools of a resource.
var toolSchema = schema{"type": "string", "name": "string", "description": "string null", "parameters": "object null", "strict": "bool null"}

// itemSchemas are the items of an output.
var itemSchemas = map[string]schema{
	"message":          {"id": "string", "status": "string", "role": "string", "content": "array"},
	"reasoning":        {"id": "string", "summary": "array"},
	"function_call":    {"id": "string", "call_id": "string", "name": "string", "arguments": "string", "status": "string"},
	"custom_tool_call": {"id": "string", "call_id": "string", "name": "string", "input": "string"},
	"tool_search_call": {"id": "string", "call_id": "string", "arguments": "object", "execution": "string"},
	"compaction":       {"id": "string", "encrypted_content": "string"},
}

// partSchemas are the parts of items.
var partSchemas = map[string]schema{
	"output_text":    {"text": "string", "annotations": "array", "logprobs": "array"},
	"reasoning_text": {"text": "string"},
	"summary_text":   {"text": "string"},
}

// eventSchemas are the events, without response. in front; all have a sequence_number too.
var eventSchemas = map[string]schema{
	"created": {"response": "object"}, "in_progress": {"response": "object"}, "completed": {"response": "object"}, "failed": {"response": "object"}, "incomplete": {"response": "object"},
	"output_item.added": {"output_index": "int", "item": "object"}, "output_item.done": {"output_index": "int", "item": "object"},
	"content_part.added":            {"item_id": "string", "output_index": "int", "content_index": "int", "part": "object"},
	"content_part.done":             {"item_id": "string", "output_index": "int", "content_index": "int", "part": "object"},
	"output_text.delta":             {"item_id": "string", "output_index": "int", "content_index": "int", "delta": "string", "logprobs": "array"},
	"output_text.done":              {"item_id": "string", "output_index": "int", "content_index": "int", "text": "string", "logprobs": "array"},
	"reasoning.delta":               {"item_id": "string", "output_index": "int", "content_index": "int", "delta": "string"},
	"reasoning.done":                {"item_id": "string", "output_index": "int", "content_index": "int", "text": "string"},
	"reasoning_text.delta":          {"item_id": "string", "output_index": "int", "content_index": "int", "delta": "string"}, // OpenAI's
	"reasoning_text.done":           {"item_id": "string", "output_index": "int", "content_index": "int", "text": "string"},  // as well
	"reasoning_summary_part.added":  {"item_id": "string", "output_index": "int", "summary_index": "int", "part": "object"},
	"reasoning_summary_text.delta":  {"item_id": "string", "output_index": "int", "summary_index": "int", "delta": "string"},
	"reasoning_summary_text.done":   {"item_id": "string", "output_index": "int", "summary_index": "int", "text": "string"},
	"reasoning_summary_part.done":   {"item_id": "string", "output_index": "int", "summary_index": "int", "part": "object"},
	"function_call_arguments.delta": {"item_id": "string", "output_index": "int", "delta": "string"},
	"function_call_arguments.done":  {"item_id": "string", "output_index": "int", "arguments": "string"},
}

// check wants an object that fits.
func (s schema) check(tb testing.TB, what string, raw []byte) {
	tb.Helper()
	for _, path := range slices.Sorted(maps.Keys(s)) {
		at, names := raw, strings.Split(path, ".")
		for i, name := range names {
			if i > 0 && typeOf(at) != "object" {
				break
			}
			var m map[string]json.RawMessage
			if err := json.Unmarshal(at, &m); err != nil {
				tb.Errorf("%s: %v: %s", what, err, raw)
				return
			}
			if at = m[name]; i < len(names)-1 {
				continue
			}
			if got, may := typeOf(at), strings.Fields(s[path]); !slices.Contains(may, got) && (got != "int" || !slices.Contains(may, "number")) {
				tb.Errorf("%s: %s is %s, want %s: %s", what, path, got, s[path], raw)
			}
		}
	}
}

// typeOf names the type of a JSON value; what is not there is absent.
func typeOf(raw []byte) string {
	if len(raw) == 0 {
		return "absent"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(raw, ".eE") {
		return "number"
	}
	return "int"
}

// checkItems wants items whose types are known, and their parts.
func checkItems(tb testing.TB, items ...json.RawMessage) {
	tb.Helper()
	for _, raw := range items {
		var it struct {
			Type             string
			Content, Summary []json.RawMessage
		}
		if err := json.Unmarshal(raw, &it); err != nil || itemSchemas[it.Type] == nil {
			tb.Errorf("an item, %v: %s", err, raw)
			continue
		}
		itemSchemas[it.Type].check(tb, it.Type, raw)
		checkParts(tb, it.Content...)
		checkParts(tb, it.Summary...)
	}
}

func checkParts(tb testing.TB, parts ...json.RawMessage) {
	tb.Helper()
	for _, raw := range parts {
		kind := field(tb, raw, "type")
		if partSchemas[kind] == nil {
			tb.Errorf("a part: %s", raw)
			continue
		}
		partSchemas[kind].check(tb, kind, raw)
	}
}

// checkResource wants a resource with all that stands in it.
func checkResource(tb testing.TB, raw []byte) {
	tb.Helper()
	resourceSchema.check(tb, "a resource", raw)
	var r struct{ Output, Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &r); err != nil {
		tb.Error(err)
		return
	}
	checkItems(tb, r.Output...)
	for _, t := range r.Tools {
		if field(tb, t, "type") == "function" {
			toolSchema.check(tb, "a tool", t)
		}
	}
}

// checkEvents wants events that are known, with what must stand in each.
func checkEvents(tb testing.TB, frames []frame) {
	tb.Helper()
	for _, f := range frames {
		if f.Event == "done" {
			continue
		}
		var e struct {
			Type       string
			Item, Part json.RawMessage
		}
		if err := json.Unmarshal(f.Data, &e); err != nil {
			tb.Fatalf("%v: %s", err, f.Data)
		}
		s := eventSchemas[strings.TrimPrefix(e.Type, "response.")]
		if s == nil || e.Type != f.Event {
			tb.Errorf("event %s: %s", f.Event, f.Data)
			continue
		}
		schema{"sequence_number": "int"}.check(tb, e.Type, f.Data)
		s.check(tb, e.Type, f.Data)
		if e.Item != nil {
			checkItems(tb, e.Item)
		}
		if e.Part != nil {
			checkParts(tb, e.Part)
		}
	}
}
