package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/engines/internal/exemplar"
)

// Act is the actor that needs no model. It thinks first where the mood is so; it answers when the last
// message is a tool's result, and calls a tool when it is a user's. Which one, in this order: those
// that the user's text names with `call NAME {json}`; a harmless call of a tool it knows; any tool that
// does not speak of changing something, with arguments made from its schema. Where there is none it
// answers in text. A demanded format is kept and the tool choice obeyed: only a choice that forces a
// call makes it take a tool that may change something.
//
// Lines of the user's text that it understands, beside calls: `say TEXT` and `sayjson "JSON string"`
// (that text and nothing else; before calls, where there are some), `long N` (N words), `interleave` (think, call, think, call),
// `fail after N` (the stream breaks off after N tokens).
func Act(req *conv.Request, mood Mood) Turn {
	s := read(req)
	s.mood = mood
	var t Turn
	if s.cmd.fails {
		t.Fails, t.FailAfter = true, s.cmd.failAfter
	}
	calls := s.calls()
	switch {
	case len(calls) > 0 && s.cmd.interleave:
		if len(calls) == 1 {
			calls = append(calls, calls[0])
		}
		for i, c := range calls {
			t.Blocks = append(t.Blocks, Block{Kind: Reasoning, Text: fmt.Sprintf("Step %d: the next thing to use is %s.", i+1, c.Name)}, Block{Kind: Call, Call: c})
		}
	case len(calls) > 0:
		t.Blocks = s.think(t.Blocks, "I need "+calls[0].Name+" for this.")
		if s.cmd.said && s.cmd.say != "" {
			t.Blocks = append(t.Blocks, Block{Kind: Text, Text: s.cmd.say})
		}
		for _, c := range calls {
			t.Blocks = append(t.Blocks, Block{Kind: Call, Call: c})
		}
	default:
		t.Blocks = s.think(t.Blocks, s.thought())
		t.Blocks = append(t.Blocks, Block{Kind: Text, Text: s.answer()})
	}
	return t
}

// scene is what the actor sees of a request.
type scene struct {
	req    *conv.Request
	mood   Mood
	user   string // the last user's own words
	result string // the last tool's words, when they are what is to be answered
	after  bool   // a tool's result is what is to be answered
	tools  []conv.ToolDef
	cmd    commands
}

func (s *scene) think(blocks []Block, text string) []Block {
	if !s.mood.Thinking {
		return blocks
	}
	return append(blocks, Block{Kind: Reasoning, Text: text})
}

func (s *scene) thought() string {
	switch {
	case s.after:
		return "The result is here, so I can answer."
	case s.schema() != nil || s.mood.Constraint.JSONObject || s.req.Format.Type == "json_object":
		return "The answer must be JSON of the given form."
	}
	ways := [...]string{"No tool is needed here.", "I can answer this directly.", "A short answer will do."}
	return ways[mix(s.mood.Seed, s.user)%uint64(len(ways))]
}

// schema is what the answer must satisfy, nil if it is free.
func (s *scene) schema() []byte {
	if s.mood.Constraint.JSONSchema != nil {
		return s.mood.Constraint.JSONSchema
	}
	if s.req.Format.Type == "json_schema" {
		return s.req.Format.Schema
	}
	return nil
}

func (s *scene) answer() string {
	if schema := s.schema(); schema != nil {
		return string(exemplar.JSON(schema))
	}
	if s.mood.Constraint.JSONObject || s.req.Format.Type == "json_object" {
		return `{"answer":"weir"}`
	}
	if re := s.mood.Constraint.Regex; re != "" {
		text, _ := exemplar.Match(re)
		return text
	}
	if s.after {
		if s.result == "" {
			return "The tool answered with nothing."
		}
		return "The tool answered: " + excerpt(s.result, 80)
	}
	switch {
	case s.cmd.said:
		return s.cmd.say
	case s.cmd.long > 0:
		return words(s.cmd.long, s.mood.Seed)
	case s.user == "":
		return "Weir is here."
	}
	return "Weir heard: " + excerpt(s.user, 60)
}

// excerpt is the first line of some words, shortened between characters.
func excerpt(text string, most int) string {
	line := strings.TrimSpace(text)
	line, _, _ = strings.Cut(line, "\n")
	line = strings.TrimSpace(line)
	n := 0
	for i := range line {
		if n == most {
			return line[:i] + "…"
		}
		n++
	}
	return line
}

// words writes n words. Some are not ASCII, so that characters get split between tokens.
func words(n int, seed uint64) string {
	list := [...]string{"water", "over", "the", "weir", "runs", "steady", "and", "clear", "naïve", "Ström", "堰", "below", "level", "flow", "gate"}
	var b strings.Builder
	x := mix(seed, strconv.Itoa(n))
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		x = random(x)
		b.WriteString(list[(x>>32)%uint64(len(list))])
	}
	return b.String()
}

// calls decides what is called, nothing when the turn is an answer.
func (s *scene) calls() []conv.ToolCall {
	choice := s.req.Choice
	if len(s.tools) == 0 || choice.Mode == conv.ChoiceNone {
		return nil
	}
	if !s.after {
		if c := s.commanded(choice); len(c) > 0 {
			return c
		}
	}
	switch choice.Mode {
	case conv.ChoiceNamed:
		if t := s.tool(choice.Name); t != nil {
			return []conv.ToolCall{s.call(t)}
		}
		return nil
	case conv.ChoiceRequired:
		if t := s.harmless(); t != nil {
			return []conv.ToolCall{s.call(t)}
		}
		return []conv.ToolCall{s.call(&s.tools[0])}
	}
	if s.cmd.interleave && !s.after {
		if t := s.harmless(); t != nil {
			return []conv.ToolCall{s.call(t)}
		}
	}
	if t := s.tool(answerTool); t != nil && s.after && !s.used(answerTool) {
		// A client that takes its final answer through a tool waits for that call.
		return []conv.ToolCall{s.call(t)}
	}
	if s.after || s.cmd.said || s.cmd.long > 0 || s.schema() != nil || s.req.Format.Type == "json_object" || s.constrained() {
		return nil
	}
	if t := s.harmless(); t != nil {
		return []conv.ToolCall{s.call(t)}
	}
	return nil
}

