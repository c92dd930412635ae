package wire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/gateway/jinja"
)

// templateDir is the folder of real templates beside the repository; a test without it is skipped.
func templateDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		data := filepath.Join(filepath.Dir(dir), "shared", "data", "templates", "jinja")
		if _, err := os.Stat(data); err != nil {
			tb.Skipf("SKIPPED: no real templates beside the repository: %v", err)
		}
		return data
	}
	tb.Fatal("no go.mod above the test")
	return ""
}

// The turns that templates are shown. Keys and separators are as Python prints JSON.
var (
	reason  = wire.Block{Kind: wire.Reasoning, Text: "Two lakes,\ntwo \"levels\"."}
	said    = wire.Block{Kind: wire.Text, Text: "Both, then: é < 日本."}
	level   = wire.Block{Kind: wire.Call, Name: "lake_level", Arguments: `{"days": 3, "lake": "Zürich\n\"see\"", "opts": {"raw": true, "ids": [1, "x"]}}`, ID: "a1b2c3d4e"}
	weather = wire.Block{Kind: wire.Call, Name: "weather", Arguments: `{"place": "Uri"}`, ID: "f5g6h7i8j"}
)

// turns are what templates are shown, in the order of turnNames.
var (
	turnNames = []string{"answer", "thought", "call", "calls", "said", "all", "no words"}
	turns     = map[string][]wire.Block{
		"answer":   {said},
		"thought":  {reason, said},
		"call":     {weather},
		"calls":    {level, weather},
		"said":     {said, level, weather},
		"all":      {reason, said, level, weather},
		"no words": {reason, level, weather},
	}
)

// family is a template with the formats that its models write.
type family struct {
	template         string
	reasoning, tools string
	ends             []string          // what the template writes after a turn
	ids              [2]string         // of the calls, where the format has them
	differs          map[string]string // turns that it writes in another way, with the reason; * is all
}

// Reasons for which a template writes a turn in another way than its model.
const (
	forgets  = "it leaves out what was thought"
	silences = "it leaves out text beside calls"
	refuses  = "it raises"
	breaks   = "it appends to a list, which is not allowed"
)

var (
	chatml  = []string{"<|im_end|>\n"}
	seek    = []string{"<｜end▁of▁sentence｜>"}
	mistral = []string{"</s>", ""}
	llama   = []string{"<|eot_id|>"}
	// Its turns end with a line of their own, which a parser could not tell from content.
	nemotron = []string{"<|im_end|>\n", "\n<|im_end|>\n"}
	// It writes the header of the next turn, too.
	cohere = []string{
		"<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
		"<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>",
	}
	kimiIDs = [2]string{"functions.lake_level:0", "functions.weather:1"}
)

