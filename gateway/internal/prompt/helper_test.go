package prompt_test

import (
	"errors"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/jinja"
)

func text(s string) conv.Part  { return conv.Part{Kind: conv.Text, Text: s} }
func think(s string) conv.Part { return conv.Part{Kind: conv.Reasoning, Text: s} }

func call(id, name, args string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id string, parts ...conv.Part) conv.Part {
	return conv.Part{Kind: conv.Result, Result: &conv.ToolResult{CallID: id, Parts: parts}}
}

func says(r conv.Role, parts ...conv.Part) conv.Message { return conv.Message{Role: r, Parts: parts} }
func user(s string) conv.Message                        { return says(conv.User, text(s)) }
func system(s string) conv.Message                      { return says(conv.System, text(s)) }
func answer(p ...conv.Part) conv.Message                { return says(conv.Assistant, p...) }
func tool(id, s string) conv.Message                    { return says(conv.Tool, result(id, text(s))) }
func request(m ...conv.Message) *conv.Request           { return &conv.Request{Messages: m} }

func withTools(req *conv.Request, tools ...conv.ToolDef) *conv.Request {
	out := *req
	out.Tools = tools
	return &out
}

func weather() conv.ToolDef {
	return conv.ToolDef{
		Name: "weather", Description: "Weather of a place.",
		Schema: []byte(`{"type":"object","properties":{"place":{"type":"string","description":"Name"},"days":{"type":"integer"}},"required":["place"]}`),
	}
}

// covers fails unless the origins cover the text in order, neighbours differ, and splices and parts lie in it.
func covers(tb testing.TB, p *prompt.Prompt) {
	tb.Helper()
	at := 0
	kinds(tb, p)
	for i, s := range p.Spans {
		if int(s.Start) != at || s.End <= s.Start {
			tb.Fatalf("span %d is %+v, the one before ends at %d", i, s, at)
		}
		if i > 0 && p.Spans[i-1].Origin == s.Origin {
			tb.Fatalf("spans %d and %d have one origin", i-1, i)
		}
		at = int(s.End)
	}
	if at != len(p.Text) {
		tb.Fatalf("the origins end at %d of %d bytes", at, len(p.Text))
	}
	last := 0
	for i, q := range p.Parts {
		if q.End == q.Start {
			continue
		}
		if q.Start < last || q.End < q.Start || q.End > len(p.Text) {
			tb.Fatalf("part %d is %+v, the one before ends at %d", i, q, last)
		}
		last = q.End
	}
	last = 0
	for _, s := range p.Splices {
		if s.From < last || s.To < s.From || s.To > len(p.Text) {
			tb.Fatalf("splice %+v", s)
		}
		last = s.To
	}
}

// kinds fails unless Kinds are those of Spans.
func kinds(tb testing.TB, p *prompt.Prompt) {
	tb.Helper()
	at, next := int32(0), 0
	for i, s := range p.Kinds {
		if s.End <= at {
			tb.Fatalf("kind %d is %+v, the one before ends at %d", i, s, at)
		}
		for ; at < s.End && next < len(p.Spans); next++ {
			q := &p.Spans[next]
			if q.Start > at || q.Origin.Kind != s.Kind {
				tb.Fatalf("kind %d is %+v, the origin there %+v", i, s, q)
			}
			if at = min(s.End, q.End); at < q.End {
				break
			}
		}
	}
	if int(at) != len(p.Text) {
		tb.Fatalf("the kinds end at %d of %d bytes", at, len(p.Text))
	}
}

func render(tb testing.TB, m *prompt.Model, in *prompt.Input) *prompt.Prompt {
	tb.Helper()
	in.Origins = true
	p, err := m.Render(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	covers(tb, p)
	return p
}

// refused is the fault of a render that must fail.
func refused(tb testing.TB, m *prompt.Model, in *prompt.Input) *fault.Error {
	tb.Helper()
	_, err := m.Render(tb.Context(), in)
	var f *fault.Error
	if !errors.As(err, &f) {
		tb.Fatalf("error %v is no fault", err)
	}
	return f
}

// from are the bytes of a prompt that have an origin.
func from(p *prompt.Prompt, kind jinja.OriginKind, message int) string {
	var b []byte
	for _, s := range p.Spans {
		if s.Origin.Kind == kind && int(s.Origin.Message) == message {
			b = append(b, p.Text[s.Start:s.End]...)
		}
	}
	return string(b)
}
