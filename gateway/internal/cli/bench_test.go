package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	benchTemplate   = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}`
	benchVocabulary = `{"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
  "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}`
)

func TestBench(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	template, raises := file("chat.jinja", benchTemplate), file("raises.jinja", `{{ raise_exception("not today") }}`)
	vars, tokenizer, prompt := file("vars.json", `{"messages": [{"role": "user", "content": "hi"}]}`), file("tokenizer.json", benchVocabulary), file("prompt.txt", "abab")
	for _, c := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string
	}{
		{"no verb", "bench", 2, "Usage: weir bench", ""},
		{"help", "bench --help", 0, "tokenize", ""},
		{"help of a verb", "bench render --help", 0, "Usage: weir bench render --template", ""},
		{"unknown verb", "bench fly", 2, "", `unknown command "fly"`},
		{"render", "bench render --time 1ms --template " + template + " --vars " + vars, 0, "10 bytes", ""},
		{"render its own conversation", "bench render --time 1ms --template " + template, 0, "with the origin of each byte", ""},
		{"render as JSON", "bench render --json --time 1ms --template " + template + " --vars " + vars, 0, `"crc32":"`, ""},
		{"render nothing", "bench render", 2, "", "want --template"},
		{"render no file", "bench render --template " + dir + "/none", 2, "", "none"},
		{"render what raises", "bench render --time 1ms --template " + raises, 1, "", "not today"},
		{"render without variables", "bench render --template " + template + " --vars " + prompt, 1, "", "chat.jinja"},
		{"render for too long", "bench render --time 1h --template " + template, 2, "", "at most 1m"},
		{"prompt of nothing", "bench prompt --request " + file("none.json", " \n"), 1, "", "no request"},
		{"prompt cut short", "bench prompt --request " + file("cut.json", `{"model": "m"} {"model"`), 1, "", "request 2, before byte"},
		{"tokenize", "bench tokenize --time 1ms --tokenizer " + tokenizer + " --text " + prompt, 0, "4 bytes, 2 tokens", ""},
		{"tokenize its own conversation", "bench tokenize --time 1ms --tokenizer " + dir, 0, "cold: the first text", ""},
		{"tokenize nothing", "bench tokenize", 2, "", "want --tokenizer"},
		{"tokenize an argument", "bench tokenize --tokenizer x y", 2, "", `unexpected argument "y"`},
		{"tokenize no file", "bench tokenize --tokenizer " + dir + "/none", 2, "", "none"},
		{"tokenize what is none", "bench tokenize --tokenizer " + vars, 1, "", "vars.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := weir(t, strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit %d, want %d with %q and %q\n%s\n%s", code, c.code, c.stdout, c.stderr, stdout, stderr)
			}
		})
	}
}

// The conversation of the benchmarks is always the same, and what it is said to be.
func TestBenchConversation(t *testing.T) {
	_, first, _ := weir(t, "bench", "render", "--print-vars")
	if _, again, _ := weir(t, "bench", "render", "--print-vars"); again != first {
		t.Error("it differs from run to run")
	}
	var vars struct {
		Messages []struct {
			Role, Content string
			Calls         []any `json:"tool_calls"`
		}
		Tools []any
	}
	if err := json.Unmarshal([]byte(first), &vars); err != nil {
		t.Fatal(err)
	}
	size, calls := 0, 0
	for _, m := range vars.Messages {
		size += len(m.Content)
		calls += len(m.Calls)
	}
	if len(vars.Messages) != 60 || len(vars.Tools) == 0 || calls < 15 || size < 180_000 || size > 220_000 {
		t.Errorf("%d messages, %d tools, %d calls, %d bytes of content", len(vars.Messages), len(vars.Tools), calls, size)
	}
}
