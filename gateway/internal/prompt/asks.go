package prompt

import (
	"strings"

	"github.com/weirgate/weir/gateway/jinja"
)

// texts asks how each role takes its text.
func (p *prober) texts() {
	frame := func(r role, content jinja.Value) []jinja.Value {
		switch r {
		case roleSystem, roleDeveloper:
			return []jinja.Value{p.message(r, content), p.say(roleUser, "U")}
		case roleUser:
			return []jinja.Value{p.message(r, content)}
		case roleTool:
			return []jinja.Value{
				p.say(roleUser, "U"), p.ask("Fa"),
				p.message(r, content, member("tool_call_id", p.id("Fa")), member("name", p.value("Fa"))),
			}
		}
		return []jinja.Value{p.say(roleUser, "U"), p.message(r, content), p.say(roleUser, "V")}
	}
	for _, r := range [...]role{roleUser, roleAssistant, roleSystem, roleDeveloper} {
		p.forms(r, frame)
	}
	p.silences()
	p.forms(roleTool, frame)
	if !p.a.text[roleTool] && !p.a.list[roleTool] {
		// The template may not take calls, and results all the same.
		p.forms(roleTool, func(r role, content jinja.Value) []jinja.Value {
			return []jinja.Value{p.say(roleUser, "U"), p.say(roleAssistant, "A"), p.message(r, content, member("tool_call_id", p.id("Fa")), member("name", p.value("Fa")))}
		})
	}
}

func (p *prober) forms(r role, frame func(role, jinja.Value) []jinja.Value) {
	p.a.text[r] = p.shows(frame(r, p.value("T")), "T")
	one, ok := p.render(true, nil, frame(r, jinja.List(textPart(p.value("T"))))...)
	p.a.list[r] = ok && p.bare(string(one.Text))
	two, ok := p.render(true, nil, frame(r, jinja.List(textPart(p.value("T")), textPart(p.value("Tb"))))...)
	p.a.many[r] = ok && p.bare(string(two.Text)) && p.inOrder(string(two.Text), "T", "Tb")
	// Several texts of a system message are joined, and so are all where a string does and the template is
	// not one that walks through parts.
	p.a.many[r] = p.a.many[r] && (!p.a.text[r] || p.tpl.TakesParts() && r != roleSystem && r != roleDeveloper)
}

// bare reports that the text of a part was taken out of it, and not the part printed.
func (p *prober) bare(text string) bool {
	before, after, ok := strings.Cut(text, p.word("T"))
	return ok && !strings.HasSuffix(before, "'") && !strings.HasSuffix(before, `"`) && !strings.HasPrefix(after, "'}") && !strings.HasPrefix(after, `"}`)
}

// silences asks how arguments are wanted and what a message of calls alone has for content.
func (p *prober) silences() {
	try := func() bool {
		r, ok := p.render(true, nil, p.say(roleUser, "U"), p.ask("Fa"), p.answer("Fa", "R"))
		if !ok {
			r, ok = p.render(true, nil, p.say(roleUser, "U"), p.ask("Fa"), p.say(roleUser, "V"))
		}
		return ok && p.inOrder(string(r.Text), "Fa") && p.printed(string(r.Text), "Fa")
	}
	for _, null := range [...]bool{false, true} {
		for _, text := range [...]bool{false, true} {
			if p.a.nullContent, p.a.argString = null, text; try() {
				if !text {
					p.a.argString = true
					p.a.argRaw = try()
					p.a.argString = false
				}
				p.a.calls = true
				return
			}
		}
	}
	p.a.nullContent, p.a.argString = false, false
}

// printed reports that a call's arguments are shown, and neither as Python prints a dict nor as JSON in JSON.
func (p *prober) printed(text, call string) bool {
	key := p.word(call + "Key")
	return strings.Contains(text, key) && strings.Contains(text, p.word(call+"Value")) && !strings.Contains(text, "'"+key+"'") && !strings.Contains(text, `\"`+key)
}

// order asks which roles may stand where.
func (p *prober) order() {
	a := &p.a
	u, v, w, as, as2 := p.say(roleUser, "U"), p.say(roleUser, "V"), p.say(roleUser, "W"), p.say(roleAssistant, "A"), p.say(roleAssistant, "B")
	is := func(words string, m ...jinja.Value) bool { return p.shows(m, strings.Fields(words)...) }
	a.userTwice = is("U V A W", u, v, as, w)
	a.assistantTwice = is("U A B V", u, as, as2, v)
	s := func(r role, text string) jinja.Value { return p.say(r, text) }
	// Where it is moved to the last message it is not accepted: each turn would take it away from where it was.
	lead := func(r role, text string) bool {
		m := []jinja.Value{s(r, text), u, as, v}
		return p.shows(m, text, "A", "V") && p.shows(m, "U", "A", "V")
	}
	later := func(r role) bool {
		l := s(r, "L")
		if !is("U A L V", u, as, l, v) || !is("U L", u, l) || !is("U A L", u, as, l) {
			return false
		}
		return !a.system || is("U A L V", s(roleSystem, "S"), u, as, l, v)
	}
	a.system = lead(roleSystem, "S")
	a.systemTwice = a.system && is("S L U", s(roleSystem, "S"), s(roleSystem, "L"), u)
	a.systemLater = later(roleSystem)
	a.developer = lead(roleDeveloper, "D")
	a.developerLater = later(roleDeveloper)
	a.systemDeveloper = a.system && a.developer && is("S D U A V", s(roleSystem, "S"), s(roleDeveloper, "D"), u, as, v)
}

