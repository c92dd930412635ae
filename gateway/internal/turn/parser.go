package turn

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Shadow is a second parser, which gets what the first one gets and sends nothing. It returns no errors:
// whatever becomes of it, the turn goes on. Calls come from the turn's goroutine.
type Shadow interface {
	// Begin comes with the parser's start block, and returns the sink that its records go through to s.
	Begin(start []byte, s host.Sink) host.Sink
	// Event tells of an event that the first parser's records became, before the client gets it.
	Event(e *event.Event)
	// Feed gives bytes that the first parser was fed, after what came of them was sent.
	Feed(p []byte, spans []record.Span)
	// Finish tells how the stream ended. It does not come when the turn fails.
	Finish(why abi.Why, r event.Reason, stopSequence string)
}

// events is where the assembler's events go.
func (r *run) events() event.Sink {
	if r.Tap == nil && r.shadow == nil && r.Seal == nil {
		return r.Sink
	}
	return event.SinkFunc(func(e *event.Event) error {
		if r.shadow != nil {
			r.shadow.Event(e)
		}
		r.seal(e)
		if r.Tap != nil {
			if err := r.Tap.Event(e); err != nil {
				return err
			}
		}
		return r.Sink.Event(e)
	})
}

// seal gives the end of a block of reasoning its seal.
func (r *run) seal(e *event.Event) {
	switch {
	case r.Seal == nil:
	case e.Kind == event.ReasoningDelta:
		r.thought = append(r.thought, e.Text...)
	case e.Kind == event.ReasoningEnd:
		e.Seal = r.Seal(r.thought)
		r.thought = r.thought[:0]
	}
}

// openParser opens the parser's stream; one that fails at once leaves a raw stream.
func (r *run) openParser() {
	var sink host.Sink = r.asm
	if r.shadow != nil {
		sink = r.shadow.Begin(r.Prompt.Start, sink)
	}
	switch {
	case r.Parser == nil:
		r.parser = host.Raw(sink)
	case r.Prompt.Prefill != "":
		g := &gate{Sink: r.asm, shut: true}
		r.shadow = nil // it would read from the middle on
		r.parser, _ = host.Open(r.Parser, g, r.Prompt.Start)
		_ = r.parser.Feed([]byte(r.Prompt.Prefill), nil, false) // errors are those of the sink
		g.shut = false
	default:
		r.parser, _ = host.Open(r.Parser, sink, r.Prompt.Start)
	}
}

// gate is a sink that takes nothing while it is shut: the parser reads what the prompt has of the answer.
type gate struct {
	host.Sink
	shut bool
}

// Accept accepts all calls of the prompt.
func (g *gate) Accept(recs []record.Record, in []byte) bool {
	return g.shut || g.Sink.Accept(recs, in)
}

// Record hands on what the model writes.
func (g *gate) Record(r record.Record, b []byte) error {
	if g.shut {
		return nil
	}
	return g.Sink.Record(r, b)
}

// Ending hands on that the stream ended.
func (g *gate) Ending() {
	if e, ok := g.Sink.(host.Ender); ok {
		e.Ending()
	}
}

// parserFault acts on a plugin that failed, once.
func (r *run) parserFault() error {
	f := r.parser.TakeFault()
	if f == nil {
		return nil
	}
	r.Meter.PluginFault(f)
	if r.Abort {
		return fault.Wrap(fault.Plugin, f, "the model's parser failed")
	}
	return nil
}
