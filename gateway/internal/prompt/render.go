package prompt

import (
	"context"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/jinja"
)

// Render makes the prompt of a request. The error is a *fault.Error: Invalid for what the template refuses
// and for arguments that are not the client's to set, Unsupported for media that the template does not
// take, TooLarge for a conversation that goes over the template's limits, Plugin for a plan that does not
// fit, Internal for a template that fails.
func (m *Model) Render(ctx context.Context, in *Input) (*Prompt, error) {
	req := in.Request
	p, err := readPlan(req, in.Plan)
	if err != nil {
		return nil, err
	}
	v, err := m.variant(ctx, req)
	if err != nil {
		return nil, err
	}
	vars, unread, err := m.variables(v, req, &p)
	if err != nil {
		return nil, err
	}
	g := newPage(ctx, m, v, in, &p)
	defer g.release()
	for _, s := range unread {
		g.miss("%s", s)
	}
	if err := g.variables(vars); err != nil {
		return nil, err
	}
	if err := g.prepare(); err != nil { //nolint:contextcheck // nothing in it waits
		return nil, err
	}
	vars["messages"] = g.values()
	vars["add_generation_prompt"] = jinja.Bool(!req.Prompting.Continue && !req.Prompting.NoGeneration)
	if in.Prepared != nil {
		in.Prepared()
	}
	r, err := v.tpl.Render(ctx, vars, jinja.RenderOptions{Now: m.now(), Origins: true, Buffer: g.buf, Spans: g.marks})
	if err != nil {
		return nil, failed(ctx, v, err)
	}
	g.buf = r.Text
	return g.finish(r.Text, r.Spans)
}

// variables adds the tools and documents to the template's arguments.
func (g *page) variables(vars map[string]jinja.Value) error {
	g.a = g.v.abilities(len(g.req.Tools) > 0)
	g.tools = g.m.cache.list(g.req.Tools, g.a.describe)
	for _, i := range g.tools.broken {
		g.miss("%s: a schema that is not an object", indexed("tools", i))
	}
	if g.tools.listed.IsUndefined() {
		g.a = g.v.abilities(false) // of deferred ones alone the template learns nothing
	} else if g.a.tools {
		vars["tools"] = g.tools.listed
	} else {
		g.a = g.v.abilities(false)
	}
	docs := g.req.Prompting.Documents
	if len(docs) == 0 {
		return nil
	}
	v, err := jinja.FromJSON(docs, jinja.Origin{Kind: jinja.FromUser, Part: directDoc})
	if err != nil || docs[0] != '[' {
		return fault.At(fault.Invalid, "documents", "expected an array")
	}
	if !g.a.documents {
		g.lose("documents: the template shows none")
	}
	vars["documents"] = v
	return nil
}
