package modelfile_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/modelfile"
)

// folder writes a model's folder.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, files map[string]string) *modelfile.Model {
	t.Helper()
	m, err := modelfile.Open(folder(t, files), modelfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bytesVocabulary is a tokenizer.json with a token for each of a few letters and added tokens.
const bytesVocabulary = `{"version": "1.0", "added_tokens": [
 {"id": 4, "content": "<|im_end|>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
 {"id": 5, "content": "<|endoftext|>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
 "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null,
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
  "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]}}`

func TestFolder(t *testing.T) {
	m := open(t, map[string]string{
		"tokenizer_config.json": `{"chat_template": "<|im_start|><tool_call>{\"arguments\"}<tool_response>{{ tools }}", "eos_token": {"content": "<|im_end|>", "special": true},
			"bos_token": null, "pad_token": "<|endoftext|>", "model_max_length": 131072, "extra_special_tokens": {"image_token": "<img>"},
			"added_tokens_decoder": {"4": {"content": "<|im_end|>"}}, "add_bos_token": false, "unknown": [1, {"a": null}]}`,
		"special_tokens_map.json": `{"bos_token": "<s>"}`,
		"generation_config.json":  `{"eos_token_id": [4, 5], "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": null, "repetition_penalty": 1.05}`,
		"config.json":             `{"model_type": "qwen2", "max_position_embeddings": 40960, "time_step_limit": [0.0, Infinity], "eos_token_id": 3}`,
		"tokenizer.json":          bytesVocabulary,
	})
	if !strings.HasPrefix(m.Template, "<|im_start|>") || len(m.Templates) != 0 {
		t.Errorf("template %q, others %q", m.Template, m.Templates)
	}
	if want := map[string]string{"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "image_token": "<img>"}; !maps.Equal(m.Tokens, want) {
		t.Errorf("tokens %q, want %q", m.Tokens, want)
	}
	if want := []string{"<|im_end|>", "<|endoftext|>"}; !slices.Equal(m.Stops, want) || !slices.Equal(m.StopIDs, []uint32{4, 5}) {
		t.Errorf("stops %q %d", m.Stops, m.StopIDs)
	}
	if m.Context != 40960 || m.Vocab == nil || m.Vocab.Size() != 6 {
		t.Errorf("context %d, vocabulary %v", m.Context, m.Vocab)
	}
	s := m.Sampling
	if s.Temperature == nil || *s.Temperature != 0.6 || s.TopK == nil || *s.TopK != 20 || s.TopP == nil || *s.TopP != 0.95 || s.MinP != nil || s.RepetitionPenalty == nil {
		t.Errorf("sampling %+v", s)
	}
	if m.Family != "qwen2.5" || m.Reasoning != "" || m.Tools != "hermes" || len(m.Warnings) != 0 {
		t.Errorf("%q %q %q, warnings %q", m.Family, m.Reasoning, m.Tools, m.Warnings)
	}
	var what []string
	for _, d := range m.Decisions {
		if what = append(what, d.What); d.Why == "" {
			t.Errorf("no reason for %+v", d)
		}
	}
	if want := []string{"template", "special tokens", "vocabulary", "ends of a turn", "context", "sampling", "family", "reasoning", "tools"}; !slices.Equal(what, want) {
		t.Errorf("decisions %q, want %q", what, want)
	}
}

// Sources of templates go before each other as in transformers.
func TestTemplates(t *testing.T) {
	const config = `{"chat_template": "of the config"}`
	for _, c := range []struct {
		name     string
		files    map[string]string
		template string
		others   map[string]string
		from     string
	}{
		{"text", map[string]string{"tokenizer_config.json": config}, "of the config", nil, "chat_template of tokenizer_config.json"},
		{
			"list",
			map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]}`},
			"d",
			map[string]string{"tool_use": "t"},
			"chat_template of tokenizer_config.json",
		},
		{
			"object",
			map[string]string{"chat_template.json": `{"chat_template": {"default": "d", "rag": "r"}}`},
			"d",
			map[string]string{"rag": "r"},
			"chat_template.json",
		},
		{
			"a processor's goes before a tokenizer's",
			map[string]string{"tokenizer_config.json": config, "chat_template.json": `{"chat_template": "p"}`},
			"p", nil, "chat_template.json",
		},
		{
			"the file goes before all",
			map[string]string{"tokenizer_config.json": config, "chat_template.json": `{"chat_template": "p"}`, "chat_template.jinja": "f"},
			"f", nil, "chat_template.jinja",
		},
		{
			"with named files what the config lists is out",
			map[string]string{
				"tokenizer_config.json": `{"chat_template": {"default": "d", "rag": "r"}}`, "chat_template.jinja": "f",
				"additional_chat_templates/tool_use.jinja": "t", "additional_chat_templates/README.md": "no template",
			},
			"f",
			map[string]string{"tool_use": "t"},
			"chat_template.jinja",
		},
		{
			"named files without a default",
			map[string]string{"tokenizer_config.json": config, "chat_templates/rag.jinja": "r"},
			"of the config",
			map[string]string{"rag": "r"},
			"chat_template of tokenizer_config.json",
		},
		{"none", map[string]string{"tokenizer_config.json": "{}"}, "", nil, "there is neither chat_template.jinja nor a chat_template in tokenizer_config.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, c.files)
			if m.Template != c.template || !maps.Equal(m.Templates, c.others) || m.Decisions[0].Why != c.from {
				t.Errorf("%q and %q, %s; want %q and %q, %s", m.Template, m.Templates, m.Decisions[0].Why, c.template, c.others, c.from)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Run("special tokens of an older model", func(t *testing.T) {
		m := open(t, map[string]string{
			"tokenizer_config.json":   `{"bos_token": "<a>", "eos_token": "<b>"}`,
			"special_tokens_map.json": `{"bos_token": {"content": "<c>"}, "additional_special_tokens": ["<d>"], "unk_token": "<e>"}`,
		})
		if want := map[string]string{"bos_token": "<c>", "eos_token": "<b>", "unk_token": "<e>"}; !maps.Equal(m.Tokens, want) {
			t.Errorf("tokens %q, want %q", m.Tokens, want)
		}
	})
	t.Run("texts of ids without a vocabulary", func(t *testing.T) {
		m := open(t, map[string]string{
			"tokenizer_config.json":  `{"added_tokens_decoder": {"7": {"content": "<end>"}}}`,
			"generation_config.json": `{"eos_token_id": [7, 8, -1, "x", 1e99]}`,
		})
		if !slices.Equal(m.Stops, []string{"<end>"}) || !slices.Equal(m.StopIDs, []uint32{7, 8}) {
			t.Errorf("stops %q %d", m.Stops, m.StopIDs)
		}
	})
	t.Run("ends of the vocabulary only", func(t *testing.T) {
		m := open(t, map[string]string{"tokenizer_config.json": `{"eos_token": "</s>"}`, "generation_config.json": `{"eos_token_id": 99}`, "tokenizer.json": bytesVocabulary})
		if len(m.StopIDs) != 0 || len(m.Warnings) < 2 {
			t.Errorf("ids %d, warnings %q", m.StopIDs, m.Warnings)
		}
	})
	t.Run("ends of the configuration", func(t *testing.T) {
		m := open(t, map[string]string{"config.json": `{"text_config": {"eos_token_id": 9, "max_position_embeddings": 4096}}`})
		if !slices.Equal(m.StopIDs, []uint32{9}) || m.Context != 4096 {
			t.Errorf("ids %d, context %d", m.StopIDs, m.Context)
		}
	})
	t.Run("the tokenizer's limit where it is less", func(t *testing.T) {
		m := open(t, map[string]string{"config.json": `{"max_position_embeddings": 32768}`, "tokenizer_config.json": `{"model_max_length": 8192}`})
		if m.Context != 8192 {
			t.Errorf("context %d", m.Context)
		}
	})
	t.Run("no limit", func(t *testing.T) {
		m := open(t, map[string]string{"tokenizer_config.json": `{"model_max_length": 1000000000000000019884624838656}`})
		if m.Context != 0 {
			t.Errorf("context %d", m.Context)
		}
	})
	t.Run("greedy", func(t *testing.T) {
		m := open(t, map[string]string{"generation_config.json": `{"do_sample": false, "temperature": 0.6}`})
		if m.Sampling.Temperature != nil {
			t.Errorf("sampling %+v", m.Sampling)
		}
	})
	t.Run("values that no engine takes", func(t *testing.T) {
		m := open(t, map[string]string{"generation_config.json": `{"temperature": -1, "top_p": 2, "top_k": 0.5, "min_p": "x"}`})
		if !reflect.ValueOf(m.Sampling).IsZero() {
			t.Errorf("sampling %+v", m.Sampling)
		}
	})
	t.Run("calls stand in another template", func(t *testing.T) {
		m := open(t, map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "<|im_start|>{{ tools }}"},
			{"name": "tool_use", "template": "{{ tools }}<tool_call>{'arguments'}"}]}`})
		if m.Tools != "hermes" {
			t.Errorf("tools %q, warnings %q", m.Tools, m.Warnings)
		}
	})
	t.Run("a template that is none", func(t *testing.T) {
		m := open(t, map[string]string{"chat_template.jinja": "{% if %}"})
		if !strings.Contains(strings.Join(m.Warnings, "\n"), "the chat template is not one: 1:") {
			t.Errorf("warnings %q", m.Warnings)
		}
	})
	t.Run("a vocabulary of an unknown kind", func(t *testing.T) {
		m := open(t, map[string]string{"tokenizer.json": strings.Replace(bytesVocabulary, `"type": "BPE"`, `"type": "Other"`, 1)})
		if m.Vocab != nil || !strings.Contains(strings.Join(m.Warnings, "\n"), "no vocabulary") {
			t.Errorf("warnings %q", m.Warnings)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
		err   error
	}{
		{"an empty folder", nil, "has none of chat_template.jinja", modelfile.ErrNoModel},
		{"a folder of GGUF files", map[string]string{"x.gguf": "GGUF"}, "x.gguf", modelfile.ErrNoModel},
		{"JSON that ends early", map[string]string{"config.json": `{"a": 1`}, "config.json", modelfile.ErrMalformed},
		{"JSON and more", map[string]string{"generation_config.json": `{} x`}, "generation_config.json", modelfile.ErrMalformed},
		{"no object", map[string]string{"tokenizer_config.json": `[]`}, "tokenizer_config.json", modelfile.ErrMalformed},
		{"an empty file", map[string]string{"config.json": ""}, "config.json", modelfile.ErrMalformed},
		{"a template without a name", map[string]string{"tokenizer_config.json": `{"chat_template": [{"template": "x"}]}`}, "want a name and a template", modelfile.ErrMalformed},
		{"a template that is too large", map[string]string{"chat_template.jinja": strings.Repeat("x", 1<<20+1)}, "chat_template.jinja has more than", modelfile.ErrMalformed},
		{"an id that is none", map[string]string{"tokenizer_config.json": `{"added_tokens_decoder": {"x": {}}}`}, `the id "x"`, modelfile.ErrMalformed},
		{"a vocabulary that is none", map[string]string{"tokenizer.json": "{"}, "tokenizer.json", modelfile.ErrMalformed},
		{"a folder in place of a file", map[string]string{"config.json/x": ""}, "config.json is no regular file", modelfile.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := modelfile.Open(folder(t, c.files), modelfile.Options{})
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v with %q", err, c.err, c.want)
			}
		})
	}
	if _, err := modelfile.Open(filepath.Join(t.TempDir(), "none"), modelfile.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := modelfile.Open(filepath.Join(folder(t, map[string]string{"x.txt": ""}), "x.txt"), modelfile.Options{}); !errors.Is(err, modelfile.ErrNoModel) {
		t.Errorf("another file: %v", err)
	}
	if _, err := modelfile.Open(filepath.Join(folder(t, map[string]string{"x.gguf": "no"}), "x.gguf"), modelfile.Options{}); !errors.Is(err, modelfile.ErrMalformed) {
		t.Errorf("no GGUF file: %v", err)
	}
}

