package kit

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// Rules of renderers.
var renderRules = [...]rule{
	{"render", "every answer can be read, and refers to what is there"},
	{"once", "each text that is not dropped stands in the prompt once"},
	{"L8", "the same conversation gives the same prompt, on any instance"},
	{"prefix", "within a turn the prompt only grows"},
}

// ruleOf is the one with an id.
func ruleOf(id string) rule {
	for _, l := range renderRules {
		if l.id == id {
			return l
		}
	}
	return rule{id: id}
}

// contents are the names of what a renderer asks to read.
func contents(c plan.Content) []string {
	var out []string
	for _, k := range [...]struct {
		kind plan.Content
		name string
	}{{plan.ReadText, "text"}, {plan.ReadArguments, "arguments"}, {plan.ReadTools, "tools"}} {
		if c&k.kind != 0 {
			out = append(out, k.name)
		}
	}
	return out
}

// checkRenderers gives each renderer conversations of several kinds.
func checkRenderers(ctx context.Context, r *Report, src *source, m *plughost.Manifest, o CheckOptions) error {
	var configs []string
	switch {
	case o.Config == "":
		for _, name := range m.Renderers {
			configs = append(configs, `{"renderer": `+strconv.Quote(name)+`}`)
		}
		if err := checkOpen(ctx, r, src, kindRenderer, configs[0], `{"renderer": "no-such-renderer"}`); err != nil {
			return err
		}
	case named(o.Config)[memberRenderer] == "" && (len(m.Policies) > 0 || m.Is(plughost.KindParser)):
		return nil // it is for something else that the plugin is
	default:
		configs = []string{o.Config}
	}
	if reads := contents(m.Content); len(reads) > 0 {
		r.note("content", "", "it asks to read %s: the operator must grant that", strings.Join(reads, " and "))
	}
	for _, config := range configs {
		p, err := src.plugin(ctx)
		if err != nil {
			return err
		}
		checkPrompts(r, p, config)
	}
	return nil
}

// prompts is a renderer under test.
type prompts struct {
	report        *Report
	config        string
	content       plan.Content
	first, second *plughost.Renderer
	made, grown   int // prompts, and prompts that were held against the one before
	changed       map[string]bool
}

func checkPrompts(r *Report, p *plughost.Plugin, config string) {
	c := prompts{report: r, config: config, content: p.Manifest.Content, changed: map[string]bool{}}
	var err error
	if c.first, err = p.Renderer([]byte(config)); err != nil {
		r.fail("open", config, "", refusal(err, &p.Manifest, config))
		return
	}
	if c.second, err = p.Renderer([]byte(config + " ")); err != nil {
		r.fail("open", config, "", "a second instance: "+oneLine(err))
		return
	}
	for _, s := range scenes() {
		for _, switches := range [...]string{
			`{}`, `{"thinking": "on", "default": "off", "tools": 3}`, `{"thinking": "off", "generation": false}`,
			`{"thinking": "adaptive", "effort": "high", "default": "on", "kwargs": {"a": [1, {"b": "}"}]}, "x-later": null}`,
			`{"thinking": "on", "effort": "max", "continue": true}`,
		} {
			if !c.scene(&s, switches) {
				return
			}
		}
		for _, thinking := range [...]string{"on", "off"} {
			if !c.growing(&s, `{"thinking": "`+thinking+`", "generation": false}`) {
				return
			}
		}
	}
	for _, l := range renderRules {
		detail := fmt.Sprintf("%d prompts", c.made)
		if l.id == "prefix" {
			detail = fmt.Sprintf("%d prompts with something more", c.grown)
		}
		r.law(&Verdict{Check: l.id, Config: config, OK: true, Law: l.text, Detail: detail})
	}
}

// fail tells what broke a rule; it returns false.
func (c *prompts) fail(id, place, detail string) bool {
	l := ruleOf(id)
	c.report.law(&Verdict{Check: l.id, Config: c.config, Law: l.text, Detail: detail, Place: place})
	return false
}

