package store

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
)

// visitor is shown every string and every byte slice of a link's, and sums up what the structs around them take.
type visitor struct {
	text    func(*string)
	blob    func(*[]byte)
	structs int64
}

func (v *visitor) link(l *chain.Link) {
	v.structs += int64(unsafe.Sizeof(*l))
	for _, s := range []*string{&l.ID, &l.Owner, &l.Parent, &l.Model} {
		v.text(s)
	}
	v.blob(&l.Body)
	v.items(l.Input)
	v.items(l.Output)
}

func (v *visitor) items(items []chain.Item) {
	v.structs += int64(len(items)) * int64(unsafe.Sizeof(chain.Item{}))
	for i := range items {
		v.text(&items[i].ID)
		v.blob(&items[i].JSON)
		v.messages(items[i].Messages)
		v.tools(items[i].Tools)
	}
}

func (v *visitor) messages(messages []conv.Message) {
	v.structs += int64(len(messages)) * int64(unsafe.Sizeof(conv.Message{}))
	for i := range messages {
		v.text(&messages[i].Name)
		v.parts(messages[i].Parts)
	}
}

func (v *visitor) parts(parts []conv.Part) {
	v.structs += int64(len(parts)) * int64(unsafe.Sizeof(conv.Part{}))
	for i := range parts {
		p := &parts[i]
		v.text(&p.Text)
		v.text(&p.Seal)
		if c := p.Call; c != nil {
			v.structs += int64(unsafe.Sizeof(*c))
			for _, s := range []*string{&c.ID, &c.Namespace, &c.Name, &c.Arguments} {
				v.text(s)
			}
		}
		if r := p.Result; r != nil {
			v.structs += int64(unsafe.Sizeof(*r))
			v.text(&r.CallID)
			v.parts(r.Parts)
		}
		if m := p.Media; m != nil {
			v.structs += int64(unsafe.Sizeof(*m))
			for _, s := range []*string{&m.Type, &m.MIME, &m.URL, &m.Data} {
				v.text(s)
			}
		}
	}
}

func (v *visitor) tools(tools []conv.ToolDef) {
	v.structs += int64(len(tools)) * int64(unsafe.Sizeof(conv.ToolDef{}))
	for i := range tools {
		t := &tools[i]
		for _, s := range []*string{&t.Namespace, &t.Name, &t.Description} {
			v.text(s)
		}
		v.blob(&t.Schema)
		v.blob(&t.Format)
	}
}

// size is what a link takes in memory, in bytes.
type size struct{ texts, blobs, structs int64 }

func (s size) total() int64 { return s.texts + s.blobs + s.structs }

func sizeOf(l *chain.Link) size {
	var s size
	v := visitor{
		text: func(t *string) { s.texts += int64(len(*t)) },
		blob: func(b *[]byte) { s.blobs += int64(len(*b)) },
	}
	v.link(l)
	s.structs = v.structs
	return s
}

// pack copies a link into memory that holds nothing else, so that its size is what it costs: what a surface decodes
// points into the body of the request, and would keep all of that.
func pack(l *chain.Link, s size) *chain.Link {
	out := *l
	out.Input, out.Output = cloneItems(l.Input), cloneItems(l.Output)
	var texts strings.Builder
	texts.Grow(int(s.texts))
	blobs := make([]byte, 0, s.blobs)
	v := visitor{
		text: func(t *string) {
			at := texts.Len()
			texts.WriteString(*t)
			*t = texts.String()[at:]
		},
		blob: func(b *[]byte) {
			if *b == nil {
				return
			}
			at := len(blobs)
			blobs = append(blobs, *b...)
			*b = slices.Clip(blobs[at:])
		},
	}
	v.link(&out)
	return &out
}

func cloneItems(items []chain.Item) []chain.Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Messages = cloneMessages(out[i].Messages)
		out[i].Tools = slices.Clone(out[i].Tools)
	}
	return out
}

func cloneMessages(messages []conv.Message) []conv.Message {
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
