package responses_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// kept are items as an earlier request left them.
func kept(t *testing.T, items string) []chain.Item {
	t.Helper()
	req, err := decode([]byte(`{"model":"m","input":[` + items + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return responses.OwnOf(req).Input
}

const (
	callOne   = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"}`
	outputOne = `{"type":"function_call_output","call_id":"c1","output":"o"}`
	outputTwo = `{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"p"},{"type":"input_image","image_url":"data:,x"}]}`
	thought   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`
	said      = `{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"a"}]}`
)

func TestJoin(t *testing.T) {
	for _, tt := range []struct{ name, history, body, want string }{
		{
			"a turn is one message", ``, `"input":[` + hi + `,` + thought + `,` + said + `,` + callOne + `,` + outputOne + `]`,
			`user: text "hi" | assistant: reasoning "" seal "e" commentary text "a" call c1 f "{}" | tool: result c1 [ text "o" ]`,
		},
		{
			"instructions and history", hi + `,` + thought + `,` + callOne, `"previous_response_id":"r","instructions":"be brief","input":[` + outputOne + `]`,
			`system: text "be brief" | user: text "hi" | assistant: reasoning "" seal "e" call c1 f "{}" | tool: result c1 [ text "o" ]`,
		},
		{
			"instructions of items", hi, `"instructions":[{"role":"developer","content":"d"},{"role":"user","content":"u"}],"input":"x"`,
			`developer: text "d" | user: text "u" | user: text "hi" | user: text "x"`,
		},
		{
			"an answer goes on across the border", hi + `,` + thought, `"input":[` + said + `,` + hi + `]`,
			`user: text "hi" | assistant: reasoning "" seal "e" commentary text "a" | user: text "hi"`,
		},
		{"history alone", hi, `"previous_response_id":"r","input":[]`, `user: text "hi"`},
		{"history alone, silent", hi, `"previous_response_id":"r"`, `user: text "hi"`},
		{"nothing to generate", ``, `"generate":false,"input":[]`, ``},
		{
			"neighbouring results", ``, `"input":[` + callOne + `,{"type":"function_call","call_id":"c3","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c3","output":"q"},` + outputOne + `]`,
			`assistant: call c1 f "{}" call c3 f "{}" | tool: result c3 [ text "q" ] | tool: result c1 [ text "o" ]`,
		},
		{"a call without a result", ``, `"input":[` + hi + `,` + callOne + `]`, `user: text "hi" | assistant: call c1 f "{}"`},
		{"a last message of the assistant's", ``, `"input":[` + hi + `,` + said + `]`, `user: text "hi" | assistant: commentary text "a"`},
		{"results of no call", ``, `"input":[` + hi + `,` + outputOne + `,` + outputTwo + `]`, `user: text "hi" | user: text "o" | user: text "p" image  "data:,x" ""`},
		{"an empty result of no call", ``, `"input":[{"type":"function_call_output","call_id":"c1","output":""}]`, `user:`},
		{"results of no call in the history", hi + `,` + outputTwo + `,` + callOne, `"previous_response_id":"r","input":[` + outputOne + `]`, `user: text "hi" | user: text "p" image  "data:,x" "" | assistant: call c1 f "{}" | tool: result c1 [ text "o" ]`},
		{
			"calls without ids", ``, `"input":[{"type":"tool_search_call","call_id":null,"arguments":{}},{"type":"tool_search_output","call_id":null,"tools":[]}]`,
			`assistant: call  tool_search "{}" search | tool: result  [ ]`,
		},
		{"after a compaction", ``, `"input":[` + hi + `,{"type":"compaction","encrypted_content":"e"},` + hi + `]`, `user: text "hi" | user: summary "" seal "e" | user: text "hi"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := decode([]byte(`{"model":"m",` + tt.body + `}`))
			if err != nil {
				t.Fatal(err)
			}
			history, before := kept(t, tt.history), kept(t, tt.history)
			for range 2 { // a request can be joined again
				if err := responses.Join(req, history); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(surfacetest.Dump(req.Messages), " | "); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
			again, err := decode([]byte(`{"model":"m",` + tt.body + `}`))
			if err != nil || !reflect.DeepEqual(history, before) || !reflect.DeepEqual(responses.OwnOf(req), responses.OwnOf(again)) {
				t.Errorf("items changed, %v", err)
			}
		})
	}
}

