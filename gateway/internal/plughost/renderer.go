package plughost

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/plan"
)

// Fuel of weir1_render. A renderer writes where a policy only looks: its memory grows with the prompt, and each
// page that is touched for the first time takes the processor's time.
const (
	renderFuel     = 100_000_000
	renderFuelByte = 2_000 // for each byte of the input
)

func renderBudget(n int) int64 { return renderFuel + renderFuelByte*int64(n) }

// Renderer is a renderer plugin with one configuration. It is safe for concurrent use while somebody holds
// its plugin.
type Renderer struct {
	plugin *Plugin
	config []byte
	pool   *pool

	running int    // renders of Plugin.Render; guarded by the plugin's mutex
	used    uint64 // as Parser has it
}

func newRenderer(p *Plugin, config []byte) (*Renderer, error) {
	r := &Renderer{plugin: p, config: bytes.Clone(config)}
	r.pool = newPool(p.host.o.Instances, p.host.o.Wait, r.instance)
	first, err := r.pool.take(true)
	if err != nil {
		return nil, err
	}
	r.pool.place(first)
	return r, nil
}

// instance makes one that renders, and does nothing else: its handle for plans is that of weir1_render.
func (r *Renderer) instance() (*instance, error) {
	i, err := newInstance(context.Background(), r.plugin, false)
	if err != nil {
		return nil, err
	}
	i.plan = i.module.ExportedFunction(abi.ExportRender)
	if err := i.configure(r.config); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// Plugin is the version this renderer belongs to.
func (r *Renderer) Plugin() *Plugin { return r.plugin }

// Render makes the prompt of a conversation. in.Content is what the operator lets the plugin read: of that
// it gets what its manifest asks for. What the plugin does wrong is a *Fault; an error without one that
// wraps plan.ErrFormat tells of a conversation that is over a limit. It holds the plugin while it runs:
// ErrRetired asks for the next version.
func (r *Renderer) Render(in *plan.RenderInput) (*plan.Rendered, error) {
	asked := *in
	asked.Content &= r.plugin.Manifest.Content
	b, err := plan.AppendRenderInput(nil, &asked)
	if err != nil {
		return nil, err
	}
	if err := r.plugin.Acquire(); err != nil {
		return nil, err
	}
	defer r.plugin.Release()
	i, err := r.pool.take(true)
	if err != nil {
		return nil, err
	}
	out, err := i.render(&asked, b)
	return out, r.pool.settle(i, err)
}

// render asks for an answer to the input encoded in b and makes the prompt of it.
func (i *instance) render(in *plan.RenderInput, b []byte) (*plan.Rendered, error) {
	b, err := i.ask(abi.ExportRender, b, renderBudget(len(b)), plan.MaxAnswer)
	if err != nil {
		return nil, err
	}
	a, err := plan.ParseAnswer(b)
	if err != nil {
		return nil, i.fault(abi.ExportRender, KindProtocol, err)
	}
	out, err := plan.Assemble(in, a)
	if err != nil {
		return nil, i.fault(abi.ExportRender, KindProtocol, err)
	}
	return out, nil
}

// Renderer returns the renderer for a configuration, like Planner. It is shared by all tenants: where it reads
// content, Render keeps theirs apart.
func (p *Plugin) Renderer(config []byte) (*Renderer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.renderer("", config)
}

// Render makes a prompt of a tenant: prompts of different tenants never share an instance, unless tenant is
// empty for both. It fails like Renderer, and like Renderer.Render; a plugin that is in quarantine for the
// tenant fails with ErrQuarantined. Faults are counted against the plugin.
func (p *Plugin) Render(tenant string, config []byte, in *plan.RenderInput) (*plan.Rendered, error) {
	if tenant != "" && p.health.bars(tenant) {
		return nil, fmt.Errorf("%w: %s %s, for the prompts of %s", ErrQuarantined, p.Name, p.Version, tenant)
	}
	p.mu.Lock()
	r, err := p.renderer(tenant, config)
	if err == nil {
		r.running++ // before the lock is given up, so that nobody makes room of it
	}
	p.mu.Unlock()
	if err != nil {
		p.Report(tenant, err)
		return nil, err
	}
	out, err := r.Render(in)
	p.mu.Lock()
	r.running--
	p.mu.Unlock()
	if err != nil {
		p.Report(tenant, err)
	}
	return out, err
}

// renderer is Renderer for a tenant. p.mu is held.
func (p *Plugin) renderer(tenant string, config []byte) (*Renderer, error) {
	if !p.Manifest.Renders() {
		return nil, fmt.Errorf("plugin %s is not a renderer", p.Name)
	}
	r, err := configured(p, p.renderers, tenant, config, newRenderer)
	if err != nil {
		return nil, err
	}
	p.uses++
	r.used = p.uses
	return r, nil
}
