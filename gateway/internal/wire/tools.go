package wire

import "slices"

// calls is how a family writes calls: its grammar, and what stands around the calls of a round.
type calls struct {
	before           string // after text
	open, sep, close string // around a round of calls and between two of them
	grammar          grammar
	max              int      // calls in a turn; 0: any number
	alone            bool     // they are the whole message but for reasoning
	last             bool     // nothing can follow them
	tight            bool     // the family writes no white space around <think> and </think>
	frame            *frame   // of a format of messages
	tokens           []string // its markers that are tokens
}

// grammar writes single calls.
type grammar interface {
	// append writes call n of a turn, counted from 0.
	append(dst []byte, n int, b *Block) []byte
	// check says what of a call the format cannot say; the error wraps ErrCannot.
	check(b *Block) error
	// marks are the texts that begin a call where open does not tell, and others that are no text.
	marks() []string
}

// toolStyle is a way to write calls, with the names of the parsers that read it.
type toolStyle struct {
	names []string
	calls calls
}

// findCalls returns the style of that name, nil if there is none.
func findCalls(name string) *calls {
	for _, table := range [...][]toolStyle{jsonTools, tagTools, otherTools} {
		for i := range table {
			if slices.Contains(table[i].names, name) {
				return &table[i].calls
			}
		}
	}
	return nil
}

// Members of calls that are JSON objects.
const (
	nameKey   = `"name": `
	argsKey   = `, "arguments": `
	paramsKey = `, "parameters": `
)

// Tokens that stand in several styles.
const (
	callOpen  = "<tool_call>"
	callClose = "</tool_call>"
)

