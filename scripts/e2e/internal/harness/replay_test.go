package harness_test

import (
	"testing"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// TestReadSent reads the same conversation from each protocol.
func TestReadSent(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"f"}}],"messages":[
			{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hello"}]},
			{"role":"assistant","content":"wait","reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"out"}]}]}`,
		"/v1/messages": `{"model":"m","stream":true,"tools":[{"name":"f"}],"messages":[{"role":"user","content":"hello"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"wait"},{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"out"}]}]}`,
		"/v1/responses": `{"model":"m","stream":true,"tools":[{"type":"function","name":"f"}],"input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},{"type":"message","role":"assistant","content":"wait"},
			{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"out"}]}`,
	} {
		s, err := harness.ReadSent(path, []byte(body))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		call := s.Called("f")
		if s.Model != "m" || !s.Stream || !s.Offers("f") || len(s.Users) != 1 || s.Users[0] != "hello" || len(s.Said) != 1 || s.Said[0] != "wait" || len(s.Thoughts) != 1 || s.Thoughts[0] != "hm" {
			t.Errorf("%s: got %+v", path, s)
		}
		if call == nil || call.Arguments != "{}" || call.Output != "out" || !call.Answered || len(s.Calls) != 1 {
			t.Errorf("%s: call %+v", path, call)
		}
		if want := map[bool]int{true: 0, false: 1}[path == "/v1/chat/completions"]; s.Sealed != want {
			t.Errorf("%s: %d sealed", path, s.Sealed)
		}
	}
	for _, body := range []string{`{`, `{"messages":[{"role":"tool","tool_call_id":"1","content":"x"}]}`, `{"input":5}`} {
		if _, err := harness.ReadSent("/", []byte(body)); err == nil {
			t.Errorf("accepted %s", body)
		}
	}
}
