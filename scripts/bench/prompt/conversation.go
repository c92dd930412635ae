package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Sizes of the conversation, in bytes of text before it is rendered.
const (
	defaultText = 200_400 // rendered 201 KB, which are 61,000 tokens
	tailText    = 13_500  // some 4,000 tokens
	roundText   = 5_000   // what is left for the last round
	toolCount   = 20
	maxMessages = 4096
)

// request is a chat completions request with digits that are put in anew each time.
type request struct {
	JSON     []byte
	slots    []int // where the digits stand: in all messages from the first of the user's on
	tail     int   // index in slots of the first in the last messages, of some tailText bytes
	messages int
}

// Members of a request, in the order in which they are sent.
type (
	chatRequest struct {
		Model    string        `json:"model"`
		Messages []message     `json:"messages"`
		Tools    []tool        `json:"tools"`
		Output   int           `json:"max_tokens"`
		Stream   bool          `json:"stream"`
		Options  *streamOption `json:"stream_options,omitempty"`
	}
	streamOption struct {
		Usage bool `json:"include_usage"`
	}
	message struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content,omitempty"`
		Calls     []call `json:"tool_calls,omitempty"`
		CallID    string `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	tool struct {
		Type     string     `json:"type"`
		Function definition `json:"function"`
	}
	definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// talk is a conversation while it is made.
type talk struct {
	s        *scribe
	messages []message
	bytes    int // of text so far
	calls    int
	results  int
}

// newRequest makes a conversation of about text bytes: a system prompt, tools, and rounds of an agent that
// thinks, calls tools and reads what they answer. It ends where the model is to go on.
func newRequest(text int, stream bool) (*request, error) {
	t := talk{s: newScribe(61_000)}
	tools, size := t.tools()
	t.bytes = size
	t.add(message{Role: "system", Content: t.system()})
	for round := 0; t.bytes < text-roundText; round++ {
		if round%12 == 0 {
			if round > 0 {
				t.add(message{Role: "assistant", Content: t.s.prose(6)})
			}
			t.add(message{Role: "user", Content: t.question()})
		}
		t.round()
		if len(t.messages) > maxMessages {
			return nil, fmt.Errorf("%d bytes of text: want fewer", text)
		}
	}
	last := &t.messages[len(t.messages)-1]
	for t.bytes < text {
		more := "\n" + t.s.prose(3)
		last.Content += more
		t.bytes += len(more)
	}
	c := chatRequest{Model: modelID, Messages: t.messages, Tools: tools, Output: 1, Stream: stream}
	if stream {
		c.Options = &streamOption{Usage: true}
	}
	return locate(&c)
}

// locate encodes a request and finds its slots.
func locate(c *chatRequest) (*request, error) {
	first, left := len(c.Messages), 0 // of the tail
	for first > 2 && left < tailText-c.Messages[first-1].size()/2 {
		first--
		left += c.Messages[first].size()
	}
	before := 0 // slots before the tail
	for i := range c.Messages[:first] {
		m := &c.Messages[i]
		before += strings.Count(m.Reasoning+m.Content, slot)
		for k := range m.Calls {
			before += strings.Count(m.Calls[k].Function.Arguments, slot)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // as other languages' clients send it
	if err := enc.Encode(c); err != nil {
		return nil, err
	}
	r := &request{JSON: bytes.TrimSpace(b.Bytes()), tail: before, messages: len(c.Messages)}
	for at := 0; ; at += len(slot) {
		i := bytes.Index(r.JSON[at:], []byte(slot))
		if i < 0 {
			break
		}
		at += i
		r.slots = append(r.slots, at)
	}
	patch(r.JSON, r.slots, 0)
	return r, nil
}

// size is the text that a message adds to a prompt.
func (m *message) size() int {
	n := len(m.Content) + len(m.Reasoning)
	for i := range m.Calls {
		n += len(m.Calls[i].Function.Name) + len(m.Calls[i].Function.Arguments)
	}
	return n
}

// changing are the slots in which two requests of a kind differ.
func (r *request) changing(kind string) []int {
	if kind == kindShared {
		return r.slots[r.tail:]
	}
	return r.slots
}

// patch puts digits into slots, in each of them others for every n below 100,000,000: what n is multiplied
// with has no divisor in common with 10.
func patch(body []byte, slots []int, n uint64) {
	for k, at := range slots {
		v := n*61_803_399 + uint64(k)*10_000_019
		for i := at + len(slot) - 1; i >= at; i-- {
			body[i] = byte('0' + v%10)
			v /= 10
		}
	}
}

func (t *talk) add(m message) {
	t.messages = append(t.messages, m)
	t.bytes += m.size()
}

// system is what the agent is told once.
func (t *talk) system() string {
	var b strings.Builder
	b.WriteString("You are the keeper of a code base. Work in small steps, look before you change, and say what you did.\n")
	for i := range 8 {
		fmt.Fprintf(&b, "\n# %d. %s\n", i+1, t.s.sentence())
		for range 4 {
			fmt.Fprintf(&b, "- %s\n", t.s.sentence())
		}
	}
	return b.String()
}

func (t *talk) question() string {
	return t.s.prose(5) + "\n\n```go\n" + t.s.code(1) + "```\n\n1. " + t.s.sentence() + "\n2. " + t.s.sentence() + "\n"
}

// round adds the model's turn with one call or two, and the results.
func (t *talk) round() {
	turn := message{Role: "assistant", Content: t.s.prose(t.s.between(1, 3)), Reasoning: t.s.prose(t.s.between(2, 5))}
	for range t.s.between(1, 2) {
		t.calls++
		f := function{Name: t.s.toolName(t.s.r.IntN(toolCount)), Arguments: t.arguments()}
		turn.Calls = append(turn.Calls, call{ID: fmt.Sprintf("call_%s%s%03d", t.s.hash(), t.s.hash(), t.calls), Type: "function", Function: f})
	}
	t.add(turn)
	for i := range turn.Calls {
		t.add(message{Role: "tool", Content: t.result(), CallID: turn.Calls[i].ID})
	}
}

// arguments are an object, some with a text of several lines in it.
func (t *talk) arguments() string {
	quoter := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`) // there are no other control characters
	text := `{"path": "` + t.s.path() + `", "revision": "` + slot + `", "limit": ` + strconv.Itoa(t.s.between(1, 400))
	if t.s.r.IntN(3) == 0 {
		text += `, "replacement": "` + quoter.Replace(t.s.code(1)) + `"`
	}
	return text + `, "reason": "` + t.s.sentence() + `"}`
}

