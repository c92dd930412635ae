package modelfile_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/modelfile"
)

// TestDetectOwn is about formats that no template of the reference data has.
func TestDetectOwn(t *testing.T) {
	for _, c := range []struct {
		name, template           string
		tokens                   []string
		family, reasoning, tools string
		warns                    bool
	}{
		{"nothing", "", nil, "", "", "", false},
		{"plain turns", "{{ messages[0].content }}", nil, "", "", "", false},
		{"Kimi K3", `{{ '<|open|>call tool="x"<|sep|>' }}{{ '<|close|>call<|sep|>' }}`, nil, "kimi_k3", "kimi_k3", "kimi_k3", false},
		{"MiniMax M3", "]<]minimax[>[<tool_call> <mm:think>", nil, "minimax_m3", "minimax_m3", "minimax_m3", false},
		{"Inkling", "<|message_model|><|content_invoke_tool_json|>", nil, "inkling", "inkling", "inkling", false},
		{"Seed-OSS", "<seed:think> <seed:tool_call>", nil, "seed_oss", "seed_oss", "seed_oss", false},
		{"LongCat", "{{ tools }}<longcat_tool_call>", nil, "", "", "longcat", false},
		{"Hunyuan A13B", "<tool_calls>[] <think> <answer>", nil, "hunyuan_a13b", "hunyuan_a13b", "hunyuan_a13b", false},
		{"ERNIE 4.5", "<think> <response> <tool_call>", nil, "ernie4.5", "ernie45", "ernie45", false},
		{"Step-3", `<steptml:invoke name="x">`, nil, "step3", "step3", "step3", false},
		{"Olmo 3", "{{ tools }}<function_calls>", nil, "", "", "olmo3", false},
		{"dots", "{{ tools }}<dots_function_call><invoke name=", nil, "", "", "dots", false},
		{"MiMo", "You are MiMo. <|im_start|> <tool_call><function= <parameter= <think> </think> enable_thinking", nil, "mimo", "qwen3", "mimo", false},
		{"QwQ", `<|im_start|><tool_call>{"arguments"}{% if add_generation_prompt %}{{ "<think>\n" }}`, nil, "qwq", "qwen3", "hermes", false},
		{"other tagged XML", "{{ tools }}<tool_call><function=a><parameter=b>", nil, "", "", "qwen3_coder", false},
		{"other tagged JSON", `{{ tools }}<tool_call>{"name", "arguments"}`, nil, "", "", "hermes", false},
		{"other pairs", "{{ tools }}<tool_call>x<arg_key>k</arg_key><arg_value>v</arg_value>", nil, "", "", "glm45", false},
		{"other thinking", "<think>x</think>", nil, "", "think", "", false},
		{"tools in no known format", "{{ tools | tojson }}", nil, "", "", "", true},
		{"reasoning in no known format", "{{ m.reasoning_content }}", nil, "", "", "", true},
		{"markers in comments", "{# <tool_call> <function= <parameter= #}{# <think></think> #}{{ messages }}", nil, "", "", "", false},
		{"a comment without end", "{{ tools }}{# <longcat_tool_call>", nil, "", "", "longcat", false},
		{"V4.1 is no V4", "{{ '<' + dsml_token + ' calls>' }}{% set dsml_token = '｜DSML｜' %}{{ m['tool_calls'] }}", nil, "", "deepseek_v3", "deepseek_v41", false},
		{"some other DSML", "{% set dsml_token = '｜DSML｜' %}{{ m['tool_calls'] }}", nil, "", "", "", true},
		{"the vocabulary has the marker", "{{ tools }}", []string{"<|tool_call_start|>"}, "", "", "lfm2", false},
		{"the template goes first", "{{ tools }}<longcat_tool_call>", []string{"<|tool_call_start|>"}, "", "", "longcat", false},
		{"the vocabulary alone is not enough to reason", "{{ messages }}", []string{"<think>", "</think>"}, "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := modelfile.Detect(c.template, func(token string) bool { return strings.Contains(strings.Join(c.tokens, "\n"), token) })
			if d.Family.Name != c.family || d.Reasoning.Name != c.reasoning || d.Tools.Name != c.tools || len(d.Warnings) > 0 != c.warns {
				t.Errorf("got %+v, want %q %q %q, warnings: %v", d, c.family, c.reasoning, c.tools, c.warns)
			}
		})
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("{% if add_generation_prompt %}<think>\\n</think>")
	f.Add("{#{#}#}<think>")
	f.Fuzz(func(t *testing.T, template string) {
		d := modelfile.Detect(template, nil)
		if d.Family.Why == "" || d.Reasoning.Why == "" || d.Tools.Why == "" {
			t.Errorf("no reason: %+v", d)
		}
	})
}
