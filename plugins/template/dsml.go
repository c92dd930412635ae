package template

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

// dialect is one way of writing prompts whose calls are DSML: a tag for the invocation, and one for each
// parameter, which is raw text where it is a string and JSON where it is not.
type dialect struct {
	names  []string // as in a family
	policy string   // the family's

	block                  string // name of the tag around calls
	blank                  string // what stands in a call without parameters
	toolsHead, toolsFoot   string // around the definitions of tools
	resultHead, resultFoot string
	grouped                bool   // what stands between two turns of the model's is one turn of the user's
	looped                 bool   // a result in the conversation makes all of it one loop: all thinking is shown
	high, max              string // what the prompt begins with to ask for much thinking
}

// preamble is what asks for so much thinking.
func (d *dialect) preamble(l level) string {
	switch l {
	case levelHigh:
		return d.high
	case levelXHigh, levelMax:
		return d.max
	}
	return ""
}

// Markers of the family.
const (
	beginMark     = "<｜begin▁of▁sentence｜>"
	endMark       = "<｜end▁of▁sentence｜>"
	userHead      = "<｜User｜>"
	assistantHead = "<｜Assistant｜>"
	thinkOpen     = "<think>"
	thinkClose    = "</think>"
	tagOpen       = "<｜DSML｜"
	tagClose      = "</｜DSML｜"

	callsV32 = "function_calls"
	callsV4  = "tool_calls"
)

// Parameters that hold what is no object of arguments.
const (
	inputName     = "input"     // of a custom tool
	argumentsName = "arguments" // of a function
)

// dialects are those of the vendor's programs. Their fixed texts are part of the format: the models have seen
// no others.
var dialects = [...]dialect{
	{
		names: []string{"deepseek_v3_2", "deepseek_v32", "deepseekv32", "deepseek_v3.2"}, policy: "deepseek_v3_2",
		block:     callsV32,
		toolsHead: toolsV32, toolsFoot: "</functions>\n",
		resultHead: "\n<result>", resultFoot: "</result>",
	},
	{
		names: []string{"deepseek_v4", "deepseek-v4", "deepseekv4"}, policy: "deepseek_v4",
		block: callsV4, blank: "\n",
		toolsHead: toolsV4, toolsFoot: toolsEndV4,
		resultHead: "<tool_result>", resultFoot: "</tool_result>",
		grouped: true, looped: true,
		max: effortHigh,
	},
	{
		names: []string{"deepseek_v4_0731", "deepseek_v4_flash_0731"}, policy: "deepseek_v4",
		block: callsV4, blank: "\n",
		toolsHead: toolsV4, toolsFoot: toolsEndV4,
		resultHead: "<tool_result>", resultFoot: "</tool_result>",
		grouped: true, looped: true,
		high: effortHigh, max: effortMax,
	},
}

const (
	toolsV32 = `## Tools

You have access to a set of tools you can use to answer the user's question.
You can invoke functions by writing a "` + tagOpen + callsV32 + `>" block like the following as part of your reply to the user:
` + tagOpen + callsV32 + `>
` + tagOpen + `invoke name="$FUNCTION_NAME">
` + tagOpen + `parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE` + tagClose + `parameter>
...
` + tagClose + `invoke>
` + tagOpen + `invoke name="$FUNCTION_NAME2">
...
` + tagClose + `invoke>
` + tagClose + callsV32 + `>

String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should use JSON format. The "string" attribute should be set to "true" for string type parameters and "false" for other types (numbers, booleans, arrays, objects).

If the thinking_mode is enabled, then after function results you should strongly consider outputting a thinking block. Here is an example:

` + tagOpen + callsV32 + `>
...
` + tagClose + callsV32 + `>

<function_results>
...
</function_results>

` + thinkOpen + `...thinking about results` + thinkClose + `

Here are the functions available in JSONSchema format:
<functions>
`

	toolsV4 = `## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "` + tagOpen + callsV4 + `>" block like the following:

` + tagOpen + callsV4 + `>
` + tagOpen + `invoke name="$TOOL_NAME">
` + tagOpen + `parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE` + tagClose + `parameter>
...
` + tagClose + `invoke>
` + tagOpen + `invoke name="$TOOL_NAME2">
...
` + tagClose + `invoke>
` + tagClose + callsV4 + `>

String parameters should be specified as is and set ` + "`string=\"true\"`" + `. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set ` + "`string=\"false\"`" + `.

If thinking_mode is enabled (triggered by ` + thinkOpen + `), you MUST output your complete reasoning inside ` + thinkOpen + `...` + thinkClose + ` BEFORE any tool calls or final response.

Otherwise, output directly after ` + thinkClose + ` with tool calls or final response.

### Available Tool Schemas

`
	toolsEndV4 = "\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n"

	effortHigh = "Reasoning Effort: Absolute maximum with no shortcuts permitted.\n" +
		"You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.\n" +
		"Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.\n\n"
	effortMax = "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n" +
		"You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose the problem into its most fundamental components, trace every causal chain to its root, and resolve the underlying cause rather than any surface symptom.\n" +
		"Do not stop reasoning until you have independently verified the solution from multiple angles and are certain that no assumption remains unchecked and no error remains undiscovered.\n\n"
)

