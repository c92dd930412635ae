package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines/sim"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/seal"
	"github.com/weirgate/weir/gateway/internal/shadow"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
	"github.com/weirgate/weir/plugins/parser"
	policies "github.com/weirgate/weir/plugins/template"
)

// builtinName is the name of the guest that holds the built-in parsers and policies.
const builtinName = "builtin"

// snapshot is one configuration, bound. A turn keeps the one it began with.
type snapshot struct {
	config   *config.Config
	tenants  *tenant.Registry
	models   map[string]*model
	shadows  *shadow.Store // the same for all
	box      *seal.Box
	settings httpapi.Settings
}

// model is a model entry bound to what serves it.
type model struct {
	*config.Model // with what its files say where the entry is silent
	engines       []*engine
	assets        *assets           // nil where no files and no family are named
	vocab         *vocab.Tokenizer  // nil where it is not known: the engine counts
	cache         *vocab.Cache      // of vocab
	controls      *vocab.Controls   // tokens that what users wrote never becomes
	takesIDs      bool              // an engine gets the prompt's tokens
	style         *wire.Style       // how it writes a turn
	parserConfig  []byte            // open config of its parser plugin
	parserName    string            // plugin that holds the parser; empty: output is not parsed
	simulation    *sim.Tokens       // that a simulated engine has for it; nil: those of the embedded vocabulary
	planner       *plughost.Planner // its built-in policy; nil where a plugin is the policy, or renders
	shadow        *model            // with the plugin that is compared as its parser; nil: none
	canary        *model            // with the plugin that parses a share of the streams; nil: none
}

// ConfigOptions are the names that a configuration may use.
func ConfigOptions() config.Options {
	return config.Options{Known: config.Known{
		Engines: []string{"sim", "openai"}, Families: family.Names(),
		Reasoning: parser.Reasonings(), Tools: parser.Tools(), Policies: policies.Names(),
	}}
}

// apply makes a configuration the one that holds, or changes nothing.
func (g *Gateway) apply(c *config.Config) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	listen := c.Server.Listen
	if g.opt.Listen != "" {
		listen = g.opt.Listen
		if err := c.CheckListen(listen); err != nil {
			return err
		}
	}
	box, err := g.bindSeal(c)
	if err != nil {
		return err
	}
	s := &snapshot{config: c, box: box, models: make(map[string]*model, len(c.Models))}
	engines, err := g.pool.bind(g, c)
	if err != nil {
		return err
	}
	byID, bySource, err := g.assets.bind(context.Background(), c)
	if err != nil {
		return err
	}
	for i := range c.Models {
		m, err := g.bind(&c.Models[i], engines, byID[c.Models[i].ID])
		if err != nil {
			return fmt.Errorf("model %s: %w", c.Models[i].ID, err)
		}
		m.shadow, m.canary = g.variant(m, m.Shadow), g.variant(m, m.Canary.Parser)
		s.models[m.ID] = m
	}
	var prev *tenant.Registry
	if old := g.current.Load(); old != nil {
		prev, s.shadows = old.tenants, old.shadows
	}
	s.keepShadows()
	s.tenants = tenant.New(c, prev)
	s.settings = httpapi.Settings{
		MaxBody: c.Server.MaxBody, Hosts: c.Server.Hosts, AnyHost: len(c.Server.Hosts) == 0 && !loopback(listen),
		Origins: c.Server.Origins, WebSocket: c.Server.WebSocket, WriteTimeout: writeTimeout, SocketStall: socketStall,
		OpenNames: c.Responses.OpenNames, SocketTTL: c.Responses.SocketTTL, SocketMemory: c.Responses.SocketMemory, Deflate: c.Responses.Deflate, StoreTTL: c.Store.TTL,
	}
	g.pool.keep(engines)
	g.assets.keep(bySource)
	g.setKnown(c)
	g.registry.SetRules(rules(c))
	telemetry.SetLevel(&g.level, c.Log.Level)
	g.current.Store(s)
	return nil
}

func (g *Gateway) setKnown(c *config.Config) {
	var models, tenants []string
	for _, m := range c.Models {
		models = append(models, m.ID)
	}
	for _, t := range c.Tenants {
		tenants = append(tenants, t.Name)
	}
	g.metrics.SetKnown(models, tenants)
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bind puts a model entry together: its engines, its files, its parser's configuration and its policy.
func (g *Gateway) bind(entry *config.Model, engines map[string]*engine, a *assets) (*model, error) {
	m := resolved(entry, a)
	b := &model{Model: m, assets: a}
	for _, name := range m.Engines {
		b.engines = append(b.engines, engines[name])
	}
	if err := g.bindPrompt(b); err != nil {
		return nil, err
	}
	switch {
	case m.Parser != "":
		b.parserName, b.parserConfig = m.Parser, []byte(`{}`)
		if _, err := g.registry.Lookup(m.Parser); err != nil {
			// It may be dropped in later, so this is no fault; until then the model answers 503.
			g.log.LogAttrs(context.Background(), slog.LevelWarn, "the parser plugin of a model is not loaded", slog.String(telemetry.KeyModel, m.ID), slog.String(telemetry.KeyPlugin, m.Parser))
		}
		return b, nil
	case m.Reasoning == "" && m.Tools == "":
		return b, nil
	}
	b.parserName = builtinName
	b.parserConfig = g.parserConfig(b)
	p, err := g.registry.Lookup(builtinName)
	if err != nil {
		return nil, err
	}
	if _, err := p.Parser(b.parserConfig); err != nil {
		return nil, err
	}
	return b, nil
}

// parserConfig is the open config of a built-in parser. Where every engine of the model names special
// tokens, a marker that is one matches by its id alone.
func (g *Gateway) parserConfig(m *model) []byte {
	doc := jsonscan.AppendString([]byte(`{"reasoning":`), m.Reasoning)
	doc = jsonscan.AppendString(append(doc, `,"tools":`...), m.Tools)
	doc = append(doc, `,"markers":{`...)
	spans := true
	for _, e := range m.engines {
		spans = spans && e.Capabilities().Spans
	}
	first := true
	for _, text := range parser.Markers(m.Reasoning, m.Tools) {
		id, ok := m.special(g, text)
		if !spans || !ok {
			continue
		}
		if !first {
			doc = append(doc, ',')
		}
		first = false
		doc = jsonscan.AppendString(doc, text)
		doc = append(doc, fmt.Sprintf(`:{"id":%d,"textual":false}`, id)...)
	}
	return append(doc, `}}`...)
}

// stream opens the model's parser for one stream of a tenant, over a swap that happens in between. The result
// is nil for a model whose output is not parsed.
func (m *model) stream(r *plughost.Registry, tenant string) (*plughost.Stream, error) {
	if m.parserName == "" {
		return nil, nil
	}
	if m.parserName == builtinName {
		tenant = "" // what weir brings along is trusted with what tenants share
	}
	for {
		p, err := r.Lookup(m.parserName)
		if err != nil {
			return nil, err
		}
		s, err := p.Open(tenant, m.parserConfig)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, plughost.ErrRetired) {
			return nil, err
		}
		if now, lookErr := r.Lookup(m.parserName); lookErr != nil || now == p {
			return nil, err
		}
	}
}
