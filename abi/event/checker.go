package event

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
)

// ErrGrammar is wrapped by every fault a Checker finds.
var ErrGrammar = errors.New("event grammar")

// Checker enforces the grammar:
//
//	turn      = TurnStart { block | Usage } ( Usage Finish | Fault )
//	block     = ReasoningStart { ReasoningDelta } ReasoningEnd
//	          | TextStart { TextDelta } TextEnd
//	          | ToolStart { ToolArgs } ToolEnd [ Dispatch ]
//
// with Usage allowed anywhere after TurnStart, deltas never empty, call indexes 0, 1, 2.., Dispatch only
// directly after a ToolEnd that is complete and with the very arguments that were streamed, those of a
// function being one JSON value, and ReasonToolUse only if there were calls and all are complete. It
// passes events on to Next, if that is set. For tests and debugging.
type Checker struct {
	Next Sink

	started, ended bool
	open           Kind // start kind of the open block, or 0
	last           Kind
	call           Call
	args           []byte
	calls          int
	incomplete     int
	complete       bool // the last ToolEnd
}

// Event checks e and passes it on.
func (c *Checker) Event(e *Event) error {
	if err := c.check(e); err != nil {
		return fmt.Errorf("%w: %v: %w", ErrGrammar, e.Kind, err)
	}
	c.last = e.Kind
	if c.Next != nil {
		return c.Next.Event(e)
	}
	return nil
}

// Close reports a turn that did not end.
func (c *Checker) Close() error {
	if !c.ended {
		return fmt.Errorf("%w: the turn did not end", ErrGrammar)
	}
	return nil
}

func (c *Checker) check(e *Event) error {
	switch {
	case c.ended:
		return errors.New("after the end")
	case !c.started && e.Kind != TurnStart:
		return errors.New("before turn_start")
	case c.started && e.Kind == TurnStart:
		return errors.New("twice")
	case !utf8.Valid(e.Text):
		return fmt.Errorf("text %q is not UTF-8", e.Text)
	}
	switch e.Kind {
	case TurnStart:
		c.started = true
	case ReasoningStart, TextStart, ToolStart:
		return c.begin(e)
	case ReasoningDelta, TextDelta, ToolArgs:
		return c.delta(e)
	case ReasoningEnd, TextEnd, ToolEnd:
		return c.end(e)
	case Dispatch:
		return c.dispatch(e)
	case UsageKind:
	case Finish:
		return c.finish(e)
	case FaultKind:
		if c.open != 0 {
			return fmt.Errorf("with %v open", c.open)
		}
		c.ended = true
	default:
		return errors.New("unknown kind")
	}
	return nil
}

func (c *Checker) begin(e *Event) error {
	if c.open != 0 {
		return fmt.Errorf("with %v open", c.open)
	}
	c.open = e.Kind
	if e.Kind != ToolStart {
		return nil
	}
	if e.Call.Index != c.calls || e.Call.Name == "" || e.Call.ID == "" {
		return fmt.Errorf("call %+v, expected index %d, a name and an id", e.Call, c.calls)
	}
	c.calls++
	c.call, c.args = e.Call, c.args[:0]
	return nil
}

// starts pairs deltas and ends with the kind that opens their block.
var starts = [...]Kind{
	ReasoningDelta: ReasoningStart, ReasoningEnd: ReasoningStart,
	TextDelta: TextStart, TextEnd: TextStart,
	ToolArgs: ToolStart, ToolEnd: ToolStart,
}

func (c *Checker) delta(e *Event) error {
	if c.open != starts[e.Kind] {
		return fmt.Errorf("with %v open", c.open)
	}
	if len(e.Text) == 0 {
		return errors.New("empty")
	}
	if e.Kind == ToolArgs {
		c.args = append(c.args, e.Text...)
	}
	return nil
}

func (c *Checker) end(e *Event) error {
	if c.open != starts[e.Kind] {
		return fmt.Errorf("with %v open", c.open)
	}
	c.open = 0
	if e.Kind != ToolEnd {
		return nil
	}
	if e.Call.Index != c.call.Index || e.Call.ID != c.call.ID {
		return fmt.Errorf("call %d %q, open is %d %q", e.Call.Index, e.Call.ID, c.call.Index, c.call.ID)
	}
	if c.complete = e.Complete; !e.Complete {
		c.incomplete++
		if e.Cause == CauseNone {
			return errors.New("incomplete without a cause")
		}
		return nil
	}
	if c.call.Kind == Function && !jsonscan.Valid(c.args) {
		return fmt.Errorf("complete, but its arguments %q are not JSON", c.args)
	}
	return nil
}

func (c *Checker) dispatch(e *Event) error {
	if c.last != ToolEnd || !c.complete {
		return fmt.Errorf("after %v, expected a complete tool_end", c.last)
	}
	if e.Call.ID != c.call.ID || e.Call.Name != c.call.Name || !bytes.Equal(e.Call.Arguments, c.args) {
		return fmt.Errorf("of %q with %q, streamed were %q with %q", e.Call.ID, e.Call.Arguments, c.call.ID, c.args)
	}
	return nil
}

func (c *Checker) finish(e *Event) error {
	if c.open != 0 {
		return fmt.Errorf("with %v open", c.open)
	}
	if c.last != UsageKind {
		return fmt.Errorf("after %v, expected usage", c.last)
	}
	if e.Reason == ReasonToolUse && (c.calls == 0 || c.incomplete > 0) {
		return fmt.Errorf("tool use with %d calls, %d incomplete", c.calls, c.incomplete)
	}
	c.ended = true
	return nil
}
