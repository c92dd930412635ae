package template

import "github.com/weirgate/weir/abi/plan"

// family is a row of the table: what holds for the models of one family. A family of which nothing is known
// in a column has its zero value.
type family struct {
	names []string // the family's, then what other servers call it

	// What of the history's reasoning is replayed.
	replay    replay
	callsOnly bool    // only of turns that call tools
	whenOn    bool    // only while thinking is on
	history   history // the template's argument for it
	rounds    bool    // a turn can hold several rounds of thinking and calls, and is spliced where it does

	// How thinking is switched.
	toggle toggle
	effort effort
	always bool // it cannot be switched off

	// Where the model starts.
	start start
	open  string // what opens the thinking where the prompt does; empty where it differs by checkpoint
	off   begin  // the start where thinking is off
	gap   string // in front of both after a tool's result
	after after

	ids    ids
	stops  []string // only such as no prose has; engines know the token that ends a turn anyway
	tokens []string // of calls and turns, that detokenizing must not lose
	marks  []string // of thinking
}

// start says who opens the thinking.
type start uint8

const (
	startModel   start = iota // the model
	startPrompt               // the prompt
	startNone                 // nobody; nothing is said of it
	startContent              // nobody: the family does not think
	startTail                 // the prompt's tail tells
)

// after says how a turn goes on after a tool's result.
type after uint8

const (
	afterHeader  after = iota // with a header and a start like any other
	afterTail                 // some templates write none of it; the prompt's tail tells
	afterContent              // none of it is written, and the thinking is over
)

// begin is where the model starts.
type begin struct {
	tail  string // behind the header of its turn
	state plan.StartState
}

// toggle is the template argument that switches thinking: JSON values for on, off and adaptive. An empty
// value sets nothing.
type toggle struct {
	arg               arg
	on, off, adaptive string
	def               wish // where nobody says anything; unset is on
}

// effort is the template argument for how much to think.
type effort struct {
	arg    arg
	values *[levels]string // JSON by level; empty: nothing is set
}

func (e *effort) value(l level) string {
	if e.values == nil {
		return ""
	}
	return e.values[l]
}

func (t *toggle) value(thinks wish) string {
	switch {
	case thinks == off:
		return t.off
	case thinks == adaptive && t.adaptive != "":
		return t.adaptive
	}
	return t.on
}

// history is the template argument with which a client asks for all reasoning or for less of it.
type history struct {
	arg     arg
	all     wish // its value that asks for all
	less    bool // the opposite value asks for less than the family's rule
	evenOff bool // all is replayed even while thinking is off
}

// ids says which ids calls have in a prompt.
type ids uint8

const (
	idsFree      ids = iota // any, or none
	idsFunctions            // functions.NAME:N, counted over the whole conversation
	idsNine                 // nine letters and digits
)

// Switches that several families have.
var (
	enableThinking    = toggle{arg: argEnableThinking, on: "true", off: "false"}
	enableThinkingOff = toggle{arg: argEnableThinking, on: "true", off: "false", def: off}
	thinkingSwitch    = toggle{arg: argThinking, on: "true", off: "false"}
	thinkingSwitchOff = toggle{arg: argThinking, on: "true", off: "false", def: off}
)

// Levels of thinking by family.
var (
	threeLevels = [levels]string{
		levelNone: `"low"`, levelMinimal: `"low"`, levelLow: `"low"`, levelMedium: `"medium"`, levelHigh: `"high"`, levelXHigh: `"high"`, levelMax: `"high"`,
	}
	qwenLevels = [levels]string{
		levelMinimal: `"low"`, levelLow: `"low"`, levelMedium: `"medium"`, levelHigh: `"xhigh"`, levelXHigh: `"xhigh"`, levelMax: `"xhigh"`,
	}
	glmLevels = [levels]string{
		levelMinimal: `"high"`, levelLow: `"high"`, levelMedium: `"high"`, levelHigh: `"high"`, levelXHigh: `"max"`, levelMax: `"max"`,
	}
	deepSeekLevels = [levels]string{levelXHigh: `"max"`, levelMax: `"max"`}
	kimiLevels     = [levels]string{
		levelMinimal: `"low"`, levelLow: `"low"`, levelMedium: `"medium"`, levelHigh: `"high"`, levelXHigh: `"max"`, levelMax: `"max"`,
	}
	hunyuanLevels = [levels]string{
		levelMinimal: `"low"`, levelLow: `"low"`, levelMedium: `"high"`, levelHigh: `"high"`, levelXHigh: `"high"`, levelMax: `"high"`,
	}
	solarLevels = [levels]string{
		levelMinimal: `"minimal"`, levelLow: `"low"`, levelMedium: `"medium"`, levelHigh: `"high"`, levelXHigh: `"high"`, levelMax: `"high"`,
	}
	superLevels = [levels]string{levelMinimal: "true", levelLow: "true"}
	ultraLevels = [levels]string{levelMinimal: "true", levelLow: "true", levelMedium: "true"}
)

// Pieces of prompts that several families have.
const (
	openedThink = "<think>\n"
	closedThink = "<think>\n\n</think>\n\n"
)

// Markers and ends of turns that several families have.
var (
	thinkMarks    = []string{"<think>", "</think>"}
	taggedCalls   = []string{"<tool_call>", "</tool_call>"}
	listedCalls   = []string{"<tool_calls>", "</tool_calls>"}
	pairCalls     = []string{"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}
	deepSeekCalls = []string{
		"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
	}
	dsmlCalls = []string{"｜DSML｜"}
	kimiCalls = []string{
		"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
	}
	mistralCalls = []string{"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"}
	mistralMarks = []string{"[THINK]", "[/THINK]"}
	cohereCalls  = []string{"<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}
	cohereMarks  = []string{"<|START_THINKING|>", "<|END_THINKING|>"}

	chatMLEnd   = []string{"<|im_end|>"}
	deepSeekEnd = []string{"<｜end▁of▁sentence｜>"}
	glmEnd      = []string{"<|user|>", "<|observation|>"}
	cohereEnd   = []string{"<|END_OF_TURN_TOKEN|>"}
)
