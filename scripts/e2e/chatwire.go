package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chatUsage is what chat completions count.
type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type chatCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatChunk is one event of a streamed chat completion.
type chatChunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices *[]struct {
		Index int `json:"index"`
		Delta struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []chatCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Error *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

// chatAnswer is a whole answer, put together from a stream or read at once.
type chatAnswer struct {
	id, content, reasoning, finish string
	calls                          []chatCall
	usage                          *chatUsage
	failure                        string
	order                          string // r, t and c, in the order in which the kinds began
}

func (a *chatAnswer) began(kind string) {
	if !strings.HasSuffix(a.order, kind) {
		a.order += kind
	}
}

// foldChat puts a stream together as a client would, and checks on the way what clients rely on.
func foldChat(events []sseEvent) (*chatAnswer, error) {
	a := &chatAnswer{}
	done := false
	for i, e := range events {
		if done {
			return nil, fmt.Errorf("an event after [DONE]: %s", e.data)
		}
		if e.data == "[DONE]" {
			done = true
			continue
		}
		var c chatChunk
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			return nil, fmt.Errorf("chunk %d: %w in %q", i, err, e.data)
		}
		if err := a.add(i, &c); err != nil {
			return nil, fmt.Errorf("chunk %d: %w: %s", i, err, e.data)
		}
	}
	if !done && a.failure == "" {
		return nil, errors.New("no [DONE]")
	}
	return a, nil
}

func (a *chatAnswer) add(i int, c *chatChunk) error {
	if c.Error != nil {
		a.failure = c.Error.Message
		return nil
	}
	if c.Choices == nil {
		return errors.New("no choices, which the official client throws on")
	}
	if c.Object != "chat.completion.chunk" || c.ID == "" || a.id != "" && a.id != c.ID {
		return fmt.Errorf("object %q, id %q after %q", c.Object, c.ID, a.id)
	}
	a.id = c.ID
	if len(*c.Choices) == 0 {
		a.usage = c.Usage
		return nil
	}
	ch := (*c.Choices)[0]
	if i == 0 {
		return expect("role of the first chunk", ch.Delta.Role, "assistant")
	}
	if a.finish != "" {
		return errors.New("a delta after the finish")
	}
	if ch.Delta.Reasoning != "" {
		a.began("r")
		a.reasoning += ch.Delta.Reasoning
	}
	if ch.Delta.Content != nil && *ch.Delta.Content != "" {
		a.began("t")
		a.content += *ch.Delta.Content
	}
	for _, t := range ch.Delta.ToolCalls {
		if err := a.addCall(t); err != nil {
			return err
		}
	}
	if ch.FinishReason != nil {
		a.finish = *ch.FinishReason
	}
	return nil
}

func (a *chatAnswer) addCall(t chatCall) error {
	if t.Index == nil {
		return errors.New("a call without index")
	}
	a.began("c")
	switch n := *t.Index; {
	case n == len(a.calls):
		if t.ID == "" || t.Type != "function" || t.Function.Name == "" {
			return errors.New("the first fragment of a call has no id, type or name")
		}
		a.calls = append(a.calls, t)
	case n < len(a.calls) && n >= 0:
		if t.ID != "" || t.Function.Name != "" {
			return errors.New("a later fragment of a call repeats its id or name")
		}
		a.calls[n].Function.Arguments += t.Function.Arguments
	default:
		return fmt.Errorf("call %d after %d", n, len(a.calls)-1)
	}
	return nil
}

// chatBody is an answer that was not streamed.
type chatBody struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Choices []struct {
		Message struct {
			Role      string     `json:"role"`
			Content   *string    `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []chatCall `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

func (b *chatBody) answer() (*chatAnswer, error) {
	if len(b.Choices) != 1 || b.Object != "chat.completion" || b.Usage == nil {
		return nil, fmt.Errorf("object %q, %d choices, usage %v", b.Object, len(b.Choices), b.Usage)
	}
	ch := b.Choices[0]
	a := &chatAnswer{id: b.ID, reasoning: ch.Message.Reasoning, calls: ch.Message.ToolCalls, finish: ch.FinishReason, usage: b.Usage}
	if ch.Message.Content != nil {
		a.content = *ch.Message.Content
	}
	return a, nil
}

// same compares what two answers say, ids aside.
func (a *chatAnswer) same(b *chatAnswer) error {
	err := errors.Join(expect("reasoning", a.reasoning, b.reasoning), expect("content", a.content, b.content),
		expect("finish", a.finish, b.finish), expect("calls", len(a.calls), len(b.calls)))
	if err != nil {
		return err
	}
	for i := range a.calls {
		err = errors.Join(err, expect("name", a.calls[i].Function.Name, b.calls[i].Function.Name), expect("arguments", a.calls[i].Function.Arguments, b.calls[i].Function.Arguments))
	}
	return err
}

// weatherParameters are those of the tool that scenarios offer.
var weatherParameters = object{"type": "object", "properties": object{"city": object{"type": "string"}, "days": object{"type": "integer"}}, "required": list{"city"}}

func chatTools() list {
	return list{object{"type": "function", "function": object{"name": "get_weather", "description": "Current weather of a city", "parameters": weatherParameters}}}
}

// chatRequest is a streamed request with one user message.
func chatRequest(model, text string, more object) object {
	body := object{"model": model, "stream": true, "stream_options": object{"include_usage": true}, "messages": list{object{"role": "user", "content": text}}}
	for k, v := range more {
		body[k] = v
	}
	return body
}
