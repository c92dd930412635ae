package wire

// dsml is the one token in DeepSeek's markup.
const dsml = "｜DSML｜"

// Grammars that stand in several styles.
var (
	qwenCall = paramCall{
		open: callOpen + "\n<function=", named: ">\n", key: "<parameter=", str: ">\n", valueEnd: "\n</parameter>\n", end: "</function>\n" + callClose,
		openers: []string{callOpen, "<function="}, closers: []string{"<parameter=", "</parameter>", "</function>", "<function="},
	}
	pairCall = paramCall{
		open: callOpen, key: "<arg_key>", str: "</arg_key><arg_value>", valueEnd: "</arg_value>", end: callClose,
		openers: []string{callOpen}, closers: pairClosers,
	}
	pairLines = paramCall{
		open: callOpen, named: "\n", key: "<arg_key>", str: "</arg_key>\n<arg_value>", valueEnd: "</arg_value>\n", end: callClose,
		openers: []string{callOpen}, closers: pairClosers,
	}
	pairClosers = []string{"</arg_value>", "</arg_key>", callClose}
	pairTokens  = []string{callOpen, callClose, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}
	dsmlCall    = paramCall{
		open: "<" + dsml + `invoke name="`, named: "\">\n", key: "<" + dsml + `parameter name="`, str: `" string="true">`, other: `" string="false">`,
		valueEnd: "</" + dsml + "parameter>\n", end: "</" + dsml + "invoke>", closers: []string{"</" + dsml}, openers: []string{"<" + dsml},
	}
	// dsmlLine writes an empty line where there are no parameters.
	dsmlLine = paramCall{
		open: "<" + dsml + `invoke name="`, named: "\">\n", key: "<" + dsml + `parameter name="`, str: `" string="true">`, other: `" string="false">`,
		valueEnd: "</" + dsml + "parameter>\n", empty: "\n", end: "</" + dsml + "invoke>", closers: []string{"</" + dsml}, openers: []string{"<" + dsml},
	}
)

