// Package sse writes frames as server-sent events (WHATWG HTML, "Server-sent events").
package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/weirgate/weir/gateway/internal/transport"
)

// Writer writes one stream. Frames are collected in one buffer and leave in one write at Flush. It is
// safe for concurrent use.
type Writer struct {
	mu       sync.Mutex
	w        http.ResponseWriter
	rc       *http.ResponseController
	buf      []byte
	timeout  time.Duration
	deadline time.Time // the write deadline in force
	started  bool
	err      error
}

var _ transport.Writer = (*Writer)(nil)

// maxBuffer is where Write flushes by itself, so that a burst does not grow memory.
const maxBuffer = 64 << 10

// New writes to w. A flush that takes longer than timeout fails; 0 means no limit.
func New(w http.ResponseWriter, timeout time.Duration) *Writer {
	return &Writer{w: w, rc: http.NewResponseController(w), timeout: timeout, buf: make([]byte, 0, 4096)}
}

// Write adds a frame. A line break in its data begins a new data line, so that no content can end the
// event or forge another field.
func (s *Writer) Write(f transport.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if f.Event != "" {
		s.buf = append(append(append(s.buf, "event: "...), f.Event...), '\n')
	}
	data := f.Data
	for {
		i := bytes.IndexByte(data, '\n')
		s.buf = append(s.buf, "data: "...)
		if i < 0 {
			break
		}
		s.buf = append(append(s.buf, data[:i]...), '\n')
		data = data[i+1:]
	}
	s.buf = append(append(s.buf, data...), '\n', '\n')
	if len(s.buf) >= maxBuffer {
		return s.flush()
	}
	return nil
}

// Flush sends what is buffered, and the response headers if they have not left.
func (s *Writer) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// Started reports whether the response headers have left.
func (s *Writer) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

func (s *Writer) flush() error {
	if s.err != nil || (len(s.buf) == 0 && s.started) {
		return s.err
	}
	if !s.started {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		s.started = true
	}
	if s.timeout > 0 {
		// The deadline is moved at most once a second: setting it costs as much as a small write.
		if now := time.Now(); s.deadline.Sub(now) < s.timeout-time.Second || s.deadline.IsZero() {
			s.deadline = now.Add(s.timeout)
			if err := s.rc.SetWriteDeadline(s.deadline); err != nil {
				s.timeout = 0
			}
		}
	}
	if len(s.buf) > 0 {
		if _, err := s.w.Write(s.buf); err != nil {
			return s.fail(err)
		}
		s.buf = s.buf[:0]
	}
	if err := s.rc.Flush(); err != nil {
		return s.fail(err)
	}
	return nil
}

func (s *Writer) fail(err error) error {
	s.err = fmt.Errorf("write to client: %w", err)
	return s.err
}
