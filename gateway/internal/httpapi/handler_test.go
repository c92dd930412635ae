package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// stub is a gateway with one scripted engine, which counts what the handlers must keep in balance.
type stub struct {
	set     httpapi.Settings
	engine  engines.Engine
	refuse  error // what Begin says
	seen    func(*httpapi.Call)
	begun   atomic.Int32
	done    atomic.Int32
	refused atomic.Int32
	sockets atomic.Int32
	last    atomic.Pointer[httpapi.Call]
}

func (s *stub) Authorize(string, string) (httpapi.Tenant, error) {
	return httpapi.Tenant{Name: "tenant", Store: true, WebSocket: true}, nil
}

func (s *stub) NotKept(string, string, error) {}

func (s *stub) Begin(_ context.Context, c *httpapi.Call) (*httpapi.Job, error) {
	s.last.Store(c)
	if s.seen != nil {
		s.seen(c)
	}
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.begun.Add(1)
	return &httpapi.Job{
		Turn: &turn.Turn{
			Request: &engines.Request{}, Prompt: &turn.Prompt{Tokens: 3, Estimate: true}, Replicas: []turn.Replica{{Engine: s.engine}},
			Meter: noMeter{}, Times: turn.Times{HeaderWait: time.Minute, KeepAlive: time.Minute, Idle: time.Minute},
		},
		Done: func(turn.Outcome) { s.done.Add(1) },
	}, nil
}

func (s *stub) Count(context.Context, *httpapi.Call) (int, bool, error) { return 42, true, s.refuse }

func (s *stub) Tokenize(_ context.Context, c *httpapi.Call, r *surface.TokenizeRequest) (*surface.TokenizeResult, error) {
	s.last.Store(c)
	res := &surface.TokenizeResult{Tokens: []uint32{1, 2}, Context: 100}
	if r.Strings {
		res.Strings = []string{"a", r.Text}
	}
	return res, s.refuse
}

func (s *stub) Detokenize(_ context.Context, c *httpapi.Call, r *surface.DetokenizeRequest) ([]byte, error) {
	s.last.Store(c)
	return fmt.Append(nil, r.Model, r.Tokens), s.refuse
}

func (s *stub) Refused(string, string, error) { s.refused.Add(1) }

func (s *stub) Models(string, string) ([]byte, error) { return []byte(`{}`), s.refuse }

func (s *stub) Settings() httpapi.Settings { return s.set }

func (s *stub) Sockets(d int) { s.sockets.Add(int32(d)) }

type noMeter struct{}

func (noMeter) Tokens(int)              {}
func (noMeter) PluginFault(*host.Fault) {}

// engineFunc is an engine whose streams are one function.
type engineFunc func(ctx context.Context) (*engines.Delta, error)

func (engineFunc) Capabilities() engines.Capabilities { return engines.Capabilities{} }

func (f engineFunc) Generate(ctx context.Context, _ *engines.Request) (engines.Stream, error) {
	return &funcStream{f, ctx}, nil
}

type funcStream struct {
	f   engineFunc
	ctx context.Context //nolint:containedctx // because a stream lives as long as its generation
}

func (s *funcStream) Next() (*engines.Delta, error) { return s.f(s.ctx) }
func (*funcStream) Close() error                    { return nil }

// once gives one word.
func once() engineFunc {
	given := false
	return func(context.Context) (*engines.Delta, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return &engines.Delta{Bytes: []byte("word"), Tokens: 1, Finish: &engines.Finish{Reason: engines.ReasonStop}}, nil
	}
}

func handler(t *testing.T, s *stub) (*httpapi.Handler, *bytes.Buffer) {
	t.Helper()
	if s.set.MaxBody == 0 {
		s.set.MaxBody = 1 << 20
	}
	var log bytes.Buffer
	return httpapi.New(t.Context(), s, httpapi.Surfaces{
		Chat: chat.Surface{}, Messages: messages.Surface{}, DecodeCount: messages.Surface{}.DecodeCount, CountBody: messages.CountBody,
	}, store.NewMemory(store.Options{}), slog.New(slog.NewTextHandler(&log, nil))), &log
}

