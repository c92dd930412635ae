package openai

import (
	"errors"
	"math"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines"
)

// decoder reads chunks. It allocates nothing for a chunk of text, and serves one stream after another.
type decoder struct {
	e          *Engine
	structured bool
	special    []Special
	members    members

	r       jsonscan.Reader
	layout  layout
	a       *accum
	scratch []byte
	half    surrogate

	from    int   // where the chunk's text begins in a
	thought bool  // the chunk's reasoning was read, under one of its two names
	call    mark  // the tool call fragment being read
	lastID  int   // index of the last call that had an id; -1 before the first
	waiting []int // special tokens that ids named and no text has shown yet
	tokens  int   // ids in the chunk
	plain   bool  // the chunk said nothing but text so far

	ended   bool     // the chunk has a finish reason
	stopped stopKind // and what it says of the stop
	stopID  uint32
	end     ending
	sampled int // ids of the stream so far

	finish  engines.Finish
	usage   engines.Usage
	counted bool // usage came
	fresh   bool // usage came in this chunk
}

// members are the decoder's methods for parts of a chunk, bound once: each chunk would otherwise bind
// them anew.
type members struct {
	top, choice, delta, usage, details, call, function func(key []byte) error
	choices, calls                                     func(i int) error
}

func (d *decoder) init(e *Engine) {
	d.e, d.structured, d.special, d.lastID = e, e.cfg.Structured, e.cfg.Special, -1
	d.members = members{
		top: d.top, choice: d.choice, delta: d.delta, usage: d.usageMember, details: d.details, call: d.callMember, function: d.function,
		choices: d.choices, calls: d.calls,
	}
}

// reset forgets the stream, but for buffers that the next one may use.
func (d *decoder) reset() {
	*d = decoder{
		e: d.e, structured: d.structured, special: d.special, members: d.members, lastID: -1,
		layout:  layout{prefix: kept(d.layout.prefix), middle: kept(d.layout.middle), suffix: kept(d.layout.suffix), off: d.layout.off},
		scratch: kept(d.scratch), waiting: d.waiting[:0],
	}
}

// chunk reads one chunk and adds what it says to a. Of a chunk that is in error, nothing is added.
func (d *decoder) chunk(data []byte, a *accum) error {
	d.a, d.from = a, len(a.text)
	d.tokens, d.thought, d.fresh, d.plain = 0, false, false, true
	d.ended, d.stopped = false, stopUnsaid
	before, end, waiting := d.usage.Output, d.end, len(d.waiting)
	marks, ids := len(a.marks), len(a.sampled.ids)
	if err := d.read(data); err != nil {
		a.cut(d.from, marks, ids)
		d.end, d.waiting = end, d.waiting[:waiting]
		if e, ok := errors.AsType[*engines.Error](err); ok {
			return e
		}
		return d.e.client.Fail(engines.ClassProtocol, "chunk", err)
	}
	if len(d.waiting) > 0 {
		d.spans(a, d.from)
	}
	if d.finish.Reason == engines.ReasonStop && d.finish.Stop == "" && len(d.waiting) > 0 {
		d.finish.Stop = d.special[d.waiting[0]].Text
	}
	d.settle(a)
	switch {
	case d.tokens > 0:
		a.delta.Tokens += d.tokens
	case d.fresh && len(a.text) > d.from && d.usage.Output > before:
		a.delta.Tokens += d.usage.Output - before
	}
	return nil
}

// read reads a chunk by the layout of an earlier one, or as JSON.
func (d *decoder) read(data []byte) error {
	if text, ids, ok := d.layout.match(data); ok {
		if err := d.add(text, d.layout.kind); err != nil {
			return err
		}
		d.takeIDs(ids)
		return nil
	}
	d.r = *jsonscan.NewReader(data)
	d.layout.begin()
	if err := d.r.Object(d.members.top); err != nil {
		return err
	}
	if err := d.r.End(); err != nil {
		return err
	}
	if d.plain {
		d.layout.learn(data)
	}
	return nil
}

