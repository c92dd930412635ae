package wat

import "strings"

// immediate is what stands behind an opcode.
type immediate byte

const (
	immZero immediate = iota // a zero byte that the text does not show
	immMemory
	immLabel
	immLabels
	immType
	immTable
	immI32
	immI64
	immF32
	immF64
	immHeap
	immLocal
	immFunc
	immGlobal
	immData
	immElem
)

// space is where an immediate that is an index looks its name up.
func (i immediate) space() space {
	switch i {
	case immGlobal:
		return globals
	case immData:
		return datas
	case immElem:
		return elems
	case immTable:
		return tables
	}
	return funcs
}

type op struct {
	code       []byte
	immediates []immediate
}

// special lists the instructions with immediates of their own kind.
var special = [...]struct {
	name       string
	code       string
	immediates []immediate
}{
	{"unreachable", "\x00", nil},
	{"nop", "\x01", nil},
	{"br", "\x0c", []immediate{immLabel}},
	{"br_if", "\x0d", []immediate{immLabel}},
	{"br_table", "\x0e", []immediate{immLabels}},
	{"return", "\x0f", nil},
	{"call", "\x10", []immediate{immFunc}},
	{"call_indirect", "\x11", []immediate{immType, immZero}},
	{"drop", "\x1a", nil},
	{"select", "\x1b", nil},
	{"local.get", "\x20", []immediate{immLocal}},
	{"local.set", "\x21", []immediate{immLocal}},
	{"local.tee", "\x22", []immediate{immLocal}},
	{"global.get", "\x23", []immediate{immGlobal}},
	{"global.set", "\x24", []immediate{immGlobal}},
	{"table.get", "\x25", []immediate{immTable}},
	{"table.set", "\x26", []immediate{immTable}},
	{"memory.size", "\x3f", []immediate{immZero}},
	{"memory.grow", "\x40", []immediate{immZero}},
	{"i32.const", "\x41", []immediate{immI32}},
	{"i64.const", "\x42", []immediate{immI64}},
	{"f32.const", "\x43", []immediate{immF32}},
	{"f64.const", "\x44", []immediate{immF64}},
	{"ref.null", "\xd0", []immediate{immHeap}},
	{"ref.is_null", "\xd1", nil},
	{"ref.func", "\xd2", []immediate{immFunc}},
	{"memory.init", "\xfc\x08", []immediate{immData, immZero}},
	{"data.drop", "\xfc\x09", []immediate{immData}},
	{"memory.copy", "\xfc\x0a", []immediate{immZero, immZero}},
	{"memory.fill", "\xfc\x0b", []immediate{immZero}},
	{"table.init", "\xfc\x0c", []immediate{immElem, immZero}},
	{"elem.drop", "\xfc\x0d", []immediate{immElem}},
	{"table.copy", "\xfc\x0e", []immediate{immZero, immZero}},
	{"table.grow", "\xfc\x0f", []immediate{immTable}},
	{"table.size", "\xfc\x10", []immediate{immTable}},
	{"table.fill", "\xfc\x11", []immediate{immTable}},
}

// access lists the loads and stores, from opcode 0x28 up.
var access = [...]string{
	"i32.load", "i64.load", "f32.load", "f64.load",
	"i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u",
	"i64.load8_s", "i64.load8_u", "i64.load16_s", "i64.load16_u", "i64.load32_s", "i64.load32_u",
	"i32.store", "i64.store", "f32.store", "f64.store",
	"i32.store8", "i32.store16", "i64.store8", "i64.store16", "i64.store32",
}

// width is what an access of that name moves, as the power of two that its alignment is when the text says
// none.
func width(name string) uint32 {
	_, what, _ := strings.Cut(name, ".")
	switch {
	case strings.Contains(what, "8"):
		return 0
	case strings.Contains(what, "16"):
		return 1
	case strings.Contains(what, "32"):
		return 2
	case name[1:3] == "32":
		return 2
	}
	return 3
}

// numeric lists the instructions without immediates, from opcode 0x45 up.
var numeric = [...]string{
	"i32.eqz", "i32.eq", "i32.ne", "i32.lt_s", "i32.lt_u", "i32.gt_s", "i32.gt_u", "i32.le_s", "i32.le_u", "i32.ge_s", "i32.ge_u",
	"i64.eqz", "i64.eq", "i64.ne", "i64.lt_s", "i64.lt_u", "i64.gt_s", "i64.gt_u", "i64.le_s", "i64.le_u", "i64.ge_s", "i64.ge_u",
	"f32.eq", "f32.ne", "f32.lt", "f32.gt", "f32.le", "f32.ge",
	"f64.eq", "f64.ne", "f64.lt", "f64.gt", "f64.le", "f64.ge",
	"i32.clz", "i32.ctz", "i32.popcnt", "i32.add", "i32.sub", "i32.mul", "i32.div_s", "i32.div_u", "i32.rem_s", "i32.rem_u",
	"i32.and", "i32.or", "i32.xor", "i32.shl", "i32.shr_s", "i32.shr_u", "i32.rotl", "i32.rotr",
	"i64.clz", "i64.ctz", "i64.popcnt", "i64.add", "i64.sub", "i64.mul", "i64.div_s", "i64.div_u", "i64.rem_s", "i64.rem_u",
	"i64.and", "i64.or", "i64.xor", "i64.shl", "i64.shr_s", "i64.shr_u", "i64.rotl", "i64.rotr",
	"f32.abs", "f32.neg", "f32.ceil", "f32.floor", "f32.trunc", "f32.nearest", "f32.sqrt",
	"f32.add", "f32.sub", "f32.mul", "f32.div", "f32.min", "f32.max", "f32.copysign",
	"f64.abs", "f64.neg", "f64.ceil", "f64.floor", "f64.trunc", "f64.nearest", "f64.sqrt",
	"f64.add", "f64.sub", "f64.mul", "f64.div", "f64.min", "f64.max", "f64.copysign",
	"i32.wrap_i64", "i32.trunc_f32_s", "i32.trunc_f32_u", "i32.trunc_f64_s", "i32.trunc_f64_u",
	"i64.extend_i32_s", "i64.extend_i32_u", "i64.trunc_f32_s", "i64.trunc_f32_u", "i64.trunc_f64_s", "i64.trunc_f64_u",
	"f32.convert_i32_s", "f32.convert_i32_u", "f32.convert_i64_s", "f32.convert_i64_u", "f32.demote_f64",
	"f64.convert_i32_s", "f64.convert_i32_u", "f64.convert_i64_s", "f64.convert_i64_u", "f64.promote_f32",
	"i32.reinterpret_f32", "i64.reinterpret_f64", "f32.reinterpret_i32", "f64.reinterpret_i64",
	"i32.extend8_s", "i32.extend16_s", "i64.extend8_s", "i64.extend16_s", "i64.extend32_s",
}

func opcodes() map[string]op {
	out := make(map[string]op, len(special)+len(access)+len(numeric))
	for _, s := range special {
		out[s.name] = op{[]byte(s.code), s.immediates}
	}
	for k, name := range access {
		out[name] = op{[]byte{0x28 + byte(k)}, []immediate{immMemory}}
	}
	for k, name := range numeric {
		out[name] = op{[]byte{0x45 + byte(k)}, nil}
	}
	return out
}
