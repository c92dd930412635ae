package openai_test

import (
	"testing"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

func open(tb testing.TB, cfg openai.Config) *openai.Engine {
	tb.Helper()
	e, err := openai.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

func TestContract(t *testing.T) {
	for name, cfg := range map[string]openai.Config{
		"completions":     {Tokenizer: openai.TokenizeVLLM},
		"vllm":            {PromptIDs: true, Extras: true, Special: []openai.Special{{Text: "<think>", ID: 7}}},
		"raw chat":        {Mode: openai.Chat, Tokenizer: openai.TokenizeVLLM},
		"structured chat": {Mode: openai.Chat, Structured: true},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, enginetest.Factory{HTTP: true, Open: func(tb testing.TB, base string) engines.Engine {
				tb.Helper()
				cfg.BaseURL = base
				return open(tb, cfg)
			}})
		})
	}
}
