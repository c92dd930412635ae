package upstream

// maxPooled is the largest buffer kept for another request.
const maxPooled = 4 << 20

// Body is a request body in a buffer that is used again.
type Body struct{ Buf []byte }

// Body returns an empty body to append to. It goes to Post or Open, which take it over.
func (c *Client) Body() *Body {
	b, ok := c.bodies.Get().(*Body)
	if !ok {
		return &Body{}
	}
	b.Buf = b.Buf[:0]
	return b
}

// release ends the use of a body, once the request was written or failed.
func (c *Client) release(b *Body) {
	if cap(b.Buf) <= maxPooled {
		c.bodies.Put(b)
	}
}
