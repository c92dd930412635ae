package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// outgoing is the half of the surface that writes.
type outgoing struct{ responses.Surface }

// Decode is not what these tests are about.
func (outgoing) Decode([]byte, http.Header) (*surface.Request, error) {
	return nil, errors.New("not here")
}

// request is one that was streamed, by a client that said nothing else.
func request() *surface.Request {
	return &surface.Request{
		Request: &conv.Request{Stream: true, Choice: conv.ToolChoice{Parallel: true}},
		Own:     &responses.Own{Store: true, Finished: time.Unix(1700000009, 0)},
	}
}

func ownOf(req *surface.Request) *responses.Own { return responses.OwnOf(req) }

// sealing seals with another seal every time, as encryption does.
func sealing() func([]byte) string {
	n := 0
	return func(text []byte) string {
		n++
		return fmt.Sprintf("seal %d of %s", n, text)
	}
}

// collected keeps frames.
type collected struct{ frames []transport.Frame }

func (c *collected) Write(f transport.Frame) error {
	if bytes.ContainsAny(f.Data, "\r\n") {
		return fmt.Errorf("a frame with a line break: %q", f.Data)
	}
	c.frames = append(c.frames, transport.Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
	return nil
}

func (*collected) Flush() error { return nil }

// frame is a frame as clients read it.
type frame struct {
	Type           string
	SequenceNumber *int   `json:"sequence_number"`
	OutputIndex    *int   `json:"output_index"`
	ItemID         string `json:"item_id"`
	ContentIndex   *int   `json:"content_index"`
	SummaryIndex   *int   `json:"summary_index"`
	Item, Part     json.RawMessage
	Response       json.RawMessage
	Delta          *string
	Text           *string
	Arguments      *string
	Input          *string
	Name           string
	CallID         string `json:"call_id"`
}

// toldItem is an item as the events tell it.
type toldItem struct {
	id, kind, text, summary string
	parts                   map[string]string // what is open: added or closed
	done                    json.RawMessage
	said                    bool // its text was said whole
}

// grammar holds a stream to the order that clients demand.
type grammar struct {
	tb       testing.TB
	next     int
	items    []*toldItem
	terminal string
	response json.RawMessage
}

// keys are the members that every resource has.
var keys = []string{
	"id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id", "instructions", "output", "error",
	"tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs",
	"temperature", "reasoning", "usage", "max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata",
	"safety_identifier", "prompt_cache_key",
}

// checkStream checks all frames of a turn and returns the resource that it ended with.
func checkStream(tb testing.TB, frames []transport.Frame) (terminal string, resource json.RawMessage) {
	tb.Helper()
	g := grammar{tb: tb}
	for _, f := range frames {
		g.frame(f)
	}
	if g.terminal == "" {
		tb.Fatal("no terminal event")
	}
	var r struct{ Output []json.RawMessage }
	g.decode(g.response, &r)
	if len(r.Output) != len(g.items) {
		tb.Fatalf("%d items of output, %d were added", len(r.Output), len(g.items))
	}
	for i, it := range g.items {
		if it.done != nil && !bytes.Equal(it.done, r.Output[i]) {
			tb.Fatalf("item %d was done as %s, in the output it is %s", i, it.done, r.Output[i])
		}
		if it.done == nil && !strings.Contains(string(r.Output[i]), `"status":"incomplete"`) {
			tb.Fatalf("item %d was not done: %s", i, r.Output[i])
		}
	}
	return g.terminal, g.response
}

func (g *grammar) decode(data []byte, to any) {
	g.tb.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		g.tb.Fatalf("%s: %v", data, err)
	}
}

func (g *grammar) frame(raw transport.Frame) {
	g.tb.Helper()
	var f frame
	g.decode(raw.Data, &f)
	switch {
	case g.terminal != "":
		g.tb.Fatalf("%s after the end", raw.Data)
	case f.Type != raw.Event:
		g.tb.Fatalf("%s is named %s", raw.Data, raw.Event)
	case f.SequenceNumber == nil || *f.SequenceNumber != g.next:
		g.tb.Fatalf("%s, expected number %d", raw.Data, g.next)
	case (g.next == 0) != (f.Type == "response.created"):
		g.tb.Fatalf("%s as event %d", raw.Data, g.next)
	}
	g.next++
	switch f.Type {
	case "response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed":
		g.resource(&f)
	case "response.output_item.added":
		g.added(&f)
	case "response.output_item.done":
		g.done(&f)
	default:
		g.ofItem(&f)
	}
}

