package responses_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

const tools = `"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"h"}]}],`

func decode(body []byte) (*surface.Request, error) { return responses.Surface{}.Decode(body, nil) }

// joined decodes a body and joins it with nothing.
func joined(body []byte) (*surface.Request, error) {
	req, err := decode(body)
	if err == nil {
		err = responses.Join(req, nil)
	}
	return req, err
}

func TestMembers(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{
			"silent", ``,
			`choice {0  true} think {0 0  false} max 0 stream false session "" user "" kwargs "" seal 0 previous "" store true generate true compact false summary false encrypted false ignored []`,
		},
		{"stream", `"stream":true,"stream_options":{"include_obfuscation":false},`, `stream true`},
		{"store", `"store":false,`, `seal 2 previous "" store false generate true compact false summary false encrypted true`},
		{"previous", `"previous_response_id":"resp_1",`, `previous "resp_1"`},
		{"max", `"max_output_tokens":7,`, `max 7`},
		{"null members", `"max_output_tokens":null,"tools":null,"store":null,"include":null,"reasoning":null,"instructions":null,"previous_response_id":null,"conversation":null,"prompt":null,"background":null,"truncation":null,`, `max 0`},
		{"socket", `"type":"response.create","generate":false,`, `generate false`},
		{"socket that generates", `"generate":true,`, `generate true`},
		{"choice none", tools + `"tool_choice":"none",`, `choice {1  true}`},
		{"choice required", tools + `"tool_choice":"required","parallel_tool_calls":false,`, `choice {2  false}`},
		{"choice named", tools + `"tool_choice":{"type":"function","name":"g"},`, `choice {3 g true}`},
		{"choice named, other order", tools + `"tool_choice":{"name":"g","type":"custom"},`, `choice {3 g true}`},
		{"choice in a namespace", tools + `"tool_choice":{"type":"function","name":"h","namespace":"ns"},`, `choice {3 ns__h true}`},
		{"choice by the model's name", tools + `"tool_choice":{"type":"function","name":"ns__h"},`, `choice {3 ns__h true}`},
		{"choice before the tools", `"tool_choice":{"type":"function","name":"g"},` + tools, `choice {3 g true}`},
		{"choice of allowed", tools + `"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"},{"type":"mcp","server_label":"x"}]},`, `tools [g] choice {2  true}`},
		{"choice of an allowed namespace", tools + `"tool_choice":{"tools":[{"name":"ns","type":"namespace"}],"mode":"auto","type":"allowed_tools"},`, `tools [ns.h] choice {0  true}`},
		{"choice of allowed in a namespace", tools + `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"h","namespace":"ns"},{"type":"function","name":"f"}]},`, `tools [f ns.h] choice {0  true}`},
		{"choice of an allowed one by the model's name", tools + `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"ns__h"},{"type":"tool_search"}]},`, `tools [ns.h] choice {0  true}`},
		{"two choices", tools + `"tool_choice":{"type":"function","name":"g"},"tool_choice":"auto",`, `choice {0  true}`},
		{"effort", `"reasoning":{"effort":"high","context":"all_turns"},`, `think {0 0 high false}`},
		{"summary", `"reasoning":{"summary":"auto"},`, `summary true`},
		{"older summary", `"reasoning":{"generate_summary":"concise","effort":null},`, `summary true`},
		{"no summary", `"reasoning":{"summary":"none"},`, `summary false`},
		{"include", `"include":["reasoning.encrypted_content","message.output_text.logprobs"],`, `seal 2 previous "" store true generate true compact false summary false encrypted true ignored ["include: message.output_text.logprobs"]`},
		{"kwargs", `"chat_template_kwargs":{"enable_thinking": false, "b":1.50},`, `kwargs "{\"enable_thinking\": false, \"b\":1.50}"`},
		{"session", `"prompt_cache_key":"k","user":"u",`, `session "k" user "u"`},
		{"safety identifier", `"safety_identifier":"s",`, `user "s"`},
		{"user and safety identifier", `"user":"u","safety_identifier":"s",`, `user "u"`},
		{"ignored", `"client_metadata":{"x":1},"unheard_of":[1],"tools":[{"type":"web_search","name":7}],`, `ignored ["unheard_of" "tools: web_search"]`},
		{"without effect", `"background":false,"truncation":"disabled","top_logprobs":0,"max_tool_calls":3,"metadata":{"a":"b"},"service_tier":"auto","text":{"verbosity":"low"},`, `ignored []`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := joined([]byte(`{"model":"m",` + tt.in + `"input":"hi"}`))
			if err != nil {
				t.Fatal(err)
			}
			own := responses.OwnOf(req)
			got := fmt.Sprintf("tools %v choice %v think %v max %d stream %v session %q user %q kwargs %q seal %d previous %q store %v generate %v compact %v summary %v encrypted %v ignored %q",
				names(req), req.Choice, req.Thinking, req.MaxTokens, req.Stream, req.Session, req.User, req.TemplateArgs, req.Seal,
				own.Previous, own.Store, !own.NoGenerate, own.Compact, own.Summary, own.Encrypted, req.Ignored)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if req.Prompting.Continue || req.Prompting.NoGeneration {
				t.Errorf("prompting %+v", req.Prompting)
			}
		})
	}
}

