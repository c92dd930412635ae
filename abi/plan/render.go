package plan

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// Content says which content of a conversation a renderer reads. Of the rest it knows the lengths, and may
// refer to all of it.
type Content uint32

// Kinds of content.
const (
	ReadText      Content = 1 << iota // of text, reasoning, results and references
	ReadArguments                     // of calls
	ReadTools                         // descriptions and schemas
)

// ReadAll is all there is.
const ReadAll = ReadText | ReadArguments | ReadTools

// RenderInput is the conversation as a renderer gets it, with the content that the host puts in the places
// of an answer's references.
type RenderInput struct {
	Rows  []RenderRow
	Tools []RenderTool // those that the prompt shows, in order
	// Switches is that of Outline, with two members more: "generation" is false where the prompt ends behind
	// the last message, and "continue" true where the model goes on in the last message, an assistant's.
	Switches []byte
	Content  Content // what the renderer may read
}

// RenderRow is one part of the conversation.
type RenderRow struct {
	Message uint32
	Part    uint16
	Kind    uint8 // conv.PartKind
	Role    uint8 // conv.Role
	Flags   uint16
	Name    string // the tool's, of a call, and of a result whose call is known
	ID      string // the call's, of a call and of a result
	Text    string // its text, or a call's arguments as they were received
	Size    uint32 // bytes of what is not in Text; counts where Text is empty
}

// ToolStrict is the flag of a tool whose arguments must follow its schema.
const ToolStrict uint8 = 1 << 0

// RenderTool is one tool.
type RenderTool struct {
	Kind        uint8 // conv.ToolKind
	Flags       uint8
	Name        string // as the model knows it
	Description string
	Schema      string // JSON, or a custom tool's format
}

// Limits of rendering.
const (
	MaxTools       = 4096
	MaxRenderInput = 8 << 20  // bytes of an encoded input
	MaxSegments    = 131072   // of an answer
	MaxAnswer      = 4 << 20  // bytes of an encoded answer
	MaxRendered    = 16 << 20 // bytes of a prompt, and of all that its references cover
)

// Bytes of a render input's header, rows and tools.
const (
	renderHeader = 32
	renderRow    = 32
	renderTool   = 24
)

// readable is the kind of content that a part's text is, 0 for one without text.
func readable(kind uint8) Content {
	switch kind {
	case kindText, kindReasoning, kindResult, kindReference:
		return ReadText
	case kindCall:
		return ReadArguments
	}
	return 0
}

// Kinds of parts: those of package conv, which a plugin need not link.
const (
	kindText      = 1
	kindReasoning = 2
	kindCall      = 3
	kindResult    = 4
	kindReference = 6
)

// AppendRenderInput encodes in: u32 version, rows, tools, bytes of switches, of names and of content, the
// content that can be read, 0; then the rows, the tools, the switches, the names and the content. A row is
// that of an outline, with the offset of its content in place of the 0, and u32 offset and u16 length of the
// call's id, u16 0 behind it. A tool is u32 name offset, u16 name length, u8 kind, u8 flags, u32 length and
// offset of the description, the same of the schema. It fails for an input that is over a limit.
func AppendRenderInput(dst []byte, in *RenderInput) ([]byte, error) {
	names, content, size, err := in.sizes()
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, size)
	le := binary.LittleEndian
	for _, v := range [8]int{1, len(in.Rows), len(in.Tools), len(in.Switches), names, content, int(in.Content), 0} {
		dst = le.AppendUint32(dst, uint32(v))
	}
	var at places
	for i := range in.Rows {
		r := &in.Rows[i]
		dst = le.AppendUint32(dst, r.Message)
		dst = le.AppendUint16(dst, r.Part)
		dst = append(dst, r.Kind, r.Role)
		dst = le.AppendUint32(dst, r.length())
		dst = le.AppendUint32(dst, at.name(r.Name))
		dst = le.AppendUint16(dst, uint16(len(r.Name)))
		dst = le.AppendUint16(dst, r.Flags)
		dst = le.AppendUint32(dst, at.text(r.Text, in.Content&readable(r.Kind) != 0))
		dst = le.AppendUint32(dst, at.name(r.ID))
		dst = le.AppendUint16(dst, uint16(len(r.ID)))
		dst = le.AppendUint16(dst, 0)
	}
	tools := in.Content&ReadTools != 0
	for i := range in.Tools {
		t := &in.Tools[i]
		dst = le.AppendUint32(dst, at.name(t.Name))
		dst = le.AppendUint16(dst, uint16(len(t.Name)))
		dst = append(dst, t.Kind, t.Flags)
		for _, s := range [2]string{t.Description, t.Schema} {
			dst = le.AppendUint32(dst, uint32(len(s)))
			dst = le.AppendUint32(dst, at.text(s, tools))
		}
	}
	dst = append(dst, in.Switches...)
	for i := range in.Rows {
		dst = append(append(dst, in.Rows[i].Name...), in.Rows[i].ID...)
	}
	for i := range in.Tools {
		dst = append(dst, in.Tools[i].Name...)
	}
	for i := range in.Rows {
		if r := &in.Rows[i]; in.Content&readable(r.Kind) != 0 {
			dst = append(dst, r.Text...)
		}
	}
	for i := range in.Tools {
		if t := &in.Tools[i]; tools {
			dst = append(append(dst, t.Description...), t.Schema...)
		}
	}
	return dst, nil
}

