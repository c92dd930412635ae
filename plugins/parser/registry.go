package parser

import (
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/parser/taggedjson"
	"github.com/weirgate/weir/plugins/parser/think"
	"github.com/weirgate/weir/plugins/parser/xmlparams"
)

// Names are those that vLLM, SGLang and Dynamo use, so that a model's recipe can be taken over. Where two
// of them mean different formats by one name the more common meaning holds: qwen3_xml is XML.

var (
	tags   = think.Config{Open: "<think>", Close: "</think>"}
	inside = think.Config{Open: "<think>", Close: "</think>", Inside: true}
)

// reasonings are the reasoning stages by name, in the order of Reasonings.
var reasonings = []struct {
	name string
	cfg  think.Config
}{
	{"think", tags},
	{"basic", tags},
	{"qwen3", tags},
	{"glm45", tags},
	{"nemotron_deci", tags},
	{"deepseek_r1", inside},
	{"deepseek_v3", inside},
	{"deepseek_v3_1", inside},
	{"minimax_m2", inside},
	{"nemotron3", inside},
	{"nemotron_nano", inside},
	{"nemotron_v3", inside},
	{"nano_v3", inside},
	{"step3", inside},
	{"kimi", think.Config{Open: "◁think▷", Close: "◁/think▷"}},
	{"mistral", think.Config{Open: "[THINK]", Close: "[/THINK]"}},
	{"seed_oss", think.Config{Open: "<seed:think>", Close: "</seed:think>"}},
}

func hermes() grammar.Grammar {
	return taggedjson.New(taggedjson.Config{Open: "<tool_call>", Close: "</tool_call>"})
}

func longcat() grammar.Grammar {
	return taggedjson.New(taggedjson.Config{Open: "<longcat_tool_call>", Close: "</longcat_tool_call>"})
}

func toolCall() grammar.Grammar {
	return taggedjson.New(taggedjson.Config{Open: "<TOOLCALL>", Close: "</TOOLCALL>"})
}

func toolCalls() grammar.Grammar {
	return taggedjson.New(taggedjson.Config{Open: "<tool_calls>", Close: "</tool_calls>"})
}

func qwen3Coder() grammar.Grammar {
	return xmlparams.New(xmlparams.Config{Open: "<tool_call>", Close: "</tool_call>"})
}

func seedOSS() grammar.Grammar {
	return xmlparams.New(xmlparams.Config{Open: "<seed:tool_call>", Close: "</seed:tool_call>", Exact: true})
}

// tools are the grammars of calls by name, in the order of Tools.
var tools = []struct {
	name string
	make func() grammar.Grammar
}{
	{"hermes", hermes},
	{"qwen", hermes},
	{"qwen25", hermes},
	{"granite4", hermes},
	{"trinity", hermes},
	{"longcat", longcat},
	{"nemotron_deci", toolCall},
	{"jamba", toolCalls},
	{"hunyuan_a13b", toolCalls},
	{"qwen3_coder", qwen3Coder},
	{"qwen3_xml", qwen3Coder},
	{"qwen_coder", qwen3Coder},
	{"qwen_xml", qwen3Coder},
	{"mimo", qwen3Coder},
	{"nemotron_nano", qwen3Coder},
	{"nemotron_v3", qwen3Coder},
	{"step3p5", qwen3Coder},
	{"seed_oss", seedOSS},
}

// Reasonings are the names that the config's reasoning may have, besides the empty one.
func Reasonings() []string {
	out := make([]string, 0, len(reasonings))
	for _, r := range reasonings {
		out = append(out, r.name)
	}
	return out
}

// Tools are the names that the config's tools may have, besides the empty one.
func Tools() []string {
	out := make([]string, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.name)
	}
	return out
}

// HasReasoning reports whether name is a reasoning stage; the empty name is one, that of a model that
// does not reason.
func HasReasoning(name string) bool {
	_, ok := reasoning(name)
	return ok
}

// HasTools reports whether name is a grammar of calls; the empty name is one, that of a model that calls
// nothing.
func HasTools(name string) bool {
	_, ok := callGrammar(name)
	return ok
}

func reasoning(name string) (*think.Config, bool) {
	for i := range reasonings {
		if reasonings[i].name == name {
			return &reasonings[i].cfg, true
		}
	}
	return nil, name == ""
}

func callGrammar(name string) (grammar.Grammar, bool) {
	for _, t := range tools {
		if t.name == name {
			return t.make(), true
		}
	}
	return nil, name == ""
}

// Markers are the texts whose token ids the config's markers may carry for this pair of names: a host
// looks each up in the model's vocabulary. Unknown names have none.
func Markers(reasoningName, toolsName string) []string {
	var out []string
	if r, ok := reasoning(reasoningName); ok && r != nil {
		out = append(out, r.Open, r.Close)
	}
	if g, ok := callGrammar(toolsName); ok && g != nil {
		for _, o := range g.Openers() {
			out = append(out, o.Text)
		}
		out = append(out, g.Closers()...)
	}
	return append(out, turnEnds[:]...)
}
