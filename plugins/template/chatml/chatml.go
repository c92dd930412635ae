// Package chatml is the template policy of the ChatML families: what of the reasoning in a conversation
// is replayed, and whether the model starts by thinking.
//
// Four policies, chosen by the config {"policy": NAME}:
//
//	qwen3     reasoning of the turns after the last message a user wrote is replayed, older is dropped;
//	          the model opens its thinking itself, a closed block in the prompt switches it off
//	qwen3.5   the same, but the prompt opens the thinking
//	keep_all  all reasoning is replayed; the start is qwen3's
//	drop_all  none is; nothing is said of the start, for families without thinking
//
// The start can be chosen apart from the policy: "start" is "model" (as qwen3), "prompt" (as qwen3.5) or
// "none" (as drop_all).
//
// A turn in which the model went through several rounds (think, call, think, call) is spliced: its parts
// are replayed in their own order. A replayed turn is thus the same in each later prompt of a tool loop.
package chatml

import (
	"errors"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

const manifest = `{"name": "chatml", "version": "1.0.0", "abi": 1, "kinds": ["template"],` +
	` "description": "reasoning replay and thinking switches of the ChatML families", "license": "Apache-2.0",` +
	` "families": ["qwen2.5", "qwen3", "qwen3.5", "qwen3_coder"], "policies": ["qwen3", "qwen3.5", "keep_all", "drop_all"]}`

// replay says which reasoning is kept.
type replay uint8

const (
	replayLoop replay = iota // that of the turns after the last user message
	replayAll
	replayNone
)

// start says who opens the thinking.
type start uint8

const (
	startModel  start = iota // the model; off by a closed block in the prompt
	startPrompt              // the prompt
	startNone                // nobody: no switch is written
)

const (
	openedThink = "<think>\n"
	closedThink = "<think>\n\n</think>\n\n"
)

var (
	errConfig  = errors.New("config is not {\"policy\": name, \"start\": how}")
	errPolicy  = errors.New("unknown policy")
	errStart   = errors.New("unknown start")
	errOutline = errors.New("switches are malformed")
)

// Policy implements guest.Planner. It is opened once and then does not change: Plan is safe for
// concurrent use natively, too.
type Policy struct {
	replay replay
	start  start
	ends   [4][]byte // of a plan, by ending
}

var _ guest.Planner = (*Policy)(nil)

// Names returns the policies that Open knows.
func Names() []string { return []string{"qwen3", "qwen3.5", "keep_all", "drop_all"} }

// Manifest returns the manifest JSON of a plugin that holds this policy alone.
func (p *Policy) Manifest() string { return manifest }

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
	switch policy {
	case "qwen3":
		*p = Policy{replay: replayLoop, start: startModel}
	case "qwen3.5":
		*p = Policy{replay: replayLoop, start: startPrompt}
	case "keep_all":
		*p = Policy{replay: replayAll, start: startModel}
	case "drop_all":
		*p = Policy{replay: replayNone, start: startNone}
	default:
		return errPolicy
	}
	switch start {
	case "":
	case "model":
		p.start = startModel
	case "prompt":
		p.start = startPrompt
	case "none":
		p.start = startNone
	default:
		return errStart
	}
	for _, on := range []bool{false, true} {
		for _, named := range []bool{false, true} {
			p.ends[ending(on, named)] = p.end(on, named)
		}
	}
	return nil
}

// Plan reads an encoded outline and appends an encoded plan to dst: the parts that are not simply kept,
// then the start, then the stop string and the tokens to preserve.
func (p *Policy) Plan(dst, outline []byte) ([]byte, error) {
	o, err := plan.ViewOutline(outline)
	if err != nil {
		return nil, err
	}
	sw, err := readSwitches(o.Switches)
	if err != nil {
		return nil, err
	}
	dst = p.parts(dst, &o)
	return append(dst, p.ends[ending(sw.thinks(), sw.named)]...), nil
}

// ending is the index in Policy.ends: the model thinks, and the client named the switch itself.
func ending(on, named bool) int {
	i := 0
	if on {
		i = 1
	}
	if named {
		i += 2
	}
	return i
}

// end is the end of a plan: all that does not depend on the rows.
func (p *Policy) end(on, named bool) []byte {
	var dst []byte
	if p.start != startNone {
		dst = p.thinking(dst, on, named)
	}
	dst = plan.AppendOp(dst, plan.Op{Kind: plan.StopOp, Value: "<|im_end|>"})
	tokens := [...]string{"<tool_call>", "</tool_call>", "<think>", "</think>"}
	n := len(tokens)
	if p.start == startNone {
		n = 2
	}
	for _, t := range tokens[:n] {
		dst = plan.AppendOp(dst, plan.Op{Kind: plan.TokenOp, Value: t})
	}
	return dst
}

// thinking writes the thinking switch.
func (p *Policy) thinking(dst []byte, on, named bool) []byte {
	tail, state := "", plan.StartAuto
	switch {
	case !on:
		tail, state = closedThink, plan.StartContent
	case p.start == startPrompt:
		tail, state = openedThink, plan.StartReasoning
	}
	if tail != "" {
		dst = plan.AppendOp(dst, plan.Op{Kind: plan.TailOp, Value: tail})
	}
	dst = plan.AppendOp(dst, plan.Op{Kind: plan.StartOp, State: state})
	if !named {
		value := "false"
		if on {
			value = "true"
		}
		dst = plan.AppendOp(dst, plan.Op{Kind: plan.KwargOp, Key: "enable_thinking", Value: value})
	}
	return dst
}

// parts writes what happens to the parts of the assistant's messages.
func (p *Policy) parts(dst []byte, o *plan.View) []byte {
	n := o.Len()
	loop := uint32(0) // the first message of the running tool loop; without a user message all is one
	for i := n - 1; i >= 0; i-- {
		if r := o.Row(i); r.Flags()&plan.RowLastUser != 0 {
			loop = r.Message() + 1
			break
		}
	}
	for i := 0; i < n; {
		r, from := o.Row(i), i
		m := r.Message()
		for i++; i < n && o.Row(i).Message() == m; i++ {
		}
		if conv.Role(r.Role()) == conv.Assistant {
			keep := p.replay == replayAll || p.replay == replayLoop && m >= loop
			dst = message(dst, o, from, i, keep)
		}
	}
	return dst
}

// message writes the instructions for one message of the assistant, rows from to end. What is simply kept
// needs none: a plan has a size limit, and long conversations have many parts.
func message(dst []byte, o *plan.View, from, end int, keep bool) []byte {
	// Templates print reasoning, content, calls. Parts in another order come of several rounds.
	spliced, rank := false, 0
	for i := from; i < end; i++ {
		if r := o.Row(i); stays(r, keep) {
			k := order(conv.PartKind(r.Kind()))
			spliced = spliced || k < rank
			rank = max(rank, k)
		}
	}
	told := false
	for i := from; i < end; i++ {
		r := o.Row(i)
		action := plan.Splice
		switch {
		case !stays(r, keep):
			action = plan.Drop
		case !spliced || told:
			continue
		default:
			told = true // one part's splice is the whole message's
		}
		dst = plan.AppendOp(dst, plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: action})
	}
	return dst
}

// stays reports a part that is replayed; keep says that the reasoning of its message is.
func stays(r plan.RowView, keep bool) bool {
	return conv.PartKind(r.Kind()) != conv.Reasoning || keep && r.Flags()&plan.RowEmpty == 0
}

// order is the place of a kind of part in what a template prints.
func order(k conv.PartKind) int {
	switch k {
	case conv.Reasoning:
		return 0
	case conv.Call:
		return 2
	}
	return 1
}
