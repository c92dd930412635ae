// Package builtin embeds a small general vocabulary, for models that bring none of their own.
//
// Its text is the project's own: scripts/mkvocab makes vocab.bin from it. It is no model's vocabulary,
// so counts made with it are exact only for the engine that uses it, the embedded one.
package builtin

import (
	_ "embed"

	"github.com/weirgate/weir/gateway/tokenizer"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// The special tokens, in id order after the merges.
const (
	EndOfText       = "<|endoftext|>"
	TurnStart       = "<|im_start|>"
	TurnEnd         = "<|im_end|>"
	ThinkOpen       = "<think>"
	ThinkClose      = "</think>"
	CallOpen        = "<tool_call>"
	CallClose       = "</tool_call>"
	ToolResultOpen  = "<tool_response>"
	ToolResultClose = "</tool_response>"
)

// Specials returns the texts of the special tokens in id order.
func Specials() []string {
	return []string{EndOfText, TurnStart, TurnEnd, ThinkOpen, ThinkClose, CallOpen, CallClose, ToolResultOpen, ToolResultClose}
}

//go:embed vocab.bin
var image []byte

// New loads the vocabulary. It takes a few milliseconds: load it once and share it.
func New() (*tokenizer.Tokenizer, error) {
	spec, err := vocab.ReadImage(image)
	if err != nil {
		return nil, err
	}
	v, err := vocab.New(spec)
	if err != nil {
		return nil, err
	}
	return tokenizer.New(v), nil
}
