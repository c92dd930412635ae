package sandbox

import "slices"

// rewritten is what a module of these limits may become: each instruction gets at most the meter's code,
// of less than 40 bytes. What bounds the compiler's time holds for what is compiled: a loop or a function
// with calls gets two blocks, long code one test for some hundreds of bytes, and Work is what it was.
func (l *Limits) rewritten() Limits {
	out := *l
	out.Size += 40*l.Size + 1<<20
	out.Types += l.Functions + 1
	out.Imports++
	out.refills = true
	out.Globals += 2
	out.Functions += l.Exports
	out.Exports += 2 + l.Exports
	out.Name += len(ExportSliced)
	out.Body += 40*l.Body + 100
	out.Locals += 2
	out.Nesting += 2
	out.Branches = 3*l.Branches + l.Body/100
	out.Merges *= 3
	out.Values += l.Values + l.Params
	return out
}

// rewrite writes the module of Inspect anew.
func rewrite(wasm []byte, m *Module, l *Limits) []byte {
	content := [idDataCount + 1][]byte{}
	for _, s := range m.sections {
		switch s.id {
		case idCustom:
		case idGlobal, idExport, idElement, idData:
			content[s.id] = renumber(wasm, s, m.named)
		default:
			content[s.id] = wasm[s.from:s.to]
		}
	}
	w := &meter{m: m, l: l, fuel: uint32(len(m.globals)), depth: uint32(len(m.globals)) + 1, refill: uint32(len(m.Imports)), types: m.types}
	w.code = code{reader: reader{b: wasm}, m: m, l: l}
	content[idImport] = more(content[idImport], appendImport(nil, ModuleHost, ImportRefill, w.leaves("")), 1)
	if c := content[idCode]; c != nil {
		content[idCode] = w.section(len(c))
	}
	sliced := w.sliced()
	content[idFunction] = more(content[idFunction], sliced.types, sliced.n)
	content[idCode] = more(content[idCode], sliced.bodies, sliced.n)
	content[idType] = more(content[idType], appendTypes(nil, w.types[len(m.types):]), len(w.types)-len(m.types))
	if len(m.Tables) > 0 {
		content[idTable] = appendTables(nil, m.Tables, uint32(l.TableElements))
	}
	content[idGlobal] = more(content[idGlobal], []byte{byte(I64), 1, opI64Const, 0, opEnd, byte(I32), 1, opI32Const, 0, opEnd}, 2)
	var exports []byte
	for i, name := range []string{ExportFuel, ExportDepth} {
		exports = appendExport(exports, name, KindGlobal, w.fuel+uint32(i))
	}
	content[idExport] = more(content[idExport], append(exports, sliced.exports...), 2+sliced.n)
	if !m.dataNamed {
		content[idDataCount] = nil
		if c := content[idData]; c != nil {
			content[idData] = mergeData(c)
		}
	}
	out := make([]byte, 0, len(wasm)+len(wasm)/4+64)
	out = append(out, magic...)
	for _, id := range []byte{idType, idImport, idFunction, idTable, idMemory, idGlobal, idExport, idElement, idDataCount, idCode, idData} {
		if c := content[id]; c != nil {
			out = append(out, id)
			out = appendU32(out, uint32(len(c)))
			out = append(out, c...)
		}
	}
	return out
}

// renumber returns a section with the functions that have a body numbered one higher, since one more is
// imported. named are all namings of the module, in their order.
func renumber(wasm []byte, s section, named []naming) []byte {
	at := s.from
	var out []byte
	for _, n := range named {
		if from, to := int(n.from), int(n.to); from >= at && to <= s.to {
			out = appendU32(append(out, wasm[at:from]...), n.index+1)
			at = to
		}
	}
	return append(out, wasm[at:s.to]...)
}

// additions are functions that are added to a module, as its sections have them.
type additions struct {
	n                      int
	types, bodies, exports []byte
}

// sliced makes the functions of ExportSliced. They have no meter: each is a few instructions and a call.
func (w *meter) sliced() (out additions) {
	first := uint32(len(w.m.Imports) + 1 + len(w.m.bodies))
	for _, e := range w.m.Exports {
		if e.Kind != KindFunc {
			continue
		}
		to := e.Index
		if to >= w.refill {
			to++
		}
		code := appendS64([]byte{0, opI64Const}, Slice)
		code = appendU32(append(code, opGlobalSet), w.fuel)
		for i := range len(e.Type.params) {
			code = appendU32(append(code, opLocalGet), uint32(i))
		}
		code = append(appendU32(append(code, opCall), to), opEnd)
		out.types = appendU32(out.types, uint32(slices.Index(w.types, e.Type)))
		out.bodies = append(appendU32(out.bodies, uint32(len(code))), code...)
		out.exports = appendExport(out.exports, ExportSliced+e.Name, KindFunc, first+uint32(out.n))
		out.n++
	}
	return out
}

func appendExport(dst []byte, name string, kind Kind, index uint32) []byte {
	dst = append(appendU32(dst, uint32(len(name))), name...)
	return appendU32(append(dst, byte(kind)), index)
}

func appendImport(dst []byte, module, name string, typ int) []byte {
	for _, s := range [...]string{module, name} {
		dst = append(appendU32(dst, uint32(len(s))), s...)
	}
	return appendU32(append(dst, byte(KindFunc)), uint32(typ))
}

// section returns the code section with its meters.
func (w *meter) section(size int) []byte {
	out := appendU32(make([]byte, 0, size+size/3), uint32(len(w.m.bodies)))
	for i := range w.m.bodies {
		b := w.body(&w.m.bodies[i])
		out = append(appendU32(out, uint32(len(b))), b...)
	}
	return out
}

// more appends n items to a section that is a vector.
func more(content, items []byte, n int) []byte {
	if n == 0 {
		return content
	}
	have := uint32(0)
	if content != nil {
		r := &reader{b: content, end: len(content)}
		have = r.u32("items")
		content = content[r.pos:]
	}
	out := appendU32(make([]byte, 0, len(content)+len(items)+5), have+uint32(n))
	return append(append(out, content...), items...)
}

func appendTypes(dst []byte, types []Signature) []byte {
	for _, t := range types {
		dst = append(dst, 0x60)
		dst = append(appendU32(dst, uint32(len(t.params))), t.params...)
		dst = append(appendU32(dst, uint32(len(t.results))), t.results...)
	}
	return dst
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

// appendS64 appends a signed LEB128 number.
func appendS64(dst []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v)&0x7f)
}
