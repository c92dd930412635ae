package parser_test

import (
	"testing"

	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

func open(tb testing.TB, config string) host.Guest {
	tb.Helper()
	g, err := guesttest.Native(parser.New(), []byte(config))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestLaws(t *testing.T) {
	for _, f := range parsertest.Families() {
		t.Run(f.Name, func(t *testing.T) {
			guesttest.Run(t, func(tb testing.TB) host.Guest { return open(tb, f.Config) }, f.Cases)
		})
	}
}
