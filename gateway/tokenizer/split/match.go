package split

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxNodes bounds a compiled pattern.
const maxNodes = 4096

// errEmptyMatch refuses patterns that may match nothing: they cut no text.
var errEmptyMatch = errors.New("it matches the empty text")

type kind uint8

const (
	accept  kind = iota // the end of the pattern, or of a condition
	chars               // min to max characters of a set
	choice              // the first of several ways
	look                // a look-ahead
	textEnd             // the end of the text
)

// node is a step of a pattern: what to match here, and what follows.
type node struct {
	kind     kind
	mode     mode
	negative bool
	id       int
	min, max int
	set      *set
	ascii    [utf8.RuneSelf]bool
	ways     []*node // of choice; of look the one inside
	next     *node
}

// program is a compiled pattern.
type program struct {
	nodes int
	ways  []*node
	// first tells for each first byte which of the ways may match: one bit each, the last bit for all
	// beyond.
	first [256]uint64
}

func (p *program) build(alts [][]term) error {
	end := &node{kind: accept}
	for i, alt := range alts {
		if shortest(alt) == 0 {
			return errEmptyMatch
		}
		start, err := p.sequence(alt, end)
		if err != nil {
			return err
		}
		p.ways = append(p.ways, start)
		p.note(alt, min(i, 63))
	}
	return nil
}

// note enters into first with which bytes a way may begin.
func (p *program) note(alt []term, bit int) {
	for _, t := range alt {
		if t.set == nil {
			if t.look || t.end {
				continue
			}
			for b := range p.first {
				p.first[b] |= 1 << bit
			}
			return
		}
		for _, s := range t.set {
			for c := s.lo; c <= s.hi && c < utf8.RuneSelf; c++ {
				p.first[c] |= 1 << bit
			}
			if s.hi >= utf8.RuneSelf {
				for b := utf8.RuneSelf; b < 256; b++ {
					p.first[b] |= 1 << bit
				}
			}
		}
		if t.min > 0 {
			return
		}
	}
}

// shortest is the number of characters of the shortest match, as far as 0 and not 0 matter.
func shortest(alt []term) int {
	n := 0
	for _, t := range alt {
		switch {
		case t.look || t.end:
		case t.alts != nil && t.min > 0:
			least := shortest(t.alts[0])
			for _, a := range t.alts[1:] {
				least = min(least, shortest(a))
			}
			n += least
		default:
			n += t.min
		}
	}
	return n
}

// sequence compiles terms in front of next.
func (p *program) sequence(alt []term, next *node) (*node, error) {
	for i := len(alt) - 1; i >= 0; i-- {
		n, err := p.compile(&alt[i], next)
		if err != nil {
			return nil, err
		}
		next = n
	}
	return next, nil
}

func (p *program) compile(t *term, next *node) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, fmt.Errorf("more than %d steps", maxNodes)
	}
	n := &node{id: p.nodes, mode: t.mode, negative: t.negative, min: t.min, max: t.max, next: next}
	switch {
	case t.set != nil:
		n.kind, n.set = chars, newSet(t.set)
		for c := range rune(utf8.RuneSelf) {
			n.ascii[c] = n.set.has(c)
		}
		return n, nil
	case t.end:
		n.kind = textEnd
		return n, nil
	case t.look:
		n.kind = look
		next = &node{kind: accept}
	default:
		n.kind = choice
	}
	for _, alt := range t.alts {
		way, err := p.sequence(alt, next)
		if err != nil {
			return nil, err
		}
		n.ways = append(n.ways, way)
	}
	if t.min == 0 && !t.look {
		if t.mode == lazy {
			n.ways = append([]*node{next}, n.ways...)
		} else {
			n.ways = append(n.ways, next)
		}
	}
	return n, nil
}

// patience is how many steps a search may take a byte before it notes where it has failed already, which
// makes the rest linear in the text.
const patience = 32

// run is one search. failed has a bit for each node and place, once the search is known to be slow.
type run struct {
	s      string
	prog   *program
	steps  int
	failed []uint64
}

