package vocab

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// encoder is the working memory of one call.
type encoder struct {
	t       *Tokenizer
	ids     []uint32
	hot     *hot
	merger  merger
	lattice lattice
	parts   []part
	free    [][]byte // buffers not in use
	not     bitset   // ids that the model may not make of this stretch
	ban     ban

	spans []Span // of the cache, as are bytes
	bytes []byte
}

func (e *encoder) buffer() []byte {
	if n := len(e.free); n > 0 {
		b := e.free[n-1]
		e.free = e.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 256)
}

func (e *encoder) release(b []byte) { e.free = append(e.free, b) }

// maxKept is how much working memory is kept for the next call.
const maxKept = 8 << 20

func (t *Tokenizer) done(e *encoder) {
	kept := cap(e.spans)*16 + cap(e.bytes) + cap(e.merger.ids)*4 + cap(e.merger.list)*24 + cap(e.merger.heap)*8 + cap(e.lattice.best)*24 + cap(e.parts)*24
	for _, b := range e.free {
		kept += cap(b)
	}
	if kept <= maxKept {
		e.ids, e.not, e.ban.spans = nil, nil, e.ban.spans[:0]
		t.scratch.Put(e)
	}
}

// Encode appends the ids of text to dst, without what the vocabulary's rule puts around it. The text of
// an added token becomes that token wherever it stands. Bytes that are not UTF-8 are U+FFFD each.
func (t *Tokenizer) Encode(dst []uint32, text string) []uint32 {
	return t.EncodeGuarded(dst, text, nil)
}

// EncodeAround is Encode with the ids that the vocabulary's rule puts around a text.
func (t *Tokenizer) EncodeAround(dst []uint32, text string) []uint32 {
	return append(t.Encode(append(dst, t.before...), text), t.after...)
}

// EncodeGuarded is Encode under a guard; nil: none. Where normalization changes the text, tokens that are
// looked for behind it are kept out of a whole stretch that has an untrusted byte.
func (t *Tokenizer) EncodeGuarded(dst []uint32, text string, g *Guard) []uint32 {
	e := t.scratch.Get().(*encoder)
	e.ids = dst
	var spans []Span
	var controls *Controls
	if g != nil && g.Controls != nil && len(g.Untrusted) > 0 {
		spans, controls = g.Untrusted, g.Controls
	}
	if !utf8.ValidString(text) {
		text, spans = repair(text, spans)
	}
	e.text(text, true, spans, controls)
	dst = e.ids
	t.done(e)
	return dst
}

// text encodes a text that is valid; first: nothing stands before it.
func (e *encoder) text(text string, first bool, spans []Span, controls *Controls) {
	var b *ban
	if controls != nil {
		b = &ban{ids: controls.ids, made: controls.made, spans: spans}
	}
	for at, floor := 0, 0; ; {
		id, start, end, next := e.t.raw.find(text, at, floor, b)
		if floor < start {
			e.guardedStretch(text, floor, start, first, b)
		}
		if id == NoToken {
			return
		}
		e.ids = append(e.ids, id)
		at, floor = next, end
	}
}

// guardedStretch encodes text[from:to], which has no raw added token, with what of b touches it.
func (e *encoder) guardedStretch(text string, from, to int, first bool, b *ban) {
	e.not = nil
	var inner *ban
	if b != nil && touches(b.spans, from, to) {
		e.not = b.made
		e.ban = ban{ids: b.ids, spans: within(e.ban.spans[:0], b.spans, from, to)}
		inner = &e.ban
	}
	e.stretch(text[from:to], first && from == 0, inner)
}

// stretch normalizes s, and cuts it at the added tokens that are looked for then.
func (e *encoder) stretch(s string, first bool, b *ban) {
	var held []byte
	for _, c := range e.t.normalize {
		out, changed := c(e.buffer(), s)
		if !changed {
			e.release(out)
			continue
		}
		first = first && (!e.t.startMatters || e.keepsStart(c, s))
		if held != nil {
			e.release(held)
		}
		held, s = out, view(out)
		if b != nil {
			b.everywhere = true
		}
	}
	for at, floor := 0, 0; ; {
		id, start, end, next := e.t.normalized.find(s, at, floor, b)
		if floor < start {
			e.pieces(s[floor:start], 0, first && floor == 0)
		}
		if id == NoToken {
			break
		}
		e.ids = append(e.ids, id)
		at, floor = next, end
	}
	if held != nil {
		e.release(held)
	}
}

// keepsStart reports whether c leaves something of the first character of s, which is not empty.
func (e *encoder) keepsStart(c change, s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	out, changed := c(e.buffer(), s[:n])
	e.release(out)
	return !changed || len(out) > 0
}

// model gives a piece to the model.
func (e *encoder) model(piece string) {
	if e.not != nil {
		e.t.model.encodeWithout(e, piece, e.not)
		return
	}
	e.t.model.encode(e, piece)
}

// repair replaces each byte that is not UTF-8, and moves the spans along.
func repair(text string, spans []Span) (string, []Span) {
	const by = "\uFFFD"
	var out strings.Builder
	var bad []int // offsets of the bytes replaced
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			bad = append(bad, i)
			out.WriteString(by)
		} else {
			out.WriteString(text[i : i+n])
		}
		i += n
	}
	moved := make([]Span, len(spans))
	place := func(i int) int {
		before, _ := slices.BinarySearch(bad, i)
		return i + (len(by)-1)*before
	}
	for i, s := range spans {
		moved[i] = Span{place(s.From), place(s.To)}
	}
	return out.String(), moved
}