// answerTool is the tool through which agent clients ask for structured output.
const answerTool = "StructuredOutput"

// used reports whether the model has called a tool since the user last spoke.
func (s *scene) used(name string) bool {
	for i := len(s.req.Messages) - 1; i >= 0; i-- {
		m := &s.req.Messages[i]
		if m.Role == conv.User && ownWords(m) != "" {
			return false
		}
		for j := range m.Parts {
			if c := m.Parts[j].Call; c != nil && c.Name == name {
				return true
			}
		}
	}
	return false
}

func (s *scene) constrained() bool {
	c := &s.mood.Constraint
	return c.JSONObject || c.JSONSchema != nil || c.Regex != ""
}

// commanded are the calls that the user's text names, those that the choice allows.
func (s *scene) commanded(choice conv.ToolChoice) []conv.ToolCall {
	var out []conv.ToolCall
	for _, c := range s.cmd.calls {
		t := s.tool(c.name)
		if choice.Mode == conv.ChoiceNamed && (t == nil || !named(t, choice.Name)) {
			continue
		}
		call := conv.ToolCall{Name: c.name, Arguments: c.arguments}
		if t != nil {
			call.Name, call.Namespace, call.Kind = t.Name, t.Namespace, t.Kind
			if t.Kind == conv.Custom && jsonscan.TypeOf([]byte(c.arguments)) == jsonscan.String {
				if text, err := jsonscan.AppendUnquoted(nil, []byte(c.arguments)); err == nil {
					call.Arguments = string(text)
				}
			} else if c.arguments == "" {
				call = s.call(t)
			}
		}
		out = append(out, call)
	}
	return out
}

func named(t *conv.ToolDef, name string) bool {
	return t.Name == name && t.Namespace == "" || t.Namespace != "" && (toolname.Of(t.Namespace, t.Name) == name || t.Name == name)
}

func (s *scene) tool(name string) *conv.ToolDef {
	for i := range s.tools {
		if named(&s.tools[i], name) {
			return &s.tools[i]
		}
	}
	return nil
}

// read looks at a request: whose turn it is, and what was said.
func read(req *conv.Request) *scene {
	s := &scene{req: req}
	for i := range req.Tools {
		if t := req.Tools[i]; !t.Deferred || referenced(req.Messages, toolname.Of(t.Namespace, t.Name)) {
			s.tools = append(s.tools, t)
		}
	}
	// System messages may stand after the last word of user or tool, and clients add user messages of
	// their own making; both are passed over.
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		if m.Role == conv.System || m.Role == conv.Developer {
			continue
		}
		if m.Role == conv.Assistant {
			if onlyThought(m) {
				continue // a turn that was cut off, which the client has sent back
			}
			break
		}
		if s.user = ownWords(m); s.user != "" {
			break
		}
		if text, ok := lastResult(m); ok {
			s.result, s.after = text, true
			break
		}
	}
	if s.user != "" {
		s.cmd = parseCommands(s.user, s.tools)
	}
	return s
}

// onlyThought reports whether a message has nothing but reasoning.
func onlyThought(m *conv.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != conv.Reasoning {
			return false
		}
	}
	return true
}

func referenced(messages []conv.Message, name string) bool {
	for i := range messages {
		for _, p := range messages[i].Parts {
			if p.Kind == conv.Reference && p.Text == name {
				return true
			}
			if p.Kind != conv.Result || p.Result == nil {
				continue
			}
			for _, q := range p.Result.Parts {
				if q.Kind == conv.Reference && q.Text == name {
					return true
				}
			}
		}
	}
	return false
}

// lastResult is the text of a message's last tool result.
func lastResult(m *conv.Message) (string, bool) {
	for _, part := range slices.Backward(m.Parts) {
		r := part.Result
		if part.Kind != conv.Result || r == nil {
			continue
		}
		var b strings.Builder
		for _, p := range r.Parts {
			if p.Kind == conv.Text {
				b.WriteString(p.Text)
				b.WriteByte('\n')
			}
		}
		return strings.TrimSpace(b.String()), true
	}
	return "", false
}

// sections are what clients put into user messages that is none of the user's words.
var sections = [...]struct{ open, end string }{
	{"<system-reminder>", "</system-reminder>"},
	{"<environment_context>", "</environment_context>"},
	{"<user_instructions>", "</user_instructions>"},
	{"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"},
}

// ownWords is the text of a user message without those sections, and after its last tool result.
func ownWords(m *conv.Message) string {
	if m.Role != conv.User {
		return ""
	}
	var b strings.Builder
	for i := range m.Parts {
		switch m.Parts[i].Kind {
		case conv.Result:
			b.Reset()
		case conv.Text:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(m.Parts[i].Text)
		}
	}
	text := b.String()
	for _, s := range sections {
		for {
			before, rest, ok := strings.Cut(text, s.open)
			if !ok {
				break
			}
			_, after, _ := strings.Cut(rest, s.end)
			text = before + after
		}
	}
	return strings.TrimSpace(text)
}
