package vocab

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Encoded is a text in ids, and those ids as the elements of a JSON array, without its brackets: what an
// engine is sent. The zero value is empty. Who changes one of the two fields changes the other.
type Encoded struct {
	IDs  []uint32
	Text []byte
}

// Append adds ids that are known already.
func (e *Encoded) Append(ids ...uint32) {
	e.IDs = append(e.IDs, ids...)
	e.Text = appendIDs(e.Text, ids)
}

// Reset empties e and keeps its memory.
func (e *Encoded) Reset() { e.IDs, e.Text = e.IDs[:0], e.Text[:0] }

// listOf copies the text of ids, with a comma before each of them.
func listOf(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	list := make([]byte, 0, len(text)+1)
	if text[0] != ',' {
		list = append(list, ',')
	}
	return append(list, text...)
}

// appendList appends what listOf returned.
func appendList(dst, list []byte) []byte {
	if len(dst) == 0 {
		list = list[1:]
	}
	return append(dst, list...)
}

// appendIDs appends ids in decimal with commas between them, and before them unless dst is empty. A long
// prompt is hundreds of kilobytes of digits, so the last eight of a number are made all at once: it is cut in
// halves at 10^4, at 10^2 and at 10, in all lanes of a word together, with reciprocals that are exact for
// what a lane can hold.
func appendIDs(dst []byte, ids []uint32) []byte {
	const widest = 10 + 1 // digits and a comma
	at := len(dst)
	dst = slices.Grow(dst, widest*len(ids)+8)
	b := dst[:cap(dst)]
	for _, id := range ids {
		if at > 0 {
			b[at] = ','
			at++
		}
		leading := uint(56) // bits of zeros that may be left out: the last digit always stays
		if id >= 1e8 {
			top := id / 1e8
			if id, leading = id-top*1e8, 0; top >= 10 {
				b[at] = byte('0' + top/10)
				at++
			}
			b[at] = byte('0' + top%10)
			at++
		}
		v := uint64(id/1e4) | uint64(id%1e4)<<32
		high := v * 5243 >> 19 & 0x7f_0000_007f
		v = high | (v-high*100)<<16
		high = v * 103 >> 10 & 0x0f_000f_000f_000f
		v = high | (v-high*10)<<8 // the first digit is the lowest byte
		zeros := uint(bits.TrailingZeros64(v|1<<56)) & leading
		binary.LittleEndian.PutUint64(b[at:], (v|0x3030303030303030)>>zeros)
		at += 8 - int(zeros>>3)
	}
	return b[:at]
}
