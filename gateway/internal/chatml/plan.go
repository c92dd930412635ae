package chatml

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Limits of what a plan may add, so that a policy cannot blow up the engine's request.
const (
	maxStops  = 16
	maxTokens = 64
	maxMarker = 128 // bytes of a stop or a token
)

type partKey struct{ message, part int }

// planned is a plan, checked and ready for lookups.
type planned struct {
	dropped map[partKey]bool // reasoning that is not replayed
	ordered map[int]bool     // messages whose parts are rendered in their own order
	stops   []string         // the family's and the plan's, each once
	tokens  []string
	tail    string
	start   plan.StartState
	starts  bool // the plan says where the model starts
}

func badPlan(format string, args ...any) *fault.Error {
	return fault.New(fault.Plugin, "the template policy's plan does not fit: "+format, args...)
}

// readPlan checks ops against the conversation. Of several instructions for one thing the last counts.
func readPlan(req *conv.Request, ops []plan.Op, st style) (planned, error) {
	p := planned{stops: []string{turnClose}}
	if p.tokens = []string{callOpen, callClose, thinkOpen, thinkClose}; !st.thinks {
		p.tokens = p.tokens[:2]
	}
	stops, tokens := 0, 0
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case plan.PartOp:
			if err := p.part(req, op); err != nil {
				return p, err
			}
		case plan.StopOp:
			if op.Value == "" || len(op.Value) > maxMarker || stops == maxStops {
				return p, badPlan("stop %d of %d bytes", stops, len(op.Value))
			}
			stops++
			p.stops = appendNew(p.stops, op.Value)
		case plan.TokenOp:
			if op.Value == "" || len(op.Value) > maxMarker || tokens == maxTokens {
				return p, badPlan("token %d of %d bytes", tokens, len(op.Value))
			}
			tokens++
			p.tokens = appendNew(p.tokens, op.Value)
		case plan.StartOp:
			p.start, p.starts = op.State, true
		case plan.TailOp:
			if len(p.tail)+len(op.Value) > maxTail {
				return p, badPlan("a tail of more than %d bytes", maxTail)
			}
			p.tail += op.Value
			p.starts = true
		}
	}
	// A turn marker in the tail would make it more than the rest of one header.
	if strings.Contains(p.tail, turnOpen) || strings.Contains(p.tail, turnClose) {
		return p, badPlan("a turn marker in the tail")
	}
	if p.start == plan.StartAuto {
		p.start = thinkState(p.tail)
	}
	return p, nil
}

func (p *planned) part(req *conv.Request, op *plan.Op) error {
	m, i := int(op.Message), int(op.Part)
	if int64(op.Message) >= int64(len(req.Messages)) || i >= len(req.Messages[m].Parts) {
		return badPlan("message %d has no part %d", op.Message, i)
	}
	msg := &req.Messages[m]
	if msg.Role != conv.Assistant {
		return badPlan("message %d is not the assistant's", m)
	}
	switch op.Action {
	case plan.Drop:
		if msg.Parts[i].Kind != conv.Reasoning {
			return badPlan("part %d of message %d is not reasoning and cannot be dropped", i, m)
		}
		if p.dropped == nil {
			p.dropped = map[partKey]bool{}
		}
		p.dropped[partKey{m, i}] = true
	case plan.Splice:
		if p.ordered == nil {
			p.ordered = map[int]bool{}
		}
		p.ordered[m] = true
		delete(p.dropped, partKey{m, i})
	default:
		delete(p.dropped, partKey{m, i})
	}
	return nil
}
