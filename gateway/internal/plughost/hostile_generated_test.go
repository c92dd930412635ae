package plughost_test

import (
	"fmt"
	"strings"

	"github.com/weirgate/weir/abi/tck/wat"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// many is the largest number that the binary format can count to.
const many = "\xff\xff\xff\xff\x0f"

// generated are the attacks that are too large or too broken for a file.
func generated() []attack {
	refused := func(name, text string, wasm []byte) attack {
		return attack{name: name, where: "load", fault: "refused", text: text, wasm: wasm}
	}
	out := []attack{
		refused("module_of_nothing", "not a WebAssembly module", nil),
		refused("module_of_text", "not a WebAssembly module", []byte("(module)")),
		refused("module_of_17_mb", "16777216", append(tiny{}.wasm(), make([]byte, 17<<20)...)),
		refused("module_cut_short", "", tiny{}.wasm()[:200]),
		refused("body_of_300_kb", "bytes, at most", withBody(strings.Repeat("\x01", 300<<10))),
		refused("blocks_nested_20_000_deep", "", withBody(strings.Repeat(w.Block, 20_000)+strings.Repeat(w.End, 20_000))),
		refused("locals_without_number", "locals", withLocals("\x01"+many+"\x7f")),
		refused("locals_in_many_groups", "locals", withLocals("\x03\xf0\x7f\x7f\xf0\x7f\x7f\xf0\x7f\x7f")),
		refused("memory_of_4_gb", "65536 pages, at most 256", []byte(strings.Join([]string{string(w.Header()), "\x05\x05\x01\x00\x80\x80\x04"}, ""))),
		refused("functions_60_000", "functions, at most", withFunctions(60_000)),
		refused("branch_table_of_4_gb", "", withBody(w.Block+w.I32Const(0)+"\x0e"+many+"\x00\x00"+w.End)),
		refused("stack_garbage", "", withBody(w.I32Const(1)+w.I32Const(2))),
		refused("stack_underflow", "", withBody(w.Drop)),
		{name: "custom_section_bomb", where: "load", fault: "none", wasm: tiny{more: func(m *w.Module) { m.Custom("name", []byte("\x01"+many+many)) }}.wasm()},
		{name: "data_past_the_memory", where: "load", fault: "any", wasm: tiny{more: func(m *w.Module) { m.Data(0x7fffffff, []byte("x")) }}.wasm()},
		{name: "frames_of_many_locals", where: "open", fault: "depth", wasm: framesOfManyLocals(5000, 990)},
		{name: "copies_memory_in_line", where: "feed", fault: "fuel", wasm: copiesInLine()},
		refused("branch_table_of_200_kb", "", withBody(w.Block+w.I32Const(0)+"\x0e"+string(w.U32(200_000))+strings.Repeat("\x00", 200_001)+w.End)),
		refused("segments_100_000", "segments that lie apart", tiny{more: func(m *w.Module) {
			for k := range 100_000 {
				m.Data(0xa000+int32(k%1000), []byte("x"))
			}
		}}.wasm()),
	}
	for id := byte(1); id <= 12; id++ {
		if id == 8 || id == 12 {
			continue // no vectors
		}
		out = append(out, refused(fmt.Sprintf("count_of_section_%d", id), "", w.Cat(w.Header(), w.Section(id, []byte(many+"\x60\x00\x00")))))
	}
	return out
}

// withBody is a module with one more function of that code.
func withBody(code string) []byte {
	return tiny{more: func(m *w.Module) { m.Func(m.Type(nil, nil), nil, code) }}.wasm()
}

// withLocals is a module with one more function of those locals.
func withLocals(groups string) []byte {
	return tiny{more: func(m *w.Module) { m.Body(m.Type(nil, nil), []byte(groups+w.End)) }}.wasm()
}

func withFunctions(n int) []byte {
	return tiny{more: func(m *w.Module) {
		typ := m.Type(nil, nil)
		for range n {
			m.Func(typ, nil)
		}
	}}.wasm()
}

// usual assembles a module whose feed and open are given, with what stands around them.
func usual(feed, open, more string) []byte {
	return wat.MustAssemble(`(module
  (memory (export "memory") 256)
  (data (i32.const 0x100) "WEI1" "\20\00\00\00" "\00\40\00\00" "\00\20\00\00" "\00\02\00\00" "\10\00\00\00" "\00\10\00\00" "\35\00\00\00")
  (data (i32.const 0x1000) "{\"name\":\"x\",\"version\":\"1\",\"abi\":1,\"kinds\":[\"parser\"]}")
  (func (export "weir1_describe") (result i32) (i32.const 0x100))
  (func (export "weir1_open") (param i32) (result i32) ` + open + ` (i32.const 0))
  (func $text (param $len i32) (result i64)
    (if (i32.eqz (local.get $len)) (then (return (i64.const 0))))
    (i64.store (i32.const 0x8000) (i64.const 0x400000000001))
    (i64.store32 (i32.const 0x8008) (i64.extend_i32_u (local.get $len)))
    (i64.const 0x800000000010))
  (func (export "weir1_feed") (param $len i32) (param i32 i32) (result i64) ` + feed + `)
  (func (export "weir1_finish") (param $len i32) (param i32 i32) (result i64) (call $text (local.get $len)))` + more + `)`)
}

// framesOfManyLocals goes deep in open, where much fuel is given, with as much on the stack as a frame can
// hold: the engine's stack is what grows, and it stays with the instance.
func framesOfManyLocals(n, deep int) []byte {
	var set, sum strings.Builder
	for k := range n {
		fmt.Fprintf(&set, "(local.set %d (i64.add (local.get $v) (i64.const %d)))\n", k+2, k)
		fmt.Fprintf(&sum, "(local.set $v (i64.add (local.get $v) (local.get %d)))\n", k+2)
	}
	return usual("(call $text (local.get $len))", fmt.Sprintf("(drop (call $down (i32.const %d) (i64.const 1)))", deep), `
  (func $down (param $n i32) (param $v i64) (result i64)
    (local `+strings.Repeat("i64 ", n)+`)
    (if (i32.eqz (local.get $n)) (then (return (local.get $v))))
    `+set.String()+`
    (local.set $v (call $down (i32.sub (local.get $n) (i32.const 1)) (i64.xor (local.get $v) (i64.const 5))))
    `+sum.String()+`
    (local.get $v))`)
}

// copiesInLine moves 15 MB four hundred times without a loop.
func copiesInLine() []byte {
	return usual(strings.Repeat("(memory.copy (i32.const 0x20001) (i32.const 0x20000) (i32.const 0xf00000))", 400)+"(i64.const 0)", "", "")
}
