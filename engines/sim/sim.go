// Package sim is an engine without a model: it schedules, caches and paces like a real one, and an
// actor writes its turns.
//
// Its output is deterministic: the same request with the same seed is the same bytes in the same
// pieces. Times are those of a B200-class node, scaled.
package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
)

// Special is a special token of the model family. Where RenderTurn writes its text, the output has a
// span, as from an engine that gives ids.
type Special struct {
	Text string
	ID   uint32
}

// Config describes a simulated engine. The zero value answers as fast as it can; Default paces it.
type Config struct {
	Name string // in errors; "sim" when empty
	Seed uint64
	// Thinks says that the model family thinks, where a request does not turn it off.
	Thinks bool
	// Actor writes the turns; nil means Act.
	Actor func(*conv.Request, Mood) Turn
	// RenderTurn puts a turn into the family's wire format; nil means Render.
	RenderTurn func(t Turn, model string) []byte
	Special    []Special
	// Vocabulary, if it is there, counts prompts that come as text, cuts the output into its tokens and gives
	// the deltas their ids. It is the one that prompts of ids are made with, and Special are tokens of it.
	Vocabulary Vocabulary
	// Tokens, if it is there, gives a model tokens of its own; nil stands for Vocabulary and Special.
	Tokens func(model string) *Tokens

	Window    int // tokens of prompt and output; 0: no limit
	MaxTokens int // output tokens where a request sets no limit; 0: 32,768
	MaxBatch  int // generations at a time; 0: 64
	MaxQueue  int // generations that wait; beyond it the engine is busy; 0: 1,024

	CacheBlocks int           // 64-token blocks of the prefix cache; 0: 65,536; negative: no cache
	PrefillRate float64       // tokens a second; 0: no time
	Overhead    time.Duration // from the end of waiting to the first token, beside the prefill
	TokenTime   time.Duration // between tokens
	Scale       float64       // factor on all times; 0: as fast as possible
	Clock       Clock         // nil: the system's
}

// Default is a quick pace: the times of B200 at three tenths, about 2 ms a token.
func Default() Config {
	c := B200()
	c.Scale = 0.3
	return c
}

// B200 is calibrated to figures published for a B200 node: a prompt of 52,000 tokens takes 168 ms to
// its first token when it is cached and 912 ms when it is not, and tokens come 7 ms apart.
func B200() Config {
	return Config{PrefillRate: 69_800, Overhead: 167 * time.Millisecond, TokenTime: 7 * time.Millisecond, Scale: 1}
}

