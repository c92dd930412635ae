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
	stops   []string
	tokens  []string
	tail    string
	start   plan.StartState
	starts  bool // the plan says where the model starts
}

func badPlan(format string, args ...any) *fault.Error {
	return fault.New(fault.Plugin, "the template policy's plan does not fit: "+format, args...)
}

// readPlan checks ops against the conversation. Of several instructions for one thing the last counts.
func readPlan(req *conv.Request, ops []plan.Op) (*planned, error) {
	p := &planned{dropped: map[partKey]bool{}, ordered: map[int]bool{}}
	var tail strings.Builder
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case plan.PartOp:
			if err := p.part(req, op); err != nil {
				return nil, err
			}
		case plan.StopOp:
			if op.Value == "" || len(op.Value) > maxMarker || len(p.stops) == maxStops {
				return nil, badPlan("stop %d of %d bytes", len(p.stops), len(op.Value))
			}
			p.stops = append(p.stops, op.Value)
		case plan.TokenOp:
			if op.Value == "" || len(op.Value) > maxMarker || len(p.tokens) == maxTokens {
				return nil, badPlan("token %d of %d bytes", len(p.tokens), len(op.Value))
			}
			p.tokens = append(p.tokens, op.Value)
		case plan.StartOp:
			p.start, p.starts = op.State, true
		case plan.TailOp:
			tail.WriteString(op.Value)
			if tail.Len() > maxTail {
				return nil, badPlan("a tail of more than %d bytes", maxTail)
			}
			p.starts = true
		}
	}
	// A turn marker in the tail would make it more than the rest of one header.
	if p.tail = tail.String(); strings.Contains(p.tail, turnOpen) || strings.Contains(p.tail, turnClose) {
		return nil, badPlan("a turn marker in the tail")
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
		p.dropped[partKey{m, i}] = true
	case plan.Splice:
		p.ordered[m] = true
		delete(p.dropped, partKey{m, i})
	default:
		delete(p.dropped, partKey{m, i})
	}
	return nil
}
