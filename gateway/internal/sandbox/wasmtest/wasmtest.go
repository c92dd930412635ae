// Package wasmtest assembles small WebAssembly modules, whole or deliberately broken, for tests.
package wasmtest

import (
	"bytes"
	"strings"
)

// Value types.
const (
	I32 byte = 0x7f
	I64 byte = 0x7e
	F32 byte = 0x7d
	F64 byte = 0x7c
)

// Export kinds.
const (
	Func   byte = 0
	Table  byte = 1
	Memory byte = 2
	Global byte = 3
)

// Module collects the parts of a module. Functions must be added after all imports, since imports take
// the first indices. The zero value is an empty module.
type Module struct {
	types, imports, funcs, tables, memories, globals, exports, elements, bodies, data, customs [][]byte
	imported                                                                                   int
	passive                                                                                    bool
}

// Type adds a function type and returns its index.
func (m *Module) Type(params, results []byte) int {
	m.types = append(m.types, Cat([]byte{0x60}, Bytes(params), Bytes(results)))
	return len(m.types) - 1
}

// Import adds an imported function and returns its index.
func (m *Module) Import(module, name string, typ int) int {
	m.imports = append(m.imports, Cat(Name(module), Name(name), []byte{Func}, U32(uint32(typ))))
	m.imported++
	return m.imported - 1
}

// Func adds a function whose code, without its end, is code, and returns its index. locals are the
// types of its locals, parameters aside.
func (m *Module) Func(typ int, locals []byte, code ...string) int {
	groups := make([][]byte, len(locals))
	for i, t := range locals {
		groups[i] = []byte{1, t}
	}
	return m.Body(typ, Cat(Vec(groups), []byte(strings.Join(code, "")+End)))
}

// Body adds a function with a body given as it is, and returns its index.
func (m *Module) Body(typ int, body []byte) int {
	m.funcs = append(m.funcs, U32(uint32(typ)))
	m.bodies = append(m.bodies, Bytes(body))
	return m.imported + len(m.funcs) - 1
}

// Memory adds a memory without a maximum.
func (m *Module) Memory(pages uint32) { m.memories = append(m.memories, Cat([]byte{0}, U32(pages))) }

// RawMemory adds a memory with the limits given as they are.
func (m *Module) RawMemory(limits []byte) { m.memories = append(m.memories, limits) }

// Table adds a table of function references, given by its limits.
func (m *Module) Table(limits []byte) { m.tables = append(m.tables, Cat([]byte{0x70}, limits)) }

// Global adds a mutable i32 global.
func (m *Module) Global(v int32) {
	m.globals = append(m.globals, Cat([]byte{I32, 1}, []byte(I32Const(v)+End)))
}

// Global64 adds a mutable i64 global and returns its index.
func (m *Module) Global64(v int64) int {
	m.globals = append(m.globals, Cat([]byte{I64, 1}, []byte(I64Const(v)+End)))
	return len(m.globals) - 1
}

// Constant adds an i32 global that is not mutable.
func (m *Module) Constant(v int32) {
	m.globals = append(m.globals, Cat([]byte{I32, 0}, []byte(I32Const(v)+End)))
}

// Export adds an export.
func (m *Module) Export(name string, kind byte, index int) {
	m.exports = append(m.exports, Cat(Name(name), []byte{kind}, U32(uint32(index))))
}

// Data adds an active data segment.
func (m *Module) Data(offset int32, b []byte) {
	m.data = append(m.data, Cat([]byte{0}, []byte(I32Const(offset)+End), Bytes(b)))
}

// Passive adds a data segment for memory.init, and with it the data count section.
func (m *Module) Passive(b []byte) {
	m.data = append(m.data, Cat([]byte{1}, Bytes(b)))
	m.passive = true
}

// PassiveElement adds an element segment for table.init.
func (m *Module) PassiveElement(funcs ...uint32) {
	v := make([][]byte, len(funcs))
	for i, f := range funcs {
		v[i] = U32(f)
	}
	m.elements = append(m.elements, Cat([]byte{1, 0}, Vec(v)))
}

// Element adds an active element segment.
func (m *Module) Element(offset int32, funcs ...uint32) {
	v := make([][]byte, len(funcs))
	for i, f := range funcs {
		v[i] = U32(f)
	}
	m.elements = append(m.elements, Cat([]byte{0}, []byte(I32Const(offset)+End), Vec(v)))
}

// Custom adds a custom section.
func (m *Module) Custom(name string, content []byte) {
	m.customs = append(m.customs, Cat(Name(name), content))
}

// Bytes encodes the module. Sections without items are left out.
func (m *Module) Bytes() []byte {
	out := Header()
	for _, s := range []struct {
		id    byte
		items [][]byte
	}{
		{1, m.types},
		{2, m.imports},
		{3, m.funcs},
		{4, m.tables},
		{5, m.memories},
		{6, m.globals},
		{7, m.exports},
		{9, m.elements},
		{10, m.bodies},
		{11, m.data},
	} {
		if s.id == 10 && m.passive {
			out = append(out, Section(12, U32(uint32(len(m.data))))...)
		}
		if len(s.items) > 0 {
			out = append(out, Section(s.id, Vec(s.items))...)
		}
	}
	for _, c := range m.customs {
		out = append(out, Section(0, c)...)
	}
	return out
}

// Header returns the magic and version that open a module.
func Header() []byte { return []byte("\x00asm\x01\x00\x00\x00") }

// Section encodes one section.
func Section(id byte, content []byte) []byte { return Cat([]byte{id}, Bytes(content)) }

// Cat joins parts.
func Cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Vec encodes a vector of encoded items.
func Vec(items [][]byte) []byte { return Cat(U32(uint32(len(items))), Cat(items...)) }

// Bytes encodes a vector of bytes.
func Bytes(b []byte) []byte { return Cat(U32(uint32(len(b))), b) }

// Name encodes a name.
func Name(s string) []byte { return Bytes([]byte(s)) }

// U32 encodes an unsigned LEB128 number.
func U32(v uint32) []byte {
	var b []byte
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// S64 encodes a signed LEB128 number.
func S64(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
