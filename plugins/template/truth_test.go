package template_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
)

// templates are chat templates by policy, whose renderings the policy has to agree with. A template that
// takes reasoning under another name than the conversations have is not among them.
var templates = map[string][]string{
	"qwen3":              {"lcpp__Qwen-Qwen3-0.6B", "ardan__Qwen3-8B-Q8_0"},
	"qwen3.6":            {"ardan__Qwen3.6-35B-A3B-UD-Q4_K_M"},
	"qwen3.8":            {"ollama__qwen38_chat_template"},
	"qwen2.5":            {"lcpp__Qwen-Qwen2.5-7B-Instruct", "lcpp__Qwen3-Coder"},
	"nemotron3":          {"lcpp__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "ollama__nemotron3nano_chat_template"},
	"nemotron3_super":    {"ardan__NVIDIA-Nemotron-3-Super"},
	"nemotron3_ultra":    {"trl__nemotron_3_ultra"},
	"step3.5":            {"lcpp__StepFun3.5-Flash"},
	"smollm3":            {"mrs__smollm3"},
	"bielik":             {"lcpp__Bielik-11B-v3.0-Instruct"},
	"reka":               {"lcpp__Reka-Edge"},
	"exaone4":            {"axo__exaone4"},
	"deepseek_r1":        {"lcpp__llama-cpp-deepseek-r1", "lcpp__deepseek-ai-DeepSeek-R1-Distill-Llama-8B"},
	"deepseek_v3_1":      {"vllm__tool_chat_template_deepseekv31"},
	"deepseek_v3_2":      {"lcpp__deepseek-ai-DeepSeek-V3.2"},
	"deepseek_v4":        {"lcpp__deepseek-ai-DeepSeek-V4", "lcpp__deepseek-ai-DeepSeek-V4-Flash-0731"},
	"kimi_k2":            {"lcpp__Kimi-K2-Thinking"},
	"kimi_k2.5":          {"smg__kimi_k25"},
	"glm4.5":             {"lcpp__GLM-4.6", "iklcpp__GLM-4.6"},
	"glm4.7":             {"lcpp__GLM-4.7-Flash"},
	"glm5.2":             {"iklcpp__GLM-5.2"},
	"laguna_s":           {"lcpp__poolside-Laguna-S-2.1"},
	"laguna_xs":          {"lcpp__poolside-Laguna-XS-2.1"},
	"minimax_m2":         {"lcpp__MiniMax-M2"},
	"muse_glimmer":       {"lcpp__muse-glimmer"},
	"gemma4":             {"lcpp__google-gemma-4-31B-it", "ctp__gemma4-12B-it"},
	"hy3":                {"lcpp__tencent-Hy3"},
	"granite3":           {"lcpp__ibm-granite-granite-3.3-2B-Instruct"},
	"apriel1.6":          {"lcpp__Apriel-1.6-15b-Thinker-fixed"},
	"cohere_command4":    {"lcpp__Cohere2MoE"},
	"mistral_medium_3.5": {"ardan__Mistral-Medium-3.5-128B-GGUF"},
}

// deaf are those that do not read the argument by which the conversations switch thinking.
var deaf = []string{"vllm__tool_chat_template_deepseekv31", "lcpp__Cohere2MoE", "ardan__Mistral-Medium-3.5-128B-GGUF", "lcpp__tencent-Hy3"}

// sample is a conversation as chat templates take it.
type sample struct {
	Messages []struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			Function struct{ Name string }
		} `json:"tool_calls"`
	}
	Tools    []json.RawMessage
	Enable   *bool `json:"enable_thinking"`
	Thinking *bool
}

