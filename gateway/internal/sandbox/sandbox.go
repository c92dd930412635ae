// Package sandbox checks and rewrites a WebAssembly module before the engine that will run it sees it.
//
// An engine's decoder allocates what a module's counts ask for, so a module of a few bytes can end the
// process; its compiler takes minutes for some functions of a few kilobytes; and the code it makes cannot
// be interrupted. Inspect reads every section and every instruction with each count held to the bytes that
// are left, each index to what the module has, and the form of the code to what compiles in reasonable
// time. Prepare writes the module anew from what Inspect understood, with meters that end code which does
// not end by itself. Prepare is the only way by which bytes from outside reach the engine.
//
// The types of operands are not checked here but by the engine, which refuses a module that breaks them
// before it compiles anything: what it checks is the rewritten code, and all that the meters write leaves
// the types on the stack as they were, so that neither can be used to get around the other.
package sandbox

import (
	"errors"
	"fmt"
	"strings"
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
	Loops          int // loops within loops of one function
	Branches       int // blocks and branches of one function
	Merges         int // blocks and branches of one function, each multiplied by what is live: locals, operands, checked addresses
	Work           int // of the compiler for all functions together; see work.go
	Values         int // values that the calls, blocks and branches of one function carry, and globals that calls may change
	Pieces         int // data segments, after those that lie close together became one
	Depth          int // functions that are open at a time; see ExportDepth
	CustomSections int

	refills bool // the function of ImportRefill may be imported
}

// DefaultLimits is what the gateway uses. A plugin of a standard Go toolchain stays below a half of
// each; the costs that set them were measured (compile time and memory of the engine at the limit). The
// compiler's time is not linear in Nesting, Loops, Branches and Merges: the worst function within them
// takes it one or two seconds. Work bounds what a module takes to some six, and the memory for it to half a
// gigabyte. A Go guest of two megabytes has a quarter of it, one of four megabytes a half.
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
		Loops:          32,
		Branches:       8_000,
		Merges:         512 << 10,
		Work:           320 << 20,
		Values:         256 << 10,
		Pieces:         10_000,
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

	types       []Signature
	widths      []width  // of types
	funcs       []uint32 // type index of each function, imported ones first
	declared    []bool   // functions that are named outside of code, by index
	named       []naming // where those with a body are
	globals     []globalType
	memories    int
	elemTypes   []ValueType // of each element segment
	bodies      []body
	dataNamed   bool // an instruction names a data segment
	importNamed bool // an imported function may be called through a table
	counted     int  // data segments by the data count section, or -1
	customs     int
	vectors     bool // a global is one
	mutable     int  // globals
	work        int  // see Limits.Work
	elements    int
	sections    []section
}

type globalType struct{ mutable bool }

// naming is where the index of a function stands, outside of code.
type naming struct {
	index    uint32
	from, to int32
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
// that is not shared, no start function, instructions of WebAssembly 2.0 alone. It runs in time and
// memory linear in len(wasm), whatever the bytes are.
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

// Prepare inspects a module and returns it as the engine may see it, with what Inspect read of it as it
// came. Written into the code are the meters that ExportFuel and ExportDepth tell of, and added are the functions of
// ExportSliced and the import that ModuleHost tells of. Custom sections are
// left out, since the engine decodes some of them with no bound on their counts; tables get a maximum,
// since a table without one grows without limit; data segments that lie close together become one, since
// the engine keeps each in every instance. The memory's maximum is the engine's own setting. The result
// does not alias wasm, and is the same for the same module and limits.
func Prepare(wasm []byte, l Limits) ([]byte, *Module, error) {
	m, err := Inspect(wasm, l)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, ours) {
			return nil, nil, fmt.Errorf("%w: export section: the name %q is the gateway's", ErrModule, e.Name)
		}
	}
	out := rewrite(wasm, m, &l)
	prepared, err := Inspect(out, l.rewritten())
	if err != nil {
		return nil, nil, fmt.Errorf("rewritten module: %w", err)
	}
	if prepared.Segments > l.Pieces {
		return nil, nil, fmt.Errorf("%w: data section: %d segments that lie apart, at most %d", ErrModule, prepared.Segments, l.Pieces)
	}
	return out, m, nil
}
