package prompt

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/weirgate/weir/gateway/jinja"
)

// role is who speaks in a template's message.
type role uint8

const (
	roleSystem role = iota
	roleDeveloper
	roleUser
	roleAssistant
	roleTool
	roles
)

var roleNames = [roles]string{"system", "developer", "user", "assistant", "tool"}

func (r role) String() string { return roleNames[r] }

// abilities are what a template takes and shows.
type abilities struct {
	text  [roles]bool // content as a string is shown
	list  [roles]bool // content as a list of text parts is shown
	many  [roles]bool // several parts of such a list are shown
	media map[string]bool

	system, systemLater, systemTwice bool
	developer, developerLater        bool
	systemDeveloper                  bool // a developer message right behind the system's
	aloneLost                        bool // a system message without any other is left out, or the tools are then
	userTwice, assistantTwice        bool
	userAfterTool                    bool
	tool, calls, parallel            bool
	toolUnknown                      bool // a result whose call is not in the conversation
	textWithCalls                    bool
	allWithCalls                     bool // reasoning and text beside calls
	textThenCalls                    bool // text, and calls in a message of their own behind it
	argString                        bool // arguments are wanted as a string
	argRaw                           bool // a string is printed as it is, too
	nullContent                      bool // a message of calls alone has no content
	callIDs, resultIDs, resultName   bool // are shown
	tools, describe                  bool
	documents                        bool

	reasoning                                     string // the member, empty: the template is not native in reasoning
	reasoningAnswer, reasoningLoop, reasoningPast bool   // it is shown of an answer that is last, in a tool loop, on an old turn

	afterUser, afterTool, header, closing string
}

// thoughtParts as a member name: reasoning is a part of the content, {"type": "thinking", "thinking": text}.
const thoughtParts = "content[].thinking"

// members in which templates look for reasoning, the usual ones first.
var reasoningMembers = [...]string{"reasoning_content", "reasoning", "thinking", "thought", thoughtParts, "tool_plan"} //nolint:gochecknoglobals // a table

// prober renders conversations of sentinels.
type prober struct {
	ctx    context.Context //nolint:containedctx // of one call of probe, which the prober does not outlive
	tpl    *jinja.Template
	vars   map[string]jinja.Value
	opts   jinja.RenderOptions
	prefix string
	a      abilities
	err    error // a limit or the context's: the template cannot be probed
}

// probe asks a template what it takes, for requests with tools or without.
func (m *Model) probe(ctx context.Context, v *variant, src string, tools bool) (abilities, error) {
	p := &prober{ctx: ctx, tpl: v.tpl, vars: map[string]jinja.Value{}, opts: jinja.RenderOptions{Limits: probeLimits(v.own), Now: m.now(), Origins: true}, prefix: "Qw"}
	for strings.Contains(src, p.prefix) && len(p.prefix) < 64 {
		p.prefix += "w"
	}
	maps.Copy(p.vars, m.tokens)
	if tools {
		p.vars["tools"] = jinja.List(p.toolValue("Described"))
	}
	p.texts()
	p.order()
	p.toolUse()
	p.reasoning(v)
	p.rest(tools)
	p.edges()
	return p.a, p.err
}

// word is a sentinel: letters, so that no template changes it by trimming or escaping.
func (p *prober) word(name string) string { return p.prefix + name + "Z" }

func (p *prober) value(s string) jinja.Value {
	return jinja.Text(p.word(s), jinja.Origin{Kind: jinja.FromUser})
}

func plainText(s string) jinja.Value { return jinja.Text(s, jinja.Origin{}) }

func member(name string, v jinja.Value) jinja.Member { return jinja.Member{Name: name, Value: v} }

func textPart(v jinja.Value) jinja.Value {
	return jinja.Object(member("type", plainText("text")), member("text", v))
}

