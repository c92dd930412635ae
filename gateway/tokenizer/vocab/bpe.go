package vocab

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// bpe merges pairs. It changes only in its caches, and is safe for concurrent use.
type bpe struct {
	tokens       []string
	table        *table
	pairs        pairs
	unknown      uint32
	bytes        [256]uint32 // the symbol of each byte; NoToken: it has none
	ascii        [utf8.RuneSelf]uint32
	byteLevel    bool
	byteFallback bool // bytes has all of them
	fuseUnknown  bool
	ignoreMerges bool
	made         bitset // symbols and merges
	whole        marks  // of each id: 1 its text becomes it, 2 it does not, 0 not tried yet
	words        *words
	borders      *borders // nil: words are cut by the pipeline alone
}

func newBPE(s *Spec, t *table) (*bpe, error) {
	b := &bpe{
		tokens: s.Tokens, table: t, pairs: newPairs(len(s.Merges)), unknown: s.Unknown, byteLevel: s.ByteLevel,
		fuseUnknown: s.FuseUnknown, ignoreMerges: s.IgnoreMerges, whole: newMarks(len(s.Tokens)), words: new(words), made: newBitset(len(s.Tokens)),
	}
	n := uint32(len(s.Tokens))
	for i, m := range s.Merges {
		if m.Left >= n || m.Right >= n || m.ID >= n || m.Rank == ^uint32(0) {
			return nil, fmt.Errorf("%w: merge %d joins %d and %d to %d, want ids below %d", ErrVocabulary, i, m.Left, m.Right, m.ID, n)
		}
		b.pairs.put(m)
		b.made.add(m.ID)
	}
	b.byteFallback = s.ByteFallback && !s.ByteLevel
	for c := range b.bytes {
		text := string([]byte{byte(c)})
		if !s.ByteLevel {
			text = fmt.Sprintf("<0x%02X>", c)
		}
		b.bytes[c] = t.get(text)
		b.byteFallback = b.byteFallback && b.bytes[c] != NoToken
	}
	for c := range b.ascii {
		b.ascii[c] = t.get(string(rune(c)))
	}
	b.makeSymbols()
	if !s.ByteLevel && !s.IgnoreMerges && (b.byteFallback || !s.FuseUnknown) {
		b.borders = newBorders(s, b)
	}
	return b, nil
}

// makeSymbols enters what merging may start from into made.
func (b *bpe) makeSymbols() {
	for _, id := range append(b.bytes[:], b.unknown) {
		if id != NoToken {
			b.made.add(id)
		}
	}
	for id, text := range b.tokens {
		if utf8.RuneCountInString(text) == 1 {
			b.made.add(uint32(id))
		}
	}
}

// makes reports whether id is a symbol or a merge; where whole words need no merges it may be any.
func (b *bpe) makes(id uint32) bool { return b.ignoreMerges || b.made.has(id) }

// encode appends the ids of a piece.
func (b *bpe) encode(e *encoder, piece string) {
	if b.borders == nil {
		b.encodeWord(e, piece)
		return
	}
	for len(piece) > 0 {
		n := b.borders.next(piece)
		b.encodeWord(e, piece[:n])
		piece = piece[n:]
	}
}

// encodeWord appends the ids of a word, which is not empty.
func (b *bpe) encodeWord(e *encoder, text string) {
	if len(text) > hotBytes {
		b.encodeCold(e, text)
		return
	}
	k1, k2 := hotKey(text)
	w := e.hot.place(k1, k2, len(text))
	if w.a == k1 && w.b == k2 && int(w.size) == len(text) {
		if w.n == 1 {
			e.ids = append(e.ids, w.ids[0])
		} else {
			e.ids = append(e.ids, w.ids[:w.n]...)
		}
		return
	}
	from := len(e.ids)
	b.encodeCold(e, text)
	if n := len(e.ids) - from; n <= hotIDs {
		w.a, w.b, w.size, w.n = k1, k2, uint8(len(text)), uint8(n)
		copy(w.ids[:], e.ids[from:])
	}
}

// encodeCold is encodeWord past the hot words.
func (b *bpe) encodeCold(e *encoder, text string) {
	h := b.table.hash(text)
	if id := b.table.find(h, text); id != NoToken && (b.ignoreMerges || b.isWhole(e, id)) {
		e.ids = append(e.ids, id)
		return
	}
	if ids, ok := b.words.get(h, text); ok {
		e.ids = append(e.ids, ids...)
		return
	}
	from := len(e.ids)
	b.symbols(e, text)
	e.ids = e.merger.merge(e.ids, &b.pairs)
	b.words.put(h, text, e.ids[from:])
}

// isWhole reports whether the text of id becomes id, which is found out once.
func (b *bpe) isWhole(e *encoder, id uint32) bool {
	switch b.whole.get(id) {
	case 1:
		return true
	case 2:
		return false
	}
	b.symbols(e, b.tokens[id])
	from := len(e.ids)
	e.ids = e.merger.merge(e.ids, &b.pairs)
	whole := len(e.ids) == from+1 && e.ids[from] == id
	e.ids = e.ids[:from]
	if whole {
		b.whole.set(id, 1)
	} else {
		b.whole.set(id, 2)
	}
	return whole
}

// symbols puts the ids that merging starts from into e's merger.
func (b *bpe) symbols(e *encoder, text string) {
	ids := e.merger.ids[:0]
	unknown := false // the last symbol is an unknown one
	for i := 0; i < len(text); {
		n, id := 1, NoToken
		if c := text[i]; b.byteLevel {
			id = b.bytes[c]
		} else if c < utf8.RuneSelf {
			id = b.ascii[c]
		} else {
			_, n = utf8.DecodeRuneInString(text[i:])
			id = b.table.get(text[i : i+n])
		}
		char := text[i : i+n]
		i += n
		switch {
		case id != NoToken:
			ids, unknown = append(ids, id), false
		case b.byteFallback:
			for k := range len(char) {
				ids = append(ids, b.bytes[char[k]])
			}
			unknown = false
		case b.unknown != NoToken && (!unknown || !b.fuseUnknown):
			ids, unknown = append(ids, b.unknown), true
		}
	}
	e.merger.ids = ids
}

// encodeWithout is encode where some ids are not allowed: a word with one of them stays in symbols.
func (b *bpe) encodeWithout(e *encoder, piece string, not bitset) {
	from := len(e.ids)
	b.encode(e, piece)
	if slices.ContainsFunc(e.ids[from:], not.has) {
		b.symbols(e, piece)
		e.ids = append(e.ids[:from], e.merger.ids...)
		e.merger.ids = e.merger.ids[:0]
	}
}
