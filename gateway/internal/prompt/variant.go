package prompt

import (
	"context"
	"fmt"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/jinja"
)

// variant is one compiled template and what was found out about it.
type variant struct {
	name  string
	tpl   *jinja.Template
	takes map[string]bool // the variables it has
	own   bool            // it came with the request
	// Templates show calls and results only where there are tools, or treat them otherwise; so each is
	// probed both ways.
	with, without abilities
}

func (m *Model) compile(ctx context.Context, name, src string, own bool) (*variant, error) {
	o := jinja.Options{MaxSource: maxSource}
	if own {
		o = jinja.Options{MaxSource: maxOwnSource, Limits: ownLimits()}
	}
	tpl, err := jinja.Compile(src, o)
	if err != nil {
		return nil, fmt.Errorf("chat template %q: %w", name, err)
	}
	v := &variant{name: name, tpl: tpl, own: own, takes: map[string]bool{}}
	for _, n := range tpl.Undeclared() {
		v.takes[n] = true
	}
	if v.without, err = m.probe(ctx, v, src, false); err == nil {
		v.with, err = m.probe(ctx, v, src, true)
	}
	if err != nil {
		return nil, fmt.Errorf("probing chat template %q: %w", name, err)
	}
	return v, nil
}

// variant chooses the template of a request, or compiles the one it brought.
func (m *Model) variant(ctx context.Context, req *conv.Request) (*variant, error) {
	if src := req.Prompting.Template; src != "" {
		v, err := m.compile(ctx, "request", src, true)
		if err != nil {
			if ctx.Err() != nil {
				return nil, interrupted(ctx, err)
			}
			f := fault.Wrap(fault.Invalid, err, "%s", clip(err.Error()))
			f.Param = "chat_template"
			return nil, f
		}
		return v, nil
	}
	switch {
	case len(req.Tools) > 0 && m.tools != nil:
		return m.tools, nil
	case len(req.Prompting.Documents) > 0 && m.rag != nil:
		return m.rag, nil
	}
	return m.main, nil
}

// abilities are those of the template for a request that has tools, or none.
func (v *variant) abilities(tools bool) *abilities {
	if tools {
		return &v.with
	}
	return &v.without
}