func (g *grammar) resource(f *frame) {
	g.tb.Helper()
	var all map[string]json.RawMessage
	g.decode(f.Response, &all)
	for _, k := range keys {
		if all[k] == nil {
			g.tb.Fatalf("the resource of %s has no %s: %s", f.Type, k, f.Response)
		}
	}
	want := strings.TrimPrefix(f.Type, "response.")
	if want == "created" {
		want = "in_progress"
	}
	if string(all["status"]) != `"`+want+`"` || (want == "completed") == (string(all["completed_at"]) == "null") ||
		(want == "failed") == (string(all["error"]) == "null") || (want == "incomplete") == (string(all["incomplete_details"]) == "null") {
		g.tb.Fatalf("%s: %s", f.Type, f.Response)
	}
	if want != "in_progress" {
		g.terminal, g.response = f.Type, f.Response
	} else if string(all["output"]) != "[]" || string(all["usage"]) != "null" {
		g.tb.Fatalf("%s: %s", f.Type, f.Response)
	}
}

func (g *grammar) added(f *frame) {
	g.tb.Helper()
	if *f.OutputIndex != len(g.items) {
		g.tb.Fatalf("item %d, expected %d", *f.OutputIndex, len(g.items))
	}
	var it struct{ ID, Type string }
	g.decode(f.Item, &it)
	for _, other := range g.items {
		if other.id == it.ID {
			g.tb.Fatalf("%s twice", it.ID)
		}
	}
	g.items = append(g.items, &toldItem{id: it.ID, kind: it.Type, parts: map[string]string{}})
}

// last is the item that an event is about, which is the last one.
func (g *grammar) last(f *frame) *toldItem {
	g.tb.Helper()
	if len(g.items) == 0 || f.OutputIndex == nil || *f.OutputIndex != len(g.items)-1 {
		g.tb.Fatalf("%+v is not about the last of %d items", f, len(g.items))
	}
	return g.items[len(g.items)-1]
}

func (g *grammar) ofItem(f *frame) {
	g.tb.Helper()
	it := g.last(f)
	if f.ItemID != it.id || (it.done != nil) != (f.Type == "tool_call_dispatch") {
		g.tb.Fatalf("%+v for %+v", f, it)
	}
	summary := strings.HasPrefix(f.Type, "response.reasoning_summary")
	text, part := &it.text, "content"
	if summary {
		text, part = &it.summary, "summary"
	}
	inParts := it.kind == "message" || it.kind == "reasoning"
	if index := map[bool]*int{false: f.ContentIndex, true: f.SummaryIndex}[summary]; inParts && (index == nil || *index != 0) {
		g.tb.Fatalf("%+v without an index", f)
	}
	switch {
	case strings.HasSuffix(f.Type, "part.added"):
		if it.parts[part] != "" {
			g.tb.Fatalf("%s twice", f.Type)
		}
		it.parts[part] = "added"
		g.part(f, "")
	case strings.HasSuffix(f.Type, "part.done"):
		if it.parts[part] != "said" {
			g.tb.Fatalf("%s after %q", f.Type, it.parts[part])
		}
		it.parts[part] = "closed"
		g.part(f, *text)
	case strings.HasSuffix(f.Type, ".delta"):
		if it.said || inParts && it.parts[part] != "added" || *f.Delta == "" {
			g.tb.Fatalf("%+v for %+v", f, it)
		}
		*text += *f.Delta
	case strings.HasSuffix(f.Type, "arguments.done"), strings.HasSuffix(f.Type, "input.done"):
		whole := f.Arguments
		if it.kind == "custom_tool_call" {
			whole = f.Input
		}
		if it.said || *whole != it.text || (f.Name == "") != (it.kind == "custom_tool_call") {
			g.tb.Fatalf("%+v for %+v", f, it)
		}
		it.said = true
	case f.Type == "tool_call_dispatch":
		if it.kind != "tool_search_call" && *f.Arguments != it.text || f.CallID == "" {
			g.tb.Fatalf("%+v for %+v", f, it)
		}
	case strings.HasSuffix(f.Type, ".done"):
		if *f.Text != *text || it.parts[part] != "added" {
			g.tb.Fatalf("%+v for %+v", f, it)
		}
		it.parts[part] = "said"
	default:
		g.tb.Fatalf("unknown event %s", f.Type)
	}
}

func (g *grammar) part(f *frame, text string) {
	g.tb.Helper()
	var p struct{ Type, Text string }
	g.decode(f.Part, &p)
	if p.Text != text || !slices.Contains([]string{"output_text", "reasoning_text", "summary_text"}, p.Type) {
		g.tb.Fatalf("%s is %s, said was %q", f.Type, f.Part, text)
	}
}

