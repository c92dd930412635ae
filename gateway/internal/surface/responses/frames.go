package responses

import (
	"strconv"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// Names of events.
const (
	createdEvent  = "response.created"
	progressEvent = "response.in_progress"
	itemAdded     = "response.output_item.added"
	itemDone      = "response.output_item.done"
	partAdded     = "response.content_part.added"
	partDone      = "response.content_part.done"
	textDelta     = "response.output_text.delta"
	textDone      = "response.output_text.done"
	thoughtDelta  = "response.reasoning_text.delta"
	thoughtDone   = "response.reasoning_text.done"
	openDelta     = "response.reasoning.delta" // Open Responses
	openDone      = "response.reasoning.done"
	summaryAdded  = "response.reasoning_summary_part.added"
	summaryDelta  = "response.reasoning_summary_text.delta"
	summaryDone   = "response.reasoning_summary_text.done"
	summaryClosed = "response.reasoning_summary_part.done"
	functionDelta = "response.function_call_arguments.delta"
	functionDone  = "response.function_call_arguments.done"
	customDelta   = "response.custom_tool_call_input.delta"
	customDone    = "response.custom_tool_call_input.done"
	dispatch      = "tool_call_dispatch"
)

// appendEvent appends what every event begins with.
func appendEvent(b []byte, name string, sequence int) []byte {
	b = append(append(b, `{"type":"`...), name...)
	return strconv.AppendInt(append(b, `","sequence_number":`...), int64(sequence), 10)
}

// event begins the next event behind the head.
func (e *encoder) event(name string) []byte {
	b := appendEvent(e.buf[:e.head], name, e.sequence)
	e.sequence++
	return b
}

// write ends the event that was begun behind the head, and sends it.
func (e *encoder) write(name string, b []byte) error {
	e.buf = append(b, '}')
	return e.w.Write(transport.Frame{Event: name, Data: e.buf[e.head:]})
}

// ofItem begins an event that is about a place in the open item: the item, and an index in it where that has a name.
func (e *encoder) ofItem(name, index string) []byte { return e.appendPlace(e.event(name), index) }

func (e *encoder) appendPlace(b []byte, index string) []byte {
	b = e.appendItemID(append(b, `,"item_id":"`...), &e.item)
	b = strconv.AppendInt(append(b, `","output_index":`...), int64(e.item.index), 10)
	if index != "" {
		b = append(append(append(b, `,"`...), index...), `":0`...)
	}
	return b
}

// Names of indexes of parts.
const (
	contentIndex = "content_index"
	summaryIndex = "summary_index"
)

// openItem begins an item and its parts, and prepares its deltas.
func (e *encoder) openItem(ev *event.Event) error {
	e.item = item{kind: ev.Kind, index: e.index, phase: ev.Phase, call: ev.Call, text: e.item.text[:0]}
	e.item.call.Arguments = nil // they are the event's
	e.index++
	e.head = 0
	if err := e.whole(itemAdded, inProgress); err != nil {
		return err
	}
	switch {
	case ev.Kind == event.TextStart:
		if err := e.part(partAdded, contentIndex, outputText); err != nil {
			return err
		}
		e.prepare(textDelta, contentIndex, "")
	case ev.Kind == event.ReasoningStart:
		return e.openReasoning()
	case e.item.call.Kind == event.Custom:
		e.prepare(customDelta, "", "")
	case !e.item.search():
		e.prepare(functionDelta, "", "")
	}
	return nil
}

func (e *encoder) openReasoning() error {
	if err := e.part(partAdded, contentIndex, reasoningText); err != nil {
		return err
	}
	summary := ""
	if e.own.Summary {
		if err := e.part(summaryAdded, summaryIndex, summaryText); err != nil {
			return err
		}
		summary = summaryDelta
	}
	e.prepare(e.thoughts(thoughtDelta, openDelta), contentIndex, summary)
	return nil
}

// thoughts picks the name of what is said of raw reasoning.
func (e *encoder) thoughts(name, open string) string {
	if e.open {
		return open
	}
	return name
}

// prepare makes the head: deltas up to their number.
func (e *encoder) prepare(name, index, summary string) {
	b := e.appendDelta(e.buf[:0], name, index)
	e.mid = len(b)
	if summary != "" {
		b = e.appendDelta(b, summary, summaryIndex)
	}
	e.buf, e.head = b, len(b)
}

func (e *encoder) appendDelta(b []byte, name, index string) []byte {
	b = append(append(b, `{"type":"`...), name...)
	b = e.appendPlace(append(b, '"'), index)
	if name == textDelta {
		b = append(b, `,"logprobs":[]`...)
	}
	return append(b, `,"sequence_number":`...)
}

// delta writes the next piece of the open item, as it stands in a JSON string. A search for tools has no deltas.
func (e *encoder) delta(piece []byte) error {
	switch {
	case e.item.kind == event.TextStart:
		return e.piece(textDelta, 0, e.mid, piece)
	case e.item.kind == event.ReasoningStart:
		err := e.piece(e.thoughts(thoughtDelta, openDelta), 0, e.mid, piece)
		if err != nil || e.mid == e.head {
			return err
		}
		return e.piece(summaryDelta, e.mid, e.head, piece)
	case e.item.call.Kind == event.Custom:
		return e.piece(customDelta, 0, e.mid, piece)
	case !e.item.search():
		return e.piece(functionDelta, 0, e.mid, piece)
	}
	return nil
}

// piece writes a delta that begins as buf[from:to].
func (e *encoder) piece(name string, from, to int, piece []byte) error {
	b := append(e.buf[:e.head], e.buf[from:to]...)
	b = strconv.AppendInt(b, int64(e.sequence), 10)
	e.sequence++
	b = append(append(b, `,"delta":"`...), piece...)
	return e.write(name, append(b, '"'))
}

// whole writes that the open item was added, or is done.
func (e *encoder) whole(name string, st status) error {
	b := strconv.AppendInt(append(e.event(name), `,"output_index":`...), int64(e.item.index), 10)
	return e.write(name, e.appendItem(append(b, `,"item":`...), &e.item, st))
}

// part writes that a part of the open item was added, which it is before it says anything, or is done.
func (e *encoder) part(name, index, kind string) error {
	b := append(e.ofItem(name, index), `,"part":`...)
	return e.write(name, appendPart(b, kind, e.item.text))
}

// text writes the whole text of a part.
func (e *encoder) text(name, index string) error {
	b := append(append(e.ofItem(name, index), `,"text":"`...), e.item.text...)
	if b = append(b, '"'); name == textDone {
		b = append(b, `,"logprobs":[]`...)
	}
	return e.write(name, b)
}

func (e *encoder) closeText() error {
	if err := e.text(textDone, contentIndex); err != nil {
		return err
	}
	if err := e.part(partDone, contentIndex, outputText); err != nil {
		return err
	}
	return e.closeItem()
}

func (e *encoder) closeReasoning() error {
	if err := e.text(e.thoughts(thoughtDone, openDone), contentIndex); err != nil {
		return err
	}
	if err := e.part(partDone, contentIndex, reasoningText); err != nil {
		return err
	}
	if e.own.Summary {
		if err := e.text(summaryDone, summaryIndex); err != nil {
			return err
		}
		if err := e.part(summaryClosed, summaryIndex, summaryText); err != nil {
			return err
		}
	}
	return e.closeItem()
}

// closeCall ends a call. One that is not complete is not said to be done: clients run a call on that word alone,
// and a change that was cut short must not be made. It is part of the output, as incomplete.
func (e *encoder) closeCall(complete bool) error {
	if !complete {
		e.keep(incomplete)
		return nil
	}
	if e.item.search() {
		return e.closeItem()
	}
	if e.item.call.Kind == event.Custom {
		b := append(e.ofItem(customDone, ""), `,"input":`...)
		if err := e.write(customDone, e.item.appendArguments(b, completed)); err != nil {
			return err
		}
		return e.closeItem()
	}
	if len(e.item.text) == 0 {
		// What the deltas make is what is done.
		if err := e.delta([]byte(`{}`)); err != nil {
			return err
		}
	}
	b := jsonscan.AppendString(append(e.ofItem(functionDone, ""), `,"name":`...), e.item.call.Name)
	if err := e.write(functionDone, e.item.appendArguments(append(b, `,"arguments":`...), completed)); err != nil {
		return err
	}
	return e.closeItem()
}

// closeItem writes that the open item is done, and keeps it for the output.
func (e *encoder) closeItem() error {
	e.keep(completed)
	return e.whole(itemDone, completed)
}

func (e *encoder) keep(st status) {
	if len(e.done) > 0 {
		e.done = append(e.done, ',')
	}
	e.done = e.appendItem(e.done, &e.item, st)
}

// dispatched writes a call that is closed and valid, the last item. Arguments are a string, the same as on the other
// surfaces.
func (e *encoder) dispatched() error {
	b := e.ofItem(dispatch, "")
	b = jsonscan.AppendString(append(b, `,"call_id":`...), e.item.call.ID)
	b = append(appendCallName(b, &e.item.call), `,"arguments":`...)
	if e.item.search() {
		b = jsonscan.AppendString(b, e.item.appendArguments(nil, completed))
	} else {
		b = e.item.appendArguments(b, completed)
	}
	return e.write(dispatch, b)
}
