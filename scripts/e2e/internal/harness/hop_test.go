package harness

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// echo answers requests with their body, and takes sockets whose messages it sends back.
func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.Copy(w, r.Body)
			return
		}
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
		for {
			f, err := readFrame(in)
			if err != nil {
				return
			}
			_, _ = conn.Write(newFrame(f.op, f.payload, false))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func newTestHop(t *testing.T, meddle Meddle) (*Hop, *Server) {
	t.Helper()
	h, err := NewHop(t.Context(), echo(t), meddle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, &Server{URL: h.URL}
}

func TestHopRequest(t *testing.T) {
	h, srv := newTestHop(t, nil)
	var body Object
	if _, err := srv.Exchange(t.Context(), http.MethodPost, "/v1/responses", Object{"a": "b"}, http.StatusTeapot, &body); err != nil || body["a"] != "b" {
		t.Errorf("got %v, %v", body, err)
	}
	got := h.Requests()
	if len(got) != 1 || got[0].Method != http.MethodPost || got[0].Path != "/v1/responses" || string(got[0].Body) != `{"a":"b"}` || got[0].Status != http.StatusTeapot || string(got[0].Answer) != `{"a":"b"}` {
		t.Errorf("kept %+v", got)
	}
}

func TestHopSocket(t *testing.T) {
	h, srv := newTestHop(t, func(_, _ int, fromServer bool, text []byte) ([]byte, error) {
		switch {
		case !fromServer && bytes.Contains(text, []byte("change")):
			return []byte(`{"event":"changed"}`), nil
		case fromServer && bytes.Contains(text, []byte("cut")):
			return nil, ErrCut
		case !fromServer && bytes.Contains(text, []byte("big")):
			return nil, ErrTooBig
		}
		return text, nil
	})
	say := func(k *Socket, event string) (string, error) {
		if err := k.Send(Object{"event": event}); err != nil {
			return "", err
		}
		f, err := k.Next()
		if err != nil {
			return "", err
		}
		return f.Event, nil
	}
	long := strings.Repeat("long", 20_000)
	for last, want := range map[string]string{"cut": "EOF", "big": "03 f1"} {
		k, err := srv.Dial(t.Context(), "/v1/responses")
		if err != nil {
			t.Fatal(err)
		}
		for event, want := range map[string]string{"hello": "hello", long: long, "change": "changed"} {
			if got, err := say(k, event); got != want {
				t.Errorf("got %.40q, %v, want %.40q", got, err, want)
			}
		}
		if _, err := say(k, last); err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want %s", last, err, want)
		}
	}
	sockets := h.Sockets()
	if len(sockets) != 2 || len(sockets[0].Messages) < 7 || sockets[0].Messages[0].FromServer || !sockets[0].Messages[1].FromServer {
		t.Fatalf("kept %d sockets", len(sockets))
	}
	var f Frame
	if err := json.Unmarshal(sockets[0].Messages[1].Text, &f); err != nil {
		t.Error(err)
	}
}

// TestInflated has two messages of which the second points into the first.
func TestInflated(t *testing.T) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	r := messageReader{}
	for _, text := range []string{"one message like another", "one message like another, and more"} {
		b.Reset()
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		f := newFrame(opText, bytes.TrimSuffix(b.Bytes(), []byte("\x00\x00\xff\xff")), true)
		f[0] |= 0x40
		r.in = bytes.NewReader(f)
		raw, got, err := r.next()
		if err != nil || string(got) != text || !bytes.Equal(raw, f) {
			t.Errorf("got %q, %v", got, err)
		}
	}
}
