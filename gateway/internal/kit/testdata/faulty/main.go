// Command faulty has renderers with one fault each, called as the fault is.
package main

import (
	"bytes"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
)

const names = `"none", "long", "field", "left-out", "twice", "untold", "nothing", "changing", "anew", "kwarg", "half", "error"`

type faulty struct {
	config []byte
	calls  int
}

func (*faulty) Manifest() string {
	return `{"name": "faulty", "version": "1.0.0", "abi": 1, "kinds": ["template"], "renderers": [` + names + `]}`
}

// Open takes any name, which is a fault too.
func (f *faulty) Open(config []byte) error {
	f.config = bytes.Clone(config)
	return nil
}

// is reports the fault that this instance has.
func (f *faulty) is(name string) bool { return bytes.Contains(f.config, []byte(`"`+name+`"`)) }

func (f *faulty) Render(dst, input []byte) ([]byte, error) {
	in, err := plan.ViewRenderInput(input)
	if err != nil || f.is("error") {
		return nil, plan.ErrFormat
	}
	f.calls++
	var w plan.Writer
	if f.is("changing") {
		w.Literal("abcdefgh"[f.calls%8:])
	}
	if f.is("anew") {
		w.Literal("abcdefgh"[in.Len()%8:])
	}
	for i := range in.Len() {
		r := in.Row(i)
		n := r.Length()
		switch conv.PartKind(r.Kind()) {
		case conv.Reasoning:
			op := plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: plan.Drop}
			if !f.is("untold") {
				w.Op(op)
			}
			if op.Part = 99; f.is("nothing") {
				w.Op(op)
			}
			continue
		case conv.Call:
			field := plan.Arguments
			if f.is("field") {
				field = plan.Text
			}
			w.Refer(field, plan.Verbatim, i, 0, n)
		case conv.Text, conv.Result:
			if f.is("left-out") && conv.PartKind(r.Kind()) == conv.Result {
				continue
			}
			if f.is("long") {
				n++
			}
			w.Refer(plan.Text, plan.Verbatim, i, 0, n)
			if f.is("twice") {
				w.Refer(plan.Text, plan.Verbatim, i, 0, n)
			}
		}
	}
	if f.is("half") {
		w.Literal("\xe2")
	}
	if f.is("kwarg") {
		w.Op(plan.Op{Kind: plan.KwargOp, Key: "k", Value: "1"})
	}
	return w.Append(dst)
}

func init() { guest.Export(&faulty{}) }

func main() {}
