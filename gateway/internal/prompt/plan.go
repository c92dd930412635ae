package prompt

import (
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Limits of what a plan may add, so that a policy cannot blow up the engine's request.
const (
	maxStops   = 16
	maxTokens  = 64
	maxMarker  = 128 // bytes of a stop or a token
	maxCallID  = 512
	maxPlanTip = 4096 // bytes of all tails
)

type partKey struct{ message, part int }

// planned is a plan, checked and ready for lookups.
type planned struct {
	dropped map[partKey]bool   // reasoning that is not replayed
	ordered map[int]bool       // messages whose parts are rendered in their own order
	ids     map[partKey]string // of calls
	kwargs  []plan.Op
	stops   []string
	tokens  []string
	tail    string
	start   plan.StartState
}

func badPlan(format string, args ...any) *fault.Error {
	return fault.New(fault.Plugin, "the template policy's plan does not fit: "+format, args...)
}

// readPlan checks ops against the conversation. Of several instructions for one thing the last counts.
func readPlan(req *conv.Request, ops []plan.Op) (planned, error) {
	var p planned
	for i := range ops {
		op := &ops[i]
		var err *fault.Error
		switch op.Kind {
		case plan.KwargOp:
			p.kwargs = append(p.kwargs, *op)
		case plan.PartOp:
			err = p.part(req, op)
		case plan.CallIDOp:
			err = p.callID(req, op)
		case plan.StopOp:
			p.stops, err = marker(p.stops, op.Value, maxStops, "stop")
		case plan.TokenOp:
			p.tokens, err = marker(p.tokens, op.Value, maxTokens, "token")
		case plan.StartOp:
			p.start = op.State
		case plan.TailOp:
			if p.tail += op.Value; len(p.tail) > maxPlanTip {
				err = badPlan("a tail of %d bytes", len(p.tail))
			}
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func marker(list []string, s string, most int, what string) ([]string, *fault.Error) {
	if s == "" || len(s) > maxMarker || len(list) == most {
		return nil, badPlan("%s %d of %d bytes", what, len(list), len(s))
	}
	if slices.Contains(list, s) {
		return list, nil
	}
	return append(list, s), nil
}

// at finds the part that an instruction is about.
func at(req *conv.Request, op *plan.Op) (*conv.Part, *fault.Error) {
	if int64(op.Message) >= int64(len(req.Messages)) || int(op.Part) >= len(req.Messages[op.Message].Parts) {
		return nil, badPlan("message %d has no part %d", op.Message, op.Part)
	}
	if req.Messages[op.Message].Role != conv.Assistant {
		return nil, badPlan("message %d is not the assistant's", op.Message)
	}
	return &req.Messages[op.Message].Parts[op.Part], nil
}

func (p *planned) part(req *conv.Request, op *plan.Op) *fault.Error {
	part, err := at(req, op)
	if err != nil {
		return err
	}
	key := partKey{int(op.Message), int(op.Part)}
	switch op.Action {
	case plan.Drop:
		if part.Kind != conv.Reasoning {
			return badPlan("part %d of message %d is not reasoning and cannot be dropped", op.Part, op.Message)
		}
		if p.dropped == nil {
			p.dropped = map[partKey]bool{}
		}
		p.dropped[key] = true
		return nil
	case plan.Splice:
		if p.ordered == nil {
			p.ordered = map[int]bool{}
		}
		p.ordered[key.message] = true
	}
	delete(p.dropped, key)
	return nil
}

func (p *planned) callID(req *conv.Request, op *plan.Op) *fault.Error {
	part, err := at(req, op)
	switch {
	case err != nil:
		return err
	case part.Kind != conv.Call:
		return badPlan("part %d of message %d is no call", op.Part, op.Message)
	case op.Value == "" || len(op.Value) > maxCallID:
		return badPlan("an id of %d bytes", len(op.Value))
	}
	if p.ids == nil {
		p.ids = map[partKey]string{}
	}
	p.ids[partKey{int(op.Message), int(op.Part)}] = op.Value
	return nil
}