func (d *decoder) skip() error {
	_, err := d.r.Raw()
	return err
}

func (d *decoder) bad(what string) error {
	return d.e.client.Fail(engines.ClassProtocol, "chunk: "+what, nil)
}

func (d *decoder) top(key []byte) error {
	switch string(key) {
	case "choices":
		if d.r.Peek() != jsonscan.Array {
			return d.skip()
		}
		return d.r.Array(d.members.choices)
	case "usage":
		if d.r.Peek() != jsonscan.Object {
			return d.skip()
		}
		d.counted, d.fresh, d.plain = true, true, false
		return d.r.Object(d.members.usage)
	case "error":
		if d.r.Peek() == jsonscan.Null {
			return d.skip()
		}
		raw, err := d.r.Raw()
		if err != nil {
			return err
		}
		d.scratch = append(append(append(d.scratch[:0], `{"error":`...), raw...), '}')
		return d.e.client.ChunkError(d.scratch)
	}
	return d.skip()
}

func (d *decoder) choices(i int) error {
	if i > 0 || d.r.Peek() != jsonscan.Object {
		return d.skip()
	}
	return d.r.Object(d.members.choice)
}

func (d *decoder) choice(key []byte) error {
	switch string(key) {
	case "text":
		return d.text(engines.FragmentText)
	case "delta":
		if d.r.Peek() != jsonscan.Object {
			return d.skip()
		}
		return d.r.Object(d.members.delta)
	case "finish_reason":
		return d.reason()
	case "stop_reason", "matched_stop":
		return d.stop()
	case "token_ids":
		if d.e.asksIDs && d.r.Peek() == jsonscan.Array {
			return d.readIDs()
		}
	}
	return d.skip()
}

func (d *decoder) delta(key []byte) error {
	switch string(key) {
	case "content", "refusal":
		return d.text(engines.FragmentText)
	case "reasoning_content", "reasoning":
		if d.thought {
			return d.skip()
		}
		return d.text(engines.FragmentReasoning)
	case "tool_calls":
		if d.r.Peek() == jsonscan.Array {
			return d.r.Array(d.members.calls)
		}
	}
	return d.skip()
}

// text reads a string, or null, into the delta.
func (d *decoder) text(kind engines.FragmentKind) error {
	if d.r.Peek() != jsonscan.String {
		if d.r.Peek() != jsonscan.Null {
			return d.bad("text is not a string")
		}
		return d.skip()
	}
	raw, err := d.r.Raw()
	if err != nil {
		return err
	}
	d.layout.note(kind, len(raw), d.r.Offset())
	return d.add(raw[1:len(raw)-1], kind)
}

// add takes the inside of a string of text.
func (d *decoder) add(inner []byte, kind engines.FragmentKind) error {
	if len(inner) == 0 {
		return nil
	}
	if kind == engines.FragmentReasoning {
		if !d.structured {
			return d.bad("reasoning parsed by an engine whose output is configured as raw")
		}
		d.thought = true
	}
	from := len(d.a.text)
	var err error
	if d.a.text, err = d.unescape(d.a.text, inner, channel{kind: kind}); err != nil {
		d.a.text = d.a.text[:from]
		return d.e.client.Fail(engines.ClassProtocol, "chunk: text", err)
	}
	if d.structured && len(d.a.text) > from {
		d.a.fragment(mark{kind: kind, from: from, to: len(d.a.text)})
	}
	return nil
}

func (d *decoder) calls(i int) error {
	if d.r.Peek() != jsonscan.Object {
		return d.skip()
	}
	if !d.structured {
		return d.bad("tool call parsed by an engine whose output is configured as raw")
	}
	d.plain = false
	d.call = mark{kind: engines.FragmentCall, index: -1, from: len(d.a.text), to: len(d.a.text)}
	if err := d.r.Object(d.members.call); err != nil {
		return err
	}
	if d.call.index < 0 {
		// No index: an id begins another call, anything else goes on with the last one.
		d.call.index = max(d.lastID, 0)
		if d.call.id != "" {
			d.call.index = d.lastID + 1
		}
	}
	if d.call.id != "" {
		d.lastID = max(d.lastID, d.call.index)
	}
	if d.call.id != "" || d.call.name != "" || d.call.to > d.call.from {
		d.a.fragment(d.call)
	}
	return nil
}

