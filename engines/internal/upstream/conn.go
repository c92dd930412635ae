package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// readBuffer is what a connection takes in one read. A burst of tokens comes with one system call
	// and leaves in one delta; 4 KB are a dozen tokens.
	readBuffer = 24 << 10
	// maxHead bounds the headers of an answer.
	maxHead = 64 << 10
	// maxInterim bounds the 1xx answers before the final one.
	maxInterim = 8
	// idleTime is how long a connection is kept without a request.
	idleTime = 90 * time.Second
	// freshTime is how long a kept connection is taken to be open without looking. Servers close theirs
	// after seconds.
	freshTime = time.Second
)

// conn is a connection to the server. One request at a time is on it.
type conn struct {
	net.Conn          // with TLS, where there is any
	raw      net.Conn // without; closing it waits for nothing
	in       *bufio.Reader
	head     io.LimitedReader // of Conn, below in
	out      []byte           // the head of a request
	parts    [][]byte
	buffers  net.Buffers // of parts
	kept     bool        // it has served a request
	since    time.Time   // it has been idle
}

// pool keeps connections to one server. It is safe for concurrent use.
type pool struct {
	address string // host:port
	tls     *tls.Config
	dialer  net.Dialer
	slots   chan struct{} // one for each connection that may be open

	mu     sync.Mutex
	idle   []*conn     // guarded by mu: the longest idle first
	sweep  *time.Timer // guarded by mu: closes what has been idle too long; nil while nothing is idle
	closed bool        // guarded by mu
}

func newPool(u *url.URL, o Options) *pool {
	port := u.Port()
	p := &pool{dialer: net.Dialer{Timeout: o.DialTimeout, KeepAlive: 30 * time.Second}, slots: make(chan struct{}, o.MaxConns)}
	if u.Scheme == "https" {
		p.tls = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	}
	switch {
	case port != "":
	case p.tls != nil:
		port = "443"
	default:
		port = "80"
	}
	p.address = net.JoinHostPort(u.Hostname(), port)
	return p
}

// get returns an idle connection that is still open, or a new one; fresh asks for a new one. It waits
// for a slot no longer than ctx lives.
func (p *pool) get(ctx context.Context, fresh bool) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for !fresh {
		c := p.pop()
		if c == nil {
			break
		}
		if time.Since(c.since) < freshTime || quiet(c.raw) {
			return c, nil
		}
		_ = c.raw.Close()
	}
	c, err := p.dial(ctx)
	if err != nil {
		<-p.slots
	}
	return c, err
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

func (p *pool) dial(ctx context.Context) (*conn, error) {
	raw, err := p.dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, raw: raw}
	if p.tls != nil {
		secure := tls.Client(raw, p.tls)
		ctx, cancel := context.WithTimeout(ctx, p.dialer.Timeout)
		err := secure.HandshakeContext(ctx)
		cancel()
		if err != nil {
			_ = raw.Close()
			return nil, err
		}
		c.Conn = secure
	}
	c.head = io.LimitedReader{R: c.Conn, N: math.MaxInt64}
	c.in = bufio.NewReaderSize(&c.head, readBuffer)
	return c, nil
}

// put gives a connection back: keep says that it is ready for another request.
func (p *pool) put(c *conn, keep bool) {
	if keep {
		c.kept, c.since = true, time.Now()
		keep = p.push(c)
	}
	if !keep {
		_ = c.raw.Close()
	}
	<-p.slots
}

func (p *pool) push(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.idle = append(p.idle, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTime, p.expire)
	}
	return true
}

// expire closes what has been idle for idleTime, and comes again while something is.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := 0
	for old < len(p.idle) && time.Since(p.idle[old].since) >= idleTime {
		_ = p.idle[old].raw.Close()
		old++
	}
	kept := copy(p.idle, p.idle[old:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	if kept == 0 || p.closed {
		p.sweep = nil
		return
	}
	p.sweep.Reset(idleTime - time.Since(p.idle[0].since))
}

// drop closes the idle connections.
func (p *pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.raw.Close()
	}
	clear(p.idle)
	p.idle = p.idle[:0]
}

// close closes the idle connections, and those in use as they come back.
func (p *pool) close() {
	p.drop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
}

// send writes a request: head and body in one system call, if there is no TLS. There each part would be a record and
// a write of its own, so that a body is copied.
func (c *conn) send(body *Body) error {
	c.parts = body.appendTo(append(c.parts[:0], c.out))
	defer clear(c.parts)
	if c.Conn != c.raw {
		for _, part := range c.parts[1:] {
			c.out = append(c.out, part...)
		}
		_, err := c.Write(c.out)
		if cap(c.out) > maxPooled {
			c.out = nil
		}
		return err
	}
	c.buffers = c.parts // which WriteTo takes from the front
	_, err := c.buffers.WriteTo(c.Conn)
	return err
}

// answer reads the head of the answer, after those of interim ones.
func (c *conn) answer() (*http.Response, error) {
	c.head.N = maxHead
	for range maxInterim {
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			if c.head.N <= 0 {
				return nil, fmt.Errorf("headers larger than %d bytes", maxHead)
			}
			return nil, err
		}
		if resp.StatusCode >= 200 {
			c.head.N = math.MaxInt64
			return resp, nil
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, errors.New("the server changed the protocol unasked")
		}
	}
	return nil, fmt.Errorf("more than %d interim answers", maxInterim)
}
