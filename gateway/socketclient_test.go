package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// socket is a client's end of the framed mode, or of that of responses, whose messages are events without a frame.
type socket struct {
	tb   testing.TB
	conn *websocket.Conn
	bare bool   // of responses
	id   string // what such a turn was begun with
	over bool   // it has ended, which is told as a frame of the other mode tells it
}

// dial opens a socket that must be let in.
func (w *world) dial(path string, header ...string) *socket {
	w.tb.Helper()
	s, resp := w.try(path, header...)
	if s == nil {
		w.tb.Fatalf("the upgrade was answered with %s", resp.Status)
	}
	return s
}

// try asks for a socket; nil and the answer when it is refused. The answer's body holds its first bytes.
func (w *world) try(path string, header ...string) (*socket, *http.Response) {
	w.tb.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	d := websocket.Dialer{HandshakeTimeout: patience}
	conn, resp, err := d.DialContext(w.tb.Context(), "ws"+strings.TrimPrefix(w.url, "http")+path, h)
	if resp == nil {
		w.tb.Fatal(err)
	}
	w.tb.Cleanup(func() { resp.Body.Close() })
	if err != nil {
		return nil, resp
	}
	w.tb.Cleanup(func() { conn.Close() })
	return &socket{tb: w.tb, conn: conn, bare: path == responses().path}, resp
}

// send sends a text message.
func (s *socket) send(text string) {
	s.tb.Helper()
	if err := s.conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		s.tb.Fatal(err)
	}
}

// request begins a turn.
func (s *socket) request(id, body string) {
	s.tb.Helper()
	if s.bare {
		s.id = id
		s.send(`{"type":"response.create",` + strings.TrimPrefix(body, "{"))
		return
	}
	s.send(`{"type":"request","id":` + id + `,"body":` + body + `}`)
}

// next is the next frame.
func (s *socket) next() frame {
	s.tb.Helper()
	f, err := s.read()
	if err != nil {
		s.tb.Fatal(err)
	}
	return f
}

func (s *socket) read() (frame, error) {
	s.tb.Helper()
	if s.over {
		s.over = false
		return frame{ID: json.RawMessage(s.id), Event: "done"}, nil
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.tb.Fatal(err)
	}
	kind, b, err := s.conn.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	var f frame
	if kind != websocket.TextMessage {
		s.tb.Fatalf("a message of kind %d", kind)
	}
	if s.bare {
		var e struct {
			Type   string
			Status int
		}
		if err := json.Unmarshal(b, &e); err != nil || e.Type == "" {
			s.tb.Fatalf("not an event: %s", b)
		}
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed", "error":
			s.over = true
		}
		return frame{ID: json.RawMessage(s.id), Event: e.Type, Status: e.Status, Data: b}, nil
	}
	strict(s.tb, b, &f)
	if len(f.ID) == 0 || f.Event == "" {
		s.tb.Fatalf("a frame without id or event: %s", b)
	}
	return f, nil
}

// turn returns the frames of a turn up to its done, and checks that they are all its own.
func (s *socket) turn(id string) []frame {
	s.tb.Helper()
	var out []frame
	for {
		f := s.next()
		if string(f.ID) != id {
			s.tb.Fatalf("a frame of %s in the turn %s: %s", f.ID, id, f.Data)
		}
		if out = append(out, f); f.Event == "done" {
			return out
		}
	}
}

// until reads frames up to one whose data holds text, and returns that.
func (s *socket) until(text string) frame {
	s.tb.Helper()
	for {
		f := s.next()
		if strings.Contains(string(f.Data), text) {
			return f
		}
		if f.Event == "done" {
			s.tb.Fatalf("the turn is over before %q", text)
		}
	}
}

// refused reads an error frame.
func (s *socket) refused(sf surface) (frame, refusal) {
	s.tb.Helper()
	f := s.next()
	if f.Event != "error" {
		s.tb.Fatalf("got %s %s, want an error", f.Event, f.Data)
	}
	return f, sf.refusal(s.tb, f.Status, f.Data)
}

// closed waits for the close frame and returns its code.
func (s *socket) closed() int {
	s.tb.Helper()
	for {
		_, err := s.read()
		if err == nil {
			continue
		}
		var c *websocket.CloseError
		if !asClose(err, &c) {
			s.tb.Fatalf("got %v, want a close frame", err)
		}
		return c.Code
	}
}

func asClose(err error, c **websocket.CloseError) bool {
	e, ok := err.(*websocket.CloseError) //nolint:errorlint // the library returns it bare
	*c = e
	return ok
}
