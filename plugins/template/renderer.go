package template

import (
	"errors"
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

var (
	errRendererConfig = errors.New("config is not {\"renderer\": name}")
	errRenderer       = errors.New("unknown renderer")
	errArguments      = errors.New("the arguments of calls are not given")
)

// Renderer implements guest.Renderer for the families whose prompt is written by a program of their vendor's
// and not by a chat template. The config {"renderer": NAME} chooses one. What it says of thinking and of the
// history's reasoning is what the policy of the family says. It is opened once and then does not change:
// Render is safe for concurrent use natively.
type Renderer struct {
	policy  Policy
	dialect *dialect
}

var _ guest.Renderer = (*Renderer)(nil)

// RendererNames returns the renderers that Open knows.
func RendererNames() []string {
	var names []string
	for i := range dialects {
		names = append(names, dialects[i].names...)
	}
	return names
}

// Manifest returns the manifest JSON of a plugin that holds the renderers alone.
func (r *Renderer) Manifest() string {
	b := []byte(`{"name":"renderer","version":"1.0.0","abi":1,"kinds":["template"],"license":"Apache-2.0",` +
		`"description":"Prompts of model families without a chat template","content":["arguments"],"renderers":[`)
	for i, name := range RendererNames() {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(b, name)
	}
	return string(append(b, "]}"...))
}

// Open configures the renderer.
func (r *Renderer) Open(config []byte) error {
	var name []byte
	c := jsonscan.NewReader(config)
	err := c.Object(func(key []byte) (err error) {
		if string(key) == "renderer" {
			name, err = c.Text(name[:0])
			return err
		}
		_, err = c.Raw() // of a later host
		return err
	})
	if err != nil || c.End() != nil {
		return errRendererConfig
	}
	for i := range dialects {
		if d := &dialects[i]; slices.Contains(d.names, string(name)) {
			f, _ := find(d.policy)
			*r = Renderer{policy: Policy{family: f, fixed: f.constant()}, dialect: d}
			return nil
		}
	}
	return errRenderer
}

// Policy is the policy of the renderer's family.
func (r *Renderer) Policy() *Policy { return &r.policy }

// Render reads an encoded render input and appends an encoded answer to dst. It fails when the input is
// malformed or has calls without their arguments, when the answer would be larger than one may be, and
// before Open.
func (r *Renderer) Render(dst, input []byte) ([]byte, error) {
	if r.dialect == nil {
		return nil, errRenderer
	}
	v, err := plan.ViewRenderInput(input)
	if err != nil {
		return nil, err
	}
	sw, err := readSwitches(v.Switches)
	if err != nil {
		return nil, err
	}
	sw.tools = v.Tools() > 0
	p := page{dialect: r.dialect, in: &v, sw: &sw, thinks: r.policy.thinks(&sw) != off}
	p.w.Grow(4*v.Len()+6*v.Tools()+16, 64*v.Len()+128*v.Tools()+4096)
	p.w.Literal(beginMark)
	if p.thinks && v.Len() > 0 {
		p.w.Literal(p.preamble(sw.asked(false, on)))
	}
	p.rule(&r.policy)
	p.system()
	if err := p.messages(); err != nil {
		return nil, err
	}
	if !sw.closed && !sw.goesOn {
		p.begin(&r.policy)
	}
	p.w.Ops(r.policy.fixed)
	return p.w.Append(dst)
}

// page is a prompt in the making.
type page struct {
	*dialect
	w      plan.Writer
	in     *plan.RenderView
	sw     *switches
	thinks bool   // the model does
	from   uint64 // first message whose thinking is shown, where any is

	place   place
	calls   []int    // rows of the last turn of the assistant
	results []int    // rows of results that are still to be written
	members []member // of the last arguments, for their memory
}

// place is what stands in front of where the page is.
type place uint8

const (
	atStart  place = iota // nothing that a turn answers
	atUser                // a user's message
	atResult              // results of tools
)

// rule finds whose thinking is shown. A developer is a user to these families.
func (p *page) rule(policy *Policy) {
	rule := policy.rule(p.sw, p.thinks)
	if rule != replayLoop {
		return // all of it, or none since thinking is off
	}
	for i := p.in.Len() - 1; i >= 0; i-- {
		r := p.in.Row(i)
		if conv.PartKind(r.Kind()) == conv.Result {
			if p.looped {
				p.from = 0 // a conversation with results is one loop
				return
			}
			continue
		}
		if role := conv.Role(r.Role()); p.from == 0 && (role == conv.User || role == conv.Developer) {
			p.from = uint64(r.Message()) + 1
		}
	}
}

// shown reports whether the thinking of a message is.
func (p *page) shown(message uint32) bool { return p.thinks && uint64(message) >= p.from }

// system writes what stands in front of the messages: all system texts, and the tools.
func (p *page) system() {
	last, some := int64(-1), false
	for i := range p.in.Len() {
		r := p.in.Row(i)
		if conv.Role(r.Role()) != conv.System || conv.PartKind(r.Kind()) != conv.Text {
			continue
		}
		switch m := int64(r.Message()); {
		case last == m:
			p.w.Literal("\n")
		case last >= 0:
			p.w.Literal("\n\n")
		}
		some = some || last >= 0 || r.Length() > 0
		last = int64(r.Message())
		p.text(plan.Text, i, r)
	}
	if p.in.Tools() == 0 {
		return
	}
	if some {
		p.w.Literal("\n\n")
	}
	p.w.Literal(p.toolsHead)
	for i := range p.in.Tools() {
		p.tool(i, p.in.Tool(i))
	}
	p.w.Literal(p.toolsFoot)
}

// tool writes the definition of one, as the function object of the chat surface.
func (p *page) tool(i int, t plan.ToolView) {
	p.w.Literal(`{"name": "`)
	p.w.Refer(plan.ToolName, plan.JSONString, i, 0, uint32(t.NameLength()))
	p.w.Literal(`"`)
	if n := t.DescriptionLength(); n > 0 {
		p.w.Literal(`, "description": "`)
		p.w.Refer(plan.ToolDescription, plan.JSONString, i, 0, n)
		p.w.Literal(`"`)
	}
	switch n := t.SchemaLength(); {
	case conv.ToolKind(t.Kind()) == conv.Custom:
		p.w.Literal(`, "parameters": {"type": "object", "properties": {"` + inputName + `": {"type": "string"}}, "required": ["` + inputName + `"]}`)
	case n > 0:
		p.w.Literal(`, "parameters": `)
		p.w.Refer(plan.ToolSchema, plan.JSONValue, i, 0, n)
	}
	if t.Flags()&plan.ToolStrict != 0 {
		p.w.Literal(`, "strict": true`)
	}
	p.w.Literal("}\n")
}

// text refers to all of a row's text.
func (p *page) text(f plan.Field, i int, r plan.RowView) {
	p.w.Refer(f, plan.Verbatim, i, 0, r.Length())
}

// messages writes the turns.
func (p *page) messages() error {
	n := p.in.Len()
	for first := 0; first < n; {
		end, m := first+1, p.in.Row(first).Message()
		for end < n && p.in.Row(end).Message() == m {
			end++
		}
		switch conv.Role(p.in.Row(first).Role()) {
		case conv.System:
		case conv.Assistant:
			p.answers()
			if err := p.assistant(first, end); err != nil {
				return err
			}
		default:
			p.asked(first, end)
		}
		first = end
	}
	p.answers()
	return nil
}

// asked writes rows of a message to the model. Results wait for what follows them, since all results of a
// turn stand together, in the order of its calls.
func (p *page) asked(first, end int) {
	open := false
	for i := first; i < end; i++ {
		r := p.in.Row(i)
		switch conv.PartKind(r.Kind()) {
		case conv.Result:
			p.results = append(p.results, i)
			open = false
		case conv.Text:
			p.answers()
			if open {
				p.w.Literal("\n")
			} else {
				p.user()
			}
			p.text(plan.Text, i, r)
			open = true
		}
	}
}

// user opens a message of the user's.
func (p *page) user() {
	if p.grouped && p.place != atStart {
		p.w.Literal("\n\n")
	} else {
		p.w.Literal(userHead)
	}
	p.place = atUser
}

// answers writes the results that wait.
func (p *page) answers() {
	if len(p.results) == 0 {
		return
	}
	p.sort()
	if !p.grouped {
		p.w.Literal("\n\n<function_results>")
	}
	for _, i := range p.results {
		if p.grouped {
			p.user()
		}
		p.w.Literal(p.resultHead)
		p.text(plan.Text, i, p.in.Row(i))
		p.w.Literal(p.resultFoot)
	}
	if !p.grouped {
		p.w.Literal("\n</function_results>")
	}
	p.results, p.place = p.results[:0], atResult
}

// sort brings the results into the order of their calls; those that answer none stay behind them.
func (p *page) sort() {
	if len(p.results) < 2 || len(p.calls) < 2 {
		return
	}
	places := make(map[string]int, len(p.calls))
	for n, i := range p.calls {
		places[string(p.in.ID(p.in.Row(i)))] = n
	}
	rank := func(i int) int {
		if n, ok := places[string(p.in.ID(p.in.Row(i)))]; ok {
			return n
		}
		return len(p.calls)
	}
	slices.SortStableFunc(p.results, func(a, b int) int { return rank(a) - rank(b) })
}

// begin opens the turn that the model is to write.
func (p *page) begin(policy *Policy) {
	switch {
	case p.grouped, p.place == atUser:
		p.w.Literal(assistantHead)
	case p.place == atResult:
		p.w.Literal(policy.gap)
	default:
		return // the last message is the assistant's, and closed
	}
	thinks := off
	if p.thinks {
		thinks = on
	}
	b := policy.begin(thinks)
	p.w.Literal(b.tail)
	p.w.Op(plan.Op{Kind: plan.StartOp, State: b.state})
}
