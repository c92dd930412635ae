// Package answer reads what a client of a gateway is told.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Answer is the content of an answer, whatever surface it came over.
type Answer struct {
	Reasoning, Text, Tool, Arguments []byte
	Finish                           string
	Input, Output                    int  // tokens
	Whole                            bool // the last event came, and nothing after it
}

// ErrReported says that the answer is an error.
var ErrReported = errors.New("an error")

// ChatStream reads the stream of /v1/chat/completions.
func ChatStream(body []byte) (*Answer, error) { return stream(body, (*Answer).chat) }

// MessagesStream reads the stream of /v1/messages.
func MessagesStream(body []byte) (*Answer, error) { return stream(body, (*Answer).messages) }

// ResponsesStream reads the stream of /v1/responses. Its finish is the status of the answer.
func ResponsesStream(body []byte) (*Answer, error) { return stream(body, (*Answer).responses) }

// stream reads events of one line of data each.
func stream(body []byte, read func(*Answer, []byte) error) (*Answer, error) {
	var a Answer
	for len(body) > 0 {
		event, rest, ok := bytes.Cut(body, []byte("\n\n"))
		if !ok {
			return nil, fmt.Errorf("the stream ends inside an event: %q", event)
		}
		if body = rest; a.Whole {
			return nil, fmt.Errorf("an event after the last one: %q", event)
		}
		_, data, ok := bytes.Cut(event, []byte("data: "))
		if !ok || bytes.IndexByte(data, '\n') >= 0 {
			return nil, fmt.Errorf("an event that is not one line of data: %q", event)
		}
		if err := read(&a, data); err != nil {
			return nil, fmt.Errorf("event %q: %w", event, err)
		}
	}
	return &a, nil
}

// said is what a choice of a chat completion says, at once or in pieces.
type said struct {
	Content   string
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// completion is a chat.completion, and a chat.completion.chunk.
type completion struct {
	Error   json.RawMessage
	Choices []struct {
		Message, Delta said
		FinishReason   string `json:"finish_reason"`
	}
	Usage struct {
		Input  int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	}
}

// Chat reads the body of /v1/chat/completions without streaming.
func Chat(body []byte) (*Answer, error) {
	var a Answer
	a.Whole = true
	if err := a.add(body); err != nil {
		return nil, err
	}
	return &a, nil
}

// chat reads one event of a stream.
func (a *Answer) chat(data []byte) error {
	if string(data) == "[DONE]" {
		a.Whole = true
		return nil
	}
	return a.add(data)
}

func (a *Answer) add(data []byte) error {
	var e completion
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Error != nil {
		return ErrReported
	}
	for i := range e.Choices {
		c := &e.Choices[i]
		for _, s := range [...]*said{&c.Message, &c.Delta} {
			a.Reasoning = append(a.Reasoning, s.Reasoning...)
			a.Text = append(a.Text, s.Content...)
			for _, call := range s.ToolCalls {
				a.Tool = append(a.Tool, call.Function.Name...)
				a.Arguments = append(a.Arguments, call.Function.Arguments...)
			}
		}
		a.Finish += c.FinishReason
	}
	a.Input += e.Usage.Input
	a.Output += e.Usage.Output
	return nil
}

// messages reads one event of a stream of Anthropic Messages.
func (a *Answer) messages(data []byte) error {
	var e struct {
		Type  string
		Block struct{ Type, Name string } `json:"content_block"`
		Delta struct {
			Thinking, Text string
			JSON           string `json:"partial_json"`
			StopReason     string `json:"stop_reason"`
		}
		Message struct {
			Usage struct {
				Input int `json:"input_tokens"`
			}
		}
		Usage struct {
			Output int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "error":
		return ErrReported
	case "message_stop":
		a.Whole = true
	}
	if e.Block.Type == "tool_use" {
		a.Tool = append(a.Tool, e.Block.Name...)
	}
	a.Reasoning = append(a.Reasoning, e.Delta.Thinking...)
	a.Text = append(a.Text, e.Delta.Text...)
	a.Arguments = append(a.Arguments, e.Delta.JSON...)
	a.Finish += e.Delta.StopReason
	a.Input += e.Message.Usage.Input
	a.Output += e.Usage.Output
	return nil
}

// responses reads one event of a stream of OpenAI Responses.
func (a *Answer) responses(data []byte) error {
	var e struct {
		Type, Delta string
		Item        struct{ Type, Name string }
		Response    struct {
			Status string
			Usage  struct {
				Input  int `json:"input_tokens"`
				Output int `json:"output_tokens"`
			}
		}
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "error", "response.failed":
		return ErrReported
	case "response.completed", "response.incomplete":
		a.Whole, a.Finish = true, e.Response.Status
	case "response.reasoning_text.delta":
		a.Reasoning = append(a.Reasoning, e.Delta...)
	case "response.output_text.delta":
		a.Text = append(a.Text, e.Delta...)
	case "response.function_call_arguments.delta":
		a.Arguments = append(a.Arguments, e.Delta...)
	case "response.output_item.added":
		a.Tool = append(a.Tool, e.Item.Name...)
	}
	a.Input += e.Response.Usage.Input
	a.Output += e.Response.Usage.Output
	return nil
}
