package tokenizer

import (
	"math/rand/v2"

	"github.com/weirgate/weir/gateway/tokenizer/internal/minheap"
)

// none marks a pair without a merge; no id is that high.
const none = ^uint32(0)

// flatPiece is the longest piece that is merged by looking at all pairs for each merge: for short ones
// that beats a heap.
const flatPiece = 48

// merger is the working memory of one encoder.
type merger struct {
	ids   []uint32
	flat  [flatPiece + 1]flatPart
	parts []part
	heap  minheap.Heap // rank << 32 | index of the left part
}

type flatPart struct{ id, rank uint32 }

// part is a token in a list linked by index. rank is the id that it and the next part merge to.
type part struct {
	id, rank   uint32
	prev, next int32
}

// merge appends the ids of piece: as long as two adjacent tokens have a merge, the one of the lowest
// rank, the leftmost of these, is done.
func (m *merger) merge(dst []uint32, piece string, pairs *pairTable) []uint32 {
	if len(piece) > flatPiece {
		return m.mergeLong(dst, piece, pairs)
	}
	parts := m.flat[:len(piece)]
	for i := range parts {
		parts[i].id = uint32(piece[i])
		parts[i].rank = none
		if i > 0 {
			parts[i-1].rank = pairs.get(parts[i-1].id, parts[i].id)
		}
	}
	for {
		best, at := none, 0
		for i := range parts {
			if parts[i].rank < best {
				best, at = parts[i].rank, i
			}
		}
		if best == none {
			break
		}
		parts[at].id = best
		copy(parts[at+1:], parts[at+2:])
		parts = parts[:len(parts)-1]
		parts[at].rank = none
		if at+1 < len(parts) {
			parts[at].rank = pairs.get(best, parts[at+1].id)
		}
		if at > 0 {
			parts[at-1].rank = pairs.get(parts[at-1].id, best)
		}
	}
	for _, p := range parts {
		dst = append(dst, p.id)
	}
	return dst
}

// mergeLong is merge with a heap: n log n for n bytes. An entry of the heap is stale when its part has
// another rank by now.
func (m *merger) mergeLong(dst []uint32, piece string, pairs *pairTable) []uint32 {
	m.parts, m.heap = m.parts[:0], m.heap[:0]
	for i := range len(piece) {
		m.parts = append(m.parts, part{id: uint32(piece[i]), rank: none, prev: int32(i - 1), next: int32(i + 1)})
	}
	m.parts[len(piece)-1].next = -1
	for i := range len(piece) - 1 {
		m.rank(int32(i), pairs)
	}
	for len(m.heap) > 0 {
		top := m.heap.Pop()
		rank, at := uint32(top>>32), int32(uint32(top))
		p := &m.parts[at]
		if p.rank != rank {
			continue
		}
		gone := &m.parts[p.next]
		p.id, p.next = rank, gone.next
		gone.rank = none
		if p.next >= 0 {
			m.parts[p.next].prev = at
		}
		m.rank(at, pairs)
		if p.prev >= 0 {
			m.rank(p.prev, pairs)
		}
	}
	for i := int32(0); i >= 0; i = m.parts[i].next {
		dst = append(dst, m.parts[i].id)
	}
	return dst
}

// rank looks up what part i and the next one merge to.
func (m *merger) rank(i int32, pairs *pairTable) {
	p := &m.parts[i]
	p.rank = none
	if p.next < 0 {
		return
	}
	if p.rank = pairs.get(p.id, m.parts[p.next].id); p.rank != none {
		m.heap.Push(uint64(p.rank)<<32 | uint64(i))
	}
}

// pairTable maps a pair of ids to the id they merge to: open addressing with a multiplier of its own in
// each table, so that no vocabulary can be made to collide.
type pairTable struct {
	slots []pairSlot
	mult  uint64
	shift uint
}

type pairSlot struct {
	left, right uint32
	id          uint32 // 0: the slot is free
}

func newPairTable(n int) pairTable {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return pairTable{slots: make([]pairSlot, 1<<bits), mult: rand.Uint64() | 1, shift: 64 - bits}
}

func (t *pairTable) slot(left, right uint32) uint64 {
	h := (uint64(left)<<32 | uint64(right)) * t.mult
	return (h ^ h>>29) * 0x9E3779B97F4A7C15 >> t.shift
}

func (t *pairTable) get(left, right uint32) uint32 {
	mask := uint64(len(t.slots) - 1)
	for i := t.slot(left, right); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.id == 0 {
			return none
		}
		if s.left == left && s.right == right {
			return s.id
		}
	}
}

// put adds a pair and reports whether it was new.
func (t *pairTable) put(p Pair, id uint32) bool {
	mask := uint64(len(t.slots) - 1)
	for i := t.slot(p.Left, p.Right); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.id == 0 {
			*s = pairSlot{left: p.Left, right: p.Right, id: id}
			return true
		}
		if s.left == p.Left && s.right == p.Right {
			return false
		}
	}
}
