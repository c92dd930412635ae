package family_test

import (
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/outline"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/wire"
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

// The families.
const (
	qwen25     = "qwen2.5"
	qwen3      = "qwen3"
	qwen35     = "qwen3.5"
	qwen3Coder = "qwen3_coder"
)

// policies are what each family's models use.
var policies = map[string]string{qwen25: qwen25, qwen3: qwen3, qwen35: qwen35, qwen3Coder: qwen3Coder}

// kin is a family as a gateway uses it: its template, its policies and its way of writing.
type kin struct {
	name  string
	model *prompt.Model
	style *wire.Style
}

// open compiles a family's template.
func open(tb testing.TB, name string) *kin {
	tb.Helper()
	src, ok := family.Template(name)
	if !ok {
		tb.Fatalf("no template of family %s", name)
	}
	m, err := prompt.New(tb.Context(), prompt.Source{Template: src, Ends: family.Ends(), PolicyOwns: true})
	if err != nil {
		tb.Fatal(err)
	}
	reasoning, tools, _ := family.Formats(name)
	s, err := wire.For(reasoning, tools)
	if err != nil {
		tb.Fatal(err)
	}
	return &kin{name, m, s}
}

// all are the families by name.
func all(tb testing.TB) map[string]*kin {
	tb.Helper()
	out := map[string]*kin{}
	for _, name := range family.Names() {
		out[name] = open(tb, name)
	}
	return out
}

// plan runs a policy natively, as its host would run it in a sandbox. An empty name is the family's own policy.
func (k *kin) plan(tb testing.TB, req *conv.Request, name string) []plan.Op {
	tb.Helper()
	if name == "" {
		name = policies[k.name]
	}
	config := jsonscan.AppendString([]byte(`{"policy":`), name)
	config = jsonscan.AppendString(append(config, `,"start":`...), family.Start(k.name))
	var p policy.Policy
	if err := p.Open(append(config, '}')); err != nil {
		tb.Fatal(err)
	}
	rows, err := outline.Of(req, true, toolname.Of)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := p.Plan(nil, rows)
	if err != nil {
		tb.Fatal(err)
	}
	ops, err := plan.Parse(b)
	if err != nil {
		tb.Fatal(err)
	}
	return ops
}

// input is what a gateway renders; an empty policy is the family's own.
func (k *kin) input(tb testing.TB, req *conv.Request, policy string) *prompt.Input {
	tb.Helper()
	return &prompt.Input{Request: req, Plan: k.plan(tb, req, policy), Write: k.write}
}

func (k *kin) render(tb testing.TB, req *conv.Request, policy string) *prompt.Prompt {
	tb.Helper()
	return k.make(tb, k.input(tb, req, policy))
}

// make renders, and fails unless origins, parts and splices lie in the text and in order.
func (k *kin) make(tb testing.TB, in *prompt.Input) *prompt.Prompt {
	tb.Helper()
	in.Origins = true
	p, err := k.model.Render(tb.Context(), in)
	if err != nil {
		tb.Fatalf("%s: %v", k.name, err)
	}
	at := 0
	for _, s := range p.Spans {
		if int(s.Start) != at || s.End <= s.Start {
			tb.Fatalf("%s: origins %+v behind %d", k.name, s, at)
		}
		at = int(s.End)
	}
	if at != len(p.Text) {
		tb.Fatalf("%s: the origins end at %d of %d bytes", k.name, at, len(p.Text))
	}
	at = 0
	for _, s := range p.Splices {
		if s.From < at || s.To < s.From || s.To > len(p.Text) {
			tb.Fatalf("%s: splice %d to %d behind %d", k.name, s.From, s.To, at)
		}
		at = s.To
	}
	return p
}

// write is prompt.Input's Write.
func (k *kin) write(dst []byte, tail string, blocks []prompt.Block) []byte {
	kinds := [...]wire.Kind{prompt.BlockReasoning: wire.Reasoning, prompt.BlockText: wire.Text, prompt.BlockCall: wire.Call}
	out := make([]wire.Block, len(blocks))
	for i, b := range blocks {
		out[i] = wire.Block{Kind: kinds[b.Kind], Text: b.Text, Name: b.Name, Arguments: b.Arguments, ID: b.ID}
	}
	return k.style.Write(dst, tail, out)
}

// blocks are an assistant's parts as a model writes them.
func blocks(parts []conv.Part) []wire.Block {
	var out []wire.Block
	for _, p := range parts {
		switch p.Kind {
		case conv.Reasoning:
			out = append(out, wire.Block{Kind: wire.Reasoning, Text: p.Text})
		case conv.Text:
			out = append(out, wire.Block{Kind: wire.Text, Text: p.Text})
		case conv.Call:
			out = append(out, wire.Block{Kind: wire.Call, Name: p.Call.Name, Arguments: p.Call.Arguments})
		}
	}
	return out
}

var stock = conv.ToolDef{
	Name: "get_stock", Description: "Price of a share.",
	Schema: []byte(`{"type":"object","properties":{"sym":{"type":"string","description":" Ticker \n"},"days":{"type":["integer","null"],"minimum":1}},"required":["sym"]}`),
}
