package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// ChatUsage is what chat completions count.
type ChatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// ChatCall is a call, or a fragment of one.
type ChatCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ChatChunk is one event of a streamed chat completion.
type ChatChunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices *[]struct {
		Index int `json:"index"`
		Delta struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []ChatCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *ChatUsage `json:"usage"`
	Error *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

// ChatAnswer is a whole answer, put together from a stream or read at once.
type ChatAnswer struct {
	ID, Content, Reasoning, Finish string
	Calls                          []ChatCall
	Usage                          *ChatUsage
	Failure                        string // what an error in the stream said
	Order                          string // r, t and c, in the order in which the kinds began
}

func (a *ChatAnswer) began(kind string) {
	if !strings.HasSuffix(a.Order, kind) {
		a.Order += kind
	}
}

// FoldChat puts a stream together as a client would, and checks on the way what clients rely on.
func FoldChat(events []Event) (*ChatAnswer, error) {
	a := &ChatAnswer{}
	done := false
	for i, e := range events {
		if done {
			return nil, fmt.Errorf("an event after [DONE]: %s", e.Data)
		}
		if e.Data == "[DONE]" {
			done = true
			continue
		}
		var c ChatChunk
		if err := json.Unmarshal([]byte(e.Data), &c); err != nil {
			return nil, fmt.Errorf("chunk %d: %w in %q", i, err, e.Data)
		}
		if err := a.add(i, &c); err != nil {
			return nil, fmt.Errorf("chunk %d: %w: %s", i, err, e.Data)
		}
	}
	if !done && a.Failure == "" {
		return nil, errors.New("no [DONE]")
	}
	return a, nil
}

func (a *ChatAnswer) add(i int, c *ChatChunk) error {
	if c.Error != nil {
		a.Failure = c.Error.Message
		return nil
	}
	if c.Choices == nil {
		return errors.New("no choices, which the official client throws on")
	}
	if c.Object != "chat.completion.chunk" || c.ID == "" || a.ID != "" && a.ID != c.ID {
		return fmt.Errorf("object %q, id %q after %q", c.Object, c.ID, a.ID)
	}
	a.ID = c.ID
	if len(*c.Choices) == 0 {
		a.Usage = c.Usage
		return nil
	}
	ch := (*c.Choices)[0]
	if i == 0 {
		return Expect("role of the first chunk", ch.Delta.Role, "assistant")
	}
	if a.Finish != "" {
		return errors.New("a delta after the finish")
	}
	if ch.Delta.Reasoning != "" {
		a.began("r")
		a.Reasoning += ch.Delta.Reasoning
	}
	if ch.Delta.Content != nil && *ch.Delta.Content != "" {
		a.began("t")
		a.Content += *ch.Delta.Content
	}
	for _, t := range ch.Delta.ToolCalls {
		if err := a.addCall(t); err != nil {
			return err
		}
	}
	if ch.FinishReason != nil {
		a.Finish = *ch.FinishReason
	}
	return nil
}

func (a *ChatAnswer) addCall(t ChatCall) error {
	if t.Index == nil {
		return errors.New("a call without index")
	}
	a.began("c")
	switch n := *t.Index; {
	case n == len(a.Calls):
		if t.ID == "" || t.Type != "function" || t.Function.Name == "" {
			return errors.New("the first fragment of a call has no id, type or name")
		}
		a.Calls = append(a.Calls, t)
	case n < len(a.Calls) && n >= 0:
		if t.ID != "" || t.Function.Name != "" {
			return errors.New("a later fragment of a call repeats its id or name")
		}
		a.Calls[n].Function.Arguments += t.Function.Arguments
	default:
		return fmt.Errorf("call %d after %d", n, len(a.Calls)-1)
	}
	return nil
}

// ChatBody is an answer that was not streamed.
type ChatBody struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Choices []struct {
		Message struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []ChatCall `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *ChatUsage `json:"usage"`
}

// Answer is what the only choice says.
func (b *ChatBody) Answer() (*ChatAnswer, error) {
	if len(b.Choices) != 1 || b.Object != "chat.completion" || b.Usage == nil {
		return nil, fmt.Errorf("object %q, %d choices, usage %v", b.Object, len(b.Choices), b.Usage)
	}
	ch := b.Choices[0]
	a := &ChatAnswer{ID: b.ID, Reasoning: ch.Message.Reasoning, Calls: ch.Message.ToolCalls, Finish: ch.FinishReason, Usage: b.Usage}
	if ch.Message.Content != nil {
		a.Content = *ch.Message.Content
	}
	return a, nil
}

// Same compares what two answers say, ids aside.
func (a *ChatAnswer) Same(b *ChatAnswer) error {
	err := errors.Join(Expect("reasoning", a.Reasoning, b.Reasoning), Expect("content", a.Content, b.Content),
		Expect("finish", a.Finish, b.Finish), Expect("calls", len(a.Calls), len(b.Calls)))
	if err != nil {
		return err
	}
	for i := range a.Calls {
		err = errors.Join(err, Expect("name", a.Calls[i].Function.Name, b.Calls[i].Function.Name), Expect("arguments", a.Calls[i].Function.Arguments, b.Calls[i].Function.Arguments))
	}
	return err
}

// weatherParameters are those of the tool that scenarios offer.
var weatherParameters = Object{"type": "object", "properties": Object{"city": Object{"type": "string"}, "days": Object{"type": "integer"}}, "required": List{"city"}}

// ChatTools is the tool that scenarios offer.
func ChatTools() List {
	return List{Object{"type": "function", "function": Object{"name": "get_weather", "description": "Current weather of a city", "parameters": weatherParameters}}}
}

// ChatRequest is a streamed request with one user message.
func ChatRequest(model, text string, more Object) Object {
	body := Object{"model": model, "stream": true, "stream_options": Object{"include_usage": true}, "messages": List{Object{"role": "user", "content": text}}}
	maps.Copy(body, more)
	return body
}
