package recall

import (
	"strings"
	"unsafe"

	"github.com/weirgate/weir/abi/conv"
)

// Copier makes copies that share no memory with what they are of, and counts about what they take. The zero Copier is ready.
type Copier struct{ bytes int }

// piece is about what a piece of memory takes beside what it is asked for.
const piece = 8

// Text copies a text.
func (c *Copier) Text(s string) string {
	if s != "" {
		c.bytes += len(s) + piece
	}
	return strings.Clone(s)
}

// Bytes copies bytes. An append to the copy moves it.
func (c *Copier) Bytes(b []byte) []byte { return copied(c, b, nil) }

// Message copies a message.
func (c *Copier) Message(m conv.Message) conv.Message {
	m.Name = c.Text(m.Name)
	m.Parts = copied(c, m.Parts, (*Copier).part)
	return m
}

// Tool copies a definition.
func (c *Copier) Tool(t conv.ToolDef) conv.ToolDef {
	t.Namespace, t.Name, t.Description = c.Text(t.Namespace), c.Text(t.Name), c.Text(t.Description)
	t.Schema, t.Format = c.Bytes(t.Schema), c.Bytes(t.Format)
	return t
}

func (c *Copier) part(p conv.Part) conv.Part {
	p.Text, p.Seal = c.Text(p.Text), c.Text(p.Seal)
	p.Call = pointed(c, p.Call, (*Copier).call)
	p.Result = pointed(c, p.Result, (*Copier).result)
	p.Media = pointed(c, p.Media, (*Copier).media)
	return p
}

func (c *Copier) call(v conv.ToolCall) conv.ToolCall {
	v.ID, v.Namespace, v.Name, v.Arguments = c.Text(v.ID), c.Text(v.Namespace), c.Text(v.Name), c.Text(v.Arguments)
	return v
}

func (c *Copier) result(v conv.ToolResult) conv.ToolResult {
	v.CallID = c.Text(v.CallID)
	v.Parts = copied(c, v.Parts, (*Copier).part)
	return v
}

func (c *Copier) media(v conv.Media) conv.Media {
	v.Type, v.MIME, v.URL, v.Data = c.Text(v.Type), c.Text(v.MIME), c.Text(v.URL), c.Text(v.Data)
	return v
}

// copied copies a list, each value by own where there is one. An append to the copy moves it.
func copied[T any](c *Copier, list []T, own func(*Copier, T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	copy(out, list)
	if own != nil {
		for i := range out {
			out[i] = own(c, out[i])
		}
	}
	if len(out) > 0 {
		c.bytes += len(out)*int(unsafe.Sizeof(out[0])) + piece
	}
	return out
}

func pointed[T any](c *Copier, p *T, own func(*Copier, T) T) *T {
	if p == nil {
		return nil
	}
	v := own(c, *p)
	c.bytes += int(unsafe.Sizeof(v)) + piece
	return &v
}
