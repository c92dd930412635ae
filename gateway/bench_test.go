package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/plughost"
	sf "github.com/weirgate/weir/gateway/internal/surface"
	chatsurface "github.com/weirgate/weir/gateway/internal/surface/chat"
	messagesurface "github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// counting drops frames and counts their bytes.
type counting struct{ frames, bytes int }

func (c *counting) Write(f transport.Frame) error {
	c.frames++
	c.bytes += len(f.Data)
	return nil
}

func (*counting) Flush() error { return nil }

// pooled is the built-in guest as one stream of the gateway sees it.
func pooled(tb testing.TB, config string) *plughost.Stream {
	tb.Helper()
	r, err := builtinPlugin(tb).Parser([]byte(config))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := r.Stream()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// BenchmarkDelta is what one delta of 8 bytes costs from the engine's text to the client's frame: the
// parser in Wasm with both stages, the assembler and the encoder.
func BenchmarkDelta(b *testing.B) {
	for _, s := range []struct {
		surface sf.Surface
		request string
	}{
		{chatsurface.Surface{}, chat().body("m", "hi", chat().tools("f"), streamed)},
		{messagesurface.Surface{}, messages().body("m", "hi", messages().tools("f"), streamed)},
	} {
		for _, c := range []struct{ name, before, delta string }{
			{"text", "So: ", "plain te"},
			{"reasoning", "<think>\n", "plain te"},
			{"arguments", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": \"", "plain te"},
			{"text with escapes", "So: ", "a \"b\"\n<c"},
		} {
			b.Run(s.surface.Name()+"/"+c.name, func(b *testing.B) {
				req, err := s.surface.Decode([]byte(s.request), nil)
				if err != nil {
					b.Fatal(err)
				}
				out := &counting{}
				enc := s.surface.Encode(req, sf.Info{ID: "x", Model: "m", Created: time.Unix(1, 0)}, out)
				a := assemble.New(assemble.Options{Tools: req.Tools, Choice: req.Choice}, enc)
				st, err := host.Open(pooled(b, `{"reasoning":"qwen3","tools":"hermes"}`), a, guest.Start{Tools: true, Thinking: guest.ThinkingOn}.Append(nil))
				if err != nil {
					b.Fatal(err)
				}
				feed := func(p []byte) {
					if err := st.Feed(p, nil, false); err != nil || st.Fault() != nil {
						b.Fatalf("%v, %v", err, st.Fault())
					}
				}
				feed([]byte(c.before))
				delta := []byte(c.delta)
				b.ReportAllocs()
				b.SetBytes(int64(len(delta)))
				for b.Loop() {
					feed(delta)
				}
				if out.frames < b.N {
					b.Errorf("%d frames for %d deltas", out.frames, b.N)
				}
			})
		}
	}
}

// nowhere is a client that reads at once and keeps nothing.
type nowhere struct {
	header http.Header
	status int
	writes int
}

func (n *nowhere) Header() http.Header { return n.header }

func (n *nowhere) WriteHeader(status int) { n.status = status }

func (n *nowhere) Write(b []byte) (int, error) {
	n.writes++
	return len(b), nil
}

func (*nowhere) Flush() {}

// BenchmarkTurn is a whole turn of the simulated engine without pace: thinking, 64 words, over SSE.
func BenchmarkTurn(b *testing.B) {
	w := start(b, options{})
	for _, s := range []surface{chat(), messages()} {
		for name, more := range map[string][]string{"streamed": {streamed, thinks}, "whole": {thinks}} {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				body := s.body("sim", "long 64", more...)
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, s.path, strings.NewReader(body))
					r.Host = "localhost"
					out := &nowhere{header: http.Header{}}
					w.gw.Handler().ServeHTTP(out, r)
					if out.status != http.StatusOK {
						b.Fatalf("status %d", out.status)
					}
				}
			})
		}
	}
}
