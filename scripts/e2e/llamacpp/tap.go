package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// tap stands between weir and the engine, and keeps the prompts that weir sends.
type tap struct {
	url    string
	server *http.Server
	ended  chan struct{}

	mu      sync.Mutex
	prompts []sent
}

// sent is the prompt of one request: ids, or a text.
type sent struct {
	ids  []uint32
	text string
}

// startTap listens on a free port in front of an engine, until it is stopped.
func startTap(ctx context.Context, engine string) (*tap, error) {
	to, err := url.Parse(engine)
	if err != nil {
		return nil, err
	}
	listen := net.ListenConfig{}
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{url: "http://" + l.Addr().String(), ended: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		// The engine closes a connection behind a stream and does not say so before: a request that is sent on
		// it at that moment is lost.
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	t.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := t.keep(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			proxy.ServeHTTP(w, r)
		}),
	}
	go func() {
		defer close(t.ended)
		_ = t.server.Serve(l) // it ends when it is closed
	}()
	return t, nil
}

func (t *tap) stop() {
	_ = t.server.Close() // nothing is lost with what is left open
	<-t.ended
}

// keep notes the prompt of a generation.
func (t *tap) keep(r *http.Request) error {
	if r.URL.Path != "/v1/completions" {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var body struct {
		Prompt json.RawMessage `json:"prompt"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	var p sent
	if bytes.HasPrefix(body.Prompt, []byte(`"`)) {
		err = json.Unmarshal(body.Prompt, &p.text)
	} else {
		err = json.Unmarshal(body.Prompt, &p.ids)
	}
	if err != nil {
		return fmt.Errorf("prompt %.100s: %w", body.Prompt, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompts = append(t.prompts, p)
	return nil
}

// clear forgets the prompts so far, and says how many there were.
func (t *tap) clear() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.prompts)
	t.prompts = nil
	return n
}

// take gives the only prompt since the last take or clear.
func (t *tap) take() (sent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.prompts
	t.prompts = nil
	switch len(all) {
	case 0:
		return sent{}, errors.New("weir sent no prompt to the engine")
	case 1:
		return all[0], nil
	default:
		return sent{}, fmt.Errorf("weir sent %d prompts to the engine, want 1", len(all))
	}
}
