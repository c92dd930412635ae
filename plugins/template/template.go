// Package template is the template policies of the model families: what of the reasoning in a
// conversation is replayed, how thinking is switched, where the model starts, and which ids its calls have.
//
// The config {"policy": NAME} chooses a row of one table; the families differ in data alone. A plan has what
// both ways of rendering need: template arguments for a chat template, and the parts to drop or splice and
// the tail for a renderer of the host's own. What the client says in its template arguments decides, and no
// instruction of a plan sets an argument that the client named.
//
// How a row thinks can be replaced: "start" is "model" (the model opens its thinking), "prompt" (the prompt
// does) or "none" (nothing is said of it).
//
// Where a turn went through several rounds (think, call, think, call) and the family can write them, the
// plan says to splice: the parts are replayed in their own order. A replayed turn is thus the same in each
// later prompt of a tool loop.
package template

import (
	"errors"
	"slices"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

var (
	errConfig  = errors.New("config is not {\"policy\": name, \"start\": how}")
	errPolicy  = errors.New("unknown policy")
	errStart   = errors.New("unknown start")
	errOutline = errors.New("switches are malformed")
	errPlan    = errors.New("the plan is larger than a plan may be")
)

// Policy implements guest.Planner. It is opened once and then does not change: Plan is safe for
// concurrent use natively, too.
type Policy struct {
	family
	fixed []byte // the stops and tokens, the same in every plan
}

var _ guest.Planner = (*Policy)(nil)

// Names returns the policies that Open knows, other names for a family right behind its own.
func Names() []string {
	var names []string
	for i := range table {
		names = append(names, table[i].names...)
	}
	return names
}

// Manifest returns the manifest JSON of a plugin that holds the policies alone.
func (p *Policy) Manifest() string {
	b := []byte(`{"name":"template","version":"1.0.0","abi":1,"kinds":["template"],"license":"Apache-2.0",` +
		`"description":"Reasoning replay and thinking switches of the model families","policies":[`)
	for i, name := range Names() {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(b, name)
	}
	return string(append(b, "]}"...))
}

// Open configures the policy. The config is an object with the members policy (obligatory) and start.
func (p *Policy) Open(config []byte) error {
	var policy, start string
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) error {
		into := &policy
		switch string(key) {
		case "policy":
		case "start":
			into = &start
		default: // of a later host
			_, err := r.Raw()
			return err
		}
		text, err := r.Text(nil)
		*into = string(text)
		return err
	})
	if err != nil || r.End() != nil {
		return errConfig
	}
	f, ok := find(policy)
	if !ok {
		return errPolicy
	}
	switch start {
	case "":
	case "model":
		f.start = startModel
	case "prompt":
		f.start = startPrompt
	case "none":
		f.start = startNone
	default:
		return errStart
	}
	*p = Policy{family: f, fixed: f.constant()}
	return nil
}

func find(name string) (family, bool) {
	for i := range table {
		if slices.Contains(table[i].names, name) {
			return table[i], true
		}
	}
	return family{}, false
}

// constant is the part of a plan that depends on nothing.
func (f *family) constant() []byte {
	var b []byte
	for _, s := range f.stops {
		b = plan.AppendOp(b, plan.Op{Kind: plan.StopOp, Value: s})
	}
	for _, t := range f.tokens {
		b = plan.AppendOp(b, plan.Op{Kind: plan.TokenOp, Value: t})
	}
	if f.start == startNone {
		return b
	}
	for _, t := range f.marks {
		b = plan.AppendOp(b, plan.Op{Kind: plan.TokenOp, Value: t})
	}
	return b
}

// Plan reads an encoded outline and appends an encoded plan to dst: the parts that are not simply kept and
// the ids of calls, then the start and the template arguments, then the stop strings and the tokens to
// preserve. It fails when the outline or its switches are malformed, and when the plan would have more than
// abi.MaxPlan bytes, and before Open.
func (p *Policy) Plan(dst, outline []byte) ([]byte, error) {
	if p.names == nil {
		return nil, errPolicy
	}
	o, err := plan.ViewOutline(outline)
	if err != nil {
		return nil, err
	}
	sw, err := readSwitches(o.Switches)
	if err != nil {
		return nil, err
	}
	w := sheet{dst: dst, limit: len(dst) + abi.MaxPlan}
	thinks := p.thinks(&sw)
	p.parts(&w, &o, p.rule(&sw, thinks != off))
	if p.start != startNone {
		p.thinking(&w, &o, &sw, thinks)
	}
	w.dst = append(w.dst, p.fixed...)
	if w.full || len(w.dst) > w.limit {
		return nil, errPlan
	}
	return w.dst, nil
}

// thinking writes where the model starts, and the template arguments that make it so.
func (p *Policy) thinking(w *sheet, o *plan.View, sw *switches, thinks wish) {
	b := p.begin(thinks)
	if answersTool(o) {
		switch {
		case p.after == afterTail:
			b = begin{}
		case p.after == afterContent:
			b = begin{state: plan.StartContent}
		case b.tail != "":
			b.tail = p.gap + b.tail
		}
	}
	if b.tail != "" {
		w.op(plan.Op{Kind: plan.TailOp, Value: b.tail})
	}
	w.op(plan.Op{Kind: plan.StartOp, State: b.state})
	effort := p.effort.value(sw.asked(p.always, thinks))
	if a := p.toggle.arg; a != argNone && !sw.named[a] {
		value := p.toggle.value(thinks)
		if a == p.effort.arg && thinks != off && effort != "" {
			value = effort
		}
		w.kwarg(a, value)
	}
	if a := p.effort.arg; a != argNone && a != p.toggle.arg && !sw.named[a] && (thinks != off || p.always) {
		w.kwarg(a, effort)
	}
}

// begin is where the model starts.
func (f *family) begin(thinks wish) begin {
	switch {
	case f.start == startContent:
		return begin{state: plan.StartContent}
	case f.start == startTail, f.always && f.start == startModel:
		return begin{}
	case thinks == off && !f.always:
		return f.off
	case f.start == startModel, thinks == adaptive && f.toggle.adaptive != "":
		return begin{}
	}
	return begin{tail: f.open, state: plan.StartReasoning}
}

// answersTool reports a conversation whose last part is a tool's result.
func answersTool(o *plan.View) bool {
	n := o.Len()
	return n > 0 && conv.PartKind(o.Row(n-1).Kind()) == conv.Result
}
