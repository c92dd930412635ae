// Package rawhttp speaks HTTP/1.1 at the two ends of a benchmark, where it must take little of the machine
// from those that are measured.
package rawhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 16 << 20

// StreamHead is the head of an answer that is a stream of events in chunks.
const StreamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// NotFound is an answer without a body.
const NotFound = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

// StreamEnd is the last chunk.
const StreamEnd = "0\r\n\r\n"

// AppendChunk appends one chunk of HTTP's chunked coding.
func AppendChunk(dst []byte, s string) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(s)), 16), "\r\n"...)
	return append(append(dst, s...), "\r\n"...)
}

// BodyOf is the body of a whole answer, chunked coding taken off.
func BodyOf(answer []byte) ([]byte, error) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}

// Handler writes the whole answer to a request. body is valid until it returns; an error closes the
// connection. It is called by several goroutines at once.
type Handler func(w io.Writer, r *http.Request, body []byte) error

// Serve answers until the listener or ctx ends, and returns when all its connections are closed.
func Serve(ctx context.Context, ln net.Listener, h Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	for {
		conn, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		conns.Go(func() {
			end := context.AfterFunc(ctx, func() { _ = conn.Close() })
			h.connection(conn)
			end()
			_ = conn.Close()
		})
	}
}

// connection answers requests until the client leaves.
func (h Handler) connection(conn net.Conn) {
	in := bufio.NewReader(conn)
	var body []byte // its room is kept
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if body, err = readBody(body[:0], req.Body, req.ContentLength); err != nil {
			return
		}
		if err := h(conn, req, body); err != nil || req.Close {
			return
		}
	}
}

// readBody appends a whole body to dst. size is -1 where it is not known.
func readBody(dst []byte, r io.Reader, size int64) ([]byte, error) {
	if size > MaxBody {
		return dst, fmt.Errorf("a body of %d bytes, at most %d", size, MaxBody)
	}
	if need := int(size) + 1; need > cap(dst) { // one more, so that the end is seen without growing
		dst = append(make([]byte, 0, need), dst...)
	}
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > MaxBody:
			return dst, fmt.Errorf("a body of more than %d bytes", MaxBody)
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}
