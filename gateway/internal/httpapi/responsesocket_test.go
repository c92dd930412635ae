package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

const (
	create = `{"type":"response.create","model":"m","input":"hi"}`
	// patience is how long a test waits for what must come.
	patience = time.Minute
)

// peer is a client's end of a socket of responses.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
}

// socket serves a stub and opens a socket.
func socket(t *testing.T, s *stub) *peer {
	t.Helper()
	s.set.WebSocket, s.set.MaxBody, s.set.SocketMemory = true, 1<<20, 1<<20
	ctx, cancel := context.WithCancel(t.Context())
	h := httpapi.New(ctx, s, httpapi.Surfaces{Chat: chat.Surface{}, Messages: messages.Surface{}}, store.NewMemory(store.Options{}), slog.New(slog.DiscardHandler))
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		cancel()
		wait, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := h.Wait(wait); err != nil {
			t.Errorf("sockets do not end: %v", err)
		}
		srv.Close()
		if n := s.sockets.Load(); n != 0 {
			t.Errorf("%d sockets are counted", n)
		}
	})
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http")+"/v1/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); resp.Body.Close() })
	return &peer{t: t, conn: conn}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if err := p.conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

type message struct {
	Type   string
	Status int
	Error  struct{ Code string }
}

func (p *peer) read() (message, error) {
	p.t.Helper()
	if err := p.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	_, b, err := p.conn.ReadMessage()
	if err != nil {
		return message{}, err
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		p.t.Fatal(err)
	}
	return m, nil
}

// until reads up to a message of a type.
func (p *peer) until(kind string) message {
	p.t.Helper()
	for {
		m, err := p.read()
		if err != nil {
			p.t.Fatalf("before %s: %v", kind, err)
		}
		if m.Type == kind {
			return m
		}
		if m.Type == "error" {
			p.t.Fatalf("before %s: %+v", kind, m)
		}
	}
}

// closed reads up to the close frame, and wants its code.
func (p *peer) closed(code int) {
	p.t.Helper()
	for {
		_, err := p.read()
		if err == nil {
			continue
		}
		if e := (*websocket.CloseError)(nil); !errors.As(err, &e) || e.Code != code {
			p.t.Errorf("closed with %v, want %d", err, code)
		}
		return
	}
}

// old wants to be told that the socket is too old, and its end.
func (p *peer) old() {
	p.t.Helper()
	if m := p.until("error"); m.Status != 400 || m.Error.Code != "websocket_connection_limit_reached" {
		p.t.Errorf("got %+v", m)
	}
	p.closed(websocket.CloseGoingAway)
}

// TestSocketAge ends sockets that are old: at once where nothing runs, else with the next request.
func TestSocketAge(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		socket(t, &stub{set: httpapi.Settings{SocketTTL: 50 * time.Millisecond}}).old()
	})
	t.Run("at work", func(t *testing.T) {
		t.Parallel()
		const age = time.Second
		gate, word := make(chan struct{}), once()
		s := &stub{set: httpapi.Settings{SocketTTL: age}, engine: engineFunc(func(ctx context.Context) (*engines.Delta, error) {
			select {
			case <-gate:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return word(ctx)
		})}
		p := socket(t, s)
		p.send(create)
		p.until("response.in_progress")
		time.Sleep(age + age/4) // it gets old while it is at work
		p.send(create)          // which is refused as it is when young, and the turn goes on
		m, err := p.read()
		if err != nil || m.Error.Code != "conflict" {
			t.Errorf("got %+v, %v", m, err)
		}
		close(gate)
		p.until("response.completed")
		p.send(create)
		p.old()
		if s.begun.Load() != 1 || s.done.Load() != 1 {
			t.Errorf("begun %d, done %d", s.begun.Load(), s.done.Load())
		}
	})
}

// TestSocketSlow has a client that does not read: its turn is ended, and it is told why when it reads again.
func TestSocketSlow(t *testing.T) {
	t.Parallel()
	left := make(chan error, 1)
	s := &stub{
		set: httpapi.Settings{SocketTTL: time.Hour, SocketStall: 100 * time.Millisecond},
		engine: engineFunc(func(ctx context.Context) (*engines.Delta, error) {
			if ctx.Err() != nil {
				select {
				case left <- ctx.Err():
				default:
				}
				return nil, ctx.Err()
			}
			return &engines.Delta{Bytes: []byte(strings.Repeat("word ", 4<<10)), Tokens: 4 << 10}, nil
		}),
	}
	p := socket(t, s)
	p.send(create)
	for end := time.Now().Add(patience); s.done.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the turn goes on")
		}
	}
	p.closed(websocket.CloseTryAgainLater)
}

// TestSocketBroken has engines that fail: the turn tells so, and the socket goes on.
func TestSocketBroken(t *testing.T) {
	t.Parallel()
	var broken bool
	s := &stub{set: httpapi.Settings{SocketTTL: time.Hour}, engine: engineFunc(func(context.Context) (*engines.Delta, error) {
		if broken = !broken; broken {
			return &engines.Delta{Bytes: []byte("word"), Tokens: 1}, nil
		}
		return nil, &engines.Error{Class: engines.ClassProtocol, Message: "secret"}
	})}
	p := socket(t, s)
	for range 3 {
		p.send(create)
		p.until("response.failed")
	}
	s.engine = once()
	p.send(create)
	p.until("response.completed")
}
