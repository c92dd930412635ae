package upstream

import (
	"errors"
	"io"
	"sync"
)

// maxPooled is the largest buffer kept for another request.
const maxPooled = 4 << 20

// Body is a request body in a buffer that is used again once the transport has let go of it.
type Body struct {
	Buf  []byte
	pool *sync.Pool
	mu   sync.Mutex
	refs int // guarded by mu: the owner and the readers that are not closed
}

// Body returns an empty body to append to. It goes to Post or Open, which take it over.
func (c *Client) Body() *Body {
	b, ok := c.pool.Get().(*Body)
	if !ok {
		b = &Body{pool: &c.pool}
	}
	b.Buf, b.refs = b.Buf[:0], 1
	return b
}

func (b *Body) open() io.ReadCloser {
	b.mu.Lock()
	b.refs++
	b.mu.Unlock()
	return &bodyReader{body: b}
}

func (b *Body) release() {
	b.mu.Lock()
	b.refs--
	last := b.refs == 0
	b.mu.Unlock()
	if last && cap(b.Buf) <= maxPooled {
		b.pool.Put(b)
	}
}

var errBodyClosed = errors.New("request body is closed")

// bodyReader gives its share of the body back when the transport closes it, which http.RoundTripper
// promises to do, possibly after it returned and while another goroutine still reads.
type bodyReader struct {
	mu   sync.Mutex // guards body and off
	body *Body      // nil once closed
	off  int
}

func (r *bodyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil {
		return 0, errBodyClosed
	}
	n := copy(p, r.body.Buf[r.off:])
	r.off += n
	if r.off == len(r.body.Buf) {
		return n, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error {
	r.mu.Lock()
	b := r.body
	r.body = nil
	r.mu.Unlock()
	if b != nil {
		b.release()
	}
	return nil
}
