package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func gzipped(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func zstded(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out) // the frame does not say how long its content is
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := z.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// zstdedSized is a frame that says how long its content is.
func zstdedSized(tb testing.TB, b []byte) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(b, nil)
}

func TestEncodedBodies(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: `max_body = "1MiB"`})
	bomb := []byte(`{"model":"sim","max_tokens":9,"x":"` + strings.Repeat("a", 64<<20) + `"}`)
	gzBomb, zBomb, zSized := gzipped(t, bomb), zstded(t, bomb), zstdedSized(t, bomb)
	tooLarge := want{status: 413, chatType: "invalid_request_error", code: "request_too_large", messagesType: "request_too_large", text: "request too large: the limit is 1048576 bytes"}
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		good := []byte(s.body("sim", "say packed", streamed))
		for _, c := range []struct {
			name, encoding string
			body           []byte
			want           want // status 0: it is served
		}{
			{name: "none", body: good},
			{name: "identity", encoding: "identity", body: good},
			{name: "gzip", encoding: "gzip", body: gzipped(t, good)},
			{name: "gzip in capitals", encoding: " GZIP", body: gzipped(t, good)},
			{name: "zstd", encoding: "zstd", body: zstded(t, good)},
			{name: "zstd with a size", encoding: "zstd", body: zstdedSized(t, good)},
			{name: "gzip bomb", encoding: "gzip", body: gzBomb, want: tooLarge},
			{name: "zstd bomb", encoding: "zstd", body: zBomb, want: tooLarge},
			{name: "zstd bomb with a size", encoding: "zstd", body: zSized, want: tooLarge},
			{name: "unknown", encoding: "br", body: good, want: invalid("content-encoding", `content encoding "br" is not supported, use gzip, zstd or none`)},
			{name: "two", encoding: "gzip, gzip", body: good, want: invalid("content-encoding", "is not supported")},
			{name: "not gzip", encoding: "gzip", body: good, want: invalid("", "not valid gzip")},
			{name: "not zstd", encoding: "zstd", body: good, want: invalid("", "not valid zstd")},
			{name: "cut gzip", encoding: "gzip", body: gzipped(t, good)[:30], want: invalid("", "not valid gzip")},
			{name: "cut zstd", encoding: "zstd", body: zstded(t, good)[:30], want: invalid("", "not valid zstd")},
			{name: "empty gzip", encoding: "gzip", want: invalid("", "not valid gzip")},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := w.request(http.MethodPost, s.path, string(c.body))
				if c.encoding != "" {
					r.Header.Set("Content-Encoding", c.encoding)
				}
				if c.want.status != 0 {
					resp, b := w.do(r)
					c.want.check(t, s, s.refusal(t, resp.StatusCode, b))
					return
				}
				if a := s.read(t, newStream(t, w.send(r)).rest()); a.of("text") != "packed" {
					t.Errorf("got %+v", a)
				}
			})
		}
	})
}

// TestHugeBodies sends 100 MB, announced or in chunks, by hand: a client that writes it all before it
// reads must still get an answer.
func TestHugeBodies(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: `max_body = "1MiB"`})
	const size = 100 << 20
	onEach(t, func(t *testing.T, s surface) {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("chunked %v", chunked), func(t *testing.T) {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
					t.Fatal(err)
				}
				length := fmt.Sprintf("Content-Length: %d", size)
				if chunked {
					length = "Transfer-Encoding: chunked"
				}
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n\r\n", s.path, length)
				written := make(chan struct{})
				go func() {
					defer close(written)
					piece := strings.Repeat("a", 1<<20)
					if chunked {
						piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
					}
					for range size >> 20 {
						if _, err := io.WriteString(conn, piece); err != nil {
							return // the gateway has heard enough
						}
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				if got := s.refusal(t, resp.StatusCode, b); got.Status != http.StatusRequestEntityTooLarge || !strings.HasPrefix(got.Message, "request too large") {
					t.Errorf("got %+v", got)
				}
				if !resp.Close {
					t.Error("the connection is kept with half a body on it")
				}
				conn.Close()
				<-written
			})
		}
	})
}
