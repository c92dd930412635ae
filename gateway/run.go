package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
)

// readHeaderTimeout bounds how long a connection may take to say what it wants.
const readHeaderTimeout = 30 * time.Second

// Run listens and serves until ctx is done; then it takes no new turns, lets running ones finish within
// the configured grace, and ends the rest. ready, which may be nil, is told the bound addresses; admin is
// empty when it is off.
func (g *Gateway) Run(ctx context.Context, ready func(addr, admin string)) error {
	c := g.current.Load().config
	listen, admin := c.Server.Listen, c.Server.Admin
	if g.opt.Listen != "" {
		listen = g.opt.Listen
	}
	if g.opt.Admin != "" {
		admin = g.opt.Admin
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return listening("server.listen", listen, err)
	}
	servers := []*server{g.newServer(ln, g.Handler())}
	adminAddr := ""
	if admin != "" && admin != "off" {
		aln, err := new(net.ListenConfig).Listen(ctx, "tcp", admin)
		if err != nil {
			return errors.Join(listening("server.admin", admin, err), ln.Close())
		}
		adminAddr = aln.Addr().String()
		servers = append(servers, g.newServer(aln, g.Admin()))
	}
	return g.serve(ctx, servers, func() {
		if ready != nil {
			ready(ln.Addr().String(), adminAddr)
		}
	})
}

// listening explains why an address cannot be had.
func listening(key, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %s is in use, perhaps by another weir: set another port, or 0 for any: %w", key, addr, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

type server struct {
	http *http.Server
	ln   net.Listener
}

func (g *Gateway) newServer(ln net.Listener, h http.Handler) *server {
	return &server{ln: ln, http: &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return g.turns },
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}}
}

// serve runs the servers and the watchers, and ends them all before it returns.
func (g *Gateway) serve(ctx context.Context, servers []*server, ready func()) error {
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	var group sync.WaitGroup
	c := g.current.Load().config
	if c.Plugins.Watch && c.Plugins.Dir != "" {
		group.Go(func() { g.registry.Watch(work, c.Plugins.Dir) })
	}
	group.Go(func() { g.registry.Tend(work) })
	if g.watcher != nil {
		group.Go(func() { g.watcher.Run(work) })
	}
	failed := make(chan error, len(servers))
	for _, s := range servers {
		group.Go(func() {
			if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	ready()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stopWork()
	g.shutdown(servers)
	group.Wait()
	return err
}

// shutdown takes no new turns, waits for running ones as long as the grace lasts, then ends them.
func (g *Gateway) shutdown(servers []*server) {
	grace := g.current.Load().config.Server.ShutdownGrace
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "shutting down")
	g.draining.Store(true)
	g.stop() // sockets close as soon as no turn runs on them
	if g.wait(servers, grace) == nil {
		return
	}
	g.endTurns(errShutdown())
	if g.wait(servers, time.Second) != nil {
		for _, s := range servers {
			_ = s.http.Close() // whoever is left has had the grace and a second
		}
	}
}

// wait waits until no request and no socket is left.
func (g *Gateway) wait(servers []*server, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for _, s := range servers {
		if err := s.http.Shutdown(ctx); err != nil {
			return err
		}
	}
	return g.handler.Wait(ctx)
}

// errShutdown is what turns get that outlast the grace.
func errShutdown() error { return fault.New(fault.Unavailable, "the gateway is shutting down") }
