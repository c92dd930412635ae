package tokenizer

import "strings"

// markers finds special tokens in text: a trie behind a table of first bytes. The zero value has none.
type markers struct {
	first [256]bool
	only  int // the first byte of all markers + 1; 0: none yet, -1: several
	nodes []node
}

// node is a prefix of markers. Its edges are few, so they are searched one by one.
type node struct {
	end   uint32 // id + 1 of the marker that ends here, 0: none does
	edges []edge
}

type edge struct {
	char byte
	to   uint32
}

// next returns the node behind c, 0 if there is none: no edge leads back to the root.
func (n *node) next(c byte) uint32 {
	for _, e := range n.edges {
		if e.char == c {
			return e.to
		}
	}
	return 0
}

func (m *markers) put(text string, id uint32) bool {
	if m.nodes == nil {
		m.nodes = make([]node, 1)
	}
	c := text[0]
	if m.first[c] = true; m.only == 0 {
		m.only = int(c) + 1
	} else if m.only != int(c)+1 {
		m.only = -1
	}
	at := uint32(0)
	for i := range len(text) {
		next := m.nodes[at].next(text[i])
		if next == 0 {
			next = uint32(len(m.nodes))
			m.nodes = append(m.nodes, node{})
			m.nodes[at].edges = append(m.nodes[at].edges, edge{char: text[i], to: next})
		}
		at = next
	}
	if m.nodes[at].end != 0 {
		return false
	}
	m.nodes[at].end = id + 1
	return true
}

func (m *markers) get(text string) (uint32, bool) {
	n, id := m.match(text)
	return id, n == len(text) && n > 0
}

// match returns the length and id of the longest marker at the start of text; length 0: there is none.
func (m *markers) match(text string) (n int, id uint32) {
	if len(m.nodes) == 0 {
		return 0, 0
	}
	at := uint32(0)
	for i := range len(text) {
		if at = m.nodes[at].next(text[i]); at == 0 {
			break
		}
		if end := m.nodes[at].end; end != 0 {
			n, id = i+1, end-1
		}
	}
	return n, id
}

// find returns where the leftmost, longest marker of text stands; from == to == len(text): nowhere.
func (m *markers) find(text string) (from, to int, id uint32) {
	for i := 0; ; i++ {
		if i = m.candidate(text, i); i == len(text) {
			return i, i, 0
		}
		if n, id := m.match(text[i:]); n > 0 {
			return i, i + n, id
		}
	}
}

// candidate returns the first place from i on where a marker's first byte stands, or len(text).
func (m *markers) candidate(text string, i int) int {
	switch {
	case m.only == 0:
		return len(text)
	case m.only > 0:
		if n := strings.IndexByte(text[i:], byte(m.only-1)); n >= 0 {
			return i + n
		}
		return len(text)
	}
	for i < len(text) && !m.first[text[i]] {
		i++
	}
	return i
}
