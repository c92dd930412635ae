package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
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

// readBody reads and decompresses a request body. The limit counts what comes out of the decompressor
// too, so that a small bomb cannot fill memory.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// A deadline on the connection bounds how slowly a body may trickle in; it is taken off again for the
	// stream that follows. Writers that have none (tests) say so and are not bounded.
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	tooLarge := fault.New(fault.TooLarge, "request too large: the limit is %d bytes", limit)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, limit))
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	size := r.ContentLength
	switch encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, badEncoding(err, encoding, tooLarge)
		}
		body, size = z, -1
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, badEncoding(err, encoding, tooLarge)
		}
		defer z.Close()
		body, size = z, -1
	default:
		return nil, fault.At(fault.Invalid, "content-encoding", "content encoding %s is not supported, use gzip, zstd or none", printable(encoding))
	}
	var buf bytes.Buffer
	if size > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, badEncoding(err, encoding, tooLarge)
	}
	if n > limit {
		return nil, tooLarge
	}
	return buf.Bytes(), nil
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
