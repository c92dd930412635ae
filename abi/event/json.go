package event

import (
	"math"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
)

// object writes the members of a JSON object.
type object struct {
	dst   []byte
	comma bool
}

func begin(dst []byte) object { return object{dst: append(dst, '{')} }

func (o *object) end() []byte { return append(o.dst, '}') }

func (o *object) key(name string) {
	if o.comma {
		o.dst = append(o.dst, ',')
	}
	o.comma = true
	o.dst = append(jsonscan.AppendString(o.dst, name), ':')
}

func (o *object) text(name string, b []byte) {
	o.key(name)
	o.dst = jsonscan.AppendString(o.dst, b)
}

func (o *object) str(name, s string) {
	o.key(name)
	o.dst = jsonscan.AppendString(o.dst, s)
}

// some is str for a member that is left out when it is empty.
func (o *object) some(name, s string) {
	if s != "" {
		o.str(name, s)
	}
}

func (o *object) num(name string, n int) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, int64(n), 10)
}

func (o *object) flag(name string, b bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, b)
}

var phaseNames = [...]string{"", "commentary", "final"}

// String returns the phase's name, empty for PhaseNone.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return ""
}

// AppendJSON appends e as one JSON object without a line feed: its kind under "type" and the fields that
// count for it. Arguments stand as a string, for they are text to whoever carries them.
func AppendJSON(dst []byte, e *Event) []byte {
	o := begin(dst)
	o.str("type", e.Kind.String())
	switch e.Kind {
	case TurnStart, UsageKind:
		o.usage(e.Usage)
	case ReasoningEnd:
		o.some("seal", e.Seal)
	case TextStart:
		o.some("phase", e.Phase.String())
	case ReasoningDelta, TextDelta, ToolArgs:
		o.text("text", e.Text)
		o.tokens(e.Tokens)
	case ToolStart:
		o.call(&e.Call)
	case ToolEnd:
		o.num("index", e.Call.Index)
		o.str("id", e.Call.ID)
		o.flag("complete", e.Complete)
		o.some("cause", string(e.Cause))
		if len(e.Text) > 0 {
			o.text("text", e.Text)
		}
	case Dispatch:
		o.call(&e.Call)
		o.text("arguments", e.Call.Arguments)
	case Finish:
		o.str("reason", string(e.Reason))
		o.some("stop_sequence", e.StopSequence)
	case FaultKind:
		o.fault(e.Fault)
	}
	return o.end()
}

func (o *object) call(c *Call) {
	o.num("index", c.Index)
	o.str("id", c.ID)
	o.str("name", c.Name)
	o.some("namespace", c.Namespace)
	o.str("kind", c.Kind.String())
}

func (o *object) usage(u Usage) {
	o.num("input", u.Input)
	o.num("cached", u.Cached)
	o.num("output", u.Output)
	o.num("reasoning", u.Reasoning)
	if u.Estimate {
		o.flag("estimate", true)
	}
}

func (o *object) fault(f Fault) {
	o.str("kind", f.Kind)
	o.str("message", f.Message)
}

// tokens writes the tokens behind a delta, where there are any, each with its alternatives.
func (o *object) tokens(list []Token) { o.tokenList("tokens", list, true) }

func (o *object) tokenList(name string, list []Token, top bool) {
	if len(list) == 0 {
		return
	}
	o.key(name)
	o.dst = append(o.dst, '[')
	for i, t := range list {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		m := begin(o.dst)
		m.num("id", int(t.ID))
		m.text("bytes", t.Bytes)
		m.key("logprob")
		m.dst = strconv.AppendFloat(m.dst, finite(t.Logprob), 'g', -1, 32)
		if top {
			m.tokenList("top", t.Top, false)
		}
		o.dst = m.end()
	}
	o.dst = append(o.dst, ']')
}

// lowest stands for a logprob that is no number, as servers write that of an impossible token.
const lowest = -9999

func finite(p float32) float64 {
	if v := float64(p); v >= -math.MaxFloat32 && v <= math.MaxFloat32 {
		return v
	}
	return lowest
}

// AppendJSON appends r as one JSON object without a line feed: the blocks in order, then reasoning and
// content put together, the calls and the reason. A call that is not complete stays a call here and says
// so; its raw bytes, where kept, are its block's text. Fault is there only if the turn failed.
func (r *Result) AppendJSON(dst []byte) []byte {
	o := begin(dst)
	o.key("blocks")
	o.dst = append(o.dst, '[')
	for i := range r.Blocks {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		m := begin(o.dst)
		m.block(&r.Blocks[i])
		o.dst = m.end()
	}
	o.dst = append(o.dst, ']')
	o.joined("reasoning", r.Blocks, ReasoningStart)
	o.joined("content", r.Blocks, TextStart)
	o.key("tool_calls")
	o.dst = append(o.dst, '[')
	first := true
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if b.Kind != ToolStart {
			continue
		}
		if !first {
			o.dst = append(o.dst, ',')
		}
		first = false
		m := begin(o.dst)
		m.foldedCall(b)
		o.dst = m.end()
	}
	o.dst = append(o.dst, ']')
	o.str("finish_reason", string(r.Reason))
	if r.Fault != nil {
		o.key("fault")
		m := begin(o.dst)
		m.fault(*r.Fault)
		o.dst = m.end()
	}
	return o.end()
}

func (o *object) block(b *Block) {
	switch b.Kind {
	case ReasoningStart:
		o.str("type", "reasoning")
		o.text("text", b.Text)
		o.some("seal", b.Seal)
	case TextStart:
		o.str("type", "text")
		o.text("text", b.Text)
		o.some("phase", b.Phase.String())
	default:
		o.str("type", "tool_call")
		o.text("text", b.Raw)
		o.foldedCall(b)
	}
}

func (o *object) foldedCall(b *Block) {
	o.str("id", b.Call.ID)
	o.str("name", b.Call.Name)
	o.some("namespace", b.Call.Namespace)
	o.text("arguments", b.Call.Arguments)
	o.flag("complete", b.Complete)
}

// joined writes the text of all blocks of a kind as one string.
func (o *object) joined(name string, blocks []Block, kind Kind) {
	o.key(name)
	o.dst = append(o.dst, '"')
	for i := range blocks {
		if blocks[i].Kind == kind {
			o.dst = jsonscan.AppendEscaped(o.dst, blocks[i].Text)
		}
	}
	o.dst = append(o.dst, '"')
}
