package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// earlyAnswer is how long an answer is waited for after the server stopped to take the request: it may
// have refused a long body before its end.
const earlyAnswer = 100 * time.Millisecond

// request is what goes out.
type request struct {
	method  string
	to      *url.URL
	accept  string
	forward Forward
	body    *Body // nil for none
}

// exchange is an answered request: the connection is its own until close.
type exchange struct {
	*http.Response // whose body is never closed: net/http would read it to its end
	pool           *pool
	conn           *conn
	unwatch        func() bool // of the caller's context
}

// close gives the connection back; whole says that the body was read to its end.
func (x *exchange) close(whole bool) {
	alive := x.unwatch()
	x.pool.put(x.conn, alive && whole && !x.Close && x.conn.in.Buffered() == 0)
}

// roundTrip sends r on a kept connection or a new one. A kept one may have been closed by the server at
// that very moment, which says nothing of the server: then the request goes out once more on a new one.
func (c *Client) roundTrip(ctx context.Context, r *request) (*exchange, error) {
	for fresh := false; ; fresh = true {
		conn, err := c.pool.get(ctx, fresh)
		if err != nil {
			return nil, err
		}
		x, err := c.try(ctx, conn, r)
		if err == nil {
			return x, nil
		}
		stale := conn.kept && conn.head.N == maxHead && !timedOut(err)
		c.pool.put(conn, false)
		if !stale || ctx.Err() != nil {
			return nil, err
		}
		c.pool.drop()
	}
}

func timedOut(err error) bool {
	wait, ok := errors.AsType[net.Error](err)
	return ok && wait.Timeout()
}

// try makes one request on conn. The end of ctx closes the connection at once, now and later.
func (c *Client) try(ctx context.Context, conn *conn, r *request) (*exchange, error) {
	x := &exchange{pool: c.pool, conn: conn}
	x.unwatch = context.AfterFunc(ctx, func() { _ = conn.raw.Close() })
	err := c.ask(x, r)
	if err != nil {
		x.unwatch()
		return nil, err
	}
	return x, nil
}

func (c *Client) ask(x *exchange, r *request) (err error) {
	conn := x.conn
	conn.head.N = maxHead
	conn.out = c.appendHead(conn.out[:0], r)
	if err := conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if failed := conn.send(r.body); failed != nil {
		_ = conn.SetReadDeadline(time.Now().Add(earlyAnswer))                                    // without it the read ends no later
		if x.Response, err = conn.answer(); err != nil || x.StatusCode < http.StatusBadRequest { //nolint:bodyclose // see exchange
			return failed
		}
		x.Close = true
		return nil
	}
	if x.Response, err = conn.answer(); err != nil { //nolint:bodyclose // see exchange
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// appendHead appends the request line and the headers. What Forward says of a header goes before our own.
func (c *Client) appendHead(b []byte, r *request) []byte {
	b = append(append(append(b, r.method...), ' '), r.to.RequestURI()...)
	b = appendHeader(append(b, " HTTP/1.1\r\n"...), "Host", c.host)
	id, agent := r.forward.ID, "weir"
	for key, value := range r.forward.Headers {
		switch key = forwardable(key, value); key {
		case "":
			continue
		case "X-Request-Id":
			id = ""
		case "User-Agent":
			agent = ""
		}
		b = appendHeader(b, key, value)
	}
	if id != "" && forwardable("X-Request-Id", id) != "" {
		b = appendHeader(b, "X-Request-Id", id)
	}
	if agent != "" {
		b = appendHeader(b, "User-Agent", agent)
	}
	if c.auth != "" {
		b = appendHeader(b, "Authorization", c.auth)
	}
	if r.accept != "" {
		b = appendHeader(b, "Accept", r.accept)
	}
	if n := r.body.length(); n > 0 {
		b = appendHeader(b, "Content-Type", mediaJSON)
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(n), 10), "\r\n"...)
	}
	return append(b, "\r\n"...)
}

func appendHeader(b []byte, key, value string) []byte {
	b = append(append(b, key...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

// forwardable is the canonical form of key. It is empty for headers that belong to the connection or
// to this client, and such as HTTP does not allow.
func forwardable(key, value string) string {
	canonical := textproto.CanonicalMIMEHeaderKey(key)
	switch canonical {
	case "", "Authorization", "Connection", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Accept",
		"Accept-Encoding", "Host", "Te", "Trailer", "Upgrade", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Expect", "Cookie":
		return ""
	}
	for i := range len(key) {
		if c := key[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return ""
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return ""
		}
	}
	return canonical
}
