package plughost_test

import (
	"os"

	"github.com/weirgate/weir/plugins/builtin"
)

func zzWasm() []byte {
	if f := os.Getenv("WEIR_WASM"); f != "" {
		b, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		return b
	}
	return builtin.Wasm()
}
