// Package tokenizer turns text into token ids and back: byte-level BPE with special tokens.
//
// Ids 0 to 255 are the bytes, the merges follow in the order of their rank, the special tokens come
// last. So every text has ids, and the ids of any text, decoded, are that text byte for byte.
//
// Text is cut at special tokens first (leftmost, longest), then into pieces that merges never cross
// (see Pieces), then each piece is merged lowest rank first. A piece ends at the latest with the character
// that reaches MaxPiece bytes: the work is linear in the text, whatever it holds.
package tokenizer

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
)

// Limits of a vocabulary and of a piece.
const (
	MaxPiece    = 1024     // bytes at which a piece ends, with the character that reaches them
	MaxToken    = 256      // bytes of a token
	MaxMerges   = 1 << 20  // merges of a vocabulary
	MaxSpecials = 1 << 14  // special tokens of a vocabulary
	maxText     = 64 << 20 // bytes of all tokens together
)

// firstMerge is the id of the first merge: the bytes come before.
const firstMerge = 256

// ErrVocabulary is wrapped by the errors of New and Load.
var ErrVocabulary = errors.New("bad vocabulary")

// Pair is a merge: the ids of two adjacent tokens that become one. Both are lower than its own id.
type Pair struct{ Left, Right uint32 }

// Special is a token that stands for a control marker and is never made by merges.
type Special struct {
	Text string
	ID   uint32
}

// Tokenizer holds one vocabulary. It does not change after New and is safe for concurrent use.
type Tokenizer struct {
	merges   []Pair
	tokens   []string // by id
	pairs    pairTable
	whole    map[string]uint32 // pieces that are known to become one token
	specials []Special
	markers  markers
	scratch  sync.Pool // *merger
}

// New builds a tokenizer from its merges in rank order and its special tokens in id order.
func New(merges []Pair, specials []string) (*Tokenizer, error) {
	if len(merges) > MaxMerges {
		return nil, fmt.Errorf("%w: %d merges, want at most %d", ErrVocabulary, len(merges), MaxMerges)
	}
	t := &Tokenizer{
		merges:  slices.Clone(merges),
		tokens:  make([]string, 0, firstMerge+len(merges)+len(specials)),
		pairs:   newPairTable(len(merges)),
		whole:   make(map[string]uint32, len(merges)+firstMerge),
		scratch: sync.Pool{New: func() any { return new(merger) }},
	}
	if err := t.addMerges(); err != nil {
		return nil, err
	}
	if err := t.addSpecials(specials); err != nil {
		return nil, err
	}
	t.findWhole()
	return t, nil
}

func (t *Tokenizer) addMerges() error {
	var all [firstMerge]byte
	for i := range all {
		all[i] = byte(i)
	}
	bytes := string(all[:])
	for i := range firstMerge {
		t.tokens = append(t.tokens, bytes[i:i+1])
	}
	total := 0
	for i, p := range t.merges {
		id := uint32(firstMerge + i)
		if p.Left >= id || p.Right >= id {
			return fmt.Errorf("%w: merge %d joins %d and %d, want ids below %d", ErrVocabulary, i, p.Left, p.Right, id)
		}
		text := t.tokens[p.Left] + t.tokens[p.Right]
		if total += len(text); len(text) > MaxToken || total > maxText {
			return fmt.Errorf("%w: merge %d makes a token of %d bytes, %d in all", ErrVocabulary, i, len(text), total)
		}
		if !t.pairs.put(p, id) {
			return fmt.Errorf("%w: merge %d repeats the pair %d, %d", ErrVocabulary, i, p.Left, p.Right)
		}
		t.tokens = append(t.tokens, text)
	}
	return nil
}

