package gguf_test

import (
	"bytes"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/gguf"
)

func TestNamed(t *testing.T) {
	// The context length may stand before the architecture, and there may be one of another part.
	w := (&writer{}).put("clip.context_length", uint32(77)).put("llama.context_length", uint32(131072)).put("general.architecture", "llama").
		put("tokenizer.ggml.tokens", []string{"a", "</s>", "<eot>", "<pad>"}).put("tokenizer.ggml.eos_token_id", uint32(1)).
		put("tokenizer.ggml.eot_token_id", uint32(2)).put("tokenizer.ggml.padding_token_id", uint32(3)).put("tokenizer.ggml.eom_token_id", uint32(9)).
		put("tokenizer.ggml.fim_pre_token_id", uint32(0))
	f, err := gguf.Read(bytes.NewReader(w.file()))
	if err != nil {
		t.Fatal(err)
	}
	if n := f.ContextLength(); n != 131072 {
		t.Errorf("context of %d tokens", n)
	}
	for _, c := range []struct {
		task string
		want gguf.Token
		ok   bool
	}{
		{"eos", gguf.Token{ID: 1, Text: "</s>"}, true},
		{"eot", gguf.Token{ID: 2, Text: "<eot>"}, true},
		{"pad", gguf.Token{ID: 3, Text: "<pad>"}, true},
		{"bos", gguf.Token{}, false},
		{"unk", gguf.Token{}, false},
		{"eom", gguf.Token{}, false}, // beyond the vocabulary
		{"fim_pre", gguf.Token{}, false},
	} {
		if got, ok := f.Token(c.task); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.task, got, ok, c.want, c.ok)
		}
	}
	f, err = gguf.Read(bytes.NewReader((&writer{}).put("general.architecture", "llama").file()))
	if err != nil || f.ContextLength() != 0 {
		t.Errorf("a file that does not say: %d, %v", f.ContextLength(), err)
	}
}
