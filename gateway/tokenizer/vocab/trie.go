package vocab

import (
	"math/rand/v2"
	"strings"
)

// trie finds the tokens that a text begins with. Nodes are numbered; the edges of all stand in one open
// hash table, those of the first byte in an array. The zero value has no token.
type trie struct {
	root  [256]uint32
	edges []trieEdge
	used  int
	shift uint
	mult  uint64
	ends  []uint32 // by node: id + 1 of the token that ends there, 0: none
	tails []tail   // by node: see seal; nil before
	only  int      // the first byte of all tokens + 1; 0: no token, -1: several
}

type trieEdge struct {
	key uint64 // node << 8 | byte; 0: free, as no edge leads on from the root
	to  uint32
}

func (t *trie) put(text string, id uint32) {
	if t.ends == nil {
		t.ends, t.mult = make([]uint32, 1), rand.Uint64()|1
		t.grow(6)
	}
	switch c := int(text[0]) + 1; t.only {
	case 0:
		t.only = c
	case c:
	default:
		t.only = -1
	}
	at := t.root[text[0]]
	if at == 0 {
		at = t.node()
		t.root[text[0]] = at
	}
	for i := 1; i < len(text); i++ {
		e := t.edge(at, text[i])
		if e.key == 0 {
			e.key, e.to = uint64(at)<<8|uint64(text[i]), t.node()
			at = e.to
			if t.used++; 2*t.used > len(t.edges) {
				t.grow(64 - t.shift + 1)
			}
			continue
		}
		at = e.to
	}
	t.ends[at] = id + 1
}

// tail is the rest of the only token that goes on from a node; id1 is 0 where there are more, or none.
type tail struct {
	text string
	id1  uint32 // id + 1
}

// seal prepares for searches of long texts. texts are those of all tokens that were put. Where but one of them is
// left, match compares the rest of it: edges of a small trie that is seldom asked lie in no near cache.
func (t *trie) seal(texts []string) {
	ways := make([]int, len(t.ends)) // tokens that pass or end at a node
	for _, text := range texts {
		w := walker{t: t}
		for i := range len(text) {
			w.step(text[i])
			ways[w.at]++
		}
	}
	t.tails = make([]tail, len(t.ends))
	for _, text := range texts {
		id, _ := t.match(text, 0, nil)
		w := walker{t: t}
		for i := range len(text) - 1 {
			if w.step(text[i]); ways[w.at] == 1 {
				t.tails[w.at] = tail{text[i+1:], id + 1}
			}
		}
	}
}

func (t *trie) node() uint32 {
	t.ends = append(t.ends, 0)
	return uint32(len(t.ends) - 1)
}

// grow makes the table one of 1<<bits edges.
func (t *trie) grow(bits uint) {
	old := t.edges
	t.edges, t.shift = make([]trieEdge, 1<<bits), 64-bits
	for _, e := range old {
		if e.key != 0 {
			*t.edge(uint32(e.key>>8), byte(e.key)) = e
		}
	}
}

// edge returns the place of an edge: what stands there is it, or free.
func (t *trie) edge(node uint32, c byte) *trieEdge {
	key := uint64(node)<<8 | uint64(c)
	h := key * t.mult
	mask := uint64(len(t.edges) - 1)
	for i := (h ^ h>>32) * 0x9E3779B97F4A7C15 >> t.shift; ; i = (i + 1) & mask {
		if e := &t.edges[i]; e.key == key || e.key == 0 {
			return e
		}
	}
}

// walker follows a text through a trie byte by byte.
type walker struct {
	t  *trie
	at uint32
}

// step goes on by c and reports whether any token goes on so; id + 1 is the token that ends there, or 0.
func (w *walker) step(c byte) (id1 uint32, ok bool) {
	if w.at == 0 {
		w.at = w.t.root[c]
	} else {
		w.at = w.t.edge(w.at, c).to
	}
	if w.at == 0 {
		return 0, false
	}
	return w.t.ends[w.at], true
}

// match returns the longest token at i that b lets match, length 0: none.
func (t *trie) match(s string, i int, b *ban) (id uint32, n int) {
	w := walker{t: t}
	for k := i; k < len(s); k++ {
		end, ok := w.step(s[k])
		if !ok {
			break
		}
		if end != 0 && !b.forbids(end-1, i, k+1) {
			id, n = end-1, k+1-i
		}
		if t.tails == nil || t.tails[w.at].id1 == 0 {
			continue
		}
		rest := &t.tails[w.at]
		if to := k + 1 + len(rest.text); strings.HasPrefix(s[k+1:], rest.text) && !b.forbids(rest.id1-1, i, to) {
			id, n = rest.id1-1, to-i
		}
		break
	}
	return id, n
}

// candidate returns the first place from i on where the first byte of a token stands, or len(s).
func (t *trie) candidate(s string, i int) int {
	switch {
	case t.only == 0:
		return len(s)
	case t.only > 0:
		if n := strings.IndexByte(s[i:], byte(t.only-1)); n >= 0 {
			return i + n
		}
		return len(s)
	}
	for i < len(s) && t.root[s[i]] == 0 {
		i++
	}
	return i
}
