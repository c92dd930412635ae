package chat_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
)

func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"string", `{"role":"user","content":"a\u00e9\n"}`, `user: text "aé\n"`},
		{"parts", `{"content":[{"text":"a","type":"text"},{"type":"text","text":""},{"type":"text","text":"b"}],"role":"user","name":"bob"}`, `user(bob): text "a" text "b"`},
		{"one part is a string", `{"role":"user","content":[{"type":"text","text":"a"}]}`, `user: text "a"`},
		{"system", `{"role":"system","content":"s"}`, `system: text "s"`},
		{"developer", `{"role":"developer","content":"s"}`, `developer: text "s"`},
		{
			"null content and a call", `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.50}"}}]}`,
			`assistant: call c1 f "{\"a\": 1.50}"`,
		},
		{
			"order", `{"role":"assistant","tool_calls":[{"index":0,"function":{"arguments":"","name":"f"},"id":"c1"}],"content":"t","reasoning_content":"r"}`,
			`assistant: reasoning "r" seal "" text "t" call c1 f ""`,
		},
		{"reasoning by its other name", `{"role":"assistant","content":"t","reasoning":"r"}`, `assistant: reasoning "r" seal "" text "t"`},
		{"both names", `{"role":"assistant","content":"","reasoning":"other","reasoning_content":"r"}`, `assistant: reasoning "r" seal ""`},
		{"reasoning that is an object", `{"role":"assistant","content":"t","reasoning":{"x":1}}`, `assistant: text "t"`},
		{"refusal", `{"role":"assistant","content":null,"refusal":"no"}`, `assistant: text "no"`},
		{"refusal part", `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, `assistant: text "no"`},
		{"custom call", `{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"patch","input":"*** {"}}]}`, `assistant: call c1 patch "*** {" custom`},
		{"older call", `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, `assistant: call  f "{}"`},
		{"tool", `{"role":"tool","tool_call_id":"c1","content":"out"}`, `tool: result c1 [ text "out" ]`},
		{
			"tool with parts", `{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"out"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`,
			`tool: result c1 [ text "out" image  "data:image/png;base64,AA==" "" ]`,
		},
		{"function", `{"role":"function","name":"f","content":"out"}`, `tool(f): result  [ text "out" ]`},
		{
			"media", `{"role":"user","content":[{"type":"image_url","image_url":"http://x/y.png"},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}},{"type":"file","file":{"filename":"f","file_data":"data:,x"}}]}`,
			`user: image  "http://x/y.png" "" audio audio/wav "" "AA==" file  "data:,x" ""`,
		},
		{"lone surrogate", `{"role":"user","content":"\ud83d"}`, `user: text "` + "\ufffd" + `"`},
		{"unknown members", `{"role":"user","x":{"y":[1,{"z":"]"}]},"content":"a","cache_control":{"type":"ephemeral"}}`, `user: text "a"`},
		{"a member twice", `{"role":"user","content":"a","content":"b"}`, `user: text "b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := chat.Surface{}.Decode([]byte(`{"model":"m","messages":[`+tt.in+`]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(surfacetest.Dump(req.Messages), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

const user = `{"role":"user","content":"hi"}`

func TestMembers(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],`
	for _, tt := range []struct{ name, in, want string }{
		{"silent", ``, `choice {0  true} think {0 0  false} max 0 stop [] stream false usage false session "" user "" kwargs "" ignored []`},
		{"stream", `"stream":true,"stream_options":{"include_usage":true,"x":1},`, `stream true usage true`},
		{"max", `"max_tokens":7,`, `max 7`},
		{"both maxima", `"max_completion_tokens":9,"max_tokens":7,`, `max 9`},
		{"both maxima, the other way round", `"max_tokens":7,"max_completion_tokens":9,`, `max 9`},
		{"max as a float", `"max_tokens":7.0,`, `max 7`},
		{"stop string", `"stop":"\n\n",`, `stop ["\n\n"]`},
		{"stop array", `"stop":["a","","b"],`, `stop ["a" "b"]`},
		{"null members", `"stop":null,"max_tokens":null,"tools":null,"temperature":null,"n":null,`, `max 0 stop []`},
		{"choice none", tools + `"tool_choice":"none",`, `choice {1  true}`},
		{"choice required", tools + `"tool_choice":"required","parallel_tool_calls":false,`, `choice {2  false}`},
		{"choice named", tools + `"tool_choice":{"type":"function","function":{"name":"g"}},`, `choice {3 g true}`},
		{"choice named, flat", tools + `"tool_choice":{"name":"g","type":"function"},`, `choice {3 g true}`},
		{"choice of allowed", tools + `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}},`, `tools [g] choice {2  true}`},
		{"effort", `"reasoning_effort":"high",`, `think {0 0 high false}`},
		{"reasoning object", `"reasoning":{"effort":"low","max_tokens":5,"enabled":true,"exclude":false},`, `think {1 5 low false}`},
		{"thinking", `"thinking":{"type":"enabled","budget_tokens":1024},`, `think {1 1024  false}`},
		{"thinking off", `"thinking":{"type":"disabled"},`, `think {2 0  false}`},
		{"enable_thinking", `"enable_thinking":false,`, `think {2 0  false}`},
		{"kwargs", `"chat_template_kwargs":{"enable_thinking": false, "b":1.50},`, `kwargs "{\"enable_thinking\": false, \"b\":1.50}"`},
		{"session", `"prompt_cache_key":"k","user":"u",`, `session "k" user "u"`},
		{"ignored", `"store":true,"logit_bias":{"1":2},"unheard_of":[1],"tools":[{"type":"web_search"}],`, `ignored ["store" "logit_bias" "tools: web_search"]`},
		{"n is one", `"n":1,"logprobs":false,"top_logprobs":0,`, `max 0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := chat.Surface{}.Decode([]byte(`{"model":"m",`+tt.in+`"messages":[`+user+`]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range req.Tools {
				names = append(names, d.Name)
			}
			got := fmt.Sprintf("tools %v choice %v think %v max %d stop %q stream %v usage %v session %q user %q kwargs %q ignored %q",
				names, req.Choice, req.Thinking, req.MaxTokens, req.Stop, req.Stream, req.IncludeUsage, req.Session, req.User, req.TemplateArgs, req.Ignored)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	req, err := chat.Surface{}.Decode([]byte(`{"model":"m","messages":[`+user+`],"tools":[
		{"type":"function","function":{"name":"a","description":"d","parameters":{"z":1, "a":1.0},"strict":true}},
		{"function":{"name":"b"}},
		{"type":"function","function":{"name":"c","parameters":null,"strict":null}},
		{"type":"custom","custom":{"name":"p","format":{"type":"grammar"}}},
		{"type":"web_search","search":{"name":1}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []conv.ToolDef{
		{Name: "a", Description: "d", Schema: []byte(`{"z":1, "a":1.0}`), Strict: true},
		{Name: "b"},
		{Name: "c"},
		{Name: "p", Kind: conv.Custom, Format: []byte(`{"type":"grammar"}`)},
	}
	if got, want := fmt.Sprintf("%+v", req.Tools), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSamplingAndFormat(t *testing.T) {
	req, err := chat.Surface{}.Decode([]byte(`{"model":"m","messages":[`+user+`],"temperature":0.5,"top_p":1,"min_p":0.1,"top_k":20,"seed":-3,
		"frequency_penalty":1,"presence_penalty":-1,"repetition_penalty":1.1,"ignore_eos":true,
		"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"},"strict":true}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := req.Sampling
	got := fmt.Sprint(*s.Temperature, *s.TopP, *s.MinP, *s.TopK, *s.Seed, *s.FrequencyPenalty, *s.PresencePenalty, *s.RepetitionPenalty, s.IgnoreEOS)
	if want := "0.5 1 0.1 20 -3 1 -1 1.1 true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if f := req.Format; f.Type != "json_schema" || f.Name != "n" || string(f.Schema) != `{"type":"object"}` || !f.Strict {
		t.Errorf("format %+v", f)
	}
}

func TestSession(t *testing.T) {
	for _, tt := range []struct{ name, header, value, want string }{
		{"opencode", "x-session-id", "ses_1", "ses_1"},
		{"affinity", "x-session-affinity", "ses_2", "ses_2"},
		{"none", "x-other", "y", "key"},
		{"long", "x-session-id", strings.Repeat("a", 1000), strings.Repeat("a", 256)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			req, err := chat.Surface{}.Decode([]byte(`{"model":"m","prompt_cache_key":"key","messages":[`+user+`]}`), h)
			if err != nil || req.Session != tt.want {
				t.Errorf("got %v, %v", req, err)
			}
		})
	}
}

// refusals are bodies with the fault that each must give: kind, path, text.
var refusals = []struct{ name, in, want string }{
	{"empty", ``, `invalid||the body is not JSON: byte 0: expected a value`},
	{"cut", `{"model":"m","messages":[`, `invalid||the body is not JSON: byte 25: expected a value`},
	{"cut string", `{"model":"m`, `invalid||the body is not JSON: byte 11: expected the end of a string`},
	{"bad escape", `{"model":"m","user":"a\q"}`, `invalid||the body is not JSON: byte 20: expected a string with valid escapes`},
	{"not UTF-8", "{\"model\":\"\xff\"}", `invalid||the body is not JSON: byte 10: expected UTF-8`},
	{"trailing bytes", `{"model":"m","messages":[` + user + `]} x`, `invalid||the body is not JSON: byte 58: expected the end of the document`},
	{"array", `[]`, `invalid||expected an object, got array`},
	{"no model", `{"messages":[` + user + `]}`, `invalid|model|expected the name of a model`},
	{"model of the wrong type", `{"model":1}`, `invalid|model|expected a string, got number`},
	{"no messages", `{"model":"m"}`, `invalid|messages|expected at least one message`},
	{"empty messages", `{"model":"m","messages":[]}`, `invalid|messages|expected at least one message`},
	{"messages of the wrong type", `{"model":"m","messages":"hi"}`, `invalid|messages|expected an array, got string`},
	{"message of the wrong type", `{"model":"m","messages":["hi"]}`, `invalid|messages[0]|expected an object, got string`},
	{"no role", `{"model":"m","messages":[{"content":"x"}]}`, `invalid|messages[0].role|expected system, developer, user, assistant or tool`},
	{"content of the wrong type", `{"model":"m","messages":[` + user + `,{"role":"user","content":7}]}`, `invalid|messages[1].content|expected a string or an array of parts, got number`},
	{"text of the wrong type", `{"model":"m","messages":[` + user + `,{"role":"user","content":[{"type":"text","text":{}}]}]}`, `invalid|messages[1].content[0].text|expected a string, got object`},
	{"part without a type", `{"model":"m","messages":[{"role":"user","content":[{"text":"a"}]}]}`, `invalid|messages[0].content[0].type|expected text, image_url, input_audio, file or refusal`},
	{"part of another type", `{"model":"m","messages":[{"role":"user","content":[{"type":"video_url","video_url":{}}]}]}`, `unsupported|messages[0].content[0].type|parts of type "video_url" are not served`},
	{"stored file", `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"x"}}]}]}`, `unsupported|messages[0].content[0].file.file_id|files are not stored here; send file_data`},
	{"arguments as an object", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]}`, `invalid|messages[0].tool_calls[0].function.arguments|expected a string, got object`},
	{"nameless tool", `{"model":"m","tools":[{"type":"function","function":{}}]}`, `invalid|tools[0].function.name|expected the name of a tool`},
	{"choice without tools", `{"model":"m","tool_choice":"required","messages":[` + user + `]}`, `invalid|tool_choice|a call is required, but the request has no tools`},
	{"choice of no tool", `{"model":"m","tool_choice":{"type":"function","function":{"name":"f"}},"messages":[` + user + `]}`, `invalid|tool_choice|the request has no tool "f"`},
	{"unknown choice", `{"model":"m","tool_choice":"maybe"}`, `invalid|tool_choice|expected auto, none or required`},
	{"n", `{"model":"m","n":2}`, `unsupported|n|expected 1, got 2: one turn has one choice`},
	{"logprobs", `{"model":"m","logprobs":true}`, `unsupported|logprobs|log probabilities are not served`},
	{"functions", `{"model":"m","functions":[]}`, `unsupported|functions|not served; tools and tool_choice replace it`},
	{"temperature", `{"model":"m","temperature":-1}`, `invalid|temperature|expected a number from 0 to 100, got -1`},
	{"temperature beyond floats", `{"model":"m","temperature":1e999}`, `invalid|temperature|expected a number from 0 to 100, got 1e999`},
	{"max_tokens", `{"model":"m","max_tokens":0}`, `invalid|max_tokens|expected an integer from 1 to 2147483647, got 0`},
	{"fraction", `{"model":"m","max_tokens":1.5}`, `invalid|max_tokens|expected an integer, got 1.5`},
	{"schema missing", `{"model":"m","response_format":{"type":"json_schema"}}`, `invalid|response_format.json_schema.schema|expected an object`},
	{"stop", `{"model":"m","stop":[1]}`, `invalid|stop[0]|expected a string, got number`},
	{"nested too deep", `{"x":` + strings.Repeat("[", 300), `invalid||the body is not read: byte 260: nested too deep`},
	{"too many parts", `{"model":"m","messages":[` + strings.Repeat(user+",", 70000) + user + `]}`, `invalid|messages[65536]|more than 65536 messages, parts and tools`},
}

func TestRefusals(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chat.Surface{}.Decode([]byte(tt.in), nil)
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a fault", err)
			}
			if got := fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestDecodeKeepsNothingOfTheBody overwrites the body after decoding.
func TestDecodeKeepsNothingOfTheBody(t *testing.T) {
	body := []byte(`{"model":"m","chat_template_kwargs":{"a":1},"tools":[{"type":"function","function":{"name":"f","parameters":{"b":2}}}],"messages":[` + user + `],"tool_choice":{"type":"function","function":{"name":"f"}}}`)
	req, err := chat.Surface{}.Decode(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v %v", req.Request, surfacetest.Dump(req.Messages))
	for i := range body {
		body[i] = 'x'
	}
	if after := fmt.Sprintf("%+v %v", req.Request, surfacetest.Dump(req.Messages)); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

func TestRecordedRequests(t *testing.T) {
	for _, r := range surfacetest.Recordings(t, "/v1/chat/completions") {
		req, err := chat.Surface{}.Decode(r.Body, r.Header)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		if len(req.Messages) == 0 {
			t.Errorf("%s: no messages", r.Name)
		}
	}
}

// TestHistoryIsStable: what a client says again in a later request of one conversation maps to the
// same messages.
func TestHistoryIsStable(t *testing.T) {
	type key struct{ scenario, first string }
	last := map[key][]string{}
	compared := 0
	for _, r := range surfacetest.Recordings(t, "/v1/chat/completions") {
		req, err := chat.Surface{}.Decode(r.Body, r.Header)
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		lines := surfacetest.Dump(req.Messages)
		k := key{r.Scenario, surfacetest.Opening(lines)}
		if before, ok := last[k]; ok {
			compared++
			if n := len(before) - 1; strings.Contains(before[n], "BEGIN_OPENCLAW_INTERNAL_CONTEXT") {
				before = before[:n] // this client takes its last message back
			}
			if at := surfacetest.Diverge(before, lines); at < len(before) {
				t.Errorf("%s: message %d is\n%s\nwas\n%s", r.Name, at, slices.Concat(lines, []string{"(nothing)"})[min(at, len(lines))], before[at])
			}
		}
		last[k] = lines
	}
	t.Logf("%d pairs of requests compared", compared)
}

func FuzzDecode(f *testing.F) {
	for _, r := range refusals {
		if len(r.in) < 4096 {
			f.Add([]byte(r.in))
		}
	}
	f.Add([]byte(`{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"name":"f"}]}},"messages":[{"role":"assistant","reasoning":"r","tool_calls":[{"custom":{"name":"x","input":"y"}}]},{"role":"tool","content":[{"type":"text","text":"z"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Surface{}.Decode(body, http.Header{})
		if err == nil {
			surfacetest.OwnsItsMemory(t, body, func(b []byte) (*surface.Request, error) { return chat.Surface{}.Decode(b, nil) })
			if len(req.Messages) == 0 || req.Model == "" {
				t.Fatalf("%q: accepted without model or messages", body)
			}
			return
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid && f.Kind != fault.Unsupported || f.Public == "" {
			t.Fatalf("%q: %v", body, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	body := surfacetest.LongBody(`{"model":"m","stream":true,"messages":[{"role":"system","content":"s"}`, 200<<10, func(w *bytes.Buffer, i int, text []byte) {
		fmt.Fprintf(w, `,{"role":"assistant","content":"Reading.","reasoning_content":%s,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a.go\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":%s}`, text, i, i, text)
	}, `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (chat.Surface{}).Decode(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeShort(b *testing.B) {
	body := surfacetest.ShortBody(`"stream":true,"max_tokens":4096,"temperature":0.7,"stream_options":{"include_usage":true},`,
		`{"type":"function","function":{"name":"write_file","description":"Writes text.","parameters":`+surfacetest.Schema+`}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (chat.Surface{}).Decode(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}
