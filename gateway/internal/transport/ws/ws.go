// Package ws is a WebSocket connection with one writer: messages in, whole messages out through a
// bounded queue, pings, deadlines and close codes. It knows no protocol above messages, so the framed
// surfaces and the Responses mode share it.
package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Close codes in use (RFC 6455 §7.4.1 and the IANA registry).
const (
	CloseNormal      = websocket.CloseNormalClosure
	CloseGoingAway   = websocket.CloseGoingAway
	CloseUnsupported = websocket.CloseUnsupportedData
	ClosePolicy      = websocket.ClosePolicyViolation
	CloseTooBig      = websocket.CloseMessageTooBig
	CloseInternal    = websocket.CloseInternalServerErr
	CloseSlow        = websocket.CloseTryAgainLater // 1013: the peer does not read
)

// Options of a connection. Zero values take the defaults beside them.
type Options struct {
	MaxMessage  int64         // bytes of one incoming message, unpacked; 32 MiB
	Queue       int           // bytes waiting for the peer before Send blocks; 64 KiB
	Stall       time.Duration // without progress this long, the connection is closed with 1013; 10 s
	PongWait    time.Duration // without a pong (or any message) this long, it is dead; 60 s
	CheckOrigin func(*http.Request) bool
	Compression bool
}

func (o Options) withDefaults() Options {
	if o.MaxMessage == 0 {
		o.MaxMessage = 32 << 20
	}
	if o.Queue == 0 {
		o.Queue = 64 << 10
	}
	if o.Stall == 0 {
		o.Stall = 10 * time.Second
	}
	if o.PongWait == 0 {
		o.PongWait = 60 * time.Second
	}
	return o
}

// Errors of a connection.
var (
	ErrClosed = errors.New("connection closed")
	ErrSlow   = errors.New("peer does not read")
	ErrBinary = errors.New("binary message")
)

// Conn is one connection. Read is called by one goroutine; the rest is safe for concurrent use. The
// goroutine that Accept starts writes everything, and ends when the connection does.
type Conn struct {
	conn *websocket.Conn
	opt  Options

	mu     sync.Mutex // guards the fields below
	queue  [][]byte   // whole messages
	spare  [][]byte   // buffers to use again
	queued int        // bytes of queue and of the message being written
	room   chan struct{}
	err    error // why the connection is over
	code   int   // close code to send, 0 when the peer is gone
	reason string

	wake   chan struct{} // the queue has something
	done   chan struct{} // closed when the connection is over
	unread chan struct{} // closed when Read gave its last error
	last   sync.Once
	writer sync.WaitGroup
}

// closeGrace is how long a peer has to take the rest of a message and the close frame behind it.
const closeGrace = 20 * time.Second

// Accept upgrades the request. On failure it has answered already.
func Accept(w http.ResponseWriter, r *http.Request, opt Options) (*Conn, error) {
	opt = opt.withDefaults()
	up := websocket.Upgrader{
		HandshakeTimeout:  opt.Stall,
		ReadBufferSize:    4 << 10,
		WriteBufferSize:   4 << 10,
		CheckOrigin:       opt.CheckOrigin,
		EnableCompression: opt.Compression,
	}
	conn, err := up.Upgrade(w, r, w.Header())
	if err != nil {
		return nil, fmt.Errorf("websocket upgrade: %w", err)
	}
	conn.SetReadLimit(opt.MaxMessage)
	c := &Conn{conn: conn, opt: opt, room: make(chan struct{}, 1), wake: make(chan struct{}, 1), done: make(chan struct{}), unread: make(chan struct{})}
	conn.SetPongHandler(func(string) error { return c.alive() })
	if err := c.alive(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.writer.Add(1)
	go c.pump()
	return c, nil
}

func (c *Conn) alive() error {
	return c.conn.SetReadDeadline(time.Now().Add(c.opt.PongWait))
}

// Done is closed when the connection is over.
func (c *Conn) Done() <-chan struct{} { return c.done }

// message reads a whole one. The connection's own limit counts bytes as they come, of which a compressed message has few:
// what it unpacks to is bounded here.
func (c *Conn) message() (kind int, data []byte, err error) {
	kind, r, err := c.conn.NextReader()
	if err != nil {
		return 0, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, c.opt.MaxMessage+1))
	if err == nil && int64(len(data)) > c.opt.MaxMessage {
		err = websocket.ErrReadLimit
	}
	return kind, data, err
}

// Read returns the next text message. ErrBinary tells of a binary one, after which Read may go on;
// every other error is final.
func (c *Conn) Read() ([]byte, error) {
	kind, data, err := c.message()
	if err != nil {
		if errors.Is(err, websocket.ErrReadLimit) {
			c.Close(CloseTooBig, "message too big")
		}
		c.end(fmt.Errorf("%w: %w", ErrClosed, err), 0, "")
		c.last.Do(func() { close(c.unread) })
		return nil, err
	}
	if err := c.alive(); err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, ErrBinary
	}
	return data, nil
}

