package prompt

import (
	"strings"

	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// values are the turns as the template gets them.
func (g *page) values() jinja.Value {
	list := make([]jinja.Value, len(g.turns))
	for k := range g.turns {
		list[k] = g.value(k, &g.turns[k])
	}
	return jinja.List(list...)
}

func (g *page) value(k int, t *turn) jinja.Value {
	var all [6]jinja.Member
	members := append(all[:0], member("role", plainText(t.role.String())), member("content", g.body(k, t)))
	if t.name != "" {
		members = append(members, member("name", g.label(k, t, t.name, true)))
	}
	if t.answers != nil {
		if t.answers.id != "" {
			members = append(members, member("tool_call_id", g.label(k, t, t.answers.id, g.a.resultIDs || g.a.callIDs)))
		}
		if t.answers.name != "" && t.name == "" {
			members = append(members, member("name", g.label(k, t, t.answers.name, g.a.resultName)))
		}
	}
	switch {
	case len(t.think) == 0 || g.a.reasoning == thoughtParts:
	case g.a.reasoning == "":
		g.note(k, t.think)
	default:
		members = append(members, member(g.a.reasoning, g.text(k, t.think)))
	}
	g.note(k, t.unsaid)
	if len(t.calls) > 0 {
		var few [4]jinja.Value
		list := few[:0]
		for c := range t.calls {
			list = append(list, g.callValue(k, t, &t.calls[c]))
		}
		members = append(members, member("tool_calls", g.maker.List(list...)))
	}
	return g.maker.Object(members...)
}

// body is the content of a turn: a string where the template takes one, else a list of parts.
func (g *page) body(k int, t *turn) jinja.Value {
	texts, media := 0, false
	for i := range t.body {
		p := &t.body[i]
		media = media || p.media
		if !p.joint && p.text != "" {
			texts++
		}
	}
	thinks := len(t.think) > 0 && g.a.reasoning == thoughtParts && t.role == roleAssistant
	list := thinks || media || g.a.list[t.role] && !g.a.text[t.role] || texts > 1 && g.a.many[t.role]
	switch {
	case !list && texts == 0 && len(t.calls) > 0 && g.a.nullContent:
		return jinja.None()
	case !list:
		return g.text(k, t.body)
	}
	var parts []jinja.Value
	if thinks {
		parts = append(parts, g.maker.Object(member("type", plainText("thinking")), member("thinking", g.text(k, t.think))))
	}
	if !media && (texts <= 1 || !g.a.many[t.role]) {
		if texts > 0 {
			parts = append(parts, g.textPart(g.text(k, t.body)))
		}
		return jinja.List(parts...)
	}
	for i := range t.body {
		switch p := &t.body[i]; {
		case p.media:
			parts = append(parts, g.maker.Object(member("type", plainText(p.name))))
		case p.text != "" && !p.joint:
			parts = append(parts, g.textPart(g.text(k, t.body[i:i+1])))
		}
	}
	return jinja.List(parts...)
}

func (g *page) textPart(v jinja.Value) jinja.Value {
	return g.maker.Object(member("type", plainText("text")), member("text", v))
}

// label is an id or a name at a turn. Of one that the template does not show no bytes are looked for.
func (g *page) label(k int, t *turn, text string, seen bool) jinja.Value {
	p := piece{text: text, aside: true, label: true, owner: int32(t.message)}
	switch t.role {
	case roleTool:
		p.kind = jinja.FromToolResult
	case roleAssistant:
		p.kind = jinja.FromAssistant
	case roleUser:
		p.kind = jinja.FromUser
	default:
		p.kind = jinja.FromSystem
	}
	if !seen {
		return jinja.Text(text, jinja.Origin{Kind: p.kind, Part: directArg})
	}
	return g.text(k, g.alone(p))
}

func (g *page) callValue(k int, t *turn, c *call) jinja.Value {
	name := g.part(jinja.FromAssistant, ledger.Call, t.message, c.part, c.name)
	name.name, name.label = c.client, true
	var all [3]jinja.Member
	members := all[:0]
	switch {
	case c.id == "":
	case g.a.callIDs || g.a.resultIDs:
		id := name
		id.text, id.aside = c.id, true
		members = append(members, member("id", g.text(k, g.alone(id))))
	default:
		members = append(members, member("id", jinja.Text(c.id, jinja.Origin{Kind: jinja.FromAssistant, Part: directArg})))
	}
	function := g.maker.Object(member("name", g.text(k, g.alone(name))), member("arguments", g.arguments(k, t, c)))
	return g.maker.Object(append(members, member("type", plainText("function")), member("function", function))...)
}

// arguments are a call's arguments as the template wants them. What is no object stays the text it is where
// the template prints that, else it becomes the one member of an object.
func (g *page) arguments(k int, t *turn, c *call) jinja.Value {
	p := g.part(jinja.FromAssistant, ledger.Call, t.message, c.part, c.arguments)
	p.name, p.aside = c.client, !strings.Contains(c.arguments, `"`)
	if g.a.argString {
		return g.text(k, g.alone(p))
	}
	at := g.note(k, g.alone(p))
	if v, ok := g.m.args.object(&g.maker, c.arguments, p.given(at)); ok {
		return v
	}
	g.pieces = g.pieces[:at]
	g.miss("%s: arguments that are not an object", indexed("messages", t.message))
	if g.a.argRaw {
		return g.text(k, g.alone(p))
	}
	return g.maker.Object(member(customParam, g.text(k, g.alone(p))))
}

// text gives pieces to the template as one string, each with an origin of its own.
func (g *page) text(k int, pieces []piece) jinja.Value {
	switch at := g.note(k, pieces); len(pieces) {
	case 0:
		return plainText("")
	case 1:
		return g.pieces[at].value(at)
	default:
		g.texts = g.texts[:0]
		for i := at; i < len(g.pieces); i++ {
			g.texts = append(g.texts, g.pieces[i].value(i))
		}
		return g.maker.Join(g.texts...)
	}
}

// given is the origin that the piece has for the template, at being its index: by it its bytes are found again.
func (p *piece) given(at int) jinja.Origin {
	return jinja.Origin{Kind: p.kind, Message: int32(at), Part: fromPiece}
}

func (p *piece) value(at int) jinja.Value { return jinja.Text(p.text, p.given(at)) }

// note keeps pieces of turn k, and returns where the first of them is.
func (g *page) note(k int, pieces []piece) int {
	from := len(g.pieces)
	g.pieces = append(g.pieces, pieces...)
	for i := from; i < len(g.pieces); i++ {
		p := &g.pieces[i]
		p.turn, p.behind = int32(k), max(0, p.owner-int32(g.turns[k].message))
	}
	return from
}
