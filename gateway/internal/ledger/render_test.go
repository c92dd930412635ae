package ledger_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/tokenizer"
	"github.com/weirgate/weir/gateway/tokenizer/builtin"
)

const header = "x-billing: " // opens the volatile line of these tests

// style is how a prompt is rendered.
type style struct {
	date       string // the template prints it in front of everything
	dropped    bool   // reasoning before the last user message is not replayed
	owner      ledger.Owner
	merged     bool // neighbouring user messages are one turn
	respaced   bool // arguments are printed without white space
	forgotten  bool // of the assistant's parts
	thinkTail  bool // the generation prompt opens the reasoning
	bytes      bool // the prompt has no ids
	unexplored bool // the prompt has no parts
}

var vocabulary = sync.OnceValues(builtin.New)

func encoder(tb testing.TB) *tokenizer.Tokenizer {
	tb.Helper()
	v, err := vocabulary()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// page writes a prompt and marks its parts.
type page struct {
	l     *ledger.Ledger
	text  strings.Builder
	parts []ledger.Part
}

func (p *page) mark(k ledger.Kind, f ledger.Flags, message, part int, name, text, canonical string) {
	at := p.text.Len()
	p.text.WriteString(text)
	g := ledger.Part{Kind: k, Flags: f, Message: message, Part: part, Name: name, Start: at, End: at + len(text)}
	if canonical != text {
		g.Canonical = p.l.Sum(canonical)
	}
	p.parts = append(p.parts, g)
}

// render writes a conversation as the ChatML families do, with the parts as a renderer knows them.
func render(tb testing.TB, l *ledger.Ledger, key ledger.Key, req *conv.Request, st style) *ledger.Prompt {
	tb.Helper()
	p := &page{l: l}
	p.text.WriteString("<|begin|>")
	if st.date != "" {
		p.text.WriteString("Today is " + st.date + ".\n")
	}
	last, role := -1, conv.Role(0)
	for i := range req.Messages {
		if req.Messages[i].Role == conv.User {
			last = i
		}
	}
	tooled, folded := false, 0
	for i := range req.Messages {
		m := &req.Messages[i]
		switch {
		case st.merged && m.Role == conv.User && role == conv.User:
			p.text.WriteString("\n")
			folded++
		case role != 0:
			p.text.WriteString("<|im_end|>\n<|im_start|>" + m.Role.String() + "\n")
		default:
			p.text.WriteString("<|im_start|>" + m.Role.String() + "\n")
		}
		role = m.Role
		for j := range m.Parts {
			p.part(m, i-folded, j, i < last, st)
			p.parts[len(p.parts)-1].Part += folded * 100 // parts of one message are told apart
		}
		if m.Role == conv.System && !tooled {
			p.tools(req.Tools)
			tooled = true
		}
	}
	p.text.WriteString("<|im_end|>\n<|im_start|>assistant\n")
	if st.thinkTail {
		p.text.WriteString("<think>\n")
	}
	out := &ledger.Prompt{Key: key, Text: p.text.String(), Parts: p.parts, Owner: st.owner, Block: 16}
	if st.unexplored {
		out.Parts = nil
	}
	if !st.bytes {
		out.IDs = encoder(tb).Encode(nil, out.Text)
	}
	return out
}

func (p *page) tools(tools []conv.ToolDef) {
	if len(tools) == 0 {
		return
	}
	p.text.WriteString("\n# Tools\n")
	for i, t := range tools {
		text := `{"name": "` + t.Name + `", "schema": ` + string(t.Schema) + "}"
		p.mark(ledger.ToolSchema, 0, i, 0, t.Name, text, text)
		p.text.WriteString("\n")
	}
}

func (p *page) part(m *conv.Message, i, j int, past bool, st style) {
	var flags ledger.Flags
	if st.forgotten && m.Role == conv.Assistant {
		flags = ledger.Forgotten
	}
	part := &m.Parts[j]
	switch part.Kind {
	case conv.Reasoning:
		if past && st.dropped {
			p.mark(ledger.Reasoning, flags, i, j, "", "", part.Text)
			return
		}
		p.text.WriteString("<think>\n")
		p.mark(ledger.Reasoning, flags, i, j, "", part.Text, part.Text)
		p.text.WriteString("\n</think>\n\n")
	case conv.Call:
		p.text.WriteString(`<tool_call>{"name": "` + part.Call.Name + `", "arguments": `)
		args := part.Call.Arguments
		if st.respaced {
			args = strings.ReplaceAll(args, " ", "")
		}
		p.mark(ledger.Call, flags, i, j, part.Call.Name, args, part.Call.Arguments)
		p.text.WriteString("}</tool_call>")
	case conv.Result:
		p.text.WriteString("<tool_response>")
		for _, q := range part.Result.Parts {
			p.mark(ledger.ToolResult, 0, i, j, "", q.Text, q.Text)
		}
		p.text.WriteString("</tool_response>")
	default:
		kind := map[conv.Role]ledger.Kind{
			conv.System: ledger.System, conv.Developer: ledger.System, conv.User: ledger.User, conv.Assistant: ledger.Assistant,
		}[m.Role]
		if strings.HasPrefix(part.Text, header) {
			kind = ledger.Preamble
		}
		if strings.HasPrefix(part.Text, "<reminder>") {
			flags |= ledger.Volatile
		}
		p.mark(kind, flags, i, j, "", part.Text, part.Text)
	}
}

// Pieces of conversations.

func text(s string) conv.Part  { return conv.Part{Kind: conv.Text, Text: s} }
func think(s string) conv.Part { return conv.Part{Kind: conv.Reasoning, Text: s} }

func call(name, args string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "call_1", Name: name, Arguments: args}}
}

