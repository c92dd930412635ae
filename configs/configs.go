// Package configs embeds the default configuration and the examples.
package configs

import (
	"embed"
	"io/fs"
)

//go:embed default.toml
var defaultTOML string

//go:embed examples/*.toml
var examples embed.FS

// Default returns the embedded default, which holds where a file says nothing.
func Default() string { return defaultTOML }

// Examples returns the examples as *.toml files at the top of a file system.
func Examples() (fs.FS, error) { return fs.Sub(examples, "examples") }
