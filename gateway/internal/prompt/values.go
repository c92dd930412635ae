package prompt

import (
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
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
	members := make([]jinja.Member, 2, 6)
	members[0] = member("role", plainText(t.role.String()))
	members[1] = member("content", g.body(k, t))
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
		list := make([]jinja.Value, len(t.calls))
		for c := range t.calls {
			list[c] = g.callValue(k, t, &t.calls[c])
		}
		members = append(members, member("tool_calls", jinja.List(list...)))
	}
	return jinja.Object(members...)
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
		parts = append(parts, jinja.Object(member("type", plainText("thinking")), member("thinking", g.text(k, t.think))))
	}
	if !media && (texts <= 1 || !g.a.many[t.role]) {
		if texts > 0 {
			parts = append(parts, textPart(g.text(k, t.body)))
		}
		return jinja.List(parts...)
	}
	for i := range t.body {
		switch p := &t.body[i]; {
		case p.media:
			parts = append(parts, jinja.Object(member("type", plainText(p.name))))
		case p.text != "" && !p.joint:
			parts = append(parts, textPart(g.text(k, t.body[i:i+1])))
		}
	}
	return jinja.List(parts...)
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
	members := make([]jinja.Member, 0, 3)
	switch {
	case c.id == "":
	case g.a.callIDs || g.a.resultIDs:
		id := name
		id.text, id.aside = c.id, true
		members = append(members, member("id", g.text(k, g.alone(id))))
	default:
		members = append(members, member("id", jinja.Text(c.id, jinja.Origin{Kind: jinja.FromAssistant, Part: directArg})))
	}
	function := jinja.Object(member("name", g.text(k, g.alone(name))), member("arguments", g.arguments(k, t, c)))
	return jinja.Object(append(members, member("type", plainText("function")), member("function", function))...)
}

// arguments are a call's arguments as the template wants them. What is no object stays the text it is where
// the template prints that, else it becomes the one member of an object.
func (g *page) arguments(k int, t *turn, c *call) jinja.Value {
	p := g.part(jinja.FromAssistant, ledger.Call, t.message, c.part, c.arguments)
	p.name, p.aside = c.client, !strings.Contains(c.arguments, `"`)
	if g.a.argString {
		return g.text(k, g.alone(p))
	}
	if jsonscan.TypeOf([]byte(c.arguments)) == jsonscan.Object {
		if v, err := jinja.FromJSON([]byte(c.arguments), g.slot(k, g.alone(p))); err == nil {
			return v
		}
		g.slots = g.slots[:len(g.slots)-1]
		g.pieces = g.pieces[:len(g.pieces)-1]
	}
	g.miss("%s: arguments that are not an object", indexed("messages", t.message))
	if g.a.argRaw {
		return g.text(k, g.alone(p))
	}
	return jinja.Object(member(customParam, g.text(k, g.alone(p))))
}

// text gives pieces to the template as one string.
func (g *page) text(k int, pieces []piece) jinja.Value {
	if len(pieces) == 0 {
		return plainText("")
	}
	org := g.slot(k, pieces)
	return jinja.Text(g.slots[len(g.slots)-1].text, org)
}

// slot notes the pieces of a string under an origin of its own, by which they are found again.
func (g *page) slot(k int, pieces []piece) jinja.Origin {
	from := g.note(k, pieces)
	s := slot{from: from, to: len(g.pieces)}
	org := jinja.Origin{Message: len(g.slots), Part: fromSlot}
	for i := range pieces {
		kind := pieces[i].kind
		if i == 0 {
			org.Kind = kind
			continue
		}
		if kind != org.Kind {
			s.mixed = true
			org.Kind = lessTrusted(org.Kind, kind)
		}
	}
	s.kind = org.Kind
	if s.text = pieces[0].text; len(pieces) > 1 {
		var b strings.Builder
		for i := range pieces {
			b.WriteString(pieces[i].text)
		}
		s.text = b.String()
	}
	g.slots = append(g.slots, s)
	return org
}

// note keeps pieces of turn k, and returns where the first of them is.
func (g *page) note(k int, pieces []piece) int {
	from := len(g.pieces)
	g.pieces = append(g.pieces, pieces...)
	for i := from; i < len(g.pieces); i++ {
		g.pieces[i].turn = int32(k)
	}
	return from
}

// lessTrusted is that of two kinds whose bytes may do less in a prompt.
func lessTrusted(a, b jinja.OriginKind) jinja.OriginKind {
	rank := func(k jinja.OriginKind) int {
		switch k {
		case jinja.FromUser:
			return 5
		case jinja.FromToolResult:
			return 4
		case jinja.FromToolSchema:
			return 3
		case jinja.FromAssistant:
			return 2
		case jinja.FromSystem:
			return 1
		}
		return 0
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
