package plughost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// maxConfigs bounds the configurations of one plugin version; each keeps a pool of instances.
const maxConfigs = 256

// Plugin is one version of one plugin, with a runtime of its own. It is safe for concurrent use.
type Plugin struct {
	Name     string
	Version  string
	Digest   string // SHA-256 of the module, in hex
	Origin   string // where it came from: a path, or what the loader called it
	Manifest Manifest

	host   *Host
	module *sandbox.Module
	stub   *stub
	engine *engine
	sticky atomic.Int32

	mu       sync.Mutex // guards what follows
	holders  int
	retired  bool
	closed   bool
	parsers  map[[sha256.Size]byte]*Parser
	planners map[[sha256.Size]byte]*Planner
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
	digest := sha256.Sum256(wasm)
	p := &Plugin{
		Digest: hex.EncodeToString(digest[:]), Origin: origin,
		host: h, module: module, stub: newStub(newLineLog(h.log, origin)),
		parsers: map[[sha256.Size]byte]*Parser{}, planners: map[[sha256.Size]byte]*Planner{},
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
	if !p.Manifest.Is(KindParser) {
		return nil, fmt.Errorf("plugin %s is not a parser", p.Name)
	}
	return configured(p, p.parsers, config, newParser)
}

// Planner returns the policy for a configuration, like Parser.
func (p *Plugin) Planner(config []byte) (*Planner, error) {
	if !p.Manifest.Is(KindTemplate) {
		return nil, fmt.Errorf("plugin %s is not a template policy", p.Name)
	}
	return configured(p, p.planners, config, newPlanner)
}

func configured[T any](p *Plugin, kept map[[sha256.Size]byte]*T, config []byte, open func(*Plugin, []byte) (*T, error)) (*T, error) {
	if len(config) > abi.MaxConfig {
		return nil, fmt.Errorf("plugin %s: configuration of %d bytes, at most %d", p.Name, len(config), abi.MaxConfig)
	}
	key := sha256.Sum256(config)
	// The lock is held while the first instance is made: it is milliseconds, once a configuration.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return nil, fmt.Errorf("plugin %s %s: %w", p.Name, p.Version, ErrRetired)
	}
	if r := kept[key]; r != nil {
		return r, nil
	}
	if len(kept) == maxConfigs {
		return nil, fmt.Errorf("plugin %s: more than %d configurations", p.Name, maxConfigs)
	}
	r, err := open(p, config)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	kept[key] = r
	return r, nil
}

// Acquire holds the plugin: its runtime stays until Release. It fails with ErrRetired.
func (p *Plugin) Acquire() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return fmt.Errorf("plugin %s %s: %w", p.Name, p.Version, ErrRetired)
	}
	p.holders++
	return nil
}

// Release ends one hold. The last one after Retire closes the runtime.
func (p *Plugin) Release() {
	p.mu.Lock()
	p.holders--
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
	for _, r := range p.parsers {
		r.pool.close()
	}
	for _, r := range p.planners {
		r.pool.close()
	}
	p.engine.close(context.Background())
	p.host.live.Add(-1)
}
