package ws_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/weirgate/weir/gateway/internal/transport/ws"
)

// serve runs f for one connection and returns a client of it and a channel that f's end closes.
func serve(t *testing.T, opt ws.Options, f func(c *ws.Conn)) (*websocket.Conn, chan struct{}) {
	t.Helper()
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		c, err := ws.Accept(w, r, opt)
		if err != nil {
			t.Error(err)
			return
		}
		f(c)
		c.Close(ws.CloseNormal, "")
		c.Wait()
	}))
	t.Cleanup(srv.Close)
	dialer := websocket.Dialer{EnableCompression: opt.Compression}
	client, _, err := dialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil) //nolint:bodyclose // because there is no body to close after an upgrade
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, done
}

func TestEcho(t *testing.T) {
	client, done := serve(t, ws.Options{}, func(c *ws.Conn) {
		for {
			m, err := c.Read()
			if errors.Is(err, ws.ErrBinary) {
				m, err = []byte("binary"), nil
			}
			if err != nil {
				return
			}
			if err := c.Send(t.Context(), []byte("<"), m, []byte(">")); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, tt := range []struct {
		kind int
		in   string
		want string
	}{{websocket.TextMessage, "hi", "<hi>"}, {websocket.BinaryMessage, "\x00", "<binary>"}, {websocket.TextMessage, "", "<>"}} {
		if err := client.WriteMessage(tt.kind, []byte(tt.in)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := client.ReadMessage(); err != nil || string(got) != tt.want {
			t.Fatalf("got %q, %v, want %q", got, err, tt.want)
		}
	}
	client.Close()
	<-done
}

func TestTooBigClosesWith1009(t *testing.T) {
	for name, c := range map[string]struct {
		compressed bool
		size       int // of a message that is not taken
	}{
		"plain":                 {false, 200},
		"compressed":            {true, 200},
		"compressed to nothing": {true, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			client, done := serve(t, ws.Options{MaxMessage: 100, Compression: c.compressed}, func(c *ws.Conn) {
				if got, err := c.Read(); err != nil || len(got) != 100 {
					t.Errorf("100 bytes: got %d, %v", len(got), err)
				}
				if _, err := c.Read(); err == nil {
					t.Error("more was read than the limit of 100 bytes")
				}
			})
			client.EnableWriteCompression(c.compressed)
			for _, size := range []int{100, c.size} {
				if err := client.WriteMessage(websocket.TextMessage, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := client.ReadMessage()
			if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
				t.Errorf("got %v, want close 1009", err)
			}
			<-done
		})
	}
}

// TestSlowReaderClosedWith1013 fills a peer that does not read; when it reads again it must find whole
// messages and then the close code.
func TestSlowReaderClosedWith1013(t *testing.T) {
	sent := make(chan error, 1)
	client, done := serve(t, ws.Options{Stall: 300 * time.Millisecond}, func(c *ws.Conn) {
		go func() {
			for {
				if _, err := c.Read(); err != nil {
					return
				}
			}
		}()
		msg := []byte(strings.Repeat("x", 32<<10))
		for {
			if err := c.Send(t.Context(), msg); err != nil {
				sent <- err
				return
			}
		}
	})
	if err := <-sent; !errors.Is(err, ws.ErrSlow) {
		t.Fatalf("got %v, want ErrSlow", err)
	}
	for {
		_, m, err := client.ReadMessage()
		if err != nil {
			if !websocket.IsCloseError(err, websocket.CloseTryAgainLater) {
				t.Errorf("got %v, want close 1013", err)
			}
			break
		}
		if len(m) != 32<<10 {
			t.Fatalf("message of %d bytes", len(m))
		}
	}
	<-done
}

func TestSendEndsWithItsContext(t *testing.T) {
	result := make(chan error, 1)
	client, done := serve(t, ws.Options{Stall: time.Minute}, func(c *ws.Conn) {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		msg := make([]byte, 64<<10)
		for {
			if err := c.Send(ctx, msg); err != nil {
				result <- err
				return
			}
		}
	})
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	client.Close()
	<-done
}

func TestDeadPeerIsNoticed(t *testing.T) {
	ended := make(chan error, 1)
	client, done := serve(t, ws.Options{PongWait: 200 * time.Millisecond}, func(c *ws.Conn) {
		_, err := c.Read()
		ended <- err
	})
	// The client does not read, so it never answers a ping.
	if err := <-ended; err == nil {
		t.Error("a peer without pongs was not noticed")
	}
	client.Close()
	<-done
}
