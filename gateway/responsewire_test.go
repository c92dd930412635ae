package gateway_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type responseUsage struct {
	Input   int `json:"input_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
}

type responsePart struct {
	Type, Text            string
	Annotations, Logprobs []any
}

type responseItem struct {
	Type, ID, Status, Role, Phase string
	Content, Summary              []responsePart
	Call                          string `json:"call_id"`
	Name, Namespace, Input        string
	Arguments                     json.RawMessage
	Execution                     string
	Sealed                        string `json:"encrypted_content"`
}

// text is what an item says: a function's arguments, a custom tool's input, or its parts.
func (it *responseItem) text(tb testing.TB) string {
	tb.Helper()
	switch it.Type {
	case "function_call":
		var s string
		if err := json.Unmarshal(it.Arguments, &s); err != nil {
			tb.Errorf("arguments %s: %v", it.Arguments, err)
		}
		return s
	case "custom_tool_call":
		return it.Input
	case "tool_search_call":
		return string(it.Arguments)
	}
	var out strings.Builder
	for _, p := range it.Content {
		out.WriteString(p.Text)
	}
	return out.String()
}

// block is an item as the other surfaces' readers have blocks.
func (it *responseItem) block(tb testing.TB) block {
	tb.Helper()
	b := block{Kind: "call", ID: it.Call, Name: it.Name, Text: it.text(tb)}
	switch it.Type {
	case "reasoning":
		b.Kind = "reasoning"
	case "message":
		b.Kind = "text"
	}
	return b
}

type response struct {
	ID, Object, Status, Model string
	Output                    []responseItem
	Usage                     *responseUsage
	Error                     *struct{ Code, Message string }
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Previous                  *string                  `json:"previous_response_id"`
	Store                     bool
}

func parseResponse(tb testing.TB, raw []byte) response {
	tb.Helper()
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		tb.Fatalf("%v: %s", err, raw)
	}
	checkResource(tb, raw)
	if r.Object != "response" || !strings.HasPrefix(r.ID, "resp_") || r.Output == nil {
		tb.Errorf("not a resource: %s", raw)
	}
	return r
}

type responseEvent struct {
	Type               string
	Sequence           *int `json:"sequence_number"`
	Response           json.RawMessage
	Output             *int `json:"output_index"`
	Item               *responseItem
	ItemID             string `json:"item_id"`
	ContentIndex       *int   `json:"content_index"`
	SummaryIndex       *int   `json:"summary_index"`
	Part               *responsePart
	Delta, Text, Input string
	Logprobs           []any
	Name, Namespace    string
	Arguments          string
	Call               string `json:"call_id"`
}

// responsesReader follows a stream by the surface's grammar.
type responsesReader struct {
	tb      testing.TB
	a       answer
	state   string // "", created, open, item, over
	next    int    // sequence number
	index   int    // of the open item, or the last
	item    responseItem
	said    string
	closed  bool // the open item has told its whole text
	done    []responseItem
	compact bool
}

func readResponses(tb testing.TB, frames []frame) answer {
	tb.Helper()
	r := responsesReader{tb: tb, index: -1}
	for _, f := range frames {
		if f.Event == "done" { // of a socket
			continue
		}
		if f.Event == "error" {
			e := responsesRefusal(tb, f.Status, f.Data)
			r.a.Fault, r.state = &e, "over"
			continue
		}
		var e responseEvent
		strict(tb, f.Data, &e)
		if e.Type != f.Event && f.Event != "" || e.Sequence == nil || *e.Sequence != r.next {
			tb.Fatalf("event %s, number %d: %s", f.Event, r.next, f.Data)
		}
		r.next++
		r.event(&e, f)
	}
	if r.state != "over" {
		tb.Errorf("the turn has no end: %s", tail(frames))
	}
	return r.a
}

func (r *responsesReader) in(f frame, states ...string) {
	r.tb.Helper()
	if !slices.Contains(states, r.state) {
		r.tb.Fatalf("in state %q: %s", r.state, f.Data)
	}
}

func (r *responsesReader) event(e *responseEvent, f frame) {
	r.tb.Helper()
	switch e.Type {
	case "response.created":
		r.in(f, "")
		res := parseResponse(r.tb, e.Response)
		if res.Status != "in_progress" || len(res.Output) != 0 || res.Usage != nil {
			r.tb.Errorf("created: %s", f.Data)
		}
		r.a.ID, r.a.Model, r.state = res.ID, res.Model, "created"
	case "response.in_progress":
		r.in(f, "created", "open", "item")
		if res := parseResponse(r.tb, e.Response); res.ID != r.a.ID || res.Status != "in_progress" {
			r.tb.Errorf("in progress: %s", f.Data)
		}
		if r.state == "created" {
			r.state = "open"
		} else {
			r.a.Alive++
		}
	case "response.output_item.added":
		r.in(f, "open")
		r.open(e, f)
	case "response.output_item.done":
		r.in(f, "item")
		r.close(e, f)
	case "tool_call_dispatch":
		r.in(f, "open")
		if e.ItemID != r.item.ID || *e.Output != r.index {
			r.tb.Errorf("dispatch of %s: %s", r.item.ID, f.Data)
		}
		r.a.Dispatched = append(r.a.Dispatched, block{Kind: "call", ID: e.Call, Name: e.Name, Text: e.Arguments})
	case "response.completed", "response.incomplete", "response.failed":
		if r.state != "created" || len(r.done) > 0 { // one that generates nothing begins and ends
			r.in(f, "open", "item")
		}
		r.end(e, f)
	default:
		r.in(f, "item")
		r.part(e, f)
	}
}

func (r *responsesReader) open(e *responseEvent, f frame) {
	r.tb.Helper()
	it := e.Item
	if it == nil || *e.Output != r.index+1 || it.ID == "" || it.Status == "completed" || len(it.Content) != 0 || len(it.Summary) != 0 {
		r.tb.Fatalf("item added after %d: %s", r.index, f.Data)
	}
	r.index, r.item, r.said, r.closed, r.state = *e.Output, *it, "", false, "item"
	switch it.Type {
	case "reasoning", "message", "function_call", "custom_tool_call", "tool_search_call":
		b := it.block(r.tb)
		b.Text = ""
		r.a.Blocks = append(r.a.Blocks, b)
	case "compaction":
		r.compact = true
	default:
		r.tb.Fatalf("item of type %q", it.Type)
	}
}

// part reads what stands between the beginning and the end of an item.
func (r *responsesReader) part(e *responseEvent, f frame) {
	r.tb.Helper()
	if e.ItemID != r.item.ID || e.Output == nil || *e.Output != r.index {
		r.tb.Fatalf("event of another item than %s: %s", r.item.ID, f.Data)
	}
	switch r.item.Type + " " + strings.TrimPrefix(e.Type, "response.") {
	case "reasoning content_part.added", "message content_part.added":
		if r.said != "" || e.Part == nil || e.Part.Text != "" {
			r.tb.Errorf("a part that does not begin: %s", f.Data)
		}
	case "reasoning reasoning_text.delta", "reasoning reasoning.delta", "message output_text.delta", "function_call function_call_arguments.delta", "custom_tool_call custom_tool_call_input.delta":
		if r.closed {
			r.tb.Errorf("a delta behind the end: %s", f.Data)
		}
		r.said += e.Delta
		r.a.Blocks[len(r.a.Blocks)-1].Text += e.Delta
	case "reasoning reasoning_text.done", "reasoning reasoning.done", "message output_text.done":
		r.whole(e.Text, f)
	case "function_call function_call_arguments.done":
		r.whole(e.Arguments, f)
	case "custom_tool_call custom_tool_call_input.done":
		r.whole(e.Input, f)
	case "reasoning content_part.done", "message content_part.done":
		if !r.closed || e.Part == nil || e.Part.Text != r.said {
			r.tb.Errorf("the end of a part: %s", f.Data)
		}
	default:
		r.tb.Fatalf("in an item of %s: %s", r.item.Type, f.Data)
	}
}

func (r *responsesReader) whole(text string, f frame) {
	r.tb.Helper()
	if r.closed || text != r.said {
		r.tb.Errorf("whole text that is not %q: %s", r.said, f.Data)
	}
	r.closed = true
}

func (r *responsesReader) close(e *responseEvent, f frame) {
	r.tb.Helper()
	it := e.Item
	if it == nil || it.ID != r.item.ID || it.Type != r.item.Type || *e.Output != r.index || it.Status != "" && it.Status != "completed" {
		r.tb.Fatalf("item done: %s", f.Data)
	}
	switch {
	case it.Type == "tool_search_call":
		r.a.Blocks[len(r.a.Blocks)-1].Text = it.text(r.tb)
	case it.Type != "compaction" && it.text(r.tb) != r.said:
		r.tb.Errorf("item done is not %q: %s", r.said, f.Data)
	}
	r.done, r.state = append(r.done, *it), "open"
}

func (r *responsesReader) end(e *responseEvent, f frame) {
	r.tb.Helper()
	res := parseResponse(r.tb, e.Response)
	if "response."+res.Status != e.Type || res.ID != r.a.ID {
		r.tb.Errorf("the end: %s", f.Data)
	}
	r.state = "over"
	whole := 0
	for _, it := range res.Output {
		if it.Status == "incomplete" {
			continue
		}
		if whole >= len(r.done) || it.ID != r.done[whole].ID || it.text(r.tb) != r.done[whole].text(r.tb) {
			r.tb.Errorf("the output is not what was done: %s", f.Data)
			break
		}
		whole++
	}
	if res.Status == "failed" {
		r.a.Fault = &refusal{Code: res.Error.Code, Message: res.Error.Message}
		return
	}
	if whole != len(r.done) {
		r.tb.Errorf("%d items done, %d in the output: %s", len(r.done), whole, f.Data)
	}
	fillResponse(r.tb, &r.a, &res)
}

// fillResponse takes what a resource says of a turn that ended.
func fillResponse(tb testing.TB, a *answer, res *response) {
	tb.Helper()
	if res.Usage == nil || res.Usage.Total != res.Usage.Input+res.Usage.Output {
		tb.Errorf("usage %+v", res.Usage)
		return
	}
	a.Input, a.Start, a.Cached, a.Output = res.Usage.Input, res.Usage.Input, res.Usage.Details.Cached, res.Usage.Output
	a.Finish = res.Status
	if res.Incomplete != nil {
		a.Finish = res.Incomplete.Reason
	}
}

// wholeResponses reads an answer that was not streamed.
func wholeResponses(tb testing.TB, body []byte) answer {
	tb.Helper()
	res := parseResponse(tb, body)
	a := answer{ID: res.ID, Model: res.Model}
	for i := range res.Output {
		a.Blocks = append(a.Blocks, res.Output[i].block(tb))
	}
	fillResponse(tb, &a, &res)
	return a
}

// responsesRefusal reads an error body, or an error frame of a socket.
func responsesRefusal(tb testing.TB, status int, body []byte) refusal {
	tb.Helper()
	if !bytes.Contains(body, []byte(`"type":"error"`)) {
		return chatRefusal(tb, status, body)
	}
	var v struct {
		Type    string
		Status  int
		Error   json.RawMessage
		Headers map[string]string
	}
	strict(tb, body, &v)
	return chatRefusal(tb, v.Status, []byte(object(`"error":`+string(v.Error))))
}
