package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// stage is what the scenarios share: folders, the built weir, the installed clients.
type stage struct {
	work   string // this run's folder, removed at its end
	cache  string // outlives runs
	weir   string
	out    io.Writer
	node   *nodeKit
	python *pythonKit
	why    map[need]error // why a kit is not there
}

// prepare builds weir and installs what the scenarios need.
func (st *stage) prepare(ctx context.Context, chosen []scenario) error {
	needed := map[need]bool{}
	for _, s := range chosen {
		needed[s.needs] = true
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
	if needed[needNode] {
		st.node, st.why[needNode] = st.installNode(ctx)
	}
	if needed[needPython] {
		st.python, st.why[needPython] = st.installPython(ctx)
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