func (d *decoder) callMember(key []byte) error {
	switch string(key) {
	case "index":
		raw, err := d.r.Raw()
		n, ok := number(raw)
		if ok && n > maxCalls {
			return d.bad("tool call index beyond all bounds")
		}
		if ok {
			d.call.index = n
		}
		return err
	case "id":
		return d.str(&d.call.id)
	case "function":
		if d.r.Peek() == jsonscan.Object {
			return d.r.Object(d.members.function)
		}
	}
	return d.skip()
}

const maxCalls = 1 << 16

func (d *decoder) function(key []byte) error {
	switch string(key) {
	case "name":
		return d.str(&d.call.name)
	case "arguments":
		raw, err := d.r.Raw()
		if err != nil {
			return err
		}
		switch jsonscan.TypeOf(raw) {
		case jsonscan.String:
			d.a.text, err = d.unescape(d.a.text, raw[1:len(raw)-1], channel{engines.FragmentCall, d.call.index})
		case jsonscan.Object:
			// Arguments as an object, whole: not what the interface says, but what some servers send.
			d.a.text = append(d.a.text, raw...)
		}
		d.call.to = len(d.a.text)
		return err
	}
	return d.skip()
}

// str reads a string that is rare, an id or a name.
func (d *decoder) str(dst *string) error {
	if d.r.Peek() != jsonscan.String {
		return d.skip()
	}
	var err error
	d.scratch, err = d.r.Text(d.scratch[:0])
	*dst = string(d.scratch)
	return err
}

// reason reads a finish reason. The last one counts: some servers put one on every chunk.
func (d *decoder) reason() error {
	var word string
	if err := d.str(&word); err != nil || word == "" {
		return err
	}
	d.plain, d.ended = false, true
	switch word {
	case "length", "max_tokens":
		d.finish.Reason = engines.ReasonLength
	case "tool_calls", "function_call":
		d.finish.Reason = engines.ReasonToolCalls
	case "content_filter":
		d.finish.Reason = engines.ReasonContent
	case "abort", "cancelled", "canceled":
		d.finish.Reason = engines.ReasonAbort
	case "error":
		return d.bad("finish reason error")
	default:
		d.finish.Reason = engines.ReasonStop
	}
	return nil
}

// stop reads what matched: a stop string, or the id of a stop token.
func (d *decoder) stop() error {
	switch d.r.Peek() {
	case jsonscan.String:
		d.plain, d.stopped = false, stopText
		return d.str(&d.finish.Stop)
	case jsonscan.Null:
		d.stopped = stopNull
	}
	raw, err := d.r.Raw()
	if n, ok := number(raw); ok {
		d.plain, d.stopped, d.stopID = false, stopToken, uint32(n)
		if i, known := d.e.ids[uint32(n)]; known {
			d.finish.Stop = d.special[i].Text
		}
	}
	return err
}

func (d *decoder) usageMember(key []byte) error {
	switch string(key) {
	case "prompt_tokens":
		return d.count(&d.usage.Input)
	case "completion_tokens":
		return d.count(&d.usage.Output)
	case "prompt_tokens_details":
		if d.r.Peek() == jsonscan.Object {
			return d.r.Object(d.members.details)
		}
	}
	return d.skip()
}

func (d *decoder) details(key []byte) error {
	if string(key) == "cached_tokens" {
		return d.count(&d.usage.Cached)
	}
	return d.skip()
}

func (d *decoder) count(dst *int) error {
	raw, err := d.r.Raw()
	if n, ok := number(raw); ok {
		*dst = n
	}
	return err
}

// number reads a non-negative integer that fits in 32 bits.
func number(raw []byte) (int, bool) {
	if len(raw) == 0 || len(raw) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= math.MaxUint32
}
