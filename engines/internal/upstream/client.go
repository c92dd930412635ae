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

const (
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
	// readBuffer is what a connection takes in one read. A burst of tokens comes with one system call
	// and leaves in one delta; 4 KB, the default, are a dozen tokens.
	readBuffer = 16 << 10
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
	base    string   // without a slash at the end
	root    string   // base without a trailing /v1
	auth    []string // values of headers, made once: Authorization, nil for none,
	json    []string // and the two media types
	events  []string
	trans   *http.Transport
	bodies  sync.Pool // of *Body
	readers sync.Pool // of *ssein.Reader
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
	c := &Client{
		name: o.Name, base: strings.TrimRight(u.String(), "/"),
		json: []string{"application/json"}, events: []string{eventStream},
	}
	c.root = strings.TrimSuffix(c.base, "/v1")
	if o.APIKey != "" {
		c.auth = []string{"Bearer " + o.APIKey}
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
		ReadBufferSize:         readBuffer,
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

// Get asks for address and returns a body of a success, at most limit bytes of it.
func (c *Client) Get(ctx context.Context, address string, limit int64) ([]byte, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, c.Fail(engines.ClassRefused, "request", err)
	}
	body := c.Body()
	defer body.release()
	header := make(http.Header, 1)
	if c.auth != nil {
		header["Authorization"] = c.auth
	}
	return c.whole(ctx, request(ctx, http.MethodGet, to, header, body), body, limit)
}

// Post sends JSON to the address and returns the body of a success, at most limit bytes of it. It takes
// body over; to must not change while the client is used.
func (c *Client) Post(ctx context.Context, to *url.URL, body *Body, f Forward, limit int64) ([]byte, error) {
	defer body.release()
	return c.whole(ctx, request(ctx, http.MethodPost, to, c.header(f, c.json), body), body, limit)
}

func (c *Client) whole(ctx context.Context, req *http.Request, body *Body, limit int64) ([]byte, error) {
	resp, err := c.do(ctx, req, body)
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

// request makes what http.NewRequest does, of parts that are there already.
func request(ctx context.Context, method string, to *url.URL, header http.Header, body *Body) *http.Request {
	req := &http.Request{Method: method, URL: to, Host: to.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if len(body.Buf) > 0 {
		req.Body, req.GetBody, req.ContentLength = body.open(), body.reopen, int64(len(body.Buf))
	}
	return req.WithContext(body.traced(ctx))
}

// header makes a request's headers. They are the transport's until it has written them, which may be
// later than the answer, so they are not pooled.
func (c *Client) header(f Forward, accept []string) http.Header {
	const own = 4
	h := make(http.Header, own+len(f.Headers))
	values := make([]string, 0, 1+len(f.Headers))
	forward := func(key, value string) {
		if key = forwardable(key, value); key != "" {
			values = append(values, value)
			h[key] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	if f.ID != "" {
		forward("X-Request-Id", f.ID)
	}
	for k, v := range f.Headers {
		forward(k, v)
	}
	h["Content-Type"], h["Accept"] = c.json, accept
	if c.auth != nil {
		h["Authorization"] = c.auth
	}
	return h
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

// do sends req and returns a 2xx response; anything else is an error.
func (c *Client) do(ctx context.Context, req *http.Request, body *Body) (*http.Response, error) {
	resp, err := c.roundTrip(req, body)
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
func (c *Client) roundTrip(req *http.Request, body *Body) (*http.Response, error) {
	resp, err := c.trans.RoundTrip(req)
	if err == nil || !body.onKept() || req.Context().Err() != nil {
		return resp, err
	}
	if wait, ok := errors.AsType[net.Error](err); ok && wait.Timeout() {
		return resp, err
	}
	c.trans.CloseIdleConnections()
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
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
