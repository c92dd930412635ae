package sandbox

import "fmt"

// Section ids of the binary format.
const (
	idCustom    = 0
	idType      = 1
	idImport    = 2
	idFunction  = 3
	idTable     = 4
	idMemory    = 5
	idGlobal    = 6
	idExport    = 7
	idStart     = 8
	idElement   = 9
	idCode      = 10
	idData      = 11
	idDataCount = 12
)

// known lists the sections by id; the data count section comes before code and data. Rank 0 may stand
// anywhere.
var known = [...]struct {
	name string
	rank int
}{
	idCustom:    {"custom", 0},
	idType:      {"type", 1},
	idImport:    {"import", 2},
	idFunction:  {"function", 3},
	idTable:     {"table", 4},
	idMemory:    {"memory", 5},
	idGlobal:    {"global", 6},
	idExport:    {"export", 7},
	idStart:     {"start", 8},
	idElement:   {"element", 9},
	idDataCount: {"data count", 10},
	idCode:      {"code", 11},
	idData:      {"data", 12},
}

func sectionName(id byte) string {
	if int(id) < len(known) {
		return known[id].name
	}
	return fmt.Sprintf("unknown (id %d)", id)
}

// order returns the rank of a section that may follow one of rank last.
func order(id byte, last int) (int, error) {
	if int(id) >= len(known) {
		return 0, fmt.Errorf("%w: section id %d is not known, at most %d", ErrModule, id, len(known)-1)
	}
	rank := known[id].rank
	if rank == 0 {
		return last, nil
	}
	if rank <= last {
		return 0, fmt.Errorf("%w: %s section is out of order or there twice", ErrModule, known[id].name)
	}
	return rank, nil
}

// inspector collects a module's sections.
type inspector struct {
	m *Module
	l Limits
}

func (in *inspector) section(id byte, r *reader) {
	switch id {
	case idCustom:
		in.custom(r)
	case idType:
		in.typeSection(r)
	case idImport:
		in.importSection(r)
	case idFunction:
		in.functionSection(r)
	case idTable:
		in.tableSection(r)
	case idMemory:
		in.memorySection(r)
	case idGlobal:
		in.globalSection(r)
	case idExport:
		in.exportSection(r)
	case idStart:
		r.failf("a start function is not allowed; export _initialize")
	case idElement:
		in.elementSection(r)
	case idDataCount:
		in.m.counted = r.count("data segments", 0, in.l.Segments)
	case idCode:
		in.codeSection(r)
	case idData:
		in.dataSection(r)
	}
}

// whole checks what only the whole module shows.
func (in *inspector) whole() error {
	m := in.m
	switch {
	case m.memories != 1:
		return fmt.Errorf("%w: memory section: %d memories, want 1", ErrModule, m.memories)
	case len(m.bodies) != m.Functions:
		return fmt.Errorf("%w: code section: %d bodies for %d functions", ErrModule, len(m.bodies), m.Functions)
	case m.counted >= 0 && m.counted != m.Segments:
		return fmt.Errorf("%w: data section: %d segments, the data count section says %d", ErrModule, m.Segments, m.counted)
	}
	return nil
}

func (in *inspector) custom(r *reader) {
	if in.m.customs++; in.m.customs > in.l.CustomSections {
		r.failf("more than %d custom sections", in.l.CustomSections)
	}
	r.name("name", in.l.Name)
	r.skip(uint32(r.left()), "content")
}

// each reads a vector, with the item's index in messages.
func (r *reader) each(item string, n int, read func(i int)) {
	r.item = item
	for i := range n {
		if r.index = i; r.err != nil {
			return
		}
		read(i)
	}
	if r.err == nil {
		r.index = -1
	}
}

func (in *inspector) typeSection(r *reader) {
	n := r.count("types", 3, in.l.Types)
	in.m.types, in.m.widths = make([]Signature, 0, n), make([]width, 0, n)
	r.each("type", n, func(int) {
		if form := r.byte("form"); r.err == nil && form != 0x60 {
			r.failf("form %#x is not a function type", form)
		}
		params := in.valueTypes(r, "parameters")
		t := Signature{params: params, results: in.valueTypes(r, "results")}
		in.m.types = append(in.m.types, t)
		in.m.widths = append(in.m.widths, width{widthOf(t.params), widthOf(t.results)})
	})
}