// metadata writes a GGUF file.
type metadata struct {
	pairs uint64
	body  []byte
}

func (m *metadata) text(s string) {
	m.body = append(binary.LittleEndian.AppendUint64(m.body, uint64(len(s))), s...)
}

func (m *metadata) put(key string, value any) {
	m.pairs++
	m.text(key)
	switch v := value.(type) {
	case string:
		m.body = binary.LittleEndian.AppendUint32(m.body, 8)
		m.text(v)
	case uint32:
		m.body = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(m.body, 4), v)
	case []string:
		m.body = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(m.body, 9), 8)
		m.body = binary.LittleEndian.AppendUint64(m.body, uint64(len(v)))
		for _, s := range v {
			m.text(s)
		}
	case []int32:
		m.body = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(m.body, 9), 5)
		m.body = binary.LittleEndian.AppendUint64(m.body, uint64(len(v)))
		for _, n := range v {
			m.body = binary.LittleEndian.AppendUint32(m.body, uint32(n))
		}
	}
}

func (m *metadata) file() string {
	b := binary.LittleEndian.AppendUint64([]byte("GGUF\x03\x00\x00\x00"), 0)
	return string(append(binary.LittleEndian.AppendUint64(b, m.pairs), m.body...))
}

func TestGGUF(t *testing.T) {
	write := func(pre string) string {
		m := &metadata{}
		m.put("general.architecture", "qwen3")
		m.put("qwen3.context_length", uint32(40960))
		m.put("tokenizer.chat_template", "<|im_start|><tool_call>{'arguments'}<tool_response>{{ tools }}")
		m.put("tokenizer.chat_template.rag", "other")
		m.put("tokenizer.ggml.model", "gpt2")
		m.put("tokenizer.ggml.pre", pre)
		m.put("tokenizer.ggml.tokens", []string{"a", "b", "ab", "<|im_end|>", "<|endoftext|>"})
		m.put("tokenizer.ggml.token_type", []int32{1, 1, 1, 3, 3})
		m.put("tokenizer.ggml.merges", []string{"a b"})
		m.put("tokenizer.ggml.eos_token_id", uint32(3))
		m.put("tokenizer.ggml.eot_token_id", uint32(3))
		m.put("tokenizer.ggml.eom_token_id", uint32(4))
		m.put("tokenizer.ggml.padding_token_id", uint32(4))
		return filepath.Join(folder(t, map[string]string{"x.GGUF": m.file()}), "x.GGUF")
	}
	m, err := modelfile.Open(write("qwen2"), modelfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Context != 40960 || m.Vocab == nil || m.Family != "qwen2.5" || m.Tools != "hermes" || len(m.Warnings) != 0 || m.Templates["rag"] != "other" {
		t.Errorf("%+v", m)
	}
	if !slices.Equal(m.Stops, []string{"<|im_end|>", "<|endoftext|>"}) || !slices.Equal(m.StopIDs, []uint32{3, 4}) {
		t.Errorf("stops %q %d", m.Stops, m.StopIDs)
	}
	if want := map[string]string{"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}; !maps.Equal(m.Tokens, want) {
		t.Errorf("tokens %q, want %q", m.Tokens, want)
	}
	if m, err = modelfile.Open(write("of another kind"), modelfile.Options{}); err != nil || m.Vocab != nil || len(m.Warnings) == 0 || len(m.StopIDs) != 2 {
		t.Errorf("an unknown kind of vocabulary: %+v, %v", m, err)
	}
	if m, err = modelfile.Open(write("qwen2"), modelfile.Options{NoVocab: true}); err != nil || m.Vocab != nil || len(m.Warnings) != 0 {
		t.Errorf("without the vocabulary: %+v, %v", m, err)
	}
}

// FuzzOpen gives any bytes as each of the files that are read.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"chat_template": [{"name": "a", "template": "b"}], "added_tokens_decoder": {"1": {"content": "x"}}}`))
	f.Add([]byte(`{"eos_token_id": [1, 2.5], "text_config": {"text_config": {}}, "model_max_length": 1e400}`))
	names := []string{"tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "config.json", "chat_template.json", "chat_template.jinja"}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := modelfile.Open(dir, modelfile.Options{}); err != nil && !errors.Is(err, modelfile.ErrMalformed) {
			t.Errorf("%v", err)
		}
	})
}
