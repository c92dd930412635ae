package gateway_test

import (
	"testing"

	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/plugins/builtin"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// builtinPlugin loads the built-in guest for one test.
func builtinPlugin(tb testing.TB) *plughost.Plugin {
	tb.Helper()
	if err := once.warm(); err != nil {
		tb.Fatal(err)
	}
	h, err := plughost.New(plughost.Options{CacheDir: once.cache})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := h.Load(tb.Context(), "builtin", builtin.Wasm(), "built in")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Retire)
	return p
}

// builtinParser is the built-in guest with one configuration.
func builtinParser(tb testing.TB, config string) host.Guest {
	tb.Helper()
	r, err := builtinPlugin(tb).Parser([]byte(config))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestWasmLaws holds the built-in parsers to every law through the committed module and the Wasm host.
func TestWasmLaws(t *testing.T) {
	t.Parallel()
	p := builtinPlugin(t)
	for _, f := range parsertest.Families() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r, err := p.Parser([]byte(f.Config))
			if err != nil {
				t.Fatal(err)
			}
			guesttest.Run(t, func(testing.TB) host.Guest { return r }, f.Cases)
		})
	}
}
