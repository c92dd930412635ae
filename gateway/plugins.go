package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/plugins/builtin"
)

// openPlugins loads the built-in guest and what lies in the plugin folder.
func (g *Gateway) openPlugins(ctx context.Context, c *config.Config) error {
	host, err := plughost.New(plughost.Options{CacheDir: c.Plugins.CacheDir, Log: g.log, Memory: c.Plugins.MaxMemory, Sticky: c.Plugins.MaxSticky, NoSticky: c.Plugins.MaxSticky == 0})
	if err != nil {
		return err
	}
	g.host = host
	g.registry = plughost.NewRegistry(host, g.pluginChanged)
	g.registry.SetRules(rules(c))
	p, err := host.Load(ctx, builtinName, builtin.Wasm(), "built in")
	if err != nil {
		return fmt.Errorf("built-in plugins: %w", err)
	}
	if err := g.registry.AddBuiltin(p); err != nil {
		return fmt.Errorf("built-in plugins: %w", err)
	}
	if c.Plugins.Dir != "" {
		g.registry.Scan(ctx, c.Plugins.Dir)
	}
	return nil
}

// rules are those of the configuration.
func rules(c *config.Config) plughost.Rules {
	r := plughost.Rules{Trusted: c.Plugins.TrustedKeys, Quarantine: c.Plugins.Quarantine, Plugins: map[string]plughost.Rule{}}
	for name, s := range c.Plugins.Settings {
		r.Plugins[name] = plughost.Rule{SHA256: s.SHA256, Quarantine: s.Quarantine}
	}
	return r
}

func (g *Gateway) pluginChanged(ch plughost.Change) {
	switch {
	case ch.Quarantined != nil:
		g.metrics.PluginQuarantined(ch.Name)
	case ch.New == nil:
		g.metrics.PluginGone(ch.Name)
		g.missed(ch.Name)
	default:
		g.metrics.PluginLoaded(ch.Name, int(ch.Generation))
	}
}

// missed warns of models whose parser was taken away.
func (g *Gateway) missed(plugin string) {
	s := g.current.Load()
	if s == nil {
		return
	}
	for _, m := range s.config.Models {
		if m.Parser == plugin {
			g.log.LogAttrs(context.Background(), slog.LevelWarn, "the parser plugin of a model is gone", slog.String(telemetry.KeyModel, m.ID), slog.String(telemetry.KeyPlugin, plugin))
		}
	}
}

// AdminHeader is a header that, with the value 1, must come with every request that changes something: a web page cannot send it to another
// origin without being allowed to.
const AdminHeader = "X-Weir-Admin"

// Admin serves metrics, health, what shadows found (GET /shadow) and the plugins: GET /plugins lists them, POST /plugins/NAME/rollback makes the
// version before the current one serve, POST /plugins/NAME/release ends a quarantine. The two want the header
// X-Weir-Admin: 1. There is no authentication: the listener decides who reaches it.
func (g *Gateway) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", telemetry.Admin(g.metrics, func() error {
		if g.draining.Load() {
			return errors.New("shutting down")
		}
		return nil
	}, g.shadowPage()))
	mux.HandleFunc("GET /plugins", func(w http.ResponseWriter, _ *http.Request) { g.answerPlugins(w, http.StatusOK, nil) })
	mux.HandleFunc("POST /plugins/{name}/rollback", g.changePlugin(g.registry.Rollback))
	mux.HandleFunc("POST /plugins/{name}/release", g.changePlugin(g.registry.Unquarantine))
	return mux
}

func (g *Gateway) changePlugin(change func(name string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(AdminHeader) != "1" {
			g.answerPlugins(w, http.StatusForbidden, fmt.Errorf("the header %s: 1 is missing", AdminHeader))
			return
		}
		err := change(r.PathValue("name"))
		status := http.StatusOK
		switch {
		case errors.Is(err, plughost.ErrUnknown):
			status = http.StatusNotFound
		case errors.Is(err, plughost.ErrNoPrevious), errors.Is(err, plughost.ErrNotQuarantined):
			status = http.StatusConflict
		case err != nil:
			status = http.StatusInternalServerError
		}
		g.answerPlugins(w, status, err)
	}
}

// PluginStatus is a plugin, or a file that is none, as GET /plugins lists it.
type PluginStatus struct {
	Name        string     `json:"name,omitempty"`
	Version     string     `json:"version,omitempty"`
	SHA256      string     `json:"sha256,omitempty"`
	Origin      string     `json:"origin"`
	Builtin     bool       `json:"builtin,omitempty"`
	Generation  uint64     `json:"generation,omitempty"`
	Streams     int        `json:"streams"`
	Faults      int        `json:"faults"`
	Quarantined bool       `json:"quarantined,omitempty"`
	Serving     string     `json:"serving,omitempty"`         // version that new streams get
	Previous    string     `json:"previous,omitempty"`        // version to go back to
	PreviousSum string     `json:"previous_sha256,omitempty"` // its digest
	Error       string     `json:"error,omitempty"`           // why the file's present content is not taken
	Since       *time.Time `json:"since,omitempty"`
}

// PluginList is the body of GET /plugins and of the answers to changes.
type PluginList struct {
	Error   string         `json:"error,omitempty"`
	Plugins []PluginStatus `json:"plugins"`
}

func (g *Gateway) answerPlugins(w http.ResponseWriter, status int, err error) {
	list := PluginList{Plugins: []PluginStatus{}}
	if err != nil {
		list.Error = err.Error()
	}
	for _, s := range g.registry.Status() {
		p := PluginStatus{
			Name: s.Name, Version: s.Version, SHA256: s.Digest, Origin: s.Origin, Builtin: s.Builtin, Generation: s.Generation, Streams: s.Streams,
			Faults: s.Faults, Quarantined: s.Quarantined, Serving: s.Serving, Previous: s.Previous, PreviousSum: s.PreviousSum, Error: s.Err,
		}
		if !s.Since.IsZero() {
			p.Since = &s.Since
		}
		list.Plugins = append(list.Plugins, p)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(list) // a client that is gone is no concern of ours
}
