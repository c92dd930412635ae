package rig

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// Proxy is what gateways are measured by: a reverse proxy that copies and flushes what it reads, and keeps
// its connections. upstream is a host:port. It ends with ctx.
func Proxy(ctx context.Context, ln net.Listener, upstream string) error {
	to := &url.URL{Scheme: "http", Host: upstream}
	s := &http.Server{
		ReadHeaderTimeout: 30 * time.Second,
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				ownBody(r.Out)
			},
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

// ownBody takes a request's body off the connection it came on. Without that a stream breaks off now and
// then where the engine answers at once: net/http's server closes a request's body when the response
// begins, while its transport still looks for the end of that body, finds an error and closes the
// connection to the engine.
func ownBody(r *http.Request) {
	if r.ContentLength <= 0 {
		return
	}
	b := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, b); err != nil {
		return // the transport will find out
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
}
