package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

func TestItems(t *testing.T) {
	for _, tt := range []struct{ name, in, want, ignored string }{
		{"message", `{"type":"message","role":"user","content":[{"type":"input_text","text":"a\u00e9\n"}]}`, `user: text "aé\n"`, ``},
		{"string", `{"role":"user","content":"a"}`, `user: text "a"`, ``},
		{"type last", `{"content":[{"text":"a","type":"input_text"}],"id":"msg_1","role":"user","type":"message"}`, `user: text "a"`, ``},
		{"parts", `{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}`, `user: text "a" text "b"`, ``},
		{"empty", `{"role":"user","content":""}`, `user:`, ``},
		{"system", `{"role":"system","content":"s"}`, `system: text "s"`, ``},
		{"developer", `{"role":"developer","content":"s"}`, `developer: text "s"`, ``},
		{"assistant", `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}`, `assistant: text "a"`, ``},
		{"refusal", `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, `assistant: text "no"`, ``},
		{"commentary", `{"phase":"commentary","role":"assistant","content":"a"}`, `assistant: commentary text "a"`, ``},
		{"final answer", `{"role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}],"phase":"final_answer"}`, `assistant: final text "a" final text "b"`, ``},
		{"another phase", `{"role":"assistant","content":"a","phase":"x"}`, `assistant: text "a"`, `phase: x`},
		{"null phase", `{"role":"assistant","content":"a","phase":null}`, `assistant: text "a"`, ``},
		{"a user has no phase", `{"role":"user","content":"a","phase":"final_answer"}`, `user: text "a"`, ``},
		{
			"media", `{"role":"user","content":[{"type":"input_image","image_url":"http://x/y.png","detail":"high"},{"type":"input_image","image_url":{"url":"data:,x"}},{"input_audio":{"data":"AA==","format":"wav"},"type":"input_audio"}]}`,
			`user: image  "http://x/y.png" "" image  "data:,x" "" audio audio/wav "" "AA=="`, ``,
		},
		{
			"files", `{"role":"user","content":[{"type":"input_file","filename":"f","file_data":"data:,x","file_url":"http://x"},{"type":"input_file","file_url":"http://x"},{"type":"input_file","file_url":"http://x","file_data":"AA=="}]}`,
			`user: file  "data:,x" "" file  "http://x" "" file  "" "AA=="`, ``,
		},
		{"reasoning", `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"r"}],"encrypted_content":"e"}`, `assistant: reasoning "r" seal "e"`, ``},
		{"reasoning of several texts", `{"type":"reasoning","content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}`, `assistant: reasoning "a\n\nb" seal ""`, ``},
		{"summary alone", `{"type":"reasoning","content":null,"summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"},{"type":"summary_text","text":"u"}]}`, `assistant: reasoning "s\n\nt\n\nu" seal ""`, ``},
		{"seal alone", `{"type":"reasoning","summary":[],"encrypted_content":"e"}`, `assistant: reasoning "" seal "e"`, ``},
		{"reasoning of nothing", `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`, ``, ``},
		{"call", `{"type":"function_call","id":"fc_1","status":"completed","call_id":"c1","name":"f","namespace":"ns","arguments":"{\"a\": 1.50, \"a\":2}"}`, `assistant: call c1 ns.f "{\"a\": 1.50, \"a\":2}"`, ``},
		{"call without arguments", `{"type":"function_call","call_id":"c1","name":"f","arguments":""}`, `assistant: call c1 f "{}"`, ``},
		{"call without an id", `{"arguments":"{}","name":"f","type":"function_call"}`, `assistant: call  f "{}"`, ``},
		{"output", `{"type":"function_call_output","call_id":"c0","output":"o"}`, `tool: result c0 [ text "o" ]`, ``},
		{"output of parts", `{"type":"function_call_output","id":"fco_1","call_id":"c0","output":[{"type":"input_text","text":"o"},{"type":"output_text","text":"p"},{"type":"input_image","image_url":"data:,x"},{"type":"input_file","file_data":"data:,y"}]}`, `tool: result c0 [ text "o" text "p" image  "data:,x" "" file  "data:,y" "" ]`, ``},
		{"empty output", `{"type":"function_call_output","call_id":"c0","output":""}`, `tool: result c0 [ ]`, ``},
		{"custom call", `{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"*** {\n"}`, `assistant: call c1 patch "*** {\n" custom`, ``},
		{"custom call of nothing", `{"type":"custom_tool_call","call_id":"c1","name":"patch","input":""}`, `assistant: call c1 patch "" custom`, ``},
		{"custom output", `{"type":"custom_tool_call_output","call_id":"c0","output":"o"}`, `tool: result c0 [ text "o" ]`, ``},
		{"search", `{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":{"query": "q","limit":8}}`, `assistant: call c1 tool_search "{\"query\": \"q\",\"limit\":8}" search`, ``},
		{"search with arguments as a text", `{"type":"tool_search_call","call_id":"c1","arguments":"{\"q\": 1}"}`, `assistant: call c1 tool_search "{\"q\": 1}" search`, ``},
		{"members of other kinds of calls", `{"type":"custom_tool_call","call_id":"c1","name":"p","input":"i","arguments":{}}`, `assistant: call c1 p "i" custom`, ``},
		{"members of other kinds of outputs", `{"type":"function_call_output","call_id":"c0","output":"o","tools":7}`, `tool: result c0 [ text "o" ]`, ``},
		{"reasoning as a text", `{"type":"reasoning","content":"r","status":"completed"}`, `assistant: reasoning "r" seal ""`, ``},
		{"search for nothing", `{"type":"tool_search_call","call_id":"c1"}`, `assistant: call c1 tool_search "{}" search`, ``},
		{
			"found", `{"type":"tool_search_output","call_id":"c0","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"h","defer_loading":true}]},{"type":"mcp"}]}`,
			`tool: result c0 [ reference f reference ns__h ]`, `tools: mcp`,
		},
		{"found nothing", `{"type":"tool_search_output","call_id":"c0","tools":[]}`, `tool: result c0 [ ]`, ``},
		{"more tools", `{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]}`, ``, ``},
		{"compaction", `{"type":"compaction","id":"cmp_1","encrypted_content":"e"}`, `user: summary "" seal "e"`, ``},
		{"compaction by its other name", `{"encrypted_content":"e","type":"compaction_summary"}`, `user: summary "" seal "e"`, ``},
		{"web search", `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`, ``, `input: web_search_call`},
		{"file search", `{"type":"file_search_call","id":"fs_1","queries":["q"],"results":[{"text":"x"}]}`, ``, `input: file_search_call`},
		{"computer", `{"type":"computer_call","call_id":7,"action":{}}`, ``, `input: computer_call`},
		{"local shell", `{"type":"local_shell_call","call_id":"c1","action":{"command":["ls"]}}`, ``, `input: local_shell_call`},
		{"mcp", `{"type":"mcp_list_tools","tools":[{"name":"x"}]}`, ``, `input: mcp_list_tools`},
		{"image", `{"type":"image_generation_call","result":"AA=="}`, ``, `input: image_generation_call`},
		{"unheard of", `{"id":7,"content":8,"role":9,"arguments":{},"tools":1,"type":"novelty"}`, ``, `input: novelty`},
		{"a long type", `{"type":"` + strings.Repeat("a", 100) + `"}`, ``, `input: ` + strings.Repeat("a", 64)},
		{"lone surrogate", `{"role":"user","content":"\ud83d"}`, `user: text "` + "\ufffd" + `"`, ``},
		{"unknown members", `{"role":"user","x":{"y":[1,{"z":"]"}]},"content":"a","internal_chat_message_metadata_passthrough":{"turn_id":"t"}}`, `user: text "a"`, ``},
		{"a member twice", `{"role":"user","content":"a","content":"b"}`, `user: text "b"`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"model":"m","input":[ ` + tt.in + ` ]}`
			req, err := decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			own := responses.OwnOf(req)
			if len(own.Input) != 1 || string(own.Input[0].JSON) != tt.in {
				t.Fatalf("items %+v", own.Input)
			}
			if got := strings.Join(surfacetest.Dump(own.Input[0].Messages), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := strings.Join(req.Ignored, ", "); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
		})
	}
}

func TestStringInput(t *testing.T) {
	req, err := joined([]byte(`{"model":"m","input": "a\"\u00e9" ,"instructions":"be brief"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(surfacetest.Dump(req.Messages), "\n"), "system: text \"be brief\"\nuser: text \"a\\\"é\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	item := responses.OwnOf(req).Input[0]
	if got, want := string(item.JSON), `{"type":"message","role":"user","content":[{"type":"input_text","text":"a\"\u00e9"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	again, err := joined([]byte(`{"model":"m","instructions":"be brief","input":[` + string(item.JSON) + `]}`))
	if err != nil || fmt.Sprint(surfacetest.Dump(again.Messages)) != fmt.Sprint(surfacetest.Dump(req.Messages)) {
		t.Errorf("the kept item says %v, %v", surfacetest.Dump(again.Messages), err)
	}
}

func TestReferences(t *testing.T) {
	req, err := decode([]byte(`{"model":"m","input":[` + hi + `,{"type":"item_reference","id":"rs_1"},{"id":"msg_1"},{"id":"fc_1","type":null},{"type":"compaction_trigger"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	own := responses.OwnOf(req)
	want := []responses.Ref{{At: 1, ID: "rs_1", Path: "input[1].id"}, {At: 2, ID: "msg_1", Path: "input[2].id"}, {At: 3, ID: "fc_1", Path: "input[3].id"}}
	if fmt.Sprint(own.Refs) != fmt.Sprint(want) || !own.Compact || len(own.Input) != 5 {
		t.Errorf("got %v, %v, %d items", own.Refs, own.Compact, len(own.Input))
	}
}

func TestTools(t *testing.T) {
	for _, tt := range []struct{ name, in, want, ignored string }{
		{
			"function", `{"type":"function","name":"a","description":"d","parameters":{"z":1, "a":1.0},"strict":true,"defer_loading":true}`,
			`[{Kind:0 Namespace: Name:a Description:d Schema:{"z":1, "a":1.0} Strict:true Deferred:true Format:}]`, ``,
		},
		{"without parameters", `{"parameters":null,"strict":null,"name":"b","type":"function"}`, `[{Kind:0 Namespace: Name:b Description: Schema: Strict:false Deferred:false Format:}]`, ``},
		{"custom", `{"type":"custom","name":"p","description":"d","format":{"type":"grammar","syntax":"lark"}}`, `[{Kind:1 Namespace: Name:p Description:d Schema: Strict:false Deferred:false Format:{"type":"grammar","syntax":"lark"}}]`, ``},
		{
			"namespace", `{"tools":[{"type":"function","name":"a","description":"one"},{"type":"custom","name":"b","description":"two"},{"type":"web_search"},{"type":"namespace"}],"type":"namespace","description":"all","name":"ns"}`,
			`[{Kind:0 Namespace:ns Name:a Description:all` + "\n\n" + `one Schema: Strict:false Deferred:false Format:} {Kind:1 Namespace:ns Name:b Description:two Schema: Strict:false Deferred:false Format:}]`, `tools: web_search, tools: namespace`,
		},
		{"namespace of a tool that is not described", `{"type":"namespace","name":"ns","description":"all","tools":[{"type":"function","name":"a"}]}`, `[{Kind:0 Namespace:ns Name:a Description:all Schema: Strict:false Deferred:false Format:}]`, ``},
		{"empty namespace", `{"type":"namespace","name":"ns","description":"all","tools":[]}`, `[]`, ``},
		{
			"search", `{"type":"tool_search","execution":"client","description":"d","parameters":{"type":"object"}}`,
			`[{Kind:2 Namespace: Name:tool_search Description:d Schema:{"type":"object"} Strict:false Deferred:false Format:}]`, ``,
		},
		{
			"the vendor's search", `{"type":"function","name":"a","defer_loading":true},{"type":"tool_search"}`,
			`[{Kind:0 Namespace: Name:a Description: Schema: Strict:false Deferred:false Format:}]`, `tools: tool_search that the vendor executes`,
		},
		{
			"hosted", `{"type":"web_search","name":7},{"type":"web_search_preview"},{"type":"file_search"},{"type":"code_interpreter","container":{}},{"type":"mcp","tools":1},{"type":"image_generation"},{"type":"computer_use_preview"},{"type":"local_shell"},{"type":"novelty","parameters":1}`,
			`[]`, `tools: web_search, tools: web_search_preview, tools: file_search, tools: code_interpreter, tools: mcp, tools: image_generation, tools: computer_use_preview, tools: local_shell, tools: novelty`,
		},
	} {
		for _, form := range []string{`{"model":"m","input":"x","tools":[%s]}`, `{"model":"m","input":[` + hi + `,{"type":"additional_tools","tools":[%s]}]}`} {
			t.Run(tt.name, func(t *testing.T) {
				req, err := joined(fmt.Appendf(nil, form, tt.in))
				if err != nil {
					t.Fatal(err)
				}
				if got := tooltext(req.Tools); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if got := strings.Join(req.Ignored, ", "); got != tt.ignored {
					t.Errorf("ignored %q, want %q", got, tt.ignored)
				}
			})
		}
	}
}

func tooltext(tools []conv.ToolDef) string {
	type readable struct {
		Kind                         conv.ToolKind
		Namespace, Name, Description string
		Schema                       string
		Strict, Deferred             bool
		Format                       string
	}
	out := []readable{}
	for _, d := range tools {
		out = append(out, readable{d.Kind, d.Namespace, d.Name, d.Description, string(d.Schema), d.Strict, d.Deferred, string(d.Format)})
	}
	return fmt.Sprintf("%+v", out)
}
