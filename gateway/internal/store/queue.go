package store

import "container/heap"

// queue is a heap of nodes that know their places in it, so that any of them can be moved or taken out.
type queue struct {
	nodes []*node
	less  func(a, b *node) bool
	at    func(*node) *int // its place, from 1; 0: it is not in the queue
}

// first is the node that is less than all others, or nil.
func (q *queue) first() *node {
	if len(q.nodes) == 0 {
		return nil
	}
	return q.nodes[0]
}

func (q *queue) push(n *node) { heap.Push((*nodes)(q), n) }

// remove takes a node out, if it is in.
func (q *queue) remove(n *node) {
	if at := *q.at(n); at > 0 {
		heap.Remove((*nodes)(q), at-1)
	}
}

// fix finds the place of a node that changed, if it is in.
func (q *queue) fix(n *node) {
	if at := *q.at(n); at > 0 {
		heap.Fix((*nodes)(q), at-1)
	}
}

// nodes is a queue as container/heap wants it.
type nodes queue

func (h *nodes) Len() int           { return len(h.nodes) }
func (h *nodes) Less(i, j int) bool { return h.less(h.nodes[i], h.nodes[j]) }

func (h *nodes) Swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	*h.at(h.nodes[i]), *h.at(h.nodes[j]) = i+1, j+1
}

func (h *nodes) Push(x any) {
	n, _ := x.(*node)
	h.nodes = append(h.nodes, n)
	*h.at(n) = len(h.nodes)
}

func (h *nodes) Pop() any {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes[last] = nil
	h.nodes = h.nodes[:last]
	*h.at(n) = 0
	return n
}
