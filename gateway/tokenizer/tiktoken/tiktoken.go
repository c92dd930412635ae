// Package tiktoken reads the vocabularies of rank files, which list tokens in base64 with their ranks.
package tiktoken

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// Limits of a file.
const (
	MaxFile  = 64 << 20 // bytes
	maxToken = 256      // bytes of a token
)

// ErrMalformed is wrapped by the errors of Parse.
var ErrMalformed = errors.New("malformed rank file")

// The patterns that vocabularies in rank files are cut with. The files do not say which is theirs.
const (
	shortForms = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces     = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	upper      = `\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`
	lower      = `\p{Ll}\p{Lm}\p{Lo}\p{M}`

	GPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	CL100K = shortForms + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaces
	O200K  = `[^\r\n\p{L}\p{N}]?[` + upper + `]*[` + lower + `]+` + shortForms + `?|[^\r\n\p{L}\p{N}]?[` + upper + `]+[` + lower + `]*` + shortForms +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + spaces
	Kimi = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[` + upper + `&&[^\p{Han}]]*[` + lower + `&&[^\p{Han}]]+` + shortForms +
		`?|[^\r\n\p{L}\p{N}]?[` + upper + `&&[^\p{Han}]]+[` + lower + `&&[^\p{Han}]]*` + shortForms + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaces
)

// Parse reads a rank file. pattern cuts text; added are the tokens that the file does not have, usually
// all special ones. Its errors wrap ErrMalformed.
func Parse(data []byte, pattern string, added []vocab.Added) (*vocab.Spec, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrMalformed, MaxFile)
	}
	s := &vocab.Spec{
		ByteLevel: true, IgnoreMerges: true, Unknown: vocab.NoToken, Added: slices.Clone(added),
		Cut:    []vocab.Step{{Kind: vocab.Split, Text: pattern, Regex: true, Fancy: true}},
		Decode: []vocab.Step{{Kind: vocab.Bytes}},
	}
	ids := make(map[string]uint32, bytes.Count(data, []byte{'\n'}))
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		token, id, err := readLine(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrMalformed, number, err)
		}
		if n := int(id) + 1 - len(s.Tokens); n > 0 {
			s.Tokens = append(s.Tokens, make([]string, n)...)
		}
		if _, ok := ids[token]; ok || s.Tokens[id] != "" {
			return nil, fmt.Errorf("%w: line %d: a token or rank for the second time", ErrMalformed, number)
		}
		s.Tokens[id], ids[token] = token, id
	}
	var err error
	s.Merges, err = vocab.MergesOf(s.Tokens, func(id uint32) (uint32, bool) { return id, true }, func(text string) (uint32, bool) {
		id, ok := ids[text]
		return id, ok
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return s, nil
}

func readLine(line []byte) (token string, id uint32, err error) {
	text, rank, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return "", 0, errors.New("no rank")
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(raw, text)
	if err != nil {
		return "", 0, err
	}
	if n == 0 || n > maxToken {
		return "", 0, fmt.Errorf("a token of %d bytes, want 1 to %d", n, maxToken)
	}
	v, err := strconv.ParseUint(string(rank), 10, 32)
	if err != nil {
		return "", 0, err
	}
	if v >= vocab.MaxTokens {
		return "", 0, fmt.Errorf("rank %d, want one below %d", v, vocab.MaxTokens)
	}
	return string(raw[:n]), uint32(v), nil
}
