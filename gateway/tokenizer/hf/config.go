package hf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// Config reads the class and the added tokens, in the order of their ids, of a tokenizer_config.json.
func Config(data []byte) (class string, added []vocab.Added, err error) {
	var c struct {
		Class string                `json:"tokenizer_class"`
		Added map[string]addedToken `json:"added_tokens_decoder"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return "", nil, fmt.Errorf("%w: tokenizer_config.json: %w", ErrMalformed, err)
	}
	for key, a := range c.Added {
		id, err := strconv.ParseUint(key, 10, 32)
		if err != nil || id >= vocab.MaxTokens || a.Content == "" {
			return "", nil, fmt.Errorf("%w: added_tokens_decoder: %q of id %q", ErrMalformed, a.Content, key)
		}
		a.ID = uint32(id)
		added = append(added, a.added())
	}
	slices.SortFunc(added, func(a, b vocab.Added) int { return cmp.Compare(a.ID, b.ID) })
	return c.Class, added, nil
}

func (a *addedToken) added() vocab.Added {
	return vocab.Added{
		ID: a.ID, Text: a.Content, Special: a.Special, SingleWord: a.SingleWord, LeftStrip: a.LStrip, RightStrip: a.RStrip, Normalized: a.Normalized,
	}
}
