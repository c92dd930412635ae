package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// shape is a conversation for a policy.
type shape struct {
	name    string
	outline plan.Outline
}

// checkPolicy gives a template policy conversations of several shapes.
func checkPolicy(ctx context.Context, r *Report, src *source, m *plughost.Manifest, o CheckOptions) error {
	var configs []string
	switch given := named(o.Config); {
	case given[memberRenderer] != "" && given[memberPolicy] == "":
		return nil
	case o.Config != "":
		configs = []string{o.Config}
	case len(m.Policies) == 0 && m.Renders():
		return nil // its plans, if it has any, are of no use beside its prompts
	case len(m.Policies) == 0:
		configs = []string{"{}"}
	default:
		for _, name := range m.Policies {
			configs = append(configs, `{"policy": `+strconv.Quote(name)+`}`)
		}
	}
	// A plugin that lists no policies need not look at its configuration.
	if o.Config == "" && len(m.Policies) > 0 {
		if err := checkOpen(ctx, r, src, plughost.KindTemplate, configs[0], `{"policy": "no-such-policy"}`); err != nil {
			return err
		}
	}
	for _, config := range configs {
		p, err := src.plugin(ctx)
		if err != nil {
			return err
		}
		checkPlans(r, p, config)
	}
	return nil
}

func checkPlans(r *Report, p *plughost.Plugin, config string) {
	first, err := p.Planner([]byte(config))
	if err != nil {
		r.fail("open", config, "", refusal(err, &p.Manifest, config))
		return
	}
	second, err := p.Planner([]byte(config + " "))
	if err != nil {
		r.fail("open", config, "", "a second instance: "+oneLine(err))
		return
	}
	fail := func(l rule, place, detail string) {
		r.law(&Verdict{Check: l.id, Config: config, Law: l.text, Detail: detail, Place: place})
	}
	readable := rule{"plan", "every plan can be read and speaks of parts that are there"}
	repeated := rule{"L8", "the same outline gives the same plan, on any instance"}
	plans := 0
	for _, s := range shapes() {
		b := plan.AppendOutline(nil, &s.outline)
		place := fmt.Sprintf("%s: %d rows, switches %s", s.name, len(s.outline.Rows), s.outline.Switches)
		one, err := first.Plan(b)
		if err != nil {
			fail(readable, place, planFault(err))
			return
		}
		ops, err := plan.Parse(one)
		if err != nil {
			fail(readable, place, oneLine(err))
			return
		}
		if text := misplaced(ops, s.outline.Rows); text != "" {
			fail(readable, place, text)
			return
		}
		for _, again := range [...]*plughost.Planner{first, second} {
			two, err := again.Plan(b)
			if err != nil {
				fail(readable, place, "the second time: "+planFault(err))
				return
			}
			if !bytes.Equal(one, two) {
				fail(repeated, place, "another plan came the next time")
				return
			}
		}
		plans++
	}
	for _, l := range [...]rule{readable, repeated} {
		r.law(&Verdict{Check: l.id, Config: config, OK: true, Law: l.text, Detail: fmt.Sprintf("%d outlines", plans)})
	}
}

// planFault tells of a plan that did not come, and of what kind the plugin's fault is, if it is one.
func planFault(err error) string {
	text := oneLine(err)
	if f, ok := errors.AsType[*plughost.Fault](err); ok {
		text += fmt.Sprintf(" (%s)", f.Kind)
	}
	return text
}

// misplaced tells of the first instruction for a part that the conversation does not have.
func misplaced(ops []plan.Op, rows []plan.Row) string {
	type part struct {
		message uint32
		part    uint16
	}
	kinds := make(map[part]conv.PartKind, len(rows))
	for _, r := range rows {
		kinds[part{r.Message, r.Part}] = conv.PartKind(r.Kind)
	}
	for i, op := range ops {
		want := conv.Reasoning
		switch op.Kind {
		case plan.PartOp:
		case plan.CallIDOp:
			want = conv.Call
		default:
			continue
		}
		if got, ok := kinds[part{op.Message, op.Part}]; !ok || got != want {
			return fmt.Sprintf("instruction %d is for part %d of message %d, which is not a %s", i, op.Part, op.Message, map[bool]string{true: "reasoning part", false: "call"}[want == conv.Reasoning])
		}
	}
	return ""
}

// shapes are conversations as they occur, and the edges of what may occur.
func shapes() []shape {
	turn := func(rows []plan.Row, last bool) []plan.Row {
		m := uint32(0)
		if len(rows) > 0 {
			m = rows[len(rows)-1].Message + 1
		}
		flags := uint16(0)
		if last {
			flags = plan.RowLastUser
		}
		return append(rows,
			plan.Row{Message: m, Kind: uint8(conv.Text), Role: uint8(conv.User), Length: 20, Flags: flags},
			plan.Row{Message: m + 1, Part: 0, Kind: uint8(conv.Reasoning), Role: uint8(conv.Assistant), Length: 400},
			plan.Row{Message: m + 1, Part: 1, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Length: 30, Name: "get_stock"},
			plan.Row{Message: m + 1, Part: 2, Kind: uint8(conv.Reasoning), Role: uint8(conv.Assistant), Flags: plan.RowSealed | plan.RowEmpty},
			plan.Row{Message: m + 2, Kind: uint8(conv.Result), Role: uint8(conv.Tool), Length: 900, Name: "call_1", Flags: plan.RowError},
			plan.Row{Message: m + 3, Part: 0, Kind: uint8(conv.Reasoning), Role: uint8(conv.Assistant), Length: 80},
			plan.Row{Message: m + 3, Part: 1, Kind: uint8(conv.Text), Role: uint8(conv.Assistant), Length: 200},
		)
	}
	user := plan.Row{Kind: uint8(conv.Text), Role: uint8(conv.User), Length: 5, Flags: plan.RowLastUser}
	long := []plan.Row{}
	for range 500 {
		long = turn(long, false)
	}
	rows := map[string][]plan.Row{
		"nothing":         nil,
		"one message":     {user},
		"tool loop":       turn(nil, true),
		"two turns":       turn(turn(nil, false), true),
		"no user message": turn(nil, true)[1:],
		"long":            turn(long, true),
		"media":           {user, {Part: 1, Kind: uint8(conv.MediaPart), Role: uint8(conv.User), Length: 1 << 20, Flags: plan.RowLastUser}},
	}
	var out []shape
	for _, name := range [...]string{"nothing", "one message", "tool loop", "two turns", "no user message", "long", "media"} {
		for _, switches := range [...]string{
			`{}`, `{"thinking": "on", "default": "off", "tools": 2}`, `{"thinking": "off", "kwargs": {"enable_thinking": true}}`,
			`{"thinking": "adaptive", "effort": "high", "default": "on", "tools": 0, "kwargs": {"a": [1, {"b": "}"}]}, "x-later": null}`,
		} {
			out = append(out, shape{name, plan.Outline{Rows: rows[name], Switches: []byte(switches)}})
		}
	}
	return out
}
