package messages

import (
	"strconv"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// encoder writes the events of a message. buf[:head] is a delta of the open block up to its text, made
// once a block; what else there is to say is built behind it.
type encoder struct {
	w       transport.Writer
	info    surface.Info
	omitted bool // thinking goes out as a signature alone
	buf     []byte
	head    int
	index   int  // of the open block
	torn    bool // the open block is a call that is not whole
	ended   bool
	last    event.Usage
	first   [firstBuffer]byte // what buf is, until a frame does not fit
}

// firstBuffer holds a message_start, and a delta of some 400 bytes.
const firstBuffer = 512

// Encode streams a turn.
func (Surface) Encode(req *surface.Request, info surface.Info, w transport.Writer) surface.Encoder {
	e := &encoder{w: w, info: info, omitted: req.Thinking.Omitted, index: -1}
	e.buf = e.first[:0]
	return e
}

// Event writes what one event is here.
func (e *encoder) Event(ev *event.Event) error {
	if e.torn && ev.Kind != event.FaultKind && ev.Kind != event.UsageKind {
		// The turn goes on, or was cut at its length. Before a fault the block stays open: clients take one that is
		// closed for a call that the model made, and run it.
		e.torn = false
		if err := e.close(); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case event.TurnStart:
		e.last = ev.Usage
		return e.start()
	case event.ReasoningStart:
		return e.open(`{"type":"thinking","thinking":"","signature":""}`, `thinking_delta","thinking":"`)
	case event.TextStart:
		return e.open(`{"type":"text","text":""}`, `text_delta","text":"`)
	case event.ToolStart:
		return e.openTool(&ev.Call)
	case event.ReasoningDelta:
		if e.omitted {
			return nil
		}
		return e.delta(ev.Text)
	case event.TextDelta, event.ToolArgs:
		return e.delta(ev.Text)
	case event.ReasoningEnd:
		if err := e.sign(ev.Seal); err != nil {
			return err
		}
		return e.close()
	case event.ToolEnd:
		if e.torn = !ev.Complete; e.torn {
			return nil
		}
		return e.close()
	case event.TextEnd:
		return e.close()
	case event.Dispatch:
		if e.info.Dispatch {
			return e.dispatched(&ev.Call)
		}
	case event.UsageKind:
		e.last = wire.Usage(e.last, ev.Usage)
	case event.Finish:
		return e.finish(ev.Reason, ev.StopSequence)
	case event.FaultKind:
		e.ended = true
		return e.write("error", appendError(e.buf[:e.head], fault.Kind(ev.Fault.Kind), ev.Fault.Message, ""))
	}
	return nil
}

// KeepAlive writes a ping.
func (e *encoder) KeepAlive() error {
	if e.ended {
		return nil
	}
	return e.write("ping", append(e.buf[:e.head], `{"type":"ping"}`...))
}

// write sends the frame that was built in b behind the head.
func (e *encoder) write(name string, b []byte) error {
	e.buf = b
	return e.w.Write(transport.Frame{Event: name, Data: b[e.head:]})
}

func (e *encoder) start() error {
	b := append(e.buf[:e.head], `{"type":"message_start","message":`...)
	b = appendHead(b, e.info)
	b = append(b, `[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	return e.write("message_start", append(appendUsage(b, e.last), `}}`...))
}

// appendHead appends the members that begin every message, up to its content.
func appendHead(b []byte, info surface.Info) []byte {
	b = jsonscan.AppendEscaped(append(b, `{"id":"`+idPrefix...), info.ID)
	b = append(b, `","type":"message","role":"assistant","model":`...)
	return append(jsonscan.AppendString(b, info.Model), `,"content":`...)
}

// open begins a block and prepares its deltas.
func (e *encoder) open(block, delta string) error {
	return e.begin(append(e.opener(), block...), delta)
}

func (e *encoder) openTool(c *event.Call) error {
	b := append(appendTool(e.opener(), c), `{}}`...)
	return e.begin(b, `input_json_delta","partial_json":"`)
}

// appendTool appends a tool_use block up to its input.
func appendTool(b []byte, c *event.Call) []byte {
	b = jsonscan.AppendString(append(b, `{"type":"tool_use","id":`...), c.ID)
	b = jsonscan.AppendString(append(b, `,"name":`...), c.Name)
	return append(b, `,"input":`...)
}

func (e *encoder) opener() []byte {
	e.index++
	b := append(e.buf[:e.head], `{"type":"content_block_start","index":`...)
	b = strconv.AppendInt(b, int64(e.index), 10)
	return append(b, `,"content_block":`...)
}

func (e *encoder) begin(b []byte, delta string) error {
	err := e.write("content_block_start", append(b, '}'))
	d := append(e.buf[:0], `{"type":"content_block_delta","index":`...)
	d = strconv.AppendInt(d, int64(e.index), 10)
	d = append(append(d, `,"delta":{"type":"`...), delta...)
	e.buf, e.head = d, len(d)
	return err
}

func (e *encoder) delta(text []byte) error {
	b := jsonscan.AppendEscaped(e.buf[:e.head], text)
	b = append(b, `"}}`...)
	e.buf = b
	return e.w.Write(transport.Frame{Event: "content_block_delta", Data: b})
}

// sign writes the signature of the thinking block that is about to close.
func (e *encoder) sign(seal string) error {
	if seal == "" {
		seal = unsealed
	}
	b := append(e.buf[:e.head], `{"type":"content_block_delta","index":`...)
	b = strconv.AppendInt(b, int64(e.index), 10)
	b = jsonscan.AppendString(append(b, `,"delta":{"type":"signature_delta","signature":`...), seal)
	return e.write("content_block_delta", append(b, `}}`...))
}

func (e *encoder) close() error {
	b := append(e.buf[:e.head], `{"type":"content_block_stop","index":`...)
	b = strconv.AppendInt(b, int64(e.index), 10)
	return e.write("content_block_stop", append(b, '}'))
}

// dispatched writes a call that is closed and valid. Index is that of its block; arguments are JSON in
// a string, the same as on the other surfaces.
func (e *encoder) dispatched(c *event.Call) error {
	b := append(e.buf[:e.head], `{"type":"tool_call_dispatch","index":`...)
	b = strconv.AppendInt(b, int64(e.index), 10)
	b = jsonscan.AppendString(append(b, `,"id":`...), c.ID)
	b = jsonscan.AppendString(append(b, `,"name":`...), c.Name)
	b = jsonscan.AppendString(append(b, `,"arguments":`...), c.Arguments)
	return e.write("tool_call_dispatch", append(b, '}'))
}

func (e *encoder) finish(r event.Reason, sequence string) error {
	e.ended = true
	b := append(e.buf[:e.head], `{"type":"message_delta","delta":{`...)
	b = appendStop(b, r, sequence)
	b = append(b, `},"usage":`...)
	if err := e.write("message_delta", append(appendUsage(b, e.last), '}')); err != nil {
		return err
	}
	return e.write("message_stop", append(e.buf[:e.head], `{"type":"message_stop"}`...))
}

func appendStop(b []byte, r event.Reason, sequence string) []byte {
	b = append(append(b, `"stop_reason":"`...), reason(r)...)
	b = append(b, `","stop_sequence":`...)
	if r != event.ReasonStopSequence {
		return append(b, "null"...)
	}
	return jsonscan.AppendString(b, sequence)
}

// reason is the stop_reason of a turn's end.
func reason(r event.Reason) string {
	switch r {
	case event.ReasonLength:
		return "max_tokens"
	case event.ReasonToolUse:
		return "tool_use"
	case event.ReasonStopSequence:
		return "stop_sequence"
	case event.ReasonContent:
		return "refusal"
	}
	return "end_turn"
}

// appendUsage counts as this surface does: input is what was not read from the cache.
func appendUsage(b []byte, u event.Usage) []byte {
	b = strconv.AppendInt(append(b, `{"input_tokens":`...), int64(u.Input-u.Cached), 10)
	b = strconv.AppendInt(append(b, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":`...), int64(u.Cached), 10)
	b = strconv.AppendInt(append(b, `,"output_tokens":`...), int64(u.Output), 10)
	return append(b, '}')
}
