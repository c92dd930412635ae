package prompt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// mark is a stretch of the prompt's bytes that come from one piece, or none.
type mark struct {
	start, end int
	org        jinja.Origin // as Prompt.Spans has it
	piece      int          // in page.pieces, -1 for none
	owner      int          // message of the request, nobody
	what       ledger.Kind
}

func (k *mark) template() bool { return k.org.Kind == jinja.FromTemplate }

// read turns the spans of a render into marks: a slot's text into those of its pieces.
func (g *page) read(text []byte, spans []jinja.Span) {
	for i := range spans {
		s := &spans[i]
		k := mark{start: s.Start, end: s.End, piece: -1, owner: nobody}
		switch {
		case s.Origin.Kind == jinja.FromTemplate:
			g.marks = append(g.marks, k)
		case s.Origin.Part != fromSlot:
			k.org = jinja.Origin{Kind: s.Origin.Kind, Message: s.Origin.Message}
			switch s.Origin.Part {
			case directTool:
				k.what = ledger.ToolSchema
			case directDoc:
				k.what, k.org.Message = ledger.User, len(g.req.Messages)
			}
			g.marks = append(g.marks, k)
		default:
			g.slotMarks(s, text)
		}
	}
	g.distrust()
}

// slotMarks marks the bytes of a span of a slot.
func (g *page) slotMarks(span *jinja.Span, text []byte) {
	s := &g.slots[span.Origin.Message]
	if s.to-s.from == 1 {
		g.pieceMark(s.from, span.Start, span.End)
		return
	}
	// The text of several pieces is followed as it is seen: a template trims and escapes it, and seldom
	// does more.
	seen := string(text[span.Start:span.End])
	at := s.find(seen)
	if at < 0 {
		s.lost = true
		g.pieceMark(s.from, span.Start, span.End)
		for i := s.from; i < s.to; i++ {
			g.pieces[i].shown = true
		}
		return
	}
	s.at = at + len(seen)
	pos := 0
	for i := s.from; i < s.to; i++ {
		end := pos + len(g.pieces[i].text)
		if a, b := max(pos, at), min(end, s.at); a < b {
			g.pieceMark(i, span.Start+a-at, span.Start+b-at)
		}
		pos = end
	}
}

// Bounds of the search in a slot's text: what a template puts between two stretches of it is short, as an
// escaped line end is; what lies further is looked for some times, and then no more.
const (
	nearby   = 16
	maxJumps = 64
)

// find is where in the slot's text a stretch of the prompt is from, -1 where that cannot be told. Of texts
// that differ in whom they are trusted for it has to be where the last one ended, or again the beginning.
func (s *slot) find(seen string) int {
	rest := s.text[s.at:]
	if strings.HasPrefix(rest, seen) {
		return s.at
	}
	if skip := strings.Index(rest[:min(len(rest), len(seen)+nearby)], seen); skip >= 0 && (!s.mixed || strings.TrimSpace(rest[:skip]) == "") {
		return s.at + skip
	}
	if s.jumps++; s.jumps > maxJumps || s.mixed && strings.TrimSpace(rest) != "" && s.at > 0 {
		return -1
	}
	from := 0
	skip := strings.Index(rest, seen)
	if skip < 0 || s.mixed {
		skip = strings.Index(s.text, seen)
	} else {
		from = s.at
	}
	if skip < 0 || s.mixed && strings.TrimSpace(s.text[:skip]) != "" {
		return -1
	}
	return from + skip
}

// distrust takes the marks of texts with several origins back which were not seen whole and in order: a user
// could else choose what passes for the system's. They are trusted as the least of their pieces.
func (g *page) distrust() {
	mixed := false
	for i := range g.slots {
		s := &g.slots[i]
		if s.mixed {
			s.lost = s.lost || strings.TrimSpace(s.text[s.at:]) != ""
			mixed = mixed || s.lost
		}
	}
	if !mixed {
		return
	}
	for i := range g.marks {
		k := &g.marks[i]
		if k.piece < 0 {
			continue
		}
		n, exact := slices.BinarySearchFunc(g.slots, k.piece, func(s slot, piece int) int { return cmp.Compare(s.from, piece) })
		if !exact {
			n--
		}
		s := &g.slots[n]
		for i := s.from; s.mixed && s.lost && i < s.to; i++ {
			if p := &g.pieces[i]; p.kind == s.kind {
				k.org = p.origin()
				break
			}
		}
	}
}

// pieceMark marks bytes as those of a piece.
func (g *page) pieceMark(i, start, end int) {
	p := &g.pieces[i]
	k := mark{start: start, end: end, org: p.origin(), piece: i, owner: int(p.owner), what: p.what}
	if p.shown && p.label {
		k.owner = nobody // templates repeat the name and id of a call at its result
	}
	p.shown = true
	g.marks = append(g.marks, k)
}

// reach is where the bytes of each message are: its first and the end of its last, -1 where there are none.
type reach struct {
	first, last []int
	before      []int // the largest last of the messages before
	after       []int // the smallest first of the messages behind, len(text) where there is none
}

func (g *page) reach(length int) reach {
	n := len(g.req.Messages)
	all := make([]int, 4*n)
	r := reach{first: all[:n], last: all[n : 2*n], before: all[2*n : 3*n], after: all[3*n:]}
	for i := range n {
		r.first[i], r.last[i] = -1, -1
	}
	for i := range g.marks {
		k := &g.marks[i]
		if k.owner < 0 || k.owner >= n {
			continue
		}
		if r.first[k.owner] < 0 {
			r.first[k.owner] = k.start
		}
		r.last[k.owner] = k.end
	}
	most := -1
	for i := range n {
		r.before[i] = most
		most = max(most, r.last[i])
	}
	least := length
	for i := n - 1; i >= 0; i-- {
		if r.after[i] = least; r.first[i] >= 0 {
			least = min(least, r.first[i])
		}
	}
	return r
}
