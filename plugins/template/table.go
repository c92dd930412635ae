package template

import "github.com/weirgate/weir/abi/plan"

// table has a row for each family, from the chat templates its vendor publishes. Where a template is not
// known to drop reasoning, nothing is dropped.
var table = [...]family{
	// Qwen, and what is like it.
	{
		names: []string{"qwen3"}, replay: replayLoop, rounds: true,
		toggle: enableThinking, start: startModel, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"qwen3.5", "qwen3_5", "qwen35"}, replay: replayLoop, rounds: true,
		toggle: enableThinking, start: startPrompt, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"qwen3.6", "qwen3_6", "qwen36"}, replay: replayLoop, history: history{arg: argPreserveThinking, all: on}, rounds: true,
		toggle: enableThinking, start: startPrompt, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"qwen3.8", "qwen3_8", "qwen38"}, replay: replayAll, history: history{arg: argPreserveThinking, all: on, less: true}, rounds: true,
		toggle: enableThinking, effort: effort{argReasoningEffort, &qwenLevels},
		start: startPrompt, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"qwq"}, replay: replayNone, rounds: true, always: true,
		start: startPrompt, open: openedThink,
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"qwen2.5", "qwen2_5", "qwen25", "qwen3_instruct", "qwen3_coder", "hermes"}, replay: replayNone, rounds: true,
		start: startContent,
		stops: chatMLEnd, tokens: taggedCalls,
	},
	{
		names: []string{"keep_all"}, replay: replayAll, rounds: true,
		toggle: enableThinking, start: startModel, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"drop_all"}, replay: replayNone, rounds: true,
		toggle: enableThinking, start: startNone, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"nemotron3", "nemotron_3", "nemotron_v3", "nano_v3", "nemotron3_nano"}, replay: replayLoop, history: history{arg: argTruncateHistory, all: off}, rounds: true,
		toggle: enableThinking, start: startPrompt, open: openedThink, off: begin{"<think></think>", plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"nemotron3_super"}, replay: replayLoop, history: history{arg: argTruncateHistory, all: off}, rounds: true,
		toggle: enableThinking, effort: effort{argLowEffort, &superLevels},
		start: startPrompt, open: openedThink, off: begin{"<think></think>", plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"nemotron3_ultra"}, replay: replayLoop, history: history{arg: argTruncateHistory, all: off}, rounds: true,
		toggle: enableThinking, effort: effort{argMediumEffort, &ultraLevels},
		start: startPrompt, open: openedThink, off: begin{"<think></think>", plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	// Words in the system text switch it, which no plan can say.
	{
		names: []string{"nemotron_nano_v2", "nemotron_deci"}, replay: replayNone,
		start: startTail,
		stops: []string{"<SPECIAL_12>"}, tokens: []string{"<TOOLCALL>", "</TOOLCALL>"}, marks: thinkMarks,
	},
	{
		names: []string{"step3.5", "step3_5", "step3p5", "step3.7", "step3p7"}, replay: replayLoop, rounds: true, always: true,
		start: startPrompt, open: openedThink,
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"step3"}, replay: replayAll, always: true,
		start:  startPrompt,
		tokens: []string{"<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>"}, marks: thinkMarks,
	},
	{
		names: []string{"mimo", "mimo_v2"}, replay: replayAll, rounds: true,
		toggle: enableThinking, start: startTail,
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"smollm3"}, replay: replayNone,
		toggle: enableThinking, start: startModel, off: begin{"<think>\n\n</think>\n", plan.StartContent},
		stops: chatMLEnd, marks: thinkMarks,
	},
	{
		names: []string{"minicpm5"}, replay: replayAll,
		toggle: enableThinking, start: startPrompt, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: chatMLEnd, marks: thinkMarks,
	},
	{
		names: []string{"bielik"}, replay: replayAll,
		toggle: enableThinkingOff, start: startPrompt, open: openedThink, off: begin{"", plan.StartContent},
		stops: chatMLEnd, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"reka", "reka_edge"}, replay: replayLoop, whenOn: true,
		toggle: enableThinkingOff, start: startPrompt, open: " <think>\n", off: begin{"", plan.StartContent},
		tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"exaone4"}, replay: replayNone,
		toggle: enableThinkingOff, start: startPrompt, open: openedThink, off: begin{closedThink, plan.StartContent},
		stops: []string{"[|endofturn|]"}, tokens: taggedCalls, marks: thinkMarks,
	},
	{
		names: []string{"lfm2"}, replay: replayNone,
		start: startContent,
		stops: chatMLEnd, tokens: []string{"<|tool_call_start|>", "<|tool_call_end|>"},
	},
	{
		names: []string{"lfm2.5", "lfm2_5"}, replay: replayLoop, history: history{arg: argPreserveThinking, all: on}, always: true,
		start: startModel,
		stops: chatMLEnd, tokens: []string{"<|tool_call_start|>", "<|tool_call_end|>"}, marks: thinkMarks,
	},

	// DeepSeek.
	{
		names: []string{"deepseek_r1", "deepseek-r1"}, replay: replayNone, always: true,
		start: startPrompt, open: openedThink, after: afterTail,
		stops: deepSeekEnd, tokens: deepSeekCalls, marks: thinkMarks,
	},
	{
		names: []string{"deepseek_v3", "deepseekv3", "deepseek"}, replay: replayNone,
		start: startContent,
		stops: deepSeekEnd, tokens: deepSeekCalls,
	},
	{
		names: []string{"deepseek_v3_1", "deepseek_v31", "deepseekv31", "deepseek31", "deepseek_v3.1"}, replay: replayNone,
		toggle: thinkingSwitchOff, start: startPrompt, open: "<think>", off: begin{"</think>", plan.StartContent}, after: afterContent,
		stops: deepSeekEnd, tokens: deepSeekCalls, marks: thinkMarks,
	},
	{
		names: []string{"deepseek_v3_2", "deepseek_v32", "deepseekv32", "deepseek32", "deepseek_v3.2"}, replay: replayLoop, whenOn: true,
		toggle: thinkingSwitchOff, start: startPrompt, open: "<think>", off: begin{"<think></think>", plan.StartContent}, gap: "\n\n",
		stops: deepSeekEnd, tokens: dsmlCalls, marks: thinkMarks,
	},
	{
		names: []string{"deepseek_v4", "deepseek-v4", "deepseekv4"}, replay: replayTools, whenOn: true, history: history{arg: argDropThinking, all: off},
		toggle: thinkingSwitchOff, effort: effort{argReasoningEffort, &deepSeekLevels},
		start: startPrompt, open: "<think>", off: begin{"</think>", plan.StartContent},
		stops: deepSeekEnd, tokens: dsmlCalls, marks: thinkMarks,
	},

	// Kimi. The first row is right for the models without thinking, too: they have no reasoning to replay.
	{
		names: []string{"kimi_k2", "kimi_k2_thinking", "kimik2"}, replay: replayAnswer, rounds: true, always: true,
		start: startModel, ids: idsFunctions,
		stops: chatMLEnd, tokens: kimiCalls, marks: thinkMarks,
	},
	{
		names: []string{"kimi_k2_instruct"}, replay: replayNone,
		start: startContent, ids: idsFunctions,
		stops: chatMLEnd, tokens: kimiCalls,
	},
	{
		names:  []string{"kimi_k2.5", "kimi_k2_5", "kimi_k25", "kimi_k2.6", "kimi_k26", "kimi_k2.7", "kimi_k27"},
		replay: replayAnswer, whenOn: true, rounds: true,
		toggle: thinkingSwitch, start: startPrompt, open: "<think>", off: begin{"<think></think>", plan.StartContent}, ids: idsFunctions,
		stops: chatMLEnd, tokens: kimiCalls, marks: thinkMarks,
	},
	{
		names: []string{"kimi_k3", "kimi-k3"}, replay: replayAll, whenOn: true,
		toggle: thinkingSwitch, effort: effort{argThinkingEffort, &kimiLevels},
		start: startPrompt, open: "<|open|>think<|sep|>", off: begin{"<|open|>response<|sep|>", plan.StartContent},
		stops: []string{"<|end_of_msg|>"}, tokens: []string{"<|open|>", "<|close|>", "<|sep|>"},
	},

	// GLM, and what writes calls as it does.
	{
		names: []string{"glm4.5", "glm4_5", "glm45", "glm45_moe", "glm4.6", "glm46", "glm"}, replay: replayLoop, rounds: true,
		toggle: enableThinking, start: startModel, off: begin{"\n<think></think>", plan.StartContent},
		stops: glmEnd, tokens: pairCalls, marks: thinkMarks,
	},
	{
		names: []string{"glm4.7", "glm4_7", "glm47", "glm47_moe", "glm5", "glm5.1", "glm51"}, replay: replayLoop, history: history{arg: argClearThinking, all: off}, rounds: true,
		toggle: enableThinking, start: startPrompt, open: "<think>", off: begin{"</think>", plan.StartContent},
		stops: glmEnd, tokens: pairCalls, marks: thinkMarks,
	},
	{
		names: []string{"glm5.2", "glm52"}, replay: replayLoop, history: history{arg: argClearThinking, all: off}, rounds: true,
		toggle: enableThinking, effort: effort{argReasoningEffort, &glmLevels},
		start: startPrompt, open: "<think>", off: begin{"<think></think>", plan.StartContent},
		stops: glmEnd, tokens: pairCalls, marks: thinkMarks,
	},
	{
		names: []string{"laguna_s", "laguna_s2.1"}, replay: replayAll, whenOn: true, history: history{arg: argPreserveThinking, all: on, evenOff: true}, rounds: true,
		toggle: enableThinking, start: startPrompt, open: "<think>", off: begin{"</think>", plan.StartContent},
		tokens: pairCalls, marks: thinkMarks,
	},
	{
		names: []string{"laguna_xs", "laguna_xs2.1", "laguna"}, replay: replayAll, rounds: true,
		toggle: enableThinkingOff, start: startPrompt, open: "\n<think>", off: begin{"\n</think>", plan.StartContent},
		tokens: pairCalls, marks: thinkMarks,
	},

	// MiniMax.
	{
		names:  []string{"minimax_m2", "minimax-m2", "minimax", "minimax_m2.1", "minimax_m2.5", "minimax_m2.7"},
		replay: replayLoop, rounds: true, always: true,
		start: startPrompt, open: openedThink,
		stops: []string{"[e~["}, tokens: []string{"<minimax:tool_call>", "</minimax:tool_call>"}, marks: thinkMarks,
	},
	{
		names: []string{"minimax_m3", "minimax-m3"}, replay: replayAll, rounds: true,
		toggle: toggle{argThinkingMode, `"enabled"`, `"disabled"`, `"adaptive"`, adaptive},
		start:  startPrompt, open: "<mm:think>", off: begin{"</mm:think>", plan.StartContent},
		stops: []string{"[e~["}, tokens: []string{"]<]minimax[>["}, marks: []string{"<mm:think>", "</mm:think>"},
	},

	// Formats of messages with headers: a turn is a row of them, so rounds need no splice of their own form.
	{
		names: []string{"gpt_oss", "gpt-oss", "gptoss", "harmony", "openai", "openai_gptoss"}, replay: replayAnswer, rounds: true, always: true,
		effort: effort{argReasoningEffort, &threeLevels}, start: startModel,
		stops: []string{"<|return|>", "<|call|>"}, tokens: []string{"<|start|>", "<|message|>", "<|constrain|>", "<|call|>", "<|end|>", "<|return|>"}, marks: []string{"<|channel|>"},
	},
	{
		names: []string{"muse_glimmer", "muse"}, replay: replayAll, rounds: true, always: true,
		effort: effort{argReasoningStrength, &threeLevels}, start: startModel,
		stops: []string{"<|eot|>"}, tokens: []string{"<|start|>", "<|message|>", "<|eom|>", "<|eot|>"},
	},
	{
		names: []string{"inkling"}, replay: replayAll, rounds: true, always: true,
		start: startModel,
		stops: []string{"<|content_model_end_sampling|>"},
		tokens: []string{
			"<|message_model|>", "<|content_text|>", "<|content_invoke_tool_json|>", "<|content_invoke_tool_text|>", "<|end_message|>", "<|content_model_end_sampling|>",
		},
		marks: []string{"<|content_thinking|>"},
	},
	{
		names: []string{"solar_open"}, replay: replayLoop, history: history{arg: argThinkRender, all: on}, rounds: true,
		toggle: toggle{arg: argReasoningEffort, off: `"minimal"`}, effort: effort{argReasoningEffort, &solarLevels}, start: startTail,
		stops: []string{"<|calls|>"},
		tokens: []string{
			"<|begin|>", "<|content|>", "<|end|>", "<|tool_calls|>", "<|calls|>", "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>", "<|tool_call:end|>",
		},
		marks: []string{"<|think|>"},
	},
	{
		names: []string{"gemma4", "gemma-4"}, replay: replayLoop, callsOnly: true, history: history{arg: argPreserveThinking, all: on},
		toggle: enableThinkingOff, start: startModel, off: begin{"<|channel>thought\n<channel|>", plan.StartContent}, after: afterTail,
		stops: []string{"<turn|>", "<|tool_response>"}, tokens: []string{"<|tool_call>", "<tool_call|>", `<|"|>`}, marks: []string{"<|channel>", "<channel|>"},
	},

	// Mistral.
	{
		names: []string{"mistral", "mistral_nemo", "mistral_small_3.2", "devstral"}, replay: replayNone,
		start: startContent, ids: idsNine,
		tokens: mistralCalls,
	},
	{
		names: []string{"magistral", "ministral_3"}, replay: replayAll, rounds: true, always: true,
		start: startModel, ids: idsNine,
		tokens: mistralCalls, marks: mistralMarks,
	},
	{
		names: []string{"mistral_medium_3.5", "mistral_small_4"}, replay: replayAll, rounds: true,
		toggle: toggle{argReasoningEffort, `"high"`, `"none"`, "", off}, start: startModel, off: begin{"", plan.StartContent}, ids: idsNine,
		tokens: mistralCalls, marks: mistralMarks,
	},

	// The others.
	{
		names: []string{"hunyuan_a13b"}, replay: replayNone,
		toggle: enableThinking, start: startModel, off: begin{"<think>\n\n</think>\n", plan.StartContent},
		stops: []string{"<|eos|>"}, tokens: listedCalls, marks: thinkMarks,
	},
	// Its markers have a suffix that differs by checkpoint, and are no special tokens.
	{
		names: []string{"hy3", "hy_v3", "hunyuan"}, replay: replayTools, history: history{arg: argPreservedThinking, all: on, less: true}, rounds: true,
		toggle: toggle{argReasoningEffort, `"high"`, `"no_think"`, "", off}, effort: effort{argReasoningEffort, &hunyuanLevels},
		start: startPrompt, off: begin{"", plan.StartContent},
	},
	// A budget of nothing opens the thinking and the reflection on it; the model closes both.
	{
		names: []string{"seed_oss", "seed-oss"}, replay: replayAll, rounds: true,
		toggle: toggle{arg: argThinkingBudget, off: "0"},
		start:  startModel, off: begin{"<seed:think><seed:cot_budget_reflect>", plan.StartReasoning},
		stops: []string{"<seed:eos>"}, tokens: []string{"<seed:tool_call>", "</seed:tool_call>"},
		marks: []string{"<seed:think>", "</seed:think>", "<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"},
	},
	{
		names: []string{"ernie4.5", "ernie45"}, replay: replayAll, always: true,
		start:  startPrompt,
		tokens: taggedCalls, marks: []string{"<think>", "</think>", "<response>", "</response>"},
	},
	{
		names: []string{"granite3", "granite", "granite3.2", "granite3.3"}, replay: replayNone,
		toggle: thinkingSwitchOff, start: startModel, off: begin{"", plan.StartContent},
		stops: []string{"<|end_of_text|>"}, tokens: []string{"<|tool_call|>"}, marks: []string{"<think>", "</think>", "<response>", "</response>"},
	},
	{
		names: []string{"granite4", "granite4.1"}, replay: replayNone,
		start: startContent,
		stops: []string{"<|end_of_text|>"}, tokens: taggedCalls,
	},
	{
		names: []string{"cohere_command3", "cohere"}, replay: replayAll,
		start: startTail,
		stops: cohereEnd, tokens: cohereCalls, marks: cohereMarks,
	},
	{
		names: []string{"cohere_command4"}, replay: replayAll,
		toggle: toggle{arg: argReasoning, on: "true", off: "false"},
		start:  startPrompt, open: "<|START_THINKING|>", off: begin{"<|START_THINKING|><|END_THINKING|>", plan.StartContent},
		stops: cohereEnd, tokens: cohereCalls, marks: cohereMarks,
	},
	{
		names: []string{"apriel1.6", "apriel"}, replay: replayNone, always: true,
		start: startPrompt, open: "Here are my reasoning steps:\n",
		tokens: listedCalls,
	},
	{
		names: []string{"apertus"}, replay: replayNone, always: true,
		start:  startModel,
		tokens: []string{"<|tools_prefix|>", "<|tools_suffix|>"}, marks: []string{"<|inner_prefix|>", "<|inner_suffix|>"},
	},

	// Families without thinking.
	{
		names: []string{"llama3", "llama3_json", "llama3.1", "llama3.2", "llama3.3", "llama"}, replay: replayNone,
		start: startContent,
		stops: []string{"<|eot_id|>", "<|eom_id|>"}, tokens: []string{"<|python_tag|>"},
	},
	{
		names: []string{"llama4", "llama4_json", "llama4_pythonic"}, replay: replayNone,
		start: startContent,
		stops: []string{"<|eot|>", "<|eom|>"}, tokens: []string{"<|python_start|>", "<|python_end|>"},
	},
	{
		names: []string{"gemma3", "gemma2", "gemma"}, replay: replayNone,
		start: startContent,
		stops: []string{"<end_of_turn>"},
	},
	{
		names: []string{"functiongemma"}, replay: replayNone,
		start: startContent,
		stops: []string{"<end_of_turn>"}, tokens: []string{"<start_function_call>", "<end_function_call>", "<escape>"},
	},
	{
		names: []string{"phi4_mini", "phi4_mini_json", "phi4"}, replay: replayNone,
		start: startContent,
		stops: []string{"<|end|>"},
	},
	{
		names: []string{"jamba"}, replay: replayNone,
		start:  startContent,
		tokens: listedCalls,
	},
	{
		names: []string{"internlm", "internlm2"}, replay: replayNone,
		start: startContent,
		stops: chatMLEnd, tokens: []string{"<|action_start|>", "<|plugin|>", "<|action_end|>"},
	},
	{
		names: []string{"gigachat3"}, replay: replayNone,
		start:  startContent,
		tokens: []string{"<|message_sep|>", "<|role_sep|>", "<|function_call|>"},
	},
}
