// Package chatml renders conversations for the ChatML families (Qwen, Hermes) natively: what their own
// templates print, without a template engine.
//
// A prompt is a row of turns `<|im_start|>ROLE\nCONTENT<|im_end|>\n` and the header of the turn the model
// is to write, followed by the tail (a thinking switch). System and developer messages at the start are
// one system turn, with the tools in it; later ones stand where they were said. Consecutive tool results
// are one user turn, in the order of the calls they answer. What is rendered depends on the request and
// the plan alone, byte for byte: nothing is iterated in an order that may change.
//
// Text is copied as it is: a user who writes `<|im_end|>` forges a turn. Keeping that apart is the
// business of the tokenizer's guard, which has to see where each byte came from.
package chatml

import (
	"slices"
	"strings"
	"sync"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Markers of all dialects.
const (
	turnOpen   = "<|im_start|>"
	turnClose  = "<|im_end|>"
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"

	// openedThink and closedThink are the tails that switch thinking on, where the prompt does that, and off.
	openedThink = "<think>\n"
	closedThink = "<think>\n\n</think>\n\n"
)

// Dialect is a family's way of writing ChatML.
type Dialect string

// Dialects.
const (
	Qwen25     Dialect = "qwen2.5"     // calls as Hermes JSON, no thinking; also Hermes itself
	Qwen3      Dialect = "qwen3"       // calls as Hermes JSON, the model opens its thinking
	Qwen35     Dialect = "qwen3.5"     // calls as XML parameters, the prompt opens the thinking
	Qwen3Coder Dialect = "qwen3_coder" // calls and tool list as XML, no thinking
)

// Dialects returns the names that Options.Dialect may have.
func Dialects() []string {
	return []string{string(Qwen25), string(Qwen3), string(Qwen35), string(Qwen3Coder)}
}

// style is what tells the dialects apart.
type style struct {
	thinks      bool // has thinking; elsewhere reasoning is never rendered
	promptOpens bool // the prompt ends with an open block, and every turn after the last user has one
	xml         bool // calls as <function=..><parameter=..>
	xmlTools    bool // tools as <function><name>.., not as lines of JSON
	toolsFirst  bool // the tool section comes before the system text
	trim        bool // white space around contents is cut
}

func (d Dialect) style() (style, bool) {
	switch d {
	case Qwen25:
		return style{}, true
	case Qwen3:
		return style{thinks: true}, true
	case Qwen35:
		return style{thinks: true, promptOpens: true, xml: true, toolsFirst: true, trim: true}, true
	case Qwen3Coder:
		return style{xml: true, xmlTools: true}, true
	}
	return style{}, false
}

// Thinking is a switch for thinking.
type Thinking uint8

// Values of Options.Thinking.
const (
	ThinkingDefault Thinking = iota // as the family does when it is not told: on where it can think
	ThinkingOn
	ThinkingOff
)

// Options choose how a conversation is rendered.
type Options struct {
	Dialect Dialect
	// Thinking counts only when the plan has neither a TailOp nor a StartOp: then the dialect's own tail
	// is written. A policy that says where the model starts has the last word.
	Thinking Thinking
	// ToolName gives a tool's name in the prompt; nil: the name, after `namespace__` if it has one.
	ToolName func(namespace, name string) string
}

// Prompt is a rendered conversation.
type Prompt struct {
	Text string // whole, with the tail at its end
	// Tail is what follows the header of the last turn: written by the host or the policy, never by a
	// user, at most abi.MaxPromptTail bytes. Parsers learn from it where the model starts.
	Tail     string
	Stops    []string        // the family's stop strings
	Preserve []string        // special tokens that must survive detokenizing
	Start    plan.StartState // where the model's output begins
}

// Render renders req with what the plan says; a part that no instruction names is kept. KwargOp and
// CallIDOp mean nothing here, since these families print neither. Errors are *fault.Error: Unsupported
// for media, Plugin for a plan that does not fit the conversation, Internal for an unknown dialect.
func Render(req *conv.Request, ops []plan.Op, o Options) (Prompt, error) {
	st, ok := o.Dialect.style()
	if !ok {
		return Prompt{}, fault.New(fault.Internal, "no template family %q", o.Dialect)
	}
	p, err := readPlan(req, ops, st)
	if err != nil {
		return Prompt{}, err
	}
	if !p.starts {
		p.tail, p.start = st.tail(o.Thinking)
	}
	r := renderer{style: st, req: req, plan: &p, name: o.ToolName, lastUser: lastUser(req)}
	if r.name == nil {
		r.name = plainName
	}
	page, _ := pages.Get().(*[]byte)
	if page == nil {
		page = new([]byte)
	}
	r.buf = slices.Grow((*page)[:0], estimate(req))
	text, err := r.text()
	if *page = r.buf; cap(r.buf) <= maxPage {
		pages.Put(page)
	}
	if err != nil {
		return Prompt{}, err
	}
	return Prompt{Text: text, Tail: p.tail, Stops: p.stops, Preserve: p.tokens, Start: p.start}, nil
}

// pages are the buffers in which prompts are written, so that a prompt costs memory of its own length
// alone: how long it gets is known when it is there.
var pages sync.Pool //nolint:gochecknoglobals // a rendering has no owner that could hold it

// maxPage is the largest buffer that is kept, in bytes.
const maxPage = 256 << 10

// text writes the whole prompt.
func (r *renderer) text() (string, error) {
	first, err := r.system()
	if err != nil {
		return "", err
	}
	for i := first; i < len(r.req.Messages); i++ {
		if err := r.message(i); err != nil {
			return "", err
		}
	}
	if err := r.flushResults(); err != nil {
		return "", err
	}
	r.put(turnOpen, "assistant\n", r.plan.tail)
	return string(r.buf), nil
}

// tail is the dialect's own thinking switch.
func (s style) tail(t Thinking) (string, plan.StartState) {
	switch {
	case !s.thinks:
		return "", plan.StartContent
	case t == ThinkingOff:
		return closedThink, plan.StartContent
	case s.promptOpens:
		return openedThink, plan.StartReasoning
	}
	return "", plan.StartAuto
}

func plainName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// estimate is the length of the prompt, about.
func estimate(req *conv.Request) int {
	n := 1024
	for i := range req.Tools {
		n += len(req.Tools[i].Schema)*5/4 + len(req.Tools[i].Description) + 128
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			n += partLen(p) + 64
		}
	}
	return n
}

// partLen is the length of a part's text, arguments or data.
func partLen(p *conv.Part) int {
	switch {
	case p.Kind == conv.Call && p.Call != nil:
		return len(p.Call.Arguments)
	case p.Kind == conv.Result && p.Result != nil:
		n := 0
		for i := range p.Result.Parts {
			// A result holds no results: what one nested anyway is nothing.
			if q := &p.Result.Parts[i]; q.Kind != conv.Result {
				n += partLen(q)
			}
		}
		return n
	case p.Kind == conv.MediaPart && p.Media != nil:
		return len(p.Media.Data) + len(p.Media.URL)
	}
	return len(p.Text)
}

// thinkState tells where a tail leaves the model: by its last think marker.
func thinkState(tail string) plan.StartState {
	open, end := strings.LastIndex(tail, thinkOpen), strings.LastIndex(tail, thinkClose)
	switch {
	case open < 0 && end < 0:
		return plan.StartAuto
	case open > end:
		return plan.StartReasoning
	}
	return plan.StartContent
}

// maxTail is the longest tail.
const maxTail = abi.MaxPromptTail
