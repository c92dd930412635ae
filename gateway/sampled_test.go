package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/sim"
	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// wireBlocks are the blocks of a turn for a style.
func wireBlocks(t sim.Turn) []wire.Block {
	var out []wire.Block
	for _, b := range t.Blocks {
		switch b.Kind {
		case sim.Reasoning:
			out = append(out, wire.Block{Kind: wire.Reasoning, Text: b.Text})
		case sim.Text:
			out = append(out, wire.Block{Kind: wire.Text, Text: b.Text})
		case sim.Call:
			out = append(out, wire.Block{Kind: wire.Call, Name: b.Call.Name, Arguments: b.Call.Arguments})
		}
	}
	return out
}

// sampled cuts what a model writes as no tokenizer would: a token for each character, but for the tokens that
// are a text of their own.
func sampled(v *vocab.Tokenizer, text string) []enginetest.Chunk {
	var out []enginetest.Chunk
	for len(text) > 0 {
		n := 0
		var id uint32
		for _, a := range v.Added() {
			if len(a.Text) > n && strings.HasPrefix(text, a.Text) {
				n, id = len(a.Text), a.ID
			}
		}
		ids := []uint32{id}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			ids = v.Encode(nil, text[:n])
		}
		out = append(out, enginetest.Chunk{Text: text[:n], IDs: ids})
		text = text[n:]
	}
	return out
}

func idsOf(chunks []enginetest.Chunk) []uint32 {
	var out []uint32
	for _, c := range chunks {
		out = append(out, c.IDs...)
	}
	return out
}

// TestSampledTokens has an engine write turns of several rounds in tokens that are not those of their text. The
// prompt of the next turn must begin with the tokens of the one before and those that the engine wrote, on all
// surfaces; with nothing remembered, with their text.
func TestSampledTokens(t *testing.T) {
	t.Parallel()
	// Whether the plan, or what the template cannot say, has such a turn written anew in the family's form.
	written := map[string]bool{
		"lcpp__Qwen-Qwen3-0.6B": true, "ollama__qwen38_chat_template": true, "lcpp__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": true, "lcpp__StepFun3.5-Flash": true,
		"lcpp__Qwen3-Coder": true, "lcpp__MiniMax-M1": true, "lcpp__Bielik-11B-v3.0-Instruct": false, "lcpp__ibm-granite-granite-4.1": false,
	}
	var some []chatTemplate
	for _, c := range chatTemplates(t) {
		if _, ok := written[c.name]; ok {
			some = append(some, c)
		}
	}
	if len(some) != len(written) {
		t.Fatalf("%d templates of %d", len(some), len(written))
	}
	v := vocabulary(t, "qwen3")
	double := enginetest.NewDouble()
	more := fmt.Sprintf("[engines.ids]\nkind = \"openai\"\nurl = %q\nprompt = \"ids\"\nextras = true\n", double.Serve(t))
	for i := range some {
		more += fmt.Sprintf("[[models]]\nid = %q\nengines = [\"ids\"]\ndir = %q\n", some[i].name, folder(t, &some[i]))
	}
	for _, memory := range []string{"64MiB", "0B"} {
		w := start(t, options{more: more + fmt.Sprintf("[memory]\nturns = %q\n", memory)})
		for i := range some {
			for _, cl := range clients() {
				if memory == "0B" && (cl.surface.name == "chat" || cl.drops || !written[some[i].name]) {
					continue // nobody knows the order of the rounds, or nobody asks for it
				}
				t.Run(memory+"/"+some[i].name+"/"+cl.name, func(t *testing.T) {
					w := *w
					w.tb = t
					roundTrip(t, &w, double, v, &some[i], cl, memory != "0B")
				})
			}
		}
	}
}

// roundTrip has a turn written, brings it back with its results, and looks at the prompt.
func roundTrip(t *testing.T, w *world, double *enginetest.Double, v *vocab.Tokenizer, c *chatTemplate, cl client, remembers bool) {
	t.Helper()
	style, err := wire.For(c.reasoning, c.tools)
	if err != nil {
		t.Fatal(err)
	}
	d := &dialog{tb: t, w: w, client: cl, model: c.name, system: "Be of help. " + cl.name, tools: lookAndFind(cl.surface)}
	d.user("Go.")
	first := d.tokens()
	chunks := sampled(v, string(style.Write(nil, string(v.Decode(nil, first, false)), wireBlocks(rounds(c.reasoning != "")))))
	end, _ := v.ID("<|im_end|>")
	double.Requests()
	double.Play(enginetest.Script{Chunks: chunks, Last: []uint32{end}, Usage: enginetest.UsageNever})
	d.send()
	if got := promptIDs(t, double); !slices.Equal(got, first) {
		t.Fatalf("the engine got %d tokens, tokenize says %d", len(got), len(first))
	}
	if len(d.last.calls()) != 3 {
		t.Fatalf("got %s", plain(d.last.Blocks))
	}
	d.results(true)
	double.Play(enginetest.Script{Chunks: sampled(v, string(style.Write(nil, "", wireBlocks(sim.Turn{Blocks: []sim.Block{{Kind: sim.Text, Text: "Done."}}}))))})
	d.send()
	second := promptIDs(t, double)
	all := slices.Concat(first, idsOf(chunks))
	if n := sharedIDs(all, second); remembers && n != len(all) {
		t.Errorf("the prompt leaves at token %d of %d and %d written: %q", n, len(first), len(all)-len(first), v.Decode(nil, second[max(0, n-20):min(len(second), n+40)], false))
	}
	want, got := string(v.Decode(nil, all, false)), string(v.Decode(nil, second, false))
	if !strings.HasPrefix(got, want) {
		t.Errorf("the prompt is not that of the turn before and what the model wrote:\n%s", apart(&step{heard: heard{prompt: want}}, &step{heard: heard{prompt: got}}))
	}
}

// tokens are those of the conversation's prompt, by the endpoint that tells them.
func (d *dialog) tokens() []uint32 {
	d.tb.Helper()
	chatty := *d
	chatty.client.surface, chatty.client.whole = chat(), true
	chatty.tools = lookAndFind(chatty.client.surface)
	resp, b := d.w.post("/v1/tokenize", chatty.request())
	var got struct {
		Count   int
		Context int `json:"max_model_len"`
		Tokens  []uint32
		Strings []string `json:"token_strs"`
	}
	if resp.StatusCode != http.StatusOK {
		d.tb.Fatalf("%s: %s", resp.Status, b)
	}
	strict(d.tb, b, &got)
	return got.Tokens
}

// promptIDs is the prompt of the one request that the engine has got.
func promptIDs(tb testing.TB, double *enginetest.Double) []uint32 {
	tb.Helper()
	got := double.Requests()
	if len(got) != 1 {
		tb.Fatalf("the engine got %d requests, want 1", len(got))
	}
	var r struct{ Prompt []uint32 }
	if err := json.Unmarshal(got[0].Body, &r); err != nil {
		tb.Fatal(err)
	}
	return r.Prompt
}
