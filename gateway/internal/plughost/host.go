// Package plughost runs plugins: it loads modules, keeps pools of hot instances, drives them over ABI
// version 1 and swaps versions without a restart.
//
// A Host loads; a Plugin is one version of one module with a runtime of its own; a Parser or Planner is
// a plugin with one configuration and serves any number of streams from a few instances; a Registry
// names the current versions and watches a folder. Nothing here ends a guest that loops: what bounds a
// call must be written into the module by package sandbox.
package plughost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// Errors that callers tell apart.
var (
	// ErrRetired is returned where a plugin version takes no new streams; look the name up again.
	ErrRetired = errors.New("plugin version is retired")
	// ErrBusy is returned when no instance came free in time.
	ErrBusy = errors.New("all plugin instances are busy")
	// ErrConfig is wrapped when a plugin refuses its configuration.
	ErrConfig = errors.New("plugin refuses its configuration")
)

// Options configures a Host. The zero value is usable.
type Options struct {
	// CacheDir keeps compiled code between runs. It holds native code, so it must belong to the gateway
	// alone (mode 0700); it is made when it is not there. Empty means no cache.
	CacheDir string
	// Log takes what guests write and what the host notices; nil discards it.
	Log *slog.Logger
	// Instances bounds the pool of one configuration; 0 means twice GOMAXPROCS.
	Instances int
	// Sticky bounds the instances of one plugin that keeps state of its own; 0 means 64. NoSticky refuses them.
	Sticky   int
	NoSticky bool
	// Memory bounds the linear memories of all instances together, in bytes: beyond it no instance is made.
	// 0 means 4 GiB.
	Memory int64
	// Wait bounds how long a call waits for an instance; 0 means 5 s.
	Wait time.Duration
	// Limits bounds modules; the zero value means sandbox.DefaultLimits.
	Limits sandbox.Limits
	// OnCall, if set, is told of each call of a guest by the goroutine that made it.
	OnCall func(CallStats)
}

// CallStats is what one call of a guest took.
type CallStats struct {
	Export  string
	In      int   // bytes of input
	Records int   // that it returned
	Fuel    int64 // instructions executed, as the sandbox counts them
	Memory  int   // bytes of the instance's memory after the call
}

// Host loads plugins. It is safe for concurrent use.
type Host struct {
	o      Options
	log    *slog.Logger
	module wazero.ModuleConfig // shared: making one costs more than an instance of a small guest
	live   atomic.Int64
	memory atomic.Int64 // of all instances, in bytes
}

// New returns a host. It fails when the cache directory cannot be used.
func New(o Options) (*Host, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Instances <= 0 {
		o.Instances = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Sticky <= 0 {
		o.Sticky = 64
	}
	if o.NoSticky {
		o.Sticky = 0
	}
	if o.Memory <= 0 {
		o.Memory = 4 << 30
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.Limits == (sandbox.Limits{}) {
		o.Limits = sandbox.DefaultLimits()
	}
	if o.CacheDir != "" {
		if err := privateDir(o.CacheDir); err != nil {
			return nil, err
		}
	}
	// Start functions are run by hand, so that no guest code runs before its console is known. The random
	// source is only set because without one the engine seeds a generator for each instance.
	module := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)
	return &Host{o: o, log: o.Log, module: module}, nil
}

// claim takes memory for an instance, or fails.
func (h *Host) claim(n int64) error {
	if now := h.memory.Add(n); now > h.o.Memory {
		h.memory.Add(-n)
		return fmt.Errorf("%w: they take %d MiB of memory, at most %d", ErrBusy, (now-n)>>20, h.o.Memory>>20)
	}
	return nil
}

// Memory is what the instances of all plugins take, in bytes.
func (h *Host) Memory() int64 { return h.memory.Load() }

// Live is the number of plugin versions whose runtime is not closed yet.
func (h *Host) Live() int { return int(h.live.Load()) }

func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("compile cache: %w", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("compile cache: %w", err)
	}
	if mode := st.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return fmt.Errorf("compile cache %s: mode %#o, want 0700: it holds native code: %w", dir, mode, fs.ErrPermission)
	}
	return nil
}

// newRuntime makes a runtime with the stub imports and compiles a module in it.
func (h *Host) newRuntime(ctx context.Context, wasm []byte, s *stub) (*engine, error) {
	if h.o.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(h.o.CacheDir)
		if err == nil {
			var e *engine
			if e, err = h.compile(ctx, wasm, s, cache); err == nil {
				return e, nil
			}
		}
		if ctx.Err() != nil {
			return nil, err
		}
		// A damaged or full cache must not refuse a plugin; a bad module fails again below.
		e, again := h.compile(ctx, wasm, s, nil)
		if again == nil {
			h.log.LogAttrs(ctx, slog.LevelWarn, "compile cache not used", slog.String("error", err.Error()))
		}
		return e, again
	}
	return h.compile(ctx, wasm, s, nil)
}

func (h *Host) compile(ctx context.Context, wasm []byte, s *stub, cache wazero.CompilationCache) (e *engine, err error) {
	config := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(h.o.Limits.MemoryPages)).
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	e = &engine{cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	defer func() {
		// The module is from outside and the compiler is large: a bug in it must not end the process.
		if r := recover(); r != nil {
			err = fmt.Errorf("compiler: %v", r)
		}
		if err != nil {
			e.close(ctx)
			e = nil
		}
	}()
	if err := s.instantiate(ctx, e.runtime); err != nil {
		return e, err
	}
	// One worker: with more, a panic of the compiler would be on a goroutine that nobody can recover.
	e.compiled, err = e.runtime.CompileModule(ctx, wasm)
	return e, err
}

// engine is what one plugin version holds of wazero.
type engine struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
}

// close frees everything. Instances still running are closed by the runtime; their memory is the Go
// heap's, so a straggling call ends in an error.
func (e *engine) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	_ = e.runtime.Close(ctx)
	if e.compiled != nil {
		_ = e.compiled.Close(ctx)
	}
	if e.cache != nil {
		_ = e.cache.Close(ctx)
	}
}
