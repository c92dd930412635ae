package prompt_test

import (
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/wire"
)

// What a family writes in the place of a turn is what its own template prints, where the template can say
// the turn at all: the header is found, and what is behind it replaced.
func TestFamiliesWriteWhatTemplatesPrint(t *testing.T) {
	t.Parallel()
	kinds := map[prompt.BlockKind]wire.Kind{prompt.BlockReasoning: wire.Reasoning, prompt.BlockText: wire.Text, prompt.BlockCall: wire.Call}
	turns := map[string]conv.Message{
		"answer":            answer(text("Said.")),
		"call":              answer(call("a", "weather", `{"place": "Here"}`)),
		"calls":             answer(call("a", "weather", `{"place": "Here"}`), call("b", "weather", `{"place": "There"}`)),
		"text and call":     answer(text("Look."), call("a", "weather", `{"place": "Here"}`)),
		"thought and call":  answer(think("Hm."), call("a", "weather", `{"place": "Here"}`)),
		"all of it":         answer(think("Hm."), text("Look."), call("a", "weather", `{"place": "Here"}`)),
		"thought and words": answer(think("Hm."), text("Said.")),
	}
	for _, c := range []struct {
		template, reasoning, tools string
	}{
		{"lcpp__Qwen-Qwen2.5-7B-Instruct", "", "hermes"},
		{"lcpp__Qwen-Qwen3-0.6B", "qwen3", "hermes"},
		{"ardan__Qwen3.6-35B-A3B-UD-Q4_K_M", "qwen3", "qwen3_coder"},
		{"lcpp__Qwen3-Coder", "", "qwen3_coder"},
	} {
		m := model(t, read(t, filepath.Join(data(t, "jinja"), c.template+".jinja")))
		style, err := wire.For(c.reasoning, c.tools)
		if err != nil {
			t.Fatal(err)
		}
		family := func(dst []byte, tail string, blocks []prompt.Block) []byte {
			out := make([]wire.Block, len(blocks))
			for i, b := range blocks {
				out[i] = wire.Block{Kind: kinds[b.Kind], Text: b.Text, Name: b.Name, Arguments: b.Arguments}
			}
			return style.Write(dst, tail, out)
		}
		for name, turn := range turns {
			if c.reasoning == "" && turn.Parts[0].Kind == conv.Reasoning {
				continue
			}
			for end, then := range map[string][]conv.Message{
				"in the loop": {tool("a", "Rain"), tool("b", "Sun")},
				"old":         {tool("a", "Rain"), tool("b", "Sun"), answer(text("So.")), user("Then?")},
			} {
				req := withTools(request(append([]conv.Message{system("S"), user("Ask"), turn}, then...)...), weather())
				plain := render(t, m, &prompt.Input{Request: req})
				spliced := render(t, m, &prompt.Input{Request: req, Write: family, Plan: []plan.Op{{Kind: plan.PartOp, Message: 2, Action: plan.Splice}}})
				// A template may begin a turn without reasoning with a block that is empty; a family need not.
				if plain.Text != spliced.Text && turn.Parts[0].Kind == conv.Reasoning {
					t.Errorf("%s, %s, %s: written\n%q\nprinted\n%q", c.template, name, end, spliced.Text, plain.Text)
				} else if plain.Text != spliced.Text {
					t.Logf("%s, %s, %s differ", c.template, name, end)
				}
			}
		}
	}
}
