package plan

import (
	"encoding/binary"
	"strconv"
)

// RenderView is an encoded render input read in place: its rows are read as those of an outline. It
// allocates nothing, and aliases the bytes it was made of.
type RenderView struct {
	View
	Content Content // what can be read
	tools   []byte
	content []byte
}

// ViewRenderInput checks an encoded input. What it accepts ParseRenderInput accepts too.
func ViewRenderInput(b []byte) (RenderView, error) {
	le := binary.LittleEndian
	if len(b) < renderHeader || le.Uint32(b) != 1 || le.Uint32(b[28:]) != 0 {
		return RenderView{}, fault("render input header")
	}
	rows, tools := uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:]))
	sw, names, content := uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[16:])), uint64(le.Uint32(b[20:]))
	v := RenderView{Content: Content(le.Uint32(b[24:]))}
	if rows > MaxRows || tools > MaxTools || v.Content&^ReadAll != 0 || len(b) > MaxRenderInput ||
		renderHeader+rows*renderRow+tools*renderTool+sw+names+content != uint64(len(b)) {
		return RenderView{}, fault("render input of " + strconv.Itoa(len(b)) + " bytes with " + strconv.FormatUint(rows, 10) + " rows")
	}
	take := func(n uint64) []byte {
		part := b[:n:n]
		b = b[n:]
		return part
	}
	take(renderHeader)
	v.rows, v.size = take(rows*renderRow), renderRow
	v.tools = take(tools * renderTool)
	v.Switches, v.names, v.content = take(sw), take(names), take(content)
	for i := range v.Len() {
		r := v.Row(i)
		at, n := r.name()
		idAt, idLen := r.id()
		if !within(at, uint32(n), names) || !within(idAt, uint32(idLen), names) || le.Uint16(r[30:]) != 0 {
			return RenderView{}, fault("names of row " + strconv.Itoa(i))
		}
		if v.mixed(i) {
			return RenderView{}, fault("role of row " + strconv.Itoa(i))
		}
		if v.Content&readable(r.Kind()) != 0 && !within(le.Uint32(r[20:]), r.Length(), content) {
			return RenderView{}, fault("content of row " + strconv.Itoa(i))
		}
	}
	for i := range v.Tools() {
		t := v.Tool(i)
		if !within(le.Uint32(t), uint32(le.Uint16(t[4:])), names) {
			return RenderView{}, fault("name of tool " + strconv.Itoa(i))
		}
		if v.Content&ReadTools != 0 && (!within(le.Uint32(t[12:]), t.DescriptionLength(), content) || !within(le.Uint32(t[20:]), t.SchemaLength(), content)) {
			return RenderView{}, fault("content of tool " + strconv.Itoa(i))
		}
	}
	return v, nil
}

// within reports whether n bytes at an offset lie in an area.
func within(at, n uint32, area uint64) bool { return uint64(at)+uint64(n) <= area }

// ID is the call's id in a row of v.
func (v *RenderView) ID(r RowView) []byte {
	at, n := r.id()
	return v.names[at : uint64(at)+uint64(n)]
}

// Text is the content of a row of v, nothing if it was not given.
func (v *RenderView) Text(r RowView) []byte {
	if v.Content&readable(r.Kind()) == 0 {
		return nil
	}
	return v.given(binary.LittleEndian.Uint32(r[20:]), r.Length(), true)
}

// Tools is the number of tools.
func (v *RenderView) Tools() int { return len(v.tools) / renderTool }

// Tool is tool i, which must be below Tools.
func (v *RenderView) Tool(i int) ToolView {
	return ToolView(v.tools[i*renderTool : i*renderTool+renderTool])
}

// ToolName is the name of a tool of v.
func (v *RenderView) ToolName(t ToolView) []byte {
	at := binary.LittleEndian.Uint32(t)
	return v.names[at : uint64(at)+uint64(t.NameLength())]
}

// Description is that of a tool of v, nothing if it was not given.
func (v *RenderView) Description(t ToolView) []byte {
	return v.given(binary.LittleEndian.Uint32(t[12:]), t.DescriptionLength(), v.Content&ReadTools != 0)
}

// Schema is that of a tool of v, nothing if it was not given.
func (v *RenderView) Schema(t ToolView) []byte {
	return v.given(binary.LittleEndian.Uint32(t[20:]), t.SchemaLength(), v.Content&ReadTools != 0)
}

func (v *RenderView) given(at, n uint32, yes bool) []byte {
	if !yes {
		return nil
	}
	return v.content[at : uint64(at)+uint64(n)]
}

// id is where a row of a render input has the call's id.
func (r RowView) id() (off uint32, n uint16) {
	return binary.LittleEndian.Uint32(r[24:]), binary.LittleEndian.Uint16(r[28:])
}

// IDLength is the length of the call's id in a row of a RenderView.
func (r RowView) IDLength() int {
	_, n := r.id()
	return int(n)
}

// NameLength is the length of the row's name.
func (r RowView) NameLength() int {
	_, n := r.name()
	return int(n)
}

// ToolView is an encoded tool. Its methods give the fields of RenderTool.
type ToolView []byte

// NameLength is the length of the tool's name.
func (t ToolView) NameLength() int { return int(binary.LittleEndian.Uint16(t[4:])) }

// Kind is a conv.ToolKind.
func (t ToolView) Kind() uint8 { return t[6] }

// Flags are the tool's flags.
func (t ToolView) Flags() uint8 { return t[7] }

// DescriptionLength is the number of bytes of the description.
func (t ToolView) DescriptionLength() uint32 { return binary.LittleEndian.Uint32(t[8:]) }

// SchemaLength is the number of bytes of the schema.
func (t ToolView) SchemaLength() uint32 { return binary.LittleEndian.Uint32(t[16:]) }
