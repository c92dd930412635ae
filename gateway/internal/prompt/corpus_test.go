package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/prompt"
)

// data is a path in the folder of real templates beside the repository; a test without it is skipped.
func data(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			path := filepath.Join(filepath.Dir(dir), "shared", "data", "templates", name)
			if _, err := os.Stat(path); err != nil {
				tb.Skipf("SKIPPED: no real templates beside the repository: %v", err)
			}
			return path
		}
	}
	tb.Fatal("no go.mod above the test")
	return ""
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// tokens are those of the truth beside the templates.
func tokens() map[string]string {
	return map[string]string{"bos_token": "<|bos|>", "eos_token": "<|eos|>", "unk_token": "<unk>", "pad_token": "<pad>"}
}

// ends are tokens that end turns in the families of the templates.
func ends() []string {
	return []string{
		"<|eos|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<end_of_turn>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "</s>",
		"<|end|>", "<|call|>", "<|return|>", "<|user|>", "<|observation|>", "<|END_OF_TURN_TOKEN|>", "[e~[", "<SPECIAL_12>", "[|endofturn|]", "<|eom|>", "<|eot|>",
		"<|end_of_msg|>", "<|endoftext|>", "<|calls|>", "<|content_model_end_sampling|>", "<|end_of_role|>", "<｜hy_eos:opensource｜>", "<end_of_sentence>", "<end_of_utterance>", "<sep>", "<|end_of_turn|>", "</assistant>",
	}
}

// corpus gives each real template's name and text.
func corpus(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(data(tb, "jinja"), "*.jinja"))
	if err != nil || len(files) < 190 {
		tb.Fatalf("%d templates: %v", len(files), err)
	}
	out := make(map[string]string, len(files))
	for _, f := range files {
		out[strings.TrimSuffix(filepath.Base(f), ".jinja")] = read(tb, f)
	}
	return out
}

// clock is the time at which the truth beside the templates was made.
func clock() time.Time { return time.Date(2026, 8, 15, 12, 34, 56, 0, time.UTC) }

// shared are models of all real templates, made once for all tests: to probe them is most of the work.
var shared struct { //nolint:gochecknoglobals // of tests
	once   sync.Once
	models map[string]*prompt.Model
}

func corpusModels(tb testing.TB) map[string]*prompt.Model {
	tb.Helper()
	all := corpus(tb)
	shared.once.Do(func() {
		shared.models = make(map[string]*prompt.Model, len(all))
		for name, src := range all {
			shared.models[name] = model(tb, src)
		}
	})
	return shared.models
}

func model(tb testing.TB, template string) *prompt.Model {
	tb.Helper()
	m, err := prompt.New(tb.Context(), prompt.Source{Template: template, Tokens: tokens(), Ends: ends(), Now: clock})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
