// Package examples embeds the sources of the example plugins, which are what `weir plugin new` writes.
package examples

import "embed"

//go:embed go c rust zig assemblyscript tinygo
var sources embed.FS

// Sources holds LANG/parser and LANG/template for each language. The parser calls itself and its formats
// bracket, the template policy recent.
func Sources() embed.FS { return sources }