const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`

// TestBalance ends turns in every way: whatever was begun is done once, and what was refused is counted.
func TestBalance(t *testing.T) {
	t.Parallel()
	broken := engineFunc(func(context.Context) (*engines.Delta, error) {
		return nil, &engines.Error{Class: engines.ClassProtocol, Message: "secret"}
	})
	for _, c := range []struct {
		name           string
		stub           *stub
		body           string
		status         int
		begun, refused int32
	}{
		{name: "streamed", stub: &stub{engine: once()}, body: body + `,"stream":true}`, status: 200, begun: 1},
		{name: "whole", stub: &stub{engine: once()}, body: body + `}`, status: 200, begun: 1},
		{name: "in-band", stub: &stub{engine: broken}, body: body + `,"stream":true}`, status: 200, begun: 1},
		{name: "whole, broken", stub: &stub{engine: broken}, body: body + `}`, status: 502, begun: 1},
		{name: "not admitted", stub: &stub{refuse: fault.New(fault.Quota, "no")}, body: body + `}`, status: 429},
		{name: "a bug", stub: &stub{refuse: errors.New("secret")}, body: body + `}`, status: 500},
		{name: "not understood", stub: &stub{}, body: `{}`, status: 400, refused: 1},
		{name: "too large", stub: &stub{set: httpapi.Settings{MaxBody: 10}}, body: body + `}`, status: 413, refused: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, log := handler(t, c.stub)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(t, http.MethodPost, "/v1/messages", c.body))
			if w.Code != c.status || c.stub.begun.Load() != c.begun || c.stub.done.Load() != c.begun || c.stub.refused.Load() != c.refused {
				t.Errorf("status %d, begun %d, done %d, refused %d: %s", w.Code, c.stub.begun.Load(), c.stub.done.Load(), c.stub.refused.Load(), w.Body)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("told: %s", w.Body)
			}
			if c.status == http.StatusInternalServerError && !strings.Contains(log.String(), "secret") {
				t.Errorf("log: %s", log)
			}
			if c.begun == 1 && w.Header().Get("X-Weir-Count") != "estimate" {
				t.Error("the count is an estimate, and nobody says so")
			}
		})
	}
}

func request(t *testing.T, method, path, text string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(text))
	r.Host = "localhost"
	return r
}

// TestClientLeaves has a client that is gone before the engine answers: nobody is told anything.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, more := range []string{`}`, `,"stream":true}`} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &stub{engine: engineFunc(func(ctx context.Context) (*engines.Delta, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})}
		h, _ := handler(t, s)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t, http.MethodPost, "/v1/messages", body+more).WithContext(ctx))
		if s.done.Load() != 1 || more == `}` && w.Body.Len() > 0 {
			t.Errorf("done %d: %s", s.done.Load(), w.Body)
		}
	}
}

// TestCall is what the handlers hand on of a request.
func TestCall(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{"/v1/chat/completions": "chat", "/v1/messages": "messages", "/v1/messages?beta=true": "messages"} {
		s := &stub{engine: once()}
		h, _ := handler(t, s)
		r := request(t, http.MethodPost, path, body+`,"stream":true}`)
		r.Header.Set("X-Api-Key", "k")
		r.Header.Set("X-Request-Id", "abc")
		h.ServeHTTP(httptest.NewRecorder(), r)
		c := s.last.Load()
		if c.Surface != name || c.Key != "k" || c.RequestID != "abc" || !c.Streamed || c.Request.Model != "m" {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

// TestCount answers count_tokens, and says when it is an estimate.
func TestCount(t *testing.T) {
	t.Parallel()
	h, _ := handler(t, &stub{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(t, http.MethodPost, "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	if w.Code != http.StatusOK || w.Body.String() != `{"input_tokens":42}` || w.Header().Get("X-Weir-Count") != "estimate" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestHosts is the table of names under which requests come in, for each kind of listener.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, host string
		set        httpapi.Settings
		served     bool
	}{
		{"loopback", "127.0.0.1:8000", httpapi.Settings{}, true},
		{"another loopback", "127.9.9.9", httpapi.Settings{}, true},
		{"v6", "[::1]", httpapi.Settings{}, true},
		{"mapped v6", "[::ffff:127.0.0.1]:80", httpapi.Settings{}, true},
		{"name", "LocalHost", httpapi.Settings{}, true},
		{"name with a dot", "localhost.evil.test", httpapi.Settings{}, false},
		{"no name", "", httpapi.Settings{}, false},
		{"address", "10.0.0.1", httpapi.Settings{}, false},
		{"address, any host", "10.0.0.1", httpapi.Settings{AnyHost: true}, true},
		{"listed", "weir.test:443", httpapi.Settings{Hosts: []string{"weir.test"}}, true},
		{"listed in other letters", "Weir.Test", httpapi.Settings{Hosts: []string{"weir.test"}}, true},
		{"not listed", "other.test", httpapi.Settings{Hosts: []string{"weir.test"}}, false},
		{"star", "other.test", httpapi.Settings{Hosts: []string{"*"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := handler(t, &stub{set: c.set})
			w := httptest.NewRecorder()
			r := request(t, http.MethodGet, "/api/hello", "")
			r.Host = c.host
			h.ServeHTTP(w, r)
			if served := w.Code == http.StatusOK; served != c.served {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
}
