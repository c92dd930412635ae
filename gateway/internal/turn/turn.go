// Package turn runs one generation, from a prompt to its last event: it pulls the engine's deltas, feeds
// them to the model's parser, and hands what the assembler makes of the records to the client's sink.
// One goroutine does all of it, so a slow client slows the engine's read and nothing can leak; the one
// helper is a timer that keeps a silent stream alive.
package turn

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Prompt is what a conversation became for its model.
type Prompt struct {
	Text     string
	IDs      []uint32
	IDsText  [][]byte // see engines.Request
	Tokens   int      // length in tokens
	Estimate bool     // Tokens is a guess: there is no vocabulary here
	Start    []byte
	Prefill  string // of an answer that the prompt begins: what the parser reads before the model's output
	Stops    []string
}

// Replica is one place a model runs at.
type Replica struct {
	Name   string
	Engine engines.Engine
}

// Sink is where a turn's events go. Flush sends what events wrote and tells whether there was anything,
// since not every event shows; KeepAlive writes what the client takes for life. All calls come one at a
// time.
type Sink interface {
	event.Sink
	KeepAlive() error
	Flush() (sent bool, err error)
}

// Meter is told what happened, for metrics. Calls come from the turn's goroutine.
type Meter interface {
	// Tokens tells of a delta with n tokens, 0 where the engine does not say.
	Tokens(n int)
	// PluginFault tells that the parser failed and the stream went on raw.
	PluginFault(f *host.Fault)
}

// Times are a turn's timeouts.
type Times struct {
	HeaderWait time.Duration // how long the client's headers wait for the engine's
	KeepAlive  time.Duration // silence after which KeepAlive is called
	Idle       time.Duration // silence of the engine after which the turn fails
}

// Turn is one generation, ready to run.
type Turn struct {
	Request  *engines.Request
	Prompt   *Prompt
	Replicas []Replica // tried in order until one gives a delta
	Parser   host.Guest
	Assemble assemble.Options
	Abort    bool // a plugin's fault ends the turn instead of making it raw
	Streamed bool // Sink takes events as they come; otherwise nothing is kept alive
	Sink     Sink
	Tap      event.Sink                    // sees every event before Sink does, if set
	Seal     func(reasoning []byte) string // seals what a block of reasoning said, if set
	Shadow   Shadow                        // runs beside Parser, if set
	Output   *Output                       // takes what the model wrote, if set; to be read when Run has returned
	Times    Times
	Meter    Meter
}

// Outcome is what a turn came to, for the log and the bill.
type Outcome struct {
	Usage   event.Usage
	Fault   *fault.Error // what ended it, if it did not finish
	Replica string
	TTFT    time.Duration // until the first delta; 0 if none came
	Stats   assemble.Stats
}

// run is the state of a running turn.
type run struct {
	*Turn
	cancel context.CancelCauseFunc
	asm    *assemble.Assembler
	parser *host.Stream
	shadow Shadow // nil once there is nothing to compare
	begun  time.Time

	// mu is held by the turn's goroutine except while it waits for the engine; the timer takes it then.
	mu        sync.Mutex
	timer     *time.Timer
	started   bool // TurnStart has left
	over      bool
	held      bool      // TurnStart waits for the first delta
	flushed   time.Time // when the last flush was over
	lastWrite time.Time // when the last one was that sent something
	waiting   time.Time // since when the engine is waited for

	thought    []byte // of the open block of reasoning, for its seal
	output     int
	written    int // bytes that the model wrote
	usage      *engines.Usage
	finish     *engines.Finish
	structured bool
	outcome    Outcome
}

// Run runs the turn. An error means that nothing has left for the client, who can be given a status;
// after that, faults go in-band and are told by the outcome alone.
func (t *Turn) Run(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{Turn: t, shadow: t.Shadow, cancel: cancel, begun: time.Now()}
	r.waiting = r.begun
	r.asm = assemble.New(t.Assemble, r.events())
	r.mu.Lock()
	// Made first and set then, so that the timer's function sees the field.
	r.timer = time.AfterFunc(never, r.tick)
	r.timer.Reset(r.due(r.begun))
	err := r.open()
	if err == nil {
		err = r.generate(ctx)
	}
	if err == nil {
		err = r.end()
	}
	if err != nil {
		err = r.fail(ctx, err)
	}
	r.over = true
	r.timer.Stop()
	r.mu.Unlock()
	r.outcome.Stats = r.asm.Stats()
	return r.outcome, err
}

// Times of the timer: how soon it looks again when the turn's goroutine was at work, and a time that does
// not come.
const (
	again = 100 * time.Millisecond
	never = 24 * time.Hour
)

// openWait is how long the opening of a stream waits for the engine's first delta, to leave in one write
// with it. The headers of the engine are there by then, so an engine that is at work has little more to do.
const openWait = 20 * time.Millisecond

