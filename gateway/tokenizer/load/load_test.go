package load_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/load"
)

const tokenizerJSON = `{
	"added_tokens": [{"id": 5, "content": "<end>", "special": true}],
	"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
	"decoder": {"type": "ByteLevel"},
	"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}, "merges": ["a b", "Ġ ab"]}
}`

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func images(t *testing.T, cache string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestModelFolder(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "images")
	file := write(t, dir, "tokenizer.json", tokenizerJSON)
	want := []uint32{3, 4, 5, 1}
	for i, path := range []string{dir, dir, file, dir} {
		tok, err := load.Model(path, cache)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(nil, "ab ab<end>b"); !slices.Equal(got, want) {
			t.Fatalf("opened for the %d. time: ids %v, want %v", i+1, got, want)
		}
		kept := images(t, cache)
		if len(kept) != 1 {
			t.Fatalf("images %v, want one", kept)
		}
		if i == 1 { // a damaged image is made again
			if err := os.WriteFile(kept[0], []byte("WVOC broken"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, dir, "tokenizer.json", strings.Replace(tokenizerJSON, "<end>", "<stop>", 1))
	tok, err := load.Model(dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tok.ID("<stop>"); !ok || len(images(t, cache)) != 2 {
		t.Error("another vocabulary gets the image of the first")
	}
	if _, err := load.Model(dir, ""); err != nil {
		t.Errorf("without a cache: %v", err)
	}
	if _, err := load.Model(dir, file); err != nil {
		t.Errorf("with a cache that is no folder: %v", err)
	}
}

func ranks() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	fmt.Fprintf(&b, "%s 256\n", base64.StdEncoding.EncodeToString([]byte("ab")))
	return b.String()
}

func TestRankFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "tiktoken.model", ranks())
	if _, err := load.Model(dir, ""); !errors.Is(err, load.ErrNoVocabulary) {
		t.Errorf("error %v, want one of ErrNoVocabulary", err)
	}
	write(t, dir, "tokenizer_config.json", `{"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"258": {"content": "<|im_end|>", "special": true}}}`)
	tok, err := load.Model(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode(nil, "ab<|im_end|><|reserved_token_257|>"), []uint32{256, 258, 257}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if tok.Size() != 257+256 {
		t.Errorf("%d ids, want %d", tok.Size(), 257+256)
	}
	write(t, dir, "tokenizer_config.json", `{"tokenizer_class": "Other"}`)
	if _, err := load.Model(dir, ""); !errors.Is(err, load.ErrNoVocabulary) {
		t.Errorf("an unknown class: error %v, want one of ErrNoVocabulary", err)
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := load.Model(dir, ""); !errors.Is(err, load.ErrNoVocabulary) {
		t.Errorf("an empty folder: error %v, want one of ErrNoVocabulary", err)
	}
	if _, err := load.Model(filepath.Join(dir, "none"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: error %v, want one of ErrNotExist", err)
	}
	if _, err := load.Model(write(t, dir, "x.gguf", "GGML"), ""); err == nil {
		t.Error("a file that is no GGUF opens")
	}
}