// rest asks for tools, documents, media and ids.
func (p *prober) rest(tools bool) {
	u := p.say(roleUser, "U")
	if tools {
		p.a.tools = p.shows([]jinja.Value{u}, "Tool")
		if p.a.system {
			p.a.tools = p.a.tools && p.shows([]jinja.Value{p.say(roleSystem, "S"), u}, "Tool")
		}
		full := p.vars["tools"]
		p.vars["tools"] = jinja.List(p.toolValue(""))
		r, ok := p.render(true, nil, u)
		p.a.describe = p.a.tools && (!ok || !strings.Contains(string(r.Text), p.word("Tool")))
		p.vars["tools"] = full
	}
	if alone, ok := p.render(true, nil, p.say(roleSystem, "S")); ok && p.a.system {
		p.a.aloneLost = !strings.Contains(string(alone.Text), p.word("S")) || p.a.tools && !strings.Contains(string(alone.Text), p.word("Tool"))
	}
	doc := jinja.Object(member("title", p.value("Title")), member("text", p.value("Doc")), member("content", p.value("Doc")))
	r, ok := p.render(true, []jinja.Member{member("documents", jinja.List(doc))}, u)
	p.a.documents = ok && strings.Contains(string(r.Text), p.word("Doc"))
	if !p.tpl.TakesParts() {
		return
	}
	bare, _ := p.render(true, nil, p.message(roleUser, jinja.List(textPart(p.value("T")))))
	for _, kind := range [...]string{"image", "audio"} {
		r, ok := p.render(true, nil, p.message(roleUser, jinja.List(jinja.Object(member("type", plainText(kind))), textPart(p.value("T")))))
		if ok && len(r.Text) > len(bare.Text) && p.bare(string(r.Text)) {
			if p.a.media == nil {
				p.a.media = map[string]bool{}
			}
			p.a.media[kind] = true
		}
	}
}

// toolUse asks what a template shows of calls and their results.
func (p *prober) toolUse() {
	a := &p.a
	u := p.say(roleUser, "U")
	beside := p.say(roleAssistant, "A")
	if a.calls {
		beside = p.ask("Fa")
	}
	first := p.answer("Fa", "R")
	a.tool = (a.text[roleTool] || a.list[roleTool]) && p.shows([]jinja.Value{u, beside, first}, "U", "R") && p.shows([]jinja.Value{u, beside, first, p.say(roleAssistant, "B"), p.say(roleUser, "V")}, "R", "B", "V")
	a.toolUnknown = a.tool && p.shows([]jinja.Value{u, p.say(roleAssistant, "A"), first}, "A", "R")
	a.userAfterTool = a.tool && p.shows([]jinja.Value{u, beside, first, p.say(roleUser, "V")}, "U", "R", "V")
	if a.systemLater && a.tool {
		a.systemLater = p.shows([]jinja.Value{u, beside, first, p.say(roleSystem, "L")}, "U", "R", "L")
	}
	if a.developerLater && a.tool {
		a.developerLater = p.shows([]jinja.Value{u, beside, first, p.say(roleDeveloper, "L")}, "U", "R", "L")
	}
	if !a.calls {
		return
	}
	// What follows a call: its result, or where there is no role for that, a user.
	result := func(call, text string) jinja.Value {
		if a.tool {
			return p.answer(call, text)
		}
		return p.say(roleUser, text)
	}
	r1, r2 := result("Fa", "R"), result("Gb", "Rb")
	two := []jinja.Value{u, p.ask("Fa", "Gb"), r1}
	if a.tool || a.userTwice {
		two = append(two, r2)
	}
	a.parallel = p.shows(two, "U", "FaValue", "GbValue", "R")
	call := calls(p.call("Fa", a.argString))
	a.textWithCalls = p.shows([]jinja.Value{u, p.with(roleAssistant, "A", call), r1}, "U", "A", "R") && p.shows([]jinja.Value{u, p.with(roleAssistant, "A", call), r1}, "Fa")
	// Behind it all roles must still alternate where they have to.
	a.textThenCalls = p.shows([]jinja.Value{u, p.say(roleAssistant, "A"), p.ask("Fa"), r1, p.say(roleAssistant, "B"), p.say(roleUser, "V")}, "U", "A", "Fa", "R", "B", "V")
	r, ok := p.render(true, nil, u, p.ask("Fa"), r1)
	a.resultName, a.resultIDs = p.resultNames()
	shown := strings.Count(string(r.Text), p.idText("Fa"))
	a.callIDs = ok && (shown > 1 || shown == 1 && !a.resultIDs)
}

