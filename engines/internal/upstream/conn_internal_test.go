package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/engines"
)

// scripted is a server that answers the requests of each connection with the texts given, then closes it.
type scripted struct {
	addr  string
	conns [][]string
	got   chan string // what each request said
}

// headOnly begins an answer that is given before the body of the request was read.
const headOnly = "HEAD-ONLY "

func script(t *testing.T, conns ...[]string) *scripted {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{addr: "http://" + ln.Addr().String(), conns: conns, got: make(chan string, 16)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for _, answers := range conns {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.serve(conn, answers)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return s
}

func (s *scripted) serve(conn net.Conn, answers []string) {
	in := bufio.NewReader(conn)
	for _, answer := range answers {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		answer, early := strings.CutPrefix(answer, headOnly)
		if !early {
			b, _ := io.ReadAll(req.Body)
			s.got <- string(b)
		}
		_, _ = io.WriteString(conn, answer)
	}
}

func newClient(t *testing.T, base string) *Client {
	t.Helper()
	c, err := New(Options{Name: "e", BaseURL: base, HeaderTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func post(ctx context.Context, c *Client, text string) (string, error) {
	to, err := url.Parse(c.URL("/x"))
	if err != nil {
		return "", err
	}
	body := c.Body()
	body.Buf = append(body.Buf, text...)
	b, err := c.Post(ctx, to, body, Forward{}, 100)
	return string(b), err
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestAnswers(t *testing.T) {
	refused := `HTTP/1.1 413 Too Large` + "\r\nContent-Length: 27\r\n\r\n" + `{"error":{"message":"huge"}}`[:27]
	many := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n"
	for name, test := range map[string]struct {
		answer string
		body   string
		want   string // of the answer or the error
		class  engines.Class
	}{
		"plain":              {answer: ok, want: "ok"},
		"interim answers":    {answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, want: "ok"},
		"interim for ever":   {answer: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), want: "interim", class: engines.ClassUnavailable},
		"another protocol":   {answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", want: "protocol", class: engines.ClassUnavailable},
		"no length":          {answer: "HTTP/1.1 200 OK\r\n\r\nok", want: "ok"},
		"HTTP/1.0":           {answer: "HTTP/1.0 200 OK\r\n\r\nok", want: "ok"},
		"chunks and trailer": {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n", want: "ok"},
		"huge head":          {answer: many, want: "headers larger", class: engines.ClassUnavailable},
		"no HTTP":            {answer: "SSH-2.0-x\r\n", want: "malformed", class: engines.ClassUnavailable},
		"cut body":           {answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", want: "unexpected EOF", class: engines.ClassProtocol},
		"nothing":            {answer: "", want: "EOF", class: engines.ClassUnavailable},
		"refused early":      {answer: headOnly + refused, body: strings.Repeat("x", 8<<20), want: "huge", class: engines.ClassRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, []string{test.answer})
			got, err := post(t.Context(), newClient(t, s.addr), test.body+"{}")
			if err != nil {
				got = err.Error()
			}
			var e *engines.Error
			if errors.As(err, &e) && e.Class != test.class || err != nil && test.class == 0 && test.want == "ok" {
				t.Errorf("error %v, want class %v", err, test.class)
			}
			if name == "refused early" && err != nil && e != nil && e.Class == engines.ClassUnavailable {
				t.Skip("the system dropped the answer with the connection")
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestKept: which answers leave a connection that serves the next request. The next connection answers
// "new".
func TestKept(t *testing.T) {
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew"
	for name, test := range map[string]struct {
		answer string
		kept   bool
	}{
		"whole":          {ok, true},
		"chunked":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		"an error":       {"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno", true},
		"asked to":       {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false},
		"HTTP/1.0":       {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		"too long":       {"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + strings.Repeat("x", 200), false},
		"bytes too many": {ok + "HTTP/1.1 200 OK\r\n\r\nsmuggled", false},
	} {
		t.Run(name, func(t *testing.T) {
			first := []string{test.answer, ok}
			s := script(t, first[:1:1], []string{next})
			if test.kept {
				s = script(t, first, []string{next})
			}
			c := newClient(t, s.addr)
			_, _ = post(t.Context(), c, "1")
			got, err := post(t.Context(), c, "2")
			want := "new"
			if test.kept {
				want = "ok"
			}
			if err != nil || got != want {
				t.Errorf("the second answer is %q, %v, want %q", got, err, want)
			}
		})
	}
}

// TestSentAgain: a kept connection that ends without a byte of an answer says nothing of the server; one
// that answered in part does, and the request is not sent twice.
func TestSentAgain(t *testing.T) {
	for name, test := range map[string]struct {
		second string
		fails  bool
	}{
		"closed at once": {"", false},
		"in the middle":  {"HTTP/1.1 2", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, []string{ok, test.second}, []string{ok})
			c := newClient(t, s.addr)
			if _, err := post(t.Context(), c, "1"); err != nil {
				t.Fatal(err)
			}
			got, err := post(t.Context(), c, "2")
			if (err != nil) != test.fails || err == nil && got != "ok" {
				t.Errorf("got %q, %v", got, err)
			}
			close(s.got)
			var sent []string
			for b := range s.got {
				sent = append(sent, b)
			}
			want := "1 2 2"
			if test.fails {
				want = "1 2"
			}
			if strings.Join(sent, " ") != want {
				t.Errorf("the server got %q, want %q", sent, want)
			}
		})
	}
}

// TestIdleConnection: one that the server closed meanwhile is seen before it is used, and one that has
// been idle too long is closed.
func TestIdleConnection(t *testing.T) {
	a, b := pair(t)
	if !quiet(a) {
		t.Error("an open connection is not quiet")
	}
	if _, err := io.WriteString(b, "x"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "bytes nobody asked for", func() bool { return !quiet(a) })
	a, b = pair(t)
	_ = b.Close()
	waitFor(t, "the end", func() bool { return !quiet(a) })

	s := script(t, []string{ok}, []string{ok})
	c := newClient(t, s.addr)
	if _, err := post(t.Context(), c, "1"); err != nil {
		t.Fatal(err)
	}
	c.pool.mu.Lock()
	c.pool.idle[0].since = time.Now().Add(-2 * idleTime)
	c.pool.mu.Unlock()
	c.pool.expire()
	c.pool.mu.Lock()
	left, sweep := len(c.pool.idle), c.pool.sweep
	c.pool.mu.Unlock()
	if left != 0 || sweep != nil {
		t.Errorf("%d idle connections are left, timer %v", left, sweep)
	}
}

// pair is both ends of a connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if client, err = new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, server
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%s was never seen", what)
}

// TestSlots: a request beyond MaxConns waits for a connection, or for its context.
func TestSlots(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	c, err := New(Options{Name: "e", BaseURL: s.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	first := make(chan error, 1)
	var asking sync.WaitGroup
	asking.Go(func() {
		_, err := post(t.Context(), c, "1")
		first <- err
	})
	waitFor(t, "the first request", func() bool { return len(c.pool.slots) == 1 })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, errors.New("left"))
	defer cancel()
	if _, err := post(ctx, c, "2"); err == nil || !strings.Contains(err.Error(), "left") {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	asking.Wait()
	if _, err := post(t.Context(), c, "3"); err != nil {
		t.Error(err)
	}
	if n := len(c.pool.slots); n != 0 {
		t.Errorf("%d slots are taken and nothing is asked", n)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %d %.4s %s", r.Proto, len(b), b[len(b)-4:], r.Host)
	}))
	t.Cleanup(s.Close)
	c := newClient(t, s.URL)
	if _, err := post(t.Context(), c, "1"); err == nil {
		t.Error("an unknown certificate was accepted")
	}
	c.pool.tls.RootCAs = x509.NewCertPool()
	c.pool.tls.RootCAs.AddCert(s.Certificate())
	for range 2 {
		got, err := post(t.Context(), c, strings.Repeat("x", 100_000))
		if want := "HTTP/1.1 100000 xxxx " + strings.TrimPrefix(s.URL, "https://"); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	lent := c.Body()
	lent.Lend([]byte("xy"), bytes.Repeat([]byte("z"), 50_000))
	lent.Buf = append(lent.Buf, "end"...)
	to, err := url.Parse(c.URL("/x"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Post(t.Context(), to, lent, Forward{}, 1000)
	if want := "HTTP/1.1 50005 zend "; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("a body that is lent: got %q, %v, want %q", got, err, want)
	}
}

func TestWithoutZone(t *testing.T) {
	for host, want := range map[string]string{"[fe80::1%en0]:80": "[fe80::1]:80", "[fe80::1%en0]": "[fe80::1]", "a:80": "a:80", "[::1]:1": "[::1]:1"} {
		if got := withoutZone(host); got != want {
			t.Errorf("%s: got %s", host, got)
		}
	}
}
