// Package tokenizer is a vocabulary as a gateway sees it: ids for text, and the tokens that mark turns.
//
// What runs the vocabulary is package vocab; load opens those of model folders, and builtin is the one that
// is always there.
package tokenizer

import (
	"cmp"
	"slices"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// Special is a control token.
type Special struct {
	Text string
	ID   uint32
}

// Tokenizer is a vocabulary. It is safe for concurrent use.
type Tokenizer struct {
	v        *vocab.Tokenizer
	specials []Special
}

// New returns the tokenizer of a vocabulary.
func New(v *vocab.Tokenizer) *Tokenizer {
	t := &Tokenizer{v: v}
	for _, a := range v.Added() {
		if a.Special {
			t.specials = append(t.specials, Special{Text: a.Text, ID: a.ID})
		}
	}
	slices.SortFunc(t.specials, func(a, b Special) int { return cmp.Compare(a.ID, b.ID) })
	return t
}

// Vocabulary is what runs it.
func (t *Tokenizer) Vocabulary() *vocab.Tokenizer { return t.v }

// Encode appends the ids of text to dst. A special token's text becomes that token wherever it stands.
func (t *Tokenizer) Encode(dst []uint32, text string) []uint32 { return t.v.Encode(dst, text) }

// Token returns the bytes that id stands for.
func (t *Tokenizer) Token(id uint32) (text string, ok bool) { return t.v.Token(id) }

// Special returns the id of a special token's text.
func (t *Tokenizer) Special(text string) (id uint32, ok bool) {
	id, ok = t.v.ID(text)
	return id, ok && t.v.Special(id)
}

// Specials returns the special tokens in id order.
func (t *Tokenizer) Specials() []Special { return slices.Clone(t.specials) }
