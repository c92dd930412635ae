package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestModelInspect(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := write(t, map[string]string{
		"chat_template.jinja":    "<|im_start|><tool_call>{'arguments'}<tool_response>{{ tools }}",
		"tokenizer_config.json":  `{"eos_token": "<|im_end|>", "added_tokens_decoder": {"4": {"content": "<|im_end|>"}}}`,
		"generation_config.json": `{"eos_token_id": 4, "temperature": 0.7, "top_k": 20}`,
		"config.json":            `{"max_position_embeddings": 32768}`,
		"tokenizer.json":         bytesVocabulary,
	})
	unknown := write(t, map[string]string{"chat_template.jinja": "{{ tools }}", "tokenizer.json": bytesVocabulary})
	odd := write(t, map[string]string{"chat_template.jinja": "x", "tokenizer_config.json": `{"eos_token": "a\u001b[31m\nb"}`})
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr []string
	}{
		{"no verb", []string{"model"}, 2, []string{"Usage: weir model"}, nil},
		{"help", []string{"model", "--help"}, 0, []string{"Usage: weir model", "inspect"}, nil},
		{"unknown verb", []string{"model", "fly"}, 2, nil, []string{`unknown command "fly"`}},
		{"help of the verb", []string{"model", "inspect", "--help"}, 0, []string{"Usage: weir model inspect DIR|FILE.gguf", "Example:"}, nil},
		{"nothing", []string{"model", "inspect"}, 2, nil, []string{"want one folder"}},
		{"no such folder", []string{"model", "inspect", filepath.Join(dir, "none")}, 2, nil, []string{"none"}},
		{"no model", []string{"model", "inspect", t.TempDir()}, 1, nil, []string{"no model"}},
		{
			"model",
			[]string{"model", "inspect", dir},
			0,
			[]string{
				"62 bytes", "chat_template.jinja", "5 ids", "<|im_end|>, ids 4", "32768", "temperature 0.7, top_k 20", "as Qwen2.5",
				"\n[[models]]\nid = \"", "dir = \"" + dir + "\"\n", "# policy = \"qwen2.5\"\n", "# tools = \"hermes\"\n", "# context = 32768\n",
			},
			nil,
		},
		{"warnings", []string{"model", "inspect", unknown}, 1, []string{"warning: the chat template takes tools"}, nil},
		{"text that would leave its line", []string{"model", "inspect", odd}, 1, []string{"a\ufffd[31m\ufffdb"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", c.args...)
			if code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			for _, want := range c.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in %s", want, stdout)
				}
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in %s", want, stderr)
				}
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		_, stdout, _ := run(t, "", "model", "inspect", "--json", dir)
		var got struct {
			Stops     []string
			StopIDs   []int `json:"stop_ids"`
			Context   int
			Sampling  map[string]float64
			Family    string
			Tools     string
			Decisions []struct{ What, Value, Why string }
			Warnings  []string
			Entry     string
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v in %s", err, stdout)
		}
		if got.Family != "qwen2.5" || got.Tools != "hermes" || len(got.Stops) != 1 || len(got.StopIDs) != 1 || got.Context != 32768 || got.Sampling["top_k"] != 20 ||
			len(got.Decisions) != 9 || got.Warnings == nil || !strings.HasPrefix(got.Entry, "[[models]]\n") {
			t.Errorf("%+v", got)
		}
	})
}
