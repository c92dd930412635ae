package vocab

import (
	"fmt"
	"slices"
	"sync"
)

// model makes ids of pieces.
type model interface {
	encode(e *encoder, piece string)
	encodeWithout(e *encoder, piece string, not bitset)
	// makes reports whether there may be a piece that becomes id, alone or with others.
	makes(id uint32) bool
}

// Tokenizer runs one vocabulary. It is safe for concurrent use.
type Tokenizer struct {
	tokens     []string
	table      *table // of the model's tokens
	model      model
	words      *bpe // model, if pieces are its words
	added      []Added
	addedIDs   map[string]uint32
	special    bitset
	raw        addedSet // looked for in the text as it is
	normalized addedSet // looked for in normalized text
	normalize  []change
	cut        []cutter
	// startMatters says that a cutter asks whether the first character of the whole text is still there.
	startMatters bool
	decode       decoding
	before       []uint32
	after        []uint32
	cuttable     bool // text can be cut at special tokens and the parts taken for themselves
	apart        bool // matches of raw never overlap, nor do they take more than their text
	shortest     int  // bytes of the shortest special token
	concatenates bool
	scratch      sync.Pool
	decimals     func() []uint64 // see newDecimals; made when somebody asks
}

// New makes a tokenizer. Its errors wrap ErrVocabulary, or split.ErrUnsupported for a pattern. It keeps
// the strings and slices of s, which must not change any more.
func New(s *Spec) (*Tokenizer, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{added: s.Added, addedIDs: make(map[string]uint32, len(s.Added)), before: s.Before, after: s.After}
	t.table = newTable(s.Tokens)
	literal := newBitset(len(s.Tokens))
	for _, id := range s.Literal {
		literal.add(id)
	}
	for id, text := range s.Tokens {
		if text != "" && !literal.has(uint32(id)) {
			t.table.put(uint32(id))
		}
	}
	var err error
	switch s.Model {
	case BPE:
		t.model, err = newBPE(s, t.table)
	case Unigram:
		t.model, err = newUnigram(s, t.table)
	case WordPiece:
		t.model = newWordPiece(s, t.table)
	default:
		err = fmt.Errorf("%w: model %d", ErrVocabulary, s.Model)
	}
	if err != nil {
		return nil, err
	}
	if b, ok := t.model.(*bpe); ok && b.borders == nil {
		t.words = b
	}
	if t.normalize, err = changes(s.Normalize); err != nil {
		return nil, err
	}
	if t.cut, err = cutters(s.Cut); err != nil {
		return nil, err
	}
	t.startMatters = slices.ContainsFunc(t.cut, func(c cutter) bool { return c.kind == Metaspace && c.scheme == First })
	if t.decode, err = newDecoding(s.Decode); err != nil {
		return nil, err
	}
	t.addTokens(s)
	t.concatenates = concatenates(s)
	t.decimals = sync.OnceValue(func() []uint64 { return newDecimals(len(t.tokens)) })
	t.scratch.New = func() any { return &encoder{t: t, hot: new(hot)} }
	return t, nil
}

// check holds s against the limits.
func (s *Spec) check() error {
	if len(s.Tokens) > MaxTokens || len(s.Merges) > MaxMerges || len(s.Added) > MaxAdded {
		return fmt.Errorf("%w: %d tokens, %d merges and %d added tokens, want at most %d, %d and %d", ErrVocabulary,
			len(s.Tokens), len(s.Merges), len(s.Added), MaxTokens, MaxMerges, MaxAdded)
	}
	if n := max(len(s.Normalize), len(s.Cut), len(s.Decode)); n > MaxSteps {
		return fmt.Errorf("%w: a pipeline of %d steps, want at most %d", ErrVocabulary, n, MaxSteps)
	}
	total := 0
	for _, text := range s.Tokens {
		total += len(text)
	}
	if total > maxAllBytes {
		return fmt.Errorf("%w: tokens of %d bytes, want at most %d", ErrVocabulary, total, maxAllBytes)
	}
	for _, a := range s.Added {
		if a.ID >= MaxTokens || a.Text == "" || len(a.Text) > maxAddedLen {
			return fmt.Errorf("%w: added token %d of %d bytes, want an id below %d and 1 to %d bytes", ErrVocabulary, a.ID, len(a.Text), MaxTokens, maxAddedLen)
		}
	}
	for _, id := range slices.Concat(s.Literal, s.Before, s.After) {
		if id >= MaxTokens {
			return fmt.Errorf("%w: id %d, want one below %d", ErrVocabulary, id, MaxTokens)
		}
	}
	if s.Unknown != NoToken && int(s.Unknown) >= len(s.Tokens) {
		return fmt.Errorf("%w: the unknown token %d of %d tokens", ErrVocabulary, s.Unknown, len(s.Tokens))
	}
	for _, id := range s.Literal {
		if int(id) >= len(s.Tokens) {
			return fmt.Errorf("%w: literal token %d of %d tokens", ErrVocabulary, id, len(s.Tokens))
		}
	}
	return nil
}

