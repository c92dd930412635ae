package wire

import "slices"

// think is how a family writes reasoning.
type think struct {
	open, close string   // with the white space that belongs to them
	lead        string   // before an opener that begins the turn
	inside      bool     // a turn begins in reasoning where the prompt does not tell
	plain       bool     // its markers are ordinary text
	near        bool     // calls with tagged parameters begin on the line after text
	frame       *frame   // of a format of messages
	tokens      []string // its markers that are tokens
}

// Messages of the formats that have them.
var (
	// harmony's last message ends with a stop token, as does one with a call.
	harmonyFrame = frame{
		between: "<|end|><|start|>assistant", text: "<|channel|>final<|message|>", comment: "<|channel|>commentary<|message|>",
		tokens: []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|call|>", "<|end|>", "<|return|>"},
	}
	museFrame = frame{
		between: "<|eom|><|start|>assistant", text: " to=user<|message|>", tokens: []string{"<|start|>", "<|message|>", "<|eom|>", "<|eot|>"},
	}
	inklingFrame = frame{
		begin: "<|message_model|>", between: "<|end_message|><|message_model|>", text: "<|content_text|>", end: "<|end_message|>",
		tokens: []string{"<|message_model|>", "<|content_text|>", "<|content_thinking|>", "<|content_invoke_tool_json|>", "<|end_message|>", "<|content_model_end_sampling|>"},
	}
	solarFrame = frame{
		between: "<|end|><|begin|>assistant", text: "<|content|>", tokens: []string{"<|begin|>", "<|end|>", "<|content|>"},
	}
	kimiFrame = frame{
		text: "<|open|>response<|sep|>", textEnd: "<|close|>response<|sep|>", end: "<|close|>message<|sep|>",
		tokens: []string{"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"},
	}
	cohere3Frame = frame{
		text: "<|START_RESPONSE|>", textEnd: "<|END_RESPONSE|>", tokens: []string{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
	}
	cohere4Frame = frame{
		text: "<|START_TEXT|>", textEnd: "<|END_TEXT|>", tokens: []string{"<|START_TEXT|>", "<|END_TEXT|>"},
	}
)

// thinks are the styles of reasoning by the names of their parsers. Their white space is that of the
// families' templates.
var thinks = []struct {
	names []string
	style think
}{
	{[]string{"think", "basic", "qwen3", "nemotron_deci", "holo2", "olmo3", "minicpm5"}, think{open: "<think>\n", close: "\n</think>\n\n"}},
	{[]string{"deepseek_r1", "minimax_m2", "minimax"}, think{open: "<think>\n", close: "\n</think>\n\n", inside: true}},
	{[]string{"glm45", "glm47"}, think{open: "<think>", close: "</think>\n", lead: "\n"}},
	{[]string{"deepseek_v3", "deepseek_v3_1", "deepseek_v31", "deepseek_v32", "deepseek_v4", "deepseek_v41"}, think{open: "<think>", close: "</think>", inside: true}},
	{[]string{"kimi_k2", "kimi_k25", "ling3", "poolside_v1"}, think{open: "<think>", close: "</think>"}},
	{[]string{"nemotron3", "nemotron_nano", "nemotron_v3", "nano_v3"}, think{open: "<think>\n", close: "\n</think>\n", inside: true, near: true}},
	{[]string{"step3", "step3p5"}, think{open: "<think>\n", close: "\n</think>\n", inside: true}},
	{[]string{"ernie45"}, think{open: "<think>\n", close: "\n</think>\n\n", inside: true}},
	{[]string{"mimo"}, think{open: "<think>", close: "</think>"}},
	{[]string{"kimi"}, think{open: "◁think▷", close: "◁/think▷"}},
	{[]string{"mistral"}, think{open: "[THINK]", close: "[/THINK]"}},
	{[]string{"seed_oss"}, think{open: "<seed:think>", close: "</seed:think>\n"}},
	{[]string{"hy_v3"}, think{open: "<think:opensource>", close: "</think:opensource>", plain: true}},
	{[]string{"minimax_m3"}, think{open: "<mm:think>", close: "</mm:think>", inside: true}},
	{[]string{"apertus"}, think{open: "<|inner_prefix|>", close: "<|inner_suffix|>"}},
	{[]string{"gemma4"}, think{open: "<|channel>thought\n", close: "\n<channel|>", tokens: []string{"<|channel>", "<channel|>"}}},
	{[]string{"cohere_command3", "cohere_cmd"}, think{open: "<|START_THINKING|>", close: "<|END_THINKING|>", frame: &cohere3Frame}},
	{[]string{"cohere_command4"}, think{open: "<|START_THINKING|>", close: "<|END_THINKING|>", frame: &cohere4Frame}},
	{[]string{"openai_gptoss", "gpt_oss"}, think{open: "<|channel|>analysis<|message|>", frame: &harmonyFrame, tokens: harmonyFrame.tokens}},
	{[]string{"muse_glimmer"}, think{open: " to=self<|message|>", frame: &museFrame, tokens: museFrame.tokens}},
	{[]string{"inkling"}, think{open: "<|content_thinking|>", frame: &inklingFrame}},
	{[]string{"solar_open"}, think{open: "<|think|>", frame: &solarFrame}},
	{[]string{"kimi_k3"}, think{open: "<|open|>think<|sep|>", close: "<|close|>think<|sep|>", inside: true, frame: &kimiFrame, tokens: kimiFrame.tokens}},
}

// findThink returns the style of that name, nil if there is none.
func findThink(name string) *think {
	for i := range thinks {
		if slices.Contains(thinks[i].names, name) {
			return &thinks[i].style
		}
	}
	return nil
}