// assistant writes the rows of one message of the model's.
func (p *page) assistant(first, end int) error {
	shown := p.shown(p.in.Row(first).Message())
	goesOn := p.sw.goesOn && end == p.in.Len()
	thinking := goesOn && conv.PartKind(p.in.Row(end-1).Kind()) == conv.Reasoning
	switch {
	case p.grouped, p.place == atUser:
		p.w.Literal(assistantHead)
	case p.place == atResult:
		p.w.Literal("\n\n")
	default: // behind another message of the model's nothing opens a turn, and there is no thinking
		shown, thinking = false, false
	}
	opened := p.grouped || p.place != atStart
	if shown {
		p.w.Literal(thinkOpen)
	}
	p.thoughts(first, end, shown)
	if opened && (!thinking || !shown) {
		p.w.Literal(thinkClose)
	}
	p.texts(first, end)
	if err := p.invocations(first, end); err != nil {
		return err
	}
	p.place = atStart
	switch {
	case !goesOn:
		p.w.Literal(endMark)
	case thinking && shown:
		p.w.Op(plan.Op{Kind: plan.StartOp, State: plan.StartReasoning})
	default:
		p.w.Op(plan.Op{Kind: plan.StartOp, State: plan.StartContent})
	}
	return nil
}

// thoughts writes the reasoning of a message, or says that it is dropped.
func (p *page) thoughts(first, end int, shown bool) {
	some := false
	for i := first; i < end; i++ {
		r := p.in.Row(i)
		if conv.PartKind(r.Kind()) != conv.Reasoning {
			continue
		}
		if !shown || r.Length() == 0 {
			p.w.Op(plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: plan.Drop})
			continue
		}
		if some {
			p.w.Literal("\n")
		}
		some = true
		p.text(plan.Text, i, r)
	}
}

// texts writes the text of a message. All of it stands in front of the calls, since the format has no text
// behind them.
func (p *page) texts(first, end int) {
	some := false
	for i := first; i < end; i++ {
		r := p.in.Row(i)
		if conv.PartKind(r.Kind()) != conv.Text || r.Length() == 0 {
			continue
		}
		if some {
			p.w.Literal("\n")
		}
		some = true
		p.text(plan.Text, i, r)
	}
}

// invocations writes the calls of a message, and notes their order.
func (p *page) invocations(first, end int) error {
	p.calls = p.calls[:0]
	for i := first; i < end; i++ {
		r := p.in.Row(i)
		if conv.PartKind(r.Kind()) != conv.Call {
			continue
		}
		if p.in.Content&plan.ReadArguments == 0 {
			return errArguments
		}
		if len(p.calls) == 0 {
			p.w.Literal("\n\n" + tagOpen)
			p.w.Literal(p.block)
			p.w.Literal(">\n")
		}
		p.calls = append(p.calls, i)
		p.w.Literal(tagOpen + `invoke name="`)
		p.w.Refer(plan.Name, plan.Verbatim, i, 0, uint32(r.NameLength()))
		p.w.Literal("\">\n")
		p.parameters(i, r)
		p.w.Literal(tagClose + "invoke>\n")
	}
	if len(p.calls) > 0 {
		p.w.Literal(tagClose)
		p.w.Literal(p.block)
		p.w.Literal(">")
	}
	return nil
}

// member is where a member of arguments stands: its name without the quotes, and its value.
type member struct {
	name, nameEnd, value, end uint32
}

// parameters writes the arguments of a call.
func (p *page) parameters(i int, r plan.RowView) {
	text := p.in.Text(r)
	if r.Flags()&plan.RowCustom != 0 {
		p.whole(i, r, inputName)
		return
	}
	found, ok := members(p.members[:0], text)
	if !ok {
		p.whole(i, r, argumentsName)
		return
	}
	p.members = found
	for _, m := range found {
		p.w.Literal(tagOpen + `parameter name="`)
		p.w.Refer(plan.Arguments, plan.JSONText, i, m.name, m.nameEnd)
		if text[m.value] == '"' {
			p.w.Literal(`" string="true">`)
			p.w.Refer(plan.Arguments, plan.JSONText, i, m.value+1, m.end-1)
		} else {
			p.w.Literal(`" string="false">`)
			p.w.Refer(plan.Arguments, plan.JSONValue, i, m.value, m.end)
		}
		p.w.Literal(tagClose + "parameter>\n")
	}
	if len(found) == 0 {
		p.w.Literal(p.blank)
	}
}

// whole writes arguments as one parameter.
func (p *page) whole(i int, r plan.RowView, name string) {
	p.w.Literal(tagOpen + `parameter name="`)
	p.w.Literal(name)
	p.w.Literal(`" string="true">`)
	p.text(plan.Arguments, i, r)
	p.w.Literal(tagClose + "parameter>\n")
}

// members appends the members of arguments to out. Nothing and null have none; what is no object is false.
func members(out []member, text []byte) ([]member, bool) {
	r := jsonscan.NewReader(text)
	switch r.Peek() {
	case jsonscan.None:
		return out, r.End() == nil
	case jsonscan.Null:
		_, err := r.Raw()
		return out, err == nil && r.End() == nil
	}
	if r.OpenObject() != nil {
		return nil, false
	}
	for {
		from := r.Offset()
		_, ok, err := r.Member()
		if err != nil {
			return nil, false
		}
		if !ok {
			return out, r.End() == nil
		}
		// Between two members stands nothing else that could be a quote.
		for text[from] != '"' {
			from++
		}
		nameEnd := r.Offset() - 1
		for text[nameEnd] != ':' {
			nameEnd--
		}
		for text[nameEnd] != '"' {
			nameEnd--
		}
		raw, err := r.Raw()
		if err != nil {
			return nil, false
		}
		end := r.Offset()
		out = append(out, member{uint32(from + 1), uint32(nameEnd), uint32(end - len(raw)), uint32(end)})
	}
}