// names are the request's tools as the client knows them, with a mark at those that are deferred.
func names(req *surface.Request) []string {
	out := []string{}
	for i := range req.Tools {
		d := &req.Tools[i]
		name := d.Name
		if d.Namespace != "" {
			name = d.Namespace + "." + name
		}
		if d.Deferred {
			name += "~"
		}
		out = append(out, name)
	}
	return out
}

func TestSamplingAndFormat(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"knobs", `"temperature":0.5,"top_p":1,"frequency_penalty":1,"presence_penalty":-1,"top_k":20,"seed":3,`, `0.5 1 1 -1 20 3`},
		{"schema", `"text":{"verbosity":"low","format":{"strict":true,"schema":{"type": "object"},"name":"n","type":"json_schema"}},`, `json_schema n {"type": "object"} true`},
		{"object", `"text":{"format":{"type":"json_object"}},`, `json_object   false`},
		{"text", `"text":{"format":{"type":"text"}},`, `text   false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := decode([]byte(`{"model":"m",` + tt.in + `"input":"hi"}`))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s %s %s %v", req.Format.Type, req.Format.Name, req.Format.Schema, req.Format.Strict)
			if s := req.Sampling; s.Temperature != nil {
				got = fmt.Sprint(*s.Temperature, *s.TopP, *s.FrequencyPenalty, *s.PresencePenalty, *s.TopK, *s.Seed)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestKeptForEcho wants what the resource repeats as it came, white space and all.
func TestKeptForEcho(t *testing.T) {
	values := map[string]string{
		"Tools": `[ {"type":"web_search"} , {"type":"function","name":"f"}]`, "ToolChoice": `{ "type":"function","name":"f"}`,
		"Text": `{"verbosity":"low" }`, "Reasoning": `{"effort": "low"}`, "Metadata": `{"a": "\u00e9"}`, "Truncation": `"disabled"`, "MaxToolCalls": `3`,
		"ServiceTier": `"flex"`, "PromptCacheKey": `"k\n"`, "PromptCacheRetention": `"24h"`, "SafetyIdentifier": `"s"`, "User": `"u"`,
		"Include": `["reasoning.encrypted_content"]`, "TopLogprobs": `0`, "Instructions": `[{"role":"system","content":"x"}]`,
	}
	members := map[string]string{
		"Tools": "tools", "ToolChoice": "tool_choice", "Text": "text", "Reasoning": "reasoning", "Metadata": "metadata", "Truncation": "truncation",
		"MaxToolCalls": "max_tool_calls", "ServiceTier": "service_tier", "PromptCacheKey": "prompt_cache_key", "PromptCacheRetention": "prompt_cache_retention",
		"SafetyIdentifier": "safety_identifier", "User": "user", "Include": "include", "TopLogprobs": "top_logprobs", "Instructions": "instructions",
	}
	body := `{"model":"m","input":"hi"`
	for field, v := range values {
		body += `, "` + members[field] + `" : ` + v + ` `
	}
	req, err := decode([]byte(body + `}`))
	if err != nil {
		t.Fatal(err)
	}
	echo := reflect.ValueOf(responses.OwnOf(req).Echo)
	for i := range echo.NumField() {
		name := echo.Type().Field(i).Name
		if got := string(echo.Field(i).Bytes()); got != values[name] || got == "" {
			t.Errorf("%s: got %s, want %s", name, got, values[name])
		}
	}
	req, err = decode([]byte(`{"model":"m","input":"hi","tools":null}`))
	if err != nil || !reflect.DeepEqual(responses.OwnOf(req).Echo, responses.Echo{}) {
		t.Errorf("silent: got %+v, %v", responses.OwnOf(req).Echo, err)
	}
}

func TestSession(t *testing.T) {
	h := http.Header{}
	h.Set("Thread-Id", "th")
	req, err := responses.Surface{}.Decode([]byte(`{"model":"m","prompt_cache_key":"key","input":"x"}`), h)
	if err != nil || req.Session != "th" {
		t.Errorf("got %v, %v", req, err)
	}
}

const hi = `{"role":"user","content":"hi"}`

// refusals are bodies with the fault that each must give when it is read or joined: kind, path, text.
var refusals = []struct{ name, in, want string }{
	{"empty", ``, `invalid||the body is not JSON: byte 0: expected a value`},
	{"cut", `{"model":"m","input":[`, `invalid||the body is not JSON: byte 22: expected a value`},
	{"not UTF-8", "{\"model\":\"\xff\"}", `invalid||the body is not JSON: byte 10: expected UTF-8`},
	{"trailing bytes", `{"model":"m","input":"x"} x`, `invalid||the body is not JSON: byte 26: expected the end of the document`},
	{"array", `[]`, `invalid||expected an object, got array`},
	{"no model", `{"input":"x"}`, `invalid|model|expected the name of a model`},
	{"no input", `{"model":"m"}`, `invalid|input|expected something to answer`},
	{"empty input", `{"model":"m","input":[],"instructions":"be brief"}`, `invalid|input|expected something to answer`},
	{"nothing but display", `{"model":"m","input":[{"type":"web_search_call","id":"ws_1"}]}`, `invalid|input|expected something to answer`},
	{"input of the wrong type", `{"model":"m","input":7}`, `invalid|input|expected a string or an array of items, got number`},
	{"item of the wrong type", `{"model":"m","input":["hi"]}`, `invalid|input[0]|expected an object, got string`},
	{"no role", `{"model":"m","input":[{"content":"x"}]}`, `invalid|input[0].role|expected user, assistant, system or developer`},
	{"role of a tool", `{"model":"m","input":[{"role":"tool","content":"x"}]}`, `invalid|input[0].role|expected user, assistant, system or developer`},
	{"content of the wrong type", `{"model":"m","input":[` + hi + `,{"role":"user","content":7}]}`, `invalid|input[1].content|expected a string or an array of parts, got number`},
	{"text of the wrong type", `{"model":"m","input":[` + hi + `,{"role":"user","content":[{"type":"input_text","text":{}}]}]}`, `invalid|input[1].content[0].text|expected a string, got object`},
	{"part without a type", `{"model":"m","input":[{"role":"user","content":[{"text":"a"}]}]}`, `invalid|input[0].content[0].type|expected input_text, input_image, input_file, input_audio, output_text or refusal`},
	{"part of another type", `{"model":"m","input":[` + hi + `,` + hi + `,` + hi + `,{"role":"user","content":[{"type":"input_video"}]}]}`, `unsupported|input[3].content[0].type|parts of type "input_video" are not served`},
	{"image of the wrong type", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":{"url":1}}]}]}`, `invalid|input[0].content[0].image_url.url|expected a string, got number`},
	{"stored image", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","file_id":"x"}]}]}`, `unsupported|input[0].content[0].file_id|files are not stored here; send image_url`},
	{"stored file", `{"model":"m","input":[{"role":"user","content":[{"file_id":"x","type":"input_file"}]}]}`, `unsupported|input[0].content[0].file_id|files are not stored here; send file_data`},
	{"image of nothing", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]}`, `invalid|input[0].content[0].image_url|expected an http or data URL`},
	{"file of nothing", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","filename":"f"}]}]}`, `invalid|input[0].content[0].file_data|expected a data URL or base64`},
	{"sound of nothing", `{"model":"m","input":[{"role":"user","content":[{"type":"input_audio"}]}]}`, `invalid|input[0].content[0].input_audio|expected an object`},
	{"arguments as an object", `{"model":"m","input":[{"type":"function_call","name":"f","arguments":{}}]}`, `invalid|input[0].arguments|expected a string, got object`},
	{"a search's arguments of the wrong type", `{"model":"m","input":[{"type":"tool_search_call","arguments":[]}]}`, `invalid|input[0].arguments|expected an object, got array`},
	{"output of the wrong type", `{"model":"m","input":[{"type":"function_call_output","output":{"a":1}}]}`, `invalid|input[0].output|expected a string or an array of parts, got object`},
	{"reasoning of the wrong type", `{"model":"m","input":[{"type":"reasoning","summary":{}}]}`, `invalid|input[0].summary|expected an array, got object`},
	{"nameless call", `{"model":"m","input":[{"type":"function_call","arguments":"{}"}]}`, `invalid|input[0].name|expected the name of a tool`},
	{"reference to nothing", `{"model":"m","input":[{"type":"item_reference"}]}`, `invalid|input[0].id|expected the id of an item`},
	{"compaction of nothing", `{"model":"m","input":[{"type":"compaction"}]}`, `invalid|input[0].encrypted_content|expected what a compaction answered`},
	{"trigger not last", `{"model":"m","input":[` + hi + `,{"type":"compaction_trigger"},` + hi + `]}`, `invalid|input[2]|expected nothing behind input[1], which ends the input`},
	{"trigger alone", `{"model":"m","input":[{"type":"compaction_trigger"}]}`, `invalid|input|expected something to answer`},
	{"trigger in the instructions", `{"model":"m","instructions":[{"type":"compaction_trigger"}],"input":"x"}`, `invalid|instructions[0].type|expected an item that says something itself`},
	{"reference in the instructions", `{"model":"m","instructions":[{"type":"item_reference","id":"x"}],"input":"x"}`, `invalid|instructions[0].type|expected an item that says something itself`},
	{"instructions of the wrong type", `{"model":"m","instructions":{},"input":"x"}`, `invalid|instructions|expected a string or an array of items, got object`},
	{"result of no call", `{"model":"m","previous_response_id":"r","input":[` + hi + `,{"type":"function_call_output","call_id":"c9","output":"x"}]}`, `invalid|input[1].call_id|no tool call found for call_id c9`},
	{"nameless tool", `{"model":"m","tools":[{"type":"function"}]}`, `invalid|tools[0].name|expected a name`},
	{"nameless tool of a namespace", `{"model":"m","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom"}]}]}`, `invalid|tools[0].tools[0].name|expected a name`},
	{"nameless namespace", `{"model":"m","tools":[{"type":"namespace","tools":[]}]}`, `invalid|tools[0].name|expected a name`},
	{"tool without a type", `{"model":"m","tools":[{"name":"f"}]}`, `invalid|tools[0].type|expected the type of a tool`},
	{"two tools of one name", `{"model":"m","input":"x","tools":[{"type":"function","name":"a__b"},{"type":"namespace","name":"a","tools":[{"type":"function","name":"b"}]}]}`, `invalid|tools|the model would know both the tool "a__b" and the tool "b" of namespace "a" as "a__b"`},
	{"a tool twice", `{"model":"m","input":"x","tools":[{"type":"function","name":"a"},{"type":"custom","name":"a"}]}`, `invalid|tools|the model would know both the tool "a" and the tool "a" as "a"`},
	{"choice without tools", `{"model":"m","tool_choice":"required","input":"x"}`, `invalid|tool_choice|a call is required, but the request has no tools`},
	{"choice of no tool", `{"model":"m","tool_choice":{"type":"function","name":"f","namespace":"n"},"input":"x"}`, `invalid|tool_choice|the request has no tool "n__f"`},
	{"choice of a tool that is not allowed", `{"model":"m",` + tools + `"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"x"}]},"input":"x"}`, `invalid|tool_choice|a call is required, but the request has no tools`},
	{"choice of the vendor's tool", `{"model":"m","tool_choice":{"type":"web_search"}}`, `unsupported|tool_choice.type|tools of type "web_search" are not served`},
	{"choice without a type", `{"model":"m","tool_choice":{"name":"f"}}`, `invalid|tool_choice.type|expected function, custom or allowed_tools`},
	{"choice without a name", `{"model":"m","tool_choice":{"type":"function"}}`, `invalid|tool_choice.name|expected the name of a tool`},
	{"choice of a nameless allowed one", `{"model":"m","tool_choice":{"type":"allowed_tools","tools":[{"type":"function"}]}}`, `invalid|tool_choice.tools[0].name|expected the name of a tool`},
	{"unknown choice", `{"model":"m","tool_choice":"maybe"}`, `invalid|tool_choice|expected auto, none or required`},
	{"mode of the wrong type", `{"model":"m","tool_choice":{"type":"allowed_tools","mode":1}}`, `invalid|tool_choice.mode|expected a string, got number`},
	{"choice of the wrong type", `{"model":"m","tool_choice":7}`, `invalid|tool_choice|expected a string or an object, got number`},
	{"background", `{"model":"m","background":true}`, `unsupported|background|true is not served: an answer is streamed or waited for`},
	{"conversation", `{"model":"m","conversation":"conv_1"}`, `unsupported|conversation|not served; previous_response_id continues an answer`},
	{"prompt", `{"model":"m","prompt":{"id":"p"}}`, `unsupported|prompt|stored prompts are not served; send instructions and input`},
	{"truncation", `{"model":"m","truncation":"auto"}`, `unsupported|truncation|auto is not served: a conversation that is too long is refused, and not cut`},
	{"unknown truncation", `{"model":"m","truncation":"x"}`, `invalid|truncation|expected auto or disabled`},
	{"logprobs", `{"model":"m","top_logprobs":2}`, `unsupported|top_logprobs|log probabilities are not served`},
	{"metadata", `{"model":"m","metadata":{"a":1}}`, `invalid|metadata.a|expected a string, got number`},
	{"include", `{"model":"m","include":[1]}`, `invalid|include[0]|expected a string, got number`},
	{"max_output_tokens", `{"model":"m","max_output_tokens":0}`, `invalid|max_output_tokens|expected an integer from 1 to 2147483647, got 0`},
	{"schema missing", `{"model":"m","text":{"format":{"type":"json_schema"}}}`, `invalid|text.format.schema|expected an object`},
	{"unknown format", `{"model":"m","text":{"format":{"type":"xml"}}}`, `invalid|text.format.type|expected text, json_object or json_schema`},
	{"nested too deep", `{"x":` + strings.Repeat("[", 300), `invalid||the body is not read: byte 260: nested too deep`},
	{"too many items", `{"model":"m","input":[` + strings.Repeat(hi+",", 70000) + hi + `]}`, `invalid|input[65536]|more than 65536 messages, parts and tools`},
	{"too many tools", `{"model":"m","tools":[{"type":"namespace","name":"n","tools":[` + strings.Repeat(`{"type":"function","name":"f"},`, 70000) + `{}]}]}`, `invalid|tools[0].tools[65535]|more than 65536 messages, parts and tools`},
}

