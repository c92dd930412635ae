package vocab

import (
	"hash/maphash"
	"math/rand/v2"
)

// table finds ids by their bytes: open addressing, a random seed in each, so that no vocabulary or text
// can be made to collide.
type table struct {
	seed   maphash.Seed
	slots  []slot
	tokens []string
}

type slot struct{ hash, id1 uint32 } // id + 1; 0: free

func newTable(tokens []string) *table {
	size := 16
	for size < 2*len(tokens) {
		size *= 2
	}
	return &table{seed: maphash.MakeSeed(), slots: make([]slot, size), tokens: tokens}
}

func (t *table) hash(s string) uint64 { return maphash.String(t.seed, s) }

// put adds an id unless its bytes are there already.
func (t *table) put(id uint32) {
	s := t.tokens[id]
	h := t.hash(s)
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := &t.slots[i]
		if e.id1 == 0 {
			*e = slot{uint32(h >> 32), id + 1}
			return
		}
		if e.hash == uint32(h>>32) && t.tokens[e.id1-1] == s {
			return
		}
	}
}

// find returns the id of s, whose hash is h, or NoToken.
func (t *table) find(h uint64, s string) uint32 {
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := t.slots[i]
		if e.id1 == 0 {
			return NoToken
		}
		if e.hash == uint32(h>>32) && t.tokens[e.id1-1] == s {
			return e.id1 - 1
		}
	}
}

func (t *table) get(s string) uint32 { return t.find(t.hash(s), s) }

// pairs maps a pair of ids to rank << 32 | id of their merge.
type pairs struct {
	slots []pairSlot
	mult  uint64
	shift uint
}

type pairSlot struct {
	key uint64 // left << 32 | right, plus 1; 0: free
	val uint64
}

// noMerge is the value of a pair without one: its rank is the highest.
const noMerge = ^uint64(0)

func newPairs(n int) pairs {
	bits := uint(4)
	for 1<<bits < n+n/2 {
		bits++
	}
	return pairs{slots: make([]pairSlot, 1<<bits), mult: rand.Uint64() | 1, shift: 64 - bits}
}

func (p *pairs) place(key uint64) uint64 {
	h := key * p.mult
	return (h ^ h>>32) * 0x9E3779B97F4A7C15 >> p.shift
}

func (p *pairs) get(left, right uint32) uint64 {
	key := (uint64(left)<<32 | uint64(right)) + 1
	mask := uint64(len(p.slots) - 1)
	for i := p.place(key); ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.key == key {
			return s.val
		}
		if s.key == 0 {
			return noMerge
		}
	}
}

// put sets the merge of a pair, the last one if it has several.
func (p *pairs) put(m Merge) {
	key := (uint64(m.Left)<<32 | uint64(m.Right)) + 1
	mask := uint64(len(p.slots) - 1)
	for i := p.place(key); ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.key == 0 || s.key == key {
			*s = pairSlot{key, uint64(m.Rank)<<32 | uint64(m.ID)}
			return
		}
	}
}
