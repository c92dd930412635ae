package prompt

import (
	"slices"

	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// mark is a stretch of the prompt's bytes that come from one piece, or none. There are thousands, so it is small.
type mark struct {
	start, end int
	of, part   int32 // with kind its origin as Prompt.Spans has it
	piece      int32 // in page.pieces, -1 for none
	owner      int32 // message of the request, nobody
	kind       jinja.OriginKind
	what       ledger.Kind
}

func (k *mark) template() bool { return k.kind == jinja.FromTemplate }

func (k *mark) origin() jinja.Origin {
	return jinja.Origin{Kind: k.kind, Message: int(k.of), Part: int(k.part)}
}

// read turns the spans of a render into marks.
func (g *page) read(spans []jinja.Span) {
	g.marks = slices.Grow(g.marks[:0], len(spans))
	for i := range spans {
		s := &spans[i]
		k := mark{start: s.Start, end: s.End, piece: -1, owner: nobody}
		if k.kind = s.Origin.Kind; k.kind != jinja.FromTemplate {
			switch s.Origin.Part {
			case fromPiece:
				g.attribute(&k, s.Origin.Message)
			case directTool:
				k.what, k.of = ledger.ToolSchema, int32(s.Origin.Message)
			case directDoc:
				k.what, k.of = ledger.User, int32(len(g.req.Messages))
			default:
				k.of = int32(s.Origin.Message)
			}
		}
		g.marks = append(g.marks, k)
	}
}

// attribute says that the bytes of a mark are those of a piece.
func (g *page) attribute(k *mark, piece int) {
	p := &g.pieces[piece]
	k.piece, k.owner, k.what = int32(piece), p.owner, p.what
	switch k.kind {
	case jinja.FromToolSchema:
		k.of = p.tool
	case jinja.FromHost:
	default:
		k.of, k.part = p.owner, p.part
	}
	if p.shown && p.label {
		k.owner = nobody // templates repeat the name and id of a call at its result
	}
	p.shown = true
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
		if k.owner < 0 || int(k.owner) >= n {
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
