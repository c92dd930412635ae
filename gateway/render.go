package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/outline"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/jinja"
)

// render makes the prompt's text: by the model's chat template, or by its renderer plugin. What the policy
// decides comes before. h is nil where nothing is remembered of the conversation.
func (g *Gateway) render(ctx context.Context, m *model, t *tenant.Tenant, req *conv.Request, h *history) (*prompt.Prompt, error) {
	if m.Renderer != "" {
		return g.renderByPlugin(ctx, m, t, req)
	}
	ops, policy, err := g.planBy(ctx, m, t, req)
	if err != nil {
		return nil, err
	}
	p, err := m.assets.template.Render(ctx, g.input(m, req, ops, h))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Plugin || policy == nil {
		return p, err
	}
	// The plan does not fit the conversation: that is a failure of the policy like others.
	err = fmt.Errorf("%w: %w", host.ErrProtocol, err)
	policy.Report(t.Name, err)
	if err := g.policyFailed(ctx, m, policy.Name, abi.ExportPlan, err); err != nil {
		return nil, err
	}
	return m.assets.template.Render(ctx, g.input(m, req, nil, h))
}

// input is what a chat template gets.
func (g *Gateway) input(m *model, req *conv.Request, ops []plan.Op, h *history) *prompt.Input {
	in := &prompt.Input{Request: req, Plan: ops, Sum: g.ledger.Sum}
	if m.style.Whole() { // else what it cannot write would be lost
		in.Write = m.write
	}
	if h != nil {
		in.Turns = h.turn
	}
	return in
}

// write is prompt.Input's Write in the model's own format.
func (m *model) write(dst []byte, tail string, blocks []prompt.Block) []byte {
	out := make([]wire.Block, len(blocks))
	for i, b := range blocks {
		out[i] = wire.Block{Kind: wireKind(b.Kind), Text: b.Text, Name: b.Name, Arguments: b.Arguments, ID: b.ID}
	}
	return m.style.Write(dst, tail, out)
}

func wireKind(k prompt.BlockKind) wire.Kind {
	switch k {
	case prompt.BlockReasoning:
		return wire.Reasoning
	case prompt.BlockCall:
		return wire.Call
	}
	return wire.Text
}

// plan is planBy for who does not ask whose plan it is.
func (g *Gateway) plan(ctx context.Context, m *model, t *tenant.Tenant, req *conv.Request) ([]plan.Op, error) {
	ops, _, err := g.planBy(ctx, m, t, req)
	return ops, err
}

// planBy asks the model's policy, and says which plugin that is. One that fails ends the turn, unless its failure
// policy says that the prompt is then made as if there were no policy: then there is no plugin either.
func (g *Gateway) planBy(ctx context.Context, m *model, t *tenant.Tenant, req *conv.Request) ([]plan.Op, *plughost.Plugin, error) {
	rows, err := outline.Of(req, m.Thinking, toolname.Of)
	if err != nil {
		return nil, nil, err
	}
	if m.PolicyPlugin == "" {
		ops, err := m.planner.Ops(rows)
		if err != nil {
			p := m.planner.Plugin()
			p.Report("", err)
			return nil, nil, g.policyFailed(ctx, m, p.Name, abi.ExportPlan, err)
		}
		return ops, m.planner.Plugin(), nil
	}
	for {
		p, err := g.registry.Lookup(m.PolicyPlugin)
		if err != nil {
			return nil, nil, g.policyFailed(ctx, m, m.PolicyPlugin, abi.ExportPlan, err)
		}
		r, err := p.Planner(policyPluginConfig(p))
		var ops []plan.Op
		if err == nil {
			ops, err = r.Ops(rows)
		}
		switch {
		case err == nil:
			return ops, p, nil
		case errors.Is(err, plughost.ErrRetired) && g.replaced(m.PolicyPlugin, p):
			continue
		}
		p.Report(t.Name, err)
		return nil, nil, g.policyFailed(ctx, m, m.PolicyPlugin, abi.ExportPlan, err)
	}
}

// replaced reports whether a plugin of this name has come in the place of one.
func (g *Gateway) replaced(name string, old *plughost.Plugin) bool {
	now, err := g.registry.Lookup(name)
	return err == nil && now != old
}

// policyFailed tells of a template plugin that failed, and returns the fault of the turn; nil where it goes on
// without.
func (g *Gateway) policyFailed(ctx context.Context, m *model, name, export string, err error) error {
	g.metrics.PluginFault(name, export, string(plughost.KindOf(err)))
	fall := export == abi.ExportPlan && g.current.Load().config.Plugins.FailureOf(name) == config.FailureFallback
	g.log.LogAttrs(ctx, slog.LevelWarn, "template plugin failed", slog.String(telemetry.KeyPlugin, name), slog.String(telemetry.KeyModel, m.ID),
		slog.Bool(telemetry.KeyFallback, fall), slog.String(telemetry.KeyError, err.Error()))
	if fall {
		return nil
	}
	if errors.Is(err, plughost.ErrUnknown) || errors.Is(err, plughost.ErrQuarantined) {
		return fault.Wrap(fault.Unavailable, err, "the model's template plugin is not loaded")
	}
	return fault.Wrap(fault.Plugin, err, "the model's template plugin failed")
}