var (
	callTokens   = []string{callOpen, callClose}
	seekTokens   = []string{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"}
	actionTokens = []string{"<|START_ACTION|>", "<|END_ACTION|>"}
)

// Grammars that stand in several styles.
var (
	object       = jsonCall{name: nameKey, args: argsKey}
	taggedObject = jsonCall{open: callOpen + "\n", name: nameKey, args: argsKey, close: "\n" + callClose}
	action       = jsonCall{counter: `"tool_call_id": `, name: `, "tool_name": `, args: paramsKey}
)

// jsonTools are the styles whose arguments are JSON.
var jsonTools = []toolStyle{
	// An object with the name inside, in tags of its own.
	{[]string{"hermes", "qwen", "qwen25", "granite4", "trinity", "ernie45"}, calls{before: "\n", sep: "\n", grammar: taggedObject, tokens: callTokens}},
	{[]string{"longcat"}, calls{
		before: "\n", sep: "\n",
		grammar: jsonCall{open: "<longcat_tool_call>\n", name: nameKey, args: argsKey, close: "\n</longcat_tool_call>"},
	}},
	{[]string{"granite-20b-fc"}, calls{alone: true, sep: "\n", grammar: jsonCall{open: "<function_call> ", name: nameKey, args: argsKey}}},
	{[]string{"gigachat3"}, calls{
		max: 1, last: true, tokens: []string{"<|function_call|>"},
		grammar: jsonCall{open: "<|function_call|>", name: nameKey, args: argsKey},
	}},
	{[]string{"internlm", "interns1"}, calls{
		tokens:  []string{"<|action_start|>", "<|plugin|>", "<|action_end|>"},
		grammar: jsonCall{open: "<|action_start|><|plugin|>\n", name: nameKey, args: argsKey, close: "<|action_end|>"},
	}},
	{[]string{"inkling"}, calls{
		sep: "<|end_message|><|message_model|>", frame: &inklingFrame,
		grammar: jsonCall{header: "<|content_invoke_tool_json|>", name: `"name":`, args: `,"args":`},
	}},

	// A list of such objects in one pair of tags, or in none.
	{[]string{"nemotron_deci"}, calls{open: "<TOOLCALL>[", sep: ", ", close: "]</TOOLCALL>", grammar: object}},
	{[]string{"jamba"}, calls{before: "\n", open: "<tool_calls>[", sep: ", ", close: "]</tool_calls>", grammar: object}},
	{[]string{"hunyuan_a13b"}, calls{open: "<tool_calls>[", sep: ", ", close: "]</tool_calls>", grammar: object}},
	{[]string{"minimax"}, calls{before: "\n", open: "<tool_calls>\n", sep: "\n", close: "\n</tool_calls>", grammar: object}},
	{[]string{"granite"}, calls{alone: true, open: "<|tool_call|>[", sep: ", ", close: "]", grammar: object}},
	{[]string{"phi4_mini_json", "phi4"}, calls{before: " ", last: true, open: "functools[", sep: ", ", close: "]", grammar: object}},
	{[]string{"xlam"}, calls{alone: true, open: "[", sep: ", ", close: "]", grammar: object}},
	{[]string{"llama3_json", "llama3"}, calls{alone: true, max: 1, grammar: jsonCall{name: nameKey, args: paramsKey}}},
	{[]string{"llama4_json"}, calls{last: true, grammar: jsonCall{name: nameKey, args: paramsKey}}},
	{[]string{"apertus", "apertus2509"}, calls{
		open: "<|tools_prefix|>[", sep: ", ", close: "]<|tools_suffix|>", grammar: jsonCall{keyed: true},
		tokens: []string{"<|tools_prefix|>", "<|tools_suffix|>"},
	}},
	{[]string{"cohere_command3"}, calls{
		last: true, open: "<|START_ACTION|>[\n    ", sep: ",\n    ", close: "\n]<|END_ACTION|>",
		grammar: action, frame: &cohere3Frame, tokens: actionTokens,
	}},
	{[]string{"cohere_command4"}, calls{
		last: true, open: "<|START_ACTION|>[\n    ", sep: ",\n    ", close: "\n]<|END_ACTION|>",
		grammar: action, frame: &cohere4Frame, tokens: actionTokens,
	}},

	// A header with the name, and JSON.
	{[]string{"deepseek_v3", "deepseekv3"}, calls{
		last: true, open: "<｜tool▁calls▁begin｜>", sep: "\n", close: "<｜tool▁calls▁end｜>", tokens: seekTokens,
		grammar: headerCall{open: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", mid: "\n```json\n", end: "\n```<｜tool▁call▁end｜>"},
	}},
	{[]string{"deepseek_v31", "deepseek_v3_1", "deepseekv31"}, calls{
		tight: true, last: true, open: "<｜tool▁calls▁begin｜>", close: "<｜tool▁calls▁end｜>", tokens: seekTokens,
		grammar: headerCall{open: "<｜tool▁call▁begin｜>", mid: "<｜tool▁sep｜>", end: "<｜tool▁call▁end｜>"},
	}},
	{[]string{"kimi_k2"}, calls{
		tight: true, open: "<|tool_calls_section_begin|>", close: "<|tool_calls_section_end|>",
		grammar: headerCall{open: "<|tool_call_begin|>functions.", id: idIndex, mid: "<|tool_call_argument_begin|>", end: "<|tool_call_end|>"},
		tokens:  []string{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"},
	}},
	{[]string{"mistral"}, calls{tokens: []string{"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}, grammar: headerCall{open: "[TOOL_CALLS]", mid: "[ARGS]"}}},
	{[]string{"solar_open"}, calls{
		last: true, frame: &solarFrame, open: "<|tool_calls|>",
		grammar: headerCall{open: "<|tool_call:begin|>", id: idTen, named: "<|tool_call:name|>", mid: "<|tool_call:args|>", end: "<|tool_call:end|>"},
		tokens:  []string{"<|tool_calls|>", "<|calls|>", "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>", "<|tool_call:end|>"},
	}},
	{[]string{"openai", "harmony", "gpt-oss"}, calls{
		max: 1, last: true, frame: &harmonyFrame,
		grammar: headerCall{open: "<|channel|>commentary to=functions.", mid: " <|constrain|>json<|message|>"},
	}},
}

// otherTools are the styles with literals of their own.
var otherTools = []toolStyle{
	{[]string{"minimax_m3"}, calls{
		open: m3 + "<tool_call>\n", sep: "\n", close: "\n" + m3 + "</tool_call>", grammar: nestedCall{}, tokens: []string{m3},
	}},
	{[]string{"gemma4"}, calls{tokens: []string{"<|tool_call>", "<tool_call|>", `<|"|>`}, grammar: pseudoCall{open: "<|tool_call>call:", quote: `<|"|>`, end: "<tool_call|>", sorted: true}}},
	{[]string{"functiongemma"}, calls{
		tokens:  []string{"<start_function_call>", "<end_function_call>", "<escape>"},
		grammar: pseudoCall{open: "<start_function_call>call:", quote: "<escape>", end: "<end_function_call>", all: true},
	}},
	{[]string{"pythonic", "llama4_pythonic"}, calls{alone: true, open: "[", sep: ", ", close: "]", grammar: pyCall{quote: '"'}}},
	{[]string{"lfm2"}, calls{
		tight: true, open: "<|tool_call_start|>[", sep: ", ", close: "]<|tool_call_end|>", grammar: pyCall{quote: '\'', json: true},
		tokens: []string{"<|tool_call_start|>", "<|tool_call_end|>"},
	}},
	{[]string{"olmo3"}, calls{before: "\n", open: "<function_calls>\n", sep: "\n", close: "\n</function_calls>", grammar: pyCall{quote: '"', json: true}}},
}
