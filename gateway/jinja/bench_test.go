package jinja_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/gateway/jinja"
)

// BenchmarkRender renders 200 KB of chat with templates of several families.
func BenchmarkRender(b *testing.B) {
	vars := variables(b, read(b, data(b, "big.json")))
	for _, c := range []struct{ name, file string }{
		{"Qwen3", "lcpp__Qwen-Qwen3-0.6B"},
		{"Llama-3.1", "trl__llama3_training"},
		{"Llama-3.2", "lcpp__meta-llama-Llama-3.2-3B-Instruct"},
		{"Llama-3.2-json", "vllm__tool_chat_template_llama3.2_json"},
		{"DeepSeek-V3.1", "lcpp__deepseek-ai-DeepSeek-V3.1"},
		{"Kimi-K2.5", "smg__kimi_k25"},
		{"GLM-5.2", "iklcpp__GLM-5.2"},
		{"Qwen3.5", "axo__qwen3_5"},
		{"gpt-oss", "lcpp__openai-gpt-oss-120b"},
		{"gemma-4", "lcpp__google-gemma-4-31B-it"},
		{"Reka-Edge", "lcpp__Reka-Edge"},
	} {
		path := filepath.Join(data(b, "jinja"), c.file+".jinja")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		tpl, err := jinja.Compile(string(read(b, path)), jinja.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range []struct {
			name string
			opt  jinja.RenderOptions
		}{{"plain", jinja.RenderOptions{Now: clock}}, {"origins", jinja.RenderOptions{Now: clock, Origins: true}}} {
			b.Run(c.name+"/"+o.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := tpl.Render(b.Context(), vars, o.opt)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(r.Text)))
				}
			})
		}
	}
}
