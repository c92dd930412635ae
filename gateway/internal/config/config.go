// Package config reads weir's TOML files: strictly, with all faults at once and each at its line, into a
// value that is never changed afterwards.
package config

import (
	"crypto/ed25519"
	"strings"
	"time"

	"github.com/weirgate/weir/gateway/internal/secret"
)

// Config is one whole configuration. It is not changed after it was loaded and may be shared; a reload
// makes another one.
type Config struct {
	Server    Server
	Log       Log
	Plugins   Plugins
	Memory    Memory
	Seal      Seal
	Store     Store
	Responses Responses
	Engines   []Engine // in the order of their names
	Models    []Model  // in the order of the file
	Tenants   []Tenant // in the order of the file

	names    map[string]int // model ids and exact aliases
	patterns []pattern      // the other aliases, the most specific first
	origin   origin
}

// Server is what listens and how requests are treated before a surface sees them.
type Server struct {
	Listen        string        // host:port of the surfaces
	Admin         string        // host:port of metrics and health; empty: none
	Hosts         []string      // allowed Host names beside the loopback ones, lower case, without port
	Origins       []string      // allowed Origins of browsers and sockets: scheme://host[:port], lower case
	MaxBody       int64         // bytes of a request, after decompression
	KeepAlive     time.Duration // silence after which a stream gets a sign of life
	HeaderWait    time.Duration // how long the response's headers wait for the engine's; 0: not at all
	ShutdownGrace time.Duration // what running turns have left after SIGTERM
	WebSocket     bool          // whether sockets are served
	StateDir      string        // absolute; what outlives a restart; empty where the system has no place for it
}

// Log is how weir logs.
type Log struct {
	Level  string // debug, info, warn, error
	Format LogFormat
}

// LogFormat is the encoding of log lines.
type LogFormat string

// Formats of the log.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Plugins is where plugins come from and what happens when one fails.
type Plugins struct {
	Dir      string // absolute; empty where the system has no place for it: then no plugin is dropped in
	CacheDir string // absolute; of compiled plugins; empty: compiled at each start
	Watch    bool   // take changes of Dir without a restart
	Failure  FailurePolicy

	Quarantine  int                 // faults within a minute after which a plugin is not used any more; 0: never
	MaxMemory   int64               // bytes of all plugin instances together
	MaxSticky   int                 // streams at a time of one plugin that needs an instance for each
	TrustedKeys []ed25519.PublicKey // one of which must have signed a file of Dir; none: no signature is asked for
	Settings    map[string]PluginSettings
}

// PluginSettings are what an operator sets of one plugin, by its name.
type PluginSettings struct {
	Failure    FailurePolicy // empty: as for all
	SHA256     string        // digest that its file must have, in lower-case hex; empty: any
	Quarantine *int          // nil: as for all
}

// FailurePolicy is what happens when a plugin fails.
type FailurePolicy string

// Failure policies.
const (
	FailureRaw      FailurePolicy = "raw"      // what is left of a parser's stream passes as text; a policy's turn ends with an error
	FailureAbort    FailurePolicy = "abort"    // the turn ends with the surface's error
	FailureFallback FailurePolicy = "fallback" // as raw for a parser; a policy's turn goes on without its plan
)

// FailureOf is the failure policy of a plugin.
func (p *Plugins) FailureOf(name string) FailurePolicy {
	if f := p.Settings[name].Failure; f != "" {
		return f
	}
	return p.Failure
}

// Memory is what is remembered of conversations, in RAM.
type Memory struct {
	Turns  int64 // bytes of what models wrote; 0: nothing is remembered
	Ledger int64 // bytes of what prompts began with
}

// Seal is what opaque strings are made with that clients keep for weir: reasoning and summaries.
type Seal struct {
	// Keys say where keys are: env:NAME or file:/path, absolute. The first seals, all open; none: weir makes one and
	// keeps it in the state folder.
	Keys   []string
	Strict bool // a responses request whose seal is weir's own and does not open is refused
}

// Store is where answers are kept that can be continued and asked for again.
type Store struct {
	Path string        // absolute; of a SQLite database; empty: memory, which a restart empties
	Max  int64         // bytes of it
	TTL  time.Duration // how long an answer is kept
}

// Responses is how OpenAI's responses are served.
type Responses struct {
	OpenNames    bool          // raw reasoning has the event names of Open Responses, not OpenAI's
	SocketTTL    time.Duration // age at which a socket takes no further request
	SocketMemory int64         // bytes that one socket keeps of its conversations
	Deflate      bool          // its sockets may be compressed
}

// Engine is something that generates. Exactly one of Sim and OpenAI is set, by its kind.
type Engine struct {
	Name   string
	Kind   string // sim, openai
	Sim    *Sim
	OpenAI *OpenAI

	origin origin
}

// Sim is the embedded engine, which needs no GPU.
type Sim struct {
	Seed        int
	PrefillTPS  int           // prompt tokens per second that are not in its prefix cache; 0: they take no time
	Overhead    time.Duration // before the first token, beside the prefill
	TokenTime   time.Duration // between two tokens of a stream
	MaxBatch    int           // generations at a time
	MaxQueue    int           // generations that wait; beyond it the engine is busy
	CacheBlocks int           // of its prefix cache, 64 tokens each; 0: none
}

