package chat

import (
	"strconv"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// encoder writes chat.completion.chunk frames. A frame is built in buf behind the members that all
// chunks share, so a delta copies and allocates nothing but its own text.
type encoder struct {
	w        transport.Writer
	buf      []byte
	head     int // buf[:head] is the chunk up to its choices
	usage    bool
	dispatch bool
	ended    bool
	index    int            // of the open call
	kind     event.ToolKind // of it
	last     event.Usage
	echo     string            // what the first text delta says before the model does
	first    [firstBuffer]byte // what buf is, until a frame does not fit
}

// firstBuffer holds a chunk with a delta of some 200 bytes.
const firstBuffer = 512

// Encode streams a turn. A failed turn ends with an error chunk and without [DONE]: the official
// clients stop at the chunk, and for one that does not know it a turn that failed must not look whole.
func (Surface) Encode(req *surface.Request, info surface.Info, w transport.Writer) surface.Encoder {
	e := &encoder{w: w, usage: req.IncludeUsage, dispatch: info.Dispatch, echo: echoed(req)}
	e.buf = appendHead(e.first[:0], info, "chat.completion.chunk")
	e.head = len(e.buf)
	return e
}

// appendHead appends the members that begin every answer, up to its choices.
func appendHead(b []byte, info surface.Info, object string) []byte {
	b = jsonscan.AppendEscaped(append(b, `{"id":"`+idPrefix...), info.ID)
	b = append(append(b, `","object":"`...), object...)
	b = strconv.AppendInt(append(b, `","created":`...), info.Created.Unix(), 10)
	b = jsonscan.AppendString(append(b, `,"model":`...), info.Model)
	return append(b, `,"choices":[`...)
}

const (
	deltaOpen  = `{"index":0,"delta":{`
	deltaClose = `},"finish_reason":null}]}`
)

// Event writes the chunks of one event.
func (e *encoder) Event(ev *event.Event) error {
	switch ev.Kind {
	case event.TurnStart:
		e.last = ev.Usage
		err := e.raw(deltaOpen + `"role":"assistant","content":""` + deltaClose)
		if err != nil || e.echo == "" {
			return err
		}
		return e.text(deltaOpen+`"content":"`, []byte(e.echo), `"`+deltaClose)
	case event.ReasoningDelta:
		return e.text(deltaOpen+`"reasoning_content":"`, ev.Text, `"`+deltaClose)
	case event.TextDelta:
		return e.text(deltaOpen+`"content":"`, ev.Text, `"`+deltaClose)
	case event.ToolStart:
		e.index, e.kind = ev.Call.Index, ev.Call.Kind
		return e.toolStart(&ev.Call)
	case event.ToolArgs:
		return e.toolArgs(ev.Text)
	case event.Dispatch:
		if e.dispatch {
			return e.dispatched(&ev.Call)
		}
	case event.UsageKind:
		e.last = wire.Usage(e.last, ev.Usage)
	case event.Finish:
		return e.finish(ev.Reason)
	case event.FaultKind:
		e.ended = true
		failed := wire.OpenAI(fault.Kind(ev.Fault.Kind), ev.Fault.Message, "")
		return e.w.Write(transport.Frame{Data: appendError(e.buf[:0], &failed)})
	}
	return nil
}

// KeepAlive writes a chunk whose delta is empty: comments do not count as life for every client.
func (e *encoder) KeepAlive() error {
	if e.ended {
		return nil
	}
	return e.raw(deltaOpen + deltaClose)
}

func (e *encoder) write(event string, b []byte) error {
	e.buf = b
	return e.w.Write(transport.Frame{Event: event, Data: b})
}

func (e *encoder) raw(s string) error { return e.write("", append(e.buf[:e.head], s...)) }

func (e *encoder) text(before string, text []byte, after string) error {
	b := append(e.buf[:e.head], before...)
	b = jsonscan.AppendEscaped(b, text)
	return e.write("", append(b, after...))
}

func (e *encoder) toolStart(c *event.Call) error {
	b := append(e.buf[:e.head], deltaOpen+`"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(c.Index), 10)
	b = append(b, ',')
	b = appendCall(b, c, nil)
	return e.write("", append(b, `}]`+deltaClose...))
}

// appendCall appends the members of a call: the same in a chunk and in a whole answer.
func appendCall(b []byte, c *event.Call, args []byte) []byte {
	b = jsonscan.AppendString(append(b, `"id":`...), c.ID)
	kind, content := "function", "arguments"
	if c.Kind == event.Custom {
		kind, content = "custom", "input"
	}
	b = append(append(b, `,"type":"`...), kind...)
	b = append(append(b, `","`...), kind...)
	b = jsonscan.AppendString(append(b, `":{"name":`...), c.Name)
	b = append(append(b, `,"`...), content...)
	b = jsonscan.AppendString(append(b, `":`...), args)
	return append(b, '}')
}

func (e *encoder) toolArgs(text []byte) error {
	b := append(e.buf[:e.head], deltaOpen+`"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(e.index), 10)
	if e.kind == event.Custom {
		b = append(b, `,"custom":{"input":"`...)
	} else {
		b = append(b, `,"function":{"arguments":"`...)
	}
	b = jsonscan.AppendEscaped(b, text)
	return e.write("", append(b, `"}}]`+deltaClose...))
}

// dispatched writes a call that is closed and valid. The payload has choices, though empty, since the
// official client reads them in every chunk.
func (e *encoder) dispatched(c *event.Call) error {
	b := append(e.buf[:e.head], `],"tool_call_dispatch":{"index":`...)
	b = strconv.AppendInt(b, int64(c.Index), 10)
	b = jsonscan.AppendString(append(b, `,"id":`...), c.ID)
	b = jsonscan.AppendString(append(b, `,"name":`...), c.Name)
	b = jsonscan.AppendString(append(b, `,"arguments":`...), c.Arguments)
	return e.write("tool_call_dispatch", append(b, `}}`...))
}

func (e *encoder) finish(r event.Reason) error {
	e.ended = true
	b := append(e.buf[:e.head], deltaOpen+`},"finish_reason":"`...)
	b = append(b, reason(r)...)
	if err := e.write("", append(b, `"}]}`...)); err != nil {
		return err
	}
	if e.usage {
		b := append(e.buf[:e.head], `],"usage":`...)
		if err := e.write("", append(appendUsage(b, e.last), '}')); err != nil {
			return err
		}
	}
	return e.w.Write(transport.Frame{Data: append(e.buf[:0], "[DONE]"...)})
}

// reason is the finish_reason of a turn's end.
func reason(r event.Reason) string {
	switch r {
	case event.ReasonLength, event.ReasonToolUse, event.ReasonContent:
		return string(r)
	}
	return "stop"
}

func appendUsage(b []byte, u event.Usage) []byte {
	b = strconv.AppendInt(append(b, `{"prompt_tokens":`...), int64(u.Input), 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(u.Output), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(u.Input+u.Output), 10)
	b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), int64(u.Cached), 10)
	b = strconv.AppendInt(append(b, `},"completion_tokens_details":{"reasoning_tokens":`...), int64(u.Reasoning), 10)
	return append(b, `}}`...)
}
