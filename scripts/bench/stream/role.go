package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
)

// Roles of this program's processes.
const (
	roleDouble = "double"
	roleProxy  = "proxy"
	roleLoad   = "load"
)

// spec is what a process is told.
type spec struct {
	Script   script
	Upstream string // host:port, for the proxy
}

// announcement is what a server prints when it is ready, before its address.
const announcement = "listening on http://"

// runRole is a process of the benchmark. It ends with its standard input.
func runRole(ctx context.Context, role, arg string, stdin io.Reader, stdout io.Writer) error {
	var s spec
	if err := json.Unmarshal([]byte(arg), &s); err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	t, err := s.Script.turn()
	if err != nil {
		return err
	}
	if role == roleLoad {
		return serveLoad(ctx, newChecker(t, newDouble(s.Script, t).body()), stdin, stdout)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		// What started this process holds the other end until it ends itself.
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	if _, err := fmt.Fprintf(stdout, "%s%s\n", announcement, ln.Addr()); err != nil {
		return err
	}
	if role == roleProxy {
		return serveProxy(ctx, ln, s.Upstream)
	}
	return newDouble(s.Script, t).serve(ctx, ln)
}
