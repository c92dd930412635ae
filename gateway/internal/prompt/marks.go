package prompt

import (
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// What Part of an origin says while a prompt is made. All else is known of the piece, so that the thousands of spans
// of a render serve as they are.
const (
	fromPiece  = iota // Message is the index of a piece
	directTool        // Message is the index of the tool
	directDoc
	directArg
	fromAgain  // as fromPiece, of a label that templates repeat elsewhere: nobody owns it
	fromTurn   // Message is the message whose own words these are
	fromAnswer // the same, of a turn in which no part's text was found
)

// mark is a stretch of the prompt's bytes that come from one piece, or none.
type mark = jinja.Span

// nobody owns what is not of a message.
const nobody = -1

// foreign reports that others than the template wrote a mark's bytes.
func foreign(k *mark) bool { return k.Origin.Kind != jinja.FromTemplate }

// piece is the index of the piece that a mark's bytes are of, -1 for none.
func (g *page) piece(k *mark) int32 {
	if foreign(k) && (k.Origin.Part == fromPiece || k.Origin.Part == fromAgain) {
		return k.Origin.Message
	}
	return -1
}

// owner is the message of the request that a mark's bytes are of.
func (g *page) owner(k *mark) int32 {
	if foreign(k) {
		switch k.Origin.Part {
		case fromPiece:
			return g.pieces[k.Origin.Message].owner
		case fromTurn, fromAnswer:
			return k.Origin.Message
		}
	}
	return nobody
}

// what is what a mark's bytes are for the ledger, Template where they are nothing to it.
func (g *page) what(k *mark) ledger.Kind {
	if foreign(k) {
		switch k.Origin.Part {
		case fromPiece, fromAgain:
			return g.pieces[k.Origin.Message].what
		case directTool:
			return ledger.ToolSchema
		case directDoc:
			return ledger.User
		case fromAnswer:
			return ledger.Assistant
		}
	}
	return ledger.Template
}

// origin is the origin of a mark's bytes as Prompt.Spans has it.
func (g *page) origin(k *mark) jinja.Origin {
	o := k.Origin
	switch o.Part {
	case fromPiece, fromAgain:
		if o.Kind == jinja.FromTemplate {
			break
		}
		switch p := &g.pieces[o.Message]; o.Kind {
		case jinja.FromToolSchema:
			o.Message, o.Part = p.tool, 0
		case jinja.FromHost:
			o.Message, o.Part = 0, 0
		default:
			o.Message, o.Part = p.owner, p.part
		}
	case directDoc:
		o.Message, o.Part = int32(len(g.req.Messages)), 0
	default:
		o.Part = 0
	}
	return o
}

// read takes the spans of a render for marks, and notes which pieces are among them.
func (g *page) read(spans []jinja.Span) {
	g.marks = spans
	for i := range spans {
		o := &spans[i].Origin
		if o.Kind == jinja.FromTemplate || o.Part != fromPiece {
			continue
		}
		p := &g.pieces[o.Message]
		if p.shown && p.label {
			o.Part = fromAgain // templates repeat the name and id of a call at its result
		}
		p.shown = true
	}
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
		owner := g.owner(k)
		if owner < 0 || int(owner) >= n {
			continue
		}
		if r.first[owner] < 0 {
			r.first[owner] = int(k.Start)
		}
		r.last[owner] = int(k.End)
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
