// Package outline describes a conversation to a template plugin: shapes and names for a policy, and for a renderer
// what its references stand for, too.
package outline

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Of encodes req as a template policy sees it: a row for each part, and the switches
//
//	{"thinking": "on"|"off"|"adaptive", "effort": text, "kwargs": object, "default": "on"|"off", "tools": n}
//
// thinking, effort and kwargs are what the client said and are absent when it was silent (kwargs is
// chat_template_kwargs, byte for byte); default is what the tenant's or the model's configuration says,
// here thinks; tools counts the request's tools. name gives a tool's name in the prompt. Errors are
// *fault.Error: Invalid when the template arguments are no object or the conversation has more parts than an
// outline holds.
func Of(req *conv.Request, thinks bool, name func(namespace, name string) string) ([]byte, error) {
	// The rows of a short conversation and the switches of most fit here.
	var (
		rows  [24]plan.Row
		bytes [128]byte
	)
	sw, err := switches(bytes[:0], req, thinks, false)
	if err != nil {
		return nil, err
	}
	o := plan.Outline{Switches: sw, Rows: rows[:0]}
	if n := parts(req); n > len(rows) {
		o.Rows = make([]plan.Row, 0, n)
	}
	names := 0
	last := lastUser(req)
	for i := range req.Messages {
		m := &req.Messages[i]
		if len(m.Parts) > math.MaxUint16 || len(o.Rows)+len(m.Parts) > plan.MaxRows {
			return nil, fault.At(fault.Invalid, "messages", "the conversation has more than %d parts", plan.MaxRows-1)
		}
		for j := range m.Parts {
			row := rowOf(&m.Parts[j], name)
			row.Message, row.Part, row.Role = uint32(i), uint16(j), uint8(m.Role)
			if i == last {
				row.Flags |= plan.RowLastUser
			}
			names += len(row.Name)
			o.Rows = append(o.Rows, row)
		}
	}
	return plan.AppendOutline(make([]byte, 0, outlineHead+outlineRow*len(o.Rows)+len(sw)+names), &o), nil
}

// parts counts those of a conversation, as far as an outline has room.
func parts(req *conv.Request) int {
	n := 0
	for i := range req.Messages {
		n += len(req.Messages[i].Parts)
	}
	return min(n, plan.MaxRows)
}

// What an outline and each of its rows take, for the size of its memory.
const (
	outlineHead = 16
	outlineRow  = 24
)

func rowOf(p *conv.Part, name func(namespace, name string) string) plan.Row {
	row := plan.Row{Kind: uint8(p.Kind), Length: uint32(min(partLen(p), math.MaxUint32))}
	switch {
	case p.Kind == conv.Reasoning && p.Seal != "":
		row.Flags |= plan.RowSealed
	case p.Kind == conv.Call && p.Call != nil:
		row.Name = name(p.Call.Namespace, p.Call.Name)
	case p.Kind == conv.Result && p.Result != nil:
		row.Name = p.Result.CallID
		if p.Result.IsError {
			row.Flags |= plan.RowError
		}
	}
	if row.Length == 0 {
		row.Flags |= plan.RowEmpty
	}
	// Names are for recognising, not for printing: a longer one is cut, never an error.
	row.Name = row.Name[:min(len(row.Name), math.MaxUint16)]
	return row
}

func switches(dst []byte, req *conv.Request, thinks, renders bool) ([]byte, error) {
	b := append(dst, '{')
	switch req.Thinking.Mode {
	case conv.ThinkingOn:
		b = append(b, `"thinking":"on",`...)
	case conv.ThinkingOff:
		b = append(b, `"thinking":"off",`...)
	case conv.ThinkingAdaptive:
		b = append(b, `"thinking":"adaptive",`...)
	}
	if req.Thinking.Effort != "" {
		b = jsonscan.AppendString(append(b, `"effort":`...), req.Thinking.Effort)
		b = append(b, ',')
	}
	if len(req.TemplateArgs) > 0 {
		if jsonscan.TypeOf(req.TemplateArgs) != jsonscan.Object || !jsonscan.Valid(req.TemplateArgs) {
			return nil, fault.At(fault.Invalid, "chat_template_kwargs", "expected an object")
		}
		b = append(append(b, `"kwargs":`...), req.TemplateArgs...)
		b = append(b, ',')
	}
	def := `"default":"off","tools":`
	if thinks {
		def = `"default":"on","tools":`
	}
	b = append(b, def...)
	b = strconv.AppendInt(b, int64(len(req.Tools)), 10)
	if renders && req.Prompting.NoGeneration {
		b = append(b, `,"generation":false`...)
	}
	if renders && req.Prompting.Continue {
		b = append(b, `,"continue":true`...)
	}
	return append(b, '}'), nil
}

// lastUser returns the index of the last message that a user wrote, -1 if there is none. Tool results are
// not written by a user, nor is what clients put beside them: blank text, and text that is wholly a tool
// response or a reminder in tags. Counting those would end a tool loop in its middle and take its
// reasoning away.
func lastUser(req *conv.Request) int {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := &req.Messages[i]; m.Role == conv.User && written(m.Parts) {
			return i
		}
	}
	return -1
}

func written(parts []conv.Part) bool {
	results, blank := false, false
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case conv.MediaPart:
			return true
		case conv.Result:
			results = true
		case conv.Text:
			switch s := strings.TrimSpace(p.Text); {
			case s == "":
				blank = true
			case !response(s) && !reminders(s):
				return true
			}
		}
	}
	return blank && !results
}

// response reports whether s is a tool's result as text.
func response(s string) bool {
	return strings.HasPrefix(s, "<tool_response>") && strings.HasSuffix(s, "</tool_response>")
}

// reminders reports whether s is reminders and nothing between them: clients that join their texts put what the
// user wrote there.
func reminders(s string) bool {
	for s != "" {
		rest, opened := strings.CutPrefix(s, "<system-reminder>")
		_, after, closed := strings.Cut(rest, "</system-reminder>")
		if !opened || !closed {
			return false
		}
		s = strings.TrimSpace(after)
	}
	return true
}

// partLen is the length of a part's text, arguments or data.
func partLen(p *conv.Part) int {
	switch {
	case p.Kind == conv.Call && p.Call != nil:
		return len(p.Call.Arguments)
	case p.Kind == conv.Result && p.Result != nil:
		n := 0
		for i := range p.Result.Parts {
			// A result holds no results: what one nested anyway is nothing.
			if q := &p.Result.Parts[i]; q.Kind != conv.Result {
				n += partLen(q)
			}
		}
		return n
	case p.Kind == conv.MediaPart && p.Media != nil:
		return len(p.Media.Data) + len(p.Media.URL)
	}
	return len(p.Text)
}
