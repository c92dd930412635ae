// Package builtin embeds the module of the built-in plugins, so that go run and go install need nothing
// but Go. scripts/buildplugins makes it from plugins/cmd/builtin and records it in manifest.json.
package builtin

import _ "embed"

//go:embed builtin.wasm
var module []byte

// Wasm is the module. It must not be changed.
func Wasm() []byte { return module }
