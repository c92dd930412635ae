package responses

import (
	"bytes"
	"strconv"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/surface"
)

// status is how far an item or an answer is.
type status string

const (
	inProgress status = "in_progress"
	completed  status = "completed"
	incomplete status = "incomplete"
	failed     status = "failed"
	cancelled  status = "cancelled"
)

// item is one item of the output: a block of the turn.
type item struct {
	kind  event.Kind // ReasoningStart, TextStart or ToolStart
	index int        // in the output
	phase event.Phase
	seal  string
	call  event.Call // its Arguments are in text
	// text is what the block says as the inside of a JSON string, so that it is escaped once, however many events
	// repeat it; the arguments of a search for tools, which go out as an object, stand as they came.
	text []byte
}

// add appends what the block goes on to say and returns it as it stands in text.
func (it *item) add(text []byte) []byte {
	n := len(it.text)
	if it.search() {
		it.text = append(it.text, text...)
	} else {
		it.text = jsonscan.AppendEscaped(it.text, text)
	}
	return it.text[n:]
}

func (it *item) search() bool { return it.kind == event.ToolStart && it.call.Kind == event.ToolSearch }

// appendArguments appends the arguments of a call with the quotes they need. A function's that are empty are no
// JSON, and mean that there are none; of a call that was cut they are what there is.
func (it *item) appendArguments(b []byte, st status) []byte {
	switch {
	case it.search():
		if st == inProgress || !jsonscan.Valid(it.text) || jsonscan.TypeOf(it.text) != jsonscan.Object {
			return append(b, `{}`...)
		}
		return appendJSON(b, it.text)
	case st == inProgress:
		return append(b, `""`...)
	case st == completed && it.call.Kind == event.Function && len(it.text) == 0:
		return append(b, `"{}"`...)
	}
	return append(append(append(b, '"'), it.text...), '"')
}

// answer is what the items and the resource of one answer are made with.
type answer struct {
	req  *surface.Request
	info surface.Info
	own  *Own
}

// answerTo takes for a request that was not decoded here what a silent one has.
func answerTo(req *surface.Request, info surface.Info) answer {
	own := OwnOf(req)
	if own == nil {
		own = &Own{}
	}
	return answer{req: req, info: info, own: own}
}

func (a *answer) appendID(b []byte, prefix string, index int) []byte {
	b = jsonscan.AppendEscaped(append(b, prefix...), a.info.ID)
	return strconv.AppendInt(b, int64(index), 16)
}

// appendItemID appends an item's id without quotes.
func (a *answer) appendItemID(b []byte, it *item) []byte {
	prefix := messagePrefix
	switch {
	case it.kind == event.ReasoningStart:
		prefix = reasoningPrefix
	case it.kind != event.ToolStart:
	case it.call.Kind == event.Custom:
		prefix = customPrefix
	case it.call.Kind == event.ToolSearch:
		prefix = searchPrefix
	default:
		prefix = functionPrefix
	}
	return a.appendID(b, prefix, it.index)
}

// appendItem appends an item: in progress as it is when it begins, without what it says; else whole.
func (a *answer) appendItem(b []byte, it *item, st status) []byte {
	switch it.kind {
	case event.ReasoningStart:
		return a.appendReasoning(b, it, st)
	case event.ToolStart:
		return a.appendCall(b, it, st)
	}
	b = a.appendItemID(append(b, `{"type":"message","id":"`...), it)
	b = append(append(b, `","status":"`...), st...)
	b = append(b, `","role":"assistant",`...)
	switch it.phase {
	case event.PhaseCommentary:
		b = append(b, `"phase":"commentary",`...)
	case event.PhaseFinal:
		b = append(b, `"phase":"final_answer",`...)
	}
	b = append(b, `"content":[`...)
	if st != inProgress {
		b = appendPart(b, outputText, it.text)
	}
	return append(b, `]}`...)
}

// appendReasoning appends a reasoning item, which has no status: whether the model thought to the end is not known.
func (a *answer) appendReasoning(b []byte, it *item, st status) []byte {
	b = a.appendItemID(append(b, `{"type":"reasoning","id":"`...), it)
	b = append(b, `","summary":[`...)
	if st != inProgress && a.own.Summary {
		b = appendPart(b, summaryText, it.text)
	}
	b = append(b, `],"content":[`...)
	if st != inProgress {
		b = appendPart(b, reasoningText, it.text)
	}
	b = append(b, ']')
	if a.own.Encrypted && it.seal != "" {
		b = jsonscan.AppendString(append(b, `,"encrypted_content":`...), it.seal)
	}
	return append(b, '}')
}

func (a *answer) appendCall(b []byte, it *item, st status) []byte {
	kind, content := "function_call", `,"arguments":`
	switch it.call.Kind {
	case event.Custom:
		kind, content = "custom_tool_call", `,"input":`
	case event.ToolSearch:
		kind = "tool_search_call"
	}
	b = append(append(b, `{"type":"`...), kind...)
	b = a.appendItemID(append(b, `","id":"`...), it)
	b = append(append(b, `","status":"`...), st...)
	b = jsonscan.AppendString(append(b, `","call_id":`...), it.call.ID)
	if it.search() {
		b = append(b, `,"execution":"client"`...)
	} else {
		b = appendCallName(b, &it.call)
	}
	return append(it.appendArguments(append(b, content...), st), '}')
}

