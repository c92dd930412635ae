package rawhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// listen serves on a loopback port until the test ends.
func listen(t *testing.T, h rawhttp.Handler) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rawhttp.Serve(ctx, ln, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// echo says in a chunk or two how much it was sent.
func echo(w io.Writer, r *http.Request, body []byte) error {
	switch r.URL.Path {
	case "/missing":
		_, err := io.WriteString(w, rawhttp.NotFound)
		return err
	case "/broken":
		return errors.New("no more")
	case "/close":
		_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		return err
	}
	out := rawhttp.AppendChunk([]byte(rawhttp.StreamHead), r.Method)
	out = rawhttp.AppendChunk(out, fmt.Sprintf(" %d %d", len(body), bytes.Count(body, []byte("x"))))
	_, err := w.Write(append(out, rawhttp.StreamEnd...))
	return err
}

func dial(t *testing.T, addr string) *rawhttp.Client {
	t.Helper()
	c, err := rawhttp.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestClient(t *testing.T) {
	addr := listen(t, echo)
	c := dial(t, addr)
	for _, n := range []int{0, 1, 4096, 300_000, 300_000, 7} {
		body, err := c.Ask(rawhttp.Post(addr, "/", bytes.Repeat([]byte("x"), n)))
		if want := fmt.Sprintf("POST %d %d", n, n); err != nil || string(body) != want {
			t.Errorf("got %q, error %v; want %s", body, err, want)
		}
	}
	if body, err := c.Ask(rawhttp.Get(addr, "/")); err != nil || string(body) != "GET 0 0" {
		t.Errorf("got %q, error %v", body, err)
	}
	for path, want := range map[string]string{"/missing": "404", "/broken": "read the answer's head", "/close": "not kept"} {
		if _, err := dial(t, addr).Ask(rawhttp.Get(addr, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// TestServerTakesChunks posts as a client does that does not know how much it will send.
func TestServerTakesChunks(t *testing.T) {
	addr := listen(t, echo)
	for size, want := range map[int]string{5: "POST 5 5", 100_000: "POST 100000 100000", rawhttp.MaxBody + 1: ""} {
		body := io.Reader(struct{ io.Reader }{bytes.NewReader(bytes.Repeat([]byte("x"), size))})
		for _, body := range []io.Reader{body, bytes.NewReader(bytes.Repeat([]byte("x"), size))} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr, body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				if want != "" {
					t.Error(err)
				}
				continue
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(got) != want {
				t.Errorf("%d bytes: got %q, error %v; want %q", size, got, err, want)
			}
		}
	}
}

func TestPool(t *testing.T) {
	addr := listen(t, echo)
	p := rawhttp.NewPool()
	defer p.Close()
	var asked [4]atomic.Int64
	ask := func(i int, c *rawhttp.Client) (int, error) {
		asked[i].Add(1)
		body, err := c.Ask(rawhttp.Get(addr, "/"))
		return len(body), err
	}
	for range 2 {
		o := p.Run(t.Context(), rawhttp.Run{Addr: addr, Clients: 4, Each: 3, Stagger: 4 * time.Millisecond}, ask)
		if o.Error != "" || o.Requests != 12 || o.Bytes != 12*int64(len("GET 0 0")) || o.P50 <= 0 || o.P99 < o.P50 || o.Took < o.P99 {
			t.Errorf("got %+v", o)
		}
	}
	for i := range asked {
		if n := asked[i].Load(); n != 6 {
			t.Errorf("client %d asked %d times", i, n)
		}
	}
	o := p.Run(t.Context(), rawhttp.Run{Addr: addr, Clients: 2, For: 20 * time.Millisecond}, ask)
	if o.Error != "" || o.Requests < 2 || o.Took < 20*time.Millisecond {
		t.Errorf("by time: got %+v", o)
	}
	o = p.Run(t.Context(), rawhttp.Run{Addr: addr, Clients: 3, For: time.Hour}, func(i int, c *rawhttp.Client) (int, error) {
		if i == 1 {
			return 0, io.ErrNoProgress
		}
		return ask(i, c)
	})
	if o.Error != io.ErrNoProgress.Error() {
		t.Errorf("a failure: got %+v", o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := p.Run(ctx, rawhttp.Run{Addr: addr, Clients: 1, Each: 1}, ask); o.Error == "" {
		t.Errorf("cancelled: got %+v", o)
	}
	if o := p.Run(t.Context(), rawhttp.Run{Addr: "127.0.0.1:1", Clients: 1, Each: 1}, ask); o.Error == "" {
		t.Errorf("nobody there: got %+v", o)
	}
}

func TestBodyOf(t *testing.T) {
	answer := append(rawhttp.AppendChunk(rawhttp.AppendChunk([]byte(rawhttp.StreamHead), "one "), strings.Repeat("two", 100)), rawhttp.StreamEnd...)
	if b, err := rawhttp.BodyOf(answer); err != nil || string(b) != "one "+strings.Repeat("two", 100) {
		t.Errorf("got %q, error %v", b, err)
	}
	for _, cut := range []int{0, 10, len(answer) - 4} {
		if b, err := rawhttp.BodyOf(answer[:cut]); err == nil {
			t.Errorf("%d bytes of an answer are taken for %q", cut, b)
		}
	}
}
