package vocab

import (
	"slices"

	"github.com/weirgate/weir/gateway/tokenizer/internal/minheap"
)

// flatPiece is the most symbols that are merged by looking at all pairs for each merge: for few of them
// that beats a heap.
const flatPiece = 48

// symbol is a token in a list linked by index. val is what it and the next one merge to.
type symbol struct {
	val        uint64
	id         uint32
	prev, next int32
}

// merger merges the symbols that were put into it.
type merger struct {
	ids  []uint32 // the symbols to merge
	flat [flatPiece]flatSymbol
	list []symbol
	heap minheap.Heap // rank << 32 | index of the left symbol
}

type flatSymbol struct {
	val uint64
	id  uint32
}

// merge appends what the symbols merge to, and empties them.
func (m *merger) merge(dst []uint32, p *pairs) []uint32 {
	if len(m.ids) > flatPiece {
		dst = m.mergeLong(dst, p)
	} else {
		dst = m.mergeFlat(dst, p)
	}
	m.ids = m.ids[:0]
	return dst
}

func (m *merger) mergeFlat(dst []uint32, p *pairs) []uint32 {
	flat := m.flat[:len(m.ids)]
	for i, id := range m.ids {
		flat[i] = flatSymbol{noMerge, id}
		if i > 0 {
			flat[i-1].val = p.get(flat[i-1].id, id)
		}
	}
	for {
		best, at := noMerge>>32, -1
		for i := range flat {
			if rank := flat[i].val >> 32; rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			break
		}
		id := uint32(flat[at].val)
		flat[at].id = id
		copy(flat[at+1:], flat[at+2:])
		flat = flat[:len(flat)-1]
		flat[at].val = noMerge
		if at+1 < len(flat) {
			flat[at].val = p.get(id, flat[at+1].id)
		}
		if at > 0 {
			flat[at-1].val = p.get(flat[at-1].id, id)
		}
	}
	for i := range flat {
		dst = append(dst, flat[i].id)
	}
	return dst
}

// mergeLong merges with a heap: n log n for n symbols. An entry of the heap is stale when its symbol has
// another rank by now.
func (m *merger) mergeLong(dst []uint32, p *pairs) []uint32 {
	m.list, m.heap = slices.Grow(m.list[:0], len(m.ids)), slices.Grow(m.heap[:0], len(m.ids))
	for i, id := range m.ids {
		m.list = append(m.list, symbol{id: id, prev: int32(i - 1), next: int32(i + 1)})
	}
	m.list[len(m.list)-1].next = -1
	for i := range m.list {
		m.rank(int32(i), p)
	}
	for len(m.heap) > 0 {
		top := m.heap.Pop()
		at := int32(uint32(top))
		s := &m.list[at]
		if s.val>>32 != top>>32 {
			continue
		}
		gone := &m.list[s.next]
		s.id, s.next = uint32(s.val), gone.next
		gone.val = noMerge
		if s.next >= 0 {
			m.list[s.next].prev = at
		}
		m.rank(at, p)
		if s.prev >= 0 {
			m.rank(s.prev, p)
		}
	}
	for i := int32(0); i >= 0; i = m.list[i].next {
		dst = append(dst, m.list[i].id)
	}
	return dst
}

// rank looks up what symbol i and the next one merge to.
func (m *merger) rank(i int32, p *pairs) {
	s := &m.list[i]
	s.val = noMerge
	if s.next < 0 {
		return
	}
	if s.val = p.get(s.id, m.list[s.next].id); s.val != noMerge {
		m.heap.Push(s.val>>32<<32 | uint64(uint32(i)))
	}
}
