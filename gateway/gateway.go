// Package gateway is the whole of weir in one value, to be served by cmd/weir or embedded in another
// program or a test. It is the only package that sees every part, and it only puts them together.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/seal"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
	"github.com/weirgate/weir/gateway/tokenizer"
	tokens "github.com/weirgate/weir/gateway/tokenizer/builtin"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

const (
	// maxDecoded is how much of what bodies were decoded to is remembered, with their text, in bytes.
	maxDecoded = 64 << 20
	// minDecoded is the smallest body that is looked up there, in bytes: a smaller one is decoded in the time it takes.
	minDecoded = 16 << 10
)

// Options of a gateway. The zero value is the embedded default configuration.
type Options struct {
	ConfigFile string // empty: the embedded default
	Listen     string // instead of the configuration's server.listen
	Admin      string // instead of the configuration's server.admin; "off" for none
	Version    string
	Log        *slog.Logger                // nil: one of the configured level and format, to LogOutput
	LogOutput  io.Writer                   // nil discards
	LookupEnv  func(string) (string, bool) // nil: os.LookupEnv
}

// Gateway serves. It is safe for concurrent use.
type Gateway struct {
	opt      Options
	log      *slog.Logger
	level    slog.LevelVar
	metrics  *telemetry.Metrics
	vocab    *tokenizer.Tokenizer // of the simulated engine
	segments *vocab.Cache         // of that vocabulary
	assets   *assetPool
	memory   *turnmemory.Memory
	chat     chat.Surface
	messages messages.Surface
	ledger   *ledger.Ledger
	volatile []canon.Volatile
	encoded  sync.Pool // of *vocab.Encoded, for prompts
	host     *plughost.Host
	registry *plughost.Registry
	handler  *httpapi.Handler
	store    chain.Store
	ownKey   *seal.Key       // of seals, where none is configured; nil until it is needed
	watcher  *config.Watcher // nil with the embedded default

	mu      sync.Mutex // serialises changes of the snapshot
	pool    *enginePool
	current atomic.Pointer[snapshot]

	draining atomic.Bool // no new turns
	started  time.Time
	base     context.Context //nolint:containedctx // because sockets, which it ends, outlive the call that opens them
	stop     context.CancelFunc
	turns    context.Context //nolint:containedctx // because turns, which it ends when the grace is over, are begun by other calls
	endTurns context.CancelCauseFunc
}

// New loads the configuration and the plugins and is ready to serve when it returns. Its errors are for
// an operator: those of the configuration name file, line and key.
func New(ctx context.Context, opt Options) (*Gateway, error) {
	if opt.LookupEnv == nil {
		opt.LookupEnv = os.LookupEnv //nolint:forbidigo // what Options says; a command gives its own
	}
	g := &Gateway{opt: opt, log: opt.Log, metrics: telemetry.New(opt.Version), pool: newEnginePool(), assets: newAssetPool(), volatile: canon.VolatileBlocks(), started: time.Now()}
	c, err := g.load()
	if err != nil {
		return nil, err
	}
	if g.log == nil {
		out := opt.LogOutput
		if out == nil {
			out = io.Discard
		}
		g.log = telemetry.NewLogger(out, c.Log.Format == config.LogJSON, &g.level)
	}
	if g.vocab, err = tokens.New(); err != nil {
		return nil, fmt.Errorf("built-in vocabulary: %w", err)
	}
	g.segments = g.vocab.Vocabulary().NewCache(segmentCache)
	decoded := recall.New(recall.Options{MaxBytes: maxDecoded, MinBody: minDecoded})
	g.chat, g.messages = chat.Surface{Recall: decoded}, messages.Surface{Recall: decoded}
	g.memory = turnmemory.New(int(c.Memory.Turns))
	g.ledger = ledger.New(ledger.Options{MaxBytes: int(c.Memory.Ledger)})
	if err := g.openPlugins(ctx, c); err != nil {
		return nil, err
	}
	g.base, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	g.turns, g.endTurns = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := g.apply(c); err != nil {
		g.Close()
		return nil, err
	}
	if g.store, err = openStore(ctx, &c.Store); err != nil {
		g.Close()
		return nil, err
	}
	g.handler = httpapi.New(g.base, g, httpapi.Surfaces{
		Chat: g.chat, Messages: g.messages, DecodeCount: g.messages.DecodeCount, CountBody: messages.CountBody,
	}, g.store, g.log)
	return g, nil
}

// openStore opens what keeps the answers of responses.
func openStore(ctx context.Context, c *config.Store) (chain.Store, error) {
	if c.Path == "" {
		return store.NewMemory(store.Options{MaxBytes: c.Max}), nil
	}
	s, err := store.OpenSQLite(ctx, c.Path, store.Options{MaxBytes: c.Max})
	if err != nil {
		return nil, fmt.Errorf("store.path: %w", err)
	}
	return s, nil
}

// load reads the configuration, and from a file also begins to watch it.
func (g *Gateway) load() (*config.Config, error) {
	o := ConfigOptions()
	o.LookupEnv = g.opt.LookupEnv
	if g.opt.ConfigFile == "" {
		return config.Default(o)
	}
	w, err := config.Watch(g.opt.ConfigFile, o, g.apply, g.reloaded)
	if err != nil {
		return nil, err
	}
	g.watcher = w
	return w.Current(), nil
}

// Handler serves the public address.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Reload reads the configuration file again. On any error what held before still holds.
func (g *Gateway) Reload() error {
	if g.watcher == nil {
		return errors.New("there is no configuration file to reload")
	}
	err := g.watcher.Reload()
	g.reloaded(err)
	return err
}

func (g *Gateway) reloaded(err error) {
	g.metrics.Reload(err)
	if err != nil {
		g.log.LogAttrs(context.Background(), slog.LevelError, "configuration not taken", slog.String(telemetry.KeyError, err.Error()))
		return
	}
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "configuration taken")
}

// Close ends sockets and retires the plugins. Turns that still run keep what they hold.
func (g *Gateway) Close() {
	if g.stop != nil {
		g.stop()
		g.endTurns(errShutdown())
	}
	g.registry.Close()
	g.pool.close()
	if g.store != nil {
		if err := g.store.Close(); err != nil {
			g.log.LogAttrs(context.Background(), slog.LevelError, "store of responses not closed", slog.String(telemetry.KeyError, err.Error()))
		}
	}
}
