package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// serveProxy is the measure: a proxy that copies and flushes what it reads, and keeps its connections.
func serveProxy(ctx context.Context, ln net.Listener, upstream string) error {
	to := &url.URL{Scheme: "http", Host: upstream}
	s := &http.Server{
		ReadHeaderTimeout: 30 * time.Second,
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			FlushInterval: -1,
			Transport:     &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, IdleConnTimeout: 5 * time.Minute, DisableCompression: true},
		},
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
