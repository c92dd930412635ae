package prompt

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// edit replaces a stretch of the rendered text with the words of a turn.
type edit struct {
	from, to int
	before   string // what stood in front of the turn
	header   int    // so much of it is the template's
	turn     string
	ids      []uint32
	message  int
}

// mark is one of bytes of the turn.
func (e *edit) mark(start, end int) mark {
	return mark{Start: int32(start), End: int32(end), Origin: jinja.Origin{Kind: jinja.FromAssistant, Message: int32(e.message), Part: fromTurn}}
}

// splices reports that there may be edits.
func (g *page) splices() bool { return len(g.recall)+len(g.rewrite) > 0 }

// edits are the turns that are spliced, in order.
func (g *page) edits(text []byte, ends []string) []edit {
	if !g.splices() {
		return nil
	}
	var out []edit
	r := g.reach(len(text))
	g.index()
	floor := -1 // the end of the last edit
	for i := range g.req.Messages {
		turn := g.recall[i]
		w, written := g.rewrite[i]
		if turn == nil && !written {
			continue
		}
		from, to := max(r.before[i], floor), -1
		if r.first[i] >= 0 && r.before[i] >= 0 && from <= r.first[i] && r.last[i] <= r.after[i] {
			to = g.end(text, r.last[i], r.after[i], ends)
		}
		if to < 0 {
			continue
		}
		e := edit{from: from, to: to, message: i}
		if turn != nil {
			if turn.Before == "" || !g.whole(i, turn) {
				continue
			}
			e.before, e.turn, e.ids = turn.Before, turn.Text, turn.IDs
			e.header = common(turn.Before, string(text[from:r.first[i]]))
		} else {
			header := headerOf(string(text[from:r.first[i]]), w.after)
			e.before, e.header = header, len(header)
			e.turn = string(g.in.Write(nil, header, g.visible(i, w.blocks)))
		}
		out = append(out, e)
		floor = to
	}
	return out
}

// end finds the token that ends a turn whose own bytes end at from: the first among the template's bytes
// up to a limit. -1: there is none.
func (g *page) end(text []byte, from, limit int, ends []string) int {
	for i := g.markAt(from); i < len(g.marks) && int(g.marks[i].Start) < limit; i++ {
		k := &g.marks[i]
		if foreign(k) {
			continue
		}
		in := text[max(int(k.Start), from):min(int(k.End), limit)]
		best := -1
		for _, e := range ends {
			if at := bytes.Index(in, []byte(e)); at >= 0 && (best < 0 || at < best) {
				best = at
			}
		}
		// The token that ends a turn may be the header of the next, whose own bytes are right behind it.
		if best >= 0 {
			return max(int(k.Start), from) + best
		}
	}
	return -1
}

