package gguf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/tiktoken"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// ErrNoVocabulary says that a file has none.
var ErrNoVocabulary = errors.New("GGUF file without a vocabulary")

// The types of a token.
const (
	typeUnknown     = 2
	typeControl     = 3
	typeUserDefined = 4
	typeUnused      = 5
)

// The patterns of pre-tokenizers that no rank file has.
const (
	qwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen3  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// preTokenizer is how a named kind of vocabulary cuts text.
type preTokenizer struct {
	patterns []string
	whole    bool // a piece that is a token is that token
	nfc      bool
}

// preTokenizers lists the kinds by the name in the metadata.
func preTokenizers(name string) (preTokenizer, bool) {
	switch name {
	case "gpt-2", "phi-2", "gigachat", "jina-es", "jina-de", "roberta-bpe":
		return preTokenizer{patterns: []string{tiktoken.GPT2}}, true
	case "smollm", "starcoder", "refact", "command-r", "codeshell":
		return preTokenizer{patterns: []string{`\p{N}`, tiktoken.GPT2}}, true
	case "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "lfm2":
		return preTokenizer{patterns: []string{tiktoken.CL100K}, whole: true}, true
	case "chatglm-bpe", "glm4", "dbrx", "smaug-bpe":
		return preTokenizer{patterns: []string{tiktoken.CL100K}}, true
	case "qwen2", "deepseek-r1-qwen", "megrez":
		return preTokenizer{patterns: []string{qwen2}, nfc: true}, true
	case "stablelm2":
		return preTokenizer{patterns: []string{qwen2}}, true
	case "qwen35":
		return preTokenizer{patterns: []string{qwen3}, nfc: true}, true
	case "gpt-4o", "llama4":
		return preTokenizer{patterns: []string{tiktoken.O200K}, whole: true}, true
	case "kimi-k2":
		return preTokenizer{patterns: []string{tiktoken.Kimi}, whole: true}, true
	case "tekken":
		return preTokenizer{patterns: []string{tekken}, whole: true}, true
	case "deepseek-v3":
		return preTokenizer{patterns: []string{`\p{N}{1,3}`, "[一-龥぀-ゟ゠-ヿ]+", deepSeek}}, true
	}
	return preTokenizer{}, false
}

// Vocabulary returns the file's vocabulary. Its errors wrap ErrNoVocabulary, ErrMalformed, or
// ErrUnsupported with the name of the kind that is not known.
func (f *File) Vocabulary() (*vocab.Spec, error) {
	if f.model == "" || f.model == "none" || len(f.tokens) == 0 {
		return nil, ErrNoVocabulary
	}
	if len(f.tokens) > vocab.MaxTokens || len(f.types) != 0 && len(f.types) != len(f.tokens) || len(f.scores) != 0 && len(f.scores) != len(f.tokens) {
		return nil, fmt.Errorf("%w: %d tokens, %d types, %d scores", ErrMalformed, len(f.tokens), len(f.types), len(f.scores))
	}
	s := &vocab.Spec{Unknown: vocab.NoToken, Tokens: slices.Clone(f.tokens)}
	var err error
	switch f.model {
	case "gpt2":
		err = f.byteLevel(s)
	case "llama":
		err = f.sentencePiece(s)
	default:
		err = fmt.Errorf("%w: tokenizer.ggml.model %q", ErrUnsupported, f.model)
	}
	if err != nil {
		return nil, err
	}
	f.addTokens(s)
	n := int64(len(f.tokens))
	if f.addBOS && f.bos >= 0 && f.bos < n {
		s.Before = []uint32{uint32(f.bos)}
	}
	if f.addEOS && f.eos >= 0 && f.eos < n {
		s.After = []uint32{uint32(f.eos)}
	}
	return s, nil
}

func (f *File) typeOf(id int) int32 {
	if f.types == nil {
		return 1
	}
	return f.types[id]
}

// addTokens lists the tokens that are looked for in the text itself. What no text may become is literal.
func (f *File) addTokens(s *vocab.Spec) {
	for id, text := range f.tokens {
		t := f.typeOf(id)
		if t == typeUnused || t == typeControl || t == typeUnknown {
			s.Literal = append(s.Literal, uint32(id))
		}
		if text != "" && len(s.Added) < vocab.MaxAdded && (t == typeControl || t == typeUserDefined || t == typeUnknown) {
			s.Added = append(s.Added, vocab.Added{ID: uint32(id), Text: text, Special: t != typeUserDefined})
		}
	}
}

func (f *File) byteLevel(s *vocab.Spec) error {
	pre, ok := preTokenizers(f.pre)
	if !ok {
		return fmt.Errorf("%w: tokenizer.ggml.pre %q", ErrUnsupported, f.pre)
	}
	s.ByteLevel, s.IgnoreMerges = true, pre.whole
	if pre.nfc {
		s.Normalize = []vocab.Step{{Kind: vocab.NFC}}
	}
	for _, p := range pre.patterns {
		s.Cut = append(s.Cut, vocab.Step{Kind: vocab.Split, Text: p, Regex: true})
	}
	s.Decode = []vocab.Step{{Kind: vocab.Bytes}}
	ids := f.ids()
	var err error
	if s.Merges, err = hf.Merges(f.merges, ids); err != nil {
		return fmt.Errorf("%w: tokenizer.ggml.merges: %w", ErrMalformed, err)
	}
	for id, text := range f.tokens {
		if f.typeOf(id) == typeControl || f.typeOf(id) == typeUserDefined {
			continue // these are spelled as they are
		}
		bytes, ok := hf.FromAlphabet(text)
		if s.Tokens[id] = bytes; !ok {
			s.Literal = append(s.Literal, uint32(id))
		}
	}
	return nil
}

// ids returns the first id of each text.
func (f *File) ids() map[string]uint32 {
	ids := make(map[string]uint32, len(f.tokens))
	for id, text := range f.tokens {
		if _, ok := ids[text]; !ok && text != "" {
			ids[text] = uint32(id)
		}
	}
	return ids
}

// sentencePiece fills in a vocabulary whose pairs merge to the token of the highest score first.
func (f *File) sentencePiece(s *vocab.Spec) error {
	if len(f.scores) == 0 {
		return fmt.Errorf("%w: no tokenizer.ggml.scores", ErrMalformed)
	}
	if f.dropSpaces {
		return fmt.Errorf("%w: tokenizer.ggml.remove_extra_whitespaces", ErrUnsupported)
	}
	s.ByteFallback, s.FuseUnknown = true, true
	if f.unknown >= 0 && f.unknown < int64(len(f.tokens)) {
		s.Unknown = uint32(f.unknown)
	}
	prefix := !f.spaceIsSet || f.addSpace
	s.Decode = []vocab.Step{{Kind: vocab.Replace, Text: "▁", With: " "}, {Kind: vocab.ByteFallback}, {Kind: vocab.Fuse}}
	if prefix {
		s.Normalize = append(s.Normalize, vocab.Step{Kind: vocab.Prepend, Text: "▁"})
		s.Decode = append(s.Decode, vocab.Step{Kind: vocab.Strip, Text: " ", Start: 1})
	}
	s.Normalize = append(s.Normalize, vocab.Step{Kind: vocab.Replace, Text: " ", With: "▁"})
	if !f.addBOSSet {
		f.addBOS = true
	}
	ranks, ids := f.ranks(), f.ids()
	var err error
	s.Merges, err = vocab.MergesOf(f.tokens, func(id uint32) (uint32, bool) {
		t := f.typeOf(int(id))
		return ranks[id], t == 1 || t == typeUserDefined
	}, func(text string) (uint32, bool) {
		id, ok := ids[text]
		return id, ok
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// ranks orders the tokens by score, the highest first; equal scores have equal ranks.
func (f *File) ranks() []uint32 {
	order := make([]uint32, len(f.scores))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(f.scores[b], f.scores[a]) })
	ranks := make([]uint32, len(order))
	rank := uint32(0)
	for i, id := range order {
		if i > 0 && f.scores[id] != f.scores[order[i-1]] {
			rank++
		}
		ranks[id] = rank
	}
	return ranks
}
