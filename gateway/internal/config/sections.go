package config

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"
)

// builtin is what holds where neither the embedded default nor a file says anything.
func builtin() *Config {
	return &Config{
		Server: Server{
			Listen:        "127.0.0.1:8000",
			Admin:         "127.0.0.1:8001",
			MaxBody:       32 << 20,
			KeepAlive:     10 * time.Second,
			HeaderWait:    5 * time.Second,
			ShutdownGrace: 10 * time.Second,
			WebSocket:     true,
		},
		Log:       Log{Level: "info", Format: LogText},
		Plugins:   Plugins{Watch: true, Failure: FailureRaw, Quarantine: 5, MaxMemory: 4 << 30, MaxSticky: 64},
		Memory:    Memory{Turns: 64 << 20, Ledger: 64 << 20},
		Store:     Store{Max: 256 << 20, TTL: 30 * 24 * time.Hour},
		Responses: Responses{SocketTTL: time.Hour, SocketMemory: 32 << 20, Deflate: true},
	}
}

func builtinSim() Sim {
	return Sim{
		Seed:        1,
		PrefillTPS:  230_000,
		Overhead:    50 * time.Millisecond,
		TokenTime:   2 * time.Millisecond,
		MaxBatch:    64,
		MaxQueue:    1024,
		CacheBlocks: 65536,
	}
}

func builtinOpenAI() OpenAI {
	return OpenAI{
		Mode:           ModeCompletions,
		Prompt:         PromptText,
		Tokenize:       TokenizeNone,
		ConnectTimeout: 5 * time.Second,
		IdleTimeout:    2 * time.Minute,
	}
}

func builtinModel() Model {
	return Model{Context: 131072, MaxOutput: 32768, MinRoom: 1024, UnknownTools: UnknownText, OwnedBy: "weir", Codex: builtinCodex()}
}

func builtinTenant() Tenant {
	return Tenant{Models: []string{"*"}, StripPreamble: true, Guard: true, PrefixHeader: true, Store: true, WebSocket: true}
}

func (l *loader) server(t *table, s *Server) {
	t.text("listen", &s.Listen, isAddress)
	t.text("admin", &s.Admin, orEmpty(isAddress))
	t.texts("hosts", &s.Hosts, isHost)
	t.texts("origins", &s.Origins, isOrigin)
	t.size("max_body", &s.MaxBody, 1<<10, 1<<30)
	t.duration("keepalive", &s.KeepAlive, time.Second, 10*time.Minute)
	t.duration("header_wait", &s.HeaderWait, 0, 5*time.Minute)
	t.duration("shutdown_grace", &s.ShutdownGrace, 0, time.Hour)
	t.flag("websocket", &s.WebSocket)
	t.text("state_dir", &s.StateDir, isPath)
	for i := range s.Hosts {
		s.Hosts[i] = strings.ToLower(s.Hosts[i])
	}
	for i := range s.Origins {
		s.Origins[i] = strings.ToLower(s.Origins[i])
	}
}

func (l *loader) log(t *table, g *Log) {
	oneOf(t, "level", &g.Level, []string{"debug", "info", "warn", "error"})
	oneOf(t, "format", &g.Format, []LogFormat{LogText, LogJSON})
}

func (l *loader) plugins(t *table, p *Plugins) {
	t.text("dir", &p.Dir, isPath)
	t.text("cache_dir", &p.CacheDir, isPath)
	t.flag("watch", &p.Watch)
	oneOf(t, "failure", &p.Failure, failures())
	t.number("quarantine", &p.Quarantine, 0, maxQuarantine)
	t.size("max_memory", &p.MaxMemory, 64<<20, 1<<42)
	t.number("max_sticky", &p.MaxSticky, 0, 4096)
	var keys []string
	t.texts("trusted_keys", &keys, isPublicKey)
	for _, k := range keys {
		p.TrustedKeys = append(p.TrustedKeys, publicKey(k))
	}
	t.sub("settings", func(s *table) { p.Settings = l.pluginSettings(s) })
}

// maxQuarantine bounds the faults that a quarantine may ask for.
const maxQuarantine = 1000

func failures() []FailurePolicy { return []FailurePolicy{FailureRaw, FailureAbort, FailureFallback} }

