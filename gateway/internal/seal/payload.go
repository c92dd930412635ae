package seal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"sync"
)

// Forms of a payload's body.
const (
	formPlain    = 0
	formDeflated = 1
)

const (
	// deflateOver is the size of a text from which on deflating it is worth the time.
	deflateOver = 1 << 10
	// level is half way: the usual one, 6, takes nearly twice the time for seals that are 4 % shorter.
	level = 4
	// keptBuffer is the largest buffer that is kept for the next text.
	keptBuffer = 256 << 10
)

// deflater makes payloads. It is used again, since its tables are much larger than a text.
//
// A seal's length tells how well its text deflates. Who has the seal to measure is the tenant whose conversation it is
// of, and all that it tells of is that conversation.
type deflater struct {
	out bytes.Buffer
	w   *flate.Writer
}

func newDeflater() any {
	// The error is of an unknown level.
	w, _ := flate.NewWriter(nil, level)
	return &deflater{w: w}
}

// pack returns the payload of a text, which is valid until release.
func (d *deflater) pack(family string, text []byte) []byte {
	if len(text) > deflateOver {
		d.begin(formDeflated, family, len(text))
		head := d.out.Len()
		if d.deflate(text) == nil && d.out.Len()-head < len(text) {
			return d.out.Bytes()
		}
	}
	d.begin(formPlain, family, len(text))
	d.out.Write(text)
	return d.out.Bytes()
}

func (d *deflater) begin(form byte, family string, size int) {
	var varint [binary.MaxVarintLen64]byte
	d.out.Reset()
	d.out.WriteByte(form)
	d.out.Write(varint[:binary.PutUvarint(varint[:], uint64(len(family)))])
	d.out.WriteString(family)
	d.out.Write(varint[:binary.PutUvarint(varint[:], uint64(size))])
}

func (d *deflater) deflate(text []byte) error {
	d.w.Reset(&d.out)
	if _, err := d.w.Write(text); err != nil {
		return err
	}
	return d.w.Close()
}

func (d *deflater) release(pool *sync.Pool) {
	if d.out.Cap() <= keptBuffer {
		pool.Put(d)
	}
}

// unframe takes a payload apart. A size over MaxText is not ok.
func unframe(payload []byte) (form byte, family string, size int, body []byte, ok bool) {
	if len(payload) == 0 {
		return 0, "", 0, nil, false
	}
	form, body = payload[0], payload[1:]
	n, w := binary.Uvarint(body)
	if w <= 0 || n > uint64(len(body)-w) {
		return 0, "", 0, nil, false
	}
	family, body = string(body[w:w+int(n)]), body[w+int(n):]
	n, w = binary.Uvarint(body)
	if w <= 0 || n > MaxText {
		return 0, "", 0, nil, false
	}
	return form, family, int(n), body[w:], true
}

// inflater reads deflated bodies. It is used again, as a deflater is.
type inflater struct {
	in bytes.Reader
	r  io.ReadCloser // of in
}

func newInflater() any {
	f := &inflater{}
	f.r = flate.NewReader(&f.in)
	return f
}

// inflate returns the text of a body that inflates to size bytes, no more and no less.
func (f *inflater) inflate(body []byte, size int) (string, bool) {
	f.in.Reset(body)
	defer f.in.Reset(nil)
	if f.r.(flate.Resetter).Reset(&f.in, nil) != nil {
		return "", false
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(f.r, text); err != nil {
		return "", false
	}
	var more [1]byte
	if n, err := f.r.Read(more[:]); n != 0 || err != io.EOF { //nolint:errorlint // a flate reader returns it as it is
		return "", false
	}
	return string(text), true
}