var families = []family{
	{template: "lcpp__Qwen-Qwen2.5-7B-Instruct", tools: "hermes", ends: chatml},
	{template: "lcpp__Qwen-Qwen3-0.6B", reasoning: "qwen3", tools: "hermes", ends: chatml},
	{template: "ardan__Qwen3.6-35B-A3B-UD-Q4_K_M", reasoning: "qwen3", tools: "qwen3_coder", ends: chatml},
	{template: "lcpp__Qwen3-Coder", tools: "qwen3_coder", ends: chatml},
	{template: "lcpp__ibm-granite-granite-4.0", tools: "granite4", ends: []string{"<|end_of_text|>\n"}},
	{template: "lcpp__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", reasoning: "nemotron_v3", tools: "nemotron_v3", ends: nemotron},
	{template: "lcpp__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", reasoning: "nemotron_v3", tools: "qwen3_coder", ends: nemotron},
	{template: "lcpp__StepFun3.5-Flash", reasoning: "step3p5", tools: "step3p5", ends: chatml},
	{template: "lcpp__NVIDIA-Nemotron-Nano-v2", reasoning: "nemotron_deci", tools: "nemotron_deci", ends: []string{"<SPECIAL_12>\n\n", "\n<SPECIAL_12>\n"}, differs: map[string]string{
		"thought": forgets, "all": forgets, "no words": forgets, "said": "it makes two turns of one",
	}},
	{template: "lcpp__unsloth-Apriel-1.5", tools: "jamba", ends: []string{"\n<|end|>\n"}, differs: map[string]string{
		"call": "a line end stands before the first call too", "calls": "a line end stands before the first call too",
	}},
	{template: "lcpp__MiniMax-M1", tools: "minimax", ends: []string{"<end_of_sentence>\n"}, differs: map[string]string{"said": silences}},
	{template: "lcpp__MiniMax-M2", reasoning: "minimax_m2", tools: "minimax_m2", ends: []string{"[e~[\n"}},
	{template: "vllm__tool_chat_template_deepseekr1", reasoning: "deepseek_r1", tools: "deepseek_v3", ends: seek, differs: map[string]string{
		"thought": forgets, "all": forgets, "no words": forgets,
	}},
	{template: "lcpp__deepseek-ai-DeepSeek-V3.1", reasoning: "deepseek_v3", tools: "deepseek_v31", ends: seek, differs: map[string]string{
		"thought": forgets, "all": forgets, "no words": forgets,
	}},
	{template: "lcpp__deepseek-ai-DeepSeek-V3.2", reasoning: "deepseek_v3", tools: "deepseek_v32", ends: seek},
	{template: "lcpp__deepseek-ai-DeepSeek-V4", reasoning: "deepseek_v4", tools: "deepseek_v4", ends: seek},
	{template: "lcpp__deepseek-ai-DeepSeek-V4-Flash-0731", reasoning: "deepseek_v4", tools: "deepseek_v4", ends: seek},
	{template: "smg__kimi_k25", reasoning: "kimi_k2", tools: "kimi_k2", ends: []string{"<|im_end|>"}, ids: kimiIDs, differs: map[string]string{"thought": forgets}},
	{template: "lcpp__Kimi-K2-Instruct", tools: "kimi_k2", ends: []string{"<|im_end|>"}, ids: kimiIDs, differs: map[string]string{"call": breaks, "calls": breaks, "said": breaks}},
	{template: "lcpp__GLM-4.6", reasoning: "glm45", tools: "glm45"},
	{template: "lcpp__GLM-4.7-Flash", reasoning: "glm45", tools: "glm47"},
	{template: "iklcpp__GLM-5.2", reasoning: "glm45", tools: "glm47"},
	{template: "lcpp__poolside-Laguna-S-2.1", reasoning: "poolside_v1", tools: "poolside_v1", ends: []string{"</assistant>\n"}},
	{template: "lcpp__tencent-Hy3", reasoning: "hy_v3", tools: "hy_v3", ends: []string{"<｜hy_eos:opensource｜>"}},
	{template: "lcpp__google-gemma-4-31B-it", reasoning: "gemma4", tools: "gemma4", ends: []string{"<turn|>\n", "<|tool_response>"}, differs: map[string]string{
		"thought": forgets, "said": "it puts text behind calls", "all": "it puts text behind calls",
	}},
	{template: "vllm__tool_chat_template_functiongemma", tools: "functiongemma", ends: []string{"<end_of_turn>"}, differs: map[string]string{
		"answer": "the prompt ends before a line end", "calls": "objects are in Python's words", "said": silences,
	}},
	{template: "lcpp__openai-gpt-oss-120b", reasoning: "openai_gptoss", tools: "openai", ends: []string{"<|return|>"}, differs: map[string]string{
		"call": "headers of history have another order", "calls": "one call is a turn", "said": "likewise", "no words": "likewise", "all": refuses,
	}},
	{template: "lcpp__muse-glimmer", reasoning: "muse_glimmer", tools: "muse_glimmer", ends: []string{"<|eot|>"}, differs: map[string]string{"said": silences, "all": silences}},
	{template: "lcpp__upstage-Solar-Open-100B", reasoning: "solar_open", tools: "solar_open", ends: []string{"<|end|>", "<|calls|>"}, ids: [2]string{"a1b2c3d4e5", "f6g7h8i9j0"}, differs: map[string]string{
		"said": silences, "all": silences,
	}},
	{template: "lcpp__Cohere2MoE", reasoning: "cohere_command4", tools: "cohere_command4", ends: []string{"<|END_OF_TURN_TOKEN|>"}, differs: map[string]string{"said": silences, "all": silences}},
	{template: "lcpp__CohereForAI-c4ai-command-r7b-12-2024-tool_use", reasoning: "cohere_command3", tools: "cohere_command3", ends: cohere, differs: map[string]string{
		"thought": forgets, "said": silences, "all": silences,
	}},
	{template: "lcpp__unsloth-mistral-Devstral-Small-2507", tools: "mistral", ends: mistral},
	{template: "ardan__Mistral-Medium-3.5-128B-GGUF", reasoning: "mistral", tools: "mistral", ends: mistral},
	{template: "lcpp__Mistral-Small-3.2-24B-Instruct-2506", tools: "mistral", ends: mistral, differs: map[string]string{
		"call": "it writes ids", "calls": "it writes ids", "said": silences,
	}},
	{template: "vllm__tool_chat_template_internlm2_tool", tools: "internlm", ends: chatml},
	{template: "vllm__tool_chat_template_granite", tools: "granite", ends: []string{"<|end_of_text|>\n"}, differs: map[string]string{
		"call": "it indents", "calls": "it indents", "said": silences,
	}},
	{template: "vllm__tool_chat_template_xlam_qwen", tools: "xlam", ends: chatml, differs: map[string]string{"said": silences}},
	{template: "vllm__tool_chat_template_xlam_llama", tools: "xlam", ends: llama, differs: map[string]string{"said": silences}},
	{template: "vllm__tool_chat_template_llama3.2_json", tools: "llama3_json", ends: llama, differs: map[string]string{"calls": refuses, "said": refuses}},
	{template: "lcpp__meta-llama-Llama-3.2-3B-Instruct", tools: "llama3_json", ends: llama, differs: map[string]string{"calls": refuses, "said": refuses}},
	{template: "vllm__tool_chat_template_llama4_json", tools: "llama4_json", ends: []string{"\n<|eot|>", "<|eot|>"}, differs: map[string]string{"answer": "the prompt has no header"}},
	{template: "vllm__tool_chat_template_llama4_pythonic", tools: "pythonic", ends: []string{"<|eot|>"}, differs: map[string]string{
		"calls": "it puts quotes around all values, and escapes none", "said": "likewise",
	}},
	{template: "lcpp__LFM2.5-8B-A1B", reasoning: "think", tools: "lfm2", ends: chatml, differs: map[string]string{
		"calls": "it escapes nothing in strings", "said": "likewise", "all": "likewise", "no words": "likewise",
	}},
}

