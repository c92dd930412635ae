// Package wat assembles WebAssembly modules from their text format, as much of it as test guests need, so
// that tests can show a guest as text and need no tool.
//
// It takes one module with imports of functions, one memory, tables, globals, data and element segments,
// exports and a start function; functions in flat or folded form with the numeric instructions, control,
// bulk memory and reference types. There are no vector instructions, and nothing is checked that an
// engine's validator checks: a test may want a module that does not validate.
package wat

import (
	"fmt"
	"strings"
)

// Assemble returns the module in the binary format. Errors wrap ErrSyntax and name the line.
func Assemble(text string) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	if root.head() != "module" {
		return nil, root.failf("got %v, want (module ...)", root)
	}
	m := &module{ops: opcodes(), types: map[string]int{}}
	for k := range m.names {
		m.names[k] = map[string]int{}
	}
	for _, f := range root.list[1:] {
		if err := m.declare(f); err != nil {
			return nil, err
		}
	}
	for _, f := range m.later {
		if err := f(); err != nil {
			return nil, err
		}
	}
	return m.bytes(), nil
}

// space is one of the index spaces that names live in.
type space int

const (
	funcs space = iota
	tables
	memories
	globals
	typeNames
	datas
	elems
	spaces
)

// exportable lists the keywords of what can be exported, in the order of the binary format.
var exportable = [...]string{funcs: "func", tables: "table", memories: "memory", globals: "global"}

// module collects sections. Names are declared in a first pass; what refers to them is encoded after it.
type module struct {
	ops   map[string]op
	types map[string]int // by encoding
	names [spaces]map[string]int
	count [spaces]int
	later []func() error

	typeSec, importSec, funcSec, tableSec, memorySec, globalSec [][]byte
	exportSec, elemSec, codeSec, dataSec                        [][]byte
	start                                                       []byte
}

// name takes the next index of a space, under a name if one is there, and returns the rest of the field.
func (m *module) name(s space, at node, rest []node) ([]node, error) {
	if len(rest) > 0 && rest[0].kind == 'a' && rest[0].text[0] == '$' {
		if _, ok := m.names[s][rest[0].text]; ok {
			return nil, at.failf("%s is there twice", rest[0].text)
		}
		m.names[s][rest[0].text] = m.count[s]
		rest = rest[1:]
	}
	m.count[s]++
	return rest, nil
}

// exports takes the inline exports of the item that was named last.
func (m *module) exports(s space, rest []node) []node {
	for len(rest) > 0 && rest[0].head() == "export" && len(rest[0].list) == 2 && rest[0].list[1].kind == 's' {
		m.export(rest[0].list[1].text, s, m.count[s]-1)
		rest = rest[1:]
	}
	return rest
}

func (m *module) export(name string, s space, index int) {
	m.exportSec = append(m.exportSec, cat(vecBytes(name), []byte{byte(s)}, u32(uint32(index))))
}

// declare takes one field of the module.
func (m *module) declare(f node) error {
	if f.head() == "" {
		return f.failf("got %v, want a field of a module", f)
	}
	rest := f.list[1:]
	switch f.head() {
	case "type":
		return m.typeField(f, rest)
	case "import":
		return m.importField(f, rest)
	case "func":
		return m.funcField(f, rest)
	case "memory", "table":
		return m.limitsField(f, rest)
	case "global":
		return m.globalField(f, rest)
	case "data", "elem":
		return m.segmentField(f, rest)
	case "export":
		m.later = append(m.later, func() error { return m.exportField(f, rest) })
		return nil
	case "start":
		m.later = append(m.later, func() (err error) {
			if len(rest) != 1 {
				return f.failf("start wants one function")
			}
			i, err := m.index(funcs, rest[0])
			m.start = u32(i)
			return err
		})
		return nil
	}
	return f.failf("%s is not a field that this assembler knows", f.head())
}

func (m *module) typeField(f node, rest []node) error {
	rest, err := m.name(typeNames, f, rest)
	if err != nil {
		return err
	}
	if len(rest) != 1 || rest[0].head() != "func" {
		return f.failf("a type wants (func ...)")
	}
	sig, _, err := m.signature(rest[0].list[1:])
	if err != nil {
		return err
	}
	// A named type has an index of its own, also where an equal one stands already.
	enc := sig.encode()
	if _, ok := m.types[enc]; !ok {
		m.types[enc] = len(m.typeSec)
	}
	if m.count[typeNames]-1 != len(m.typeSec) {
		return f.failf("types stand in front of all that uses one")
	}
	m.typeSec = append(m.typeSec, []byte(enc))
	return nil
}

func (m *module) importField(f node, rest []node) error {
	if len(rest) != 3 || rest[0].kind != 's' || rest[1].kind != 's' || rest[2].head() != "func" {
		return f.failf("an import wants two names and a function")
	}
	if m.count[funcs] > len(m.importSec) {
		return f.failf("imports stand in front of all functions")
	}
	inner, err := m.name(funcs, f, rest[2].list[1:])
	if err != nil {
		return err
	}
	sig, left, err := m.signature(inner)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return left[0].failf("%v in an import", left[0])
	}
	m.importSec = append(m.importSec, cat(vecBytes(rest[0].text), vecBytes(rest[1].text), []byte{0}, u32(uint32(m.typeOf(sig)))))
	return nil
}