// tagTools are the styles with a tag for each parameter.
var tagTools = []toolStyle{
	// Values are of the type that the tool's schema says.
	{[]string{"qwen3_coder", "qwen3_xml", "qwen_coder", "qwen_xml", "mimo"}, calls{before: "\n\n", sep: "\n", grammar: qwenCall, tokens: callTokens}},
	{[]string{"nemotron_nano", "nemotron_v3"}, calls{before: "\n", sep: "\n", grammar: qwenCall, tokens: callTokens}},
	{[]string{"step3p5"}, calls{grammar: qwenCall, tokens: callTokens}},
	{[]string{"seed_oss"}, calls{
		before: "\n\n", sep: "\n", tokens: []string{"<seed:tool_call>", "</seed:tool_call>"},
		grammar: paramCall{
			open: "<seed:tool_call>\n<function=", named: ">\n", key: "<parameter=", str: ">", valueEnd: "</parameter>\n", end: "</function>\n</seed:tool_call>",
			openers: []string{"<seed:tool_call>", "<function="},
			closers: []string{"<parameter=", "</parameter>", "</function>", "<function=", "<seed:tool_call>", "</seed:tool_call>"},
		},
	}},
	{[]string{"minimax_m2"}, calls{
		open: "\n<minimax:tool_call>\n", sep: "\n", close: "\n</minimax:tool_call>", tokens: []string{"<minimax:tool_call>", "</minimax:tool_call>"},
		grammar: paramCall{
			open: `<invoke name="`, named: "\">\n", key: `<parameter name="`, str: `">`, valueEnd: "</parameter>\n", end: "</invoke>",
			closers: []string{"</parameter>", "</invoke>", "</minimax:tool_call>"},
		},
	}},
	{[]string{"dots"}, calls{
		before: "\n", open: "<dots_function_call>\n", sep: "\n", close: "\n</dots_function_call>",
		grammar: paramCall{
			open: `<invoke name="`, named: "\">\n", key: `<parameter name="`, str: `">`, valueEnd: "</parameter>\n", end: "</invoke>",
			closers: []string{"</parameter>", "</invoke>", "</dots_function_call>"},
		},
	}},
	{[]string{"minicpm5"}, calls{before: "\n", sep: "\n", grammar: paramCall{
		open: `<function name="`, named: `">`, key: `<param name="`, str: `">`, valueEnd: "</param>", end: "</function>",
		openers: []string{"<function "}, closers: []string{"</param>", "</function>", "<![CDATA["},
	}}},
	{[]string{"step3"}, calls{
		last: true, open: "<｜tool_calls_begin｜>", close: "<｜tool_calls_end｜>",
		grammar: paramCall{
			open: `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="`, named: `">`, key: `<steptml:parameter name="`, str: `">`,
			valueEnd: "</steptml:parameter>", end: "</steptml:invoke><｜tool_call_end｜>", closers: []string{"</steptml:", "<｜tool_call"},
		},
		tokens: []string{"<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>"},
	}},
	{[]string{"muse_glimmer", "muse"}, calls{sep: "<|eom|><|start|>assistant", frame: &museFrame, grammar: paramCall{
		open: " to=", again: "<|message|><atem:function_calls>\n<atem:invoke name=\"", named: "\">\n", key: `<atem:parameter name="`, str: `">`,
		valueEnd: "</atem:parameter>\n", end: "</atem:invoke>\n</atem:function_calls>", openers: []string{"<atem:function_calls>"}, closers: []string{"</atem:"},
	}}},

	// The same with a tag for the key and one for the value.
	{[]string{"glm45"}, calls{before: "\n", sep: "\n", grammar: pairLines, tokens: pairTokens}},
	{[]string{"glm47", "ling3", "spark25"}, calls{tight: true, grammar: pairCall, tokens: pairTokens}},
	{[]string{"poolside_v1"}, calls{tight: true, grammar: pairCall, tokens: pairTokens}},
	{[]string{"hy_v3", "hunyuan"}, calls{
		open: "<tool_calls:opensource>\n", sep: "\n", close: "\n</tool_calls:opensource>",
		grammar: paramCall{
			open: "<tool_call:opensource>", named: "<tool_sep:opensource>\n", key: "<arg_key:opensource>", str: "</arg_key:opensource>\n<arg_value:opensource>",
			valueEnd: "</arg_value:opensource>\n", end: "</tool_call:opensource>", closers: []string{"</arg_value:", "</arg_key:", "</tool_call:"},
		},
	}},
	{[]string{"k2_horizon"}, calls{open: "<ifm|tool_calls>", close: "</ifm|tool_calls>", grammar: paramCall{
		open: "<ifm|tool_call>", key: "<ifm|arg_key>", str: "</ifm|arg_key><ifm|arg_value>", valueEnd: "</ifm|arg_value>", end: "</ifm|tool_call>", closers: []string{"</ifm|"},
	}}},
	{[]string{"solar_open2"}, calls{
		grammar: paramCall{
			open: "<|tool_call:start|>", named: "\n", key: "<|tool_arg:start|>", str: "<|tool_arg:value|>", valueEnd: "<|tool_arg:end|>\n", end: "<|tool_call:end|>",
			openers: []string{"<|tool_call:start|>"}, closers: []string{"<|tool_arg:", "<|tool_call:"},
		},
		tokens: []string{"<|tool_call:start|>", "<|tool_arg:start|>", "<|tool_arg:value|>", "<|tool_arg:end|>", "<|tool_call:end|>"},
	}},

	// Values say whether they are strings, or of what type they are.
	{[]string{"deepseek_v32", "deepseekv32"}, calls{
		tight: true, last: true, open: "\n\n<" + dsml + "function_calls>\n", sep: "\n", close: "\n</" + dsml + "function_calls>",
		grammar: dsmlCall, tokens: []string{dsml},
	}},
	{[]string{"deepseek_v4", "deepseekv4"}, calls{
		tight: true, last: true, open: "\n\n<" + dsml + "tool_calls>\n", sep: "\n", close: "\n</" + dsml + "tool_calls>",
		grammar: dsmlLine, tokens: []string{dsml},
	}},
	{[]string{"deepseek_v41", "deepseekv41"}, calls{
		tight: true, last: true, open: "\n\n<" + dsml + " calls>\n", sep: "\n", close: "\n</" + dsml + " calls>",
		grammar: paramCall{
			open: "<" + dsml + ` invoke name="`, named: "\">\n", key: "<" + dsml + ` parameter name="`, str: `" string="true">`, other: `" string="false">`,
			valueEnd: "</" + dsml + " parameter>\n", end: "</" + dsml + " invoke>", closers: []string{"</" + dsml}, openers: []string{"<" + dsml},
		},
		tokens: []string{dsml},
	}},
	{[]string{"gigachat35"}, calls{
		last: true, open: "<｜GCML｜tool_calls>", close: "</｜GCML｜tool_calls>",
		grammar: paramCall{
			open: `<｜GCML｜invoke name="`, named: `">`, key: `<｜GCML｜parameter name="`, str: `" string="true">`, other: `" string="false">`,
			valueEnd: "</｜GCML｜parameter>", end: "</｜GCML｜invoke>", closers: []string{"</｜GCML｜"}, openers: []string{"<｜GCML｜"},
		},
		tokens: []string{"｜GCML｜"},
	}},
	{[]string{"kimi_k3"}, calls{last: true, frame: &kimiFrame, open: "<|open|>tools<|sep|>", close: "<|close|>tools<|sep|>", grammar: paramCall{
		open: `<|open|>call tool="`, count: `" index="`, named: `"<|sep|>`, key: `<|open|>argument key="`, str: `" type="string"<|sep|>`, typed: `" type="`, other: `"<|sep|>`,
		valueEnd: "<|close|>argument<|sep|>", end: "<|close|>call<|sep|>", attributes: true, closers: []string{"<|close|>", "<|open|>", "<|sep|>"}, openers: []string{"<|open|>", "<|close|>"},
	}}},
}
