package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

// TestReadBody reads bodies of all kinds of sizes, with their length told, not told, and told wrongly.
func TestReadBody(t *testing.T) {
	t.Parallel()
	const limit = 6 << 20
	for _, n := range []int{0, 1, 511, 4095, 4096, 4097, 65536, 1<<20 + 1, 5 << 20, limit} {
		text := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		for _, told := range []int64{int64(n), -1, 0, 100, limit} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(bytes.NewReader(text)))
			r.ContentLength = told
			got, err := httpapi.ReadBody(httptest.NewRecorder(), r, limit)
			if err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%d bytes, told %d: %d, %v", n, told, len(got), err)
			}
		}
	}
}

// TestBodyAhead announces much and sends little: no more memory is taken than for a large conversation.
func TestBodyAhead(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(strings.NewReader("{}")))
	r.ContentLength = 64 << 20
	got, err := httpapi.ReadBody(httptest.NewRecorder(), r, 64<<20)
	if err != nil || string(got) != "{}" || cap(got) > 4<<20 {
		t.Errorf("%q in %d bytes, %v", got, cap(got), err)
	}
}

// TestBodiesAreApart has many clients at once, whose requests stay theirs though bodies share memory.
func TestBodiesAreApart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]*surface.Request{}
	s := &stub{set: httpapi.Settings{MaxBody: 1 << 20, AnyHost: true}, refuse: fault.New(fault.NotFound, "none"), seen: func(c *httpapi.Call) {
		mu.Lock()
		defer mu.Unlock()
		got[c.Request.Model] = c.Request
	}}
	h := httpapi.New(t.Context(), s, httpapi.Surfaces{Chat: chat.Surface{}, Messages: messages.Surface{}}, store.NewMemory(store.Options{}), slog.New(slog.DiscardHandler))
	text := func(client, turn int) string { return strings.Repeat(fmt.Sprintf("%d.%d ", client, turn), 10+100*turn) }
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for turn := range 20 {
				path, more := "/v1/chat/completions", ""
				if turn%2 == 1 {
					path, more = "/v1/messages", `"max_tokens":1,`
				}
				body := fmt.Sprintf(`{"model":"%d.%d",%s"messages":[{"role":"user","content":"\n%s"},{"role":"user","content":%[4]q}]}`, client, turn, more, text(client, turn))
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	wg.Wait()
	for client := range 8 {
		for turn := range 20 {
			req := got[fmt.Sprintf("%d.%d", client, turn)]
			want := text(client, turn)
			if req == nil || len(req.Messages) != 2 || req.Messages[0].Parts[0].Text != "\n"+want || req.Messages[1].Parts[0].Text != want {
				t.Errorf("client %d, turn %d: not what was sent", client, turn)
			}
		}
	}
}

func BenchmarkReadBody(b *testing.B) {
	text := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("the river falls over a low wall, ", 7000) + `"}]}`)
	h := httpapi.New(b.Context(), &stub{set: httpapi.Settings{MaxBody: 1 << 20, AnyHost: true}, refuse: fault.New(fault.NotFound, "none")},
		httpapi.Surfaces{Chat: passing{}, Messages: messages.Surface{}}, store.NewMemory(store.Options{}), slog.New(slog.DiscardHandler))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(text)))
	}
}

// passing decodes nothing.
type passing struct{ chat.Surface }

func (passing) Decode([]byte, http.Header) (*surface.Request, error) {
	return &surface.Request{Request: &conv.Request{}}, nil
}
