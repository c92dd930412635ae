package sandbox_test

import (
	"math/rand/v2"
	"slices"

	"github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

const (
	tI32 = wasmtest.I32
	tI64 = wasmtest.I64
)

// form is the type of a function or block.
type form struct{ params, results []byte }

// program generates modules whose functions end, by themselves or with a trap: loops count down, and calls
// draw on a counter of the program.
type program struct {
	r     *rand.Rand
	m     *wasmtest.Module
	count bool // each instruction that costs something counts itself in a global
	forms []form
	funcs []int // form of each

	code   []byte
	locals []byte
	labels []tag
	result []byte
	budget int
}

// tag is a label: the types it carries, and the counter of a loop.
type tag struct {
	carry   []byte
	counter int // -1 for no loop
}

// Globals of a program.
const (
	gCalls = iota
	g32
	g64
	gCount
)

const programFuncs = 6

// generate returns a module that exports f0 to f5, all without parameters that matter, a memory and
// globals. With count, global gCount holds how many instructions were run.
func generate(seed uint64, count bool) []byte {
	p := &program{r: rand.New(rand.NewPCG(seed, 1)), m: &wasmtest.Module{}, count: count}
	a, b := tI32, tI64
	wide := []byte{a, b, a, b, b, a, a, b, a, b, b, a}
	p.forms = []form{
		{nil, nil},
		{nil, []byte{a}},
		{[]byte{a}, []byte{a}},
		{[]byte{a, b}, []byte{b}},
		{[]byte{b}, []byte{a, b}},
		{nil, []byte{b, a, a}},
		{[]byte{a, a, b}, nil},
		{nil, []byte{a, b}},
		{[]byte{a}, []byte{b, b}},
		{nil, wide},
		{wide, []byte{b}},
	}
	for _, f := range p.forms {
		p.m.Type(f.params, f.results)
	}
	for range programFuncs {
		p.funcs = append(p.funcs, p.r.IntN(len(p.forms)))
	}
	for i, f := range p.funcs {
		p.function(f)
		p.m.Export(string(rune('a'+i)), wasmtest.Func, i)
	}
	p.m.Table([]byte{1, 8, 20})
	p.m.RawMemory([]byte{1, 1, 3})
	p.m.Global(int32(p.r.IntN(60)))
	p.m.Global(7)
	p.m.Global64(-9)
	p.m.Global64(0)
	for i, name := range []string{"calls", "g32", "g64", "count"} {
		p.m.Export(name, wasmtest.Global, i)
	}
	p.m.Export("memory", wasmtest.Memory, 0)
	p.m.Element(0, 0, 1, 2, 3, 4, 5)
	p.m.PassiveElement(3, 1, 2)
	p.m.Data(100, []byte("some bytes"))
	p.m.Data(110, []byte("and more"))
	p.m.Passive([]byte("passive bytes of a segment"))
	return p.m.Bytes()
}

func (p *program) n(n int) int { return p.r.IntN(n) }

// raw emits what only gives the code its form.
func (p *program) raw(s string) { p.code = append(p.code, s...) }

// op emits an instruction.
func (p *program) op(s string) {
	if p.count {
		g := string(wasmtest.U32(gCount))
		p.raw("\x23" + g + wasmtest.I64Const(1) + "\x7c\x24" + g)
	}
	p.raw(s)
}

func (p *program) indexed(op byte, i int) { p.op(string(op) + string(wasmtest.U32(uint32(i)))) }

func (p *program) i32(v int32) { p.op(wasmtest.I32Const(v)) }

func (p *program) function(f int) {
	t := p.forms[f]
	p.code, p.result, p.budget = nil, t.results, 60+p.n(200)
	p.locals = append(slices.Clone(t.params), tI32, tI32, tI64, tI64)
	if p.n(3) == 0 { // more than joins move for nothing
		for i := range 60 {
			p.locals = append(p.locals, []byte{tI32, tI64}[i%2])
		}
	}
	p.labels = []tag{{t.results, -1}}
	p.indexed(0x23, gCalls)
	p.op("\x45")
	p.op("\x04\x40")
	for _, r := range t.results {
		p.leaf(r)
	}
	p.op("\x0f")
	p.raw("\x0b")
	p.indexed(0x23, gCalls)
	p.i32(1)
	p.op("\x6b")
	p.indexed(0x24, gCalls)
	for p.budget > 0 {
		p.statement(4)
	}
	p.values(t.results, 3)
	p.raw("\x0b")
	groups := make([][]byte, 0, len(p.locals))
	for _, l := range p.locals[len(t.params):] {
		groups = append(groups, []byte{1, l})
	}
	p.m.Body(f, wasmtest.Cat(wasmtest.Vec(groups), p.code))
}

func (p *program) local(t byte) int {
	for {
		if i := p.n(len(p.locals)); p.locals[i] == t && !p.isCounter(i) {
			return i
		}
	}
}

func (p *program) isCounter(i int) bool {
	return slices.ContainsFunc(p.labels, func(t tag) bool { return t.counter == i })
}

func (p *program) values(types []byte, d int) {
	for _, t := range types {
		p.value(t, d)
	}
}

// take stores values of these types that lie on the stack.
func (p *program) take(types []byte) {
	for _, t := range slices.Backward(types) {
		if p.n(3) == 0 {
			p.op("\x1a")
		} else {
			p.indexed(0x21, p.local(t))
		}
	}
}

func (p *program) leaf(t byte) {
	switch k := p.n(4); {
	case k == 0 && t == tI32:
		p.i32(int32(p.r.Uint32()))
	case k == 0:
		p.op(wasmtest.I64Const(int64(p.r.Uint64())))
	case k == 1 && t == tI32:
		p.indexed(0x23, g32)
	case k == 1:
		p.indexed(0x23, g64)
	default:
		p.indexed(0x20, p.local(t))
	}
}

// small leaves an i32 of at most mask.
func (p *program) small(mask int32, d int) {
	p.value(tI32, d)
	p.i32(mask)
	p.op("\x71")
}

// value emits code that leaves a value.
func (p *program) value(t byte, d int) {
	p.budget--
	if d <= 0 || p.budget < 0 {
		p.leaf(t)
		return
	}
	wide := t == tI64
	pick := func(a, b string) string {
		if wide {
			return b
		}
		return a
	}
	switch p.n(14) {
	case 0, 1, 2:
		p.value(t, d-1)
		p.value(t, d-1)
		k := p.n(7)
		p.op(pick("\x6a\x6b\x6c\x71\x72\x73\x74", "\x7c\x7d\x7e\x83\x84\x85\x86")[k : k+1])
	case 3:
		p.value(t, d-1)
		p.value(t, d-1)
		if p.n(8) == 0 {
			p.op(pick("\x6e", "\x80"))
		} else {
			p.op(pick("\x6a", "\x7c"))
		}
	case 4:
		p.small(0xfff8, d-1)
		p.op(pick("\x28\x02\x04", "\x29\x03\x08"))
	case 5:
		p.callFor(t, d)
	case 6:
		p.block(0x02, form{nil, []byte{t}}, d)
	case 7:
		p.value(tI32, d-1)
		p.either(t, d)
	case 8:
		p.value(t, d-1)
		p.value(t, d-1)
		p.value(tI32, d-1)
		p.op("\x1b")
	case 9:
		p.value(t, d-1)
		p.value(tI32, d-1)
		if l := p.label(string(t)); l >= 0 {
			p.indexed(0x0d, l)
		} else {
			p.op("\x1a")
		}
	case 10:
		p.value(pick(string(tI64), string(tI32))[0], d-1)
		p.op(pick("\xa7", "\xac"))
	case 11:
		p.leaf(t)
		p.indexed(0x22, p.local(t))
	default:
		p.leaf(t)
	}
}

// label finds a label out of loops that carries types, or -1.
func (p *program) label(types string) int {
	var fit []int
	for i, l := range p.labels {
		if l.counter < 0 && string(l.carry) == types {
			fit = append(fit, len(p.labels)-1-i)
		}
	}
	if fit == nil {
		return -1
	}
	return fit[p.n(len(fit))]
}

// callFor calls a function that leaves one value, directly or through the table, where its type seldom is
// another.
func (p *program) callFor(t byte, d int) {
	var fit []int
	for i, f := range p.funcs {
		if string(p.forms[f].results) == string(t) {
			fit = append(fit, i)
		}
	}
	if fit == nil {
		p.leaf(t)
		return
	}
	i := fit[p.n(len(fit))]
	f := p.funcs[i]
	p.values(p.forms[f].params, d-1)
	if p.n(3) > 0 {
		p.indexed(0x10, i)
		return
	}
	if p.n(20) == 0 {
		i = 7
	}
	p.i32(int32(i))
	p.op("\x11" + string(wasmtest.U32(uint32(f))) + "\x00")
}

// blockType encodes the type of a block.
func (p *program) blockType(f form) string {
	switch {
	case len(f.params) == 0 && len(f.results) == 0:
		return "\x40"
	case len(f.params) == 0 && len(f.results) == 1:
		return string(f.results)
	}
	for i, have := range p.forms {
		if slices.Equal(have.params, f.params) && slices.Equal(have.results, f.results) {
			return string(wasmtest.S64(int64(i)))
		}
	}
	panic("a block of a type that is not declared")
}

// block emits a block with statements. Its parameters lie on the stack.
func (p *program) block(op byte, f form, d int) {
	p.raw(string(op) + p.blockType(f))
	p.labels = append(p.labels, tag{f.results, -1})
	p.take(f.params)
	p.statements(d - 1)
	p.values(f.results, d-1)
	p.labels = p.labels[:len(p.labels)-1]
	p.raw("\x0b")
}

// either emits an if with two arms that leave a value; the condition lies on the stack.
func (p *program) either(t byte, d int) {
	p.op("\x04" + string(t))
	p.labels = append(p.labels, tag{[]byte{t}, -1})
	p.statements(d - 1)
	p.value(t, d-1)
	p.raw("\x05")
	p.statements(d - 2)
	p.value(t, d-1)
	p.labels = p.labels[:len(p.labels)-1]
	p.raw("\x0b")
}

func (p *program) statements(d int) {
	for range p.n(3) {
		p.statement(d)
	}
}

// statement emits code that leaves the stack as it was.
func (p *program) statement(d int) {
	p.budget -= 2
	if d <= 0 || p.budget < 0 {
		p.budget--
		p.leaf(tI32)
		p.op("\x1a")
		return
	}
	switch p.n(17) {
	case 0, 1:
		t := []byte{tI32, tI64}[p.n(2)]
		p.value(t, d)
		p.indexed(0x21, p.local(t))
	case 2:
		p.value(tI32, d)
		p.indexed(0x24, g32)
	case 3:
		p.value(tI64, d)
		p.indexed(0x24, g64)
	case 4:
		p.small(0xfff8, d-1)
		p.value(tI64, d-1)
		p.op("\x37\x03\x08")
	case 5:
		p.value(tI32, d-1)
		p.op("\x04\x40")
		p.arm(d)
		if p.n(2) == 0 {
			p.raw("\x05")
			p.arm(d - 1)
		}
		p.raw("\x0b")
	case 6, 7:
		p.loop(d)
	case 8:
		p.block(0x02, form{}, d)
	case 9:
		f := p.forms[[]int{5, 7, 8, 4, 2, 9, 10}[p.n(7)]]
		p.values(f.params, d-1)
		p.block(0x02, f, d)
		p.take(f.results)
	case 10:
		i := p.n(len(p.funcs))
		p.values(p.forms[p.funcs[i]].params, d-1)
		p.indexed(0x10, i)
		p.take(p.forms[p.funcs[i]].results)
	case 11:
		p.jump(d)
	case 12:
		p.bulk(d)
	case 13:
		p.again()
	case 14:
		if p.n(20) == 0 {
			p.op("\x00")
		}
	case 15:
		p.tables(d)
	case 16:
		p.value(tI32, d-1)
		p.op("\x04\x40")
		for range p.n(100) {
			t := []byte{tI32, tI64}[p.n(2)]
			p.leaf(t)
			p.indexed(0x21, p.local(t))
		}
		p.raw("\x0b")
	}
}

func (p *program) arm(d int) {
	p.labels = append(p.labels, tag{nil, -1})
	p.statements(d - 1)
	p.labels = p.labels[:len(p.labels)-1]
}

// loop emits a loop of up to four rounds.
func (p *program) loop(d int) {
	k := len(p.locals)
	p.locals = append(p.locals, tI32)
	p.i32(int32(p.n(4)))
	p.indexed(0x21, k)
	p.raw("\x03\x40")
	p.labels = append(p.labels, tag{nil, k})
	p.statements(d - 1)
	p.labels = p.labels[:len(p.labels)-1]
	p.indexed(0x20, k)
	p.op("\x04\x40")
	p.count1(k)
	p.indexed(0x0c, 1)
	p.raw("\x0b\x0b")
}

func (p *program) count1(k int) {
	p.indexed(0x20, k)
	p.i32(1)
	p.op("\x6b")
	p.indexed(0x21, k)
}

// again goes to the start of a loop that is open, if its counter allows.
func (p *program) again() {
	for i, l := range slices.Backward(p.labels) {
		if l.counter >= 0 && p.n(2) == 0 {
			p.indexed(0x20, l.counter)
			p.op("\x04\x40")
			p.count1(l.counter)
			p.indexed(0x0c, len(p.labels)-i)
			p.raw("\x0b")
			return
		}
	}
}

// jump leaves blocks, or the function.
func (p *program) jump(d int) {
	var out []tag
	for _, l := range p.labels {
		if l.counter < 0 {
			out = append(out, l)
		}
	}
	t := out[p.n(len(out))].carry
	l := p.label(string(t))
	switch p.n(8) {
	case 0:
		p.values(t, d-1)
		p.indexed(0x0c, l)
	case 1:
		p.values(p.result, d-1)
		p.op("\x0f")
	case 2:
		p.values(t, d-1)
		p.small(3, d-1)
		table := "\x0e\x03"
		for range 4 {
			table += string(wasmtest.U32(uint32(p.label(string(t)))))
		}
		p.op(table)
	default:
		p.values(t, d-1)
		p.value(tI32, d-1)
		p.indexed(0x0d, l)
		p.take(t)
	}
}

// bulk emits an instruction that moves many bytes.
func (p *program) bulk(d int) {
	switch p.n(5) {
	case 0:
		p.small(0xfff, d-1)
		p.value(tI32, d-1)
		p.small(0x3ff, d-1)
		p.op("\xfc\x0b\x00")
	case 1:
		p.small(0xfff, d-1)
		p.small(0xfff, d-1)
		p.small(0x3ff, d-1)
		p.op("\xfc\x0a\x00\x00")
	case 2:
		p.small(0xfff, d-1)
		p.small(15, d-1)
		p.small(8, d-1)
		p.op("\xfc\x08\x02\x00")
	case 3:
		p.small(1, d-1)
		p.op("\x40\x00")
		p.indexed(0x24, g32)
	case 4:
		if p.n(6) == 0 {
			p.op("\xfc\x09\x02")
		}
	}
}

// tables emits an instruction on the table, mostly within its bounds.
func (p *program) tables(d int) {
	switch p.n(5) {
	case 0:
		p.small(7, d-1)
		p.op("\xd2\x02")
		p.small(1, d-1)
		p.op("\xfc\x11\x00")
	case 1:
		p.small(3, d-1)
		p.small(3, d-1)
		p.small(1, d-1)
		p.op("\xfc\x0e\x00\x00")
	case 2:
		p.op("\xd2\x01")
		p.small(3, d-1)
		p.op("\xfc\x0f\x00")
		p.indexed(0x24, g32)
	case 3:
		p.small(3, d-1)
		p.small(1, d-1)
		p.small(1, d-1)
		p.op("\xfc\x0c\x01\x00")
	case 4:
		p.op("\xfc\x10\x00")
		p.indexed(0x24, g32)
	}
}