func (m *module) funcField(f node, rest []node) error {
	rest, err := m.name(funcs, f, rest)
	if err != nil {
		return err
	}
	rest = m.exports(funcs, rest)
	sig, body, err := m.signature(rest)
	if err != nil {
		return err
	}
	m.funcSec = append(m.funcSec, u32(uint32(m.typeOf(sig))))
	m.later = append(m.later, func() error {
		b, err := m.body(sig, body)
		m.codeSec = append(m.codeSec, b)
		return err
	})
	return nil
}

func (m *module) limitsField(f node, rest []node) error {
	s := memories
	if f.head() == "table" {
		s = tables
	}
	rest, err := m.name(s, f, rest)
	if err != nil {
		return err
	}
	rest = m.exports(s, rest)
	var limits []byte
	n := 0
	for ; n < len(rest) && n < 2; n++ {
		v, err := rest[n].u32()
		if err != nil {
			break
		}
		limits = append(limits, u32(v)...)
	}
	if n == 0 {
		return f.failf("a %s wants its size", f.head())
	}
	limits = append([]byte{byte(n - 1)}, limits...)
	rest = rest[n:]
	if len(rest) > 0 && rest[0].text == "shared" {
		limits[0] |= 2
		rest = rest[1:]
	}
	if s == memories {
		if len(rest) > 0 {
			return f.failf("%v in a memory", rest[0])
		}
		m.memorySec = append(m.memorySec, limits)
		return nil
	}
	if len(rest) != 1 {
		return f.failf("a table wants the type of its elements")
	}
	t, err := rest[0].valueType()
	m.tableSec = append(m.tableSec, append([]byte{t}, limits...))
	return err
}

func (m *module) globalField(f node, rest []node) error {
	rest, err := m.name(globals, f, rest)
	if err != nil {
		return err
	}
	rest = m.exports(globals, rest)
	if len(rest) == 0 {
		return f.failf("a global wants its type")
	}
	typ, mutable := rest[0], byte(0)
	if typ.head() == "mut" && len(typ.list) == 2 {
		typ, mutable = typ.list[1], 1
	}
	t, err := typ.valueType()
	if err != nil {
		return err
	}
	m.later = append(m.later, func() error {
		e, err := m.constant(rest[1:])
		m.globalSec = append(m.globalSec, cat([]byte{t, mutable}, e))
		return err
	})
	return nil
}

// joined is the text of strings that stand one behind the other.
func joined(nodes []node) (string, error) {
	var b strings.Builder
	for _, n := range nodes {
		if n.kind != 's' {
			return "", n.failf("got %v, want a string", n)
		}
		b.WriteString(n.text)
	}
	return b.String(), nil
}

// segmentField is a data or an element segment: active where it begins with an offset, else passive.
func (m *module) segmentField(f node, rest []node) error {
	s := datas
	if f.head() == "elem" {
		s = elems
	}
	rest, err := m.name(s, f, rest)
	if err != nil {
		return err
	}
	m.later = append(m.later, func() error {
		mode, offset := byte(1), []byte(nil)
		if len(rest) > 0 && rest[0].kind == '(' {
			mode = 0
			if offset, err = m.constant(rest[:1]); err != nil {
				return err
			}
			rest = rest[1:]
		}
		if s == datas {
			b, err := joined(rest)
			m.dataSec = append(m.dataSec, cat([]byte{mode}, offset, vecBytes(b)))
			return err
		}
		if len(rest) > 0 && rest[0].text == "func" {
			rest = rest[1:]
		}
		enc := u32(uint32(len(rest)))
		for _, n := range rest {
			i, err := m.index(funcs, n)
			if err != nil {
				return err
			}
			enc = append(enc, u32(i)...)
		}
		if mode == 1 {
			enc = append([]byte{0}, enc...) // kind: functions
		}
		m.elemSec = append(m.elemSec, cat([]byte{mode}, offset, enc))
		return nil
	})
	return nil
}

func (m *module) exportField(f node, rest []node) error {
	if len(rest) == 2 && rest[0].kind == 's' && len(rest[1].list) == 2 {
		for s, word := range exportable {
			if rest[1].head() == word {
				i, err := m.index(space(s), rest[1].list[1])
				m.export(rest[0].text, space(s), int(i))
				return err
			}
		}
	}
	return f.failf("an export wants a name and an item")
}

// index is an index by name or number.
func (m *module) index(s space, n node) (uint32, error) {
	if n.kind == 'a' && n.text[0] == '$' {
		i, ok := m.names[s][n.text]
		if !ok {
			return 0, n.failf("%s is not known here", n.text)
		}
		return uint32(i), nil
	}
	return n.u32()
}

// bytes encodes the module. Sections without items are left out.
func (m *module) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content []byte) {
		out = cat(out, []byte{id}, u32(uint32(len(content))), content)
	}
	vector := func(id byte, items [][]byte) {
		if len(items) > 0 {
			section(id, cat(append([][]byte{u32(uint32(len(items)))}, items...)...))
		}
	}
	vector(1, m.typeSec)
	vector(2, m.importSec)
	vector(3, m.funcSec)
	vector(4, m.tableSec)
	vector(5, m.memorySec)
	vector(6, m.globalSec)
	vector(7, m.exportSec)
	if m.start != nil {
		section(8, m.start)
	}
	vector(9, m.elemSec)
	if len(m.dataSec) > 0 {
		section(12, u32(uint32(len(m.dataSec))))
	}
	vector(10, m.codeSec)
	vector(11, m.dataSec)
	return out
}

// MustAssemble is Assemble for texts that a program carries: it panics on an error.
func MustAssemble(text string) []byte {
	b, err := Assemble(text)
	if err != nil {
		panic(fmt.Sprintf("wat: %v", err))
	}
	return b
}