func result(s string) conv.Message {
	return conv.Message{Role: conv.Tool, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{CallID: "call_1", Parts: []conv.Part{text(s)}}}}}
}

func says(r conv.Role, parts ...conv.Part) conv.Message { return conv.Message{Role: r, Parts: parts} }

func tool(name, schema string) conv.ToolDef {
	return conv.ToolDef{Name: name, Schema: []byte(schema)}
}

// prose is n words that differ with seed.
func prose(seed, n int) string {
	words := []string{"river", "gate", "stone", "water", "level", "flow", "north", "bridge", "mill", "field", "rain", "path"}
	var b strings.Builder
	x := uint32(seed)*2654435761 + 1
	for range n {
		x = x*1664525 + 1013904223
		b.WriteString(words[x>>16%uint32(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

// talk is a conversation with a client's frame: a header, a system prompt and two tools.
func talk(turns ...conv.Message) *conv.Request {
	frame := says(conv.System, text(header+"abc\n"), text("You keep the gates. "+prose(1, 120)))
	return &conv.Request{
		Messages: append([]conv.Message{frame}, turns...),
		Tools:    []conv.ToolDef{tool("open", `{"type": "object"}`), tool("shut", `{"type": "object", "properties": {}}`), tool("read", `{"type": "array"}`)},
	}
}

// but returns a copy of req that f may change.
func but(req *conv.Request, f func(*conv.Request)) *conv.Request {
	out := *req
	out.Tools = slices.Clone(req.Tools)
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		out.Messages[i].Parts = slices.Clone(out.Messages[i].Parts)
	}
	f(&out)
	return &out
}

// naive counts the units that two prompts begin with.
func naive(a, b *ledger.Prompt) int {
	n := 0
	if len(a.IDs) > 0 || len(b.IDs) > 0 {
		for n < len(a.IDs) && n < len(b.IDs) && a.IDs[n] == b.IDs[n] {
			n++
		}
		return n
	}
	for n < len(a.Text) && n < len(b.Text) && a.Text[n] == b.Text[n] {
		n++
	}
	return n
}
