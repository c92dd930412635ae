package gateway_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type messageUsage struct {
	Input    int `json:"input_tokens"`
	Output   int `json:"output_tokens"`
	Read     int `json:"cache_read_input_tokens"`
	Creation int `json:"cache_creation_input_tokens"`
}

type messageBlock struct {
	Type, Text, Thinking string
	Signature            *string
	ID, Name             string
	Input                json.RawMessage
}

type message struct {
	ID, Type, Role, Model string
	Content               []messageBlock
	Stop                  *string `json:"stop_reason"`
	Sequence              *string `json:"stop_sequence"`
	Usage                 messageUsage
}

type messageEvent struct {
	Type         string
	Message      *message
	Index        *int
	ContentBlock *messageBlock `json:"content_block"`
	Delta        *struct {
		Type, Text, Thinking, Signature string
		JSON                            string  `json:"partial_json"`
		Stop                            *string `json:"stop_reason"`
		Sequence                        *string `json:"stop_sequence"`
	}
	Usage               *messageUsage
	ID, Name, Arguments string // of a dispatch
}

// messagesReader follows a stream by the surface's grammar.
type messagesReader struct {
	tb     testing.TB
	a      answer
	state  string // "", open, block, delta, over
	index  int
	kind   string // of the open block
	signed bool
}

func readMessages(tb testing.TB, frames []frame) answer {
	tb.Helper()
	r := messagesReader{tb: tb, index: -1}
	for _, f := range frames {
		if f.Event == "done" { // of a socket
			continue
		}
		if f.Event == "error" {
			r.fail(f)
			continue
		}
		var e messageEvent
		strict(tb, f.Data, &e)
		if e.Type != f.Event {
			tb.Fatalf("event %s: %s", f.Event, f.Data)
		}
		r.event(&e, f)
	}
	if r.state != "over" {
		tb.Errorf("the turn has no end: %s", tail(frames))
	}
	return r.a
}

func (r *messagesReader) fail(f frame) {
	r.tb.Helper()
	if r.state == "block" && r.kind != "tool_use" || r.state == "over" { // a call that is not whole is not closed
		r.tb.Errorf("an error in state %s", r.state)
	}
	e := messagesRefusal(r.tb, f.Status, f.Data)
	r.a.Fault, r.state = &e, "over"
}

// in checks that an event may come now.
func (r *messagesReader) in(f frame, states ...string) {
	r.tb.Helper()
	if !slices.Contains(states, r.state) {
		r.tb.Fatalf("in state %q: %s", r.state, f.Data)
	}
}

func (r *messagesReader) event(e *messageEvent, f frame) {
	r.tb.Helper()
	switch e.Type {
	case "message_start":
		r.in(f, "")
		m := e.Message
		if m == nil || m.Type != "message" || m.Role != "assistant" || !strings.HasPrefix(m.ID, "msg_") || m.Content == nil || len(m.Content) != 0 || m.Stop != nil {
			r.tb.Fatalf("message_start: %s", f.Data)
		}
		r.a.ID, r.a.Model, r.a.Start, r.state = m.ID, m.Model, m.Usage.Input+m.Usage.Read, "open"
	case "ping":
		r.in(f, "open", "block", "delta")
		r.a.Alive++
	case "content_block_start":
		r.in(f, "open")
		r.open(e, f)
	case "content_block_delta":
		r.in(f, "block")
		r.delta(e, f)
	case "content_block_stop":
		r.in(f, "block")
		if *e.Index != r.index || r.kind == "thinking" && !r.signed {
			r.tb.Errorf("block %d, unsigned thinking? %s", r.index, f.Data)
		}
		r.state = "open"
	case "tool_call_dispatch":
		r.in(f, "open")
		if *e.Index != r.index {
			r.tb.Errorf("dispatch of block %d: %s", r.index, f.Data)
		}
		r.a.Dispatched = append(r.a.Dispatched, block{Kind: "call", ID: e.ID, Name: e.Name, Text: e.Arguments})
	case "message_delta":
		r.in(f, "open")
		if e.Delta == nil || e.Delta.Stop == nil || e.Usage == nil {
			r.tb.Fatalf("message_delta: %s", f.Data)
		}
		r.a.Finish, r.state = *e.Delta.Stop, "delta"
		if e.Delta.Sequence != nil {
			r.a.Sequence = *e.Delta.Sequence
		}
		r.a.Input, r.a.Cached, r.a.Output = e.Usage.Input+e.Usage.Read, e.Usage.Read, e.Usage.Output
	case "message_stop":
		r.in(f, "delta")
		r.state = "over"
	default:
		r.tb.Fatalf("unknown event %s", f.Data)
	}
}

