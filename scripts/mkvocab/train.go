package main

import (
	"container/heap"
	"strings"
)

// maxLearned is the longest token worth an id.
const maxLearned = 32

// pair is a merge: the ids of two adjacent tokens that become one.
type pair struct{ left, right uint32 }

// word is a piece as the ids it is made of so far, and how often it was seen.
type word struct {
	ids   []uint32
	count int
}

// candidate is a pair and the count it had when it was queued; it is stale when the count has changed.
type candidate struct {
	pair  pair
	count int
}

// queue gives the most frequent pair first, ties by the lower ids, so that training is deterministic.
type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.count != b.count:
		return a.count > b.count
	case a.pair.left != b.pair.left:
		return a.pair.left < b.pair.left
	}
	return a.pair.right < b.pair.right
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// trainer holds the counts of all pairs and the words in which each stands.
type trainer struct {
	words  []word
	counts map[pair]int
	where  map[pair]map[int]struct{}
	queue  queue
	tokens []string
}

// train returns at most n merges, the most frequent pair first.
func train(counts map[string]int, n int) []pair {
	t := &trainer{counts: make(map[pair]int), where: make(map[pair]map[int]struct{}), tokens: byteTokens()}
	for _, piece := range byCount(counts) {
		w := word{count: counts[piece]}
		for i := range len(piece) {
			w.ids = append(w.ids, uint32(piece[i]))
		}
		t.words = append(t.words, w)
		t.add(len(t.words)-1, 1)
	}
	for p, count := range t.counts {
		t.queue = append(t.queue, candidate{p, count})
	}
	heap.Init(&t.queue)
	var merges []pair
	for len(merges) < n && len(t.queue) > 0 {
		c := heap.Pop(&t.queue).(candidate)
		if now := t.counts[c.pair]; now != c.count {
			if now > 0 {
				heap.Push(&t.queue, candidate{c.pair, now})
			}
			continue
		}
		if c.count < 2 {
			break
		}
		text := t.tokens[c.pair.left] + t.tokens[c.pair.right]
		if len(text) > maxLearned && strings.TrimLeft(text, " \n\t-=*#/_") != "" {
			continue
		}
		merges = append(merges, c.pair)
		t.tokens = append(t.tokens, text)
		t.merge(c.pair, uint32(len(t.tokens)-1))
	}
	return merges
}

// add counts the pairs of word i, sign times.
func (t *trainer) add(i, sign int) {
	w := &t.words[i]
	for j := 1; j < len(w.ids); j++ {
		p := pair{left: w.ids[j-1], right: w.ids[j]}
		t.counts[p] += sign * w.count
		if sign > 0 {
			if t.where[p] == nil {
				t.where[p] = make(map[int]struct{})
			}
			t.where[p][i] = struct{}{}
		}
	}
}

// merge replaces p by id in every word that has it and queues the pairs that this made. The order in
// which words are visited does not matter: the queue orders by count and ids alone.
func (t *trainer) merge(p pair, id uint32) {
	made := make(map[pair]struct{})
	for i := range t.where[p] {
		t.add(i, -1)
		w := &t.words[i]
		kept := w.ids[:0]
		for j := 0; j < len(w.ids); j++ {
			if j+1 < len(w.ids) && w.ids[j] == p.left && w.ids[j+1] == p.right {
				kept = append(kept, id)
				j++
				continue
			}
			kept = append(kept, w.ids[j])
		}
		w.ids = kept
		t.add(i, 1)
		for j := 1; j < len(w.ids); j++ {
			if q := (pair{left: w.ids[j-1], right: w.ids[j]}); q.left == id || q.right == id {
				made[q] = struct{}{}
			}
		}
	}
	delete(t.where, p)
	delete(t.counts, p)
	for q := range made {
		if t.counts[q] > 0 {
			heap.Push(&t.queue, candidate{q, t.counts[q]})
		}
	}
}
