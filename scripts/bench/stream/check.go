package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Shapes of an answer.
const (
	shapeRaw      = "raw"
	shapeChat     = "chat"
	shapeMessages = "messages"
)

// checker compares answers with the scripted turn.
type checker struct {
	turn *turn
	raw  []byte // the engine's own body
}

func newChecker(t *turn, raw []byte) *checker { return &checker{turn: t, raw: raw} }

// answer is what a client was told.
type answer struct {
	reasoning, text, tool, arguments []byte
	finish                           string
	output                           int
	whole                            bool // the stream's last event came, and nothing after it
}

// check wants body to be the whole turn in a shape.
func (c *checker) check(shape string, body []byte) error {
	if shape == shapeRaw {
		if !bytes.Equal(body, c.raw) {
			return fmt.Errorf("%d bytes that are not the engine's %d", len(body), len(c.raw))
		}
		return nil
	}
	read, finish := (*answer).chat, c.turn.finish("tool_calls", "stop")
	if shape == shapeMessages {
		read, finish = (*answer).messages, c.turn.finish("tool_use", "end_turn")
	}
	var a answer
	for len(body) > 0 {
		event, rest, ok := bytes.Cut(body, []byte("\n\n"))
		if !ok {
			return fmt.Errorf("the stream ends inside an event: %q", event)
		}
		if body = rest; a.whole {
			return fmt.Errorf("an event after the last one: %q", event)
		}
		_, data, ok := bytes.Cut(event, []byte("data: "))
		if !ok || bytes.IndexByte(data, '\n') >= 0 {
			return fmt.Errorf("an event that is not one line of data: %q", event)
		}
		if err := read(&a, data); err != nil {
			return fmt.Errorf("event %q: %w", event, err)
		}
	}
	return c.compare(&a, finish)
}

// compare leaves out white space around reasoning and text, most of which belongs to markers.
func (c *checker) compare(a *answer, finish string) error {
	for _, f := range []struct{ name, got, want string }{
		{"reasoning", strings.TrimSpace(string(a.reasoning)), strings.TrimSpace(c.turn.reasoning)},
		{"text", strings.TrimSpace(string(a.text)), strings.TrimSpace(c.turn.text)},
		{"tool", string(a.tool), c.turn.tool},
		{"arguments", string(a.arguments), c.turn.arguments},
		{"finish", a.finish, finish},
	} {
		if f.got != f.want {
			return fmt.Errorf("%s is %q, want %q", f.name, f.got, f.want)
		}
	}
	if a.output != len(c.turn.tokens) {
		return fmt.Errorf("usage says %d tokens, want %d", a.output, len(c.turn.tokens))
	}
	if !a.whole {
		return errors.New("the last event is missing")
	}
	return nil
}

// chat reads a chat.completion.chunk.
func (a *answer) chat(data []byte) error {
	if string(data) == "[DONE]" {
		a.whole = true
		return nil
	}
	var e struct {
		Error   json.RawMessage
		Choices []struct {
			Delta struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Output int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Error != nil {
		return errors.New("an error")
	}
	for _, c := range e.Choices {
		a.reasoning = append(a.reasoning, c.Delta.Reasoning...)
		a.text = append(a.text, c.Delta.Content...)
		for _, call := range c.Delta.ToolCalls {
			a.tool = append(a.tool, call.Function.Name...)
			a.arguments = append(a.arguments, call.Function.Arguments...)
		}
		a.finish += c.FinishReason
	}
	a.output += e.Usage.Output
	return nil
}

// messages reads an event of the Anthropic Messages stream.
func (a *answer) messages(data []byte) error {
	var e struct {
		Type  string
		Block struct{ Type, Name string } `json:"content_block"`
		Delta struct {
			Thinking, Text string
			JSON           string `json:"partial_json"`
			StopReason     string `json:"stop_reason"`
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
		return errors.New("an error")
	case "message_stop":
		a.whole = true
	}
	if e.Block.Type == "tool_use" {
		a.tool = append(a.tool, e.Block.Name...)
	}
	a.reasoning = append(a.reasoning, e.Delta.Thinking...)
	a.text = append(a.text, e.Delta.Text...)
	a.arguments = append(a.arguments, e.Delta.JSON...)
	a.finish += e.Delta.StopReason
	a.output += e.Usage.Output
	return nil
}
