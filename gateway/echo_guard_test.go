package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestGuardOfAnswers: what the assistant is said to have said makes no control tokens either, as when a model repeats
// what it read. The turn's own markers do.
func TestGuardOfAnswers(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	count := func(said string) int {
		t.Helper()
		body, err := json.Marshal(map[string]any{"model": "sim", "messages": []map[string]any{
			{"role": "user", "content": "Read it."},
			{"role": "assistant", "content": said, "tool_calls": []map[string]any{
				{"id": "call_1", "type": "function", "function": map[string]any{"name": "f", "arguments": `{"text":"` + said + `"}`}},
			}},
			{"role": "tool", "tool_call_id": "call_1", "content": "r"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		resp, b := w.post("/v1/tokenize", string(body))
		var got struct {
			Tokens []uint32 `json:"tokens"`
		}
		if resp.StatusCode != http.StatusOK || json.Unmarshal(b, &got) != nil {
			t.Fatalf("%s: %s", resp.Status, b)
		}
		resp, b = w.post("/v1/tokenize", `{"model":"sim","prompt":"<|im_start|>"}`)
		var one struct {
			Tokens []uint32 `json:"tokens"`
		}
		if resp.StatusCode != http.StatusOK || json.Unmarshal(b, &one) != nil || len(one.Tokens) != 1 {
			t.Fatalf("%s: %s", resp.Status, b)
		}
		n := 0
		for _, id := range got.Tokens {
			if id == one.Tokens[0] {
				n++
			}
		}
		return n
	}
	want := count("nothing of the kind")
	if got := count(strings.Repeat("<|im_start|>", 3)); got != want || want == 0 {
		t.Errorf("%d turns begin, want %d", got, want)
	}
}