// markAt is the first mark that ends behind a byte.
func (g *page) markAt(at int) int {
	lo, hi := 0, len(g.marks)
	for lo < hi {
		if mid := (lo + hi) / 2; int(g.marks[mid].End) > at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// whole reports that the turn is replayed with its reasoning: all that the template gets is in the prompt, and
// where a policy decides, none was dropped. Of reasoning that the client did not send no policy has decided.
func (g *page) whole(i int, t *Turn) bool {
	if g.a.reasoning != "" {
		for p := range g.of(i) {
			if p.what == ledger.Reasoning && !p.shown && !white(p.text) {
				return false
			}
		}
	}
	if g.templateOwns() {
		return true
	}
	sent := false
	for j := range g.req.Messages[i].Parts {
		if isReasoning(&g.req.Messages[i].Parts[j]) {
			if g.plan.dropped[partKey{i, j}] {
				return false
			}
			sent = true
		}
	}
	return sent || t.Reasoning == ""
}

// visible are the blocks of a turn without the reasoning that the template leaves out of it.
func (g *page) visible(i int, blocks []Block) []Block {
	if g.a.reasoning == "" {
		return blocks
	}
	for p := range g.of(i) {
		if p.what == ledger.Reasoning && p.shown {
			return blocks
		}
	}
	out := make([]Block, 0, len(blocks))
	for _, b := range blocks {
		if b.Kind != BlockReasoning {
			out = append(out, b)
		}
	}
	return out
}

// headerOf is what two texts begin with in common, up to where a word or a marker ends: the header of a
// turn, where one begins it for the model and the other replays it.
func headerOf(a, b string) string {
	n := common(a, b)
	if n == len(a) || n == len(b) {
		return a[:n]
	}
	for n > 0 && !strings.ContainsRune(" \t\n>]}", rune(a[n-1])) {
		n--
	}
	return a[:n]
}

// common is the length of what two texts begin with, without half a character.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// apply makes the edits: the text of the prompt, its marks, and the ids that are known.
func (g *page) apply(text []byte, edits []edit) (string, []Splice) {
	if len(edits) == 0 {
		return string(text), nil
	}
	n := len(text)
	for i := range edits {
		n += len(edits[i].before) + len(edits[i].turn)
	}
	var b strings.Builder
	b.Grow(n)
	var splices []Splice
	old := g.marks
	g.marks = g.spare[:0]
	at, next := 0, 0 // in text, in old
	keep := func(to int) {
		shift := int32(b.Len() - at)
		for ; next < len(old) && int(old[next].Start) < to; next++ {
			k := old[next]
			k.Start, k.End = max(k.Start, int32(at)), min(k.End, int32(to))
			if k.Start < k.End {
				k.Start, k.End = k.Start+shift, k.End+shift
				g.marks = append(g.marks, k)
			}
			if int(old[next].End) > to {
				break
			}
		}
		b.Write(text[at:to])
	}
	for i := range edits {
		e := &edits[i]
		keep(e.from)
		g.before(e, b.Len())
		splices = append(splices, Splice{Begin: b.Len(), From: b.Len() + len(e.before), To: b.Len() + len(e.before) + len(e.turn), IDs: e.ids})
		b.WriteString(e.before)
		g.spliced(e, b.Len())
		b.WriteString(e.turn)
		for next < len(old) && int(old[next].End) <= e.to {
			next++
		}
		at = e.to
	}
	keep(len(text))
	g.spare = old
	return b.String(), splices
}

// before marks what stands in front of a turn. What the template would not write there is the assistant's: the
// beginning of an answer that was continued, or an opener of reasoning.
func (g *page) before(e *edit, base int) {
	if e.header > 0 {
		g.marks = append(g.marks, mark{Start: int32(base), End: int32(base + e.header)})
	}
	if e.header < len(e.before) {
		g.marks = append(g.marks, e.mark(base+e.header, base+len(e.before)))
	}
}

// spliced marks the words of a turn: those that are a part's as that part's, so that the ledger can tell
// them apart, and what is between as the turn's own.
func (g *page) spliced(e *edit, base int) {
	at := 0
	put := func(end, piece int) {
		if end <= at {
			return
		}
		k := e.mark(base+at, base+end)
		if piece >= 0 {
			k.Origin.Message, k.Origin.Part = int32(piece), fromPiece
		}
		g.marks = append(g.marks, k)
		at = end
	}
	places := locate(e.turn, g.finds(e.message))
	for _, f := range places {
		put(f.at, -1)
		put(f.at+len(f.text), f.piece)
	}
	first := len(g.marks)
	if put(len(e.turn), -1); len(places) == 0 && len(g.marks) > first {
		g.marks[first].Origin.Part = fromAnswer
	}
}

// find is a text of a part that is looked for in a turn.
type find struct {
	text  string
	piece int
	at    int // where it is
}

// maxLost bounds how many parts are looked for in vain.
const maxLost = 64

// locate finds the texts that a turn holds one behind the other, and drops the others.
func locate(turn string, list []find) []find {
	out, at, lost := list[:0], 0, 0
	for _, f := range list {
		i := strings.Index(turn[at:], f.text)
		if i < 0 {
			if lost++; lost > maxLost {
				break
			}
			continue
		}
		f.at = at + i
		at = f.at + len(f.text)
		out = append(out, f)
	}
	return out
}

// finds are the texts of a message's parts in their order, without white space around them.
func (g *page) finds(message int) []find {
	var out []find
	for p, i := range g.of(message) {
		// A name is found in too many places.
		if p.aside || p.label || p.what == ledger.Template {
			continue
		}
		p.shown = true
		if text := strings.TrimSpace(p.text); text != "" {
			out = append(out, find{text: text, piece: i})
		}
	}
	slices.SortStableFunc(out, func(a, b find) int { return cmp.Compare(g.pieces[a.piece].part, g.pieces[b.piece].part) })
	return out
}

// index notes which pieces are of the messages that are spliced.
func (g *page) index() {
	if g.byOwner == nil {
		g.byOwner = make(map[int32][2]int, len(g.recall)+len(g.rewrite))
	}
	for i := range g.pieces {
		owner := g.pieces[i].owner
		if g.recall[int(owner)] == nil {
			if _, ok := g.rewrite[int(owner)]; !ok {
				continue
			}
		}
		r, ok := g.byOwner[owner]
		if !ok {
			r[0] = i
		}
		r[1] = i + 1
		g.byOwner[owner] = r
	}
}

// of gives the pieces of a message that is spliced, and where they are.
func (g *page) of(message int) iter.Seq2[*piece, int] {
	return func(yield func(*piece, int) bool) {
		r := g.byOwner[int32(message)]
		for i := r[0]; i < r[1]; i++ {
			if p := &g.pieces[i]; int(p.owner) == message && !yield(p, i) {
				return
			}
		}
	}
}
