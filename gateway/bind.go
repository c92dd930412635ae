package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines/sim"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
	"github.com/weirgate/weir/plugins/parser"
	policies "github.com/weirgate/weir/plugins/template"
)

// resolved is an entry with what the model's files say where it is silent. The entry is not changed.
func resolved(entry *config.Model, a *assets) *config.Model {
	m := *entry
	if a == nil || a.files == nil {
		return &m
	}
	f := a.files
	if !m.Given("policy") && m.PolicyPlugin == "" {
		m.Policy = f.Family
	}
	if m.Parser == "" {
		if !m.Given("reasoning") {
			m.Reasoning = f.Reasoning
		}
		if !m.Given("tools") {
			m.Tools = f.Tools
		}
	}
	if !m.Given("thinking") {
		m.Thinking = m.Reasoning != "" || m.Parser != ""
	}
	if !m.Given("context") && f.Context > 0 {
		m.Context = f.Context
		m.MaxOutput = min(m.MaxOutput, m.Context)
		m.MinRoom = min(m.MinRoom, m.Context/2)
	}
	return &m
}

// bindPrompt binds what makes a model's prompts.
func (g *Gateway) bindPrompt(b *model) error {
	m := b.Model
	style, err := styleOf(m, b.assets)
	if err != nil {
		return err
	}
	b.style = style
	switch {
	case b.assets == nil:
	case b.assets.files != nil:
		b.vocab, b.cache = b.assets.vocab, b.assets.cache
		b.simulation = simulation(b.vocab)
	case b.simulated():
		b.vocab, b.cache = g.vocab.Vocabulary(), g.segments
	}
	if b.vocab != nil {
		markers := slices.Concat(parser.Markers(m.Reasoning, m.Tools), style.Special(), b.assets.markers(b.vocab))
		b.controls = b.vocab.Controls(markers...)
		b.takesIDs = slices.ContainsFunc(b.engines, func(e *engine) bool { return e.config.OpenAI != nil && e.config.OpenAI.Prompt == config.PromptIDs })
	}
	if m.Renderer != "" {
		if _, _, err := g.rendererOf(m.Renderer); err != nil {
			g.absent(m, m.Renderer)
		}
		return nil
	}
	if m.PolicyPlugin != "" {
		if _, err := g.registry.Lookup(m.PolicyPlugin); err != nil {
			g.absent(m, m.PolicyPlugin)
		}
		return nil
	}
	if b.enginePrompts() {
		return nil
	}
	p, err := g.registry.Lookup(builtinName)
	if err != nil {
		return err
	}
	if b.planner, err = p.Planner(policyConfig(m)); err != nil {
		return fmt.Errorf("policy %s: %w", m.Policy, err)
	}
	return nil
}

// absent warns of a template plugin that is not loaded. It may be dropped in later, so that is no fault; until then
// the model answers 503.
func (g *Gateway) absent(m *config.Model, plugin string) {
	g.log.LogAttrs(context.Background(), slog.LevelWarn, "the template plugin of a model is not loaded", slog.String(telemetry.KeyModel, m.ID), slog.String(telemetry.KeyPlugin, plugin))
}

// simulation are the tokens that a simulated engine has for a model with files of its own.
func simulation(v *vocab.Tokenizer) *sim.Tokens {
	if v == nil {
		return nil
	}
	var special []sim.Special
	for _, a := range v.Added() {
		if !a.Normalized { // such as have a place in the text that is theirs alone
			special = append(special, sim.Special{Text: a.Text, ID: a.ID})
		}
	}
	return sim.NewTokens(v, special)
}

// special is the id of a marker that is a token to every engine of the model which names tokens.
func (m *model) special(g *Gateway, text string) (uint32, bool) {
	if m.simulation == nil {
		return g.vocab.Special(text)
	}
	for _, a := range m.vocab.Added() {
		if a.Text == text && !a.Normalized {
			return a.ID, true
		}
	}
	return 0, false
}

// styleOf is how a model writes a turn.
func styleOf(m *config.Model, a *assets) (*wire.Style, error) {
	reasoning, tools := m.Reasoning, m.Tools
	if r, t, ok := family.Formats(m.Family); ok {
		reasoning, tools = cmp.Or(reasoning, r), cmp.Or(tools, t)
	}
	if a != nil && a.files != nil { // which knows formats that no parser reads, too
		if s, err := wire.For(cmp.Or(reasoning, a.files.Writes.Reasoning), cmp.Or(tools, a.files.Writes.Tools)); err == nil {
			return s, nil
		}
	}
	return wire.For(reasoning, tools)
}

// policyConfig is the open config of a model's built-in policy. Without a policy all reasoning is replayed; where
// the model starts to think is then the prompt's matter.
func policyConfig(m *config.Model) []byte {
	policy := m.Policy
	if policy == "" {
		policy = "keep_all"
	}
	doc := jsonscan.AppendString([]byte(`{"policy":`), policy)
	if start := family.Start(m.Family); start != "" {
		doc = jsonscan.AppendString(append(doc, `,"start":`...), start)
	}
	return append(doc, '}')
}

// policyPluginConfig is the open config of a policy plugin: the first of the policies that it lists.
func policyPluginConfig(p *plughost.Plugin) []byte { return choice("policy", p.Manifest.Policies) }

// rendererOf returns the plugin of a renderer and its open config. A name is that of a built-in renderer, else of a
// plugin, of which the first one counts that it lists.
func (g *Gateway) rendererOf(name string) (*plughost.Plugin, []byte, error) {
	if slices.Contains(policies.RendererNames(), name) {
		p, err := g.registry.Lookup(builtinName)
		return p, choice("renderer", []string{name}), err
	}
	p, err := g.registry.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	return p, choice("renderer", p.Manifest.Renderers), nil
}

func choice(member string, names []string) []byte {
	if len(names) == 0 {
		return []byte(`{}`)
	}
	doc := append(jsonscan.AppendString([]byte{'{'}, member), ':')
	return append(jsonscan.AppendString(doc, names[0]), '}')
}
