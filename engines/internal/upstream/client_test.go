package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

func client(t *testing.T, o upstream.Options) *upstream.Client {
	t.Helper()
	o.Name = "e"
	c, err := upstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// at is an address of the client's server.
func at(tb testing.TB, c *upstream.Client, path string) *url.URL {
	tb.Helper()
	u, err := url.Parse(c.URL(path))
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func bodyOf(c *upstream.Client, text string) *upstream.Body {
	b := c.Body()
	b.Buf = append(b.Buf, text...)
	return b
}

// lentBody is bodyOf, with the middle half of the text lent in two pieces.
func lentBody(c *upstream.Client, text string) *upstream.Body {
	n := len(text) / 4
	b := bodyOf(c, text[:n])
	b.Lend([]byte(text[n:2*n]), []byte(text[2*n:3*n]))
	b.Buf = append(b.Buf, text[3*n:]...)
	return b
}

func TestBaseURL(t *testing.T) {
	for _, bad := range []string{"", "host:80", "ftp://x", "http://", "http://u:p@x/v1", "http://x/v1?a=b", "http://x/#f", "http://x\x00"} {
		if _, err := upstream.New(upstream.Options{Name: "e", BaseURL: bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	c := client(t, upstream.Options{BaseURL: "http://x/pre/v1/"})
	if c.URL("/models") != "http://x/pre/v1/models" || c.RootURL("/health") != "http://x/pre/health" {
		t.Errorf("got %s and %s", c.URL("/models"), c.RootURL("/health"))
	}
}

// TestHeaders: what is forwarded, what never is.
func TestHeaders(t *testing.T) {
	got := make(chan http.Header, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() })
	c := client(t, upstream.Options{BaseURL: s.URL, APIKey: "secret"})
	_, err := c.Post(t.Context(), at(t, c, "/x"), bodyOf(c, "{}"), upstream.Forward{ID: "r1", Headers: map[string]string{
		"traceparent": "00-1", "authorization": "Bearer client", "Host": "evil", "Content-Length": "9", "bad name": "x", "X-Bad": "a\r\nb", "cookie": "a=b",
	}}, 100)
	if err != nil {
		t.Fatal(err)
	}
	h := <-got
	if h.Get("Traceparent") != "00-1" || h.Get("Authorization") != "Bearer secret" || h.Get("Content-Type") != "application/json" || h.Get("Content-Length") != "2" || h.Get("X-Request-Id") != "r1" {
		t.Errorf("got %v", h)
	}
	if h.Get("X-Bad") != "" || h.Get("Cookie") != "" || h.Get("Accept-Encoding") != "" {
		t.Errorf("got %v", h)
	}
}

// TestConnectionIsKept: after a whole stream the connection serves the next one, after a broken off
// one it is closed.
func TestConnectionIsKept(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\ndata: [DONE]\n\n")
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, upstream.Options{BaseURL: s.URL})
	stream := func(events int, told bool) {
		t.Helper()
		ev, err := c.Open(t.Context(), at(t, c, "/"), bodyOf(c, "{}"), upstream.Forward{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range events {
			if _, err := ev.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := ev.Close(told); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		stream(2, true)
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for five whole streams, want 1", n)
	}
}

// TestOneWrite: headers and body of a small request leave together, a body with a lent text too.
func TestOneWrite(t *testing.T) {
	t.Run("own", func(t *testing.T) { oneWrite(t, bodyOf) })
	t.Run("lent", func(t *testing.T) { oneWrite(t, lentBody) })
}

func oneWrite(t *testing.T, newBody func(*upstream.Client, string) *upstream.Body) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	var server sync.WaitGroup
	server.Go(func() {
		defer close(got)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 16<<10)
		n, err := conn.Read(buf)
		if err == nil {
			got <- string(buf[:n])
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	defer server.Wait()
	defer func() { _ = ln.Close() }()
	c := client(t, upstream.Options{BaseURL: "http://" + ln.Addr().String()})
	body := `{"prompt":"` + strings.Repeat("x", 2000) + `"}`
	if _, err := c.Post(t.Context(), at(t, c, "/x"), newBody(c, body), upstream.Forward{}, 10); err != nil {
		t.Fatal(err)
	}
	if first := <-got; !strings.HasPrefix(first, "POST /x HTTP/1.1\r\n") || !strings.HasSuffix(first, "\r\n\r\n"+body) {
		t.Errorf("the first read of the server was %d bytes: %.60q", len(first), first)
	}
}

// TestClosedKeepAlive: a request goes through although the kept connection was closed meanwhile.
func TestClosedKeepAlive(t *testing.T) {
	bodies := make(chan string, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
	})
	c := client(t, upstream.Options{BaseURL: s.URL})
	for _, body := range []func(*upstream.Client, string) *upstream.Body{bodyOf, lentBody} {
		for _, text := range []string{`"one"`, `"two"`, `"three"`} {
			if _, err := c.Post(t.Context(), at(t, c, "/"), body(c, text), upstream.Forward{}, 10); err != nil {
				t.Fatal(err)
			}
			if got := <-bodies; got != text {
				t.Errorf("server got %s, want %s", got, text)
			}
			s.CloseClientConnections()
		}
	}
}

func TestHeaderTimeout(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	c := client(t, upstream.Options{BaseURL: s.URL, HeaderTimeout: 20 * time.Millisecond})
	_, err := c.Open(t.Context(), at(t, c, "/"), bodyOf(c, "{}"), upstream.Forward{}, 0)
	var e *engines.Error
	if !errors.As(err, &e) || e.Class != engines.ClassUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestEndWithin(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c := client(t, upstream.Options{BaseURL: s.URL})
	ev, err := c.Open(t.Context(), at(t, c, "/"), bodyOf(c, "{}"), upstream.Forward{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ev.Close(true) }()
	ev.EndWithin(20 * time.Millisecond)
	if _, err := ev.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := ev.Next(); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
}

func TestLimits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(append(append([]byte("data: "), bytes.Repeat([]byte("x"), 200_000)...), "\n\n"...))
	})
	c := client(t, upstream.Options{BaseURL: s.URL})
	_, err := c.Get(t.Context(), c.URL("/"), 1000)
	var e *engines.Error
	if !errors.As(err, &e) || e.Class != engines.ClassProtocol {
		t.Errorf("a long body: %v", err)
	}
	ev, err := c.Open(t.Context(), at(t, c, "/stream"), bodyOf(c, "{}"), upstream.Forward{}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ev.Close(false) }()
	if _, err := ev.Next(); !errors.As(err, &e) || e.Class != engines.ClassProtocol {
		t.Errorf("a long event: %v", err)
	}
}

// TestBodiesAreNotShared hammers the buffers: a body must reach the server whole although others are
// cancelled while they are written.
func TestBodiesAreNotShared(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil && len(b) > 0 && bytes.Count(b, b[:1]) != len(b) {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	c := client(t, upstream.Options{BaseURL: s.URL})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				b := c.Body()
				b.Buf = append(b.Buf, bytes.Repeat([]byte{byte('a' + g)}, 100_000)...)
				_, err := c.Post(ctx, at(t, c, "/"), b, upstream.Forward{}, 10)
				var e *engines.Error
				if errors.As(err, &e) && e.Status == http.StatusTeapot {
					t.Error("the server got a mixed body")
				}
				cancel()
			}
		})
	}
	wg.Wait()
}
