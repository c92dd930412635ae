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

// Formats returns the names of the parsers that read what a family writes; an empty one is none.
func Formats(name string) (reasoning, tools string, ok bool) {
	switch name {
	case "qwen2.5":
		return "", "hermes", true
	case "qwen3":
		return "qwen3", "hermes", true
	case "qwen3.5":
		return "qwen3", "qwen3_coder", true
	case "qwen3_coder":
		return "", "qwen3_coder", true
	}
	return "", "", false
}

// Start says who opens the thinking of a family, in the words of a template policy's configuration; empty for a name
// that is not a family's.
func Start(name string) string {
	switch name {
	case "qwen3":
		return "model"
	case "qwen3.5":
		return "prompt"
	case "qwen2.5", "qwen3_coder":
		return "none"
	}
	return ""
}
