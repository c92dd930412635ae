package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// stage is what the scenarios share: folders, the built weir, the installed clients.
type stage struct {
	work                     string // this run's folder, removed at its end
	cache                    string // outlives runs
	weir                     string
	out                      io.Writer
	node                     *nodeKit
	python                   *pythonKit
	codex                    string         // Codex's command
	sdk                      string         // client programs beside the SDKs of clients/sdk
	opencode, qwen, openclaw string         // their commands
	why                      map[need]error // why a kit is not there
}

// prepare builds weir and installs what the scenarios need.
func (st *stage) prepare(ctx context.Context, chosen []scenario) error {
	needed := map[need]bool{}
	for _, s := range chosen {
		needed[s.needs] = true
	}
	onNode := []need{needSDK, needOpencode, needQwen, needOpenClaw}
	for _, n := range onNode {
		needed[needNode] = needed[needNode] || needed[n]
	}
	if st.weir == "" {
		begun := time.Now()
		st.weir = filepath.Join(st.work, "weir")
		if err := harness.Build(ctx, nil, st.weir, "./gateway/cmd/weir"); err != nil {
			return err
		}
		fmt.Fprintf(st.out, "built weir in %.1f s\n", time.Since(begun).Seconds())
	}
	st.why = map[need]error{}
	installs := map[need]func(context.Context) error{
		needNode:     func(ctx context.Context) (err error) { st.node, err = st.installNode(ctx); return err },
		needPython:   func(ctx context.Context) (err error) { st.python, err = st.installPython(ctx); return err },
		needCodex:    st.installCodex,
		needSDK:      st.installSDK,
		needOpencode: st.installOpencode, needQwen: st.installQwen, needOpenClaw: st.installOpenClaw,
	}
	// They wait for registries more than they compute.
	var all sync.WaitGroup
	var mu sync.Mutex
	for n, install := range installs {
		if !needed[n] {
			continue
		}
		all.Go(func() {
			err := install(ctx)
			mu.Lock()
			defer mu.Unlock()
			st.why[n] = err
		})
	}
	all.Wait()
	for _, n := range onNode {
		if st.why[n] == nil {
			st.why[n] = st.why[needNode] // which brings the interpreter
		}
	}
	return ctx.Err()
}

// missing is why a need is not met, or nil.
func (st *stage) missing(n need) error { return st.why[n] }

// folder makes a folder of this run.
func (st *stage) folder(parts ...string) (string, error) {
	dir := filepath.Join(append([]string{st.work}, parts...)...)
	return dir, os.MkdirAll(dir, 0o700)
}

// start runs weir with a configuration and a home of its own.
func (st *stage) start(ctx context.Context, name, config string) (*harness.Server, error) {
	return harness.Start(ctx, st.weir, filepath.Join(st.work, name), filepath.Join(st.work, "weir-cache"), config)
}
