// Command builtin is the guest that holds every built-in plugin, chosen by the open config. Build it with
// scripts/buildplugins; package plugins/builtin embeds the result.
package main

import (
	"strings"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/template"
)

// plugin is what the module exports: the parsers, the template policies, and the renderers.
type plugin struct {
	parser   *parser.Program
	policy   template.Policy
	renderer template.Renderer
}

// Manifest names them all.
func (p *plugin) Manifest() string {
	b := []byte(strings.TrimSuffix(parser.Manifest(template.Names()...), "}"))
	b = append(b, `,"content":["arguments"],"renderers":[`...)
	for i, name := range template.RendererNames() {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(b, name)
	}
	return string(append(b, "]}"...))
}

// Open configures a policy if the config has the member policy, a renderer and the policy of its family if it
// has the member renderer, else the parsers. Opened as a policy or a renderer, the module takes a stream for
// text.
func (p *plugin) Open(config []byte) error {
	policy, renderer := false, false
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) error {
		policy = policy || string(key) == "policy"
		renderer = renderer || string(key) == "renderer"
		_, err := r.Raw()
		return err
	})
	if err != nil || !policy && !renderer {
		return p.parser.Open(config)
	}
	if err := p.parser.Open([]byte(`{}`)); err != nil {
		return err
	}
	if policy {
		return p.policy.Open(config)
	}
	if err := p.renderer.Open(config); err != nil {
		return err
	}
	p.policy = *p.renderer.Policy()
	return nil
}

// Parser is what streams go to.
func (p *plugin) Parser() guest.Program { return p.parser }

// Plan is the policy's.
func (p *plugin) Plan(dst, outline []byte) ([]byte, error) { return p.policy.Plan(dst, outline) }

// Render is the renderer's.
func (p *plugin) Render(dst, input []byte) ([]byte, error) { return p.renderer.Render(dst, input) }

// In c-shared mode main does not run, so init is where a guest says what it is.
func init() { guest.Export(&plugin{parser: parser.New()}) }

func main() {}