// OpenAI is a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp and the like.
type OpenAI struct {
	URL            string // with the version, without a slash at the end: http://host:8000/v1
	Mode           Mode
	Prompt         PromptForm
	Structured     bool // chat: it parses reasoning and tool calls itself
	APIKeyEnv      string
	APIKey         secret.Text // what APIKeyEnv held when the file was loaded
	Model          string      // its own name of the model, where a model entry gives none
	Extras         bool        // it understands vLLM's extra parameters
	Tokenize       TokenizeAPI
	ConnectTimeout time.Duration
	IdleTimeout    time.Duration // longest silence within a stream
}

// Mode is which endpoint of an engine is used.
type Mode string

// Modes.
const (
	ModeCompletions Mode = "completions" // weir renders the prompt
	ModeChat        Mode = "chat"        // the engine renders it
)

// PromptForm is what weir sends as a prompt.
type PromptForm string

// Forms of prompts.
const (
	PromptText PromptForm = "text"
	PromptIDs  PromptForm = "ids" // of tokens
)

// TokenizeAPI is whose tokenize endpoint an engine has.
type TokenizeAPI string

// Tokenize endpoints.
const (
	TokenizeNone     TokenizeAPI = "none"
	TokenizeVLLM     TokenizeAPI = "vllm"
	TokenizeLlamaCPP TokenizeAPI = "llamacpp"
)

// Model is a model as clients see it, and how its prompts are made and its output is read.
type Model struct {
	ID           string
	Aliases      []string // other names; * stands for any text
	Engines      []string // names of engines of this Config, in the order in which they are tried
	EngineModel  string   // the engine's name of it; never empty
	Dir          string   // absolute; folder of the model's own files; empty: none
	GGUF         string   // absolute; file that holds them; empty: none
	Family       string   // template dialect; empty: that of the files, else the engine or a plugin renders
	Renderer     string   // plugin that renders prompts; empty: none
	Reasoning    string   // built-in reasoning parser; empty: none
	Tools        string   // built-in tool parser; empty: none
	Parser       string   // dropped-in plugin that parses everything, in place of the two
	Shadow       string   // plugin that parses beside them, to be compared and never sent; empty: none
	Canary       Canary   // plugin that parses a share of the streams in their place
	Policy       string   // built-in template policy; empty: none
	PolicyPlugin string   // plugin that is the template policy; with neither, history is replayed as it came
	Context      int      // tokens of prompt and output together
	MaxOutput    int      // tokens of output, at most
	MinRoom      int      // tokens the prompt must leave, else it is an overflow
	Thinking     bool     // whether it thinks where neither client nor tenant says
	UnknownTools UnknownTools
	OwnedBy      string
	DisplayName  string // never empty
	Codex        Codex

	origin origin
}

// Given reports whether the entry names a key, with whatever value. What the model's own files say holds
// only where it does not.
func (m *Model) Given(key string) bool { return m.origin.at != nil && m.origin.at.kids[key] != nil }

// Fault is a fault of one of the entry's keys.
func (m *Model) Fault(key, got, want string) Fault { return m.origin.fault(key, got, want) }

// Names are the id and the aliases without stars: each is listed as a model of its own.
func (m *Model) Names() []string {
	names := []string{m.ID}
	for _, a := range m.Aliases {
		if !strings.Contains(a, "*") {
			names = append(names, a)
		}
	}
	return names
}

// HasFiles reports whether the model's own files say what it is.
func (m *Model) HasFiles() bool { return m.Dir != "" || m.GGUF != "" }

// Canary is a parser that gets a share of a model's streams. The zero value is none.
type Canary struct {
	Parser string  // plugin
	Share  float64 // of the streams, over 0 and up to 1
}

// UnknownTools is what becomes of a call whose tool was not declared.
type UnknownTools string

// Treatments of unknown tools.
const (
	UnknownText UnknownTools = "text" // it stays text
	UnknownEmit UnknownTools = "emit" // it is a call like any other
)

// Tenant is who may use what.
type Tenant struct {
	Name          string
	Keys          [][32]byte // SHA-256 of its keys
	AnyKey        bool       // it takes every key that is nobody else's, and none
	Models        []string   // model ids, * stands for any text
	Dispatch      bool       // streams carry tool_call_dispatch
	StripPreamble bool       // volatile preambles of clients are taken off the prompt
	ChatTemplate  bool       // requests may bring a chat template
	Guard         bool       // control tokens never match what users and tools wrote
	PrefixHeader  bool       // responses say what of the prompt was seen before
	LogPrompts    bool       // content may be logged
	MaxConcurrent int        // turns at a time; 0: no limit
	Store         bool       // answers are kept where a request does not refuse it; false: never, and none is continued by id
	WebSocket     bool       // it may use sockets

	origin origin
}

// Engine returns an engine by its name, or nil.
func (c *Config) Engine(name string) *Engine {
	for i := range c.Engines {
		if c.Engines[i].Name == name {
			return &c.Engines[i]
		}
	}
	return nil
}
