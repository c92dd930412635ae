package kit

import "github.com/weirgate/weir/abi/plan"

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

// Read reads a module and lists what is against it.
func Read(wasm []byte) []string { return refusals(wasm, readImage(wasm)) }
