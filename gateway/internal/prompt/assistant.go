package prompt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// assistant reads an assistant's message.
func (g *page) assistant(i int, m *conv.Message) error {
	g.remember(i)
	g.opens = g.a.afterUser
	if last := g.last(); last != nil && last.role == roleTool {
		g.opens = g.a.afterTool
	}
	t := turn{role: roleAssistant, name: m.Name, message: i}
	if err := g.said(&t, m); err != nil {
		return err
	}
	turn := g.recall[i]
	if turn != nil && g.templateOwns() && len(t.think) == 0 && turn.Reasoning != "" {
		t.think = g.alone(g.part(jinja.FromAssistant, ledger.Reasoning, i, recalled, turn.Reasoning))
	}
	placeless := len(t.think) > 0 && g.a.reasoning == "" // it is to be shown, and the template has no place for it
	switch open := g.req.Prompting.Continue && i == len(g.req.Messages)-1; {
	case turn != nil:
	case g.in.Write != nil && !open && (placeless || g.plan.ordered[i] || !g.sayable(&t)):
		if g.rewrite == nil {
			g.rewrite = map[int]written{}
		}
		g.rewrite[i] = written{g.blocks(&t, m), g.opens}
	case placeless:
		g.miss("%s: the template has no place for reasoning", indexed("messages", i))
	}
	g.place(t)
	return nil
}

// said reads the parts of an assistant's message: reasoning, text and calls, each of a kind together as a
// template takes them.
func (g *page) said(t *turn, m *conv.Message) error {
	i, from, asked := t.message, len(g.called), len(g.asked)
	for j := range m.Parts {
		switch p := &m.Parts[j]; p.Kind {
		case conv.Reasoning:
			if p.Text == "" {
				continue
			}
			q := g.alone(g.part(jinja.FromAssistant, ledger.Reasoning, i, j, p.Text))
			if g.plan.dropped[partKey{i, j}] && !g.templateOwns() {
				t.unsaid = append(t.unsaid, q...)
				continue
			}
			t.think = join(t.think, "\n", false, q...)
		case conv.Call:
			if p.Call == nil {
				continue
			}
			g.called = append(g.called, g.call(i, j, p.Call))
			t.calls = g.called[from:len(g.called):len(g.called)]
		case conv.MediaPart:
			return fault.At(fault.Unsupported, indexed("messages", i), "messages[%d] holds media, which this model's chat template does not take from the assistant", i)
		case conv.Text, conv.Reference:
			q, err := g.pieceOf(i, j, p, jinja.FromAssistant, ledger.Assistant)
			if err != nil {
				return err
			}
			t.add(q...)
		}
	}
	g.order = g.asked[asked:]
	return nil
}

// blocks are the parts of an assistant's message that was read into t, in their own order, for the family to write.
func (g *page) blocks(t *turn, m *conv.Message) []Block {
	var out []Block
	calls := t.calls
	for j := range m.Parts {
		switch p := &m.Parts[j]; p.Kind {
		case conv.Reasoning:
			if p.Text != "" && (!g.plan.dropped[partKey{t.message, j}] || g.templateOwns()) {
				out = append(out, Block{Kind: BlockReasoning, Text: p.Text})
			}
		case conv.Call:
			if p.Call != nil {
				c := &calls[0]
				calls = calls[1:]
				out = append(out, Block{Kind: BlockCall, Name: c.name, Arguments: c.arguments, ID: c.id})
			}
		case conv.Text, conv.Reference:
			if p.Text != "" {
				out = append(out, Block{Kind: BlockText, Text: p.Text})
			}
		}
	}
	return out
}

// templateOwns reports that the template decides what reasoning is replayed.
func (g *page) templateOwns() bool {
	return g.a.reasoning != "" && (!g.m.policyOwns || g.v.own)
}

// Recall is req with the reasoning that is remembered of turns whose messages have none, as their first part, so
// that a policy can decide on it. It returns req itself where there is nothing to add.
func Recall(req *conv.Request, turns func(message int) *Turn) *conv.Request {
	out := req
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != conv.Assistant || slices.ContainsFunc(m.Parts, func(p conv.Part) bool { return p.Kind == conv.Reasoning }) {
			continue
		}
		t := turns(i)
		if t == nil || t.Reasoning == "" {
			continue
		}
		if out == req {
			changed := *req
			changed.Messages = slices.Clone(req.Messages)
			out = &changed
		}
		out.Messages[i].Parts = append([]conv.Part{{Kind: conv.Reasoning, Text: t.Reasoning}}, m.Parts...)
	}
	return out
}

