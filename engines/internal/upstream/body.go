package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http/httptrace"
	"sync"
)

// maxPooled is the largest buffer kept for another request.
const maxPooled = 4 << 20

// Body is a request body in a buffer that is used again once the transport has let go of it.
//
// The transport gets a plain bytes.Reader: it knows that one to be in memory, and sends it with the
// headers in one write. Such a reader does not tell when it is done with, so a trace does: the buffer is
// used again where the request got one connection and was written to it once. After a retry it is left
// to the garbage collector.
type Body struct {
	Buf    []byte
	pool   *sync.Pool
	reader bytes.Reader
	closer io.ReadCloser // reader
	trace  httptrace.ClientTrace
	reopen func() (io.ReadCloser, error)

	mu     sync.Mutex
	held   bool // guarded by mu: the owner did not release it
	reread bool // guarded by mu: it was opened again
	kept   bool // guarded by mu: the last connection had served before
	conns  int  // guarded by mu: connections that the request got
	writes int  // guarded by mu: how often it was written, or failed to be
}

// Body returns an empty body to append to. It goes to Post or Open, which take it over.
func (c *Client) Body() *Body {
	b, ok := c.bodies.Get().(*Body)
	if !ok {
		b = &Body{pool: &c.bodies}
		b.closer, b.reopen = io.NopCloser(&b.reader), b.again
		b.trace = httptrace.ClientTrace{GotConn: b.gotConn, WroteRequest: b.wrote}
	}
	b.Buf, b.held, b.reread, b.kept, b.conns, b.writes = b.Buf[:0], true, false, false, 0, 0
	return b
}

// open is the reader for the first try.
func (b *Body) open() io.ReadCloser {
	b.reader.Reset(b.Buf)
	return b.closer
}

// again is a reader for another try, while the transport may still hold the first.
func (b *Body) again() (io.ReadCloser, error) {
	b.mu.Lock()
	b.reread = true
	b.mu.Unlock()
	return io.NopCloser(bytes.NewReader(b.Buf)), nil
}

// traced is the context of the request. A trace that the caller's context has is composed with ours,
// which changes ours for good, so that one is not the pooled one.
func (b *Body) traced(ctx context.Context) context.Context {
	trace := &b.trace
	if httptrace.ContextClientTrace(ctx) != nil {
		trace = &httptrace.ClientTrace{GotConn: b.gotConn, WroteRequest: b.wrote}
	}
	return httptrace.WithClientTrace(ctx, trace)
}

func (b *Body) gotConn(i httptrace.GotConnInfo) {
	b.mu.Lock()
	b.conns++
	b.kept = i.Reused
	b.mu.Unlock()
}

func (b *Body) wrote(httptrace.WroteRequestInfo) {
	b.mu.Lock()
	b.writes++
	free := b.free()
	b.mu.Unlock()
	b.put(free)
}

// onKept reports whether the request went out on a connection that had served before.
func (b *Body) onKept() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept
}

// release ends the owner's share, once its RoundTrip has returned.
func (b *Body) release() {
	b.mu.Lock()
	b.held = false
	free := b.free()
	b.mu.Unlock()
	b.put(free)
}

// free is asked after each change; it becomes true once.
func (b *Body) free() bool { return !b.held && !b.reread && b.conns <= 1 && b.conns == b.writes }

func (b *Body) put(free bool) {
	if free && cap(b.Buf) <= maxPooled {
		b.pool.Put(b)
	}
}
