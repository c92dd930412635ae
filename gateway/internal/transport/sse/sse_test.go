package sse_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/transport"
	"github.com/weirgate/weir/gateway/internal/transport/sse"
)

func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames []transport.Frame
		want   string
	}{
		{"unnamed", []transport.Frame{{Data: []byte(`{"a":1}`)}}, "data: {\"a\":1}\n\n"},
		{"named", []transport.Frame{{Event: "ping", Data: []byte(`{}`)}}, "event: ping\ndata: {}\n\n"},
		{"two in one write", []transport.Frame{{Data: []byte(`1`)}, {Event: "x", Data: []byte(`2`)}}, "data: 1\n\nevent: x\ndata: 2\n\n"},
		{"a line break cannot end an event", []transport.Frame{{Data: []byte("a\n\nevent: evil\ndata: x")}}, "data: a\ndata: \ndata: event: evil\ndata: data: x\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			w := sse.New(rec, time.Minute, nil)
			for _, f := range tt.frames {
				if err := w.Write(f); err != nil {
					t.Fatal(err)
				}
			}
			if rec.Body.Len() != 0 {
				t.Errorf("%q left before the flush", rec.Body)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if got := rec.Body.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if ct := rec.Header().Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

// TestEnd wants an answer to be the same bytes whether its last frames were flushed or ended, also where they are its
// first.
func TestEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []string // flushed one by one
	}{{"all at once", nil}, {"after others", []string{"1", "2"}}} {
		t.Run(tt.name, func(t *testing.T) {
			answer := func(last func(*sse.Writer) error) string {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Date"] = nil
					s := sse.New(w, time.Minute, nil)
					for _, data := range tt.before {
						_ = s.Write(transport.Frame{Data: []byte(data)})
						_ = s.Flush()
					}
					_ = s.Write(transport.Frame{Data: []byte("{}")})
					_ = s.Write(transport.Frame{Data: []byte("[DONE]")})
					if err := last(s); err != nil {
						t.Error(err)
					}
				}))
				defer srv.Close()
				c, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				all, err := io.ReadAll(c)
				if err != nil {
					t.Fatal(err)
				}
				return string(all)
			}
			flushed, ended := answer((*sse.Writer).Flush), answer((*sse.Writer).End)
			if ended != flushed {
				t.Errorf("ended:\n%s\nflushed:\n%s", ended, flushed)
			}
		})
	}
}

// TestSlowClient checks that a client that does not read ends in an error, not in a stuck turn.
func TestSlowClient(t *testing.T) {
	done := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := sse.New(w, 1500*time.Millisecond, nil)
		chunk := []byte(strings.Repeat("x", 32<<10))
		for range 10000 {
			if err := s.Write(transport.Frame{Data: chunk}); err != nil {
				done <- err
				return
			}
			if err := s.Flush(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("320 MB went to a client that does not read")
	}
}

func BenchmarkWrite(b *testing.B) {
	w := sse.New(httptest.NewRecorder(), 0, nil)
	f := transport.Frame{Event: "content_block_delta", Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`)}
	rec := 0
	b.ReportAllocs()
	for b.Loop() {
		_ = w.Write(f)
		if rec++; rec%8 == 0 {
			_ = w.Flush()
		}
	}
}