// remember looks up what the model wrote. A message that is continued is not whole.
func (g *page) remember(i int) {
	if g.in.Turns == nil || g.req.Prompting.Continue && i == len(g.req.Messages)-1 {
		return
	}
	r := g.in.Turns(i)
	if r == nil || r.Text == "" {
		return
	}
	if g.recall == nil {
		g.recall = map[int]*Turn{}
	}
	g.recall[i] = r
}

// call reads a call, and notes its id for the results.
func (g *page) call(i, j int, p *conv.ToolCall) call {
	c := call{id: p.ID, name: toolname.Of(p.Namespace, p.Name), client: p.Name, arguments: p.Arguments, part: j}
	if id, ok := g.plan.ids[partKey{i, j}]; ok {
		c.id = id
	}
	switch {
	case p.Kind == conv.Custom:
		b := append(make([]byte, 0, len(p.Arguments)+16), `{"`+customParam+`": `...)
		c.arguments = string(append(jsonscan.AppendString(b, p.Arguments), '}'))
	case strings.HasPrefix(p.Arguments, "{"): // as nearly all are
	default:
		if s := strings.TrimSpace(p.Arguments); s == "" || s == "null" {
			c.arguments = "{}"
		}
	}
	g.asked = append(g.asked, asked{p.ID, result{c.id, c.name, i}})
	return c
}

// sayable reports that the template shows all of a turn in one message.
func (g *page) sayable(t *turn) bool {
	if len(t.calls) == 0 {
		return true
	}
	return g.a.calls && (len(t.calls) == 1 || g.a.parallel) && g.beside(t)
}

// beside reports that the template shows the text that a turn has beside its calls.
func (g *page) beside(t *turn) bool {
	if blank(t.body) {
		return true
	}
	return g.a.textWithCalls && (empty(t.think) || g.a.reasoning == "" || g.a.allWithCalls)
}

// place emits a turn in as many messages as the template needs for it.
func (g *page) place(t turn) {
	_, replaced := g.rewrite[t.message]
	replaced = replaced || g.recall[t.message] != nil
	switch beside := g.beside(&t); {
	case g.sayable(&t):
		g.emit(t)
	case !g.a.calls, !beside && !g.a.textThenCalls,
		// All of it has to be in one message, in whose place the turn's own words come.
		replaced && len(t.calls) > 1 && !g.a.parallel && g.a.toolUnknown:
		g.miss("messages: calls became text of the assistant")
		for k := range t.calls {
			t.add(g.callText(t.message, &t.calls[k])...)
		}
		t.calls = nil
		g.emit(t)
	default:
		if !beside {
			g.miss("messages: text beside calls became a message of its own")
			g.emit(turn{role: t.role, name: t.name, message: t.message, body: t.body})
			t.body = nil
			g.turns = append(g.turns, t)
		} else {
			g.emit(t)
		}
		if last := g.last(); len(last.calls) > 1 && !g.a.parallel {
			g.miss("messages: calls became messages of their own")
			g.queued, g.queuedOf = last.calls[1:], t.message
			last.calls = last.calls[:1:1]
		}
	}
	if replaced {
		if g.placed == nil {
			g.placed = map[int]int{}
		}
		g.placed[t.message] = len(g.turns) - 1
	}
}

// callText is a call as text, for templates that have none.
func (g *page) callText(message int, c *call) []piece {
	args := c.arguments
	if !jsonscan.Valid([]byte(args)) {
		args = string(jsonscan.AppendString(nil, args))
	}
	name := g.part(jinja.FromAssistant, ledger.Call, message, c.part, string(jsonscan.AppendString(nil, c.name)))
	name.name, name.label = c.client, true
	body := name
	body.text, body.label = args, false
	return []piece{host(message, callOpen), name, host(message, callMiddle), body, host(message, callClose)}
}
