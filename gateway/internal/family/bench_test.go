package family_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/outline"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// long is an agent's conversation of 200 KB.
func long() *conv.Request {
	req := request(system(strings.Repeat("Follow the rules of the house. ", 300)))
	for range 20 {
		req.Tools = append(req.Tools, stock)
	}
	args := `{"path": "/srv/app/main.go", "old": "` + strings.Repeat(`x := 1\n`, 60) + `"}`
	for range 60 {
		req.Messages = append(req.Messages, user("Go on."), answer(think(strings.Repeat("so it is ", 50)), text("Next."), call("a", "edit", args)), tool("a", strings.Repeat("output line\n", 160)))
	}
	return req
}

// BenchmarkRender is the prompt of a long conversation, beside its outline. Of families that think all reasoning
// is kept.
func BenchmarkRender(b *testing.B) {
	bench(b, long(), map[string]string{qwen3: "keep_all", qwen35: "keep_all"})
}

// BenchmarkShort is what the first request of a conversation costs: one tool, the family's own policy.
func BenchmarkShort(b *testing.B) {
	req := request(system(strings.Repeat("Follow the rules of the house. ", 5)), user(strings.Repeat("What is it worth? ", 6)))
	req.Tools = []conv.ToolDef{stock}
	bench(b, req, nil)
}

func bench(b *testing.B, req *conv.Request, policies map[string]string) {
	b.Helper()
	for _, name := range family.Names() {
		k := open(b, name)
		in := k.input(b, req, policies[name])
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var p *prompt.Prompt
			for b.Loop() {
				var err error
				if p, err = k.model.Render(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(p.Text)))
			b.ReportMetric(float64(len(p.Text)), "bytes")
		})
	}
	b.Run("outline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := outline.Of(req, true, toolname.Of); err != nil {
				b.Fatal(err)
			}
		}
	})
}
