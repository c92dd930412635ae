package vocab

import (
	"encoding/binary"
	"unsafe"
)

// The hot words of one encoder: 16 K of up to 16 bytes and 3 ids, 512 KB in all.
const (
	hotBits  = 14
	hotBytes = 16
	hotIDs   = 3
)

// hot finds the ids of frequent short words without a look at the vocabulary. A word loses its place to
// the next one that falls there.
type hot [1 << hotBits]hotWord

// hotWord has the bytes of a word in two numbers, which together with its length tell it from all others.
type hotWord struct {
	a, b uint64
	size uint8
	n    uint8
	ids  [hotIDs]uint32
}

// hotKey reads 1 to 16 bytes as two numbers.
func hotKey(s string) (a, b uint64) {
	p := unsafe.Slice(unsafe.StringData(s), len(s))
	switch n := len(p); {
	case n >= 8:
		return binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(p)) | uint64(binary.LittleEndian.Uint32(p[n-4:]))<<32, 0
	default:
		return uint64(p[0]) | uint64(p[n/2])<<8 | uint64(p[n-1])<<16, 0
	}
}

// place returns where a word of 1 to 16 bytes stands, or would stand.
func (h *hot) place(a, b uint64, size int) *hotWord {
	x := (a^uint64(size)<<56)*0x9E3779B97F4A7C15 ^ (b+1)*0xC2B2AE3D27D4EB4F
	return &h[(x^x>>29)*0xBF58476D1CE4E5B9>>(64-hotBits)]
}