func (in *inspector) valueTypes(r *reader, what string) string {
	n := r.count(what, 1, in.l.Params)
	from := r.pos
	for range n {
		r.value("type of " + what)
	}
	return string(r.b[from:r.pos])
}

func (in *inspector) signature(r *reader) (uint32, Signature) {
	i := r.u32("type index")
	if r.err != nil {
		return 0, Signature{}
	}
	if uint64(i) >= uint64(len(in.m.types)) {
		r.failf("type %d of %d", i, len(in.m.types))
		return 0, Signature{}
	}
	return i, in.m.types[i]
}

func (in *inspector) importSection(r *reader) {
	r.each("import", r.count("imports", 4, in.l.Imports), func(int) {
		module := r.name("module name", in.l.Name)
		name := r.name("name", in.l.Name)
		kind := Kind(r.byte("kind"))
		if r.err != nil {
			return
		}
		if kind != KindFunc {
			r.failf("%s.%s is a %v, only functions may be imported", module, name, kind)
			return
		}
		i, got := in.signature(r)
		if r.err != nil {
			return
		}
		want, ok := lookup(module, name)
		if module == ModuleHost && name == ImportRefill && in.l.refills {
			want, ok = Signature{}, true
		}
		switch {
		case !ok:
			r.failf("%s.%s is not allowed", module, name)
		case got != want:
			r.failf("%s.%s has type %v, want %v", module, name, got, want)
		}
		in.m.Imports = append(in.m.Imports, Import{Module: module, Name: name, Type: got})
		in.m.funcs = append(in.m.funcs, i)
		in.m.declared = append(in.m.declared, false)
	})
}

func (in *inspector) functionSection(r *reader) {
	n := r.count("functions", 1, in.l.Functions)
	r.each("function", n, func(int) {
		i, _ := in.signature(r)
		in.m.funcs = append(in.m.funcs, i)
		in.m.declared = append(in.m.declared, false)
	})
	in.m.Functions = n
}

// declare notes that a function is named outside of code, which lets code refer to it. Its index stands
// in front of what is read next, from at on.
func (in *inspector) declare(r *reader, f uint32, at int) {
	in.m.declared[f] = true
	if int(f) >= len(in.m.Imports) {
		in.m.named = append(in.m.named, naming{index: f, from: int32(at), to: int32(r.pos)})
	}
}

// constant reads a constant expression.
func (in *inspector) constant(r *reader, globals int) constant {
	k := r.constant(len(in.m.funcs), globals)
	if k.op == opRefFunc && r.err == nil {
		r.pos-- // of the end
		in.declare(r, uint32(k.v), k.at)
		r.pos++
	}
	return k
}

func (in *inspector) tableSection(r *reader) {
	r.each("table", r.count("tables", 3, in.l.Tables), func(int) {
		t := Table{Element: r.reference("element type")}
		flags := r.byte("flags")
		if r.err == nil && flags > 1 {
			r.failf("flags %#x, want 0 or 1", flags)
		}
		t.Min, t.Max, t.Bounded = r.bounds(flags, "table")
		if r.err == nil && uint64(t.Min) > uint64(in.l.TableElements) {
			r.failf("%d elements, at most %d", t.Min, in.l.TableElements)
		}
		in.m.Tables = append(in.m.Tables, t)
	})
}

func (in *inspector) memorySection(r *reader) {
	n := r.count("memories", 2, 1)
	r.each("memory", n, func(int) {
		flags := r.byte("flags")
		switch {
		case r.err != nil:
		case flags == 2 || flags == 3:
			r.failf("a shared memory is not allowed")
		case flags > 1:
			r.failf("flags %#x, want 0 or 1", flags)
		}
		m := &in.m.Memory
		m.Min, m.Max, m.Bounded = r.bounds(flags, "memory")
		if r.err == nil && uint64(m.Min) > uint64(in.l.MemoryPages) {
			r.failf("%d pages, at most %d", m.Min, in.l.MemoryPages)
		}
	})
	in.m.memories = n
}

