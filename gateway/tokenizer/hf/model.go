package hf

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

type modelJSON struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	Unknown      *string         `json:"unk_token"`
	UnknownID    *uint32         `json:"unk_id"`
	Dropout      *float64        `json:"dropout"`
	Continuing   *string         `json:"continuing_subword_prefix"`
	EndOfWord    *string         `json:"end_of_word_suffix"`
	FuseUnknown  bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	MaxWord      *int            `json:"max_input_chars_per_word"`
}

// readModel fills in the model. s.ByteLevel is known already.
func readModel(s *vocab.Spec, data json.RawMessage) error {
	var m modelJSON
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: model: %w", ErrMalformed, err)
	}
	if m.Type == "" {
		m.Type = guessModel(&m)
	}
	s.ByteFallback, s.FuseUnknown, s.IgnoreMerges = m.ByteFallback, m.FuseUnknown, m.IgnoreMerges
	switch m.Type {
	case "BPE":
		return readBPE(s, &m)
	case "Unigram":
		s.Model = vocab.Unigram
		return readUnigram(s, &m)
	case "WordPiece":
		s.Model = vocab.WordPiece
		return readWordPiece(s, &m)
	}
	return fmt.Errorf("%w: model of type %q", ErrUnsupported, m.Type)
}

// guessModel tells the type of a model that old files leave out.
func guessModel(m *modelJSON) string {
	switch {
	case len(m.Merges) > 0:
		return "BPE"
	case m.UnknownID != nil:
		return "Unigram"
	case m.MaxWord != nil:
		return "WordPiece"
	}
	return ""
}

// readVocab reads the ids by token, and returns them as they are spelled in the file.
func readVocab(s *vocab.Spec, m *modelJSON) (map[string]uint32, error) {
	var ids map[string]uint32
	if err := json.Unmarshal(m.Vocab, &ids); err != nil {
		return nil, fmt.Errorf("%w: model.vocab: %w", ErrMalformed, err)
	}
	size := uint32(0)
	for token, id := range ids {
		if id >= vocab.MaxTokens {
			return nil, fmt.Errorf("%w: model.vocab: %q has id %d", ErrMalformed, token, id)
		}
		size = max(size, id+1)
	}
	s.Tokens = make([]string, size)
	taken := make([]bool, size)
	for token, id := range ids {
		if taken[id] {
			return nil, fmt.Errorf("%w: model.vocab: id %d twice", ErrMalformed, id)
		}
		taken[id] = true
		if s.ByteLevel {
			bytes, ok := FromAlphabet(token)
			if token = bytes; !ok {
				s.Literal = append(s.Literal, id)
			}
		}
		s.Tokens[id] = token
	}
	if m.Unknown != nil {
		id, ok := ids[*m.Unknown]
		if !ok {
			return nil, fmt.Errorf("%w: model.unk_token: %q is not in the vocabulary", ErrMalformed, *m.Unknown)
		}
		s.Unknown = id
	}
	return ids, nil
}

func readBPE(s *vocab.Spec, m *modelJSON) error {
	for name, value := range map[string]*string{"continuing_subword_prefix": m.Continuing, "end_of_word_suffix": m.EndOfWord} {
		if value != nil && *value != "" {
			return fmt.Errorf("%w: model.%s %q", ErrUnsupported, name, *value)
		}
	}
	if m.Dropout != nil && *m.Dropout != 0 {
		return fmt.Errorf("%w: model.dropout %v", ErrUnsupported, *m.Dropout)
	}
	ids, err := readVocab(s, m)
	if err != nil {
		return err
	}
	var spaced []string
	var pairs [][2]string
	if err := json.Unmarshal(m.Merges, &pairs); err == nil {
		s.Merges, err = merges(len(pairs), func(i int) (string, string, bool) { return pairs[i][0], pairs[i][1], true }, ids)
		if err != nil {
			return fmt.Errorf("%w: model.%w", ErrMalformed, err)
		}
		return nil
	}
	if err := json.Unmarshal(m.Merges, &spaced); err != nil {
		return fmt.Errorf("%w: model.merges: %w", ErrMalformed, err)
	}
	if s.Merges, err = Merges(spaced, ids); err != nil {
		return fmt.Errorf("%w: model.%w", ErrMalformed, err)
	}
	return nil
}

// Merges returns the merges of a list in rank order, each two tokens with a blank between them, as they
// are spelled in ids.
func Merges(list []string, ids map[string]uint32) ([]vocab.Merge, error) {
	return merges(len(list), func(i int) (string, string, bool) {
		left, right, ok := strings.Cut(list[i], " ")
		return left, right, ok && !strings.Contains(right, " ")
	}, ids)
}

func merges(n int, pair func(i int) (left, right string, ok bool), ids map[string]uint32) ([]vocab.Merge, error) {
	if n > vocab.MaxMerges {
		return nil, fmt.Errorf("merges: %d of them, want at most %d", n, vocab.MaxMerges)
	}
	list := make([]vocab.Merge, n)
	var both []byte
	for i := range list {
		left, right, ok := pair(i)
		both = append(append(both[:0], left...), right...)
		l, ok1 := ids[left]
		r, ok2 := ids[right]
		id, ok3 := ids[string(both)]
		if !ok || !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("merges[%d]: %q and %q do not make a token of two", i, left, right)
		}
		list[i] = vocab.Merge{Left: l, Right: r, ID: id, Rank: uint32(i)}
	}
	return list, nil
}

func readUnigram(s *vocab.Spec, m *modelJSON) error {
	if s.ByteLevel {
		return fmt.Errorf("%w: model: Unigram on bytes", ErrUnsupported)
	}
	var list [][2]json.RawMessage
	if err := json.Unmarshal(m.Vocab, &list); err != nil {
		return fmt.Errorf("%w: model.vocab: %w", ErrMalformed, err)
	}
	if len(list) > vocab.MaxTokens {
		return fmt.Errorf("%w: model.vocab: %d tokens", ErrMalformed, len(list))
	}
	s.Tokens, s.Scores = make([]string, len(list)), make([]float64, len(list))
	for i, pair := range list {
		err1, err2 := json.Unmarshal(pair[0], &s.Tokens[i]), json.Unmarshal(pair[1], &s.Scores[i])
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%w: model.vocab[%d]: not a token and its score", ErrMalformed, i)
		}
	}
	if m.UnknownID != nil {
		if int(*m.UnknownID) >= len(list) {
			return fmt.Errorf("%w: model.unk_id %d of %d tokens", ErrMalformed, *m.UnknownID, len(list))
		}
		s.Unknown = *m.UnknownID
	}
	return nil
}

func readWordPiece(s *vocab.Spec, m *modelJSON) error {
	if s.ByteLevel {
		return fmt.Errorf("%w: model: WordPiece on bytes", ErrUnsupported)
	}
	s.Continuing = "##"
	if m.Continuing != nil {
		s.Continuing = *m.Continuing
	}
	if m.MaxWord != nil {
		s.MaxWord = *m.MaxWord
	}
	_, err := readVocab(s, m)
	return err
}
