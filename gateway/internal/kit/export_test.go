package kit

import (
	"runtime/debug"

	"github.com/weirgate/weir/abi/plan"
)

// Made is made.
func Made(n int, words []string, samples []Sample) []Sample { return made(n, words, samples) }

// Shapes are the outlines of shapes.
func Shapes() []plan.Outline {
	var out []plan.Outline
	for _, s := range shapes() {
		out = append(out, s.outline)
	}
	return out
}

// Scenes are the conversations that renderers are checked with, as inputs.
func Scenes() []*plan.RenderInput {
	var out []*plan.RenderInput
	for _, s := range scenes() {
		out = append(out, s.input(s.messages(), "{}", plan.ReadAll))
	}
	return out
}

// Read reads a module and lists what is against it.
func Read(wasm []byte) []string { return refusals(wasm, readImage(wasm)) }

// Published is the version that a project requires of a build of this module.
func Published(m *debug.Module) string { return published(m) }

// NoVersion is that of a build that nobody else can get.
const NoVersion = noVersion

// Bearer is a module with a manifest and nothing else.
func Bearer(manifest []byte) []byte { return bearer(manifest) }

// Embedded is the manifest that is found in a module.
func Embedded(wasm []byte) []byte { return embedded(wasm) }
