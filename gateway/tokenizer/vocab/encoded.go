package vocab

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Encoded is a text in ids, and those ids as the elements of a JSON array, without its brackets: what an
// engine is sent. The zero value is empty.
type Encoded struct {
	IDs []uint32

	pieces [][]byte // of the text; those of the cache stand where they are, since they are most of a long prompt
	own    []byte   // what is not the cache's
	from   int      // where the last piece begins in own, which has not ended
	size   int      // bytes in pieces
}

// Append adds ids that are known already.
func (t *Tokenizer) Append(dst *Encoded, ids ...uint32) {
	dst.IDs = append(dst.IDs, ids...)
	dst.write(t, ids)
}

// Text is the text in pieces, which are good and must not be changed until e is.
func (e *Encoded) Text() [][]byte {
	e.close()
	return e.pieces
}

// Size is the memory that e keeps, in bytes.
func (e *Encoded) Size() int { return 4*cap(e.IDs) + cap(e.own) + 24*cap(e.pieces) }

// Reset empties e and keeps its memory.
func (e *Encoded) Reset() {
	clear(e.pieces) // nothing of the cache is kept
	*e = Encoded{IDs: e.IDs[:0], pieces: e.pieces[:0], own: e.own[:0]}
}

// close ends the piece in own.
func (e *Encoded) close() {
	if b := e.own[e.from:]; len(b) > 0 {
		e.pieces = append(e.pieces, slices.Clip(b))
		e.from, e.size = len(e.own), e.size+len(b)
	}
}

// write adds the text of ids.
func (e *Encoded) write(t *Tokenizer, ids []uint32) {
	if e.size == 0 && e.from == len(e.own) && len(ids) > 0 { // the first has no comma before it
		e.own, ids = strconv.AppendUint(e.own, uint64(ids[0]), 10), ids[1:]
	}
	e.own = t.appendIDs(e.own, ids)
}

// lend adds a text of the cache, which begins with a comma. A short one is copied: a piece of its own costs more.
func (e *Encoded) lend(text []byte) {
	if e.size == 0 && e.from == len(e.own) {
		text = text[1:]
	}
	if len(text) < shortPiece {
		e.own = append(e.own, text...)
		return
	}
	e.close()
	e.pieces = append(e.pieces, text)
	e.size += len(text)
}

// shortPiece is the length of a text that is not worth a piece of its own, in bytes.
const shortPiece = 512

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

// appendIDs appends ids in decimal, with a comma before each.
func (t *Tokenizer) appendIDs(dst []byte, ids []uint32) []byte {
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