// Clock is the engine's time.
type Clock interface {
	Now() time.Time
	// Wait returns at the given time, or earlier with the context's cause when that ends.
	Wait(ctx context.Context, until time.Time) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Wait(ctx context.Context, until time.Time) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d := time.Until(until)
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Engine is a simulated engine. It is safe for concurrent use and runs nothing in the background.
type Engine struct {
	cfg   Config
	sched scheduler
	cache *prefixCache
	own   *Tokens // of models that have none of their own
}

// New makes an engine of cfg, whose zero fields get their defaults.
func New(cfg Config) *Engine {
	if cfg.Name == "" {
		cfg.Name = "sim"
	}
	if cfg.Actor == nil {
		cfg.Actor = Act
	}
	if cfg.RenderTurn == nil {
		cfg.RenderTurn = Render
	}
	if cfg.MaxTokens <= 0 {
		cfg.MaxTokens = 32 << 10
	}
	if cfg.MaxBatch <= 0 {
		cfg.MaxBatch = 64
	}
	if cfg.MaxQueue <= 0 {
		cfg.MaxQueue = 1024
	}
	if cfg.CacheBlocks == 0 {
		cfg.CacheBlocks = 64 << 10
	}
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	return &Engine{
		cfg: cfg, sched: scheduler{batch: cfg.MaxBatch, queueCap: cfg.MaxQueue}, cache: newPrefixCache(cfg.CacheBlocks),
		own: NewTokens(cfg.Vocabulary, cfg.Special),
	}
}

// Capabilities of the simulation.
func (e *Engine) Capabilities() engines.Capabilities {
	return engines.Capabilities{PromptIDs: true, PromptText: true, Conversation: true, Spans: len(e.cfg.Special) > 0, CachedTokens: true}
}

// Probe always succeeds.
func (e *Engine) Probe(context.Context) error { return nil }

// CountTokens is exact for ids and with a vocabulary; else text counts a token for each four bytes.
func (e *Engine) CountTokens(_ context.Context, req *engines.Request) (int, error) {
	return promptTokens(e.tokens(req.Model).promptIDs(req), req.Prompt), nil
}

// bytesPerToken is what a token of a prompt without ids is taken for.
const bytesPerToken = 4

func promptTokens(ids []uint32, prompt string) int {
	if len(ids) > 0 {
		return len(ids)
	}
	return (len(prompt) + bytesPerToken - 1) / bytesPerToken
}

// Generate writes the whole turn at once and lets it out token by token. It returns when the
// generation is in the batch or in the queue.
func (e *Engine) Generate(ctx context.Context, req *engines.Request) (engines.Stream, error) {
	if ctx.Err() != nil {
		return nil, e.canceled(ctx)
	}
	tokens := e.tokens(req.Model)
	ids := tokens.promptIDs(req)
	input := max(promptTokens(ids, req.Prompt), 1)
	limit := e.cfg.MaxTokens
	if req.MaxTokens > 0 {
		limit = min(limit, req.MaxTokens)
	}
	if e.cfg.Window > 0 {
		if input >= e.cfg.Window {
			err := e.fail(engines.ClassOverflow, fmt.Sprintf("the prompt has %d tokens, the window %d", input, e.cfg.Window))
			err.Limit = e.cfg.Window
			return nil, err
		}
		limit = min(limit, e.cfg.Window-input)
	}
	turn, err := e.turn(req)
	if err != nil {
		return nil, err
	}
	s := &Stream{e: e, ctx: ctx, vocab: tokens, ids: ids, prompt: req.Prompt, input: input, limit: limit, failAfter: -1}
	if turn.Fails {
		s.failAfter = turn.FailAfter
	}
	s.write(turn, req)
	if s.ticket = e.sched.enter(); s.ticket == nil {
		err := e.fail(engines.ClassBusy, "the queue is full")
		err.RetryAfter = time.Second
		return nil, err
	}
	s.unhook = context.AfterFunc(ctx, s.leave)
	return s, nil
}

// turn has the actor write.
func (e *Engine) turn(req *engines.Request) (Turn, error) {
	c := req.Conversation
	if c == nil {
		c = &conv.Request{Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{{Kind: conv.Text, Text: req.Prompt}}}}}
	}
	forced := c.Choice.Mode == conv.ChoiceRequired || c.Choice.Mode == conv.ChoiceNamed
	if req.Constraint.Grammar != "" && !forced {
		return Turn{}, e.fail(engines.ClassRefused, "grammars are not simulated")
	}
	t := e.cfg.Actor(c, Mood{
		Thinking:   e.cfg.Thinks && c.Thinking.Mode != conv.ThinkingOff,
		Seed:       e.cfg.Seed,
		Constraint: req.Constraint,
	})
	t.PromptTail = e.tokens(req.Model).tail(req)
	return t, nil
}

const maxTail = 256

func (e *Engine) fail(class engines.Class, message string) *engines.Error {
	return &engines.Error{Class: class, Engine: e.cfg.Name, Message: message}
}

// canceled is not an *engines.Error: the caller's own context ended, so there is nothing to retry.
func (e *Engine) canceled(ctx context.Context) error {
	return fmt.Errorf("engine %s: %w", e.cfg.Name, context.Cause(ctx))
}

func (e *Engine) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * e.cfg.Scale)
}

// mix is the seed of one text.
func mix(seed uint64, text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum64() ^ seed*0x9e3779b97f4a7c15
}

var (
	_ engines.Engine  = (*Engine)(nil)
	_ engines.Counter = (*Engine)(nil)
	_ engines.Prober  = (*Engine)(nil)
	_ engines.Peeker  = (*Stream)(nil)
)
