package upstream

// maxPooled is the largest buffer kept for another request.
const maxPooled = 4 << 20

// Body is a request body in a buffer that is used again.
type Body struct {
	Buf  []byte
	lent [][]byte // stand behind the first at bytes of Buf
	at   int
	size int // of lent
}

// Lend puts a text behind what is in Buf, to be written from where its pieces are: copying a long prompt costs half
// of what writing it does. What is appended to Buf later comes after it. A body takes one text, which must not change
// before Post or Open has returned.
func (b *Body) Lend(text ...[]byte) {
	b.lent, b.at, b.size = text, len(b.Buf), 0
	for _, piece := range text {
		b.size += len(piece)
	}
}

// length is that of the body in bytes; no body has 0.
func (b *Body) length() int {
	if b == nil {
		return 0
	}
	return len(b.Buf) + b.size
}

// appendTo appends the pieces of the body.
func (b *Body) appendTo(parts [][]byte) [][]byte {
	switch {
	case b == nil:
		return parts
	case b.size == 0:
		return append(parts, b.Buf)
	}
	parts = append(append(parts, b.Buf[:b.at]), b.lent...)
	return append(parts, b.Buf[b.at:])
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
	*b = Body{Buf: b.Buf[:0]}
	if cap(b.Buf) <= maxPooled {
		c.bodies.Put(b)
	}
}