// places are where the next name and the next content stand.
type places struct{ names, content uint32 }

func (p *places) name(s string) uint32 {
	at := p.names
	p.names += uint32(len(s))
	return at
}

func (p *places) text(s string, given bool) uint32 {
	if !given {
		return 0
	}
	at := p.content
	p.content += uint32(len(s))
	return at
}

// length is what a row says of its content.
func (r *RenderRow) length() uint32 {
	if r.Text == "" {
		return r.Size
	}
	return uint32(len(r.Text))
}

// sizes are the bytes of all names, of the content that is given, and of the whole.
func (in *RenderInput) sizes() (names, content, size int, err error) {
	if len(in.Rows) > MaxRows || len(in.Tools) > MaxTools {
		return 0, 0, 0, fault("input of " + strconv.Itoa(len(in.Rows)) + " parts and " + strconv.Itoa(len(in.Tools)) + " tools")
	}
	all, longest := len(in.Switches), 0
	for i := range in.Rows {
		r := &in.Rows[i]
		longest = max(longest, len(r.Name), len(r.ID))
		names += len(r.Name) + len(r.ID)
		all += len(r.Text)
		if in.Content&readable(r.Kind) != 0 {
			content += len(r.Text)
		}
	}
	for i := range in.Tools {
		t := &in.Tools[i]
		longest = max(longest, len(t.Name))
		names += len(t.Name)
		all += len(t.Description) + len(t.Schema)
		if in.Content&ReadTools != 0 {
			content += len(t.Description) + len(t.Schema)
		}
	}
	size = renderHeader + len(in.Rows)*renderRow + len(in.Tools)*renderTool + len(in.Switches) + names + content
	switch {
	case longest > math.MaxUint16:
		err = fault("a name of " + strconv.Itoa(longest) + " bytes")
	case size > MaxRenderInput:
		err = fault("input of " + strconv.Itoa(size) + " bytes")
	case all > math.MaxInt32:
		err = fault("content of " + strconv.Itoa(all) + " bytes")
	case in.Content&^ReadAll != 0:
		err = fault("content of an unknown kind")
	}
	return names, content, size, err
}

// ParseRenderInput decodes an input. Where content was not given, Text is empty and Size its length.
// ViewRenderInput reads one without decoding it.
func ParseRenderInput(b []byte) (*RenderInput, error) {
	v, err := ViewRenderInput(b)
	if err != nil {
		return nil, err
	}
	in := &RenderInput{Rows: make([]RenderRow, v.Len()), Tools: make([]RenderTool, v.Tools()), Switches: v.Switches, Content: v.Content}
	for i := range in.Rows {
		r := v.Row(i)
		in.Rows[i] = RenderRow{
			Message: r.Message(), Part: r.Part(), Kind: r.Kind(), Role: r.Role(), Flags: r.Flags(),
			Name: string(v.Name(r)), ID: string(v.ID(r)), Text: string(v.Text(r)),
		}
		if in.Rows[i].Text == "" {
			in.Rows[i].Size = r.Length()
		}
	}
	for i := range in.Tools {
		t := v.Tool(i)
		in.Tools[i] = RenderTool{
			Kind: t.Kind(), Flags: t.Flags(), Name: string(v.ToolName(t)),
			Description: string(v.Description(t)), Schema: string(v.Schema(t)),
		}
	}
	return in, nil
}
