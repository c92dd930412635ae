package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
)

// FuzzFrameKind sends anything as a message of a socket of responses: it has a type, or a fault says what it lacks.
func FuzzFrameKind(f *testing.F) {
	for _, s := range []string{
		`{"type":"response.create","model":"m"}`, `{"model":"m","type":"response.interrupt"}`, `{"type":5}`, `{"a":{}}`, `[]`, ``, `{"type":"\u00e9"}`, `{"a":[1,{"type":"x"}],"type":"y"`, "{\"type\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, err := httpapi.FrameKind(data)
		var e *fault.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != fault.Invalid || e.Public == "" || kind != "") {
			t.Errorf("got %q, %v", kind, err)
		}
	})
}

// FuzzFrame sends anything as a frame of a socket. Whatever it is, there is an id to answer with.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"type":"request","id":"a","body":{}}`, `{"type":"cancel","id":1}`, `{"id":"\u0022","type":"request","body":{"model":"m"}}`,
		`{"id":null}`, `[]`, ``, `{"type":5}`, `{"id":1e999,"type":"cancel"}`, "{\"id\":\"\xff\",\"type\":\"cancel\"}", `{"id":"a","id":2,"type":"cancel"}`, `{"type":"request","id":"x","body":{]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, id, body, err := httpapi.ParseFrame(data)
		if !json.Valid([]byte(id)) || !utf8.ValidString(id) || len(id) > 256 || id == "" {
			t.Errorf("id %q", id)
		}
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.Invalid || e.Public == "" {
				t.Errorf("got %v", err)
			}
			return
		}
		if kind != "request" && kind != "cancel" || id == "null" {
			t.Errorf("kind %q, id %s", kind, id)
		}
		if kind == "request" && (len(body) == 0 || body[0] != '{') {
			t.Errorf("body %q", body)
		}
	})
}

// FuzzBody sends anything under each encoding: what comes out is never more than the limit, and what goes
// wrong is the client's fault.
func FuzzBody(f *testing.F) {
	const limit = 4 << 10
	text := bytes.Repeat([]byte("body "), 100)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	zs, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer zs.Close()
	f.Add("", text)
	f.Add("gzip", packed.Bytes())
	f.Add("zstd", zs.EncodeAll(text, nil))
	f.Add("zstd", zs.EncodeAll(make([]byte, 1<<20), nil))
	f.Add("gzip", append(packed.Bytes(), packed.Bytes()...))
	f.Add("br", text)
	f.Fuzz(func(t *testing.T, encoding string, data []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(data))
		r.Header["Content-Encoding"] = []string{encoding}
		b, err := httpapi.ReadBody(httptest.NewRecorder(), r, limit)
		if err == nil {
			if len(b) > limit {
				t.Errorf("%d bytes, the limit is %d", len(b), limit)
			}
			return
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Invalid && e.Kind != fault.TooLarge {
			t.Errorf("got %v", err)
		}
	})
}

// TestCompressedSmall decompresses small bodies under a small limit: what a format's window may grow to is
// not what the body is.
func TestCompressedSmall(t *testing.T) {
	t.Parallel()
	text := []byte(`{"model":"m"}`)
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBestCompression} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(level))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil { // after which the frame cannot say how long it is
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", &packed)
		r.Header.Set("Content-Encoding", "zstd")
		b, err := httpapi.ReadBody(httptest.NewRecorder(), r, 1<<10)
		if err != nil || !bytes.Equal(b, text) {
			t.Errorf("level %v: got %q, %v", level, b, err)
		}
	}
}
