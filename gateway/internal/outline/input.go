package outline

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Input is req as a renderer plugin gets it: a row for each part, the tools that are in the prompt from the start, and
// the texts that references of its answer stand for. name gives a tool's name in the prompt. Errors are
// *fault.Error, those of Of and Unsupported for media.
func Input(req *conv.Request, thinks bool, name func(namespace, name string) string) (*plan.RenderInput, error) {
	sw, err := switches(nil, req, thinks, true)
	if err != nil {
		return nil, err
	}
	in := &plan.RenderInput{Switches: sw}
	called := map[string]string{} // names of tools by the ids of their calls
	last := lastUser(req)
	for i := range req.Messages {
		m := &req.Messages[i]
		if len(in.Rows)+len(m.Parts) > plan.MaxRows {
			return nil, fault.At(fault.Invalid, "messages", "the conversation has more than %d parts", plan.MaxRows-1)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			r, err := renderRow(i, p, called, name)
			if err != nil {
				return nil, err
			}
			r.Message, r.Part, r.Role = uint32(i), uint16(j), uint8(m.Role)
			if i == last {
				r.Flags |= plan.RowLastUser
			}
			in.Rows = append(in.Rows, r)
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Deferred {
			continue
		}
		tool := plan.RenderTool{Name: name(t.Namespace, t.Name), Description: t.Description, Schema: string(t.Schema)}
		if t.Kind == conv.Custom { // to a template every other kind is a function
			tool.Kind, tool.Schema = uint8(conv.Custom), string(t.Format)
		}
		if t.Strict {
			tool.Flags |= plan.ToolStrict
		}
		in.Tools = append(in.Tools, tool)
	}
	return in, nil
}

// renderRow is what a renderer gets of a part of a message. called are the names of tools by the ids of their calls.
func renderRow(message int, p *conv.Part, called map[string]string, name func(namespace, name string) string) (plan.RenderRow, error) {
	r := plan.RenderRow{Kind: uint8(p.Kind), Flags: rowOf(p, name).Flags, Text: p.Text}
	switch {
	case p.Kind == conv.Call && p.Call != nil:
		r.Name, r.ID, r.Text = name(p.Call.Namespace, p.Call.Name), p.Call.ID, p.Call.Arguments
		called[r.ID] = r.Name
		if p.Call.Kind == conv.Custom {
			r.Flags |= plan.RowCustom
		}
	case p.Kind == conv.Result && p.Result != nil:
		var err error
		if r.Text, err = resultText(message, p.Result); err != nil {
			return r, err
		}
		r.Name, r.ID = called[p.Result.CallID], p.Result.CallID
	case p.Kind == conv.MediaPart:
		return r, media(message)
	}
	return r, nil
}

// resultText is the text of a tool's result, its parts joined by line ends.
func resultText(message int, r *conv.ToolResult) (string, error) {
	var parts []string
	for i := range r.Parts {
		switch p := &r.Parts[i]; p.Kind {
		case conv.Text, conv.Reference:
			if p.Text != "" {
				parts = append(parts, p.Text)
			}
		case conv.MediaPart:
			return "", media(message)
		}
	}
	return strings.Join(parts, "\n"), nil
}

func media(message int) error {
	return fault.At(fault.Unsupported, "messages", "message %d holds media, but this model takes text only", message)
}
