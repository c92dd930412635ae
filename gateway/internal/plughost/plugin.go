package plughost

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// maxConfigs bounds the configurations of one plugin version, one for each tenant counted; each keeps a pool of
// instances.
const maxConfigs = 256

// Plugin is one version of one plugin, with a runtime of its own. It is safe for concurrent use.
type Plugin struct {
	Name     string
	Version  string
	Digest   string // SHA-256 of the module, in hex
	Origin   string // where it came from: a path, or what the loader called it
	Manifest Manifest

	core   string            // digest of what runs: the module without what does not matter, such as custom sections
	signer ed25519.PublicKey // that the file was checked with; nil for none, until the plugin is in a registry
	host   *Host
	module *sandbox.Module
	stub   *stub
	engine *engine
	sticky atomic.Int32
	// trusted plugins are weir's own.
	trusted atomic.Bool
	health  health

	mu        sync.Mutex // guards what follows
	holders   int
	retired   bool
	closed    bool
	uses      uint64 // counts up, to find the configuration that was used longest ago
	parsers   map[poolKey]*Parser
	planners  map[poolKey]*Planner
	renderers map[poolKey]*Renderer
}

// poolKey names what has a pool of its own: a configuration, and the tenant for a plugin of a third party, so
// that no guest memory is shared between tenants.
type poolKey struct {
	tenant string
	config [sha256.Size]byte
}

// Load checks, compiles and tries a module. name is what its manifest must say, or empty to take what
// it says; origin is for messages. The plugin lives until it is retired and nobody holds it.
func (h *Host) Load(ctx context.Context, name string, wasm []byte, origin string) (*Plugin, error) {
	p, err := h.load(ctx, name, wasm, origin)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", origin, err)
	}
	return p, nil
}

func (h *Host) load(ctx context.Context, name string, wasm []byte, origin string) (*Plugin, error) {
	prepared, module, err := sandbox.Prepare(wasm, h.o.Limits)
	if err != nil {
		return nil, err
	}
	if err := checkExports(module); err != nil {
		return nil, err
	}
	p := &Plugin{
		Digest: digestOf(wasm), core: digestOf(prepared), Origin: origin,
		host: h, module: module, stub: newStub(newLineLog(h.log, origin)),
		parsers: map[poolKey]*Parser{}, planners: map[poolKey]*Planner{}, renderers: map[poolKey]*Renderer{},
	}
	if p.engine, err = h.newRuntime(ctx, prepared, p.stub); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	h.live.Add(1)
	if err := p.trial(ctx, name); err != nil {
		p.shutdown()
		return nil, err
	}
	p.stub.log.rename(p.Name)
	return p, nil
}

// digestOf is the SHA-256 of bytes, in hex.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// trial makes one instance, so that what cannot run is refused at load and not at the first request.
func (p *Plugin) trial(ctx context.Context, name string) error {
	i, err := newInstance(ctx, p, true)
	if err != nil {
		return err
	}
	defer i.close()
	m, err := parseManifest(i.manifest)
	if err != nil {
		return err
	}
	if name != "" && m.Name != name {
		return fmt.Errorf("%w: name is %q, want %q", errManifest, m.Name, name)
	}
	if err := checkKinds(p.module, m); err != nil {
		return err
	}
	p.Name, p.Version, p.Manifest = m.Name, m.Version, *m
	return nil
}

// Parser returns the parser for a configuration, made and tried at the first call and kept with the
// plugin. It fails with ErrConfig when the plugin refuses the configuration, and with ErrRetired.
func (p *Plugin) Parser(config []byte) (*Parser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parser("", config)
}

// Open begins a stream of a tenant: streams of different tenants never share an instance, unless tenant is
// empty for both. It fails like Parser, and like Parser.Stream.
func (p *Plugin) Open(tenant string, config []byte) (*Stream, error) {
	if tenant != "" && p.health.bars(tenant) {
		return nil, fmt.Errorf("%w: %s %s, for the streams of %s", ErrQuarantined, p.Name, p.Version, tenant)
	}
	p.mu.Lock()
	r, err := p.parser(tenant, config)
	if err == nil {
		r.streams++ // before the lock is given up, so that nobody makes room of it
	}
	p.mu.Unlock()
	if err != nil {
		p.Report(tenant, err)
		return nil, err
	}
	s, err := r.Stream()
	p.mu.Lock()
	r.streams--
	p.mu.Unlock()
	if err != nil {
		p.Report(tenant, err)
		return nil, err
	}
	s.tenant = tenant
	return s, nil
}

