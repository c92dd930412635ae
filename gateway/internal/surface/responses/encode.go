package responses

import (
	"bytes"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// encoder writes the events of an answer. buf[:head] is a delta of the open item up to its number, made once an
// item: of reasoning that is told twice, buf[:mid] is that and buf[mid:head] the same of the summary. What else
// there is to say is built behind it.
type encoder struct {
	answer
	w          transport.Writer
	open       bool // Surface.OpenNames
	begun      bool
	ended      bool
	buf        []byte
	mid, head  int
	sequence   int    // of the next event
	item       item   // the open one, or the last
	index      int    // of the next item
	done       []byte // items that ended, with commas between them
	summary    []byte // of a compaction, so far
	echo       []byte
	start, end event.Usage
	first      [firstBuffer]byte // what buf is, until a frame does not fit
}

// firstBuffer holds a delta of some 200 bytes.
const firstBuffer = 512

// Encode streams a turn. The terminal event ends it, whether the turn failed or not: no [DONE] follows. Clients read
// the terminal event, OpenAI sends none, and on a socket it would be a message that is not JSON.
func (s Surface) Encode(req *surface.Request, info surface.Info, w transport.Writer) surface.Encoder {
	return newEncoder(s, req, info, w)
}

func newEncoder(s Surface, req *surface.Request, info surface.Info, w transport.Writer) *encoder {
	e := &encoder{answer: answerTo(req, info), w: w, open: s.OpenNames}
	e.buf = e.first[:0]
	return e
}

// Event writes what one event is here, and after the terminal one nothing.
func (e *encoder) Event(ev *event.Event) error {
	if e.ended {
		return nil
	}
	switch ev.Kind {
	case event.TurnStart:
		e.start = ev.Usage
		return e.begin()
	case event.UsageKind:
		e.end = ev.Usage
		return nil
	case event.Finish:
		if e.own.Compact {
			return e.compacted()
		}
		usage := wire.Usage(e.start, e.end)
		return e.finish(finished(ev.Reason, &usage))
	case event.FaultKind:
		return e.fault(&ev.Fault)
	}
	if e.own.Compact {
		if ev.Kind == event.TextDelta {
			e.summary = append(e.summary, ev.Text...)
		}
		return nil
	}
	return e.block(ev)
}

// block writes the events of items.
func (e *encoder) block(ev *event.Event) error {
	switch ev.Kind {
	case event.ReasoningStart, event.TextStart, event.ToolStart:
		return e.openItem(ev)
	case event.ReasoningDelta, event.TextDelta, event.ToolArgs:
		return e.delta(e.item.add(ev.Text))
	case event.ReasoningEnd:
		e.item.seal = ev.Seal
		return e.closeReasoning()
	case event.TextEnd:
		return e.closeText()
	case event.ToolEnd:
		return e.closeCall(ev.Complete)
	case event.Dispatch:
		if e.info.Dispatch {
			return e.dispatched()
		}
	}
	return nil
}

// KeepAlive writes response.in_progress again, which every client takes for life; its resource leaves out what may
// be long. Before the turn started it begins the answer.
func (e *encoder) KeepAlive() error {
	switch {
	case e.ended:
		return nil
	case !e.begun:
		return e.begin()
	}
	b := append(e.event(progressEvent), `,"response":`...)
	echo := e.answer.echo(true)
	return e.write(progressEvent, e.appendResource(b, &state{status: inProgress}, echo))
}

// begin writes the resource before anything happened, once.
func (e *encoder) begin() error {
	if e.begun {
		return nil
	}
	if err := e.created(); err != nil {
		return err
	}
	return e.resource(progressEvent, &state{status: inProgress})
}

func (e *encoder) created() error {
	e.begun = true
	e.echo = e.answer.echo(false)
	return e.resource(createdEvent, &state{status: inProgress})
}

// resource writes an event with the whole resource. It is built in memory of its own: it may be large, and is soon
// let go.
func (e *encoder) resource(name string, st *state) error {
	const rest = 1024 // most of what is neither output nor echo
	b := appendEvent(make([]byte, 0, rest+len(st.output)+len(e.echo)), name, e.sequence)
	e.sequence++
	b = e.appendResource(append(b, `,"response":`...), st, e.echo)
	return e.w.Write(transport.Frame{Event: name, Data: append(b, '}')})
}

// finish writes the terminal event.
func (e *encoder) finish(st state) error {
	if !e.begun { // who reads it expects a beginning
		if err := e.begin(); err != nil {
			return err
		}
	}
	e.ended = true
	st.output = e.done
	return e.resource("response."+string(st.status), &st)
}

// fault ends a turn that failed. What it used is not known.
func (e *encoder) fault(f *event.Fault) error {
	kind := fault.Kind(f.Kind)
	return e.finish(state{status: failed, code: failure(kind), message: wire.Message(&fault.Error{Kind: kind, Public: f.Message})})
}

// compacted ends a turn of compaction with its one item.
func (e *encoder) compacted() error {
	usage := wire.Usage(e.start, e.end)
	c := e.own.compaction(bytes.TrimSpace(e.summary))
	if c.seal == "" {
		return e.finish(state{status: failed, code: serverError, message: noSummary, usage: &usage})
	}
	e.done = e.appendCompaction(e.done, 0, c.seal)
	for _, name := range [...]string{itemAdded, itemDone} {
		b := append(e.event(name), `,"output_index":0,"item":`...)
		if err := e.write(name, append(b, e.done...)); err != nil {
			return err
		}
	}
	return e.finish(state{status: completed, usage: &usage})
}

// Warm answers a request that is only kept (Own.NoGenerate): an answer without output, complete at once.
func (s Surface) Warm(req *surface.Request, info surface.Info, w transport.Writer) error {
	e := newEncoder(s, req, info, w)
	if err := e.created(); err != nil {
		return err
	}
	return e.finish(state{status: completed, usage: &event.Usage{}})
}
