// Package sse writes frames as server-sent events (WHATWG HTML, "Server-sent events").
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weirgate/weir/gateway/internal/transport"
)

// Writer writes one stream. Frames are collected in one buffer and leave in one write at Flush. It is not
// safe for concurrent use.
type Writer struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	buf      []byte
	timeout  time.Duration
	deadline time.Time // the write deadline in force
	started  bool
	err      error
}

var _ transport.Ender = (*Writer)(nil)

// maxBuffer is where Write flushes by itself, so that a burst does not grow memory.
const maxBuffer = 64 << 10

// New writes to w. A flush that takes longer than timeout fails; 0 means no limit. The frames are collected
// in buf, which may be nil; Buffer gives it back.
func New(w http.ResponseWriter, timeout time.Duration, buf []byte) *Writer {
	return &Writer{w: w, rc: http.NewResponseController(w), timeout: timeout, buf: buf[:0]}
}

// errOver is what a writer says that gave its buffer back.
var errOver = errors.New("the stream is over")

// Buffer ends the writer and returns its buffer, for another one.
func (s *Writer) Buffer() []byte {
	buf := s.buf[:0]
	s.buf, s.err = nil, errOver
	return buf
}

// Write adds a frame. A line break in its data begins a new data line, so that no content can end the
// event or forge another field.
func (s *Writer) Write(f transport.Frame) error {
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
		return s.Flush()
	}
	return nil
}

// Flush sends what is buffered, and the response headers if they have not left.
func (s *Writer) Flush() error {
	if s.err != nil || (len(s.buf) == 0 && s.started) {
		return s.err
	}
	if err := s.write(); err != nil {
		return err
	}
	if err := s.rc.Flush(); err != nil {
		return s.fail(err)
	}
	return nil
}

// End gives what is buffered to the server, which sends it with the end of the answer when the handler returns.
func (s *Writer) End() error {
	if s.err != nil || (len(s.buf) == 0 && s.started) {
		return s.err
	}
	if !s.started {
		// Without it the length of an answer that is whole would be told: a stream looks the same, however short.
		s.w.Header().Set("Transfer-Encoding", "chunked")
	}
	return s.write()
}

// write hands the headers, the first time, and what is buffered to the server.
func (s *Writer) write() error {
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
	return nil
}

func (s *Writer) fail(err error) error {
	s.err = fmt.Errorf("write to client: %w", err)
	return s.err
}
