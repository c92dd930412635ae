package responses_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// TestOutput: what is kept of a turn is what the client was shown, streamed or not, and what the model said.
func TestOutput(t *testing.T) {
	for _, s := range stories() {
		if s.Name == "fault" {
			continue
		}
		for _, streamed := range []bool{true, false} {
			t.Run(fmt.Sprint(s.Name, " ", streamed), func(t *testing.T) {
				req := request()
				req.Stream = streamed
				res := surfacetest.Fold(t, s.Events)
				items := responses.Output(req, surfacetest.Info(), res)
				var body struct{ Output []json.RawMessage }
				if err := json.Unmarshal(responses.Surface{}.Body(req, surfacetest.Info(), res), &body); err != nil {
					t.Fatal(err)
				}
				if len(items) != len(body.Output) {
					t.Fatalf("%d items, %d were shown", len(items), len(body.Output))
				}
				for i, it := range items {
					var id struct{ ID string }
					if err := json.Unmarshal(it.JSON, &id); err != nil || id.ID != it.ID || string(it.JSON) != string(body.Output[i]) {
						t.Errorf("%s: %s, shown was %s, %v", it.ID, it.JSON, body.Output[i], err)
					}
				}
			})
		}
	}
}

func TestOutputMessages(t *testing.T) {
	call := func(kind conv.ToolKind, id, namespace, name, args string) conv.Part {
		return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{Kind: kind, ID: id, Namespace: namespace, Name: name, Arguments: args}}
	}
	thought := func(text, seal string) conv.Part { return conv.Part{Kind: conv.Reasoning, Text: text, Seal: seal} }
	for _, tt := range []struct {
		story string
		want  []conv.Part
	}{
		{"text", []conv.Part{{Kind: conv.Text, Text: "Hello \"wörld\"\n😀</script>"}}},
		{"interleaved", []conv.Part{
			thought("First think.", "seal-1"),
			{Kind: conv.Text, Text: "Look."},
			call(conv.Function, "call_1", "", "Read", "{\"path\": \"a\\\"b.txt\",\n\"n\": 1.50}"),
			thought("Again.", ""), call(conv.Function, "call_2", "", "List", "{}"),
		}},
		{"cut call", []conv.Part{
			call(conv.Function, "call_1", "", "Read", `{"path":"a"}`),
			{Kind: conv.Text, Text: "<tool_call>\n{\"name\": \"Write\", \"arguments\": {\"text\": \"unfin"},
		}},
		{"empty blocks", nil},
		{"phases", []conv.Part{{Kind: conv.Text, Text: "I look.", Phase: conv.PhaseCommentary}, {Kind: conv.Text, Text: "Done.", Phase: conv.PhaseFinal}}},
		{"kinds of calls", []conv.Part{
			call(conv.Function, "call_0", "agents", "spawn", `{"n":1}`),
			call(conv.Custom, "call_1", "", "apply_patch", "*** Begin Patch\n+\"x\"\n"),
			call(conv.ToolSearch, "call_2", "", "tool_search", "{\"query\":\n\t\"mail\", \"limit\": 2}\n"),
			call(conv.Custom, "call_3", "functions", "exec", ""),
		}},
	} {
		t.Run(tt.story, func(t *testing.T) {
			var got []conv.Part
			for _, it := range responses.Output(request(), surfacetest.Info(), surfacetest.Fold(t, story(t, tt.story))) {
				for _, m := range it.Messages {
					if m.Role != conv.Assistant || len(m.Parts) != 1 {
						t.Errorf("%+v", m)
					}
					got = append(got, m.Parts...)
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, tt.want)
			}
		})
	}
}

// TestCutCallUnkept: a call of which no bytes were kept is shown where it was streamed, and says nothing.
func TestCutCallUnkept(t *testing.T) {
	res := &event.Result{Blocks: []event.Block{{Kind: event.ToolStart, Call: event.Call{ID: "call_1", Name: "f", Arguments: []byte(`{"a`)}}}}
	req := request()
	if items := responses.Output(req, surfacetest.Info(), res); len(items) != 1 || items[0].Messages != nil || !strings.Contains(string(items[0].JSON), `"incomplete"`) {
		t.Errorf("%+v", items)
	}
	req.Stream = false
	if items := responses.Output(req, surfacetest.Info(), res); len(items) != 0 {
		t.Errorf("%+v", items)
	}
}

func TestOutputOfCompaction(t *testing.T) {
	req := request()
	ownOf(req).Compact, ownOf(req).SealSummary = true, sealing()
	_, resource := play(t, responses.Surface{}, story(t, "interleaved"), req, surfacetest.Info(), func(int) bool { return false })
	items := responses.Output(req, surfacetest.Info(), surfacetest.Fold(t, story(t, "interleaved")))
	if len(items) != 1 || !strings.Contains(string(resource), string(items[0].JSON)) {
		t.Fatalf("%+v\n%s", items, resource)
	}
	m := items[0].Messages[0]
	if p := m.Parts[0]; m.Role != conv.User || p.Kind != conv.Summary || p.Text != "Look." || p.Seal != "seal 1 of Look." {
		t.Errorf("%+v", m)
	}
	if items := responses.Output(req, surfacetest.Info(), &event.Result{}); items != nil {
		t.Errorf("%+v", items)
	}
}
