package sandbox_test

import (
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// TestRenumbered runs a module that names functions everywhere a module can: in calls, also ones that are never
// reached, in references, in both kinds of element segments, in a global and in exports. The one import that
// meters add must move none of them.
func TestRenumbered(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	for _, imports := range []int{0, 1, 5} {
		var imported [][]byte
		for range imports {
			imported = append(imported, w.Cat(w.Name(sandbox.ModuleWASI), w.Name("sched_yield"), []byte{0, 0}))
		}
		base := uint32(imports)
		f := func(i uint32) []byte { return w.U32(base + i) }
		// 200 functions of one type: f(i) gives 1000+i, so that indices of one and of two bytes are met.
		const n = 200
		var types, bodies [][]byte
		constant := func(i int) []byte { return w.Bytes(w.Cat([]byte{0}, []byte(w.I32Const(int32(1000+i))), []byte{0x0b})) }
		for i := range n {
			types, bodies = append(types, w.U32(0)), append(bodies, constant(i))
		}
		indirect := func(at int32) string { return w.I32Const(at) + "\x11\x00\x00" }
		ref := func(i uint32) string { return "\xd2" + string(f(i)) }
		bodies[7] = w.Bytes(w.Cat([]byte{0}, []byte(
			w.Call(int(base)+125)+w.Call(int(base)+126)+w.Add+w.Call(int(base)+199)+w.Add+ // over the step to two bytes
				indirect(0)+w.Add+indirect(1)+w.Add+indirect(2)+w.Add+indirect(3)+w.Add+
				w.I32Const(0)+ref(9)+"\x26\x00"+indirect(0)+w.Add+ // table.set
				w.I32Const(1)+"\x23\x00\x26\x00"+indirect(1)+w.Add+ // the global's
				w.Return+w.Call(int(base)+150)+w.Drop+ref(150)+w.Drop), []byte{0x0b}))
		expr := func(i uint32) []byte { return w.Cat([]byte{0xd2}, f(i), []byte{0x0b}) }
		sections := [][]byte{w.Header(), w.Section(1, w.Vec([][]byte{{0x60, 0, 1, 0x7f}}))}
		if imports > 0 {
			sections = append(sections, w.Section(2, w.Vec(imported)))
		}
		sections = append(sections,
			w.Section(3, w.Vec(types)),
			w.Section(4, w.Vec([][]byte{{0x70, 0, 8}})),
			w.Section(5, w.Vec([][]byte{{0, 1}})),
			w.Section(6, w.Vec([][]byte{w.Cat([]byte{0x70, 0}, expr(11))})),
			w.Section(7, w.Vec([][]byte{w.Cat(w.Name("f"), []byte{0}, f(7)), w.Cat(w.Name("g"), []byte{0}, f(199))})),
			w.Section(9, w.Vec([][]byte{
				w.Cat([]byte{0}, []byte(w.I32Const(0)), []byte{0x0b}, w.Vec([][]byte{f(1), f(127)})),
				w.Cat([]byte{4}, []byte(w.I32Const(2)), []byte{0x0b}, w.Vec([][]byte{expr(2), expr(128)})),
				w.Cat([]byte{3, 0}, w.Vec([][]byte{f(9), f(150)})), // declared
			})),
			w.Section(10, w.Vec(bodies)))
		wasm := w.Cat(sections...)
		plain, metered := instance(t, rt, wasm), instance(t, rt, prepare(t, wasm))
		for _, name := range []string{"f", "g"} {
			want, _, err := plain.call(name, 0)
			must(t, err)
			got, _, err := metered.call(name, plenty)
			must(t, err)
			if got[0] != want[0] {
				t.Errorf("%d imports: %s gives %d, want %d", imports, name, got[0], want[0])
			}
		}
	}
}
