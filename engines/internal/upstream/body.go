package upstream

// maxPooled is the largest buffer kept for another request.
const maxPooled = 4 << 20

// Body is a request body in a buffer that is used again.
type Body struct {
	Buf  []byte
	lent []byte // stands behind the first at bytes of Buf
	at   int
}

// Lend puts text behind what is in Buf, to be written from where it is: copying a long prompt costs half of what
// writing it does. What is appended to Buf later comes after it. A body takes one text, which must not change before
// Post or Open has returned.
func (b *Body) Lend(text []byte) { b.lent, b.at = text, len(b.Buf) }

// size is the length in bytes; that of no body is 0.
func (b *Body) size() int {
	if b == nil {
		return 0
	}
	return len(b.Buf) + len(b.lent)
}

// Body returns an empty body to append to. It goes to Post or Open, which take it over.
func (c *Client) Body() *Body {
	b, ok := c.bodies.Get().(*Body)
	if !ok {
		return &Body{}
	}
	return b
}

// release ends the use of a body, once the request was written or failed.
func (c *Client) release(b *Body) {
	b.Buf, b.lent, b.at = b.Buf[:0], nil, 0
	if cap(b.Buf) <= maxPooled {
		c.bodies.Put(b)
	}
}