// Send queues one message, a copy of the concatenated parts. It blocks while the queue is full; when
// the peer takes nothing for Options.Stall, the connection is closed with 1013 and ErrSlow returned.
// A message larger than the queue is taken when the queue is empty.
func (c *Conn) Send(ctx context.Context, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	for {
		c.mu.Lock()
		if c.err != nil {
			c.mu.Unlock()
			return c.err
		}
		if c.queued == 0 || c.queued+n <= c.opt.Queue {
			var buf []byte
			if k := len(c.spare); k > 0 {
				buf, c.spare = c.spare[k-1][:0], c.spare[:k-1]
			}
			for _, p := range parts {
				buf = append(buf, p...)
			}
			c.queue = append(c.queue, buf)
			c.queued += n
			c.mu.Unlock()
			notify(c.wake)
			return nil
		}
		c.mu.Unlock()
		if err := c.waitRoom(ctx); err != nil {
			return err
		}
	}
}

func (c *Conn) waitRoom(ctx context.Context) error {
	t := time.NewTimer(c.opt.Stall)
	defer t.Stop()
	select {
	case <-c.room:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		c.Close(CloseSlow, "peer does not read")
		return ErrSlow
	}
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Err tells why the connection is over, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end records the first reason and lets everything stop; the pump sends the close frame.
func (c *Conn) end(err error, code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err, c.code, c.reason = err, code, reason
	close(c.done)
}

// Drain waits until what was queued is written or the connection is over.
func (c *Conn) Drain(ctx context.Context) {
	for {
		c.mu.Lock()
		idle := c.queued == 0 || c.err != nil
		c.mu.Unlock()
		if idle || c.waitRoom(ctx) != nil {
			return
		}
	}
}

// Close ends the connection with a close frame. Queued messages are dropped (call Drain first to keep
// them), but one that is being written is finished, since a close frame cannot go inside it.
func (c *Conn) Close(code int, text string) {
	c.end(fmt.Errorf("%w: %d %s", ErrClosed, code, text), code, text)
}

// Wait returns when the connection is closed and its writer has ended.
func (c *Conn) Wait() { c.writer.Wait() }

func (c *Conn) pump() {
	defer c.writer.Done()
	defer func() { _ = c.conn.Close() }()
	ping := time.NewTicker(c.opt.PongWait * 9 / 10)
	defer ping.Stop()
	for {
		select {
		case <-c.done:
			c.sayGoodbye()
			return
		case <-ping.C:
			if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.opt.Stall)); err != nil {
				c.end(fmt.Errorf("%w: ping: %w", ErrClosed, err), 0, "")
			}
		case <-c.wake:
			if err := c.writeQueued(); err != nil {
				c.end(fmt.Errorf("%w: %w", ErrClosed, err), 0, "")
			}
		}
	}
}

func (c *Conn) writeQueued() error {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 || c.err != nil {
			c.mu.Unlock()
			return nil //nolint:nilerr // because c.err ended the connection already; this is about writing
		}
		msg := c.queue[0]
		c.queue = append(c.queue[:0], c.queue[1:]...)
		c.mu.Unlock()
		// Send notices a peer that stalls; this deadline only bounds how long the message and the close
		// frame behind it may take.
		if err := c.conn.SetWriteDeadline(time.Now().Add(c.opt.Stall + closeGrace)); err != nil {
			return err
		}
		if err := c.conn.WriteMessage(websocket.TextMessage, msg); err != nil {
			return err
		}
		c.mu.Lock()
		c.queued -= len(msg)
		if len(c.spare) < 8 && cap(msg) <= 16<<10 {
			c.spare = append(c.spare, msg)
		}
		c.mu.Unlock()
		notify(c.room)
	}
}

// sayGoodbye sends the close frame and gives the peer a second to answer it: closing at once could
// reset the connection and take the frame away from a peer that has not read it.
func (c *Conn) sayGoodbye() {
	if c.code == 0 {
		return
	}
	msg := websocket.FormatCloseMessage(c.code, c.reason)
	if err := c.conn.WriteControl(websocket.CloseMessage, msg, time.Now().Add(time.Second)); err != nil {
		return
	}
	if c.code == CloseTooBig {
		// Nobody reads the rest of that message, and closing with unread bytes resets the connection.
		raw := c.conn.NetConn()
		if raw.SetReadDeadline(time.Now().Add(time.Second)) == nil {
			_, _ = io.Copy(io.Discard, raw)
		}
		return
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-c.unread:
	case <-t.C:
	}
}