// resultNames reports whether the name of a result's tool and the id of its call are shown at the result.
func (p *prober) resultNames() (name, id bool) {
	if !p.a.tool {
		return false, false
	}
	u := p.say(roleUser, "U")
	m := p.with(roleTool, "R", member("tool_call_id", plainText("ZidOther1")), member("name", p.value("Named")))
	r, ok := p.render(true, nil, u, p.ask("Fa"), m)
	return ok && strings.Contains(string(r.Text), p.word("Named")), ok && strings.Contains(string(r.Text), "ZidOther1")
}

// reasoning asks in which member a template looks for reasoning, and of which turns it shows it. What it
// does while thinking is off by default is asked with the switch on, too.
func (p *prober) reasoning(v *variant) {
	for _, switched := range [...]bool{false, true} {
		var extra []jinja.Member
		if switched {
			if extra = switches(v); extra == nil {
				return
			}
		}
		for _, name := range reasoningMembers {
			if p.thinks(name, extra) {
				p.a.reasoning = name
				return
			}
		}
	}
}

// switches turn thinking on, as far as the template has arguments for it.
func switches(v *variant) []jinja.Member {
	var out []jinja.Member
	for _, s := range [...]jinja.Member{
		member("enable_thinking", jinja.Bool(true)), member("thinking", jinja.Bool(true)), member("thinking_mode", plainText("enabled")),
		member("reasoning_effort", plainText("high")), member("preserve_thinking", jinja.Bool(true)),
	} {
		if v.takes[s.Name] {
			out = append(out, s)
		}
	}
	return out
}

func (p *prober) thinks(name string, extra []jinja.Member) bool {
	a := &p.a
	u := p.say(roleUser, "U")
	says := func(text string, more ...jinja.Member) jinja.Value {
		content := p.silence()
		if text != "" {
			content = p.value(text)
		}
		if name == thoughtParts {
			parts := []jinja.Value{jinja.Object(member("type", plainText("thinking")), member("thinking", p.value("Think")))}
			if text != "" {
				parts = append(parts, textPart(content))
			}
			return p.message(roleAssistant, jinja.List(parts...), more...)
		}
		if text != "" && !a.text[roleAssistant] && a.list[roleAssistant] {
			content = jinja.List(textPart(content))
		}
		return p.message(roleAssistant, content, append(more, member(name, p.value("Think")))...)
	}
	seen := func(generate bool, words string, m ...jinja.Value) bool {
		r, ok := p.render(generate, extra, m...)
		if !ok || !p.inOrder(string(r.Text), strings.Fields(words)...) {
			return false
		}
		before, _, _ := strings.Cut(string(r.Text), p.word("Think"))
		return !strings.HasSuffix(before, "'") && !strings.HasSuffix(before, `": "`)
	}
	a.reasoningAnswer = seen(false, "Think A", u, says("A"))
	a.reasoningPast = seen(true, "Think A V", u, says("A"), p.say(roleUser, "V"))
	a.reasoningLoop = false
	if a.calls {
		call, follow := calls(p.call("Fa", a.argString)), p.say(roleUser, "V")
		if a.tool {
			follow = p.answer("Fa", "R")
		}
		a.reasoningLoop = seen(true, "Think Fa", u, says("", call), follow)
		a.allWithCalls = seen(true, "A Fa", u, says("A", call), follow)
	}
	return a.reasoningAnswer || a.reasoningPast || a.reasoningLoop
}

// edges asks what stands around the assistant's turns.
func (p *prober) edges() {
	u := p.say(roleUser, "U")
	tail := func(words string, m ...jinja.Value) string {
		r, ok := p.render(true, nil, m...)
		if !ok {
			return ""
		}
		i := strings.LastIndex(string(r.Text), p.word(words))
		if i < 0 {
			return ""
		}
		return string(r.Text[i+len(p.word(words)):])
	}
	p.a.afterUser = tail("U", u)
	if p.a.tool {
		before := p.say(roleAssistant, "A")
		if p.a.calls {
			before = p.ask("Fa")
		}
		p.a.afterTool = tail("R", u, before, p.answer("Fa", "R"))
	}
	r, ok := p.render(true, nil, u, p.say(roleAssistant, "A"), p.say(roleUser, "V"))
	if !ok {
		return
	}
	text := string(r.Text)
	_, text, _ = strings.Cut(text, p.word("U"))
	p.a.header, text, _ = strings.Cut(text, p.word("A"))
	p.a.closing, _, _ = strings.Cut(text, p.word("V"))
	p.a.header = headerOf(p.a.header, p.a.afterUser)
}
