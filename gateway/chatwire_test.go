package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// chatUsage is usage on chat.
type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	In         struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type chatCall struct {
	Index    *int
	ID       string
	Type     string
	Function struct {
		Name      string
		Arguments *string
	}
}

// chatDelta holds pointers where it matters whether a member is there.
type chatDelta struct {
	Role      string
	Content   *string
	Refusal   *string
	Reasoning *string    `json:"reasoning_content"`
	Calls     []chatCall `json:"tool_calls"`
}

type chatChunk struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index   int
		Delta   *chatDelta
		Message *chatDelta
		Logs    *int    `json:"logprobs"`
		Finish  *string `json:"finish_reason"`
	}
	Usage    *chatUsage
	Dispatch *struct {
		Index               int
		ID, Name, Arguments string
	} `json:"tool_call_dispatch"`
}

// chatReader follows a stream as the official clients do, and complains of what they would not take.
type chatReader struct {
	tb              testing.TB
	a               answer
	begun, finished bool
	over            bool
	byIndex         map[int]int // block of a call
}

func readChat(tb testing.TB, frames []frame) answer {
	tb.Helper()
	r := chatReader{tb: tb, byIndex: map[int]int{}}
	for _, f := range frames {
		switch {
		case r.over:
			tb.Fatalf("after the end: %s", f.Data)
		case string(f.Data) == "[DONE]":
			r.over = true
		case f.Event == "done": // of a socket
			r.over = true
		case f.Event != "" && f.Event != "chunk" && f.Event != "tool_call_dispatch" && f.Event != "error":
			tb.Fatalf("event %q", f.Event)
		default:
			r.frame(f)
		}
	}
	if r.a.Fault == nil && (!r.finished || !r.over) {
		tb.Errorf("a turn without a finish or an end: %s", tail(frames))
	}
	return r.a
}

// tail is the last few frames, for a message.
func tail(frames []frame) string {
	var out []string
	for _, f := range frames[max(0, len(frames)-4):] {
		out = append(out, f.Event+" "+string(f.Data))
	}
	return strings.Join(out, "\n")
}

func (r *chatReader) frame(f frame) {
	tb := r.tb
	tb.Helper()
	if strings.HasPrefix(string(f.Data), `{"error"`) {
		e := chatRefusal(tb, f.Status, f.Data)
		r.a.Fault = &e
		r.over = f.ID == nil // a socket still says done
		return
	}
	var c chatChunk
	strict(tb, f.Data, &c)
	if !strings.HasPrefix(c.ID, "chatcmpl-") || c.Object != "chat.completion.chunk" || c.Created == 0 || c.Choices == nil {
		tb.Fatalf("not a chunk: %s", f.Data)
	}
	if r.begun && (c.ID != r.a.ID || c.Model != r.a.Model) {
		tb.Errorf("another id or model in %s", f.Data)
	}
	r.a.ID, r.a.Model = c.ID, c.Model
	switch {
	case c.Dispatch != nil:
		if len(c.Choices) != 0 || f.Event != "tool_call_dispatch" {
			tb.Errorf("dispatch: %s", f.Data)
		}
		r.a.Dispatched = append(r.a.Dispatched, block{Kind: "call", ID: c.Dispatch.ID, Name: c.Dispatch.Name, Text: c.Dispatch.Arguments})
	case c.Usage != nil:
		if len(c.Choices) != 0 || !r.finished || c.Usage.Total != c.Usage.Prompt+c.Usage.Completion {
			tb.Errorf("usage: %s", f.Data)
		}
		r.a.Input, r.a.Cached, r.a.Output = c.Usage.Prompt, c.Usage.In.Cached, c.Usage.Completion
	case len(c.Choices) != 1 || c.Choices[0].Delta == nil || r.finished:
		tb.Fatalf("unexpected %s", f.Data)
	default:
		r.delta(c.Choices[0].Delta, f)
		if fin := c.Choices[0].Finish; fin != nil {
			r.finished, r.a.Finish = true, *fin
		}
	}
}

func (r *chatReader) delta(d *chatDelta, f frame) {
	tb := r.tb
	tb.Helper()
	if first := d.Role == "assistant" && d.Content != nil && *d.Content == ""; first == r.begun {
		tb.Errorf("begun %v at %s", r.begun, f.Data)
	}
	switch {
	case !r.begun:
		r.begun = true
	case d.Content != nil:
		r.a.add("text", *d.Content)
	case d.Reasoning != nil:
		r.a.add("reasoning", *d.Reasoning)
	case len(d.Calls) == 1:
		r.call(&d.Calls[0], f)
	case len(d.Calls) > 1:
		tb.Errorf("several calls in a delta: %s", f.Data)
	case !strings.Contains(string(f.Data), `"finish_reason":"`):
		r.a.Alive++
	}
}

// call takes a fragment: the first of an index has everything but arguments, the others nothing else.
func (r *chatReader) call(c *chatCall, f frame) {
	tb := r.tb
	tb.Helper()
	if c.Index == nil || c.Function.Arguments == nil {
		tb.Fatalf("a fragment without index or arguments: %s", f.Data)
	}
	at, known := r.byIndex[*c.Index]
	if first := c.ID != "" && c.Type == "function" && c.Function.Name != ""; first == known || known && (c.ID != "" || c.Function.Name != "") {
		tb.Errorf("fragment of call %d: %s", *c.Index, f.Data)
	}
	if !known {
		if *c.Index != len(r.byIndex) {
			tb.Errorf("call %d, want %d", *c.Index, len(r.byIndex))
		}
		at = len(r.a.Blocks)
		r.byIndex[*c.Index] = at
		r.a.Blocks = append(r.a.Blocks, block{Kind: "call", ID: c.ID, Name: c.Function.Name})
	}
	r.a.Blocks[at].Text += *c.Function.Arguments
}

// wholeChat reads an answer that was not streamed. Its blocks are reasoning, text, calls.
func wholeChat(tb testing.TB, body []byte) answer {
	tb.Helper()
	var c chatChunk
	strict(tb, body, &c)
	if c.Object != "chat.completion" || len(c.Choices) != 1 || c.Choices[0].Message == nil || c.Choices[0].Finish == nil || c.Usage == nil {
		tb.Fatalf("not a completion: %s", body)
	}
	m := c.Choices[0].Message
	a := answer{ID: c.ID, Model: c.Model, Finish: *c.Choices[0].Finish, Input: c.Usage.Prompt, Cached: c.Usage.In.Cached, Output: c.Usage.Completion}
	if m.Reasoning != nil {
		a.add("reasoning", *m.Reasoning)
	}
	if m.Content != nil && *m.Content != "" {
		a.add("text", *m.Content)
	}
	for _, call := range m.Calls {
		if !json.Valid([]byte(*call.Function.Arguments)) {
			tb.Errorf("arguments %q", *call.Function.Arguments)
		}
		a.Blocks = append(a.Blocks, block{Kind: "call", ID: call.ID, Name: call.Function.Name, Text: *call.Function.Arguments})
	}
	return a
}
