// Package upstream is the HTTP side of an engine adapter: its connections, its request bodies, its
// event streams and the classes of its failures.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
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

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

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
	name  string
	base  string // without a slash at the end
	root  string // base without a trailing /v1
	auth  string
	trans *http.Transport
	pool  sync.Pool // of *Body
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
	c := &Client{name: o.Name, base: strings.TrimRight(u.String(), "/")}
	c.root = strings.TrimSuffix(c.base, "/v1")
	if o.APIKey != "" {
		c.auth = "Bearer " + o.APIKey
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	c.trans = &http.Transport{
		DialContext:            (&net.Dialer{Timeout: o.DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    o.DialTimeout,
		ResponseHeaderTimeout:  o.HeaderTimeout,
		MaxConnsPerHost:        o.MaxConns,
		MaxIdleConns:           o.MaxConns,
		MaxIdleConnsPerHost:    o.MaxConns,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              &protocols,
	}
	return c, nil
}

// Close drops idle connections; running streams keep theirs.
func (c *Client) Close() { c.trans.CloseIdleConnections() }

// URL joins a path to the base URL.
func (c *Client) URL(path string) string { return c.base + path }

// RootURL joins a path to the server's root: the base URL without a trailing /v1, where engines put
// what is not part of the OpenAI interface.
func (c *Client) RootURL(path string) string { return c.root + path }

// Get asks for url and returns a body of a success, at most limit bytes of it.
func (c *Client) Get(ctx context.Context, url string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, c.Fail(engines.ClassRefused, "request", err)
	}
	return c.whole(ctx, req, limit)
}

// Post sends JSON to url and returns the body of a success, at most limit bytes of it. It takes body over.
func (c *Client) Post(ctx context.Context, url string, body *Body, headers map[string]string, limit int64) ([]byte, error) {
	defer body.release()
	req, err := c.request(ctx, url, body, headers, "application/json")
	if err != nil {
		return nil, err
	}
	return c.whole(ctx, req, limit)
}

func (c *Client) whole(ctx context.Context, req *http.Request, limit int64) ([]byte, error) {
	resp, err := c.do(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, c.broke(ctx, "read the answer", err)
	}
	if int64(len(b)) > limit {
		return nil, c.Fail(engines.ClassProtocol, fmt.Sprintf("answer larger than %d bytes", limit), nil)
	}
	return b, nil
}

func (c *Client) request(ctx context.Context, url string, body *Body, headers map[string]string, accept string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body.open())
	if err != nil {
		return nil, c.Fail(engines.ClassRefused, "request", err)
	}
	req.ContentLength = int64(len(body.Buf))
	req.GetBody = func() (io.ReadCloser, error) { return body.open(), nil }
	for k, v := range headers {
		if forwardable(k, v) {
			req.Header.Set(k, v)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	return req, nil
}

// forwardable keeps out headers that belong to the connection or to this client, and such as HTTP
// does not allow.
func forwardable(key, value string) bool {
	switch textproto.CanonicalMIMEHeaderKey(key) {
	case "", "Authorization", "Connection", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Accept",
		"Accept-Encoding", "Host", "Te", "Trailer", "Upgrade", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Expect", "Cookie":
		return false
	}
	for i := range len(key) {
		if c := key[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// do sends req and returns a 2xx response; anything else is an error.
func (c *Client) do(ctx context.Context, req *http.Request) (*http.Response, error) {
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	resp, err := c.roundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, c.canceled(ctx)
		}
		return nil, c.Fail(engines.ClassUnavailable, "no answer", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return nil, c.canceled(ctx)
	}
	return nil, c.status(resp, b)
}

// roundTrip sends req on a kept connection or a new one. A kept one may have been closed by the server
// at that very moment, which says nothing of the server: then the request goes out once more on a new
// one. It uses the transport rather than a Client: no redirects, no cookies, no URLs in errors.
func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {
	kept := false
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { kept = i.Reused }}
	ctx := httptrace.WithClientTrace(req.Context(), trace)
	req = req.WithContext(ctx)
	resp, err := c.trans.RoundTrip(req)
	var wait net.Error
	if err == nil || !kept || ctx.Err() != nil || errors.As(err, &wait) && wait.Timeout() {
		return resp, err
	}
	c.trans.CloseIdleConnections()
	again := req.Clone(ctx)
	if req.GetBody != nil {
		body, berr := req.GetBody()
		if berr != nil {
			return nil, berr
		}
		again.Body = body
	}
	return c.trans.RoundTrip(again)
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
