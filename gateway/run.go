package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weirgate/weir/gateway/internal/telemetry"
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
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	servers := []*server{g.newServer(ln, g.Handler())}
	adminAddr := ""
	if admin != "" && admin != "off" {
		aln, err := net.Listen("tcp", admin)
		if err != nil {
			ln.Close()
			return fmt.Errorf("listen for admin: %w", err)
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

type server struct {
	http *http.Server
	ln   net.Listener
}

func (g *Gateway) newServer(ln net.Listener, h http.Handler) *server {
	return &server{ln: ln, http: &http.Server{
		Handler:           h,
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

// shutdown closes the public server first, so that health says no while turns finish.
func (g *Gateway) shutdown(servers []*server) {
	grace := g.current.Load().config.Server.ShutdownGrace
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "shutting down", slog.Duration(telemetry.KeyDuration, grace))
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	g.draining.Store(true)
	for _, s := range servers {
		if err := s.http.Shutdown(ctx); err != nil {
			// The grace is over: what still runs is told by its own end of stream.
			g.endTurns()
			last, done := context.WithTimeout(context.Background(), time.Second)
			if s.http.Shutdown(last) != nil {
				s.http.Close()
			}
			done()
		}
	}
	g.stop()
}
