package prompt

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

func isReasoning(p *conv.Part) bool { return p.Kind == conv.Reasoning && p.Text != "" }

// finish makes the prompt of what the template wrote.
func (g *page) finish(text []byte, spans []jinja.Span) (*Prompt, error) {
	g.read(spans)
	ends := g.m.ends
	for _, s := range g.plan.stops {
		if !slices.Contains(ends, s) {
			ends = append(slices.Clip(ends), s)
		}
	}
	out := &Prompt{Stops: g.plan.stops, Preserve: g.plan.tokens, Template: g.v.name, Owner: ledger.OwnerPolicy}
	if g.templateOwns() {
		out.Owner = ledger.OwnerTemplate
	}
	out.Text, out.Splices = g.apply(text, g.edits(text, ends))
	out.Next = len(g.turns)
	g.hidden()
	if g.req.Prompting.Continue {
		if err := g.cut(out); err != nil {
			return nil, err
		}
	}
	g.tail(out, ends)
	if out.Start = g.plan.start; g.plan.tail != "" && !strings.HasSuffix(out.Text, g.plan.tail) {
		out.Start = plan.StartAuto
	}
	if out.Kinds = g.kinds(); g.in.Origins {
		out.Spans = g.origins()
	}
	out.Parts = g.parts(out.Text)
	out.Missing, out.Lost = g.missing, g.lost
	return out, nil
}

// hidden notes what is not in the prompt although no rule about reasoning says so.
func (g *page) hidden() {
	for i := range g.pieces {
		p := &g.pieces[i]
		if p.shown || p.aside || p.owner < 0 || p.what == ledger.Reasoning || p.what == ledger.Template || white(p.text) {
			continue
		}
		g.lose("%s: the template does not show its %s", indexed("messages", int(p.owner)), p.what)
	}
}

// cut ends the prompt with the last byte of the last message, as transformers does to continue it: white
// space at its end stays where the template leaves it.
func (g *page) cut(out *Prompt) error {
	refuse := func(why string) error {
		return fault.At(fault.Invalid, "continue_final_message", "the last message cannot be continued: %s", why)
	}
	n := len(g.req.Messages) - 1
	if n < 0 || g.req.Messages[n].Role != conv.Assistant {
		return refuse("it is not the assistant's")
	}
	last := -1
	for j := range g.req.Messages[n].Parts {
		if p := &g.req.Messages[n].Parts[j]; p.Kind == conv.Call || p.Text != "" {
			last = j
		}
	}
	switch {
	case last < 0:
		return refuse("it is empty")
	case g.req.Messages[n].Parts[last].Kind == conv.Call:
		return refuse("it ends with a call")
	}
	end := -1
	for i := range g.marks {
		if k := &g.marks[i]; int(g.owner(k)) == n && g.what(k) != ledger.Template {
			if end = -1; int(g.pieces[g.piece(k)].part) == last {
				end = i
			}
		}
	}
	if end < 0 {
		return refuse("the chat template does not end it with its last part")
	}
	g.marks = g.marks[:end+1]
	out.Text = out.Text[:g.marks[end].End]
	return nil
}

// tail tells the parsers what the prompt ends with, and the turn memory what the model's turn follows.
func (g *page) tail(out *Prompt, ends []string) {
	from, opened := 0, len(out.Text) // the last byte of the last message; the first of the one that is continued
	written := 0                     // the last byte before opened that others than the template wrote
	open := g.req.Prompting.Continue
	n := len(g.req.Messages) - 1
	for i := len(g.marks) - 1; i >= 0; i-- {
		k := &g.marks[i]
		owner := g.owner(k)
		if open && int(owner) == n {
			opened, written = int(k.Start), 0
			continue
		}
		if written == 0 && foreign(k) {
			written = int(k.End)
		}
		if owner >= 0 {
			from = int(k.End)
			break
		}
	}
	if out.Before = out.Text[from:]; written > from {
		out.Before = "" // what a client wrote must not come back as the template's
		from = written
	}
	header := out.Text[from:opened]
	if open {
		header = headerOf(header, g.opens)
	}
	cut := 0
	for _, e := range ends {
		if i := strings.LastIndex(header, e); i >= 0 {
			cut = max(cut, i+len(e))
		}
	}
	turn := out.Text[from+cut:]
	turn = turn[len(turn)-len(strings.TrimLeft(turn, " \t\r\n")):]
	if !open || len(turn) <= abi.MaxPromptTail {
		out.Tail = lastBytes(turn, abi.MaxPromptTail)
		return
	}
	out.Tail = lastBytes(strings.TrimLeft(header[cut:], " \t\r\n"), abi.MaxPromptTail)
	out.Prefill = out.Text[from+len(header):]
}

// lastBytes is the end of s, at most n bytes and no half character.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// kinds are those of the marks.
func (g *page) kinds() []Stretch {
	out := make([]Stretch, 0, len(g.marks))
	for i := range g.marks {
		k := &g.marks[i]
		if n := len(out); n > 0 && out[n-1].Kind == k.Origin.Kind && k.Origin.Kind != jinja.FromAssistant {
			out[n-1].End = k.End
			continue
		}
		out = append(out, Stretch{k.End, k.Origin.Kind})
	}
	return out
}

