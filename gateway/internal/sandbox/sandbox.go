// Package sandbox checks and rewrites a WebAssembly module before the engine that will run it sees it.
//
// An engine's decoder allocates what a module's counts ask for, so a module of a few bytes can end the
// process. Inspect reads every section with each count held to the bytes that are left, and Prepare
// writes the module anew from what Inspect understood. Prepare is the only way by which bytes from
// outside reach the engine: what meters, limits or rewrites code belongs there.
package sandbox

import (
	"errors"
	"fmt"
)

// Limits bounds a module. Sizes are in bytes, memory in pages of 64 KiB.
type Limits struct {
	Size           int // whole module
	Types          int // function types
	Params         int // parameters of one type, and its results
	Imports        int
	Functions      int // functions with a body
	Tables         int
	TableElements  int // elements of one table; Prepare makes it the maximum of a growing table
	MemoryPages    int // initial size of the memory
	Globals        int
	Exports        int
	Name           int // one import or export name
	Segments       int // element segments, and data segments
	Elements       int // entries of all element segments together
	Body           int // one function body, its locals included
	Locals         int // locals of one function, parameters aside
	Nesting        int // blocks within blocks of one function
	Depth          int // functions that are open at a time
	CustomSections int
}

// DefaultLimits is what the gateway uses. A plugin of a standard Go toolchain stays below a fifth of
// each; the costs that set them were measured (compile time and memory of the engine at the limit).
func DefaultLimits() Limits {
	return Limits{
		Size:           16 << 20,
		Types:          10_000,
		Params:         1_000,
		Imports:        64,
		Functions:      50_000,
		Tables:         8,
		TableElements:  65_536,
		MemoryPages:    256,
		Globals:        10_000,
		Exports:        1_000,
		Name:           1_024,
		Segments:       200_000,
		Elements:       200_000,
		Body:           256 << 10,
		Locals:         10_000,
		Nesting:        2_000,
		Depth:          1_000,
		CustomSections: 1_000,
	}
}

// ErrModule is wrapped by every error of Inspect and Prepare.
var ErrModule = errors.New("module refused")

// Kind is what an export names.
type Kind byte

// Kinds, as the binary format numbers them.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "func"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Import is a function that a module imports; nothing else may be imported.
type Import struct {
	Module, Name string
	Type         Signature
}

// Export is an exported item. Type is that of a function, and empty for other kinds.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  Signature
}

// Table is a table's limits in elements; Max is meaningful when Bounded is set.
type Table struct {
	Element  ValueType
	Min, Max uint32
	Bounded  bool
}

// Memory is the limits of the memory in pages; Max is meaningful when Bounded is set.
type Memory struct {
	Min, Max uint32
	Bounded  bool
}

// Module is what Inspect read. It is immutable and does not alias the module's bytes.
type Module struct {
	Imports   []Import
	Exports   []Export
	Tables    []Table
	Memory    Memory
	Functions int // with a body
	Segments  int // data segments

	types    []Signature
	funcs    []uint32 // type index of each function, imported ones first
	globals  int
	memories int
	bodies   int
	counted  int // data segments by the data count section, or -1
	customs  int
	elements int
	sections []section
}

// section is where one section's content lies in the module.
type section struct {
	id       byte
	from, to int
}

// Export finds an export by name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// magic opens a module in the binary format, version 1.
const magic = "\x00asm\x01\x00\x00\x00"

// Inspect reads the sections of a module and reports the first thing that breaks the format, a limit or
// the rules for plugins: imports from the allow-list (see Allowed) with the listed types, one memory
// that is not shared, no start function. It does not look into function bodies beyond their locals. It
// runs in time and memory linear in len(wasm), whatever the bytes are.
func Inspect(wasm []byte, l Limits) (*Module, error) {
	if len(wasm) > l.Size {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrModule, len(wasm), l.Size)
	}
	if len(wasm) < len(magic) || string(wasm[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: not a WebAssembly module of version 1", ErrModule)
	}
	in := &inspector{m: &Module{counted: -1}, l: l}
	r := &reader{b: wasm, pos: len(magic), end: len(wasm), section: "section header", index: -1}
	last := 0
	for r.err == nil && r.pos < r.end {
		id := r.byte("id")
		size := r.u32("size")
		if r.err == nil && uint64(size) > uint64(r.end-r.pos) {
			r.failf("%s section of %d bytes, %d left", sectionName(id), size, r.end-r.pos)
		}
		if r.err != nil {
			break
		}
		rank, err := order(id, last)
		if err != nil {
			return nil, err
		}
		last = rank
		sub := &reader{b: wasm, pos: r.pos, end: r.pos + int(size), section: sectionName(id) + " section", index: -1}
		in.section(id, sub)
		if sub.err == nil && sub.pos != sub.end {
			sub.index = -1
			sub.failf("%d bytes left over", sub.end-sub.pos)
		}
		if sub.err != nil {
			return nil, sub.err
		}
		in.m.sections = append(in.m.sections, section{id: id, from: r.pos, to: sub.end})
		r.pos = sub.end
	}
	if r.err != nil {
		return nil, r.err
	}
	return in.m, in.whole()
}

// Prepare inspects a module and returns it as the engine may see it, with what Inspect read. Custom
// sections are left out, since the engine decodes some of them with no bound on their counts, and
// tables get a maximum, since a table without one grows without limit. The memory's maximum is the
// engine's own setting. The result does not alias wasm.
func Prepare(wasm []byte, l Limits) ([]byte, *Module, error) {
	m, err := Inspect(wasm, l)
	if err != nil {
		return nil, nil, err
	}
	out := make([]byte, 0, len(wasm)+16)
	out = append(out, magic...)
	for _, s := range m.sections {
		switch s.id {
		case idCustom:
			continue
		case idTable:
			out = appendSection(out, s.id, appendTables(nil, m.Tables, uint32(l.TableElements)))
		default:
			out = appendSection(out, s.id, wasm[s.from:s.to])
		}
	}
	return out, m, nil
}

func appendSection(dst []byte, id byte, content []byte) []byte {
	dst = append(dst, id)
	dst = appendU32(dst, uint32(len(content)))
	return append(dst, content...)
}

func appendTables(dst []byte, tables []Table, limit uint32) []byte {
	dst = appendU32(dst, uint32(len(tables)))
	for _, t := range tables {
		top := limit
		if t.Bounded {
			top = min(top, t.Max)
		}
		dst = append(dst, byte(t.Element), 1)
		dst = appendU32(dst, t.Min)
		dst = appendU32(dst, top)
	}
	return dst
}

func appendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}
