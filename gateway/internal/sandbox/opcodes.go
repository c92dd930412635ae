package sandbox

// Instructions that the checks or the meter treat by themselves.
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelect       = 0x1b
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opI32LtU       = 0x49
	opI32GtS       = 0x4a
	opI64LtS       = 0x53
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64Mul       = 0x7e
	opI64ShrU      = 0x88
	opI64ExtendU   = 0xad // of an i32
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opBulk         = 0xfc // prefix
	opVector       = 0xfd // prefix
)

// Instructions behind the prefix opBulk.
const (
	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableSize  = 16
	bulkTableFill  = 17
)

const emptyBlock = 0x40 // block type without parameters and results

// shape is what follows an opcode.
type shape uint8

const (
	unknown shape = iota
	plain
	opens // block type
	alternative
	closes
	label
	labelTable
	function
	indirect
	types
	local
	global
	table
	address // alignment and offset
	reserved
	const32
	const64
	float32s
	float64s
	reference
	funcReference
	bulk
	vector
)

// shapes lists the instructions of WebAssembly 2.0 by their first byte.
var shapes = [256]shape{
	opUnreachable: plain, opNop: plain,
	opBlock: opens, opLoop: opens, opIf: opens, opElse: alternative, opEnd: closes,
	opBr: label, opBrIf: label, opBrTable: labelTable, opReturn: plain,
	opCall: function, opCallIndirect: indirect,
	0x1a: plain, opSelect: plain, 0x1c: types,
	0x20: local, 0x21: local, 0x22: local, opGlobalGet: global, opGlobalSet: global, 0x25: table, 0x26: table,
	0x28: address, 0x29: address, 0x2a: address, 0x2b: address, 0x2c: address, 0x2d: address, 0x2e: address, 0x2f: address,
	0x30: address, 0x31: address, 0x32: address, 0x33: address, 0x34: address, 0x35: address, 0x36: address, 0x37: address,
	0x38: address, 0x39: address, 0x3a: address, 0x3b: address, 0x3c: address, 0x3d: address, 0x3e: address,
	0x3f: reserved, opMemoryGrow: reserved,
	opI32Const: const32, opI64Const: const64, 0x43: float32s, 0x44: float64s,
	0x45: plain, 0x46: plain, 0x47: plain, 0x48: plain, 0x49: plain, 0x4a: plain, 0x4b: plain, 0x4c: plain,
	0x4d: plain, 0x4e: plain, 0x4f: plain, 0x50: plain, 0x51: plain, 0x52: plain, 0x53: plain, 0x54: plain,
	0x55: plain, 0x56: plain, 0x57: plain, 0x58: plain, 0x59: plain, 0x5a: plain, 0x5b: plain, 0x5c: plain,
	0x5d: plain, 0x5e: plain, 0x5f: plain, 0x60: plain, 0x61: plain, 0x62: plain, 0x63: plain, 0x64: plain,
	0x65: plain, 0x66: plain, 0x67: plain, 0x68: plain, 0x69: plain, 0x6a: plain, 0x6b: plain, 0x6c: plain,
	0x6d: plain, 0x6e: plain, 0x6f: plain, 0x70: plain, 0x71: plain, 0x72: plain, 0x73: plain, 0x74: plain,
	0x75: plain, 0x76: plain, 0x77: plain, 0x78: plain, 0x79: plain, 0x7a: plain, 0x7b: plain, 0x7c: plain,
	0x7d: plain, 0x7e: plain, 0x7f: plain, 0x80: plain, 0x81: plain, 0x82: plain, 0x83: plain, 0x84: plain,
	0x85: plain, 0x86: plain, 0x87: plain, 0x88: plain, 0x89: plain, 0x8a: plain, 0x8b: plain, 0x8c: plain,
	0x8d: plain, 0x8e: plain, 0x8f: plain, 0x90: plain, 0x91: plain, 0x92: plain, 0x93: plain, 0x94: plain,
	0x95: plain, 0x96: plain, 0x97: plain, 0x98: plain, 0x99: plain, 0x9a: plain, 0x9b: plain, 0x9c: plain,
	0x9d: plain, 0x9e: plain, 0x9f: plain, 0xa0: plain, 0xa1: plain, 0xa2: plain, 0xa3: plain, 0xa4: plain,
	0xa5: plain, 0xa6: plain, 0xa7: plain, 0xa8: plain, 0xa9: plain, 0xaa: plain, 0xab: plain, 0xac: plain,
	0xad: plain, 0xae: plain, 0xaf: plain, 0xb0: plain, 0xb1: plain, 0xb2: plain, 0xb3: plain, 0xb4: plain,
	0xb5: plain, 0xb6: plain, 0xb7: plain, 0xb8: plain, 0xb9: plain, 0xba: plain, 0xbb: plain, 0xbc: plain,
	0xbd: plain, 0xbe: plain, 0xbf: plain, 0xc0: plain, 0xc1: plain, 0xc2: plain, 0xc3: plain, 0xc4: plain,
	opRefNull: reference, 0xd1: plain, opRefFunc: funcReference,
	opBulk: bulk, opVector: vector,
}

// alignments holds the natural alignment, as a power of two, of the loads and stores 0x28 to 0x3e.
const alignments = "\x02\x03\x02\x03\x00\x00\x01\x01\x00\x00\x01\x01\x02\x02\x02\x03\x02\x03\x00\x01\x00\x01\x02"

// vectorAccess holds the same for the vector instructions 0x00 to 0x0b, and for 0x54 to 0x5d.
const (
	vectorAccess     = "\x04\x03\x03\x03\x03\x03\x03\x00\x01\x02\x03\x04"
	vectorLaneAccess = "\x00\x01\x02\x03\x00\x01\x02\x03\x02\x03"
)

// vectorLanes holds the number of lanes for the vector instructions 0x15 to 0x22.
const vectorLanes = "\x10\x10\x10\x08\x08\x08\x04\x04\x02\x02\x04\x04\x02\x02"

// Vector instructions that have immediates beside the ranges above.
const (
	vectorConst     = 0x0c
	vectorShuffle   = 0x0d
	vectorLaneFirst = 0x15
	vectorLoadLane  = 0x54
	vectorLoadZero  = 0x5c
	vectorLast      = 0xff
)

// vectorHoles are the numbers below vectorLast that name no vector instruction.
const vectorHoles = "\x9a\xa2\xa5\xa6\xaf\xb0\xb2\xb3\xb4\xbb\xc2\xc5\xc6\xcf\xd0\xd2\xd3\xd4\xe2\xee"