func str(s string) jinja.Value { return jinja.Text(s, jinja.Origin{}) }

func object(tb testing.TB, doc string) jinja.Value {
	tb.Helper()
	v, err := jinja.FromJSON([]byte(doc), jinja.Origin{})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// message is the assistant's message of a turn.
func message(tb testing.TB, blocks []wire.Block) jinja.Value {
	tb.Helper()
	var calls []jinja.Value
	members := []jinja.Member{{Name: "role", Value: str("assistant")}}
	content := ""
	for _, b := range blocks {
		switch b.Kind {
		case wire.Reasoning:
			for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
				members = append(members, jinja.Member{Name: name, Value: str(b.Text)})
			}
		case wire.Text:
			content = b.Text
		case wire.Call:
			calls = append(calls, jinja.Object(
				jinja.Member{Name: "id", Value: str(b.ID)}, jinja.Member{Name: "type", Value: str("function")},
				jinja.Member{Name: "function", Value: jinja.Object(
					jinja.Member{Name: "name", Value: str(b.Name)}, jinja.Member{Name: "arguments", Value: object(tb, b.Arguments)},
				)},
			))
		}
	}
	members = append(members, jinja.Member{Name: "content", Value: str(content)})
	if calls != nil {
		members = append(members, jinja.Member{Name: "tool_calls", Value: jinja.List(calls...)})
	}
	return jinja.Object(members...)
}