// scene checks one conversation by itself.
func (c *prompts) scene(s *scene, switches string) bool {
	in := s.input(s.messages(), switches, c.content)
	place := fmt.Sprintf("%s: %d parts, switches %s", s.name, len(in.Rows), switches)
	one, ok := c.prompt(in, place)
	if !ok {
		return false
	}
	if text := misses(in, one); text != "" {
		return c.fail("once", place, text)
	}
	for _, again := range [...]*plughost.Renderer{c.first, c.second} {
		two, err := again.Render(in)
		if err != nil {
			return c.fail("render", place, "the second time: "+planFault(err))
		}
		if !reflect.DeepEqual(one, two) {
			return c.fail("L8", place, "another prompt came the next time: "+apart(one.Text, two.Text))
		}
	}
	return true
}

// prompt renders.
func (c *prompts) prompt(in *plan.RenderInput, place string) (*plan.Rendered, bool) {
	out, err := c.first.Render(in)
	if err != nil {
		return nil, c.fail("render", place, planFault(err))
	}
	if !utf8.ValidString(out.Text) {
		return nil, c.fail("render", place, "the prompt is not UTF-8: a reference cuts a character, or a literal is wrong")
	}
	c.made++
	return out, true
}

// dropped are the parts that a prompt leaves out.
func dropped(ops []plan.Op) map[[2]int]bool {
	out := map[[2]int]bool{}
	for _, op := range ops {
		if op.Kind == plan.PartOp && op.Action == plan.Drop {
			out[[2]int{int(op.Message), int(op.Part)}] = true
		}
	}
	return out
}

// misses tells of the first text that is not in a prompt as often as it must be.
func misses(in *plan.RenderInput, out *plan.Rendered) string {
	left := dropped(out.Ops)
	for i := range in.Rows {
		r := &in.Rows[i]
		at := [2]int{int(r.Message), int(r.Part)}
		want := 1
		if left[at] {
			want = 0
		}
		delete(left, at)
		switch conv.PartKind(r.Kind) {
		case conv.MediaPart, conv.Reference:
			continue
		}
		word := own(r)
		if word == "" {
			continue
		}
		if got := strings.Count(out.Text, word); got != want {
			return fmt.Sprintf("part %d of message %d (%s) stands there %d times, want %d: %s", r.Part, r.Message, conv.Role(r.Role), got, want, clip(r.Text))
		}
	}
	for _, op := range out.Ops {
		if left[[2]int{int(op.Message), int(op.Part)}] {
			return fmt.Sprintf("part %d of message %d is dropped, and is not there", op.Part, op.Message)
		}
	}
	return ""
}

// growing checks that a conversation's prompt begins the prompt of the same with more behind it. Within a turn
// that must be so, or the renderer says that it drops something; a new message of a user may change what
// stands in front of it, and that is told.
func (c *prompts) growing(s *scene, switches string) bool {
	var before *plan.Rendered
	for k, end := range s.ends {
		in := s.input(end, switches, c.content)
		place := fmt.Sprintf("%s: %d messages, switches %s", s.name, end, switches)
		now, ok := c.prompt(in, place)
		if !ok {
			return false
		}
		if k > 0 {
			c.grown++
			if !strings.HasPrefix(now.Text, before.Text) {
				role := conv.Role(in.Rows[len(in.Rows)-1].Role)
				drops := !reflect.DeepEqual(upTo(dropped(now.Ops), s.ends[k-1]), dropped(before.Ops))
				if role != conv.User && !drops {
					return c.fail("prefix", place, "what was there before changed, and no part of it is dropped: "+apart(before.Text, now.Text))
				}
				c.tell(role, drops, before.Text, now.Text)
			}
		}
		before = now
	}
	return true
}

// upTo are those of messages below end.
func upTo(parts map[[2]int]bool, end int) map[[2]int]bool {
	out := map[[2]int]bool{}
	for at := range parts {
		if at[0] < end {
			out[at] = true
		}
	}
	return out
}

// tell notes once what a new message changes in front of it.
func (c *prompts) tell(role conv.Role, drops bool, before, now string) {
	how := "changes what the renderer writes in front of it"
	if drops {
		how = "makes the renderer drop reasoning in front of it"
	}
	text := fmt.Sprintf("a message of the %s %s, so that an engine reads the prompt anew from there", role, how)
	if !c.changed[text] {
		c.changed[text] = true
		c.report.note("prefix", c.config, "%s: %s", text, apart(before, now))
	}
}

// apart says where two prompts part.
func apart(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	around := func(s string) string { return clip(s[max(n-24, 0):min(n+24, len(s))]) }
	return fmt.Sprintf("at byte %d, %s became %s", n, around(a), around(b))
}