// addTokens enters the added tokens, and the texts of those beyond the model's.
func (t *Tokenizer) addTokens(s *Spec) {
	t.tokens = s.Tokens
	size := len(s.Tokens)
	for _, a := range s.Added {
		size = max(size, int(a.ID)+1)
	}
	if size > len(t.tokens) {
		t.tokens = append(slices.Grow(slices.Clone(t.tokens), size-len(t.tokens)), make([]string, size-len(t.tokens))...)
	}
	t.special, t.shortest = newBitset(size), maxAddedLen+1
	var raw, normalized []string
	t.cuttable = cuttable(s.Added)
	for _, a := range s.Added {
		if t.tokens[a.ID] == "" {
			t.tokens[a.ID] = a.Text
		}
		t.addedIDs[a.Text] = a.ID
		if a.Special {
			t.special.add(a.ID)
			t.shortest = min(t.shortest, len(a.Text))
		}
		if a.Normalized {
			text := t.normalizeAll(a.Text)
			if text != "" {
				t.normalized.put(a, text)
				normalized = append(normalized, text)
			}
			continue
		}
		t.raw.put(a, a.Text)
		raw = append(raw, a.Text)
	}
	t.raw.trie.seal(raw)
	t.apart = t.raw.flags == nil && !slices.ContainsFunc(raw, func(text string) bool {
		return t.raw.trie.candidate(text, 1) < len(text)
	})
	t.normalized.trie.seal(normalized)
}

// cuttable reports whether what stands beside a special token has no part in what is found in the text
// between two of them.
func cuttable(added []Added) bool {
	strips, blanks := false, false
	for _, a := range added {
		if a.SingleWord || !a.Special && (a.LeftStrip || a.RightStrip) {
			return false
		}
		strips = strips || a.RightStrip
		blanks = blanks || spaceAfter(a.Text, 0) > 0
	}
	return !strips || !blanks
}

// normalizeAll is the normalizer for texts of which there are few.
func (t *Tokenizer) normalizeAll(s string) string {
	for _, c := range t.normalize {
		if out, changed := c(nil, s); changed {
			s = string(out)
		}
	}
	return s
}

// Size is one more than the highest id.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// Token returns the bytes of an id as they stand in the vocabulary: SentencePiece's blanks are U+2581.
func (t *Tokenizer) Token(id uint32) (text string, ok bool) {
	if uint64(id) >= uint64(len(t.tokens)) || t.tokens[id] == "" {
		return "", false
	}
	return t.tokens[id], true
}

// ID returns the id of an added token's text, or else of a token's bytes.
func (t *Tokenizer) ID(text string) (id uint32, ok bool) {
	if id, ok := t.addedIDs[text]; ok {
		return id, true
	}
	id = t.table.get(text)
	return id, id != NoToken
}

// Special reports whether id is a control token.
func (t *Tokenizer) Special(id uint32) bool { return t.special.has(id) }

// Added returns the added tokens as the vocabulary lists them.
func (t *Tokenizer) Added() []Added { return slices.Clone(t.added) }

// Around returns the ids that the vocabulary's own rule puts before and after a text.
func (t *Tokenizer) Around() (before, after []uint32) {
	return slices.Clone(t.before), slices.Clone(t.after)
}
