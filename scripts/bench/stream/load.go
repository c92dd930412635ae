package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// streamTimeout bounds one stream: what takes longer hangs.
const streamTimeout = 60 * time.Second

// job is one run of the load against one server.
type job struct {
	Addr    string
	Request []byte        // whole, as it is sent
	Shape   string        // of the answer
	Streams int           // at a time, each on a connection of its own
	Each    int           // streams one after the other on a connection
	Stagger time.Duration // over which the first ones begin
}

// outcome is what a run came to. Error is empty if every stream was whole and right.
type outcome struct {
	Streams int
	Bytes   int64 // of response bodies
	Took    time.Duration
	Error   string
}

// serveLoad runs the jobs that come in, one line each, and answers each with a line.
func serveLoad(ctx context.Context, c *checker, in io.Reader, out io.Writer) error {
	l := load{check: c, idle: map[string][]*client{}}
	defer l.close()
	jobs, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		switch err := jobs.Decode(&j); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("load: %w", err)
		}
		if err := answers.Encode(l.run(ctx, &j)); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
}

// load keeps its connections from one job to the next, so that no run pays for opening them.
type load struct {
	check *checker
	idle  map[string][]*client // by address
}

func (l *load) close() {
	for _, clients := range l.idle {
		for _, c := range clients {
			_ = c.conn.Close()
		}
	}
}

// run makes Streams clients ask Each times. The first failure ends it.
func (l *load) run(ctx context.Context, j *job) outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for len(l.idle[j.Addr]) < j.Streams {
		c, err := dial(ctx, j.Addr)
		if err != nil {
			return outcome{Error: err.Error()}
		}
		l.idle[j.Addr] = append(l.idle[j.Addr], c)
	}
	var streams, size atomic.Int64
	var group sync.WaitGroup
	begin := time.Now()
	for i, c := range l.idle[j.Addr][:j.Streams] {
		group.Go(func() {
			time.Sleep(j.Stagger * time.Duration(i) / time.Duration(j.Streams))
			for range j.Each {
				if ctx.Err() != nil {
					return
				}
				body, err := c.ask(j.Request)
				if err == nil {
					err = l.check.check(j.Shape, body)
				}
				if err != nil {
					cancel(err)
					return
				}
				streams.Add(1)
				size.Add(int64(len(body)))
			}
		})
	}
	group.Wait()
	o := outcome{Streams: int(streams.Load()), Bytes: size.Load(), Took: time.Since(begin)}
	if err := context.Cause(ctx); err != nil {
		o.Error = err.Error()
	}
	return o
}

// client is one kept connection.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func dial(ctx context.Context, addr string) (*client, error) {
	conn, err := (&net.Dialer{Timeout: streamTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), body: make([]byte, 0, 64<<10)}, nil
}

// ask sends a request and returns the whole body of a stream, valid until the next call.
func (c *client) ask(request []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(streamTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("read the answer's head: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	c.body = c.body[:0]
	for {
		if len(c.body) == cap(c.body) {
			c.body = append(c.body, 0)[:len(c.body)]
		}
		n, err := resp.Body.Read(c.body[len(c.body):cap(c.body)])
		c.body = c.body[:len(c.body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s: %.500s", resp.Status, c.body)
	}
	if resp.Close {
		return nil, errors.New("the connection was not kept")
	}
	return c.body, nil
}
