package kit

import (
	"errors"
	"fmt"

	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// Section is one section of a module.
type Section struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Function is an imported or exported function; Module is empty for an export.
type Function struct {
	Module string `json:"module,omitempty"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// Pages are the limits of the memory, in pages of 64 KiB, or of a table, in elements. Max is nil for none.
type Pages struct {
	Min    uint32  `json:"min"`
	Max    *uint32 `json:"max,omitempty"`
	Shared bool    `json:"shared,omitempty"`
}

// image is what stands in the sections of a module, whether or not the sandbox takes it. It is read
// leniently, to tell an author what his toolchain made: what runs is judged by package sandbox alone.
type image struct {
	sections  []Section
	types     []sandbox.Signature
	imports   []Function
	exports   []Function // of every kind; Type is the kind where it is not a function
	memories  []Pages
	tables    []Pages
	funcs     []uint32 // type of each function, imported ones first
	functions int      // with a body
	start     bool
	err       error // where reading ended early
}

var errCut = errors.New("the module ends in the middle of something")

// cursor reads the binary format. Its first error stays, and makes every later value zero.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.err = errCut
	}
	if c.err != nil {
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// u32 reads an unsigned LEB128.
func (c *cursor) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		d := c.byte()
		v |= uint64(d&0x7f) << shift
		if d < 0x80 {
			return uint32(v)
		}
	}
	c.err = errCut
	return 0
}

func (c *cursor) take(n uint32) []byte {
	if uint64(n) > uint64(len(c.b)) {
		c.err = errCut
	}
	if c.err != nil {
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) text() string { return string(c.take(c.u32())) }

// each calls f as often as the count says that follows, and stops at an error: an item has a byte at
// least, so no count makes this run longer than the section.
func (c *cursor) each(f func()) {
	for n := c.u32(); n > 0 && c.err == nil; n-- {
		f()
	}
}

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count",
}

// readImage reads as much of a module as can be read.
func readImage(wasm []byte) *image {
	m := &image{}
	const header = "\x00asm\x01\x00\x00\x00"
	if len(wasm) < len(header) || string(wasm[:len(header)]) != header {
		m.err = errors.New("not a WebAssembly module of version 1")
		return m
	}
	c := &cursor{b: wasm[len(header):]}
	for len(c.b) > 0 && m.err == nil {
		id := c.byte()
		body := &cursor{b: c.take(c.u32())}
		if c.err != nil {
			m.err = c.err
			break
		}
		name := fmt.Sprintf("unknown %d", id)
		if int(id) < len(sectionNames) {
			name = sectionNames[id]
		}
		size := len(body.b)
		if id == 0 {
			name = fmt.Sprintf("custom %.64q", body.text())
		}
		m.sections = append(m.sections, Section{Name: name, Size: size})
		m.section(id, body)
		if body.err != nil {
			m.err = fmt.Errorf("%s section: %w", name, body.err)
		}
	}
	return m
}

func (m *image) section(id byte, c *cursor) {
	switch id {
	case 1:
		c.each(func() {
			if c.byte() != 0x60 {
				c.err = errors.New("a type that is no function")
			}
			m.types = append(m.types, sandbox.Sig(valueTypes(c), valueTypes(c)))
		})
	case 2:
		c.each(func() { m.imported(c) })
	case 3:
		c.each(func() {
			m.funcs = append(m.funcs, c.u32())
			m.functions++
		})
	case 4:
		c.each(func() {
			c.byte()
			m.tables = append(m.tables, limits(c))
		})
	case 5:
		c.each(func() { m.memories = append(m.memories, limits(c)) })
	case 7:
		c.each(func() {
			name, kind, index := c.text(), sandbox.Kind(c.byte()), c.u32()
			f := Function{Name: name, Type: kind.String()}
			if kind == sandbox.KindFunc {
				f.Type = m.typeOf(index)
			}
			m.exports = append(m.exports, f)
		})
	case 8:
		m.start = true
	}
}

func (m *image) imported(c *cursor) {
	f := Function{Module: c.text(), Name: c.text()}
	kind := sandbox.Kind(c.byte())
	f.Type = kind.String()
	switch kind {
	case sandbox.KindFunc:
		t := c.u32()
		m.funcs = append(m.funcs, t)
		f.Type = m.typeOf(uint32(len(m.funcs) - 1))
	case sandbox.KindTable:
		c.byte()
		limits(c)
	case sandbox.KindMemory:
		limits(c)
	default:
		c.byte()
		c.byte()
	}
	if c.err == nil {
		m.imports = append(m.imports, f)
	}
}

// typeOf is the type of a function by its index.
func (m *image) typeOf(index uint32) string {
	if uint64(index) >= uint64(len(m.funcs)) || uint64(m.funcs[index]) >= uint64(len(m.types)) {
		return "func of unknown type"
	}
	return m.types[m.funcs[index]].String()
}

func valueTypes(c *cursor) []sandbox.ValueType {
	var out []sandbox.ValueType
	c.each(func() { out = append(out, sandbox.ValueType(c.byte())) })
	return out
}

func limits(c *cursor) Pages {
	flags := c.byte()
	p := Pages{Min: c.u32(), Shared: flags&2 != 0}
	if flags&1 != 0 {
		top := c.u32()
		p.Max = &top
	}
	return p
}
