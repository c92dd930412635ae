// Package family holds chat templates of the project's own for model families that are known without a model's
// files: for the simulated engine, and for an engine whose model weir has no folder of. They print the families'
// markup; the prose between it is this project's. What of a conversation's reasoning they are given is decided
// before, so they show all of it.
package family

import (
	"embed"
	"slices"
)

//go:embed *.jinja
var files embed.FS

// names are the families, in the order in which they are listed.
var names = [...]string{"qwen2.5", "qwen3", "qwen3.5", "qwen3_coder"}

// Names returns the families that Template knows.
func Names() []string { return slices.Clone(names[:]) }

// Template returns the chat template of a family.
func Template(name string) (source string, ok bool) {
	if !slices.Contains(names[:], name) {
		return "", false
	}
	b, err := files.ReadFile(name + ".jinja")
	return string(b), err == nil
}

// Ends returns the texts of the tokens that end a turn.
func Ends() []string { return []string{"<|im_end|>", "<|endoftext|>"} }
