package messages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"string", `{"role":"user","content":"a"}`, `user: text "a"`},
		{"one block is a string", `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`, `user: text "a"`},
		{"blocks stay apart", `{"content":[{"type":"text","text":"a"},{"text":"b","type":"text"},{"type":"text","text":""}],"role":"user"}`, `user: text "a" text "b"`},
		{"system inside", `{"role":"system","content":[{"type":"text","text":"env"},{"type":"tool_addition","x":1}],"output_config":{"effort":"low"}}`, `system: text "env"`},
		{
			"turn in its order", `{"role":"assistant","content":[{"type":"thinking","thinking":"t1","signature":"s1"},{"type":"text","text":"x"},{"type":"tool_use","id":"u1","name":"f","input":{"z": 1.50,"a":1,"a":2}},{"type":"thinking","thinking":"t2","signature":""},{"input":{},"name":"g","id":"u2","type":"tool_use","caller":{"type":"direct"}}]}`,
			`assistant: reasoning "t1" seal "s1" text "x" call u1 f "{\"z\": 1.50,\"a\":1,\"a\":2}" reasoning "t2" seal "" call u2 g "{}"`,
		},
		{
			"thinking without text", `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"}]}`,
			`assistant: reasoning "" seal "s" reasoning "" seal "d"`,
		},
		{"our own empty signature", `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"weir1.unsealed"}]}`, `assistant: reasoning "t" seal ""`},
		{"no input", `{"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"f"}]}`, `assistant: call u1 f "{}"`},
		{
			"results and text", `{"role":"user","content":[{"tool_use_id":"u2","type":"tool_result","content":"two","is_error":true},{"type":"tool_result","tool_use_id":"u1","content":[{"type":"text","text":"one"}],"is_error":false},{"type":"text","text":"go on"}]}`,
			"tool: result u2 [ text \"two\" ] error result u1 [ text \"one\" ]\nuser: text \"go on\"",
		},
		{
			"text before a result", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"u1"},{"type":"text","text":"b"}]}`,
			"user: text \"a\"\ntool: result u1 [ ]\nuser: text \"b\"",
		},
		{
			"references", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":[{"type":"tool_reference","tool_name":"WebSearch"},{"type":"text","text":"Tool loaded."}]}]}`,
			`tool: result u1 [ reference WebSearch text "Tool loaded." ]`,
		},
		{
			"media", `{"role":"user","content":[{"type":"image","source":{"media_type":"image/png","type":"base64","data":"AA=="}},{"type":"image","source":{"type":"url","url":"http://x/y.png"}},{"type":"document","title":"t","source":{"type":"base64","media_type":"application/pdf","data":"BB=="}}]}`,
			`user: image image/png "" "AA==" image  "http://x/y.png" "" text "t\n" file application/pdf "" "BB=="`,
		},
		{
			"documents of text", `{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"document","source":1}]}},{"type":"search_result","source":"http://x","title":"t","content":[{"type":"text","text":"found"}]}]}`,
			`user: text "plain" text "a" text "t\n" text "http://x\n" text "found"`,
		},
		{
			"what is said about documents", `{"role":"user","content":[{"context":"kept in the safe","type":"document","title":"Will","source":{"type":"text","media_type":"text/plain","data":"plain"}},{"type":"document","title":null,"context":null,"source":{"type":"text","media_type":"text/plain","data":"b"}},{"type":"tool_result","tool_use_id":"u1","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"found"}]}]}]}`,
			"user: text \"Will\\n\" text \"kept in the safe\\n\" text \"plain\" text \"b\"\ntool: result u1 [ text \"t\\n\" text \"s\\n\" text \"found\" ]",
		},
		{
			"media in a result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}`,
			`tool: result u1 [ image image/png "" "AA==" ]`,
		},
		{
			"hosted and unknown blocks", `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"content":{"type":"web_search_tool_result_error"},"type":"web_search_tool_result"},{"type":"unheard_of","text":{},"source":[]},{"type":"text","text":"x"}]}`,
			`assistant: text "x"`,
		},
		{"empty", `{"role":"user","content":""}`, `user:`},
		{"no content", `{"role":"user"}`, `user:`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := messages.Surface{}.Decode([]byte(`{"model":"m","max_tokens":1,"messages":[`+tt.in+`]}`), nil)
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

func TestSystem(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"none", ``, ``},
		{"string", `"system":"s",`, `system: text "s"`},
		{"empty", `"system":"",`, ``},
		{
			"blocks", `"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1;"},{"type":"text","text":"s","cache_control":{"type":"ephemeral"}},{"type":"image","source":{}}],`,
			`system: text "x-anthropic-billing-header: cc_version=1;" text "s"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := messages.Surface{}.Decode([]byte(`{"model":"m","max_tokens":1,`+tt.in+`"messages":[`+user+`]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			lines := surfacetest.Dump(req.Messages)
			if got := strings.Join(lines[:len(lines)-1], "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	const tools = `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
	for _, tt := range []struct{ name, in, want string }{
		{"silent", ``, `choice {0  true} think {2 0  false} stop [] stream false user "" format {  [] false} ignored []`},
		{"thinking", `"thinking":{"budget_tokens":32000,"type":"enabled","display":"omitted"},`, `think {1 32000  true}`},
		{"adaptive", `"thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"high"},`, `think {3 0 high false}`},
		{"disabled", `"thinking":{"type":"disabled"},`, `think {2 0  false}`},
		{"a newer kind of thinking", `"thinking":{"type":"between_tools"},`, `think {3 0  false}`},
		{"effort alone does not switch thinking on", `"output_config":{"effort":"low"},`, `think {2 0 low false}`},
		{"format", `"output_config":{"format":{"type":"json_schema","schema":{"a":1}}},`, `format {json_schema  [123 34 97 34 58 49 125] true}`},
		{"older format", `"output_format":{"type":"json_schema","schema":{}},`, `format {json_schema  [123 125] true}`},
		{"auto", tools + `"tool_choice":{"type":"auto","disable_parallel_tool_use":true},`, `choice {0  false}`},
		{"any", tools + `"tool_choice":{"type":"any"},`, `choice {2  true}`},
		{"tool", tools + `"tool_choice":{"name":"f","type":"tool"},`, `choice {3 f true}`},
		{"none", tools + `"tool_choice":{"type":"none"},`, `choice {1  true}`},
		{"stop", `"stop_sequences":["a","b"],"stream":true,`, `stop ["a" "b"] stream true`},
		{"user", `"metadata":{"user_id":"{\"device_id\":\"d\"}","x":1},`, `user "{\"device_id\":\"d\"}"`},
		{"no effect", `"context_management":{"edits":[]},"safeguards":[{"type":"dangerous_tool_use"}],"unheard_of":{},"mcp_servers":[],`, `ignored ["context_management" "safeguards" "mcp_servers"]`},
		{"hosted tools", `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}],"tool_choice":{"type":"auto"},`, `ignored ["tools: web_search_20250305"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := messages.Surface{}.Decode([]byte(`{"model":"m","max_tokens":1,`+tt.in+`"messages":[`+user+`]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("choice %v think %v stop %q stream %v user %q format %v ignored %q",
				req.Choice, req.Thinking, req.Stop, req.Stream, req.User, req.Format, req.Ignored)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	req, err := messages.Surface{}.Decode([]byte(`{"model":"m","max_tokens":1,"messages":[`+user+`],"tools":[
		{"name":"a","description":"d","input_schema":{"z":1, "a":1.0},"eager_input_streaming":true,"cache_control":{"type":"ephemeral"}},
		{"input_schema":{},"name":"b","defer_loading":true,"type":"custom"},
		{"name":"c","strict":true},
		{"type":"mcp_toolset","mcp_server_name":"x"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, d := range req.Tools {
		got += fmt.Sprintf("%s %q %s strict %v deferred %v\n", d.Name, d.Description, d.Schema, d.Strict, d.Deferred)
	}
	want := "a \"d\" {\"z\":1, \"a\":1.0} strict false deferred false\nb \"\" {} strict false deferred true\nc \"\"  strict true deferred false\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSession(t *testing.T) {
	h := http.Header{}
	h.Set("X-Claude-Code-Session-Id", "s1")
	body := []byte(`{"model":"m","max_tokens":1,"messages":[` + user + `]}`)
	req, err := messages.Surface{}.Decode(body, h)
	if err != nil || req.Session != "s1" {
		t.Errorf("got %v, %v", req, err)
	}
	h.Set("X-Claude-Code-Agent-Id", "a1")
	req, err = messages.Surface{}.Decode(body, h)
	if err != nil || req.Session != "s1/a1" {
		t.Errorf("a sub-agent: got %v, %v", req, err)
	}
}

func TestDecodeCount(t *testing.T) {
	body := []byte(`{"model":"m","messages":[` + user + `],"tools":[]}`)
	if _, err := (messages.Surface{}).DecodeCount(body, nil); err != nil {
		t.Error(err)
	}
	_, err := messages.Surface{}.Decode(body, nil)
	if f := fault.From(err); err == nil || f.Kind != fault.Invalid || f.Param != "max_tokens" {
		t.Errorf("without max_tokens: %v", err)
	}
}

// refusals are bodies with the fault that each must give: kind, path, text.
var refusals = []struct{ name, in, want string }{
	{"cut", `{"model":"m","messages":[`, `invalid||the body is not JSON: byte 25: expected a value`},
	{"no model", `{"max_tokens":1,"messages":[` + user + `]}`, `invalid|model|expected the name of a model`},
	{"no messages", `{"model":"m","max_tokens":1}`, `invalid|messages|expected at least one message`},
	{"empty messages", `{"model":"m","max_tokens":1,"messages":[]}`, `invalid|messages|expected at least one message`},
	{"role", `{"model":"m","messages":[{"role":"tool","content":"x"}]}`, `invalid|messages[0].role|expected user, assistant or system`},
	{"content of the wrong type", `{"model":"m","messages":[` + user + `,` + user + `,{"role":"user","content":{}}]}`, `invalid|messages[2].content|expected a string or an array of blocks, got object`},
	{"text of the wrong type", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":7}]}]}`, `invalid|messages[0].content[0].text|expected a string, got number`},
	{"text of the wrong type before its type", `{"model":"m","messages":[{"role":"user","content":[{"text":7,"type":"text"}]}]}`, `invalid|messages[0].content[0].text|expected a string, got number`},
	{"nested in a result", `{"model":"m","messages":[{"role":"user","content":[{"tool_use_id":"u","content":[{"text":[],"type":"text"}],"type":"tool_result"}]}]}`, `invalid|messages[0].content[0].content[0].text|expected a string, got array`},
	{"bad escape before the type", `{"model":"m","messages":[{"role":"user","content":[{"text":"a\q","type":"text"}]}]}`, `invalid||the body is not JSON: byte 59: expected a string with valid escapes`},
	{"block without a type", `{"model":"m","messages":[{"role":"user","content":[{"text":"a"}]}]}`, `invalid|messages[0].content[0].type|expected the type of a block`},
	{"input of the wrong type", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"f","input":"{}"}]}]}`, `invalid|messages[0].content[0].input|expected an object, got string`},
	{"nameless call", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"u","input":{}}]}]}`, `invalid|messages[0].content[0].name|expected the name of a tool`},
	{"a user's call", `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_use","name":"f","input":{}}]}]}`, `invalid|messages[0].content|a message of role user has a block of another role`},
	{"an assistant's result", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"u"}]}]}`, `invalid|messages[0].content|a message of role assistant has a block of another role`},
	{"image without a source", `{"model":"m","messages":[{"role":"user","content":[{"type":"image"}]}]}`, `invalid|messages[0].content[0].source|expected an object`},
	{"stored file", `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"x"}}]}]}`, `unsupported|messages[0].content[0].source.type|files are not stored here; send the data`},
	{"choice of no tool", `{"model":"m","max_tokens":1,"messages":[` + user + `],"tool_choice":{"type":"tool","name":"f"}}`, `invalid|tool_choice|the request has no tool "f"`},
	{"unknown choice", `{"model":"m","tool_choice":{"type":"maybe"}}`, `invalid|tool_choice.type|expected auto, any, tool or none`},
	{"choice as a string", `{"model":"m","tool_choice":"auto"}`, `invalid|tool_choice|expected an object, got string`},
	{"max_tokens", `{"model":"m","max_tokens":-1}`, `invalid|max_tokens|expected an integer from 1 to 2147483647, got -1`},
	{"thinking without a type", `{"model":"m","thinking":{}}`, `invalid|thinking.type|expected enabled, disabled or adaptive`},
	{"format without a schema", `{"model":"m","output_config":{"format":{"type":"json_schema"}}}`, `invalid|output_config.format.schema|expected an object`},
	{"nameless tool", `{"model":"m","tools":[{"input_schema":{}}]}`, `invalid|tools[0].name|expected the name of a tool`},
	{"schema of the wrong type", `{"model":"m","tools":[{"name":"f","input_schema":[]}]}`, `invalid|tools[0].input_schema|expected an object, got array`},
	{"members without end before the type", `{"model":"m","messages":[{"role":"user","content":[{` + strings.Repeat(`"a":1,`, 100) + `"type":"text"}]}]}`, `invalid|messages[0].content[0].a|more than 64 members before "type"`},
}

func TestRefusals(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			_, err := messages.Surface{}.Decode([]byte(tt.in), nil)
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

func TestRecordedRequests(t *testing.T) {
	for path, decode := range map[string]func(r surfacetest.Recording) error{
		"/v1/messages": func(r surfacetest.Recording) error {
			_, err := messages.Surface{}.Decode(r.Body, r.Header)
			return err
		},
		"/v1/messages/count_tokens": func(r surfacetest.Recording) error {
			_, err := messages.Surface{}.DecodeCount(r.Body, r.Header)
			return err
		},
	} {
		for _, r := range surfacetest.Recordings(t, path) {
			if err := decode(r); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
	}
}

// TestHistoryIsStable: what a client says again in a later request of one conversation maps to the
// same messages, though it writes strings for lists and moves its cache_control.
func TestHistoryIsStable(t *testing.T) {
	type key struct{ scenario, first string }
	last := map[key][]string{}
	compared := 0
	for _, r := range surfacetest.Recordings(t, "/v1/messages") {
		req, err := messages.Surface{}.Decode(r.Body, r.Header)
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
				t.Errorf("%s: message %d differs:\n%s", r.Name, at, strings.Join(append(lines[min(at, len(lines)):], "was", before[at]), "\n"))
			}
		}
		last[k] = lines
	}
	t.Logf("%d pairs of requests compared", compared)
}

func FuzzDecode(f *testing.F) {
	for _, r := range refusals {
		f.Add([]byte(r.in))
	}
	f.Add([]byte(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"s"}],"tools":[{"name":"f","input_schema":{},"defer_loading":true}],"messages":[{"role":"assistant","content":[{"signature":"s","type":"thinking","thinking":"t"},{"type":"tool_use","name":"f","input":{}}]},{"role":"user","content":[{"content":[{"type":"tool_reference","tool_name":"f"}],"type":"tool_result"},{"type":"document","source":{"content":[{"type":"text","text":"a"}],"type":"content"}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := messages.Surface{}.DecodeCount(body, http.Header{})
		if err == nil {
			surfacetest.OwnsItsMemory(t, body, func(b []byte) (*surface.Request, error) { return messages.Surface{}.DecodeCount(b, nil) })
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
	body := surfacetest.LongBody(`{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"u"}`, 200<<10, func(w *bytes.Buffer, i int, text []byte) {
		fmt.Fprintf(w, `,{"role":"assistant","content":[{"type":"thinking","thinking":%s,"signature":"s"},{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"path":"a.go"}}]},{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":[{"type":"text","text":%s}]}]}`, text, i, i, text)
	}, `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (messages.Surface{}).Decode(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStandard is the same body through encoding/json's maps, for comparison.
func BenchmarkStandard(b *testing.B) {
	body := surfacetest.LongBody(`{"messages":[1`, 200<<10, func(w *bytes.Buffer, _ int, text []byte) { fmt.Fprintf(w, `,{"text":%s}`, text) }, `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeShort(b *testing.B) {
	body := surfacetest.ShortBody(`"stream":true,"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},"system":"Be brief.",`,
		`{"name":"write_file","description":"Writes text.","input_schema":`+surfacetest.Schema+`}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (messages.Surface{}).Decode(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}
