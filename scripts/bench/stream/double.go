package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Modes, which are also the first element of the double's paths.
const (
	modeBurst = "burst"
	modePaced = "paced"
)

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// double is an engine that answers every POST with the same stream. Its bytes are made once and it
// speaks HTTP by itself, so that it takes little of the machine from those that are measured.
type double struct {
	pace   time.Duration
	head   []byte
	tokens [][]byte
	end    []byte
	bursts [][]byte // head, tokens and end in few writes
}

func newDouble(s script, t *turn) *double {
	d := &double{pace: s.Pace, head: []byte(streamHead)}
	d.tokens, d.end = t.events()
	size := s.Burst
	if size <= 0 {
		size = len(d.tokens)
	}
	for tokens := range slices.Chunk(d.tokens, size) {
		d.bursts = append(d.bursts, bytes.Join(tokens, nil))
	}
	d.bursts[0] = append([]byte(streamHead), d.bursts[0]...)
	last := len(d.bursts) - 1
	d.bursts[last] = append(d.bursts[last], d.end...)
	return d
}

// body is what a client must receive, chunked coding taken off.
func (d *double) body() []byte {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(bytes.Join(d.bursts, nil))), nil)
	if err != nil {
		return nil // the head is a constant
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	return b
}

// serve answers until the listener or ctx ends, and returns when all its connections are closed.
func (d *double) serve(ctx context.Context, ln net.Listener) error {
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
			d.connection(conn)
			end()
			_ = conn.Close()
		})
	}
}

// connection answers requests until the client leaves.
func (d *double) connection(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		switch {
		case req.Method != http.MethodPost:
			_, err = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
		case strings.HasPrefix(req.URL.Path, "/"+modePaced+"/"):
			err = d.paced(conn)
		default:
			err = write(conn, d.bursts...)
		}
		if err != nil || req.Close {
			return
		}
	}
}

// paced writes a token each pace, by the clock and not by the time that writing left.
func (d *double) paced(conn net.Conn) error {
	next := time.Now()
	if err := write(conn, d.head); err != nil {
		return err
	}
	for _, token := range d.tokens {
		next = next.Add(d.pace)
		time.Sleep(time.Until(next))
		if err := write(conn, token); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(next.Add(d.pace)))
	return write(conn, d.end)
}

func write(conn net.Conn, pieces ...[]byte) error {
	for _, p := range pieces {
		if _, err := conn.Write(p); err != nil {
			return err
		}
	}
	return nil
}