// result is what a tool answers: one kind after the other, so that their shares do not depend on luck.
func (t *talk) result() string {
	t.results++
	switch t.results % 7 {
	case 1, 4:
		return t.s.code(t.s.between(2, 5))
	case 2, 5, 0:
		return t.s.prose(t.s.between(3, 7)) + "\n\n" + t.s.prose(t.s.between(3, 7)) + "\n"
	case 3:
		return t.s.document(t.s.between(4, 10))
	}
	return t.s.lines(t.s.between(12, 32))
}

// tools are the functions that the agent may call, and the size of their texts.
func (t *talk) tools() ([]tool, int) {
	list := make([]tool, toolCount)
	size := 0
	for i := range list {
		var schema strings.Builder
		schema.WriteString(`{"type": "object", "properties": {"path": {"type": "string", "description": "` + t.s.sentence() + `"}`)
		for k := range t.s.between(1, 4) {
			kind := t.s.one([]string{"string", "integer", "boolean", "number"})
			fmt.Fprintf(&schema, `, "%s_%d": {"type": "%s", "description": "%s"}`, t.s.name(), k, kind, t.s.sentence())
		}
		schema.WriteString(`, "revision": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}, "replacement": {"type": "string"}, "reason": {"type": "string"}}, "required": ["path", "revision"]}`)
		list[i] = tool{Type: "function", Function: definition{
			Name: t.s.toolName(i), Description: t.s.sentence() + " " + t.s.sentence(), Parameters: json.RawMessage(schema.String()),
		}}
		size += len(list[i].Function.Description) + schema.Len()
	}
	return list, size
}

// toolName is the same for the same number.
func (s *scribe) toolName(i int) string {
	return strings.ToLower(s.stems[i%len(s.stems)] + "_" + s.nouns[i*7%len(s.nouns)])
}