// pluginSettings reads a table for each plugin. A plugin need not be there yet.
func (l *loader) pluginSettings(t *table) map[string]PluginSettings {
	var all map[string]PluginSettings
	for _, name := range slices.Sorted(maps.Keys(t.m)) {
		if !isName.ok(name) {
			t.know(name)
			t.fault(name, "the name "+showText(name), isName.want)
			continue
		}
		t.sub(name, func(s *table) {
			var p PluginSettings
			oneOf(s, "failure", &p.Failure, failures())
			s.text("sha256", &p.SHA256, isDigest)
			p.SHA256 = strings.ToLower(p.SHA256)
			if _, ok := s.m["quarantine"]; ok {
				n := 0
				s.number("quarantine", &n, 0, maxQuarantine)
				p.Quarantine = &n
			}
			s.know("quarantine")
			if all == nil {
				all = map[string]PluginSettings{}
			}
			all[name] = p
		})
	}
	return all
}

func (l *loader) memory(t *table, m *Memory) {
	t.size("turns", &m.Turns, 0, 1<<42)
	t.size("ledger", &m.Ledger, 1<<20, 1<<42)
}

func (l *loader) seal(t *table, s *Seal) {
	t.texts("keys", &s.Keys, isKeyPlace)
	t.flag("strict", &s.Strict)
}

func (l *loader) store(t *table, s *Store) {
	t.text("path", &s.Path, isPath)
	t.size("max", &s.Max, 1<<20, 1<<42)
	t.duration("ttl", &s.TTL, time.Minute, 10*365*24*time.Hour)
}

func (l *loader) responses(t *table, r *Responses) {
	const openai, open = "openai", "open"
	names := openai
	if r.OpenNames {
		names = open
	}
	oneOf(t, "reasoning_names", &names, []string{openai, open})
	r.OpenNames = names == open
	t.duration("socket_ttl", &r.SocketTTL, time.Minute, 24*time.Hour)
	t.size("socket_memory", &r.SocketMemory, 1<<20, 1<<30)
	t.flag("deflate", &r.Deflate)
}

