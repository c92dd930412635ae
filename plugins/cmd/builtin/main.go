// Command builtin is the one guest that holds all built-in parsers and template policies.
package main

import (
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/template/chatml"
)

// builtin is the parsers and the policies as one program; its config says which it is.
type builtin struct {
	parser.Program
	policy chatml.Policy
}

// Open configures a parser, or a policy if the config has a policy.
func (b *builtin) Open(config []byte) error {
	policy := false
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) error {
		policy = policy || string(key) == "policy"
		_, err := r.Raw()
		return err
	})
	if err == nil && policy {
		return b.policy.Open(config)
	}
	return b.Program.Open(config)
}

// Plan is the policy's.
func (b *builtin) Plan(dst, outline []byte) ([]byte, error) { return b.policy.Plan(dst, outline) }

// Manifest names the parsers and the policies.
func (b *builtin) Manifest() string { return parser.Manifest(chatml.Names()...) }

func init() { guest.Export(&builtin{}) }

func main() {}
