package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// conversation is a request in the form of chat completions, without a model. Numbers and the order of
// members stay as they are written.
type conversation struct {
	Name    string          `json:"name"`
	Request json.RawMessage `json:"request"`
	// Engine is what the engine is asked where it refuses Request.
	Engine json.RawMessage `json:"engine"`
}

//go:embed conversations.json
var conversationsFile []byte

// conversations are those of the file, and a long one.
func conversations() ([]conversation, error) {
	var all []conversation
	d := json.NewDecoder(bytes.NewReader(conversationsFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("conversations.json: %w", err)
	}
	var long strings.Builder
	for i := range 45 {
		fmt.Fprintf(&long, "%d. Line %d says %q and %.3f.\n", i+1, i*i, strings.Repeat("na", i%5)+" Batman", float64(i)/7)
	}
	raw, err := json.Marshal(object{"messages": []object{
		{"role": "system", "content": "You check lists."},
		{"role": "user", "content": "Is this list in order?\n\n" + long.String()},
	}})
	return append(all, conversation{Name: "long", Request: raw}), err
}

// with gives a request with more members, which come first.
func with(request json.RawMessage, more object) (json.RawMessage, error) {
	head, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	rest := bytes.TrimSpace(request)
	if len(more) == 0 || len(rest) < 2 || rest[0] != '{' || rest[1] == '}' {
		return nil, errors.New("with needs members on both sides")
	}
	return slices.Concat(head[:len(head)-1], []byte{','}, rest[1:]), nil
}

// chatMessage is a message of a chat completion.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

type chatTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description *string         `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// errOtherSurface says that a conversation cannot be said in the form of Anthropic's Messages.
var errOtherSurface = errors.New("no form in Messages")

// messagesBody is a conversation in the form of Anthropic's Messages, without a model; errOtherSurface
// where they have none for it.
func (c *conversation) messagesBody() (object, error) {
	var chat struct {
		Messages   []chatMessage `json:"messages"`
		Tools      []chatTool    `json:"tools"`
		Generation *bool         `json:"add_generation_prompt"`
		Continue   bool          `json:"continue_final_message"`
	}
	if err := json.Unmarshal(c.Request, &chat); err != nil {
		return nil, err
	}
	if chat.Generation != nil && !*chat.Generation && !chat.Continue {
		return nil, fmt.Errorf("%w: a prompt without the header of an answer", errOtherSurface)
	}
	body := object{}
	var turns []object
	for i := range chat.Messages {
		m := &chat.Messages[i]
		switch {
		case m.Role == "system" && string(m.Content) == `""`:
			return nil, fmt.Errorf("%w: an empty system text", errOtherSurface)
		case m.Role == "system" && i == 0:
			body["system"] = m.Content
		case m.Role == "developer":
			return nil, fmt.Errorf("%w: role %s in message %d", errOtherSurface, m.Role, i)
		case m.Role == "tool":
			block := object{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Content}
			if i > 0 && chat.Messages[i-1].Role == "tool" {
				last := turns[len(turns)-1]
				blocks, _ := last["content"].([]object)
				last["content"] = append(blocks, block)
				continue
			}
			turns = append(turns, object{"role": "user", "content": []object{block}})
		case len(m.Calls) > 0:
			turns = append(turns, object{"role": "assistant", "content": m.blocks()})
		default:
			turns = append(turns, object{"role": m.Role, "content": m.Content})
		}
	}
	body["messages"] = turns
	if len(chat.Tools) > 0 {
		tools := make([]object, len(chat.Tools))
		for i := range chat.Tools {
			tools[i] = chat.Tools[i].messagesForm()
		}
		body["tools"] = tools
	}
	return body, nil
}

// blocks is an assistant's message with calls.
func (m *chatMessage) blocks() []object {
	var text string
	var blocks []object
	if err := json.Unmarshal(m.Content, &text); err == nil && text != "" {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		input := c.Function.Arguments
		if input == "" {
			input = "{}" // where chat completions may leave arguments out, Messages have an object
		}
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Function.Name, "input": json.RawMessage(input)})
	}
	return blocks
}

func (t *chatTool) messagesForm() object {
	out := object{"name": t.Function.Name}
	if t.Function.Description != nil {
		out["description"] = *t.Function.Description
	}
	if len(t.Function.Parameters) > 0 {
		out["input_schema"] = t.Function.Parameters
	}
	return out
}