// renderByPlugin makes the prompt with the model's renderer plugin.
func (g *Gateway) renderByPlugin(ctx context.Context, m *model, t *tenant.Tenant, req *conv.Request) (*prompt.Prompt, error) {
	if req.Prompting.Template != "" || req.Prompting.Documents != nil {
		return nil, fault.At(fault.Unsupported, "chat_template", "this model's prompts are not made by a chat template: chat_template and documents have no effect")
	}
	in, err := outline.Input(req, m.Thinking, toolname.Of)
	if err != nil {
		return nil, err
	}
	in.Content = plan.ReadAll
	for {
		p, conf, err := g.rendererOf(m.Renderer)
		if err != nil {
			return nil, g.policyFailed(ctx, m, m.Renderer, abi.ExportRender, err)
		}
		owner := t.Name
		if p.Name == builtinName {
			owner = "" // what weir brings along is trusted with what tenants share
		}
		out, err := p.Render(owner, conf, in)
		switch {
		case err == nil:
			return g.renderedBy(req, out), nil
		case errors.Is(err, plughost.ErrRetired) && g.replaced(p.Name, p):
			continue
		case errors.Is(err, plan.ErrFormat) && !isFault(err):
			return nil, fault.Wrap(fault.Invalid, err, "the conversation is too large for this model's renderer")
		}
		return nil, g.policyFailed(ctx, m, m.Renderer, abi.ExportRender, err)
	}
}

func isFault(err error) bool {
	_, ok := errors.AsType[*plughost.Fault](err)
	return ok
}

// renderedBy brings a plugin's prompt into the form of those that a template made.
func (g *Gateway) renderedBy(req *conv.Request, r *plan.Rendered) *prompt.Prompt {
	p := &prompt.Prompt{Text: r.Text, Next: len(req.Messages), Owner: ledger.OwnerPolicy, Kinds: make([]prompt.Stretch, len(r.Spans))}
	last := 0 // where the last byte stands that is not the renderer's own
	for i, s := range r.Spans {
		p.Kinds[i] = prompt.Stretch{End: int32(s.End), Kind: originOf(s.Source)}
		if kind := partKind(req, s); kind != ledger.Template {
			part := ledger.Part{Kind: kind, Message: s.Message, Part: s.Part, Start: s.Start, End: s.End}
			if kind == ledger.Call {
				part.Canonical = g.ledger.Sum(req.Messages[s.Message].Parts[s.Part].Call.Arguments) // it is printed in another form
			}
			p.Parts = append(p.Parts, part)
			last = s.End
		}
	}
	p.Parts = g.withDropped(p.Parts, req)
	p.Before = r.Text[last:]
	p.Tail = p.Before[max(0, len(p.Before)-abi.MaxPromptTail):]
	for _, op := range r.Ops {
		switch op.Kind {
		case plan.StopOp:
			p.Stops = append(p.Stops, op.Value)
		case plan.TokenOp:
			p.Preserve = append(p.Preserve, op.Value)
		case plan.StartOp:
			p.Start = op.State
		}
	}
	return p
}

// withDropped adds the reasoning that a renderer left out, in its order, so that the ledger knows who dropped it.
func (g *Gateway) withDropped(parts []ledger.Part, req *conv.Request) []ledger.Part {
	type place struct{ message, part int }
	shown := map[place]bool{}
	for _, p := range parts {
		if p.Kind == ledger.Reasoning {
			shown[place{p.Message, p.Part}] = true
		}
	}
	var out []ledger.Part
	end := 0 // of the last part in out
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			q := &req.Messages[i].Parts[j]
			if q.Kind != conv.Reasoning || q.Text == "" || shown[place{i, j}] {
				continue
			}
			n := slices.IndexFunc(parts, func(p ledger.Part) bool {
				return p.Kind != ledger.ToolSchema && (p.Message > i || p.Message == i && p.Part > j)
			})
			if n < 0 {
				n = len(parts)
			}
			if n > 0 {
				end = parts[n-1].End
			}
			out = append(append(out, parts[:n]...), ledger.Part{Kind: ledger.Reasoning, Message: i, Part: j, Start: end, End: end, Canonical: g.ledger.Sum(q.Text)})
			parts = parts[n:]
		}
	}
	return append(out, parts...)
}

func originOf(s plan.Source) jinja.OriginKind {
	switch s {
	case plan.FromSystem, plan.FromDeveloper:
		return jinja.FromSystem
	case plan.FromUser:
		return jinja.FromUser
	case plan.FromAssistant:
		return jinja.FromAssistant
	case plan.FromResult:
		return jinja.FromToolResult
	case plan.FromTool:
		return jinja.FromToolSchema
	}
	return jinja.FromTemplate
}

// partKind is what the ledger calls a stretch.
func partKind(req *conv.Request, s plan.Span) ledger.Kind {
	switch s.Source {
	case plan.FromSystem, plan.FromDeveloper:
		return ledger.System
	case plan.FromUser:
		return ledger.User
	case plan.FromResult:
		return ledger.ToolResult
	case plan.FromTool:
		return ledger.ToolSchema
	case plan.FromAssistant:
		if s.Message < len(req.Messages) && s.Part < len(req.Messages[s.Message].Parts) {
			switch req.Messages[s.Message].Parts[s.Part].Kind {
			case conv.Reasoning:
				return ledger.Reasoning
			case conv.Call:
				return ledger.Call
			}
		}
		return ledger.Assistant
	}
	return ledger.Template
}