// render renders messages, add_generation_prompt as given. It reports false where the template refuses them
// or fails.
func (p *prober) render(generate bool, extra []jinja.Member, messages ...jinja.Value) (jinja.Result, bool) {
	if p.err != nil {
		return jinja.Result{}, false
	}
	vars := make(map[string]jinja.Value, len(p.vars)+len(extra)+2)
	maps.Copy(vars, p.vars)
	vars["messages"], vars["add_generation_prompt"] = jinja.List(messages...), jinja.Bool(generate)
	for _, x := range extra {
		vars[x.Name] = x.Value
	}
	r, err := p.tpl.Render(p.ctx, vars, p.opts)
	var failed *jinja.Error
	var raised *jinja.RaisedError
	if err != nil && !errors.As(err, &failed) && !errors.As(err, &raised) {
		p.err = err
	}
	return r, err == nil
}

// shows reports that messages are accepted and all words are shown, in their order.
func (p *prober) shows(messages []jinja.Value, words ...string) bool {
	r, ok := p.render(true, nil, messages...)
	return ok && p.inOrder(string(r.Text), words...)
}

func (p *prober) inOrder(text string, words ...string) bool {
	for _, w := range words {
		_, rest, ok := strings.Cut(text, p.word(w))
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// say is a message with one text, as a string if the role takes that.
func (p *prober) say(r role, text string) jinja.Value { return p.with(r, text) }

func (p *prober) with(r role, text string, more ...jinja.Member) jinja.Value {
	content := p.value(text)
	if !p.a.text[r] && p.a.list[r] {
		content = jinja.List(textPart(content))
	}
	return p.message(r, content, more...)
}

func (p *prober) message(r role, content jinja.Value, more ...jinja.Member) jinja.Value {
	return jinja.Object(append([]jinja.Member{member("role", plainText(r.String())), member("content", content)}, more...)...)
}

// call is a call of a tool, with arguments as an object or as its JSON.
func (p *prober) call(name string, text bool) jinja.Value {
	doc := `{"` + p.word(name+"Key") + `": "` + p.word(name+"Value") + `"}`
	args, _ := jinja.FromJSON([]byte(doc), jinja.Origin{Kind: jinja.FromAssistant})
	if text {
		args = jinja.Text(doc, jinja.Origin{Kind: jinja.FromAssistant})
	}
	return jinja.Object(member("id", p.id(name)), member("type", plainText("function")),
		member("function", jinja.Object(member("name", p.value(name)), member("arguments", args))))
}

// id is an id of nine letters, which is what the strictest templates ask for.
func (p *prober) id(call string) jinja.Value { return plainText(p.idText(call)) }

func (p *prober) idText(call string) string { return "Zid" + (call + "xxxxxx")[:6] }

func calls(c ...jinja.Value) jinja.Member { return member("tool_calls", jinja.List(c...)) }

// ask is a message of calls alone.
func (p *prober) ask(names ...string) jinja.Value {
	list := make([]jinja.Value, len(names))
	for i, n := range names {
		list[i] = p.call(n, p.a.argString)
	}
	return p.message(roleAssistant, p.silence(), calls(list...))
}

// silence is the content of a message without text.
func (p *prober) silence() jinja.Value {
	switch {
	case p.a.nullContent:
		return jinja.None()
	case !p.a.text[roleAssistant] && p.a.list[roleAssistant]:
		return jinja.List()
	}
	return plainText("")
}

func (p *prober) answer(call, text string) jinja.Value {
	return p.with(roleTool, text, member("tool_call_id", p.id(call)), member("name", p.value(call)))
}

func (p *prober) toolValue(description string) jinja.Value {
	org := jinja.Origin{Kind: jinja.FromToolSchema}
	schema, _ := jinja.FromJSON([]byte(`{"type": "object", "properties": {"`+p.word("Param")+`": {"type": "string", "description": "x"}}, "required": []}`), org)
	function := []jinja.Member{member("name", p.value("Tool"))}
	if description != "" {
		function = append(function, member("description", p.value(description)))
	}
	function = append(function, member("parameters", schema))
	return jinja.Object(member("type", plainText("function")), member("function", jinja.Object(function...)))
}
