// Package minheap is a heap of numbers with the least on top, as the merging of a long word needs it.
package minheap

// Heap is a binary heap. The zero value is empty; h[:0] empties one and keeps its memory.
type Heap []uint64

// Push adds a number.
func (h *Heap) Push(v uint64) {
	s := append(*h, v)
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up] <= s[i] {
			break
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
	*h = s
}

// Pop takes the least number off; there must be one.
func (h *Heap) Pop() uint64 {
	s := *h
	top, n := s[0], len(s)-1
	s[0], s = s[n], s[:n]
	for i := 0; ; {
		low := 2*i + 1
		if low >= n {
			break
		}
		if low+1 < n && s[low+1] < s[low] {
			low++
		}
		if s[i] <= s[low] {
			break
		}
		s[i], s[low] = s[low], s[i]
		i = low
	}
	*h = s
	return top
}
