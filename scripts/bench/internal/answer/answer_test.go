package answer_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/weirgate/weir/scripts/bench/internal/answer"
)

func TestReaders(t *testing.T) {
	want := &answer.Answer{
		Reasoning: []byte("so"), Text: []byte("yes"), Tool: []byte("look"), Arguments: []byte(`{"at":1}`), Finish: "end", Input: 7, Output: 3, Whole: true,
	}
	for name, c := range map[string]struct {
		read func([]byte) (*answer.Answer, error)
		body string
	}{
		"chat": {answer.Chat, `{"choices":[{"message":{"role":"assistant","reasoning_content":"so","content":"yes","tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"at\":1}"}}]},"finish_reason":"end"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`},
		"chat stream": {answer.ChatStream, `data: {"choices":[{"delta":{"reasoning_content":"s"}}]}

data: {"choices":[{"delta":{"reasoning_content":"o","content":"yes"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"look","arguments":"{\"at\""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]},"finish_reason":"end"}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}

data: [DONE]

`},
		"responses stream": {answer.ResponsesStream, `event: response.created
data: {"type":"response.created","response":{"status":"in_progress","usage":null}}

event: response.reasoning_text.delta
data: {"type":"response.reasoning_text.delta","delta":"so"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"yes"}

event: response.output_item.added
data: {"type":"response.output_item.added","item":{"type":"function_call","name":"look"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","delta":"{\"at\":1}"}

event: response.completed
data: {"type":"response.completed","response":{"status":"end","usage":{"input_tokens":7,"output_tokens":3}}}

`},
		"messages stream": {answer.MessagesStream, `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":0}}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"so"}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"yes"}}

event: content_block_start
data: {"type":"content_block_start","content_block":{"type":"tool_use","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"at\":1}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.read([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, error %v; want %+v", got, err, want)
			}
			for n := range len(c.body) {
				if got, err := c.read([]byte(c.body[:n])); err == nil && got.Whole {
					t.Errorf("%d of %d bytes are taken for all", n, len(c.body))
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		read func([]byte) (*answer.Answer, error)
		body string
	}{
		"chat":     {answer.Chat, `{"error":{"message":"m"}}`},
		"stream":   {answer.ChatStream, "data: {\"error\":{\"message\":\"m\"}}\n\n"},
		"messages": {answer.MessagesStream, "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"m\"}}\n\n"},
	} {
		if _, err := c.read([]byte(c.body)); !errors.Is(err, answer.ErrReported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, body := range map[string]string{
		"cut": "data: {}\n", "two lines": "data: {}\ndata: {}\n\n", "no data": "event: x\n\n", "no JSON": "data: x\n\n", "late": "data: [DONE]\n\ndata: {}\n\n",
	} {
		if a, err := answer.ChatStream([]byte(body)); err == nil {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}
