// Package openai is the adapter for any server with OpenAI's completions or chat completions endpoint.
//
// The adapters of particular engines are this one with other settings: what only one of them takes
// goes through Config.Members.
package openai

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

// Mode is the endpoint that is used.
type Mode uint8

// Modes.
const (
	Completions Mode = iota // the gateway renders; the engine gets text or ids
	Chat                    // the engine renders the conversation
)

// Tokenizer is the shape of the server's /tokenize endpoint.
type Tokenizer uint8

// Shapes.
const (
	TokenizeNone     Tokenizer = iota
	TokenizeVLLM               // {prompt} or {messages} in, {count} out
	TokenizeLlamaCPP           // {content} in, {tokens} out
)

// Constrain is how a constraint is written into a request.
type Constrain uint8

// Ways.
const (
	ConstrainDefault    Constrain = iota // Chat: response_format; Completions with Extras: structured_outputs; else none
	ConstrainNone                        // a request with a constraint is refused
	ConstrainResponse                    // response_format: JSON only
	ConstrainStructured                  // vLLM's structured_outputs: all of them
	ConstrainLlamaCPP                    // json_schema and grammar members
)

// Special is a special token of the model's vocabulary.
type Special struct {
	Text string
	ID   uint32
}

// Config describes a server. Only BaseURL is required.
type Config struct {
	Name    string // in errors; "openai" when empty
	BaseURL string // with the version: http://host:8000/v1
	APIKey  string
	Model   string // for requests that name none
	Mode    Mode
	// Structured says that the server parses its model's output: chat deltas become fragments.
	// Without it their content is raw text for the gateway's parsers.
	Structured bool
	// PromptIDs sends token ids where a request has them. With Extras the server is also asked for the ids
	// of what it generates (vLLM's return_token_ids), which become those of the deltas.
	PromptIDs bool
	// Extras allows members outside OpenAI's interface that vLLM, SGLang and llama.cpp know or ignore:
	// skip_special_tokens, top_k, chat_template_kwargs and such. A strict server answers them with 400.
	Extras bool
	// Special asks for the ids of what is generated too, and gives these tokens spans.
	Special []Special
	// CachedTokens says that the server's usage tells what its prefix cache held.
	CachedTokens bool
	Constrain    Constrain
	Tokenizer    Tokenizer
	// Health is the path, at the server's root, that Probe asks; empty means /models under BaseURL.
	Health string
	// Members appends further members of the request object, each with a leading comma.
	Members func(dst []byte, req *engines.Request) []byte

	DialTimeout   time.Duration // 0: 5 s
	HeaderTimeout time.Duration // 0: 5 min
	TailTimeout   time.Duration // after a finish reason, until the stream counts as ended; 0: 5 s
	MaxConns      int           // 0: 4096
	MaxEvent      int           // bytes of one event; 0: 8 MB
}

const defaultTail = 5 * time.Second

// Engine is a server behind an OpenAI interface. It is safe for concurrent use.
type Engine struct {
	cfg      Config
	client   *upstream.Client
	generate *url.URL       // where generations go
	tokenize *url.URL       // where prompts are counted
	ids      map[uint32]int // index in cfg.Special
	asksIDs  bool           // of what is generated
	spare    sync.Pool      // of *generation
}

// New checks cfg and makes an engine. Nothing is dialled.
func New(cfg Config) (*Engine, error) {
	if cfg.Name == "" {
		cfg.Name = "openai"
	}
	if cfg.TailTimeout <= 0 {
		cfg.TailTimeout = defaultTail
	}
	if cfg.Structured && cfg.Mode != Chat {
		return nil, fmt.Errorf("engine %s: structured deltas need the chat mode", cfg.Name)
	}
	if cfg.Constrain == ConstrainDefault {
		cfg.Constrain = ConstrainNone
		switch {
		case cfg.Mode == Chat:
			cfg.Constrain = ConstrainResponse
		case cfg.Extras:
			cfg.Constrain = ConstrainStructured
		}
	}
	if !cfg.Extras || cfg.Structured {
		cfg.Special = nil
	}
	client, err := upstream.New(upstream.Options{
		Name: cfg.Name, BaseURL: cfg.BaseURL, APIKey: cfg.APIKey,
		DialTimeout: cfg.DialTimeout, HeaderTimeout: cfg.HeaderTimeout, MaxConns: cfg.MaxConns,
	})
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, client: client}
	path := "/completions"
	if cfg.Mode == Chat {
		path = "/chat/completions"
	}
	if e.generate, err = url.Parse(client.URL(path)); err != nil {
		return nil, fmt.Errorf("engine %s: base URL: %w", cfg.Name, err)
	}
	if e.tokenize, err = url.Parse(client.RootURL("/tokenize")); err != nil {
		return nil, fmt.Errorf("engine %s: base URL: %w", cfg.Name, err)
	}
	e.asksIDs = cfg.Extras && !cfg.Structured && (len(cfg.Special) > 0 || cfg.PromptIDs && cfg.Mode == Completions)
	if len(cfg.Special) > 0 {
		e.ids = make(map[uint32]int, len(cfg.Special))
		for i, sp := range cfg.Special {
			e.ids[sp.ID] = i
		}
	}
	return e, nil
}

// Close drops idle connections. Running streams go on.
func (e *Engine) Close() { e.client.Close() }

// Capabilities follow from the configuration.
func (e *Engine) Capabilities() engines.Capabilities {
	c := engines.Capabilities{Structured: e.cfg.Structured, Spans: len(e.cfg.Special) > 0, CachedTokens: e.cfg.CachedTokens}
	if e.cfg.Mode == Chat {
		c.Conversation = true
	} else {
		c.PromptText, c.PromptIDs = true, e.cfg.PromptIDs
	}
	return c
}

// Takes reports whether a sampling parameter of the client, by its name on the chat surface, reaches
// this server. Others are left out of its requests.
func (e *Engine) Takes(param string) bool {
	switch param {
	case "temperature", "top_p", "frequency_penalty", "presence_penalty", "seed":
		return true
	case "top_k", "min_p", "repetition_penalty", "ignore_eos":
		return e.cfg.Extras
	}
	return false
}

// Generate starts a generation. It returns when the server has answered with a stream.
func (e *Engine) Generate(ctx context.Context, req *engines.Request) (engines.Stream, error) {
	body := e.client.Body()
	var err error
	if e.cfg.Mode == Chat {
		body.Buf, err = e.appendChat(body.Buf, req)
	} else {
		err = e.completion(body, req)
	}
	if err != nil {
		return nil, err
	}
	ev, err := e.client.Open(ctx, e.generate, body, upstream.Forward{ID: req.ID, Headers: req.Headers}, e.cfg.MaxEvent)
	if err != nil {
		return nil, err
	}
	return newStream(e, ev), nil
}

// Probe asks whether the server is up.
func (e *Engine) Probe(ctx context.Context) error {
	address := e.client.URL("/models")
	if e.cfg.Health != "" {
		address = e.client.RootURL(e.cfg.Health)
	}
	_, err := e.client.Get(ctx, address, 4<<20)
	return err
}

func (e *Engine) refuse(format string, args ...any) error {
	return e.client.Fail(engines.ClassRefused, fmt.Sprintf(format, args...), nil)
}

var (
	_ engines.Engine  = (*Engine)(nil)
	_ engines.Counter = (*Engine)(nil)
	_ engines.Prober  = (*Engine)(nil)
	_ engines.Peeker  = (*Stream)(nil)
)