func (in *inspector) globalSection(r *reader) {
	r.each("global", r.count("globals", 4, in.l.Globals), func(i int) {
		t := r.value("type")
		mut := r.byte("mutability")
		if r.err == nil && mut > 1 {
			r.failf("mutability %#x, want 0 or 1", mut)
		}
		in.constant(r, i)
		in.m.globals = append(in.m.globals, globalType{mutable: mut == 1})
		in.m.mutable += int(mut)
		in.m.vectors = in.m.vectors || t == V128
	})
}

func (in *inspector) exportSection(r *reader) {
	n := r.count("exports", 3, in.l.Exports)
	seen := make(map[string]bool, n)
	r.each("export", n, func(int) {
		e := Export{Name: r.name("name", in.l.Name), Kind: Kind(r.byte("kind"))}
		at := r.pos
		e.Index = r.u32("index")
		if r.err != nil {
			return
		}
		if seen[e.Name] {
			r.failf("%q is exported twice", e.Name)
			return
		}
		seen[e.Name] = true
		space := 0
		switch e.Kind {
		case KindFunc:
			space = len(in.m.funcs)
		case KindTable:
			space = len(in.m.Tables)
		case KindMemory:
			space = in.m.memories
		case KindGlobal:
			space = len(in.m.globals)
		default:
			r.failf("%q is of %v", e.Name, e.Kind)
			return
		}
		if uint64(e.Index) >= uint64(space) {
			r.failf("%q is %v %d of %d", e.Name, e.Kind, e.Index, space)
			return
		}
		if e.Kind == KindFunc {
			e.Type = in.m.types[in.m.funcs[e.Index]]
			in.declare(r, e.Index, at)
		}
		in.m.Exports = append(in.m.Exports, e)
	})
}

func (in *inspector) elementSection(r *reader) {
	r.each("segment", r.count("element segments", 3, in.l.Segments), func(int) {
		flags := r.u32("flags")
		if r.err == nil && flags > 7 {
			r.failf("flags %#x, at most 7", flags)
		}
		active, explicit, exprs := flags&1 == 0, flags&2 != 0, flags&4 != 0
		if active {
			table := uint32(0)
			if explicit {
				table = r.u32("table index")
			}
			if r.err == nil && uint64(table) >= uint64(len(in.m.Tables)) {
				r.failf("table %d of %d", table, len(in.m.Tables))
			}
			in.constant(r, len(in.m.globals))
		}
		element := FuncRef
		if flags&3 != 0 {
			if exprs {
				element = r.reference("element type")
			} else if kind := r.byte("element kind"); r.err == nil && kind != 0 {
				r.failf("element kind %#x, want 0", kind)
			}
		}
		in.m.elemTypes = append(in.m.elemTypes, element)
		n := r.count("elements", 1, in.l.Elements-in.m.elements)
		in.m.elements += n
		for range n {
			if r.err != nil {
				return
			}
			in.element(r, exprs)
		}
	})
}

// element is one element of a segment: an expression, or the index of a function.
func (in *inspector) element(r *reader, expr bool) {
	if expr {
		in.constant(r, len(in.m.globals))
		return
	}
	at := r.pos
	f := r.u32("function index")
	if r.err == nil && uint64(f) >= uint64(len(in.m.funcs)) {
		r.failf("function %d of %d", f, len(in.m.funcs))
	}
	if r.err == nil {
		in.declare(r, f, at)
	}
}

func (in *inspector) dataSection(r *reader) {
	n := r.count("data segments", 2, in.l.Segments)
	r.each("segment", n, func(int) {
		flags := r.u32("flags")
		if r.err == nil && flags > 2 {
			r.failf("flags %#x, at most 2", flags)
		}
		if flags == 2 {
			if i := r.u32("memory index"); r.err == nil && i != 0 {
				r.failf("memory %d of 1", i)
			}
		}
		var at constant
		if flags != 1 {
			at = in.constant(r, len(in.m.globals))
		}
		size := r.u32("size")
		if end := uint64(uint32(at.v)) + uint64(size); r.err == nil && at.op == opI32Const && end > uint64(in.m.Memory.Min)<<16 {
			r.failf("content [%d,+%d) outside the memory of %d pages", uint32(at.v), size, in.m.Memory.Min)
		}
		r.skip(size, "content")
	})
	in.m.Segments = n
}
