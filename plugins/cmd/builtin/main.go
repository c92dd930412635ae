// Command builtin is the guest that holds every built-in plugin, chosen by the open config. Build it with
// scripts/buildplugins; package plugins/builtin embeds the result.
package main

import (
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/template"
)

// plugin is what the module exports: the parsers, and the template policies.
type plugin struct {
	parser *parser.Program
	policy template.Policy
}

// Manifest names both.
func (p *plugin) Manifest() string { return parser.Manifest(template.Names()...) }

// Open configures the policies if the config has the member policy, else the parsers. Opened as a policy, the
// module takes a stream for text.
func (p *plugin) Open(config []byte) error {
	policy := false
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) error {
		policy = policy || string(key) == "policy"
		_, err := r.Raw()
		return err
	})
	if err == nil && policy {
		if err := p.parser.Open([]byte(`{}`)); err != nil {
			return err
		}
		return p.policy.Open(config)
	}
	return p.parser.Open(config)
}

// Parser is what streams go to.
func (p *plugin) Parser() guest.Program { return p.parser }

// Plan is the policy's.
func (p *plugin) Plan(dst, outline []byte) ([]byte, error) { return p.policy.Plan(dst, outline) }

// In c-shared mode main does not run, so init is where a guest says what it is.
func init() { guest.Export(&plugin{parser: parser.New()}) }

func main() {}
