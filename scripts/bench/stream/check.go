package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/weirgate/weir/scripts/bench/internal/answer"
)

// Shapes of an answer.
const (
	shapeRaw       = "raw"
	shapeChat      = "chat"
	shapeMessages  = "messages"
	shapeResponses = "responses"
)

// checker compares answers with the scripted turn.
type checker struct {
	turn *turn
	raw  []byte // the engine's own body
}

func newChecker(t *turn, raw []byte) *checker { return &checker{turn: t, raw: raw} }

// check wants body to be the whole turn in a shape.
func (c *checker) check(shape string, body []byte) error {
	if shape == shapeRaw {
		if !bytes.Equal(body, c.raw) {
			return fmt.Errorf("%d bytes that are not the engine's %d", len(body), len(c.raw))
		}
		return nil
	}
	read, finish := answer.ChatStream, c.turn.finish("tool_calls", "stop")
	switch shape {
	case shapeMessages:
		read, finish = answer.MessagesStream, c.turn.finish("tool_use", "end_turn")
	case shapeResponses:
		read, finish = answer.ResponsesStream, "completed"
	}
	a, err := read(body)
	if err != nil {
		return err
	}
	return c.compare(a, finish)
}

// compare leaves out white space around reasoning and text, most of which belongs to markers.
func (c *checker) compare(a *answer.Answer, finish string) error {
	for _, f := range []struct{ name, got, want string }{
		{"reasoning", strings.TrimSpace(string(a.Reasoning)), strings.TrimSpace(c.turn.reasoning)},
		{"text", strings.TrimSpace(string(a.Text)), strings.TrimSpace(c.turn.text)},
		{"tool", string(a.Tool), c.turn.tool},
		{"arguments", string(a.Arguments), c.turn.arguments},
		{"finish", a.Finish, finish},
	} {
		if f.got != f.want {
			return fmt.Errorf("%s is %q, want %q", f.name, f.got, f.want)
		}
	}
	if a.Output != len(c.turn.tokens) {
		return fmt.Errorf("usage says %d tokens, want %d", a.Output, len(c.turn.tokens))
	}
	if !a.Whole {
		return errors.New("the last event is missing")
	}
	return nil
}