// due is how long the timer has nothing to do.
func (r *run) due(now time.Time) time.Duration {
	d := never
	if r.Times.Idle > 0 {
		d = r.waiting.Add(r.Times.Idle).Sub(now)
	}
	switch {
	case !r.Streamed:
	case r.held:
		d = min(d, r.waiting.Add(openWait).Sub(now))
	case r.started:
		d = min(d, r.lastWrite.Add(r.Times.KeepAlive).Sub(now))
	default:
		d = min(d, r.begun.Add(r.Times.HeaderWait).Sub(now))
	}
	return max(d, 10*time.Millisecond)
}

// tick keeps the client's stream alive and ends a turn whose engine fell silent. When the lock is
// taken, the turn's goroutine is at work and there is nothing to do.
func (r *run) tick() {
	if !r.mu.TryLock() {
		r.timer.Reset(again)
		return
	}
	defer r.mu.Unlock()
	if r.over {
		return
	}
	now := time.Now()
	if r.Times.Idle > 0 && now.Sub(r.waiting) >= r.Times.Idle {
		r.cancel(fault.New(fault.Timeout, "the engine sent nothing for %v, try again later", r.Times.Idle))
		return
	}
	if r.Streamed {
		if err := r.alive(now); err != nil {
			r.cancel(fault.Wrap(fault.Canceled, err, "the client is gone"))
			return
		}
	}
	r.timer.Reset(r.due(time.Now()))
}

func (r *run) alive(now time.Time) error {
	switch {
	case !r.started && now.Sub(r.begun) >= r.Times.HeaderWait:
		return r.start()
	case r.held:
		return r.flush()
	case r.started && now.Sub(r.lastWrite) >= r.Times.KeepAlive:
		if err := r.Sink.KeepAlive(); err != nil {
			return err
		}
		r.lastWrite = now // also where the surface had nothing to say
		return r.flush()
	}
	return nil
}

