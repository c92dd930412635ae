package messages_test

import (
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

// everywhere has text in each place that takes a string or blocks.
const everywhere = `{"model":"m","max_tokens":9,"system":"s","messages":[
	{"role":"user","content":"u"},{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":[{"type":"text","text":"v"},{"type":"text","text":"v"}]},
	{"role":"assistant","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"content":"x","id":1}}]},
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"},{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"r"}]},{"type":"tool_result","tool_use_id":"c","content":""}]},
	{"role":"user","content":[{"type":"document","source":{"type":"content","content":"d"}},{"type":"search_result","source":"x","title":"t","content":[{"type":"text","text":"found"}]}]}],
	"tools":[{"name":"f","input_schema":{"content":"c","id":1}}]}`

func TestSameInAllForms(t *testing.T) {
	decode := func(b []byte) (*surface.Request, error) { return messages.Surface{}.Decode(b, nil) }
	surfacetest.SameInAllForms(t, "everywhere", []byte(everywhere), decode)
	for _, r := range surfacetest.Recordings(t, "/v1/messages") {
		surfacetest.SameInAllForms(t, r.Name, r.Body, decode)
	}
}

func TestOwnsItsMemory(t *testing.T) {
	decode := func(b []byte) (*surface.Request, error) { return messages.Surface{}.Decode(b, nil) }
	surfacetest.OwnsItsMemory(t, []byte(everywhere), decode)
	for _, r := range surfacetest.Recordings(t, "/v1/messages") {
		surfacetest.OwnsItsMemory(t, r.Body, decode)
	}
}

// TestPrefill says which last messages the model goes on with.
func TestPrefill(t *testing.T) {
	for _, tt := range []struct {
		name, last string
		want       bool
	}{
		{"user", `{"role":"user","content":"u"}`, false},
		{"assistant", `{"role":"assistant","content":"I"}`, true},
		{"white space at the end", `{"role":"assistant","content":"I \n"}`, true},
		{"after thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"I"}]}`, true},
		{"thinking alone", `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}`, false},
		{"a call", `{"role":"assistant","content":[{"type":"text","text":"I"},{"type":"tool_use","id":"c","name":"f","input":{}}]}`, false},
		{"empty", `{"role":"assistant","content":""}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(`{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":"hi"},` + tt.last + `]}`)
			req, err := messages.Surface{}.Decode(body, nil)
			if err != nil || req.Prompting.Continue != tt.want || req.Prompting.NoGeneration {
				t.Errorf("got %+v, %v", req, err)
			}
			count, err := messages.Surface{}.DecodeCount(body, nil)
			if err != nil || count.Prompting.Continue != tt.want {
				t.Errorf("count: got %+v, %v", count, err)
			}
		})
	}
}
