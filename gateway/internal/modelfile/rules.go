package modelfile

// rules tell families and formats by what a chat template writes and reads. They are asked from the first to
// the last, and each sets what no rule before it has set: so what is special to one model stands before what
// it has in common with others. The last ones are for models of no known family.
var rules = [...]rule{ //nolint:gochecknoglobals // a table
	// DeepSeek.
	{
		needs: []string{"DSML"}, any: []string{"dsml_token + ' calls", "｜DSML｜ calls"},
		family: none, reasoning: "deepseek_v3", tools: "deepseek_v41",
		why: "writes <｜DSML｜ calls> with a blank, as DeepSeek V4.1",
	},
	{
		needs: []string{"DSML"}, any: []string{"dsml_token + 'function_calls", "｜DSML｜function_calls"},
		family: "deepseek_v3_2", reasoning: "deepseek_v3", tools: "deepseek_v32",
		why: "writes <｜DSML｜function_calls>, as DeepSeek V3.2",
	},
	{
		needs: []string{"DSML"}, any: []string{"dsml_token + 'tool_calls", "｜DSML｜tool_calls"},
		family: "deepseek_v4", reasoning: "deepseek_v3", tools: "deepseek_v4",
		why: "writes <｜DSML｜tool_calls>, as DeepSeek V4",
	},
	{
		needs: []string{"<｜tool▁calls▁begin｜>", "```json"}, opens: yes,
		family: "deepseek_r1", reasoning: "deepseek_r1", tools: "deepseek_v3",
		why: "writes <｜tool▁calls▁begin｜> with the arguments in ```json, and opens <think> in the prompt, as DeepSeek R1",
	},
	{
		needs:  []string{"<｜tool▁calls▁begin｜>", "```json", "</think>"},
		family: "deepseek_v3", reasoning: "think", tools: "deepseek_v3",
		why: "writes <｜tool▁calls▁begin｜> with the arguments in ```json, and cuts off what stands before </think>, as DeepSeek V3 and R1",
	},
	{
		needs:  []string{"<｜tool▁calls▁begin｜>", "```json"},
		family: "deepseek_v3", reasoning: none, tools: "deepseek_v3",
		why: "writes <｜tool▁calls▁begin｜> with the arguments in ```json, as DeepSeek V3",
	},
	{
		needs:  []string{"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "thinking", "</think>"},
		family: "deepseek_v3_1", reasoning: "deepseek_v3_1", tools: "deepseek_v31",
		why: "writes <｜tool▁calls▁begin｜> with bare arguments, and reads thinking, as DeepSeek V3.1",
	},
	{
		needs:     []string{"<steptml:"},
		family:    "step3",
		reasoning: "step3", tools: "step3",
		why: "writes <steptml:invoke>, as Step-3",
	},

	// Kimi.
	{
		needs:  []string{"<|open|>", "<|close|>", "<|sep|>"},
		family: "kimi_k3", reasoning: "kimi_k3", tools: "kimi_k3",
		why: "writes <|open|>..<|sep|> sections, as Kimi K3",
	},
	{
		needs: []string{"<|tool_calls_section_begin|>", "<think>", "thinking"}, opens: yes,
		family: "kimi_k2.5", reasoning: "think", tools: "kimi_k2",
		why: "writes <|tool_calls_section_begin|>, reads thinking and opens <think> in the prompt, as Kimi K2.5",
	},
	{
		needs: []string{"<|tool_calls_section_begin|>", "<think>"}, opens: no,
		family: "kimi_k2", reasoning: "think", tools: "kimi_k2",
		why: "writes <|tool_calls_section_begin|>, and the model opens <think> itself, as Kimi K2 Thinking",
	},
	{
		needs: []string{"<|tool_calls_section_begin|>"}, lacks: []string{"<think>"},
		family: "kimi_k2_instruct", reasoning: none, tools: "kimi_k2",
		why: "writes <|tool_calls_section_begin|> and no <think>, as Kimi K2 Instruct",
	},
	{
		needs:     []string{"◁think▷"},
		reasoning: "kimi",
		why:       "writes ◁think▷, as Kimi 1.5",
	},

	// MiniMax.
	{
		any:    []string{"]<]minimax[>[", "<mm:think>"},
		family: "minimax_m3", reasoning: "minimax_m3", tools: "minimax_m3",
		why: "writes ]<]minimax[>[ or <mm:think>, as MiniMax M3",
	},
	{
		needs:  []string{"<minimax:tool_call>", "<think>"},
		family: "minimax_m2", reasoning: "minimax_m2", tools: "minimax_m2",
		why: "writes <minimax:tool_call> and <think>, as MiniMax M2",
	},

	// Messages with headers.
	{
		needs:  []string{"<|start|>", "<|channel|>", "<|message|>"},
		family: "gpt_oss", reasoning: "openai_gptoss", tools: "openai",
		why: "writes <|start|>, <|channel|> and <|message|>, which is harmony, as gpt-oss",
	},
	{
		needs:  []string{"<atem:"},
		family: "muse_glimmer", reasoning: "muse_glimmer", tools: "muse_glimmer",
		why: "writes <atem:function_calls>, as Muse Glimmer",
	},
	{
		any:    []string{"<|content_invoke_tool_json|>", "<|message_model|>"},
		family: "inkling", reasoning: "inkling", tools: "inkling",
		why: "writes <|message_model|> blocks, as Inkling",
	},
	{
		needs:  []string{"<|tool_call:begin|>", "<|think|>"},
		family: "solar_open", reasoning: "solar_open", tools: "solar_open",
		why: "writes <|tool_call:begin|> and <|think|>, as Solar Open",
	},
	{
		needs: []string{"<|tool_call:start|>", "<|tool_arg:start|>"},
		tools: "solar_open2",
		why:   "writes <|tool_call:start|> and <|tool_arg:start|>, as Solar Open 2",
	},

	// Gemma.
	{
		needs:  []string{"<|tool_call>", `<|"|>`, "<|channel>"},
		family: "gemma4", reasoning: "gemma4", tools: "gemma4",
		why: `writes <|tool_call>call:NAME{..} with <|"|> quotes and <|channel>thought, as Gemma 4`,
	},
	{
		needs:  []string{"<start_function_call>"},
		family: "functiongemma", reasoning: none, tools: "functiongemma",
		why: "writes <start_function_call>, as FunctionGemma",
	},
	{
		needs:  []string{"<start_of_turn>"},
		family: "gemma3",
		why:    "writes <start_of_turn>, as Gemma to version 3",
	},

	// GLM, and what writes calls as it does.
	{
		any:    []string{"hy_Assistant", "<｜hy_"},
		family: "hy3", reasoning: "hy_v3", tools: "hy_v3",
		why: "writes <｜hy_Assistant｜> turns, as Hunyuan 3",
	},
	{
		needs:  []string{"[gMASK]<sop>", "<arg_key>", "reasoning_effort"},
		family: "glm5.2", reasoning: "glm45", tools: "glm47",
		why: "writes [gMASK]<sop> and <arg_key>, and reads reasoning_effort, as GLM 5.2",
	},
	{
		needs: []string{"[gMASK]<sop>", "<arg_key>"}, opens: yes,
		family: "glm4.7", reasoning: "glm45", tools: "glm47",
		why: "writes [gMASK]<sop> and <arg_key>, and opens <think> in the prompt, as GLM 4.7 to 5.1",
	},
	{
		needs: []string{"[gMASK]<sop>", "<arg_key>"}, opens: no,
		family: "glm4.5", reasoning: "glm45", tools: "glm45",
		why: "writes [gMASK]<sop> and <arg_key>, and the model opens <think> itself, as GLM 4.5 and 4.6",
	},
	{
		needs:  []string{"<assistant>", "<arg_key>", "preserve_thinking"},
		family: "laguna_s", reasoning: "think", tools: "poolside_v1",
		why: "writes <assistant> turns and <arg_key>, and reads preserve_thinking, as Laguna S",
	},
	{
		needs:  []string{"<assistant>", "<arg_key>"},
		family: "laguna_xs", reasoning: "think", tools: "poolside_v1",
		why: "writes <assistant> turns and <arg_key>, as Laguna XS",
	},
	{
		needs: []string{"<ifm|"},
		tools: "k2_horizon",
		why:   "writes <ifm|tool_call>, as K2 Horizon",
	},
	{
		needs: []string{"<arg_key>", "<arg_value>", "<tool_call>"},
		tools: "glm45",
		why:   "writes <tool_call>NAME with <arg_key> and <arg_value> pairs, as GLM",
	},

	// Mistral.
	{
		needs:  []string{"[TOOL_CALLS]", "[MODEL_SETTINGS]", "reasoning_effort"},
		family: "mistral_medium_3.5", reasoning: "mistral", tools: "mistral",
		why: "writes [TOOL_CALLS] and [MODEL_SETTINGS] with reasoning_effort, as Mistral Medium 3.5 and Small 4",
	},
	{
		needs:  []string{"[TOOL_CALLS]", "[THINK]"},
		family: "magistral", reasoning: "mistral", tools: "mistral",
		why: "writes [TOOL_CALLS] and [THINK], as Magistral and Ministral 3",
	},
	{
		needs:  []string{"[TOOL_CALLS]"},
		family: "mistral", tools: "mistral",
		why: "writes [TOOL_CALLS], as Mistral",
	},

	// Cohere.
	{
		needs:  []string{"<cofl:"},
		family: none, tools: "cohere_cofl",
		why: "writes <cofl:tool_calls>, as newer Command models",
	},
	{
		needs:  []string{"<|START_ACTION|>", "<|START_TEXT|>"},
		family: "cohere_command4", reasoning: "cohere_command4", tools: "cohere_command4",
		why: "writes <|START_ACTION|> and <|START_TEXT|>, as Command 4",
	},
	{
		needs:  []string{"<|START_ACTION|>", "<|START_RESPONSE|>"},
		family: "cohere_command3", reasoning: "cohere_command3", tools: "cohere_command3",
		why: "writes <|START_ACTION|> and <|START_RESPONSE|>, as Command R7B and A",
	},
	{
		needs: []string{"<|CHATBOT_TOKEN|>", "Action:", "```json"},
		tools: "command_r",
		why:   "writes Action: and a list in ```json, as Command R",
	},

	// Granite.
	{
		needs:  []string{"<|start_of_role|>", "<|tool_call|>", "<think>"},
		family: "granite3", reasoning: "granite", tools: "granite",
		why: "writes <|start_of_role|> turns and <|tool_call|>, and asks for <think> and <response>, as Granite 3.3",
	},
	{
		needs:  []string{"<|start_of_role|>", "<|tool_call|>"},
		family: "granite3", reasoning: none, tools: "granite",
		why: "writes <|start_of_role|> turns and <|tool_call|>, as Granite 3",
	},
	{
		needs:  []string{"<|start_of_role|>", "<tool_call>"},
		family: "granite4", reasoning: none, tools: "granite4",
		why: "writes <|start_of_role|> turns and <tool_call>, as Granite 4",
	},
	{
		needs: []string{"<function_call>", "<function_response>"},
		tools: "granite-20b-fc",
		why:   "writes <function_call> and <function_response>, as Granite 20B for functions",
	},

	// Calls without a wrapper of their own.
	{
		needs: []string{"<|start_header_id|>", "<function=", "</function>"}, lacks: []string{"<parameter="},
		tools: "functionary_v3_1",
		why:   "writes <function=NAME>{..}</function>, as Functionary 3.1",
	},
	{
		needs: []string{">>>all", "recipient"},
		tools: "functionary_v3_2",
		why:   "writes >>>NAME and >>>all, as Functionary 3.2",
	},
	{
		needs:  []string{"functools[", "<|end|>", "<|assistant|>"},
		family: "phi4_mini", reasoning: none, tools: "phi4_mini_json",
		why: "asks for functools[..] in <|assistant|> turns, as Phi-4-mini",
	},
	{
		needs: []string{"functools["},
		tools: "phi4_mini_json",
		why:   "writes functools[..], as Firefunction and Phi-4-mini",
	},
	{
		needs:  []string{"<|header_start|>", "[func_name1("},
		family: "llama4", reasoning: none, tools: "llama4_pythonic",
		why: "writes <|header_start|> turns and asks for [NAME(KEY=VALUE)], as Llama 4",
	},
	{
		needs: []string{"[func_name1("},
		tools: "pythonic",
		why:   "asks for calls as a list in Python, [NAME(KEY=VALUE)]",
	},
	{
		needs: []string{`[{"name": "tool_call_name", "arguments":`},
		tools: "xlam",
		why:   "asks for calls as a JSON array without markers, as xLAM",
	},
	{
		needs:  []string{"<|header_start|>", `"parameters": `},
		family: "llama4", reasoning: none, tools: "llama4_json",
		why: `writes <|header_start|> turns and {"name": .., "parameters": ..}, as Llama 4`,
	},
	{
		needs:  []string{"<|start_header_id|>", `"parameters": `},
		family: "llama3", reasoning: none, tools: "llama3_json",
		why: `writes <|start_header_id|> turns and {"name": .., "parameters": ..}, as Llama 3`,
	},
	{
		needs: []string{"<|start_header_id|>", "<|eot_id|>"}, lacks: []string{"<think>"},
		family: "llama3",
		why:    "writes <|start_header_id|> turns that end with <|eot_id|>, as Llama 3",
	},

	// Nemotron, Step, MiMo: calls in the XML of Qwen3-Coder.
	{
		needs:  []string{"truncate_history_thinking", "low_effort", "<function="},
		family: "nemotron3_super", reasoning: "nemotron_v3", tools: "qwen3_coder",
		why: "reads truncate_history_thinking and low_effort, and writes <tool_call><function=NAME>, as Nemotron 3 Super",
	},
	{
		needs:  []string{"truncate_history_thinking", "medium_effort", "<function="},
		family: "nemotron3_ultra", reasoning: "nemotron_v3", tools: "qwen3_coder",
		why: "reads truncate_history_thinking and medium_effort, and writes <tool_call><function=NAME>, as Nemotron 3 Ultra",
	},
	{
		needs:  []string{"truncate_history_thinking", "<function="},
		family: "nemotron3", reasoning: "nemotron_v3", tools: "qwen3_coder",
		why: "reads truncate_history_thinking and writes <tool_call><function=NAME>, as Nemotron 3",
	},
	{
		needs:  []string{"<TOOLCALL>", "<SPECIAL_12>"},
		family: "nemotron_nano_v2", reasoning: "nemotron_nano", tools: "nemotron_deci",
		why: "writes <TOOLCALL>[..]</TOOLCALL> and ends turns with <SPECIAL_12>, as Nemotron Nano 2",
	},
	{
		needs: []string{"<TOOLCALL>"},
		tools: "nemotron_deci",
		why:   "writes <TOOLCALL>[..]</TOOLCALL>, as Nemotron",
	},
	{
		needs: []string{"<|im_start|>tool_response", "<function=", "<think>"}, opens: yes,
		family: "step3.5", reasoning: "step3", tools: "qwen3_coder",
		why: "writes <|im_start|>tool_response turns and <tool_call><function=NAME>, as Step 3.5",
	},
	{
		needs:  []string{"MiMo", "<function="},
		family: "mimo", reasoning: "qwen3", tools: "mimo",
		why: "calls itself MiMo and writes <tool_call><function=NAME>",
	},

	// Qwen.
	{
		needs: []string{"<use_mcp_tool>"}, any: []string{"last_query_index"},
		family: "qwen3", reasoning: "qwen3", tools: none,
		why: "writes calls as <use_mcp_tool> blocks in turns of Qwen3, as MiroThinker; no parser is known for them",
	},
	{
		needs:  []string{"<|im_start|>", "<function=", "<think>", "preserve_thinking", "reasoning_effort"},
		family: "qwen3.8", reasoning: "qwen3", tools: "qwen3_coder",
		why: "writes <tool_call><function=NAME>, and reads preserve_thinking and reasoning_effort, as Qwen3.8",
	},
	{
		needs:  []string{"<|im_start|>", "<function=", "<think>", "preserve_thinking"},
		family: "qwen3.6", reasoning: "qwen3", tools: "qwen3_coder",
		why: "writes <tool_call><function=NAME>, and reads preserve_thinking, as Qwen3.6",
	},
	{
		needs: []string{"<|im_start|>", "<function=", "enable_thinking", "last_query_index"}, opens: yes,
		family: "qwen3.5", reasoning: "qwen3", tools: "qwen3_coder",
		why: "writes <tool_call><function=NAME>, reads enable_thinking and opens <think> in the prompt, as Qwen3.5",
	},
	{
		needs: []string{"<|im_start|>", "<function=", "<parameter="}, lacks: []string{"<think>"},
		family: "qwen3_coder", reasoning: none, tools: "qwen3_coder",
		why: "writes <tool_call><function=NAME> and no <think>, as Qwen3-Coder",
	},
	{
		needs: []string{"<|im_start|>", "<tool_call>", "enable_thinking", "last_query_index"}, opens: yes,
		family: "qwen3.5", reasoning: "qwen3", tools: "hermes",
		why: "reads enable_thinking and opens <think> in the prompt as Qwen3.5, and writes <tool_call>{..} as Qwen3",
	},
	{
		needs: []string{"<|im_start|>", "<tool_call>", "enable_thinking", "loop.index0 > ns.last_query_index"}, opens: no,
		family: "qwen3", reasoning: "qwen3", tools: "hermes",
		why: "writes <tool_call>{..}, reads enable_thinking, and the model opens <think> itself, as Qwen3",
	},
	{
		needs: []string{"<|im_start|>", "<tool_call>", "enable_thinking", "last_query_index"}, opens: no,
		family: "keep_all", reasoning: "qwen3", tools: "hermes",
		why: "as Qwen3, but shows the reasoning of every turn",
	},
	{
		needs: []string{"<|im_start|>", "<tool_call>", "<think>"}, opens: yes, lacks: []string{"enable_thinking", "<function="},
		family: "qwq", reasoning: "qwen3", tools: "hermes",
		why: "writes <tool_call>{..} and opens <think> in every prompt, without a switch, as QwQ",
	},

	// Others that speak in <|im_start|> turns.
	{
		needs:  []string{"xml_tools", "<|im_start|>", "<think>"},
		family: "smollm3", reasoning: "think", tools: "hermes",
		why: "reads xml_tools and asks for <tool_call>{..}, as SmolLM3",
	},
	{
		needs:  []string{"<|function_output|>", "<|im_start|>", "<think>"},
		family: "bielik", reasoning: "think", tools: "hermes",
		why: "writes <|function_output|> and <tool_call>{..}, as Bielik",
	},
	{
		needs:  []string{"<|tool_call_start|>", "<think>"},
		family: "lfm2.5", reasoning: "think", tools: "lfm2",
		why: "writes <|tool_call_start|>[NAME(..)] and <think>, as LFM2.5",
	},
	{
		any: []string{"<|tool_call_start|>", "<|tool_list_start|>"}, lacks: []string{"<think>"},
		family: "lfm2", reasoning: none, tools: "lfm2",
		why: "writes <|tool_list_start|> or <|tool_call_start|>, as LFM2",
	},
	{
		needs:  []string{"<|action_start|>", "<|plugin|>"},
		family: "internlm", tools: "internlm",
		why: "writes <|action_start|><|plugin|>, as InternLM",
	},
	{
		needs:  []string{"<param name=", "<function name="},
		family: "minicpm5", reasoning: "think", tools: "minicpm5",
		why: "writes <function name=..> and <param name=..>, as MiniCPM 5",
	},
	{
		needs:  []string{"<|im_start|>", "<tool_call>", "<tool_response>"},
		lacks:  []string{"<think>", "<function=", "<arg_key>"},
		family: "qwen2.5", reasoning: none, tools: "hermes",
		why: "writes <tool_call>{..} and <tool_response> and no <think>, as Qwen2.5 and Qwen3 Instruct",
	},
	{
		needs:  []string{"<|im_start|>", "<tool_call>", "arguments"},
		lacks:  []string{"<think>", "<function=", "<arg_key>"},
		family: "hermes", reasoning: none, tools: "hermes",
		why: "asks for <tool_call>{..} in <|im_start|> turns, as Hermes",
	},

	// The others.
	{
		needs:  []string{"[|endofturn|]", "<tool_call>", "<think>"},
		family: "exaone4", reasoning: "think", tools: "hermes",
		why: "writes [|endofturn|] and <tool_call>{..}, as EXAONE 4",
	},
	{
		needs:  []string{"<sep>", "<tool_call>", "<think>"},
		family: "reka", reasoning: "think", tools: "hermes",
		why: "writes <sep> and <tool_call>{..}, as Reka Edge",
	},
	{
		needs:  []string{"<seed:think>"},
		family: "seed_oss", reasoning: "seed_oss", tools: "seed_oss",
		why: "writes <seed:think> and <seed:tool_call>, as Seed-OSS",
	},
	{
		needs: []string{"<longcat_tool_call>"},
		tools: "longcat",
		why:   "writes <longcat_tool_call>{..}, as LongCat",
	},
	{
		needs:  []string{"<tool_calls>", "<answer>", "<think>"},
		family: "hunyuan_a13b", reasoning: "hunyuan_a13b", tools: "hunyuan_a13b",
		why: "writes <tool_calls>[..], <think> and <answer>, as Hunyuan A13B",
	},
	{
		needs:  []string{"<response>", "<tool_call>", "<think>"},
		family: "ernie4.5", reasoning: "ernie45", tools: "ernie45",
		why: "writes <response> and <tool_call>{..}, as ERNIE 4.5",
	},
	{
		needs:  []string{"<|begin_assistant|>", "[BEGIN FINAL RESPONSE]"},
		family: "apriel1.6", reasoning: "apriel", tools: "jamba",
		why: "writes <tool_calls>[..] and [BEGIN FINAL RESPONSE], and begins turns with reasoning, as Apriel 1.6",
	},
	{
		needs:     []string{"[BEGIN FINAL RESPONSE]"},
		reasoning: "apriel", tools: "jamba",
		why: "writes <tool_calls>[..] and asks for [BEGIN FINAL RESPONSE], as Apriel 1.5",
	},
	{
		needs:  []string{"<|inner_prefix|>", "<|tools_prefix|>"},
		family: "apertus", reasoning: "apertus", tools: "apertus",
		why: "writes <|inner_prefix|> and <|tools_prefix|>, as Apertus",
	},
	{
		needs: []string{"GCML"},
		tools: "gigachat35",
		why:   "writes <｜GCML｜tool_calls>, as GigaChat 3.5",
	},
	{
		needs: []string{"<|message_sep|>", "<|role_sep|>"}, any: []string{"function call", "<|function_call|>"},
		family: "gigachat3", reasoning: none, tools: "gigachat3",
		why: "writes function calls between <|message_sep|> and <|role_sep|>, as GigaChat 3",
	},
	{
		needs: []string{"<dots_function_call>"},
		tools: "dots",
		why:   "writes <dots_function_call>, as dots",
	},
	{
		needs: []string{"<function_calls>"}, lacks: []string{"DSML", "<invoke"},
		tools: "olmo3",
		why:   "writes <function_calls> around NAME(KEY=VALUE) lines, as Olmo 3",
	},
	{
		needs: []string{"<minimax:tool_call>"},
		tools: "minimax_m2",
		why:   "writes <minimax:tool_call>",
	},

	// Of no known family.
	{
		needs: []string{"<tool_call>", "<function=", "<parameter="},
		tools: "qwen3_coder",
		why:   "writes <tool_call><function=NAME> with <parameter=KEY>",
	},
	{
		needs: []string{"<tool_call>", "arguments"}, lacks: []string{"<arg_key>", "<tool_calls>", "<invoke"},
		tools: "hermes",
		why:   "writes <tool_call> around a JSON object with name and arguments",
	},
	{
		needs: []string{"<tool_calls>", "arguments"}, lacks: []string{"<invoke", "<tool_call>"},
		tools: "jamba",
		why:   "writes <tool_calls> around JSON objects with name and arguments",
	},
	{
		needs:     []string{"<think>", "</think>"},
		reasoning: "think",
		why:       "writes <think> and </think>",
	},

	// Models without a chat template, and templates that show no call.
	{
		vocab: "｜DSML｜", modelType: "deepseek_v32",
		family: "deepseek_v3_2", reasoning: "deepseek_v3", tools: "deepseek_v32",
		why: "the vocabulary has ｜DSML｜ and the model's type is deepseek_v32",
	},
	{
		vocab: "｜DSML｜", modelType: "deepseek_v4",
		family: "deepseek_v4", reasoning: "deepseek_v3", tools: "deepseek_v4",
		why: "the vocabulary has ｜DSML｜ and the model's type is deepseek_v4",
	},
	{
		vocab:  "<|constrain|>",
		family: "gpt_oss", reasoning: "openai_gptoss", tools: "openai",
		why: "the vocabulary has <|constrain|>, which is harmony, as gpt-oss",
	},
	{
		vocab: "<|tool_call_start|>", lacks: []string{"<tool_call>"},
		tools: "lfm2",
		why:   "the vocabulary has <|tool_call_start|>, as LFM2",
	},
	{
		vocab: "<minimax:tool_call>",
		tools: "minimax_m2",
		why:   "the vocabulary has <minimax:tool_call>, as MiniMax M2",
	},
	{
		vocab: "<|tool_calls_section_begin|>",
		tools: "kimi_k2",
		why:   "the vocabulary has <|tool_calls_section_begin|>, as Kimi K2",
	},
}
