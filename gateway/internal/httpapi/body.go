package httpapi

import (
	"compress/gzip"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/weirgate/weir/gateway/internal/fault"
)

// maxWindow is what a zstd frame may make its decoder hold, whatever the limit: encoders write the window
// of their level also for a small body. Every decoder should take 8 MiB (RFC 8878, 3.1.1.1.2).
const maxWindow = 8 << 20

// bodyTimeout is how long a body may take, as long as clients wait for headers in the worst case.
const bodyTimeout = 5 * time.Minute

// Memory for one body, in bytes.
const (
	minBody = 4 << 10
	// maxAhead is the most that is taken on the word of a header alone, and that is kept for another body.
	maxAhead = 4 << 20
)

// withBody reads a request's body and calls use with it. Nothing may refer to the body when use has returned.
func (h *Handler) withBody(w http.ResponseWriter, r *http.Request, limit int64, use func(body []byte) error) error {
	buf, _ := h.bodies.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	body, err := readBody(w, r, limit, (*buf)[:0])
	if err == nil {
		err = use(body)
	}
	if cap(body) > 0 && cap(body) <= maxAhead {
		*buf = body
		h.bodies.Put(buf)
	}
	return err
}

// readBody reads and decompresses a request body into buf, which may move. The limit counts what comes out of
// the decompressor too, so that a small bomb cannot fill memory.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, buf []byte) ([]byte, error) {
	// A deadline on the connection bounds how slowly a body may trickle in; it is taken off again for the
	// stream that follows. Writers that have none (tests) say so and are not bounded.
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	tooLarge := fault.New(fault.TooLarge, "request too large: the limit is %d bytes", limit)
	if r.ContentLength > limit {
		if r.Header.Get("Expect") == "" {
			// Whoever reads beyond a limit has the server wait a moment before it closes the connection: at once, the
			// client would lose the answer to the reset that its unread bytes cause.
			_, _ = http.MaxBytesReader(w, r.Body, 0).Read(make([]byte, 1))
		}
		return buf, tooLarge
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, limit))
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	size := r.ContentLength
	switch encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return buf, badEncoding(err, encoding, tooLarge)
		}
		body, size = z, -1
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return buf, badEncoding(err, encoding, tooLarge)
		}
		defer z.Close()
		body, size = z, -1
	default:
		return buf, fault.At(fault.Invalid, "content-encoding", "content encoding %s is not supported, use gzip, zstd or none", printable(encoding))
	}
	buf, err := readAll(io.LimitReader(body, limit+1), buf, size)
	if err != nil {
		return buf, badEncoding(err, encoding, tooLarge)
	}
	if int64(len(buf)) > limit {
		return buf, tooLarge
	}
	return buf, nil
}

// readAll reads r to its end into buf. size is how much that will be, as far as somebody said so.
func readAll(r io.Reader, buf []byte, size int64) ([]byte, error) {
	// One byte more, so that the end shows without a move; and a power of two, so that bodies that are a
	// little longer each time find room in what an earlier one left.
	if want := min(size+1, maxAhead); want > int64(cap(buf)) {
		buf = make([]byte, 0, max(minBody, 1<<bits.Len64(uint64(want-1))))
	}
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(minBody, cap(buf)))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// badEncoding tells a body over the limit from one that broke off or does not decompress.
func badEncoding(err error, encoding string, tooLarge *fault.Error) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return tooLarge
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fault.Wrap(fault.Invalid, err, "the request body needs a zstd window of more than %d bytes", maxWindow)
	}
	if encoding == "" || encoding == "identity" {
		return fault.Wrap(fault.Invalid, err, "the request body broke off")
	}
	return fault.Wrap(fault.Invalid, err, "the request body is not valid %s", encoding)
}
