package vocab

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Encoded is a text in ids, and those ids as the elements of a JSON array, without its brackets: what an
// engine is sent. The zero value is empty. Who changes one of the two fields changes the other.
type Encoded struct {
	IDs  []uint32
	Text []byte
}

// Append adds ids that are known already.
func (t *Tokenizer) Append(dst *Encoded, ids ...uint32) {
	dst.IDs = append(dst.IDs, ids...)
	dst.Text = t.appendIDs(dst.Text, ids)
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

// written is how ids below it stand in the table of decimals: a comma and up to six digits in the low bytes of a
// word, the first one lowest, and the number of these bytes in the highest.
const written = 1_000_000

// newDecimals makes the table for n ids. A long prompt is hundreds of kilobytes of digits: to copy a word for each
// id costs a third of working them out.
func newDecimals(n int) []uint64 {
	table := make([]uint64, min(n, written))
	var b [8]byte
	for id := range table {
		text := strconv.AppendUint(append(b[:0], ','), uint64(id), 10)
		clear(b[len(text):])
		b[7] = byte(len(text))
		table[id] = binary.LittleEndian.Uint64(b[:])
	}
	return table
}

// appendIDs appends ids in decimal with commas between them, and before them unless dst is empty.
func (t *Tokenizer) appendIDs(dst []byte, ids []uint32) []byte {
	if len(dst) == 0 && len(ids) > 0 {
		dst, ids = strconv.AppendUint(dst, uint64(ids[0]), 10), ids[1:]
	}
	const widest = 1 + 10 // a comma and digits
	table := t.decimals()
	at := len(dst)
	dst = slices.Grow(dst, widest*len(ids)+8)
	b := dst[:cap(dst)]
	for _, id := range ids {
		if int(id) >= len(table) { // not of this vocabulary, or of one as large as there is none
			at = len(strconv.AppendUint(append(b[:at], ','), uint64(id), 10))
			continue
		}
		word := table[id]
		binary.LittleEndian.PutUint64(b[at:], word)
		at += int(word >> 56)
	}
	return b[:at]
}