// written is what a template writes for a turn, and the end of the prompt that stands before it. Where the
// template shows no block of a turn without thoughts, the tail says that there is none.
func written(tb testing.TB, tpl *jinja.Template, blocks []wire.Block) (turn, tail string, err error) {
	tb.Helper()
	user := object(tb, `{"role": "user", "content": "How high are the lakes?"}`)
	tools := object(tb, `[{"type":"function","function":{"name":"lake_level","description":"Level of a lake","parameters":{"type":"object","properties":{"days":{"type":"integer","description":"d"},"lake":{"type":"string","description":"l"},"opts":{"type":"object","description":"o"}},"required":["lake"]}}},
		{"type":"function","function":{"name":"weather","description":"Weather","parameters":{"type":"object","properties":{"place":{"type":"string","description":"p"}},"required":["place"]}}}]`)
	thinks := jinja.Bool(blocks[0].Kind == wire.Reasoning)
	render := func(generate bool, messages ...jinja.Value) (string, error) {
		r, err := tpl.Render(tb.Context(), map[string]jinja.Value{
			"messages": jinja.List(messages...), "tools": tools, "add_generation_prompt": jinja.Bool(generate),
			"enable_thinking": thinks, "thinking": thinks, "bos_token": str(""), "eos_token": str(""),
		}, jinja.RenderOptions{Now: time.Date(2026, 8, 15, 0, 0, 0, 0, time.UTC)})
		return string(r.Text), err
	}
	prompt, err := render(true, user)
	if err != nil {
		return "", "", err
	}
	whole, err := render(false, user, message(tb, blocks))
	if err != nil {
		return "", "", err
	}
	n := common(prompt, whole)
	if at := strings.LastIndexByte(prompt[:n], '<'); n < len(prompt) && strings.IndexByte(prompt[at+1:n], '>') < 0 {
		n = at // a marker begins there, in both
	}
	tail = prompt[max(0, n-100):n]
	const over = "</think>"
	if blocks[0].Kind != wire.Reasoning && !strings.Contains(whole[n:], over) && !strings.Contains(tail, over) {
		tail += over + "\n\n"
	}
	return whole[n:], tail, nil
}

// common is the length of what two texts begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// with are blocks whose calls have other ids.
func with(blocks []wire.Block, ids [2]string) []wire.Block {
	if ids[0] == "" {
		return blocks
	}
	out := slices.Clone(blocks)
	for i := range out {
		switch out[i].Name {
		case level.Name:
			out[i].ID = ids[0]
		case weather.Name:
			out[i].ID = ids[1]
		}
	}
	return out
}

// The families' own templates write the same turns, but for the differences listed.
func TestTemplates(t *testing.T) {
	t.Parallel()
	dir := templateDir(t)
	equal := 0
	for _, f := range families {
		src, err := os.ReadFile(filepath.Join(dir, f.template+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		tpl, err := jinja.Compile(string(src), jinja.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := mustFor(t, f.reasoning, f.tools)
		for _, name := range turnNames {
			blocks := with(turns[name], f.ids)
			if f.reasoning == "" && blocks[0].Kind == wire.Reasoning {
				continue
			}
			if err := agrees(t, s, tpl, blocks, f.ends); err == nil {
				equal++
				if f.differs[name] != "" {
					t.Errorf("%s, %s is said to differ (%s), and does not", f.template, name, f.differs[name])
				}
			} else if f.differs[name] == "" {
				t.Errorf("%s with %s and %s, %s: %v", f.template, f.reasoning, f.tools, name, err)
			}
		}
	}
	t.Logf("%d turns are equal", equal)
}

// agrees compares what a style and a template write for a turn.
func agrees(tb testing.TB, s *wire.Style, tpl *jinja.Template, blocks []wire.Block, ends []string) error {
	tb.Helper()
	want, tail, err := written(tb, tpl, blocks)
	if err != nil {
		return err
	}
	got, err := s.Append(nil, tail, blocks)
	if err != nil {
		return err
	}
	for _, end := range append(ends, "") {
		if string(got)+end == want {
			return nil
		}
	}
	n := max(0, common(string(got), want)-20)
	return fmt.Errorf("after %q\ngot  %q\nwant %q", tail[max(0, len(tail)-30):], got[n:min(len(got), n+80)], want[n:min(len(want), n+80)])
}
