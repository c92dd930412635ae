// Command lines is a renderer: a line for each part of a conversation, with the role in front of it.
package main

import (
	"errors"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

type lines struct{}

// member is the raw value of a member of a JSON object, or nothing.
func member(object []byte, name string) (value []byte, err error) {
	r := jsonscan.NewReader(object)
	err = r.Object(func(key []byte) error {
		raw, err := r.Raw()
		if string(key) == name {
			value = raw
		}
		return err
	})
	return value, err
}

func (lines) Manifest() string {
	return `{"name": "lines", "version": "1.0.0", "abi": 1, "kinds": ["template"], "renderers": ["lines"]}`
}

// Open takes {"renderer": "lines"}.
func (lines) Open(config []byte) error {
	name, err := member(config, "renderer")
	if err == nil && string(name) != `"lines"` {
		err = errors.New("unknown renderer")
	}
	return err
}

// Render refers to all texts as they are, and to what stands in JSON with its escapes.
func (lines) Render(dst, input []byte) ([]byte, error) {
	in, err := plan.ViewRenderInput(input)
	if err != nil {
		return nil, err
	}
	generation, err := member(in.Switches, "generation")
	if err != nil {
		return nil, err
	}
	goesOn, _ := member(in.Switches, "continue")
	var w plan.Writer
	for i := range in.Tools() {
		t := in.Tool(i)
		w.Literal("tool ")
		w.Refer(plan.ToolName, plan.Verbatim, i, 0, uint32(t.NameLength()))
		w.Literal(" ")
		w.Refer(plan.ToolSchema, plan.JSONValue, i, 0, t.SchemaLength())
		w.Literal("\n")
	}
	for i := range in.Len() {
		r := in.Row(i)
		switch conv.PartKind(r.Kind()) {
		case conv.Text:
			w.Literal(conv.Role(r.Role()).String() + ": ")
			w.Refer(plan.Text, plan.Verbatim, i, 0, r.Length())
		case conv.Reasoning: // a model that does not think again about what it has thought
			w.Op(plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: plan.Drop})
			continue
		case conv.Call:
			w.Literal(`call: {"name": "`)
			w.Refer(plan.Name, plan.JSONString, i, 0, uint32(r.NameLength()))
			w.Literal(`", "arguments": `)
			w.Refer(plan.Arguments, plan.Verbatim, i, 0, r.Length())
			w.Literal("}")
		case conv.Result:
			w.Literal(`result: {"content": "`)
			w.Refer(plan.Text, plan.JSONString, i, 0, r.Length())
			w.Literal(`"}`)
		default:
			continue
		}
		if i+1 < in.Len() || string(goesOn) != "true" {
			w.Literal("<end>\n")
		}
	}
	if string(generation) != "false" && string(goesOn) != "true" {
		w.Literal("assistant: ")
	}
	w.Op(plan.Op{Kind: plan.StartOp, State: plan.StartContent})
	w.Op(plan.Op{Kind: plan.StopOp, Value: "<end>"})
	return w.Append(dst)
}

// In c-shared mode main does not run: init says what the module exports.
func init() { guest.Export(lines{}) }

func main() {}
