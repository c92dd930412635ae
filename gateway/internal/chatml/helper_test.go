package chatml_test

import (
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/chatml"
	policy "github.com/weirgate/weir/plugins/template"
)

func text(s string) conv.Part  { return conv.Part{Kind: conv.Text, Text: s} }
func think(s string) conv.Part { return conv.Part{Kind: conv.Reasoning, Text: s} }
func call(id, name, args string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id string, parts ...conv.Part) conv.Part {
	return conv.Part{Kind: conv.Result, Result: &conv.ToolResult{CallID: id, Parts: parts}}
}
func reference(name string) conv.Part { return conv.Part{Kind: conv.Reference, Text: name} }

func msg(role conv.Role, parts ...conv.Part) conv.Message {
	return conv.Message{Role: role, Parts: parts}
}
func system(s string) conv.Message            { return msg(conv.System, text(s)) }
func user(s string) conv.Message              { return msg(conv.User, text(s)) }
func answer(parts ...conv.Part) conv.Message  { return msg(conv.Assistant, parts...) }
func tool(id string, s string) conv.Message   { return msg(conv.Tool, result(id, text(s))) }
func request(m ...conv.Message) *conv.Request { return &conv.Request{Messages: m} }
func plain(d chatml.Dialect) chatml.Options   { return chatml.Options{Dialect: d} }

// policies are what each dialect's models use.
var policies = map[chatml.Dialect]string{
	chatml.Qwen25:     `{"policy":"drop_all"}`,
	chatml.Qwen3:      `{"policy":"qwen3"}`,
	chatml.Qwen35:     `{"policy":"qwen3.5"}`,
	chatml.Qwen3Coder: `{"policy":"drop_all"}`,
}

// planFor runs a policy natively, as its host would run it in a sandbox.
func planFor(tb testing.TB, req *conv.Request, config string) []plan.Op {
	tb.Helper()
	outline, err := chatml.Outline(req, true)
	if err != nil {
		tb.Fatal(err)
	}
	var p policy.Policy
	if err := p.Open([]byte(config)); err != nil {
		tb.Fatal(err)
	}
	b, err := p.Plan(nil, outline)
	if err != nil {
		tb.Fatal(err)
	}
	ops, err := plan.Parse(b)
	if err != nil {
		tb.Fatal(err)
	}
	return ops
}

func render(tb testing.TB, req *conv.Request, d chatml.Dialect, config string) chatml.Prompt {
	tb.Helper()
	p, err := chatml.Render(req, planFor(tb, req, config), plain(d))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

var stock = conv.ToolDef{
	Name: "get_stock", Description: "Price of a share.",
	Schema: []byte(`{"type":"object","properties":{"sym":{"type":"string","description":" Ticker \n"},"days":{"type":["integer","null"],"minimum":1}},"required":["sym"]}`),
}