// start sends TurnStart, once.
func (r *run) start() error {
	if r.started {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.flush()
}

// begin writes TurnStart, once; it leaves with the next flush.
func (r *run) begin() error {
	if r.started {
		return nil
	}
	r.started, r.held = true, true
	return r.asm.Start(event.Usage{Input: r.Prompt.Tokens, Estimate: r.Prompt.Estimate})
}

// open opens the stream before the engine is asked, where the headers do not wait for it.
func (r *run) open() error {
	if !r.Streamed || r.Times.HeaderWait > 0 {
		return nil
	}
	if err := r.start(); err != nil {
		return clientError{err}
	}
	return nil
}

// flush sends what was written. The time counts from its end: a client that takes long is not a silence.
func (r *run) flush() error {
	sent, err := r.Sink.Flush()
	r.flushed, r.held = time.Now(), false
	if sent {
		r.lastWrite = r.flushed
	}
	return err
}

// clientError marks an error of the sink: the client is gone, the engine is not to blame.
type clientError struct{ error }

func (e clientError) Unwrap() error { return e.error }

// generate tries the replicas until one has given a delta, and pulls that stream to its end.
func (r *run) generate(ctx context.Context) error {
	var last error
	for _, rep := range r.Replicas {
		r.outcome.Replica = rep.Name
		err := r.attempt(ctx, rep.Engine)
		if err == nil {
			return nil
		}
		last = err
		if r.outcome.TTFT > 0 || ctx.Err() != nil || !engines.Retryable(err) {
			return err
		}
	}
	if last == nil {
		last = fault.New(fault.Unavailable, "no engine serves this model")
	}
	return last
}

func (r *run) attempt(ctx context.Context, e engines.Engine) error {
	r.waiting = time.Now()
	r.mu.Unlock()
	stream, err := e.Generate(ctx, r.Request)
	r.mu.Lock()
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // because the stream is over either way
	if err := r.begin(); err != nil {
		return clientError{err}
	}
	if r.parser == nil {
		r.openParser()
	}
	r.waiting = time.Now()
	if r.Streamed && r.held {
		r.timer.Reset(openWait)
	}
	peek, _ := stream.(engines.Peeker)
	for {
		r.mu.Unlock()
		d, err := stream.Next()
		r.mu.Lock()
		if err == io.EOF { //nolint:errorlint // because the contract gives io.EOF itself; one that is wrapped is a failure
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.delta(d); err != nil {
			return err
		}
		over := r.asm.Ended() || r.parser.Ended()
		// What waits already leaves with what is written: one write for a burst, and none of its own for a
		// last delta, behind which the end of the stream is known.
		if !over && (peek == nil || !peek.Ready()) {
			if err := r.flush(); err != nil {
				return clientError{err}
			}
			r.waiting = r.flushed
		}
		if r.shadow != nil && len(d.Bytes) > 0 {
			r.shadow.Feed(d.Bytes, d.Spans)
		}
		if over {
			return nil
		}
	}
}

func (r *run) delta(d *engines.Delta) error {
	now := time.Now()
	if r.outcome.TTFT == 0 && (len(d.Bytes) > 0 || len(d.Fragments) > 0) {
		r.outcome.TTFT = max(now.Sub(r.begun), 1)
	}
	r.waiting = now
	if r.Output != nil {
		r.Output.add(d)
	}
	if d.Tokens > 0 || len(d.Bytes) > 0 || len(d.Fragments) > 0 {
		r.output += d.Tokens
		r.Meter.Tokens(d.Tokens)
	}
	if len(d.Bytes) > 0 {
		if r.structured {
			return mixed()
		}
		if err := r.parser.Feed(d.Bytes, d.Spans, false); err != nil {
			return clientError{err}
		}
		if err := r.parserFault(); err != nil {
			return err
		}
		r.written += len(d.Bytes)
	}
	for _, f := range d.Fragments {
		if !r.structured && r.parser.Fed() {
			return mixed()
		}
		r.structured, r.shadow = true, nil // nobody parses
		r.written += len(f.Text)
		if err := r.asm.Fragment(f); err != nil {
			return clientError{err}
		}
	}
	if d.Usage != nil {
		u := *d.Usage
		r.usage = &u
	}
	if d.Finish != nil {
		f := *d.Finish
		r.finish = &f
	}
	return nil
}

func mixed() error {
	return &engines.Error{Class: engines.ClassProtocol, Message: "raw and structured deltas in one turn"}
}

// end tells the parser and the assembler that the stream is over.
func (r *run) end() error {
	reason, why, seq := event.ReasonStop, abi.WhyStop, ""
	if r.finish != nil {
		switch r.finish.Reason {
		case engines.ReasonLength:
			reason, why = event.ReasonLength, abi.WhyLength
		case engines.ReasonContent:
			reason = event.ReasonContent
		case engines.ReasonAbort:
			why = abi.WhyAbort
		}
	}
	if s, ok := r.asm.Stopped(); ok {
		reason, why, seq = event.ReasonStopSequence, abi.WhyStopString, s
	}
	if !r.structured {
		if err := r.parser.Finish(why); err != nil {
			return clientError{err}
		}
		if err := r.parserFault(); err != nil {
			return err
		}
		if s, ok := r.asm.Stopped(); ok {
			reason, seq = event.ReasonStopSequence, s
		}
	}
	if r.Output != nil {
		r.Output.end(seq == "" && (why == abi.WhyStop || why == abi.WhyLength))
	}
	u := r.total()
	r.outcome.Usage = u
	if err := r.asm.Finish(reason, seq, u); err != nil {
		return clientError{err}
	}
	if err := r.flush(); err != nil {
		return clientError{err}
	}
	if r.shadow != nil {
		r.shadow.Finish(why, reason, seq)
	}
	return nil
}

// total is the engine's usage, or what was counted here where the engine did not say.
func (r *run) total() event.Usage {
	u := event.Usage{Input: r.Prompt.Tokens, Output: r.output, Estimate: r.Prompt.Estimate}
	if r.usage != nil {
		u = event.Usage{Input: r.usage.Input, Cached: r.usage.Cached, Output: r.usage.Output}
	}
	// Which tokens were reasoning nobody tells; its share of the bytes is near enough for a bill's detail.
	if n := r.asm.Stats().Reasoning; r.written > 0 {
		u.Reasoning = u.Output * n / r.written
	}
	return u
}

// fail ends a turn that went wrong: in-band when the stream has begun, else by the error it returns.
func (r *run) fail(ctx context.Context, err error) error {
	f := classify(ctx, err)
	r.shadow = nil // how a failed turn is closed says nothing of the parser
	r.outcome.Fault, r.outcome.Usage = f, r.total()
	if !r.started || !r.Streamed {
		return f
	}
	if _, gone := errors.AsType[clientError](err); gone {
		return nil // nobody reads
	}
	if r.parser != nil && !r.structured {
		// What the parser holds is content as far as anybody will ever know. Its own fault comes too late.
		_ = r.parser.Finish(abi.WhyAbort)
	}
	if err := r.asm.Fail(event.Fault{Kind: string(f.Kind), Message: f.Public}); err == nil {
		_ = r.flush() // the client may be gone as well: there is nobody left to tell
	}
	return nil
}

// RequestFor fills an engine request from a conversation and its prompt.
func RequestFor(id, model, session string, req *conv.Request, p *Prompt, maxTokens int) *engines.Request {
	return &engines.Request{
		ID: id, Model: model, Session: session, Prompt: p.Text, IDs: p.IDs, Conversation: req,
		MaxTokens: maxTokens, Stop: p.Stops, IDsText: p.IDsText,
	}
}
