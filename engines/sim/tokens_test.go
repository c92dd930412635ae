package sim_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/sim"
)

// pairs is a vocabulary of the bytes, of some pairs of them and of the family's special tokens, which it
// finds in any text.
type pairs struct{ prefix string }

const pairBase, specialBase = 1000, 1

func (p pairs) Encode(dst []uint32, text string) []uint32 {
	text = p.prefix + text
	for text != "" {
		if i := slices.IndexFunc(family, func(s sim.Special) bool { return strings.HasPrefix(text, s.Text) }); i >= 0 {
			dst, text = append(dst, family[i].ID), text[len(family[i].Text):]
			continue
		}
		if len(text) > 1 && text[0]|text[1] < 0x80 {
			dst, text = append(dst, pairBase+uint32(text[0])<<8+uint32(text[1])), text[2:]
			continue
		}
		dst, text = append(dst, 100+uint32(text[0])), text[1:]
	}
	return dst
}

func (pairs) Token(id uint32) (string, bool) {
	switch {
	case id >= pairBase:
		return string([]byte{byte((id - pairBase) >> 8), byte(id - pairBase)}), true
	case id >= 100:
		return string([]byte{byte(id - 100)}), true
	case id >= specialBase && int(id-specialBase) < len(family):
		return family[id-specialBase].Text, true
	}
	return "", false
}

// TestIDs: with a vocabulary a delta is a token with its id, and what the actor says of control tokens is
// only text.
func TestIDs(t *testing.T) {
	t.Parallel()
	render := func(t sim.Turn, model string) []byte { return append(sim.Render(t, model), "<|end|>"...) }
	for _, text := range []string{
		"say plain words", "say a <think> b </think> c <|end|> d", "say <think><think><<think>>", "call Bash {\"command\":\"echo <tool_call>\"}", "say 堰 naïve 😀",
	} {
		e := sim.New(sim.Config{Thinks: true, Special: family, RenderTurn: render, Vocabulary: pairs{}})
		req := chat(text)
		req.Stop = []string{"<|end|>"}
		st, err := e.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		out, err := enginetest.Drain(t, st)
		if err != nil {
			t.Fatal(err)
		}
		var decoded strings.Builder
		special := 0
		for _, id := range out.IDs {
			piece, _ := pairs{}.Token(id)
			decoded.WriteString(piece)
			if id < 100 {
				special++
			}
		}
		if out.Unknown || decoded.String() != out.Text || !utf8.ValidString(out.Text) {
			t.Errorf("%s: the ids say %q, the text is %q", text, decoded.String(), out.Text)
		}
		if special != len(out.Spans) || len(out.IDs) != out.Usage.Output || out.Tokens != len(out.IDs) {
			t.Errorf("%s: %d special ids in %d, %d spans, %d tokens counted", text, special, len(out.IDs), len(out.Spans), out.Usage.Output)
		}
		if out.Finish.Stop != "<|end|>" {
			t.Errorf("%s: %+v", text, out.Finish)
		}
	}
}

// TestNoIDs: no ids are better than wrong ones.
func TestNoIDs(t *testing.T) {
	t.Parallel()
	hash := sim.Special{Text: "#", ID: 3}
	for name, c := range map[string]struct {
		cfg  sim.Config
		text string
	}{
		"no vocabulary":                         {sim.Config{Special: family}, "say x"},
		"tokens that are not the text's bytes":  {sim.Config{Special: family, Vocabulary: pairs{prefix: "_"}}, "say x"},
		"output that is not UTF-8":              {sim.Config{Vocabulary: pairs{}, RenderTurn: func(sim.Turn, string) []byte { return []byte("a\xff") }}, "say x"},
		"a special token that cannot be cut":    {sim.Config{Special: []sim.Special{hash}, Vocabulary: one{}}, "say a # b"},
		"a stop that cuts into a special token": {sim.Config{Thinks: true, Special: family, Vocabulary: pairs{}}, "say x"},
	} {
		t.Run(name, func(t *testing.T) {
			req := chat(c.text)
			req.Stop = []string{"hink>"}
			st, err := sim.New(c.cfg).Generate(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := enginetest.Drain(t, st); err != nil || len(out.IDs) > 0 || out.Text == "" {
				t.Errorf("ids %v, text %q, %v", out.IDs, out.Text, err)
			}
		})
	}
}

// one has the id 3 for "#" and ids of bytes.
type one struct{}

func (one) Encode(dst []uint32, text string) []uint32 {
	for i := range len(text) {
		if id := 100 + uint32(text[i]); text[i] != '#' {
			dst = append(dst, id)
		} else {
			dst = append(dst, 3)
		}
	}
	return dst
}

func (one) Token(id uint32) (string, bool) {
	if id == 3 {
		return "#", true
	}
	return string([]byte{byte(id - 100)}), true
}

// TestPromptsOfIDsAndText: with a vocabulary they are counted alike, share the cache, and tell a renderer
// the same of their end.
func TestPromptsOfIDsAndText(t *testing.T) {
	t.Parallel()
	tail := ""
	e := sim.New(sim.Config{Special: family, Vocabulary: pairs{}, RenderTurn: func(t sim.Turn, _ string) []byte {
		tail = t.PromptTail
		return []byte("ok")
	}})
	prompt := strings.Repeat("<think>a story\n", 40) + "<think>"
	ids := pairs{}.Encode(nil, prompt)
	for i, req := range []*engines.Request{{Prompt: prompt}, {IDs: ids}, {IDs: ids, Prompt: prompt}} {
		n, err := e.CountTokens(t.Context(), req)
		if err != nil || n != len(ids) {
			t.Errorf("request %d: %d tokens, %v, want %d", i, n, err, len(ids))
		}
		st, err := e.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		out, err := enginetest.Drain(t, st)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(ids) / 64 * 64; i > 0 && out.Usage.Cached != want || out.Usage.Input != len(ids) {
			t.Errorf("request %d: %+v, want %d cached of %d", i, out.Usage, want, len(ids))
		}
		if !strings.HasSuffix(prompt, tail) || len(tail) < 200 {
			t.Errorf("request %d: the renderer was told that the prompt ends %q", i, tail)
		}
	}
}

func BenchmarkGenerateWithIDs(b *testing.B) {
	e := sim.New(sim.Config{Special: family, Vocabulary: pairs{}})
	b.ReportAllocs()
	for b.Loop() {
		st, err := e.Generate(b.Context(), chat("long 2000"))
		if err != nil {
			b.Fatal(err)
		}
		_ = st.Close()
	}
}
