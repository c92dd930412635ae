// Package hf reads the vocabularies of tokenizer.json files.
//
// It takes the components that the vocabularies of language models are made of and refuses a file with
// any other, naming it and its place: text cut by a guess would give wrong ids without a sign. What has
// no part in making ids or text of them, as padding, truncation and offsets, is not read.
package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// MaxFile is the size in bytes of the largest file that is read.
const MaxFile = 128 << 20

// Errors that those of Parse wrap.
var (
	ErrMalformed   = errors.New("malformed tokenizer.json")
	ErrUnsupported = errors.New("unsupported in tokenizer.json")
)

// file is a tokenizer.json.
type file struct {
	Added      []addedToken    `json:"added_tokens"`
	Normalizer json.RawMessage `json:"normalizer"`
	Pre        json.RawMessage `json:"pre_tokenizer"`
	Post       json.RawMessage `json:"post_processor"`
	Decoder    json.RawMessage `json:"decoder"`
	Model      json.RawMessage `json:"model"`
}

type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// Parse reads the text of a file. Its errors wrap ErrMalformed or ErrUnsupported.
func Parse(data []byte) (*vocab.Spec, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrMalformed, MaxFile)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	s := &vocab.Spec{Unknown: vocab.NoToken}
	p := pipeline{spec: s}
	var err error
	if s.Normalize, err = p.normalizer(f.Normalizer, "normalizer", 0); err != nil {
		return nil, err
	}
	if s.Cut, err = p.preTokenizer(f.Pre, "pre_tokenizer", 0); err != nil {
		return nil, err
	}
	if s.Decode, err = p.decoder(f.Decoder, "decoder", 0); err != nil {
		return nil, err
	}
	if err := p.postProcessor(f.Post, "post_processor", 0); err != nil {
		return nil, err
	}
	s.ByteLevel = p.byteLevel
	if err := readModel(s, f.Model); err != nil {
		return nil, err
	}
	if s.ByteLevel && len(s.Decode) == 0 {
		s.Decode = []vocab.Step{{Kind: vocab.Bytes}}
	}
	bytes := slices.ContainsFunc(s.Decode, func(d vocab.Step) bool { return d.Kind == vocab.Bytes })
	if bytes != s.ByteLevel {
		return nil, fmt.Errorf("%w: decoder: ByteLevel only on one way", ErrUnsupported)
	}
	return s, addTokens(s, f.Added)
}

func addTokens(s *vocab.Spec, list []addedToken) error {
	if len(list) > vocab.MaxAdded {
		return fmt.Errorf("%w: added_tokens: %d of them", ErrMalformed, len(list))
	}
	byText := make(map[string]uint32)
	for i, a := range list {
		if a.ID >= vocab.MaxTokens {
			return fmt.Errorf("%w: added_tokens[%d]: id %d", ErrMalformed, i, a.ID)
		}
		if a.Content == "" {
			continue
		}
		if id, ok := byText[a.Content]; ok && id != a.ID {
			return fmt.Errorf("%w: added_tokens[%d]: %q has ids %d and %d", ErrMalformed, i, a.Content, id, a.ID)
		}
		byText[a.Content] = a.ID
		s.Added = append(s.Added, a.added())
		if n := int(a.ID) + 1 - len(s.Tokens); n > 0 {
			s.Tokens = append(s.Tokens, make([]string, n)...)
			if s.Model == vocab.Unigram {
				s.Scores = append(s.Scores, make([]float64, n)...)
			}
		}
		if s.Tokens[a.ID] == "" {
			text := a.Content
			if s.ByteLevel {
				text, _ = FromAlphabet(text)
			}
			s.Tokens[a.ID] = text
			s.Literal = append(s.Literal, a.ID)
		}
	}
	return nil
}
