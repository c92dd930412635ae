// Package upstream is the HTTP side of an engine adapter: its connections, its request bodies, its
// event streams and the classes of its failures.
package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/engines"
)

// Defaults of Options.
const (
	DefaultDialTimeout   = 5 * time.Second
	DefaultHeaderTimeout = 5 * time.Minute // some servers answer with headers only after the prefill
	DefaultMaxConns      = 4096
)

const (
	// maxErrorBody is how much of an error's body is read, maxErrorTime for how long.
	maxErrorBody = 64 << 10
	maxErrorTime = 10 * time.Second

	mediaJSON = "application/json"
)

// Options say how to reach a server.
type Options struct {
	Name          string // in errors
	BaseURL       string // http or https, with the path that the endpoints are joined to
	APIKey        string // sent as a bearer token when set
	DialTimeout   time.Duration
	HeaderTimeout time.Duration // from the request being written to the response headers
	MaxConns      int           // open connections; a request beyond them waits for one, or for its context
}

// Client talks to one server over HTTP/1.1, without proxies, redirects or compression. It is safe for
// concurrent use.
type Client struct {
	name    string
	base    string // without a slash at the end
	root    string // base without a trailing /v1
	auth    string // the Authorization header, empty for none
	host    string // of the Host header
	pool    *pool
	timeout time.Duration // until the headers of an answer
	bodies  sync.Pool     // of *Body
	readers sync.Pool     // of *ssein.Reader
}

// Forward is what a request carries of the one that it is made for.
type Forward struct {
	ID      string            // sent as X-Request-Id unless Headers has that
	Headers map[string]string // those that belong to the connection or to this client are left out
}

// New checks o and makes a client. Nothing is dialled.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("engine %s: base URL: %w", o.Name, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("engine %s: base URL %s: want http(s)://host[:port][/path]", o.Name, u.Redacted())
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	if o.HeaderTimeout <= 0 {
		o.HeaderTimeout = DefaultHeaderTimeout
	}
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // an empty port is the scheme's
	for i := range len(u.Host) {
		if ch := u.Host[i]; ch <= ' ' || ch >= 0x7f {
			return nil, fmt.Errorf("engine %s: base URL %s: the host holds %q, want ASCII", o.Name, u.Redacted(), ch)
		}
	}
	c := &Client{name: o.Name, base: strings.TrimRight(u.String(), "/"), host: withoutZone(u.Host), timeout: o.HeaderTimeout, pool: newPool(u, o)}
	c.root = strings.TrimSuffix(c.base, "/v1")
	if o.APIKey != "" {
		if forwardable("X-Key", o.APIKey) == "" {
			return nil, fmt.Errorf("engine %s: the API key holds characters that a header cannot", o.Name)
		}
		c.auth = "Bearer " + o.APIKey
	}
	return c, nil
}

// withoutZone takes the zone off an IPv6 address: it means something on this machine only (RFC 6874).
func withoutZone(host string) string {
	open, end := strings.IndexByte(host, '%'), strings.LastIndexByte(host, ']')
	if open < 0 || end < open {
		return host
	}
	return host[:open] + host[end:]
}

// Close drops idle connections; running streams keep theirs.
func (c *Client) Close() { c.pool.close() }

// URL joins a path to the base URL.
func (c *Client) URL(path string) string { return c.base + path }

// RootURL joins a path to the server's root: the base URL without a trailing /v1, where engines put
// what is not part of the OpenAI interface.
func (c *Client) RootURL(path string) string { return c.root + path }

// Get asks for address and returns a body of a success, at most limit bytes of it.
func (c *Client) Get(ctx context.Context, address string, limit int64) ([]byte, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, c.Fail(engines.ClassRefused, "request", err)
	}
	return c.whole(ctx, &request{method: http.MethodGet, to: to}, limit)
}

// Post sends JSON to the address and returns the body of a success, at most limit bytes of it. It takes
// body over; to must not change while the client is used.
func (c *Client) Post(ctx context.Context, to *url.URL, body *Body, f Forward, limit int64) ([]byte, error) {
	defer c.release(body)
	return c.whole(ctx, &request{method: http.MethodPost, to: to, accept: mediaJSON, forward: f, body: body}, limit)
}

func (c *Client) whole(ctx context.Context, r *request, limit int64) ([]byte, error) {
	x, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(x.Body, limit+1))
	x.close(err == nil && int64(len(b)) <= limit)
	if err != nil {
		return nil, c.broke(ctx, "read the answer", err)
	}
	if int64(len(b)) > limit {
		return nil, c.Fail(engines.ClassProtocol, fmt.Sprintf("answer larger than %d bytes", limit), nil)
	}
	return b, nil
}

// do sends r and returns a 2xx answer; anything else is an error. There are no redirects.
func (c *Client) do(ctx context.Context, r *request) (*exchange, error) {
	x, err := c.roundTrip(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, c.canceled(ctx)
		}
		return nil, c.Fail(engines.ClassUnavailable, "no answer", err)
	}
	if x.StatusCode/100 == 2 {
		return x, nil
	}
	b, err := x.explanation()
	if err != nil && ctx.Err() != nil {
		return nil, c.canceled(ctx)
	}
	return nil, c.status(x.Response, b)
}

// explanation reads the body of an error and closes the exchange.
func (x *exchange) explanation() ([]byte, error) {
	_ = x.conn.SetReadDeadline(time.Now().Add(maxErrorTime)) // a closed connection tells by its read
	b, err := io.ReadAll(io.LimitReader(x.Body, maxErrorBody))
	x.close(err == nil && len(b) < maxErrorBody)
	return b, err
}

// canceled is not an *engines.Error: the caller's own context ended, so there is nothing to retry.
func (c *Client) canceled(ctx context.Context) error {
	return fmt.Errorf("engine %s: %w", c.name, context.Cause(ctx))
}

// broke is a failure after the response headers.
func (c *Client) broke(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return c.canceled(ctx)
	}
	return c.Fail(engines.ClassProtocol, doing, err)
}

// Fail makes an error of this engine.
func (c *Client) Fail(class engines.Class, message string, err error) *engines.Error {
	return &engines.Error{Class: class, Engine: c.name, Message: message, Err: err}
}
