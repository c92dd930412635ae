package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sent is a request of an agent as its gateway reads it, whatever the protocol.
type Sent struct {
	Model    string
	Stream   bool
	Tools    []string // names of functions that are offered
	Users    []string // texts of users, in order
	Said     []string // texts of the model
	Thoughts []string // reasoning of the model
	Sealed   int      // thoughts that carry what only the gateway can read
	Calls    []SentCall
}

// SentCall is a call that is sent back, with its result.
type SentCall struct {
	ID, Name, Arguments string
	Output              string
	Answered            bool
}

// Called is the call of a name that came last, nil if there is none.
func (s *Sent) Called(name string) *SentCall {
	for i := range slices.Backward(s.Calls) {
		if s.Calls[i].Name == name {
			return &s.Calls[i]
		}
	}
	return nil
}

// Offers reports whether a tool is offered.
func (s *Sent) Offers(name string) bool { return slices.Contains(s.Tools, name) }

func (s *Sent) answer(id, output string) error {
	for i := range s.Calls {
		if s.Calls[i].ID == id && !s.Calls[i].Answered {
			s.Calls[i].Output, s.Calls[i].Answered = output, true
			return nil
		}
	}
	return fmt.Errorf("a result of the call %q, which is not there", id)
}

// sentPart is a part of a message, of any protocol.
type sentPart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolName  string          `json:"tool_name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// sentItem is a message or an item, of any protocol.
type sentItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	CallID    string          `json:"tool_call_id"`
	Calls     []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	// Of responses.
	ItemCall  string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   []sentPart      `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

// ReadSent reads the body of a request to a path.
func ReadSent(path string, body []byte) (*Sent, error) {
	var b struct {
		Model    string     `json:"model"`
		Stream   bool       `json:"stream"`
		Messages []sentItem `json:"messages"`
		Tools    []struct {
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("a request to %s: %w", path, err)
	}
	s := &Sent{Model: b.Model, Stream: b.Stream}
	for _, t := range b.Tools {
		s.Tools = append(s.Tools, t.Name+t.Function.Name)
	}
	items := b.Messages
	if len(b.Input) > 0 && json.Unmarshal(b.Input, &items) != nil {
		var text string
		if err := json.Unmarshal(b.Input, &text); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
		s.Users = append(s.Users, text)
	}
	for i := range items {
		if err := s.item(&items[i]); err != nil {
			return nil, fmt.Errorf("item %d of a request to %s: %w", i, path, err)
		}
	}
	return s, nil
}

func (s *Sent) item(m *sentItem) error {
	switch m.Type {
	case "function_call":
		s.Calls = append(s.Calls, SentCall{ID: m.ItemCall, Name: m.Name, Arguments: m.Arguments})
		return nil
	case "function_call_output":
		return s.answer(m.ItemCall, textOf(m.Output))
	case "reasoning":
		if m.Encrypted != "" {
			s.Sealed++
		}
		content, _ := partsOf(m.Content)
		for _, p := range append(m.Summary, content...) {
			s.Thoughts = append(s.Thoughts, p.Text)
		}
		return nil
	}
	if m.Role == "tool" {
		return s.answer(m.CallID, textOf(m.Content))
	}
	if m.Reasoning != "" {
		s.Thoughts = append(s.Thoughts, m.Reasoning)
	}
	err := s.parts(m.Role, m.Content)
	for _, c := range m.Calls {
		s.Calls = append(s.Calls, SentCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return err
}

func (s *Sent) parts(role string, content json.RawMessage) error {
	say := func(text string) {
		switch {
		case text == "":
		case role == "user":
			s.Users = append(s.Users, text)
		case role == "assistant":
			s.Said = append(s.Said, text)
		}
	}
	parts, several := partsOf(content)
	if !several {
		say(textOf(content))
	}
	var err error
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "thinking":
			s.Thoughts = append(s.Thoughts, p.Thinking)
			if p.Signature != "" {
				s.Sealed++
			}
		case "tool_use":
			s.Calls = append(s.Calls, SentCall{ID: p.ID, Name: p.Name, Arguments: string(p.Input)})
		case "tool_result":
			err = errors.Join(err, s.answer(p.ToolUseID, textOf(p.Content)))
		default:
			say(p.Text)
		}
	}
	return err
}

// partsOf are the parts of content that has some.
func partsOf(raw json.RawMessage) (parts []sentPart, several bool) {
	several = json.Unmarshal(raw, &parts) == nil
	return parts, several
}

// textOf is a string, or the texts of parts. A tool that was loaded stands as its name.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	parts, _ := partsOf(raw)
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text + parts[i].ToolName)
	}
	return b.String()
}