// outline is the conversation's, and the texts of its reasoning by part.
func (s *sample) outline() (*plan.Outline, map[[2]int]string) {
	o := &plan.Outline{}
	thoughts := map[[2]int]string{}
	last := -1
	for i, m := range s.Messages {
		if m.Role == "user" {
			last = i
		}
	}
	for i, m := range s.Messages {
		part := 0
		add := func(role conv.Role, kind conv.PartKind, name string) {
			r := plan.Row{Message: uint32(i), Part: uint16(part), Role: uint8(role), Kind: uint8(kind), Name: name, Length: 1}
			if i == last {
				r.Flags = plan.RowLastUser
			}
			o.Rows = append(o.Rows, r)
			part++
		}
		switch m.Role {
		case "system":
			add(conv.System, conv.Text, "")
		case "user":
			add(conv.User, conv.Text, "")
		case "tool":
			add(conv.Tool, conv.Result, "call")
		case "assistant":
			if m.Reasoning != "" {
				thoughts[[2]int{i, part}] = strings.TrimSpace(m.Reasoning)
				add(conv.Assistant, conv.Reasoning, "")
			}
			if m.Content != "" {
				add(conv.Assistant, conv.Text, "")
			}
			for _, c := range m.Calls {
				add(conv.Assistant, conv.Call, c.Function.Name)
			}
		}
	}
	kwargs := map[string]bool{}
	if s.Enable != nil {
		kwargs["enable_thinking"] = *s.Enable
	}
	if s.Thinking != nil {
		kwargs["thinking"] = *s.Thinking
	}
	o.Switches, _ = json.Marshal(map[string]any{"kwargs": kwargs, "tools": len(s.Tools)})
	return o, thoughts
}

// data is the folder of the templates beside the repository; without it the test is skipped.
func data(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		} else if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the package")
		}
	}
	path := filepath.Join(dir, "..", "shared", "data", "templates")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skip("NOT CHECKED against real chat templates: their renderings are not beside the repository")
	}
	return path
}

func load(t *testing.T, into any, path ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// TestAgainstTemplates compares plans with what the vendors' templates render: the same reasoning is there,
// and the prompt ends as the plan says.
func TestAgainstTemplates(t *testing.T) {
	t.Parallel()
	dir := data(t)
	for policy, names := range templates {
		for _, name := range names {
			var truth map[string]struct {
				OK  bool
				Out string
			}
			load(t, &truth, dir, "truth", name+".json")
			for _, fixture := range []string{"08_reasoning", "09_interleaved", "10_think_off"} {
				silent := slices.Contains(deaf, name)
				if !truth[fixture].OK || silent && fixture == "10_think_off" {
					continue
				}
				t.Run(policy+"/"+name+"/"+fixture, func(t *testing.T) {
					var s sample
					load(t, &s, dir, "fixtures", fixture+".json")
					if silent {
						s.Enable = nil
					}
					o, thoughts := s.outline()
					agree(t, run(t, `{"policy":"`+policy+`"}`, o), thoughts, truth[fixture].Out)
				})
			}
		}
	}
}

func agree(t *testing.T, ops []plan.Op, thoughts map[[2]int]string, out string) {
	t.Helper()
	dropped := map[[2]int]bool{}
	tail, state := "", plan.StartAuto
	for _, op := range ops {
		switch op.Kind {
		case plan.PartOp:
			dropped[[2]int{int(op.Message), int(op.Part)}] = op.Action == plan.Drop
		case plan.TailOp:
			tail = op.Value
		case plan.StartOp:
			state = op.State
		}
	}
	for at, text := range thoughts {
		if printed := strings.Contains(out, text); printed == dropped[at] {
			t.Errorf("part %v: dropped is %v, printed by the template is %v", at, dropped[at], printed)
		}
	}
	end := out[max(0, len(out)-60):]
	if !strings.HasSuffix(out, tail) {
		t.Errorf("the prompt ends in %q, the plan says %q", end, tail)
	}
	switch trimmed := strings.TrimSpace(out); {
	case tail == "" && state == plan.StartAuto && strings.HasSuffix(trimmed, "think>"):
		t.Errorf("the prompt ends in %q, the plan says nothing of it", end)
	case state == plan.StartContent && strings.HasSuffix(trimmed, "<think>"):
		t.Errorf("the prompt ends in %q, the plan says content", end)
	}
}
