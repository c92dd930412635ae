// Package builtin embeds the guest that holds all built-in parsers and template policies.
package builtin

import _ "embed"

//go:embed builtin.wasm
var wasm []byte

// Wasm is the module, built by scripts/buildplugins from plugins/cmd/builtin. It must not be changed.
func Wasm() []byte { return wasm }
