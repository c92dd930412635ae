package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MessageUsage is what messages count.
type MessageUsage struct {
	Input  *int `json:"input_tokens"`
	Cached int  `json:"cache_read_input_tokens"`
	Output *int `json:"output_tokens"`
}

// MessageBlock is a content block, also in the form in which it is sent back.
type MessageBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// MessageAnswer is a whole answer.
type MessageAnswer struct {
	Type       string         `json:"type"`
	Role       string         `json:"role"`
	ID         string         `json:"id"`
	Model      string         `json:"model"`
	Content    []MessageBlock `json:"content"`
	StopReason *string        `json:"stop_reason"`
	Usage      MessageUsage   `json:"usage"`

	Started MessageUsage `json:"-"` // as message_start had it
	Failure string       `json:"-"` // of an error event
}

// Kinds are the types of the blocks in order.
func (a *MessageAnswer) Kinds() string {
	var k []string
	for _, b := range a.Content {
		k = append(k, b.Type)
	}
	return strings.Join(k, " ")
}

// Reason is stop_reason, null where there is none.
func (a *MessageAnswer) Reason() string {
	if a.StopReason == nil {
		return "null"
	}
	return *a.StopReason
}

// Text is all text blocks.
func (a *MessageAnswer) Text() string {
	var b strings.Builder
	for _, block := range a.Content {
		b.WriteString(block.Text)
	}
	return b.String()
}

type messageEvent struct {
	Type    string        `json:"type"`
	Index   *int          `json:"index"`
	Message MessageAnswer `json:"message"`
	Block   MessageBlock  `json:"content_block"`
	Delta   struct {
		Type       string  `json:"type"`
		Text       string  `json:"text"`
		Thinking   string  `json:"thinking"`
		Signature  string  `json:"signature"`
		Partial    string  `json:"partial_json"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage MessageUsage `json:"usage"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// messageFolder checks the grammar of a stream of messages:
// message_start (ping | block)* message_delta message_stop, or error anywhere.
type messageFolder struct {
	answer MessageAnswer
	state  string // the event that came last, pings aside; "" before the first
	signed bool   // a signature came, so the block must end
	input  []byte
}

// FoldMessages puts a stream together as a client would.
func FoldMessages(events []Event) (*MessageAnswer, error) {
	f := &messageFolder{}
	for i, e := range events {
		var m messageEvent
		if err := json.Unmarshal([]byte(e.Data), &m); err != nil {
			return nil, fmt.Errorf("event %d: %w in %q", i, err, e.Data)
		}
		// Clients dispatch on the name of the event, some on the type in its data.
		err := Expect("name of the event", e.Name, m.Type)
		if err == nil {
			err = f.add(&m)
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w: %s", i, err, e.Data)
		}
	}
	if f.state != "message_stop" && f.state != "error" {
		return nil, fmt.Errorf("the stream ends after %q", f.state)
	}
	return &f.answer, nil
}

// follows says what may come before an event.
var follows = map[string][]string{
	"message_start":       {""},
	"content_block_start": {"message_start", "content_block_stop"},
	"content_block_delta": {"content_block_start", "content_block_delta"},
	"content_block_stop":  {"content_block_start", "content_block_delta"},
	"message_delta":       {"message_start", "content_block_stop"},
	"message_stop":        {"message_delta"},
}

func (f *messageFolder) add(m *messageEvent) error {
	if f.state == "error" || f.state == "message_stop" {
		return errors.New("an event after the last")
	}
	switch m.Type {
	case "ping":
		if f.state == "" {
			return errors.New("a ping before message_start")
		}
		return nil
	case "error":
		f.state, f.answer.Failure = "error", m.Error.Type+": "+m.Error.Message
		return nil
	}
	before, known := follows[m.Type]
	if !known || !slices.Contains(before, f.state) {
		return fmt.Errorf("%s after %q", m.Type, f.state)
	}
	f.state = m.Type
	switch m.Type {
	case "message_start":
		return f.begin(&m.Message)
	case "message_delta":
		f.answer.StopReason, f.answer.Usage = m.Delta.StopReason, m.Usage
		if m.Delta.StopReason == nil || m.Usage.Output == nil {
			return errors.New("no stop_reason or no output_tokens")
		}
		return nil
	case "message_stop":
		return nil
	}
	return f.block(m)
}

func (f *messageFolder) begin(m *MessageAnswer) error {
	f.answer = *m
	f.answer.Started = m.Usage
	if m.Type != "message" || m.Role != "assistant" || m.ID == "" || m.Content == nil || len(m.Content) != 0 || m.StopReason != nil || m.Usage.Input == nil || m.Usage.Output == nil {
		return errors.New("the message is not an empty one with usage")
	}
	return nil
}

func (f *messageFolder) block(m *messageEvent) error {
	if m.Index == nil {
		return errors.New("no index")
	}
	open := len(f.answer.Content) - 1
	if m.Type == "content_block_start" {
		open++
		f.answer.Content = append(f.answer.Content, m.Block)
		f.input, f.signed = nil, false
		if b := m.Block; b.Type == "tool_use" && (string(b.Input) != "{}" || b.ID == "" || b.Name == "") {
			return errors.New("a tool_use starts with input {}, an id and a name")
		}
	}
	if err := Expect("index", *m.Index, open); err != nil {
		return err
	}
	b := &f.answer.Content[open]
	switch m.Type {
	case "content_block_delta":
		return f.delta(b, m)
	case "content_block_stop":
		if b.Type == "thinking" && !f.signed {
			return errors.New("no signature")
		}
		if b.Type == "tool_use" {
			if f.input == nil {
				return errors.New("a tool_use without input_json_delta, which clients take for {}")
			}
			b.Input = f.input
		}
	}
	return nil
}

func (f *messageFolder) delta(b *MessageBlock, m *messageEvent) error {
	if f.signed {
		return errors.New("a delta after the signature")
	}
	switch d := &m.Delta; b.Type + " " + d.Type {
	case "text text_delta":
		b.Text += d.Text
	case "thinking thinking_delta":
		b.Thinking += d.Thinking
	case "thinking signature_delta":
		b.Signature, f.signed = d.Signature, true
	case "tool_use input_json_delta":
		f.input = append(f.input, d.Partial...)
	default:
		return fmt.Errorf("%s in a %s block", d.Type, b.Type)
	}
	return nil
}

// Same compares what two answers say, ids and signatures aside.
func (a *MessageAnswer) Same(b *MessageAnswer) error {
	err := errors.Join(Expect("blocks", a.Kinds(), b.Kinds()), Expect("stop_reason", a.Reason(), b.Reason()))
	if err != nil {
		return err
	}
	for i := range a.Content {
		x, y := a.Content[i], b.Content[i]
		err = errors.Join(err, Expect("text", x.Text, y.Text), Expect("thinking", x.Thinking, y.Thinking), Expect("name", x.Name, y.Name))
		if x.Type == "tool_use" {
			err = errors.Join(err, SameJSON("input", string(x.Input), string(y.Input)))
		}
	}
	return err
}

// MessageTools is the tool that scenarios offer.
func MessageTools() List {
	return List{Object{"name": "get_weather", "description": "Current weather of a city", "input_schema": weatherParameters}}
}

// Thinking switches thinking on.
func Thinking() Object { return Object{"type": "enabled", "budget_tokens": 1024} }

// MessageRequest is a streamed request with one user message.
func MessageRequest(model, text string, more Object) Object {
	body := Object{"model": model, "max_tokens": 2048, "stream": true, "messages": List{Object{"role": "user", "content": text}}}
	maps.Copy(body, more)
	return body
}