func TestRefusals(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			_, err := joined([]byte(tt.in))
			if got := describe(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func describe(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fmt.Sprintf("no fault: %v", err)
	}
	return fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public)
}

func TestCountAndCompact(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		decode         func([]byte, http.Header) (*surface.Request, error)
	}{
		{"count", `{"model":"m","input":"x","truncation":"auto"}`, `compact false store false stream false messages 1`, responses.DecodeCount},
		{"count without a model", `{"input":"x"}`, `invalid|model|expected the name of a model`, responses.DecodeCount},
		{"compact", `{"model":"m","input":[` + hi + `],"stream":true,"tool_choice":{"type":"function","name":"gone"}}`, `compact true store false stream false messages 2`, responses.DecodeCompact},
		{"compact with a trigger", `{"model":"m","input":[` + hi + `,{"type":"compaction_trigger"}]}`, `compact true store false stream false messages 2`, responses.DecodeCompact},
		{"compact without a model", `{"input":"x"}`, `invalid|model|expected the name of a model`, responses.DecodeCompact},
		{"compact of nothing", `{"model":"m","input":[]}`, `invalid|input|expected something to answer`, responses.DecodeCompact},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := tt.decode([]byte(tt.in), nil)
			if err == nil {
				err = responses.Join(req, nil)
			}
			got := ""
			if err != nil {
				got = describe(err)
			} else {
				own := responses.OwnOf(req)
				got = fmt.Sprintf("compact %v store %v stream %v messages %d", own.Compact, own.Store, req.Stream, len(req.Messages))
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	body := surfacetest.LongBody(`{"model":"m","stream":true,"input":[{"role":"developer","content":"s"}`, 200<<10, func(w *bytes.Buffer, i int, text []byte) {
		fmt.Fprintf(w, `,{"type":"reasoning","id":"rs_%d","summary":[],"content":[{"type":"reasoning_text","text":%s}],"encrypted_content":"x"},{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"Read","arguments":"{\"path\":\"a.go\"}"},{"type":"function_call_output","call_id":"call_%d","output":%s}`, i, text, i, i, i, text)
	}, `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := joined(body); err != nil {
			b.Fatal(err)
		}
	}
}
