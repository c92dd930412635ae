package chain

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/weirgate/weir/abi/conv"
)

// Visitor is shown every string and every byte slice of what it visits, and may change them.
type Visitor struct {
	Text func(*string)
	Blob func(*[]byte)

	structs int64 // bytes of what is around them
}

func (v *Visitor) link(l *Link) {
	v.structs += int64(unsafe.Sizeof(*l))
	for _, s := range []*string{&l.ID, &l.Owner, &l.Parent, &l.Model} {
		v.Text(s)
	}
	v.Blob(&l.Body)
	v.items(l.Input)
	v.items(l.Output)
}

func (v *Visitor) items(items []Item) {
	v.structs += int64(len(items)) * int64(unsafe.Sizeof(Item{}))
	for i := range items {
		v.Text(&items[i].ID)
		v.Blob(&items[i].JSON)
		v.Messages(items[i].Messages)
		v.Tools(items[i].Tools)
	}
}

// Messages visits messages.
func (v *Visitor) Messages(messages []conv.Message) {
	v.structs += int64(len(messages)) * int64(unsafe.Sizeof(conv.Message{}))
	for i := range messages {
		v.Text(&messages[i].Name)
		v.parts(messages[i].Parts)
	}
}

func (v *Visitor) parts(parts []conv.Part) {
	v.structs += int64(len(parts)) * int64(unsafe.Sizeof(conv.Part{}))
	for i := range parts {
		p := &parts[i]
		v.Text(&p.Text)
		v.Text(&p.Seal)
		if c := p.Call; c != nil {
			v.structs += int64(unsafe.Sizeof(*c))
			for _, s := range []*string{&c.ID, &c.Namespace, &c.Name, &c.Arguments} {
				v.Text(s)
			}
		}
		if r := p.Result; r != nil {
			v.structs += int64(unsafe.Sizeof(*r))
			v.Text(&r.CallID)
			v.parts(r.Parts)
		}
		if m := p.Media; m != nil {
			v.structs += int64(unsafe.Sizeof(*m))
			for _, s := range []*string{&m.Type, &m.MIME, &m.URL, &m.Data} {
				v.Text(s)
			}
		}
	}
}

// Tools visits definitions.
func (v *Visitor) Tools(tools []conv.ToolDef) {
	v.structs += int64(len(tools)) * int64(unsafe.Sizeof(conv.ToolDef{}))
	for i := range tools {
		t := &tools[i]
		for _, s := range []*string{&t.Namespace, &t.Name, &t.Description} {
			v.Text(s)
		}
		v.Blob(&t.Schema)
		v.Blob(&t.Format)
	}
}

// size is what is visited takes in memory, in bytes.
type size struct{ texts, blobs, structs int64 }

func sizeOf(visit func(*Visitor)) size {
	var s size
	v := Visitor{
		Text: func(t *string) { s.texts += int64(len(*t)) },
		Blob: func(b *[]byte) { s.blobs += int64(len(*b)) },
	}
	visit(&v)
	s.structs = v.structs
	return s
}

func (s size) total() int64 { return s.texts + s.blobs + s.structs }

// Size is what a link takes in memory, in bytes, where nothing else lies in its memory.
func (l *Link) Size() int64 { return sizeOf(func(v *Visitor) { v.link(l) }).total() }

// Pack copies a link into memory that holds nothing else, so that its size is what it costs: what a surface decodes
// points into the texts of the request, and would keep all of them.
func (l *Link) Pack() *Link {
	out := *l
	out.Input, out.Output = cloneItems(l.Input), cloneItems(l.Output)
	pack(func(v *Visitor) { v.link(&out) })
	return &out
}

// Size is what items take in memory, in bytes.
func Size(items []Item) int64 { return sizeOf(func(v *Visitor) { v.items(items) }).total() }

// Pack copies items as Link.Pack does a link.
func Pack(items []Item) []Item {
	out := cloneItems(items)
	pack(func(v *Visitor) { v.items(out) })
	return out
}

// pack moves the texts and bytes of copies together.
func pack(visit func(*Visitor)) {
	s := sizeOf(visit)
	var texts strings.Builder
	texts.Grow(int(s.texts))
	blobs := make([]byte, 0, s.blobs)
	visit(&Visitor{
		Text: func(t *string) {
			at := texts.Len()
			texts.WriteString(*t)
			*t = texts.String()[at:]
		},
		Blob: func(b *[]byte) {
			if *b == nil {
				return
			}
			at := len(blobs)
			blobs = append(blobs, *b...)
			*b = slices.Clip(blobs[at:])
		},
	})
}

func cloneItems(items []Item) []Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Messages = CloneMessages(out[i].Messages)
		out[i].Tools = slices.Clone(out[i].Tools)
	}
	return out
}

// CloneMessages copies messages and all that they point to, but for the bytes of their texts.
func CloneMessages(messages []conv.Message) []conv.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = cloneParts(out[i].Parts)
	}
	return out
}

func cloneParts(parts []conv.Part) []conv.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		p.Call, p.Media, p.Result = clone(p.Call), clone(p.Media), clone(p.Result)
		if p.Result != nil {
			p.Result.Parts = cloneParts(p.Result.Parts)
		}
	}
	return out
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
