package vocab

import (
	"slices"
	"strings"
	"sync/atomic"
)

// The bounds of the word cache: 32 K words of 64 bytes and 24 ids are 6 MB at most.
const (
	wordSlots = 1 << 15
	wordBytes = 64
	wordIDs   = 24
)

// words remembers what words merge to. A word has two places to stand in; it loses them to others, and
// none of it needs a lock.
type words struct {
	slots [wordSlots]atomic.Pointer[word]
}

type word struct {
	text string
	ids  []uint32
}

// get returns the ids of text, whose hash is h.
func (w *words) get(h uint64, text string) ([]uint32, bool) {
	for way := range uint64(2) {
		if e := w.slots[h%wordSlots^way].Load(); e != nil && e.text == text {
			return e.ids, true
		}
	}
	return nil, false
}

func (w *words) put(h uint64, text string, ids []uint32) {
	if len(text) > wordBytes || len(ids) > wordIDs {
		return
	}
	at := h % wordSlots
	if w.slots[at].Load() != nil && (w.slots[at^1].Load() == nil || h>>63 != 0) {
		at ^= 1
	}
	w.slots[at].Store(&word{strings.Clone(text), slices.Clone(ids)})
}

// marks is two bits for each id, set at most once.
type marks []atomic.Uint32

func newMarks(n int) marks { return make(marks, n/16+1) }

func (m marks) get(id uint32) uint32 { return m[id/16].Load() >> (id % 16 * 2) & 3 }

func (m marks) set(id, v uint32) { m[id/16].Or(v << (id % 16 * 2)) }

// bitset is a set of ids.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, n/64+1) }

func (b bitset) has(id uint32) bool {
	return int(id/64) < len(b) && b[id/64]>>(id%64)&1 != 0
}

func (b bitset) add(id uint32) { b[id/64] |= 1 << (id % 64) }
