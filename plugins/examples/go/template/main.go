// Command recent is a template policy: the reasoning in front of the last message that a user wrote is
// dropped from the prompt, and everything else is kept.
package main

import (
	"errors"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

const manifest = `{"name": "recent", "version": "1.0.0", "abi": 1, "kinds": ["template"],` +
	` "policies": ["recent"], "description": "drops the reasoning in front of the last user message"}`

// maxOps is how many instructions of opSize bytes a plan has room for.
const (
	opSize = 16
	maxOps = abi.MaxPlan / opSize
)

// policy implements guest.Planner.
type policy struct{}

var errPolicy = errors.New("unknown policy")

func (policy) Manifest() string { return manifest }

// Open reads {"policy": NAME}; without one it is recent.
func (policy) Open(config []byte) error {
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) error {
		if string(key) != "policy" {
			_, err := r.Raw()
			return err
		}
		name, err := r.Text(nil)
		if err == nil && len(name) > 0 && string(name) != "recent" {
			err = errPolicy
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.End()
}

// Plan drops what is old, the oldest first; nothing is old in a conversation that no user wrote in.
func (policy) Plan(dst, outline []byte) ([]byte, error) {
	o, err := plan.ViewOutline(outline)
	if err != nil {
		return nil, err
	}
	last := uint32(0)
	for i := range o.Len() {
		if r := o.Row(i); r.Flags()&plan.RowLastUser != 0 {
			last = r.Message()
		}
	}
	ops := 0
	for i := 0; i < o.Len() && ops < maxOps; i++ {
		r := o.Row(i)
		if conv.PartKind(r.Kind()) == conv.Reasoning && r.Message() < last {
			dst = plan.AppendOp(dst, plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: plan.Drop})
			ops++
		}
	}
	return dst, nil
}

// In c-shared mode main does not run: init says what the module exports.
func init() { guest.Export(policy{}) }

func main() {}
