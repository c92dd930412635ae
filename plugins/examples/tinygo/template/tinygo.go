//go:build wasip1

// Command recent is a template policy: the reasoning in front of the last message that a user wrote is
// dropped from the prompt, and everything else is kept. It speaks the ABI itself and allocates nothing but the room
// that the host asks for. ABI.md numbers the sections named here.
package main

import (
	"encoding/binary"
	"unsafe"
)

const manifest = `{"name": "recent", "version": "1.0.0", "abi": 1, "kinds": ["template"],` +
	` "policies": ["recent"], "description": "drops the reasoning in front of the last user message"}`

const policy = "recent"

// Error codes (§14).
const (
	errConfig = -1
	errInput  = -2
)

// Outlines and plans (§12).
const (
	headerSize = 16
	rowSize    = 24
	opSize     = 16
	maxOps     = 262144 / opSize
	reasoning  = 2 // kind of a row
	lastUser   = 4 // flag of a row
	partOp     = 2
	drop       = 1
)

// firstRoom is the input buffer of most conversations; a longer one makes the host ask for more, up to
// maxRoom.
const (
	firstRoom = 64 << 10
	maxRoom   = 8 << 20
	maxInCap  = 1 << 20 // of the descriptor
)

// A Wasm export has no receiver, so the instance stands in static memory. A buffer that grew is kept; the one
// before it is not used again.
var (
	input  = make([]byte, firstRoom)
	offers [8]uint32
)

func address(ptr unsafe.Pointer) uint32 { return uint32(uintptr(ptr)) }

func base() uint32 { return address(unsafe.Pointer(unsafe.SliceData(input))) }

//go:wasmexport weir1_describe
func describe() uint32 {
	offers = [8]uint32{
		0x31494557, 32, base(), uint32(min(len(input), maxInCap)), 0, 0,
		address(unsafe.Pointer(unsafe.StringData(manifest))), uint32(len(manifest)),
	}
	return address(unsafe.Pointer(&offers))
}

//go:wasmexport weir1_reserve
func reserve(n uint32) uint32 {
	if n > maxRoom {
		return 0
	}
	if int(n) > len(input) {
		input = make([]byte, max(int(n), 2*len(input)))
	}
	return base()
}

//go:wasmexport weir1_open
func open(n uint32) int32 {
	if int(n) > len(input) || !configure(input[:n]) {
		return errConfig
	}
	return 0
}

// configure looks at the strings of the outermost object: behind a colon they are values, else names (§3).
func configure(config []byte) bool {
	depth, colon, key := 0, false, config[:0]
	if len(config) == 0 || config[0] != '{' {
		return false
	}
	for i := 0; i < len(config); i++ {
		switch config[i] {
		case '{':
			depth++
			colon = false
		case '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			colon = false
		case ':':
			colon = true
		case '"':
			from := i + 1
			for i = from; i < len(config) && config[i] != '"'; i++ {
				if config[i] == '\\' {
					i++
				}
			}
			if i >= len(config) {
				return false
			}
			text := config[from:i]
			switch {
			case depth != 1:
			case !colon:
				key = text
			case string(key) == "policy" && len(text) > 0 && string(text) != policy:
				return false
			}
		}
	}
	return depth == 0
}

// plan drops what is old, the oldest first; nothing is old in a conversation that no user wrote in. An
// instruction is shorter than a row, so the plan takes the place of the rows that were read.
//
//go:wasmexport weir1_plan
func plan(n uint32) int64 {
	le := binary.LittleEndian
	if n < headerSize || int(n) > len(input) || le.Uint32(input) != 1 {
		return errInput
	}
	rows := le.Uint32(input[4:])
	if rows > (n-headerSize)/rowSize {
		return errInput
	}
	end := headerSize + rows*rowSize
	last := uint32(0)
	for at := uint32(headerSize); at < end; at += rowSize {
		if le.Uint16(input[at+18:])&lastUser != 0 {
			last = le.Uint32(input[at:])
		}
	}
	size := uint32(0)
	for at := uint32(headerSize); at < end && size < maxOps*opSize; at += rowSize {
		message, part := le.Uint32(input[at:]), le.Uint16(input[at+4:])
		if input[at+6] != reasoning || message >= last {
			continue
		}
		op := input[size : size+opSize]
		clear(op)
		le.PutUint16(op, partOp)
		op[2] = drop
		le.PutUint32(op[4:], message)
		le.PutUint16(op[8:], part)
		size += opSize
	}
	return int64(base())<<32 | int64(size)
}

func main() {}
