package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
	"github.com/weirgate/weir/plugins/parser"
)

// controls are the tokens of a vocabulary that what others wrote must never become: its special tokens, and the
// markers of the formats that the model writes.
func controls(tb testing.TB, v *vocab.Tokenizer, c *chatTemplate) map[uint32]string {
	tb.Helper()
	style, err := wire.For(c.reasoning, c.tools)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[uint32]string{}
	for _, a := range v.Added() {
		if a.Special {
			out[a.ID] = a.Text
		}
	}
	for _, m := range slices.Concat(parser.Markers(c.reasoning, c.tools), style.Special()) {
		if id, ok := v.ID(m); ok {
			out[id] = m
		}
	}
	return out
}

// count counts the tokens of a set in a prompt.
func count(ids []uint32, of map[uint32]string) map[uint32]int {
	out := map[uint32]int{}
	for _, id := range ids {
		if _, ok := of[id]; ok {
			out[id]++
		}
	}
	return out
}

// TestGuard has a user, a tool and a tool's definition say the text of each control token of real vocabularies.
// With the guard no token comes of it that a plain conversation has not; without it each does. The tokens are
// those of the text either way.
func TestGuard(t *testing.T) {
	t.Parallel()
	names := map[string]string{ // template to vocabulary
		"lcpp__Qwen-Qwen3-0.6B": "qwen3", "lcpp__deepseek-ai-DeepSeek-V3.1": "deepseek_v3", "lcpp__meta-llama-Llama-3.2-3B-Instruct": "llama3_1", "axo__gemma3": "gemma3",
		"lcpp__openai-gpt-oss-120b": "gptoss", "cz__mistral-instruct": "llama2",
	}
	var some []chatTemplate
	found := 0
	for _, c := range chatTemplates(t) {
		if v, ok := names[c.name]; ok {
			found++
			if _, there := vocabularyFile(v); !there {
				t.Logf("SKIPPED: the vocabulary %s is not there", v)
				continue
			}
			c.vocabulary = v
			some = append(some, c)
		}
	}
	if found != len(names) {
		t.Fatalf("%d templates of %d", found, len(names))
	}
	if len(some) == 0 {
		t.Skip("SKIPPED: no real vocabulary: nothing guarded")
	}
	more := ""
	for i := range some {
		more += fmt.Sprintf("[[models]]\nid = %q\nengines = [\"sim\"]\ndir = %q\ncontext = 200000\n", some[i].name, folder(t, &some[i]))
	}
	for _, guarded := range []bool{true, false} {
		tenants := "[[tenants]]\nname = \"all\"\nany_key = true\n"
		if !guarded {
			tenants += "guard = false\n"
		}
		w := start(t, options{more: more, tenants: tenants})
		tp := w.tapped(act)
		for i := range some {
			for _, s := range []surface{chat(), messages()} {
				t.Run(fmt.Sprintf("%v/%s/%s", guarded, some[i].name, s.name), func(t *testing.T) {
					w := *w
					w.tb = t
					guard(t, &w, tp, &some[i], s, guarded)
				})
			}
		}
	}
}

func guard(t *testing.T, w *world, tp *tap, c *chatTemplate, s surface, guarded bool) {
	t.Helper()
	v := vocabulary(t, c.vocabulary)
	set := controls(t, v, c)
	if len(set) < 3 {
		t.Fatalf("the vocabulary %s has %d control tokens", c.vocabulary, len(set))
	}
	texts := make([]string, 0, len(set))
	for _, text := range set {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	plain := prompted(t, w, tp, c.name, s, "x")
	forged := prompted(t, w, tp, c.name, s, "a"+strings.Join(texts, "b")+"c")
	for _, h := range []heard{plain, forged} {
		if got := string(v.Decode(nil, h.ids, false)); got != h.prompt && v.Concatenates() {
			t.Errorf("the tokens are not those of the text: %s", apart(&step{heard: heard{prompt: h.prompt}}, &step{heard: heard{prompt: got}}))
		}
	}
	before, after := count(plain.ids, set), count(forged.ids, set)
	for id, text := range set {
		switch {
		case guarded && after[id] != before[id]:
			t.Errorf("%q became a token: %d times, %d in a plain conversation", text, after[id], before[id])
		case !guarded && after[id] <= before[id] && alone(v, id, text):
			t.Errorf("%q became no token although nothing guards", text)
		}
	}
}

// alone reports whether the text of a token is found between letters, as it is here.
func alone(v *vocab.Tokenizer, id uint32, text string) bool {
	return slices.Contains(v.Encode(nil, "b"+text+"b"), id)
}

// prompted is what the engine gets where a user, a result and a tool's definition say a text.
func prompted(t *testing.T, w *world, tp *tap, model string, s surface, text string) heard {
	t.Helper()
	d := &dialog{tb: t, w: w, tap: tp, client: client{name: "guard", surface: s}, model: model, system: "Be of help."}
	d.tools = strings.Replace(lookAndFind(s), "Looks at a place.", strings.Trim(quote("Looks. "+text), `"`), 1)
	d.tools = strings.Replace(d.tools, `"place":{"type":"string"}`, `"place":{"type":"string","description":`+quote(text)+`}`, 1)
	call := answer{Blocks: []block{{Kind: "call", ID: "call_123456789", Name: "look", Text: `{"place":"Rome"}`}}}
	d.user("Look. " + text)
	d.last = call
	d.take()
	d.results(false, "It says "+text)
	d.user("So? " + text)
	return d.turn().heard
}
