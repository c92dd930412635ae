package prompt

import (
	"cmp"
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

const (
	// emptyResult stands for a tool result without text: a model that is handed nothing asks again.
	emptyResult = "(empty result)"

	// What the gateway writes where a template has no place for something, in the forms that models know.
	asideOpen, asideClose   = "<system-reminder>\n", "\n</system-reminder>"
	resultOpen, resultClose = "<tool_response>\n", "\n</tool_response>"
	callOpen, callMiddle    = "<tool_call>\n{\"name\": ", `, "arguments": `
	callClose               = "}\n</tool_call>"
	toolsOpen, toolsClose   = "<tools>\n", "\n</tools>"

	toolsIntro = "# Tools\n\nThese tools can be called. Each line between <tools> and </tools> describes one:\n\n<tools>\n"
	toolsOutro = "\n</tools>\n\nA call is one JSON object, with the tool's name and its arguments, between <tool_call> and </tool_call>. " +
		"Several calls are written one after the other:\n<tool_call>\n{\"name\": <tool name>, \"arguments\": <object with the arguments>}\n</tool_call>"
)

// prepare brings the messages into a form of which the template shows all.
func (g *page) prepare() error {
	first, err := g.leading()
	if err != nil {
		return err
	}
	for i := first; i < len(g.req.Messages); i++ {
		m := &g.req.Messages[i]
		switch m.Role {
		case conv.User, conv.Tool:
			err = g.user(i, m)
		case conv.Assistant:
			if err = g.flush(); err == nil {
				err = g.assistant(i, m)
			}
		default:
			if err = g.flush(); err == nil {
				err = g.aside(i, m)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := g.flush(); err != nil {
		return err
	}
	if len(g.lead) > 0 {
		g.emit(turn{role: roleUser})
	}
	return nil
}

// leading reads the system and developer messages at the start, and the tools if the template has no place
// for them. It returns the index of the first message after them.
func (g *page) leading() (int, error) {
	n := 0
	for n < len(g.req.Messages) && instructs(g.req.Messages[n].Role) {
		n++
	}
	turns := g.leadingTurns(n)
	for i := range n {
		body, err := g.content(i, g.req.Messages[i].Parts, jinja.FromSystem, ledger.System)
		if err != nil {
			return 0, err
		}
		to := 0
		if len(turns) > 1 && g.req.Messages[i].Role == conv.Developer {
			to = 1
		}
		turns[to].add(body...)
	}
	turns, err := g.describe(turns)
	if err != nil {
		return 0, err
	}
	alone := n == len(g.req.Messages) && g.a.aloneLost
	for _, t := range turns {
		switch {
		case !alone && (t.role != roleSystem || g.a.system):
			g.emit(t)
		case !blank(t.body):
			g.miss("messages: the system message became text of the first user message")
			g.lead = join(g.lead, "\n\n", false, t.body...)
		}
	}
	return n, nil
}

func instructs(r conv.Role) bool { return r == conv.System || r == conv.Developer }

// leadingTurns are what the first n messages become, without their texts: one turn, or two where they are the
// system's and then the developer's and the template shows both.
func (g *page) leadingTurns(n int) []turn {
	system, developer, changes := false, false, 0
	for i, m := range g.req.Messages[:n] {
		system, developer = system || m.Role == conv.System, developer || m.Role == conv.Developer
		if i > 0 && m.Role != g.req.Messages[i-1].Role {
			changes++
		}
	}
	switch {
	case n == 0:
		return nil
	case !developer:
		return []turn{{role: roleSystem}}
	case !system && g.a.developer:
		return []turn{{role: roleDeveloper}}
	case changes == 1 && g.a.systemDeveloper && g.req.Messages[0].Role == conv.System:
		return []turn{{role: roleSystem}, {role: roleDeveloper}}
	}
	g.miss("messages: a developer message became the system's")
	return []turn{{role: roleSystem}}
}

// describe writes the tools into the first of the leading turns, if the template does not show them.
func (g *page) describe(turns []turn) ([]turn, error) {
	if g.a.tools || g.tools.listed.IsUndefined() {
		return turns, nil
	}
	g.miss("tools: described in the system message")
	p := []piece{host(nobody, toolsIntro)}
	for i := range g.req.Tools {
		t := &g.req.Tools[i]
		if t.Deferred {
			continue
		}
		text, err := g.m.text(g.tools, i)
		if err != nil {
			return nil, failed(g.ctx, g.v, err)
		}
		if len(p) > 1 {
			p = append(p, host(nobody, "\n"))
		}
		p = append(p, piece{text: text, kind: jinja.FromToolSchema, tool: int32(i), what: ledger.ToolSchema, name: t.Name, owner: nobody})
	}
	if len(turns) == 0 {
		turns = []turn{{role: roleSystem}}
	}
	turns[0].body = join(turns[0].body, "\n\n", false, append(p, host(nobody, toolsOutro))...)
	return turns, nil
}

// content reads text parts and references, those that are not empty joined by line ends.
func (g *page) content(message int, parts []conv.Part, kind jinja.OriginKind, what ledger.Kind) ([]piece, error) {
	var out []piece
	if len(parts) == 1 && parts[0].Kind == conv.Text {
		return g.alone(g.part(kind, what, message, 0, parts[0].Text)), nil
	}
	for j := range parts {
		p, err := g.pieceOf(message, j, &parts[j], kind, what)
		if err != nil {
			return nil, err
		}
		out = join(out, "\n", true, p...)
	}
	return out, nil
}

// pieceOf reads one part; j is the ordinal of the part of the message that it is, or is in.
func (g *page) pieceOf(message, j int, p *conv.Part, kind jinja.OriginKind, what ledger.Kind) ([]piece, error) {
	switch p.Kind {
	case conv.Text:
		return g.alone(g.part(kind, what, message, j, p.Text)), nil
	case conv.Reference:
		return g.reference(message, j, p.Text, kind, what)
	case conv.MediaPart:
		media := "media"
		if p.Media != nil && p.Media.Type != "" {
			media = p.Media.Type
		}
		if what != ledger.User || !g.a.media[media] {
			return nil, fault.At(fault.Unsupported, indexed("messages", message), "messages[%d] holds %s content, which this model's chat template does not take there", message, media)
		}
		q := g.part(kind, what, message, j, "")
		q.name, q.media = media, true
		return g.alone(q), nil
	}
	return nil, nil
}

// reference shows a deferred tool the first time it is named, and its name alone later: a request must not
// grow by naming a tool many times.
func (g *page) reference(message, j int, name string, kind jinja.OriginKind, what ledger.Kind) ([]piece, error) {
	if g.deferred == nil {
		g.deferred = map[string]int{}
		for i := range g.req.Tools {
			t := &g.req.Tools[i]
			name := toolname.Of(t.Namespace, t.Name)
			if _, have := g.deferred[name]; t.Deferred && !have {
				g.deferred[name] = i
			}
		}
	}
	i, ok := g.deferred[name]
	if !ok {
		return g.alone(g.part(kind, what, message, j, name)), nil
	}
	delete(g.deferred, name)
	text, err := g.m.text(g.tools, i)
	if err != nil {
		return nil, failed(g.ctx, g.v, err)
	}
	p := g.part(kind, what, message, j, text)
	p.kind, p.tool = jinja.FromToolSchema, int32(i)
	return []piece{host(message, toolsOpen), p, host(message, toolsClose)}, nil
}

// aside reads a system or developer message that is not at the start. Where the template takes none there
// it becomes marked text: of the tool's result in front of it, since a user's message would end the tool
// loop and with it the reasoning that is replayed; else of a user.
func (g *page) aside(i int, m *conv.Message) error {
	body, err := g.content(i, m.Parts, jinja.FromSystem, ledger.System)
	if err != nil {
		return err
	}
	switch {
	case m.Role == conv.Developer && g.a.developerLater:
		g.emit(turn{role: roleDeveloper, name: m.Name, message: i, body: body})
		return nil
	case g.a.systemLater:
		if m.Role == conv.Developer {
			g.miss("messages: a developer message became the system's")
		}
		g.emit(turn{role: roleSystem, name: m.Name, message: i, body: body})
		return nil
	case blank(body):
		return nil
	}
	g.miss("messages: a later system message became marked text")
	marked := append(append([]piece{host(i, asideOpen)}, body...), host(i, asideClose))
	if last := g.last(); last != nil && last.role == roleTool {
		last.body = join(last.body, "\n\n", false, marked...)
		return nil
	}
	g.emit(turn{role: roleUser, message: i, body: marked})
	return nil
}

func (g *page) last() *turn {
	if len(g.turns) == 0 {
		return nil
	}
	return &g.turns[len(g.turns)-1]
}

// emit appends a turn, or adds it to the last one where the template does not take both.
func (g *page) emit(t turn) {
	if lead := g.lead; len(lead) > 0 {
		if g.lead = nil; t.role == roleUser {
			t.body = join(lead, "\n\n", false, t.body...)
		} else {
			g.turns = append(g.turns, turn{role: roleUser, body: lead})
		}
	}
	if last := g.last(); last != nil {
		merge := last.role == t.role && (t.role == roleUser && !g.a.userTwice || t.role == roleAssistant && !g.a.assistantTwice && len(last.calls) == 0)
		merge = merge || t.role == roleUser && last.role == roleTool && !g.a.userAfterTool
		if merge {
			g.miss("messages: neighbouring messages became one")
			last.body = join(last.body, "\n\n", false, t.body...)
			last.think = join(last.think, "\n", false, t.think...)
			last.unsaid = append(last.unsaid, t.unsaid...)
			last.calls = append(last.calls, t.calls...)
			return
		}
	}
	g.turns = append(g.turns, t)
}

// user reads a user's or tool message. Results wait for those of the following messages; text before,
// between and after them is a turn of its own.
func (g *page) user(i int, m *conv.Message) error {
	from := 0
	for j := 0; j <= len(m.Parts); j++ {
		if j < len(m.Parts) && m.Parts[j].Kind != conv.Result {
			continue
		}
		if from < j || len(m.Parts) == 0 {
			if err := g.says(i, m, from, j); err != nil {
				return err
			}
		}
		if from = j + 1; j < len(m.Parts) && m.Parts[j].Result != nil {
			g.waiting = append(g.waiting, waiting{message: i, part: j, ToolResult: m.Parts[j].Result})
		}
	}
	return nil
}

// says reads parts from to end of a user's message.
func (g *page) says(i int, m *conv.Message, from, end int) error {
	if err := g.flush(); err != nil {
		return err
	}
	t := turn{role: roleUser, name: m.Name, message: i}
	for j := from; j < end; j++ {
		p, err := g.pieceOf(i, j, &m.Parts[j], jinja.FromUser, ledger.User)
		if err != nil {
			return err
		}
		if empty(t.body) {
			t.body = p
			continue
		}
		t.add(p...)
	}
	g.emit(t)
	return nil
}

// flush gives the waiting results their turns, in the order of the calls. Clients send them as they
// complete, so the order would change from run to run and break the prefix. Results of one id stay in their
// order, and those of unknown calls come last.
func (g *page) flush() error {
	if len(g.waiting) == 0 && len(g.queued) == 0 {
		return nil
	}
	by := g.ranks()
	for k := range g.waiting {
		g.waiting[k].rank = by.of(g.waiting[k].CallID)
	}
	if len(g.waiting) > 1 {
		slices.SortStableFunc(g.waiting, func(a, b waiting) int { return cmp.Compare(a.rank, b.rank) })
	}
	together := turn{role: roleUser}
	for k := range g.waiting {
		w := &g.waiting[k]
		body, err := g.resultText(w)
		if err != nil {
			return err
		}
		g.ask(w.rank)
		r, known := g.answered(w)
		if g.a.tool && (known || g.a.toolUnknown) {
			if !known {
				r = result{id: w.CallID}
			}
			g.results = append(g.results, r)
			g.emit(turn{role: roleTool, message: w.message, body: body, answers: &g.results[len(g.results)-1]})
			continue
		}
		g.miss("messages: a tool's result became text of a user")
		if len(together.body) == 0 {
			together.message = w.message
		}
		together.add(append(append([]piece{host(w.message, resultOpen)}, body...), host(w.message, resultClose))...)
		// With calls one by one each result stands behind its own.
		if len(g.queued) > 0 || k == len(g.waiting)-1 || g.a.tool {
			g.emit(together)
			together = turn{role: roleUser}
		}
	}
	g.waiting = g.waiting[:0]
	g.ask(len(g.order))
	return nil
}

// fewCalls is up to how many calls of a turn are searched one by one.
const fewCalls = 16

// ranks tells the place of a result among the calls of the last assistant message; those of unknown calls come last.
type ranks struct {
	order  []asked
	places map[string]int // nil where the calls are few
}

func (g *page) ranks() ranks {
	r := ranks{order: g.order}
	if len(r.order) > fewCalls {
		r.places = make(map[string]int, len(r.order))
		for i := range r.order {
			if _, twice := r.places[r.order[i].id]; !twice {
				r.places[r.order[i].id] = i
			}
		}
	}
	return r
}

func (r *ranks) of(id string) int {
	if r.places != nil {
		if i, ok := r.places[id]; ok {
			return i
		}
		return len(r.order)
	}
	for i := range r.order {
		if r.order[i].id == id {
			return i
		}
	}
	return len(r.order)
}

// answered is the call of a result. Of calls with one id the first of the last turn that has it counts, which is mostly
// the last turn of all; the others are searched by a map, which is made when a result asks for one of them.
func (g *page) answered(w *waiting) (result, bool) {
	if w.rank < len(g.order) {
		return g.order[w.rank].result, true
	}
	for ; g.noted < len(g.asked); g.noted++ {
		a := &g.asked[g.noted]
		if r, ok := g.known[a.id]; ok && r.of == a.of {
			continue
		}
		if g.known == nil {
			g.known = make(map[string]result, len(g.asked))
		}
		g.known[a.id] = a.result
	}
	r, ok := g.known[w.CallID]
	return r, ok
}

// ask gives the template the calls that it gets one by one, up to the one of that rank.
func (g *page) ask(rank int) {
	for len(g.queued) > 0 && len(g.order)-len(g.queued) <= rank {
		g.turns = append(g.turns, turn{role: roleAssistant, message: g.queuedOf, calls: g.queued[:1:1]})
		g.queued = g.queued[1:]
	}
}

// resultText is the text of a result. One that is an error is not marked: its text says so.
func (g *page) resultText(w *waiting) ([]piece, error) {
	var body []piece
	for k := range w.Parts {
		p, err := g.pieceOf(w.message, w.part, &w.Parts[k], jinja.FromToolResult, ledger.ToolResult)
		if err != nil {
			return nil, err
		}
		if len(body) == 0 {
			body = p
			continue
		}
		body = join(body, "\n", true, p...)
	}
	if blank(body) {
		body = g.alone(host(w.message, emptyResult))
	}
	return body, nil
}