// publicKey decodes what isPublicKey accepted.
func publicKey(s string) ed25519.PublicKey {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

// serving reads engines and models. They replace those of the default together: a file with an engine of
// its own that forgot its models must not serve the embedded ones.
func (l *loader) serving(root *table, c *Config) {
	_, engines := root.m["engines"]
	_, models := root.m["models"]
	if engines || models {
		c.Engines, c.Models = nil, nil
	}
	root.sub("engines", func(t *table) {
		for _, name := range slices.Sorted(maps.Keys(t.m)) {
			if !isName.ok(name) {
				t.know(name)
				t.fault(name, "the name "+showText(name), isName.want)
				continue
			}
			t.sub(name, func(e *table) { c.Engines = append(c.Engines, l.engine(e, name)) })
		}
	})
	root.subs("models", func(t *table) { c.Models = append(c.Models, l.model(t, len(c.Models)+1)) })
}

func (l *loader) engine(t *table, name string) Engine {
	e := Engine{Name: name, origin: t.origin()}
	kinds := slices.DeleteFunc([]string{"openai", "sim"}, func(k string) bool { return !slices.Contains(l.known.Engines, k) })
	t.require("kind", choice(kinds))
	oneOf(t, "kind", &e.Kind, kinds)
	switch e.Kind {
	case "sim":
		s := builtinSim()
		t.number("seed", &s.Seed, 0, 1<<31-1)
		t.number("prefill_tps", &s.PrefillTPS, 0, 1e9)
		t.duration("overhead", &s.Overhead, 0, 10*time.Second)
		t.duration("token_time", &s.TokenTime, 0, 10*time.Second)
		t.number("max_batch", &s.MaxBatch, 1, 65536)
		t.number("max_queue", &s.MaxQueue, 1, 1<<20)
		t.number("cache_blocks", &s.CacheBlocks, 0, 1<<24)
		e.Sim = &s
	case "openai":
		e.OpenAI = l.openai(t)
	default:
		// What the other keys mean is not known, so nothing is said of them.
		for key := range t.m {
			t.know(key)
		}
	}
	return e
}

func (l *loader) openai(t *table) *OpenAI {
	o := builtinOpenAI()
	t.require("url", isURL.want)
	t.text("url", &o.URL, isURL)
	o.URL = strings.TrimRight(o.URL, "/")
	oneOf(t, "mode", &o.Mode, []Mode{ModeCompletions, ModeChat})
	oneOf(t, "prompt", &o.Prompt, []PromptForm{PromptText, PromptIDs})
	t.flag("structured", &o.Structured)
	t.text("api_key_env", &o.APIKeyEnv, orEmpty(isVariable))
	t.text("model", &o.Model, isLabel)
	t.flag("extras", &o.Extras)
	oneOf(t, "tokenize", &o.Tokenize, []TokenizeAPI{TokenizeNone, TokenizeVLLM, TokenizeLlamaCPP})
	t.duration("connect_timeout", &o.ConnectTimeout, 10*time.Millisecond, 5*time.Minute)
	t.duration("idle_timeout", &o.IdleTimeout, time.Second, time.Hour)
	l.apiKey(t, &o)
	return &o
}

// model reads the place-th entry.
func (l *loader) model(t *table, place int) Model {
	m := builtinModel()
	m.Codex.Priority = place
	m.origin = t.origin()
	t.require("id", isModelID.want)
	t.require("engines", "names of engines")
	t.text("id", &m.ID, isModelID)
	t.texts("aliases", &m.Aliases, isAlias)
	t.texts("engines", &m.Engines, isName)
	t.text("engine_model", &m.EngineModel, isLabel)
	t.text("dir", &m.Dir, isPath)
	t.text("gguf", &m.GGUF, isPath)
	optional(t, "family", &m.Family, l.known.Families)
	t.text("renderer", &m.Renderer, orEmpty(isName))
	optional(t, "reasoning", &m.Reasoning, l.known.Reasoning)
	optional(t, "tools", &m.Tools, l.known.Tools)
	t.text("parser", &m.Parser, orEmpty(isName))
	t.text("shadow", &m.Shadow, orEmpty(isName))
	t.sub("canary", func(c *table) { m.Canary = l.canary(c) })
	optional(t, "policy", &m.Policy, l.known.Policies)
	t.text("policy_plugin", &m.PolicyPlugin, orEmpty(isName))
	t.number("context", &m.Context, 256, 100_000_000)
	t.number("max_output", &m.MaxOutput, 1, 100_000_000)
	t.number("min_room", &m.MinRoom, 0, 100_000_000)
	thinking := ""
	oneOf(t, "thinking", &thinking, []string{"on", "off"})
	m.Thinking = thinking == "on" || thinking == "" && (m.Reasoning != "" || m.Parser != "")
	oneOf(t, "unknown_tools", &m.UnknownTools, []UnknownTools{UnknownText, UnknownEmit})
	t.text("owned_by", &m.OwnedBy, isLabel)
	t.text("display_name", &m.DisplayName, isLabel)
	m.DisplayName = cmp.Or(m.DisplayName, m.ID)
	t.sub("codex", func(c *table) { l.codex(c, &m.Codex) })
	return m
}

// canary reads a canary. One without a parser is none, whatever its share.
func (l *loader) canary(t *table) (c Canary) {
	t.require("parser", "the name of a plugin")
	t.require("share", shareWant)
	t.text("parser", &c.Parser, orEmpty(isName))
	t.share("share", &c.Share)
	if c.Parser == "" {
		return Canary{}
	}
	return c
}

func (l *loader) tenants(root *table, c *Config) {
	var list []Tenant
	if root.subs("tenants", func(t *table) { list = append(list, l.tenant(t)) }) {
		c.Tenants = list
	}
}

func (l *loader) tenant(t *table) Tenant {
	n := builtinTenant()
	n.origin = t.origin()
	t.require("name", isName.want)
	t.text("name", &n.Name, isName)
	var keys []string
	t.texts("keys", &keys, isKeyHash)
	for _, k := range keys {
		n.Keys = append(n.Keys, keyHash(k))
	}
	t.flag("any_key", &n.AnyKey)
	t.texts("models", &n.Models, isAlias)
	t.flag("dispatch", &n.Dispatch)
	t.flag("strip_preamble", &n.StripPreamble)
	t.flag("chat_template", &n.ChatTemplate)
	t.flag("guard", &n.Guard)
	t.flag("prefix_header", &n.PrefixHeader)
	t.flag("log_prompts", &n.LogPrompts)
	t.number("max_concurrent", &n.MaxConcurrent, 0, 1_000_000)
	t.flag("store", &n.Store)
	t.flag("websocket", &n.WebSocket)
	return n
}

// keyHash decodes what isKeyHash accepted.
func keyHash(s string) (h [32]byte) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "sha256:"))
	if err == nil {
		copy(h[:], b)
	}
	return h
}