// appendCallName appends the members that name a tool.
func appendCallName(b []byte, c *event.Call) []byte {
	b = jsonscan.AppendString(append(b, `,"name":`...), c.Name)
	if c.Namespace != "" {
		b = jsonscan.AppendString(append(b, `,"namespace":`...), c.Namespace)
	}
	return b
}

// Types of the parts of items.
const (
	outputText    = "output_text"
	reasoningText = "reasoning_text"
	summaryText   = "summary_text"
)

// appendPart appends a part; text is the inside of a JSON string.
func appendPart(b []byte, kind string, text []byte) []byte {
	b = append(append(b, `{"type":"`...), kind...)
	b = append(append(b, `","text":"`...), text...)
	if kind == outputText {
		return append(b, `","annotations":[],"logprobs":[]}`...)
	}
	return append(b, `"}`...)
}

// shown are the blocks that make the output. In a stream a call that is not complete was begun as a call; who was
// not streamed to gets it as text.
func shown(req *surface.Request, res *event.Result) []event.Block {
	if req.Stream {
		return res.Blocks
	}
	return res.Visible()
}

// itemOf is a block as an item, and how it ended.
func itemOf(b *event.Block, index int) (item, status) {
	it := item{kind: b.Kind, index: index, phase: b.Phase, seal: b.Seal, call: b.Call}
	it.add(b.Call.Arguments)
	it.add(b.Text)
	if b.Kind == event.ToolStart && !b.Complete {
		return it, incomplete
	}
	return it, completed
}

// Output is what a turn that finished adds to its conversation. The items' JSON is what the client was shown, with
// req.Stream in a stream and else in a body. Of a compaction without a summary there is none.
func Output(req *surface.Request, info surface.Info, res *event.Result) []chain.Item {
	a := answerTo(req, info)
	if a.own.Compact {
		c := a.own.compaction(SummaryText(res))
		if c.seal == "" {
			return nil
		}
		summary := conv.Part{Kind: conv.Summary, Text: string(c.text), Seal: c.seal}
		return []chain.Item{{
			ID:       string(a.appendID(nil, compactionPrefix, 0)),
			JSON:     a.appendCompaction(nil, 0, c.seal),
			Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{summary}}},
		}}
	}
	blocks := shown(req, res)
	out := make([]chain.Item, len(blocks))
	for i := range blocks {
		it, st := itemOf(&blocks[i], i)
		out[i] = chain.Item{ID: string(a.appendItemID(nil, &it)), JSON: a.appendItem(nil, &it, st)}
		if part, ok := partOf(&blocks[i]); ok {
			out[i].Messages = []conv.Message{{Role: conv.Assistant, Parts: []conv.Part{part}}}
		}
	}
	return out
}

// partOf is what a block says in the next prompt; false where that is nothing.
func partOf(b *event.Block) (p conv.Part, ok bool) {
	switch {
	case b.Kind == event.ReasoningStart:
		return conv.Part{Kind: conv.Reasoning, Text: string(b.Text), Seal: b.Seal}, len(b.Text) > 0 || b.Seal != ""
	case b.Kind == event.TextStart:
		return conv.Part{Kind: conv.Text, Text: string(b.Text), Phase: phaseOf(b.Phase)}, len(b.Text) > 0
	case !b.Complete:
		return conv.Part{Kind: conv.Text, Text: string(b.Raw)}, len(b.Raw) > 0
	}
	call := &conv.ToolCall{ID: b.Call.ID, Namespace: b.Call.Namespace, Name: b.Call.Name, Kind: conv.Function, Arguments: string(b.Call.Arguments)}
	switch b.Call.Kind {
	case event.Custom:
		call.Kind = conv.Custom
	case event.ToolSearch:
		call.Kind = conv.ToolSearch
	}
	if call.Arguments == "" && call.Kind != conv.Custom {
		call.Arguments = "{}"
	}
	return conv.Part{Kind: conv.Call, Call: call}, true
}

func phaseOf(p event.Phase) conv.Phase {
	switch p {
	case event.PhaseCommentary:
		return conv.PhaseCommentary
	case event.PhaseFinal:
		return conv.PhaseFinal
	}
	return conv.PhaseNone
}

// compaction is a summary and its seal.
type compaction struct {
	text []byte
	seal string
}

// compaction seals a summary, once. It has no seal where there is no summary, or nothing that seals.
func (o *Own) compaction(text []byte) compaction {
	if len(text) == 0 || o.SealSummary == nil {
		return compaction{}
	}
	if o.sealed.seal == "" || !bytes.Equal(o.sealed.text, text) {
		o.sealed = compaction{text: bytes.Clone(text), seal: o.SealSummary(text)}
	}
	return o.sealed
}

// SummaryText is the summary that a turn of compaction wrote: its text, without white space around it. Nothing is
// left where there is none; such a turn failed.
func SummaryText(res *event.Result) []byte {
	var text []byte
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Kind == event.TextStart {
			text = append(text, b.Text...)
		}
	}
	return bytes.TrimSpace(text)
}

func (a *answer) appendCompaction(b []byte, index int, seal string) []byte {
	b = a.appendID(append(b, `{"type":"compaction","id":"`...), compactionPrefix, index)
	b = jsonscan.AppendString(append(b, `","encrypted_content":`...), seal)
	return append(b, '}')
}