func TestJoinResolved(t *testing.T) {
	req, err := decode([]byte(`{"model":"m","input":[` + hi + `,{"type":"item_reference","id":"rs_1"},{"type":"item_reference","id":"fc_1"},` + outputOne + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	own := responses.OwnOf(req)
	for i, item := range kept(t, thought+`,`+callOne) {
		own.Input[own.Refs[i].At] = item
	}
	if err := responses.Join(req, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(surfacetest.Dump(req.Messages), " | "), `user: text "hi" | assistant: reasoning "" seal "e" call c1 f "{}" | tool: result c1 [ text "o" ]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestJoinSummedUp goes on from answers that sum up what came before them: that is said no more. Tools stay known, and a
// result whose call was summed up is told.
func TestJoinSummedUp(t *testing.T) {
	summary := func(text string) chain.Item {
		return chain.Item{ID: "cmp_1", Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{{Kind: conv.Summary, Text: text, Seal: "e"}}}}}
	}
	found := kept(t, hi+`,`+callOne+`,{"type":"tool_search_call","call_id":"s","arguments":{}},{"type":"tool_search_output","call_id":"s","tools":[{"type":"function","name":"late"}]}`)
	for _, tt := range []struct {
		name    string
		history []chain.Item
		want    string
	}{
		{"all of it", append(found, summary("short")), `system: text "be brief" | user: summary "short" seal "e" | user: text "o"`},
		{"twice", slices.Concat(found, []chain.Item{summary("short")}, kept(t, hi), []chain.Item{summary("shorter")}), `system: text "be brief" | user: summary "shorter" seal "e" | user: text "o"`},
		{"what came then", slices.Concat(found, []chain.Item{summary("short")}, kept(t, said)), `system: text "be brief" | user: summary "short" seal "e" | assistant: commentary text "a" | user: text "o"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := decode([]byte(`{"model":"m","previous_response_id":"r","instructions":"be brief","input":[` + outputOne + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(tt.history)
			for range 2 {
				if err := responses.Join(req, tt.history); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(surfacetest.Dump(req.Messages), " | "); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
			if !slices.ContainsFunc(req.Tools, func(d conv.ToolDef) bool { return d.Name == "late" }) || !reflect.DeepEqual(before, tt.history) {
				t.Errorf("tools %v, or the history changed", req.Tools)
			}
		})
	}
}

func TestJoinFaults(t *testing.T) {
	for _, tt := range []struct{ name, history, body, want string }{
		{"no call in the history", hi, `"input":[` + hi + `,` + outputOne + `]`, `invalid|input[1].call_id|no tool call found for call_id c1`},
		{"no call and an unknown id", ``, `"previous_response_id":"r","input":[` + outputOne + `]`, `invalid|input[0].call_id|no tool call found for call_id c1`},
		{"no id", callOne, `"previous_response_id":"r","input":[{"type":"function_call_output","output":"o"}]`, `invalid|input[0].call_id|no tool call found for call_id `},
		{
			"a tool that is found twice by one name", `{"type":"tool_search_output","tools":[{"type":"function","name":"ns__f"}]}`,
			`"tools":[{"type":"namespace","name":"ns","tools":[{"type":"function","name":"f"}]}],"input":"x"`,
			`invalid|tools|the model would know both the tool "f" of namespace "ns" and the tool "ns__f" as "ns__f"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := decode([]byte(`{"model":"m",` + tt.body + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(responses.Join(req, kept(t, tt.history))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestJoinTools(t *testing.T) {
	found := func(tools string) string {
		return `{"type":"tool_search_call","call_id":"s","arguments":{}},{"type":"tool_search_output","call_id":"s","tools":[` + tools + `]}`
	}
	const inA = `{"type":"namespace","name":"a","tools":[{"type":"function","name":"f","description":"kept"},{"type":"function","name":"g"}]}`
	const inB = `{"type":"namespace","name":"b","tools":[{"type":"function","name":"g"}]}`
	for _, tt := range []struct{ name, history, body, want, results string }{
		{"found", found(inA + `,{"type":"function","name":"h"}`), `"input":"x"`, `[a.f~ a.g~ h~]`, `[ reference a__f reference a__g reference h ]`},
		{"found twice", found(inA), `"input":[` + found(inA) + `]`, `[a.f~ a.g~]`, `[ reference a__f reference a__g ] [ reference a__f reference a__g ]`},
		{"found and listed", found(inA), `"tools":[` + inA + `],"input":"x"`, `[a.f a.g]`, `[ reference a__f reference a__g ]`},
		{"found and listed as deferred", found(inA), `"tools":[{"type":"namespace","name":"a","tools":[{"type":"function","name":"g","defer_loading":true}]}],"input":"x"`, `[a.g~ a.f~]`, `[ reference a__f reference a__g ]`},
		{"one name in two namespaces", found(inA), `"input":[` + found(inB) + `]`, `[a.f~ a.g~ b.g~]`, `[ reference a__f reference a__g ] [ reference b__g ]`},
		{"added", `{"type":"additional_tools","tools":[` + inA + `]}`, `"tools":[` + inB + `],"input":"x"`, `[b.g a.f a.g]`, ``},
		{"allowed", found(inA), `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","namespace":"a","name":"f"}]},"input":"x"`, `[a.f~]`, `[ reference a__f reference a__g ]`},
		{"the vendor's search", found(inA), `"tools":[{"type":"tool_search"},{"type":"function","name":"h","defer_loading":true}],"input":"x"`, `[h a.f~ a.g~]`, `[ reference a__f reference a__g ]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			history := kept(t, tt.history)
			req, err := decode([]byte(`{"model":"m",` + tt.body + `}`))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := responses.Join(req, history); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(names(req)); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				var results []string
				for _, l := range surfacetest.Dump(req.Messages) {
					if _, parts, ok := strings.Cut(l, "result s "); ok {
						results = append(results, parts)
					}
				}
				if got := strings.Join(results, " "); got != tt.results {
					t.Errorf("got %s, want %s", got, tt.results)
				}
			}
			if !reflect.DeepEqual(history, kept(t, tt.history)) {
				t.Error("the history changed")
			}
		})
	}
	named, err := decode([]byte(`{"model":"m","tool_choice":{"type":"function","namespace":"a","name":"g"},"input":"x"}`))
	if err == nil {
		err = responses.Join(named, kept(t, found(inA)))
	}
	if err != nil || named.Choice.Name != "a__g" {
		t.Errorf("a found tool is not chosen: %+v, %v", named.Choice, err)
	}
}

func TestJoinCompact(t *testing.T) {
	const body = `{"model":"m","stream":true,` + tools + `"tool_choice":"required","parallel_tool_calls":false,"text":{"format":{"type":"json_object"}},"input":[` + hi + `%s]}`
	plain, err := joined(fmt.Appendf(nil, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	req, err := joined(fmt.Appendf(nil, body, `,{"type":"compaction_trigger"}`))
	if err != nil {
		t.Fatal(err)
	}
	n := len(plain.Messages)
	if !reflect.DeepEqual(req.Messages[:n], plain.Messages) || !reflect.DeepEqual(req.Tools, plain.Tools) {
		t.Error("the prompt begins otherwise")
	}
	if len(req.Messages) != n+1 || req.Messages[n].Role != conv.User || len(req.Messages[n].Parts[0].Text) < 200 {
		t.Errorf("messages %v", surfacetest.Dump(req.Messages))
	}
	if req.Choice != (conv.ToolChoice{Mode: conv.ChoiceNone}) || req.Format.Type != "" || !req.Stream {
		t.Errorf("choice %v, format %v, stream %v", req.Choice, req.Format, req.Stream)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("a", 1000)
	item := func(id, text string) string {
		return `,{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"` + id + `","output":[{"type":"input_text","text":"` + text + `"},{"type":"input_image","image_url":"data:,x"},{"type":"input_text","text":"` + text + `"}]}`
	}
	body := []byte(`{"model":"m","input":[` + hi + item("c1", long) + item("c2", "short") + item("c3", long) + `,{"type":"compaction_trigger"}]}`)
	for _, tt := range []struct {
		name string
		over []int
		want string // what is left of the results
	}{
		{"enough", []int{0}, "true? [false] 2000 10 2000"},
		{"the oldest", []int{1}, "true? [true] 31 10 2000"},
		{"both", []int{2500}, "true? [true] 31 10 31"},
		{"one after the other", []int{10, 10, 10}, "true? [true true false] 31 10 31"},
		{"too much", []int{1 << 20, 1}, "true? [true false] 31 10 31"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := joined(body)
			if err != nil {
				t.Fatal(err)
			}
			before, messages := *req.Request, surfacetest.Dump(req.Messages)
			var cut []bool
			for _, over := range tt.over {
				cut = append(cut, responses.Shorten(req, over))
			}
			got := fmt.Sprintf("true? %v", cut)
			for i := range req.Messages {
				if m := &req.Messages[i]; m.Role == conv.Tool {
					got += fmt.Sprint(" ", textOf(m))
				}
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !reflect.DeepEqual(surfacetest.Dump(before.Messages), messages) {
				t.Error("the messages changed in place")
			}
			if s := strings.Join(surfacetest.Dump(req.Messages), " "); strings.Count(s, "data:,x") != 3 || cut[0] && !strings.Contains(s, `result c1 [ text "[output of 2000 bytes left out]" image`) {
				t.Errorf("got %s", s)
			}
		})
	}
	if responses.Shorten(&surface.Request{Request: &conv.Request{}}, 10) {
		t.Error("nothing was cut")
	}
}

func textOf(m *conv.Message) int {
	n := 0
	for _, p := range m.Parts[0].Result.Parts {
		n += len(p.Text)
	}
	return n
}
