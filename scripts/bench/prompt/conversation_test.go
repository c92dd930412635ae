package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func newTestRequest(tb testing.TB, text int) *request {
	tb.Helper()
	r, err := newRequest(text, true)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// patched is the request with other digits.
func (r *request) patched(slots []int, n uint64) []byte {
	body := bytes.Clone(r.JSON)
	patch(body, slots, n)
	return body
}

// render makes the prompt of a request as transformers would, with the benchmark's own template.
func render(tb testing.TB, body []byte) string {
	tb.Helper()
	tmpl, err := jinja.Compile(chatTemplate, jinja.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	var in struct{ Messages, Tools json.RawMessage }
	if err := json.Unmarshal(body, &in); err != nil {
		tb.Fatal(err)
	}
	vars := map[string]jinja.Value{"add_generation_prompt": jinja.Bool(true)}
	for name, doc := range map[string]json.RawMessage{"messages": in.Messages, "tools": in.Tools} {
		if doc == nil {
			continue
		}
		if vars[name], err = jinja.FromJSON(doc, jinja.Origin{}); err != nil {
			tb.Fatal(err)
		}
	}
	out, err := tmpl.Render(tb.Context(), vars, jinja.RenderOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return string(out.Text)
}

// tokenizer is that of the vocabulary.
func tokenizer(tb testing.TB, data []byte) *vocab.Tokenizer {
	tb.Helper()
	spec, err := hf.Parse(data)
	if err != nil {
		tb.Fatal(err)
	}
	tok, err := vocab.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// TestPromptSizes holds the conversation to what the benchmark says of it, in real tokens.
func TestPromptSizes(t *testing.T) {
	data, err := findVocabulary()
	if err != nil {
		t.Skipf("SKIPPED: sizes in tokens unchecked: %v", err)
	}
	tok := tokenizer(t, data)
	r := newTestRequest(t, defaultText)
	texts := make([]string, 0, 4)
	ids := make([][]uint32, 0, 4)
	for _, c := range []struct {
		slots []int
		n     uint64
	}{{r.slots, 1}, {r.slots, 2}, {r.slots[r.tail:], 1}, {r.slots[r.tail:], 99_999_999}} {
		text := render(t, r.patched(c.slots, c.n))
		texts, ids = append(texts, text), append(ids, tok.Encode(nil, text))
		if n, size := len(ids[len(ids)-1]), len(text); n < 60_500 || n > 61_500 || n != len(ids[0]) || size < 199_000 || size > 203_000 {
			t.Errorf("%d tokens, %d bytes; want about 61,000 and 201,000, the same for all", n, size)
		}
	}
	if n := common(ids[0], ids[1]); n > 8000 {
		t.Errorf("unique: %d tokens in common", n)
	}
	if n := common(ids[2], ids[3]); n < 56_500 || n > 57_500 {
		t.Errorf("shared: %d tokens in common, want about 57,000", n)
	}
	// Whatever is remembered of one unique prompt by its messages or their paragraphs serves no other.
	one, two := strings.Split(texts[0], "<|im_start|>"), strings.Split(texts[1], "<|im_start|>")
	for i := range one {
		if i > 1 && i < len(one)-1 && one[i] == two[i] {
			t.Errorf("message %d is the same in two unique prompts: %.200s", i, one[i])
		}
	}
	t.Logf("%d tokens, %d bytes, %d messages, %d slots, %d and %d tokens in common", len(ids[0]), len(texts[0]), r.messages, len(r.slots), common(ids[0], ids[1]), common(ids[2], ids[3]))
}

func common(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
