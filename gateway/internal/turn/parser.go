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
	if r.Tap == nil && r.shadow == nil {
		return r.Sink
	}
	return event.SinkFunc(func(e *event.Event) error {
		if r.shadow != nil {
			r.shadow.Event(e)
		}
		if r.Tap != nil {
			if err := r.Tap.Event(e); err != nil {
				return err
			}
		}
		return r.Sink.Event(e)
	})
}

// openParser opens the parser's stream; one that fails at once leaves a raw stream.
func (r *run) openParser() {
	var sink host.Sink = r.asm
	if r.shadow != nil {
		sink = r.shadow.Begin(r.Prompt.Start, sink)
	}
	if r.Parser == nil {
		r.parser = host.Raw(sink)
		return
	}
	r.parser, _ = host.Open(r.Parser, sink, r.Prompt.Start)
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