// parser is Parser for a tenant. p.mu is held.
func (p *Plugin) parser(tenant string, config []byte) (*Parser, error) {
	if !p.Manifest.Is(KindParser) {
		return nil, fmt.Errorf("plugin %s is not a parser", p.Name)
	}
	r, err := configured(p, p.parsers, tenant, config, newParser)
	if err != nil {
		return nil, err
	}
	p.uses++
	r.used = p.uses
	return r, nil
}

// Planner returns the policy for a configuration, like Parser. It is shared by all tenants: what it sees
// of a conversation are shapes and names.
func (p *Plugin) Planner(config []byte) (*Planner, error) {
	if !p.Manifest.Is(KindTemplate) {
		return nil, fmt.Errorf("plugin %s is not a template policy", p.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return configured(p, p.planners, "", config, newPlanner)
}

// configured finds or makes what serves a configuration. p.mu is held, also while the first instance is
// made: it is milliseconds, once a configuration.
func configured[T any](p *Plugin, kept map[poolKey]*T, tenant string, config []byte, open func(*Plugin, []byte) (*T, error)) (*T, error) {
	if len(config) > abi.MaxConfig {
		return nil, fmt.Errorf("plugin %s: configuration of %d bytes, at most %d", p.Name, len(config), abi.MaxConfig)
	}
	key := poolKey{tenant: tenant, config: sha256.Sum256(config)}
	if p.retired {
		return nil, fmt.Errorf("plugin %s %s: %w", p.Name, p.Version, ErrRetired)
	}
	if r := kept[key]; r != nil {
		return r, nil
	}
	if len(p.parsers)+len(p.planners)+len(p.renderers) >= maxConfigs && !p.makeRoom() {
		return nil, fmt.Errorf("plugin %s: %w: more than %d configurations in use", p.Name, ErrBusy, maxConfigs)
	}
	r, err := open(p, config)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	kept[key] = r
	return r, nil
}

// makeRoom closes the pool of a tenant without streams and renders that was used longest ago. p.mu is held.
func (p *Plugin) makeRoom() bool {
	oldest, found := uint64(math.MaxUint64), func() *pool { return nil }
	for key, r := range p.parsers {
		if key.tenant != "" && r.streams == 0 && r.used < oldest {
			oldest, found = r.used, func() *pool { delete(p.parsers, key); return r.pool }
		}
	}
	for key, r := range p.renderers {
		if key.tenant != "" && r.running == 0 && r.used < oldest {
			oldest, found = r.used, func() *pool { delete(p.renderers, key); return r.pool }
		}
	}
	pool := found()
	if pool == nil {
		return false
	}
	pool.close()
	return true
}

// pools are those of all configurations. p.mu is held, or nobody uses p any more.
func (p *Plugin) pools() []*pool {
	var out []*pool
	for _, r := range p.parsers {
		out = append(out, r.pool)
	}
	for _, r := range p.planners {
		out = append(out, r.pool)
	}
	for _, r := range p.renderers {
		out = append(out, r.pool)
	}
	return out
}

// Trim closes the idle instances of all pools that were not used since the last call.
func (p *Plugin) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pool := range p.pools() {
		pool.trim()
	}
}

// Acquire holds the plugin: its runtime stays until Release. It fails with ErrRetired.
func (p *Plugin) Acquire() error { return p.acquire(nil) }

// acquire holds the plugin, and counts a stream of r if there is one.
func (p *Plugin) acquire(r *Parser) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return fmt.Errorf("plugin %s %s: %w", p.Name, p.Version, ErrRetired)
	}
	p.holders++
	if r != nil {
		r.streams++
	}
	return nil
}

// Release ends one hold. The last one after Retire closes the runtime.
func (p *Plugin) Release() { p.release(nil) }

func (p *Plugin) release(r *Parser) {
	p.mu.Lock()
	p.holders--
	if r != nil {
		r.streams--
	}
	last := p.retired && p.holders == 0
	p.mu.Unlock()
	if last {
		p.shutdown()
	}
}

// Retire refuses new holders, and closes the runtime as soon as there are none. It may be called twice.
func (p *Plugin) Retire() {
	p.mu.Lock()
	p.retired = true
	idle := p.holders == 0
	p.mu.Unlock()
	if idle {
		p.shutdown()
	}
}

// Holders is the number of holds: streams that run on this version, and plans.
func (p *Plugin) Holders() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holders
}

func (p *Plugin) shutdown() {
	p.mu.Lock()
	first := !p.closed
	p.closed, p.retired = true, true
	p.mu.Unlock()
	if !first {
		return
	}
	for _, pool := range p.pools() {
		pool.close()
	}
	p.engine.close(context.Background())
	p.host.live.Add(-1)
}
