package gateway

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/chatml"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// countTimeout bounds how long a turn waits for an engine to count its prompt; after it the count is an
// estimate.
const countTimeout = 2 * time.Second

// prompt makes the prompt of a conversation: canonical form, the policy's plan, the rendered text and its
// length. It returns the conversation too, as the engine shall see it: with the thinking that was decided.
func (g *Gateway) prompt(ctx context.Context, m *model, t *tenant.Tenant, req *conv.Request) (*turn.Prompt, *conv.Request, error) {
	if t.StripPreamble {
		req = canon.StripPreamble(req)
	}
	if m.Family == "" {
		return estimated(req), req, nil
	}
	ops, err := g.plan(m, req)
	if err != nil {
		return nil, nil, err
	}
	p, err := chatml.Render(req, ops, chatml.Options{Dialect: chatml.Dialect(m.Family), ToolName: assemble.ToolName})
	if err != nil {
		return nil, nil, err
	}
	out := &turn.Prompt{Text: p.Text, Stops: p.Stops}
	start := guest.Start{Choice: guest.Choice(req.Choice.Mode), Tools: len(req.Tools) > 0, Tail: []byte(p.Tail)}
	decided := *req
	switch p.Start {
	case plan.StartReasoning:
		start.Thinking, decided.Thinking.Mode = guest.ThinkingOn, conv.ThinkingOn
	case plan.StartContent:
		start.Thinking, decided.Thinking.Mode = guest.ThinkingOff, conv.ThinkingOff
	}
	out.Start = start.Append(nil)
	g.count(ctx, m, &decided, out)
	return out, &decided, nil
}

// plan asks the model's policy. One that fails ends the turn, unless its failure policy says that the prompt
// is then made as if there were no policy.
func (g *Gateway) plan(m *model, req *conv.Request) ([]plan.Op, error) {
	outline, err := chatml.Outline(req, m.Thinking)
	if err != nil {
		return nil, err
	}
	ops, err := m.planner.Ops(outline)
	if err == nil {
		return ops, nil
	}
	p := m.planner.Plugin()
	p.Report("", err)
	g.metrics.PluginFault(p.Name, abi.ExportPlan, string(plughost.KindOf(err)))
	fall := g.current.Load().config.Plugins.FailureOf(p.Name) == config.FailureFallback
	g.log.LogAttrs(context.Background(), slog.LevelWarn, "template policy failed", slog.String(telemetry.KeyPlugin, p.Name), slog.String(telemetry.KeyModel, m.ID),
		slog.Bool(telemetry.KeyFallback, fall), slog.String(telemetry.KeyError, err.Error()))
	if fall {
		return nil, nil
	}
	return nil, fault.Wrap(fault.Plugin, err, "the model's template policy failed")
}

// count sets the prompt's length: exact with the vocabulary that the engine shares with weir (sim), or
// by the engine's own count; else an estimate.
func (g *Gateway) count(ctx context.Context, m *model, req *conv.Request, p *turn.Prompt) {
	if m.ownVocabulary() {
		p.IDs = g.vocab.Encode(make([]uint32, 0, len(p.Text)/3+16), p.Text)
		p.Tokens = len(p.IDs)
		return
	}
	p.Tokens, p.Estimate = estimate(len(p.Text)), true
	c, ok := m.engines[0].Engine.(engines.Counter)
	if !ok || !m.engines[0].counts() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	if n, err := c.CountTokens(ctx, turn.RequestFor("", m.EngineModel, "", req, p, 0)); err == nil {
		p.Tokens, p.Estimate = n, false
	}
}

// engineModel is the engine's name of the model. To a simulated engine it is the model's id: several
// models of different families may share one, and it writes in the family of each.
func (m *model) engineModel() string {
	if m.ownVocabulary() {
		return m.ID
	}
	return m.EngineModel
}

// ownVocabulary reports whether every engine of the model uses the built-in vocabulary.
func (m *model) ownVocabulary() bool {
	return !slices.ContainsFunc(m.engines, func(e *engine) bool { return e.config.Sim == nil })
}

// bytesPerToken is what English prose and code come to with vocabularies of 100,000 and more.
const bytesPerToken = 4

func estimate(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// estimated is the prompt of a model whose engine renders by itself.
func estimated(req *conv.Request) *turn.Prompt {
	n := 0
	for _, m := range req.Messages {
		n += partsLen(m.Parts) + 4
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	start := guest.Start{Choice: guest.Choice(req.Choice.Mode), Tools: len(req.Tools) > 0}
	return &turn.Prompt{Tokens: estimate(n), Estimate: true, Start: start.Append(nil)}
}

func partsLen(parts []conv.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += partsLen(p.Result.Parts)
		}
	}
	return n
}

// room decides how many tokens may be generated, or that the prompt does not fit. An estimate refuses
// nothing: the engine knows better.
func (m *model) room(req *conv.Request, p *turn.Prompt) (int, error) {
	want := m.MaxOutput
	if req.MaxTokens > 0 {
		want = min(want, req.MaxTokens)
	}
	if p.Estimate {
		return want, nil
	}
	left := m.Context - p.Tokens
	if left < min(m.MinRoom, want) {
		f := fault.New(fault.Overflow, "the prompt has %d tokens, the model's window is %d", p.Tokens, m.Context)
		f.Tokens, f.Limit = p.Tokens, m.Context
		return 0, f
	}
	return min(want, left), nil
}
