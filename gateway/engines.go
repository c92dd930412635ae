package gateway

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/openai"
	"github.com/weirgate/weir/engines/sim"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/wire"
)

// engine is a configured engine under its name.
type engine struct {
	engines.Engine
	name   string
	config config.Engine
}

// enginePool keeps engines over reloads: one whose entry did not change keeps its connections and caches.
type enginePool struct {
	mu   sync.Mutex // guards live
	live map[string]*engine
}

func newEnginePool() *enginePool { return &enginePool{live: map[string]*engine{}} }

// bind returns the engines of a configuration by name; nothing is kept until keep.
func (p *enginePool) bind(g *Gateway, c *config.Config) (map[string]*engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]*engine, len(c.Engines))
	for _, e := range c.Engines {
		if old := p.live[e.Name]; old != nil && sameEngine(old.config, e) {
			out[e.Name] = old
			continue
		}
		made, err := g.newEngine(e)
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", e.Name, err)
		}
		out[e.Name] = &engine{Engine: made, name: e.Name, config: e}
	}
	return out, nil
}

// sameEngine compares what an engine is made of, not where in the file it stands.
func sameEngine(a, b config.Engine) bool {
	return a.Kind == b.Kind && reflect.DeepEqual(a.Sim, b.Sim) && reflect.DeepEqual(a.OpenAI, b.OpenAI)
}

// keep makes engines the ones that live on. Those left out give up idle connections; their running
// streams go on.
func (p *enginePool) keep(engines map[string]*engine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, old := range p.live {
		if engines[name] != old {
			old.close()
		}
	}
	p.live = engines
}

func (p *enginePool) close() { p.keep(map[string]*engine{}) }

// counts reports whether the engine was configured to count prompts.
func (e *engine) counts() bool {
	return e.config.OpenAI != nil && e.config.OpenAI.Tokenize != config.TokenizeNone
}

func (e *engine) close() {
	switch c := e.Engine.(type) {
	case io.Closer:
		_ = c.Close() // only idle connections: there is nothing to lose
	case interface{ Close() }:
		c.Close()
	}
}

func (g *Gateway) newEngine(e config.Engine) (engines.Engine, error) {
	if e.Sim != nil {
		return sim.New(g.simConfig(e)), nil
	}
	o := e.OpenAI
	cfg := openai.Config{
		Name: e.Name, BaseURL: o.URL, APIKey: o.APIKey.Reveal(), Model: o.Model, Structured: o.Structured,
		PromptIDs: o.Prompt == config.PromptIDs, Extras: o.Extras, CachedTokens: true,
		DialTimeout: o.ConnectTimeout,
	}
	if o.Mode == config.ModeChat {
		cfg.Mode = openai.Chat
	}
	switch o.Tokenize {
	case config.TokenizeVLLM:
		cfg.Tokenizer = openai.TokenizeVLLM
	case config.TokenizeLlamaCPP:
		cfg.Tokenizer = openai.TokenizeLlamaCPP
	}
	return openai.New(cfg)
}

// simConfig gives the simulated engine the model families' own way of writing, and the special tokens of
// the built-in vocabulary.
func (g *Gateway) simConfig(e config.Engine) sim.Config {
	cfg := sim.Config{
		Name: e.Name, Seed: uint64(e.Sim.Seed), Thinks: true, MaxBatch: e.Sim.MaxBatch,
		MaxQueue:    e.Sim.MaxQueue,
		CacheBlocks: e.Sim.CacheBlocks, PrefillRate: float64(e.Sim.PrefillTPS), Overhead: e.Sim.Overhead, TokenTime: e.Sim.TokenTime, Scale: 1,
	}
	if cfg.CacheBlocks == 0 {
		cfg.CacheBlocks = -1 // there 0 is the default size, here no cache
	}
	for _, s := range g.vocab.Specials() {
		cfg.Special = append(cfg.Special, sim.Special{Text: s.Text, ID: s.ID})
	}
	cfg.Vocabulary = g.vocab
	cfg.Tokens = func(name string) *sim.Tokens {
		if m := g.modelOf(e.Name, name); m != nil {
			return m.simulation
		}
		return nil
	}
	cfg.RenderTurn = func(t sim.Turn, name string) []byte {
		return g.style(e.Name, name).Write(nil, t.PromptTail, turnBlocks(t))
	}
	return cfg
}

// style is how a model writes, given its id or the name under which an engine serves it: in the formats
// that its entry says are parsed, and in its family's where the entry says nothing.
func (g *Gateway) style(engine, name string) *wire.Style {
	if m := g.modelOf(engine, name); m != nil {
		return m.style
	}
	return &wire.Style{} // text alone: an engine is asked for models of the configuration
}

// modelOf is the entry of a model by its id, or by the name under which an engine serves it; nil if there
// is none.
func (g *Gateway) modelOf(engine, name string) *model {
	s := g.current.Load()
	if s == nil {
		return nil
	}
	if m := s.models[name]; m != nil {
		return m
	}
	for i := range s.config.Models {
		if m := &s.config.Models[i]; m.EngineModel == name && slices.Contains(m.Engines, engine) {
			return s.models[m.ID]
		}
	}
	return nil
}

// turnBlocks are the blocks of a turn, with its tools named as prompts name them.
func turnBlocks(t sim.Turn) []wire.Block {
	out := make([]wire.Block, 0, len(t.Blocks))
	for i := range t.Blocks {
		switch b := &t.Blocks[i]; b.Kind {
		case sim.Reasoning:
			out = append(out, wire.Block{Kind: wire.Reasoning, Text: b.Text})
		case sim.Text:
			out = append(out, wire.Block{Kind: wire.Text, Text: b.Text})
		case sim.Call:
			out = append(out, wire.Block{
				Kind: wire.Call, Name: toolname.Of(b.Call.Namespace, b.Call.Name), Arguments: b.Call.Arguments, ID: b.Call.ID,
				Custom: b.Call.Kind == conv.Custom,
			})
		}
	}
	return out
}
