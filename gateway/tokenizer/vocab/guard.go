package vocab

import "sort"

// Span is a range of bytes.
type Span struct{ From, To int }

// Guard keeps control tokens from matching text that nobody vouches for, so that users cannot forge
// turns. The text is not cut at the ends of a span: other tokens cross them as ever.
type Guard struct {
	Untrusted []Span // in order, without overlaps; offsets of bytes in the text
	Controls  *Controls
}

// Controls is a set of control tokens.
type Controls struct {
	ids  bitset
	made bitset // those of ids that the model may make of text; nil: none, as usual
}

// Controls returns all special tokens of the vocabulary and those whose text is one of markers.
func (t *Tokenizer) Controls(markers ...string) *Controls {
	ids := newBitset(len(t.tokens))
	for _, a := range t.added {
		if a.Special {
			ids.add(a.ID)
		}
	}
	for _, m := range markers {
		if id, ok := t.ID(m); ok {
			ids.add(id)
		}
	}
	c := &Controls{ids: ids}
	for id := range uint32(len(t.tokens)) {
		if ids.has(id) && t.model.makes(id) {
			if c.made == nil {
				c.made = newBitset(len(t.tokens))
			}
			c.made.add(id)
		}
	}
	return c
}

// Has reports whether id is one of the set.
func (c *Controls) Has(id uint32) bool { return c.ids.has(id) }

// ban says which ids may not match where. A nil one allows all.
type ban struct {
	ids, made  bitset
	spans      []Span
	everywhere bool
}

func (b *ban) forbids(id uint32, from, to int) bool {
	return b != nil && b.ids.has(id) && (b.everywhere || touches(b.spans, from, to))
}

// first is the first of spans that ends behind from.
func first(spans []Span, from int) int {
	if len(spans) > 0 && spans[0].To > from { // who goes through a text has dropped those before
		return 0
	}
	return sort.Search(len(spans), func(i int) bool { return spans[i].To > from })
}

// touches reports whether a span has a byte of from to to.
func touches(spans []Span, from, to int) bool {
	i := first(spans, from)
	for ; i < len(spans) && spans[i].From < to; i++ {
		if spans[i].From < spans[i].To {
			return true
		}
	}
	return false
}

// within returns the parts of spans within from to to, counted from from.
func within(dst, spans []Span, from, to int) []Span {
	i := first(spans, from)
	for ; i < len(spans) && spans[i].From < to; i++ {
		dst = append(dst, Span{max(spans[i].From, from) - from, min(spans[i].To, to) - from})
	}
	return dst
}
