package sandbox

import "strings"

// heights holds how many more operands there are behind an instruction, where its number alone tells.
var heights = [256]int8{
	opIf: -1, opBrIf: -1, opBrTable: -1, opCallIndirect: -1,
	0x1a: -1, opSelect: -2, 0x1c: -2,
	opLocalGet: 1, opLocalSet: -1, opGlobalGet: 1, opGlobalSet: -1, 0x26: -2,
	0x36: -2, 0x37: -2, 0x38: -2, 0x39: -2, 0x3a: -2, 0x3b: -2, 0x3c: -2, 0x3d: -2, 0x3e: -2,
	opMemorySize: 1, opI32Const: 1, opI64Const: 1, 0x43: 1, 0x44: 1,
	0x46: -1, 0x47: -1, 0x48: -1, 0x49: -1, 0x4a: -1, 0x4b: -1, 0x4c: -1, 0x4d: -1, 0x4e: -1, 0x4f: -1,
	0x51: -1, 0x52: -1, 0x53: -1, 0x54: -1, 0x55: -1, 0x56: -1, 0x57: -1, 0x58: -1, 0x59: -1, 0x5a: -1,
	0x5b: -1, 0x5c: -1, 0x5d: -1, 0x5e: -1, 0x5f: -1, 0x60: -1,
	0x61: -1, 0x62: -1, 0x63: -1, 0x64: -1, 0x65: -1, 0x66: -1,
	0x6a: -1, 0x6b: -1, 0x6c: -1, 0x6d: -1, 0x6e: -1, 0x6f: -1, 0x70: -1, 0x71: -1,
	0x72: -1, 0x73: -1, 0x74: -1, 0x75: -1, 0x76: -1, 0x77: -1, 0x78: -1,
	0x7c: -1, 0x7d: -1, 0x7e: -1, 0x7f: -1, 0x80: -1, 0x81: -1, 0x82: -1, 0x83: -1,
	0x84: -1, 0x85: -1, 0x86: -1, 0x87: -1, 0x88: -1, 0x89: -1, 0x8a: -1,
	0x92: -1, 0x93: -1, 0x94: -1, 0x95: -1, 0x96: -1, 0x97: -1, 0x98: -1,
	0xa0: -1, 0xa1: -1, 0xa2: -1, 0xa3: -1, 0xa4: -1, 0xa5: -1, 0xa6: -1,
	opRefNull: 1, opRefFunc: 1,
}

// bulkHeight is the same for the instructions behind opBulk.
func bulkHeight(sub uint32) int {
	switch sub {
	case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableFill:
		return -3
	case bulkTableGrow:
		return -1
	case bulkTableSize:
		return 1
	}
	return 0
}

// Vector instructions by what they take, where it is not two operands for one.
const (
	vectorUnary = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0f\x10\x11\x12\x13\x14\x15\x16\x18\x19\x1b\x1d\x1f\x21" +
		"\x4d\x53\x5c\x5d\x5e\x5f\x60\x61\x62\x63\x64\x67\x68\x69\x6a\x74\x75\x7a\x7c\x7d\x7e\x7f\x80\x81\x83\x84" +
		"\x87\x88\x89\x8a\x94\xa0\xa1\xa3\xa4\xa7\xa8\xa9\xaa\xc0\xc1\xc3\xc4\xc7\xc8\xc9\xca\xe0\xe1\xe3" +
		"\xec\xed\xef\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"
	vectorThird = "\x0b\x52\x58\x59\x5a\x5b" // two operands fewer
)

func vectorHeight(sub uint32) int {
	switch {
	case sub == vectorConst:
		return 1
	case strings.IndexByte(vectorUnary, byte(sub)) >= 0:
		return 0
	case strings.IndexByte(vectorThird, byte(sub)) >= 0:
		return -2
	}
	return -1
}

// What the processor takes long for, with the operands that it takes longest for: numbers near zero.
const (
	fuelProduct = 30 // products, quotients and roots
	fuelRound   = 8  // what rounds or converts vectors
)

// Vector instructions of these prices.
const (
	vectorProducts = "\xe3\xe6\xe7\xef\xf2\xf3"
	vectorRounds   = "\x5e\x5f\x67\x68\x69\x6a\x74\x75\x7a\x94\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"
)

// number counts an arithmetic instruction that is not as cheap as others.
func (c *code) number() {
	switch op := c.op; {
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1:
		c.traps++ // divisions of integers, and conversions to them
	case op == 0x91, op == 0x94, op == 0x95, op == 0x9f, op == 0xa2, op == 0xa3:
		c.dear(fuelProduct)
	}
}

// dear sets what the instruction costs, where that is its own time. Of such instructions fewer run before
// a test, but not as much fewer as they cost more, since each test costs the compiler something.
func (c *code) dear(cost int) {
	c.cost += cost - 1
	c.debt += (cost - 1) / 10
}

func vectorPrice(sub uint32) int {
	switch {
	case strings.IndexByte(vectorProducts, byte(sub)) >= 0:
		return fuelProduct
	case strings.IndexByte(vectorRounds, byte(sub)) >= 0:
		return fuelRound
	}
	return 1
}
