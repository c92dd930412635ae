package sandbox_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	"github.com/weirgate/weir/plugins/builtin"
)

const hermes = `{"reasoning":"qwen3","tools":"hermes"}`

func prepare(tb testing.TB, wasm []byte) []byte {
	tb.Helper()
	out, _, err := sandbox.Prepare(wasm, sandbox.DefaultLimits())
	must(tb, err)
	return out
}

// TestBuiltin feeds the built-in guest as it is and with its meters.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	wasm := builtin.Wasm()
	plain := instance(t, engine(t), wasm)
	metered := instance(t, engine(t), prepare(t, wasm))
	answer := "<think>\nThe river falls over a low wall, so\n</think>\n\nSo: <b>plain</b> text with é and \xff.\n" +
		"<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"a</tool_call>.md\", \"n\": [1, -2.5e3, null]}}\n</tool_call>\n" +
		strings.Repeat("more text < here ", 40)
	a, b := open(t, plain, hermes), open(t, metered, hermes)
	for at, step := 0, 1; at < len(answer); step = step%11 + 1 {
		piece := answer[at:min(at+step, len(answer))]
		at += len(piece)
		must(t, a.push(piece))
		must(t, b.push(piece))
		if d := metered.depth.Get(); d != 0 {
			t.Fatalf("depth is %d between calls", d)
		}
	}
	if !bytes.Equal(a.records, b.records) {
		t.Error("the records differ")
	}
	if !bytes.Equal(memory(plain), memory(metered)) {
		t.Error("the memories differ")
	}
}

func memory(g *guest) []byte {
	b, _ := g.Memory().Read(0, g.Memory().Size())
	return b
}
