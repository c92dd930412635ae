package sim

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/engines"
)

// Vocabulary turns text into ids. It is safe for concurrent use.
type Vocabulary interface {
	// Encode appends the ids of text to dst.
	Encode(dst []uint32, text string) []uint32
	// Token returns the bytes that an id stands for.
	Token(id uint32) (text string, ok bool)
}

// Tokens are a vocabulary and its special tokens. They are safe for concurrent use.
type Tokens struct {
	vocab   Vocabulary // nil: prompts are counted by their length, and output has no ids
	special []Special
	ids     map[uint32]bool // of special
}

// NewTokens returns the tokens of a vocabulary, which may be nil.
func NewTokens(v Vocabulary, special []Special) *Tokens {
	t := &Tokens{vocab: v, special: special, ids: make(map[uint32]bool, len(special))}
	for _, s := range special {
		t.ids[s.ID] = true
	}
	return t
}

// tokens are those of a model.
func (e *Engine) tokens(model string) *Tokens {
	if e.cfg.Tokens != nil {
		if t := e.cfg.Tokens(model); t != nil {
			return t
		}
	}
	return e.own
}

// token is a piece of the output.
type token struct {
	size int // bytes
	id   uint32
}

// promptIDs are the request's ids, or else those of its text; none without a vocabulary.
func (t *Tokens) promptIDs(req *engines.Request) []uint32 {
	if len(req.IDs) > 0 || t.vocab == nil {
		return req.IDs
	}
	return t.vocab.Encode(nil, req.Prompt)
}

// tail is the end of a prompt, as a renderer wants it: at least maxTail bytes, if there are so many.
func (t *Tokens) tail(req *engines.Request) string {
	if req.Prompt != "" || t.vocab == nil {
		return req.Prompt[max(0, len(req.Prompt)-maxTail):]
	}
	var parts []string
	for n, i := 0, len(req.IDs)-1; i >= 0 && n < maxTail; i-- {
		text, _ := t.vocab.Token(req.IDs[i])
		parts = append(parts, text)
		n += len(text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

// cut cuts output into tokens, or returns nil where they cannot be told: without a vocabulary, or with
// one whose tokens are not the bytes of the text.
func (t *Tokens) cut(out []byte, found []mark) []token {
	if t.vocab == nil || !utf8.Valid(out) {
		return nil
	}
	c := cutter{t: t, tokens: make([]token, 0, len(out)/3+8)}
	at := 0
	for _, m := range found {
		if m.from >= len(out) {
			break
		}
		if m.to > len(out) || !c.plain(string(out[at:m.from])) {
			return nil
		}
		c.tokens = append(c.tokens, token{size: m.to - m.from, id: m.id})
		at = m.to
	}
	if !c.plain(string(out[at:])) {
		return nil
	}
	return c.tokens
}

type cutter struct {
	t      *Tokens
	tokens []token
	ids    []uint32
	next   []int // by special token: where its text stands next
}

// plain cuts text without special tokens. Where the text of one stands, it is cut behind its first
// character, as a guard against forged ones would have it.
func (c *cutter) plain(text string) bool {
	c.next = c.next[:0]
	for range c.t.special {
		c.next = append(c.next, -1)
	}
	for from := 0; from < len(text); {
		end := len(text)
		for i, sp := range c.t.special {
			if sp.Text == "" {
				continue
			}
			if c.next[i] < from {
				c.next[i] = len(text)
				if at := strings.Index(text[from:], sp.Text); at >= 0 {
					c.next[i] = from + at
				}
			}
			if at := c.next[i]; at < end {
				_, n := utf8.DecodeRuneInString(sp.Text)
				end = min(end, at+n)
			}
		}
		if !c.encode(text[from:end]) {
			return false
		}
		from = end
	}
	return true
}

func (c *cutter) encode(text string) bool {
	c.ids = c.t.vocab.Encode(c.ids[:0], text)
	for _, id := range c.ids {
		said, ok := c.t.vocab.Token(id)
		if !ok || said == "" || !strings.HasPrefix(text, said) || c.t.ids[id] {
			return false
		}
		c.tokens = append(c.tokens, token{size: len(said), id: id})
		text = text[len(said):]
	}
	return text == ""
}