func (t *Tokenizer) addSpecials(specials []string) error {
	if len(specials) > MaxSpecials {
		return fmt.Errorf("%w: %d special tokens, want at most %d", ErrVocabulary, len(specials), MaxSpecials)
	}
	for i, text := range specials {
		if text == "" || len(text) > MaxToken {
			return fmt.Errorf("%w: special token %d has %d bytes, want 1 to %d", ErrVocabulary, i, len(text), MaxToken)
		}
		id := uint32(len(t.tokens))
		if !t.markers.put(text, id) {
			return fmt.Errorf("%w: special token %q stands twice", ErrVocabulary, text)
		}
		t.tokens = append(t.tokens, strings.Clone(text))
		t.specials = append(t.specials, Special{Text: text, ID: id})
	}
	return nil
}

// findWhole records each merged token whose own bytes merge to it. A piece that is such a token needs
// no merging; the others (a merge may be out of reach behind earlier ones) are merged as usual.
func (t *Tokenizer) findWhole() {
	var m merger
	ids := make([]uint32, 0, MaxToken)
	for id := uint32(0); int(id) < firstMerge+len(t.merges); id++ {
		text := t.tokens[id]
		if ids = m.merge(ids[:0], text, &t.pairs); len(ids) == 1 {
			t.whole[text] = ids[0]
		}
	}
}

// Size is the number of ids: each id below it is a token.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// Token returns the bytes that id stands for.
func (t *Tokenizer) Token(id uint32) (text string, ok bool) {
	if uint64(id) >= uint64(len(t.tokens)) {
		return "", false
	}
	return t.tokens[id], true
}

// Special returns the id of a special token's text.
func (t *Tokenizer) Special(text string) (id uint32, ok bool) { return t.markers.get(text) }

// Specials returns the special tokens in id order.
func (t *Tokenizer) Specials() []Special { return slices.Clone(t.specials) }

// Encode appends the ids of text to dst. A special token's text becomes that token wherever it stands.
func (t *Tokenizer) Encode(dst []uint32, text string) []uint32 {
	m := t.scratch.Get().(*merger)
	defer t.scratch.Put(m)
	for len(text) > 0 {
		from, to, id := t.markers.find(text)
		for plain := text[:from]; len(plain) > 0; {
			n := pieceLen(plain)
			dst = t.encodePiece(m, dst, plain[:n])
			plain = plain[n:]
		}
		if to > from {
			dst = append(dst, id)
		}
		text = text[to:]
	}
	return dst
}

// Count returns how many ids Encode would give, in constant memory.
func (t *Tokenizer) Count(text string) int {
	m := t.scratch.Get().(*merger)
	defer t.scratch.Put(m)
	count := 0
	for len(text) > 0 {
		from, to, _ := t.markers.find(text)
		for plain := text[:from]; len(plain) > 0; {
			n := pieceLen(plain)
			m.ids = t.encodePiece(m, m.ids[:0], plain[:n])
			count += len(m.ids)
			plain = plain[n:]
		}
		if to > from {
			count++
		}
		text = text[to:]
	}
	return count
}

func (t *Tokenizer) encodePiece(m *merger, dst []uint32, piece string) []uint32 {
	if len(piece) == 1 {
		return append(dst, uint32(piece[0]))
	}
	if len(piece) <= MaxToken {
		if id, ok := t.whole[piece]; ok {
			return append(dst, id)
		}
	}
	return m.merge(dst, piece, &t.pairs)
}

// Pieces yields the pieces of text, special tokens aside, in order: what merges never cross. A
// vocabulary is trained on their counts.
func (t *Tokenizer) Pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			from, to, _ := t.markers.find(text)
			for plain := text[:from]; len(plain) > 0; {
				n := pieceLen(plain)
				if !yield(plain[:n]) {
					return
				}
				plain = plain[n:]
			}
			text = text[to:]
		}
	}
}

// AppendText appends the bytes of ids to dst. An id that is no token adds nothing; Token tells.
func (t *Tokenizer) AppendText(dst []byte, ids ...uint32) []byte {
	for _, id := range ids {
		if uint64(id) < uint64(len(t.tokens)) {
			dst = append(dst, t.tokens[id]...)
		}
	}
	return dst
}

// Decode returns the bytes of ids. They may end within a character.
func (t *Tokenizer) Decode(ids []uint32) []byte { return t.AppendText(nil, ids...) }