// origins are those of the marks, neighbours of one as one.
func (g *page) origins() []jinja.Span {
	out := make([]jinja.Span, 0, len(g.marks))
	for i := range g.marks {
		k := &g.marks[i]
		o := g.origin(k)
		if n := len(out); n > 0 && out[n-1].Origin == o {
			out[n-1].End = k.End
			continue
		}
		out = append(out, jinja.Span{Start: k.Start, End: k.End, Origin: o})
	}
	return out
}

// folded tells the parts of messages that share a turn apart.
const folded = 1 << 16

// parts are the marks as the ledger wants them, with those that the prompt has not in their order.
func (g *page) parts(text string) []ledger.Part {
	gone := g.unshown()
	out := make([]ledger.Part, 0, len(g.pieces)+len(g.req.Tools))
	var last jinja.Origin // of the mark that was the last of out
	from := int32(-1)     // its piece
	for i := range g.marks {
		k := &g.marks[i]
		if !foreign(k) {
			continue
		}
		if k.Origin == last { // most marks are of calls and schemas, between the template's quotes
			g.extend(&out[len(out)-1], int(k.End), from, text)
			continue
		}
		if g.what(k) == ledger.Template {
			continue
		}
		piece := g.piece(k)
		if from >= 0 && piece >= 0 && g.oneCall(from, piece) {
			last, from = k.Origin, piece
			g.extend(&out[len(out)-1], int(k.End), piece, text)
			continue
		}
		p := g.partOf(k)
		var q *ledger.Part
		if n := len(out); n > 0 && out[n-1].Start < out[n-1].End {
			q = &out[n-1]
		}
		if q != nil && q.Kind == p.Kind && q.Message == p.Message && q.Part == p.Part && (q.Kind == ledger.ToolSchema || q.Kind == ledger.Call || from == piece) {
			last, from = k.Origin, piece
			g.extend(q, p.End, piece, text)
			continue
		}
		last, from = k.Origin, piece
		for p.Kind != ledger.ToolSchema && len(gone) > 0 && inOrder(gone[0], p) < 0 {
			gone[0].Start, gone[0].End = p.Start, p.Start
			out, gone = append(out, gone[0]), gone[1:]
		}
		p.Canonical = g.canonical(piece, text[p.Start:p.End])
		out = append(out, p)
	}
	return append(out, gone...)
}

// oneCall reports two pieces of one call: its name and its arguments.
func (g *page) oneCall(a, b int32) bool {
	p, q := &g.pieces[a], &g.pieces[b]
	return p.what == ledger.Call && q.what == ledger.Call && p.owner == q.owner && p.part == q.part && p.turn == q.turn
}

// extend adds what stands in front of a byte to a part, bytes of a piece.
func (g *page) extend(p *ledger.Part, end int, piece int32, text string) {
	if p.End = end; p.Canonical == 0 {
		p.Canonical = g.canonical(piece, text[p.Start:p.End])
	}
}

// partOf is a mark as the ledger wants it.
func (g *page) partOf(k *mark) ledger.Part {
	var p ledger.Part
	switch k.Origin.Part {
	case fromPiece, fromAgain:
		p = g.ledgerPart(int(k.Origin.Message))
	case fromTurn, fromAnswer: // a turn in words of its own
		p = ledger.Part{Kind: g.what(k), Message: g.placed[int(k.Origin.Message)]}
	default:
		o := g.origin(k)
		p = ledger.Part{Kind: g.what(k), Message: int(o.Message)}
		if o.Kind == jinja.FromToolSchema && int(o.Message) < len(g.req.Tools) {
			p.Name = g.req.Tools[o.Message].Name
		}
	}
	p.Start, p.End = int(k.Start), int(k.End)
	return p
}

func inOrder(a, b ledger.Part) int {
	return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
}

// unshown are the parts that are not in the prompt. Without a digest there is nothing to say of them.
func (g *page) unshown() []ledger.Part {
	if g.in.Sum == nil {
		return nil
	}
	g.gone = g.gone[:0]
	for i := range g.pieces {
		p := &g.pieces[i]
		if p.shown || p.aside || p.label || p.what == ledger.Template || p.text == "" || p.owner < 0 {
			continue
		}
		q := g.ledgerPart(i)
		q.Canonical = g.in.Sum(p.text)
		g.gone = append(g.gone, q)
	}
	slices.SortStableFunc(g.gone, inOrder)
	return g.gone
}

func (g *page) ledgerPart(piece int) ledger.Part {
	p := &g.pieces[piece]
	out := ledger.Part{Kind: p.what, Flags: p.flags, Message: int(p.turn), Part: int(p.part) + folded*int(p.behind), Name: p.name}
	if p.what == ledger.ToolSchema {
		out.Message, out.Part = int(p.tool), 0
	}
	return out
}

// canonical is the digest of what the conversation holds, 0 where the prompt has just that. Of a call it is
// that of the arguments, beside which the prompt has more.
func (g *page) canonical(piece int32, shown string) uint64 {
	if g.in.Sum == nil || piece < 0 {
		return 0
	}
	p := &g.pieces[piece]
	if p.what == ledger.ToolSchema || p.label || p.text == shown && p.what != ledger.Call {
		return 0
	}
	return g.in.Sum(p.text)
}