func (p *program) next(s string, from int) (start, end int) {
	r := run{s: s, prog: p}
	for i := from; i < len(s); {
		ways := p.first[s[i]]
		for k, way := range p.ways {
			if ways>>min(k, 63)&1 == 0 {
				continue
			}
			if end := r.match(way, i); end > i {
				return i, end
			}
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return len(s), len(s)
}

// match returns the end of the match of n and all that follows at i, or -1.
func (r *run) match(n *node, i int) int {
	start, at := n, i
	for n.kind != accept {
		switch {
		case n.kind == choice:
			return r.choose(n, i)
		case n.kind == chars && n.mode != possessive && (n.min != 1 || n.max != 1):
			return r.repeat(n, i)
		}
		if i = r.pass(n, i); i < 0 {
			return r.fail(start, at)
		}
		n = n.next
	}
	return i
}

// pass returns where n ends that starts at i and can end in one place only, or -1.
func (r *run) pass(n *node, i int) int {
	switch n.kind {
	case textEnd:
		if i < len(r.s) {
			return -1
		}
	case look:
		if r.sees(n, i) == n.negative {
			return -1
		}
	default:
		end, count := n.take(r.s, i, n.max)
		if count < n.min {
			return -1
		}
		return end
	}
	return i
}

// sees reports whether one of the ways of a look-ahead matches at i.
func (r *run) sees(n *node, i int) bool {
	for _, way := range n.ways {
		if r.match(way, i) >= 0 {
			return true
		}
	}
	return false
}

// choose returns the end of the first way that matches with what follows.
func (r *run) choose(n *node, i int) int {
	if r.hasFailed(n, i) {
		return -1
	}
	for _, way := range n.ways {
		if end := r.match(way, i); end >= 0 {
			return end
		}
	}
	return r.fail(n, i)
}

// one returns the length of the character at i if it is in n's set, else 0.
func (n *node) one(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		if n.ascii[c] {
			return 1
		}
		return 0
	}
	c, size := utf8.DecodeRuneInString(s[i:])
	if n.set.has(c) {
		return size
	}
	return 0
}

// take reads up to limit characters of n's set.
func (n *node) take(s string, i, limit int) (end, count int) {
	for count < limit {
		size := n.one(s, i)
		if size == 0 {
			break
		}
		i += size
		count++
	}
	return i, count
}

// repeat matches a quantifier that gives back, and what follows it.
func (r *run) repeat(n *node, i int) int {
	if r.hasFailed(n, i) {
		return -1
	}
	limit := n.max
	if n.nests() {
		// One character on it has failed: all that is left to try are its ends up to there.
		if size := n.one(r.s, i); size > 0 && r.hasFailed(n, i+size) {
			limit = n.min
		}
	}
	if n.mode == lazy {
		return r.repeatLazy(n, i, limit)
	}
	end, count := n.take(r.s, i, limit)
	last := end
	for ; count >= n.min; count-- {
		r.steps++
		if m := r.match(n.next, end); m >= 0 {
			return m
		}
		if count == 0 {
			break
		}
		_, size := utf8.DecodeLastRuneInString(r.s[:end])
		end -= size
	}
	return r.failUpTo(n, i, last)
}

func (r *run) repeatLazy(n *node, i, limit int) int {
	end, count := n.take(r.s, i, n.min)
	for count >= n.min {
		r.steps++
		if m := r.match(n.next, end); m >= 0 {
			return m
		}
		size := n.one(r.s, end)
		if size == 0 || count == limit {
			break
		}
		end += size
		count++
	}
	return r.failUpTo(n, i, end)
}

// nests reports whether what n may end at from one character is part of what it may from the one before.
func (n *node) nests() bool { return n.min <= 1 && n.max == unlimited }

// failUpTo notes that n fails at i, and so at all it took up to end.
func (r *run) failUpTo(n *node, i, end int) int {
	r.fail(n, i)
	if r.failed != nil && n.nests() {
		for j := i + 1; j < end && !r.hasFailed(n, j); j++ {
			r.fail(n, j)
		}
	}
	return -1
}

func (r *run) bit(n *node, i int) int { return n.id*(len(r.s)+1) + i }

func (r *run) hasFailed(n *node, i int) bool {
	if r.failed == nil {
		return false
	}
	b := r.bit(n, i)
	return r.failed[b>>6]>>(b&63)&1 != 0
}

// fail notes that n and all that follows match nothing at i, and returns -1.
func (r *run) fail(n *node, i int) int {
	if r.failed == nil {
		if r.steps < patience*(len(r.s)+64) {
			return -1
		}
		r.failed = make([]uint64, (r.prog.nodes+1)*(len(r.s)+1)/64+1)
	}
	b := r.bit(n, i)
	r.failed[b>>6] |= 1 << (b & 63)
	return -1
}