func (g *grammar) done(f *frame) {
	g.tb.Helper()
	it := g.last(f)
	var item struct {
		ID, Type, Status string
		Content, Summary []struct{ Text string }
		Arguments        json.RawMessage
		Input            string
	}
	g.decode(f.Item, &item)
	if it.done != nil || item.ID != it.id || item.Type != it.kind {
		g.tb.Fatalf("%s for %+v", f.Item, it)
	}
	var text, summary, args string
	for _, p := range item.Content {
		text += p.Text
	}
	for _, p := range item.Summary {
		summary += p.Text
	}
	switch it.kind {
	case "function_call":
		g.decode(item.Arguments, &args)
		text = args
	case "custom_tool_call":
		text = item.Input
	case "tool_search_call":
		it.said = len(item.Arguments) > 0 && item.Arguments[0] == '{'
	case "compaction":
		it.said = true
	default:
		it.said = it.parts["content"] == "closed" && it.parts["summary"] != "added" && it.parts["summary"] != "said"
	}
	if !it.said || text != it.text || summary != it.summary {
		g.tb.Fatalf("%s for %+v", f.Item, it)
	}
	it.done = f.Item
}

// play tells a turn, with keepalives in between, and checks what was written.
func play(tb testing.TB, s responses.Surface, events []event.Event, req *surface.Request, info surface.Info, keepAlive func(i int) bool) (terminal string, resource json.RawMessage) {
	tb.Helper()
	var c collected
	enc := s.Encode(req, info, &c)
	check := event.Checker{Next: enc}
	for i := range events {
		if keepAlive(i) {
			if err := enc.KeepAlive(); err != nil {
				tb.Fatal(err)
			}
		}
		if err := check.Event(&events[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := enc.KeepAlive(); err != nil {
		tb.Fatal(err)
	}
	if err := enc.Event(&event.Event{Kind: event.FaultKind}); err != nil {
		tb.Fatal(err)
	}
	return checkStream(tb, c.frames)
}

// stories are the told turns, and some with what this surface has beside the others.
func stories() []surfacetest.Story {
	out := surfacetest.Stories()
	call := func(index int, kind event.ToolKind, name, namespace string, args ...string) []event.Event {
		c := event.Call{Index: index, ID: fmt.Sprint("call_", index), Name: name, Namespace: namespace, Kind: kind}
		events := []event.Event{{Kind: event.ToolStart, Call: c}}
		for _, a := range args {
			events = append(events, event.Event{Kind: event.ToolArgs, Text: []byte(a)})
		}
		events = append(events, event.Event{Kind: event.ToolEnd, Call: c, Complete: true})
		c.Arguments = []byte(strings.Join(args, ""))
		return append(events, event.Event{Kind: event.Dispatch, Call: c})
	}
	text := func(p event.Phase, s string) []event.Event {
		return []event.Event{{Kind: event.TextStart, Phase: p}, {Kind: event.TextDelta, Text: []byte(s)}, {Kind: event.TextEnd}}
	}
	return append(out,
		surfacetest.Story{Name: "kinds of calls", Events: slices.Concat(
			[]event.Event{{Kind: event.TurnStart, Usage: event.Usage{Input: 7}}},
			call(0, event.Function, "spawn", "agents", `{"n":`, `1}`),
			call(1, event.Custom, "apply_patch", "", "*** Begin", " Patch\n+\"x\"\n"),
			call(2, event.ToolSearch, "tool_search", "", `{"query":`, "\n\t\"mail\", \"limit\": 2}\n"),
			call(3, event.Custom, "exec", "functions"),
			[]event.Event{{Kind: event.UsageKind}, {Kind: event.Finish, Reason: event.ReasonToolUse}},
		)},
		surfacetest.Story{Name: "phases", Events: slices.Concat(
			[]event.Event{{Kind: event.TurnStart}}, text(event.PhaseCommentary, "I look."), text(event.PhaseFinal, "Done."),
			[]event.Event{{Kind: event.UsageKind, Usage: event.Usage{Input: 1, Output: 2}}, {Kind: event.Finish, Reason: event.ReasonStop}},
		)},
		surfacetest.Story{Name: "empty blocks", Events: []event.Event{
			{Kind: event.TurnStart},
			{Kind: event.ReasoningStart},
			{Kind: event.ReasoningEnd},
			{Kind: event.TextStart},
			{Kind: event.TextEnd},
			{Kind: event.UsageKind},
			{Kind: event.Finish, Reason: event.ReasonStop},
		}},
	)
}

// story finds a told turn.
func story(tb testing.TB, name string) []event.Event {
	tb.Helper()
	for _, s := range stories() {
		if s.Name == name {
			return s.Events
		}
	}
	tb.Fatalf("no story %q", name)
	return nil
}