func (r *messagesReader) open(e *messageEvent, f frame) {
	r.tb.Helper()
	b := e.ContentBlock
	if b == nil || e.Index == nil || *e.Index != r.index+1 || b.Text != "" || b.Thinking != "" {
		r.tb.Fatalf("content_block_start after block %d: %s", r.index, f.Data)
	}
	r.index, r.kind, r.signed, r.state = *e.Index, b.Type, false, "block"
	switch b.Type {
	case "thinking":
		r.a.Blocks = append(r.a.Blocks, block{Kind: "reasoning"})
	case "text":
		r.a.Blocks = append(r.a.Blocks, block{Kind: "text"})
	case "tool_use":
		if string(b.Input) != "{}" || b.ID == "" || b.Name == "" {
			r.tb.Errorf("tool_use: %s", f.Data)
		}
		r.a.Blocks = append(r.a.Blocks, block{Kind: "call", ID: b.ID, Name: b.Name})
	default:
		r.tb.Fatalf("block of type %q", b.Type)
	}
}

func (r *messagesReader) delta(e *messageEvent, f frame) {
	r.tb.Helper()
	if e.Delta == nil || e.Index == nil || *e.Index != r.index || r.signed {
		r.tb.Fatalf("delta of block %d: %s", r.index, f.Data)
	}
	b := &r.a.Blocks[len(r.a.Blocks)-1]
	switch d := e.Delta; r.kind + " " + d.Type {
	case "thinking thinking_delta":
		b.Text += d.Thinking
	case "thinking signature_delta":
		if r.signed = true; d.Signature == "" {
			r.tb.Errorf("an empty signature")
		}
	case "text text_delta":
		b.Text += d.Text
	case "tool_use input_json_delta":
		b.Text += d.JSON
	default:
		r.tb.Fatalf("%s in a block of %s", d.Type, r.kind)
	}
}

// wholeMessages reads an answer that was not streamed.
func wholeMessages(tb testing.TB, body []byte) answer {
	tb.Helper()
	var m message
	strict(tb, body, &m)
	if m.Type != "message" || m.Role != "assistant" || m.Stop == nil || m.Content == nil {
		tb.Fatalf("not a message: %s", body)
	}
	a := answer{ID: m.ID, Model: m.Model, Finish: *m.Stop, Input: m.Usage.Input + m.Usage.Read, Cached: m.Usage.Read, Output: m.Usage.Output}
	if m.Sequence != nil {
		a.Sequence = *m.Sequence
	}
	for _, b := range m.Content {
		switch b.Type {
		case "thinking":
			if b.Signature == nil || *b.Signature == "" {
				tb.Errorf("thinking without a signature: %s", body)
			}
			a.Blocks = append(a.Blocks, block{Kind: "reasoning", Text: b.Thinking})
		case "text":
			a.Blocks = append(a.Blocks, block{Kind: "text", Text: b.Text})
		case "tool_use":
			if !bytes.HasPrefix(b.Input, []byte("{")) {
				tb.Errorf("input %s", b.Input)
			}
			a.Blocks = append(a.Blocks, block{Kind: "call", ID: b.ID, Name: b.Name, Text: string(b.Input)})
		default:
			tb.Errorf("block of type %q", b.Type)
		}
	}
	return a
}
