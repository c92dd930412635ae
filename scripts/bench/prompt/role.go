package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// Roles of this program's processes.
const (
	roleDouble = "double"
	roleProxy  = "proxy"
	roleLoad   = "load"
)

// spec is what a process is told.
type spec struct {
	Text     int    // bytes of text in a request, for the load
	Upstream string // host:port, for the proxy
}

// runRole is a process of the benchmark. It ends with its standard input.
func runRole(ctx context.Context, role, arg string, stdin io.Reader, stdout io.Writer) error {
	var s spec
	if err := json.Unmarshal([]byte(arg), &s); err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	switch role {
	case roleDouble:
		d := newDouble()
		return rig.Serve(ctx, stdin, stdout, func(ctx context.Context, ln net.Listener) error { return rawhttp.Serve(ctx, ln, d.answer) })
	case roleProxy:
		return rig.Serve(ctx, stdin, stdout, func(ctx context.Context, ln net.Listener) error { return rig.Proxy(ctx, ln, s.Upstream) })
	}
	l, err := newLoad(s)
	if err != nil {
		return err
	}
	defer l.pool.Close()
	return rig.Work(stdin, stdout, func(j *job) rawhttp.Outcome { return l.run(ctx, j) })
}
