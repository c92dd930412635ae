// Package parsecmd is the core of `weir parse`: raw model output in, canonical events or the folded turn
// out, through the very driver and assembler that serve.
package parsecmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/plugins/parser"
)

// Limits.
const (
	maxInput  = 64 << 20 // bytes of raw text
	maxRandom = 24       // longest piece of random:SEED, in bytes
)

// ErrUsage is wrapped by errors of the options, which no input can mend.
var ErrUsage = errors.New("usage")

// Options are the flags of the command.
type Options struct {
	Reasoning  string // name of a reasoning family, or empty
	Tools      string // name of a tool family, or empty
	PluginFile string // a plugin to parse with in place of the built-ins
	// Request gives tools, tool choice, thinking and stop strings; nil: every name is a tool.
	Request     *conv.Request
	EmitUnknown bool   // emit calls of tools that the request does not have
	PromptTail  string // what followed the last turn marker of the prompt, at most abi.MaxPromptTail bytes
	Finish      string // what the engine said: stop (the default), length, tool_calls, stop_sequence, content_filter, abort
	Chunks      string // all (the default), bytes:N or random:SEED
	Result      bool   // print the folded turn instead of events
}

// Opener opens a parser: the one in pluginFile, or the built-in where that is empty, with its open
// configuration.
type Opener func(ctx context.Context, pluginFile string, config []byte) (host.Guest, error)

// Run reads raw text from in, parses it and prints to out: one JSON object a line for each event, or one
// for the turn. Without families and plugin everything is text and open is not called. A plugin that
// fails does not stop the output; what is left passes as text, and the *host.Fault is the error.
func Run(ctx context.Context, o Options, open Opener, in io.Reader, out io.Writer) error {
	cut, err := chunks(o.Chunks)
	if err != nil {
		return err
	}
	end, err := ending(o.Finish)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return fmt.Errorf("read input: %w", err)
	case len(raw) > maxInput:
		return fmt.Errorf("input is longer than %d bytes", maxInput)
	}
	w := bufio.NewWriter(out)
	p := &printer{out: w, result: o.Result}
	a := assemble.New(assembly(&o), p)
	stream, err := stream(ctx, &o, open, a)
	if err != nil {
		return err
	}
	if err := play(ctx, a, stream, raw, cut, end); err != nil {
		return err
	}
	if o.Result {
		if _, err := w.Write(append(p.fold.Result.AppendJSON(nil), '\n')); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if f := stream.Fault(); f != nil {
		return fmt.Errorf("the plugin failed and the rest is text: %w", f)
	}
	return nil
}

// check reports names and a tail that no parser takes. A plugin of one's own has names of its own.
func (o *Options) check() error {
	switch {
	case len(o.PromptTail) > abi.MaxPromptTail:
		return fmt.Errorf("%w: prompt tail of %d bytes, at most %d: give what follows the last turn marker", ErrUsage, len(o.PromptTail), abi.MaxPromptTail)
	case o.PluginFile != "":
	case !parser.HasReasoning(o.Reasoning):
		return fmt.Errorf("%w: reasoning %q, expected one of %s", ErrUsage, o.Reasoning, strings.Join(parser.Reasonings(), ", "))
	case !parser.HasTools(o.Tools):
		return fmt.Errorf("%w: tools %q, expected one of %s", ErrUsage, o.Tools, strings.Join(parser.Tools(), ", "))
	}
	return nil
}

// play runs the turn.
func play(ctx context.Context, a *assemble.Assembler, s *host.Stream, raw []byte, cut func(left int) int, end finish) error {
	if err := a.Start(event.Usage{}); err != nil {
		return err
	}
	for len(raw) > 0 && !a.Ended() && !s.Ended() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := cut(len(raw))
		if err := s.Feed(raw[:n], nil, false); err != nil {
			return err
		}
		raw = raw[n:]
	}
	if !a.Ended() {
		if err := s.Finish(end.why); err != nil {
			return err
		}
	}
	if end.why == abi.WhyAbort {
		return a.Fail(event.Fault{Kind: string(fault.Engine), Message: "the stream broke off"})
	}
	return a.Finish(end.reason, "", event.Usage{})
}

// stream opens the parser that the options name.
func stream(ctx context.Context, o *Options, open Opener, sink host.Sink) (*host.Stream, error) {
	if o.Reasoning == "" && o.Tools == "" && o.PluginFile == "" {
		return host.Raw(sink), nil
	}
	g, err := open(ctx, o.PluginFile, config(o))
	if err != nil {
		return nil, fmt.Errorf("open parser: %w", err)
	}
	s, err := host.Open(g, sink, start(o).Append(nil))
	if f := (*host.Fault)(nil); err != nil && !errors.As(err, &f) {
		return nil, fmt.Errorf("start parser: %w", err)
	}
	return s, nil
}

// config is the parser's open configuration. Raw text has no token ids, so no marker has one. What was not
// asked for is none of the built-in formats, and the choice of a plugin of one's own.
func config(o *Options) []byte {
	b := []byte(`{`)
	for _, m := range [...]struct{ key, value string }{{"reasoning", o.Reasoning}, {"tools", o.Tools}} {
		if m.value != "" || o.PluginFile == "" {
			b = append(jsonscan.AppendString(append(jsonscan.AppendString(b, m.key), ':'), m.value), ',')
		}
	}
	return append(b, `"markers":{}}`...)
}

func start(o *Options) guest.Start {
	s := guest.Start{Tools: true, Tail: []byte(o.PromptTail)}
	if o.Request == nil {
		return s
	}
	s.Tools = len(o.Request.Tools) > 0
	switch o.Request.Choice.Mode {
	case conv.ChoiceNone:
		s.Choice = guest.ChoiceNone
	case conv.ChoiceRequired:
		s.Choice = guest.ChoiceRequired
	case conv.ChoiceNamed:
		s.Choice = guest.ChoiceNamed
	}
	s.Thinking = thinking(o.Request)
	return s
}

// thinking is what the request asks for: the template's own switches first, then the mode, then an
// effort of none.
func thinking(r *conv.Request) guest.Thinking {
	switched := guest.ThinkingUnknown
	args := jsonscan.NewReader(r.TemplateArgs)
	if args.Peek() == jsonscan.Object {
		err := args.Object(func(key []byte) error {
			raw, err := args.Raw()
			if k := string(key); k == "enable_thinking" || k == "thinking" {
				switch string(raw) {
				case "true":
					switched = guest.ThinkingOn
				case "false":
					switched = guest.ThinkingOff
				}
			}
			return err
		})
		if err == nil && switched != guest.ThinkingUnknown {
			return switched
		}
	}
	switch {
	case r.Thinking.Mode == conv.ThinkingOn:
		return guest.ThinkingOn
	case r.Thinking.Mode == conv.ThinkingOff, r.Thinking.Effort == "none":
		return guest.ThinkingOff
	}
	return guest.ThinkingUnknown
}

func assembly(o *Options) assemble.Options {
	if o.Request == nil {
		return assemble.Options{AnyName: true, KeepRaw: true, Choice: conv.ToolChoice{Parallel: true}}
	}
	return assemble.Options{
		Tools:       o.Request.Tools,
		Choice:      o.Request.Choice,
		EmitUnknown: o.EmitUnknown,
		Stop:        o.Request.Stop,
		KeepRaw:     true,
	}
}

// finish is what the engine said, for the parser and for the turn.
type finish struct {
	why    abi.Why
	reason event.Reason
}

func ending(name string) (finish, error) {
	switch name {
	case "", "stop":
		return finish{abi.WhyStop, event.ReasonStop}, nil
	case "length":
		return finish{abi.WhyLength, event.ReasonLength}, nil
	case "tool_calls":
		return finish{abi.WhyStop, event.ReasonToolUse}, nil
	case "stop_sequence":
		return finish{abi.WhyStopString, event.ReasonStopSequence}, nil
	case "content_filter":
		return finish{abi.WhyUnknown, event.ReasonContent}, nil
	case "abort":
		return finish{abi.WhyAbort, ""}, nil
	}
	return finish{}, fmt.Errorf("%w: finish reason %q, expected stop, length, tool_calls, stop_sequence, content_filter or abort", ErrUsage, name)
}

// chunks reads how to cut the input: the length of the next piece, given what is left.
func chunks(spec string) (func(left int) int, error) {
	kind, arg, _ := strings.Cut(spec, ":")
	switch kind {
	case "", "all":
		if arg == "" {
			return func(left int) int { return left }, nil
		}
	case "bytes":
		if n, err := strconv.Atoi(arg); err == nil && n > 0 {
			return func(left int) int { return min(n, left) }, nil
		}
	case "random":
		if seed, err := strconv.ParseUint(arg, 10, 64); err == nil {
			rng := rand.New(rand.NewPCG(seed, 0))
			return func(left int) int { return min(1+rng.IntN(maxRandom), left) }, nil
		}
	}
	return nil, fmt.Errorf("%w: chunks %q, expected all, bytes:N with N of at least 1, or random:SEED with a whole number", ErrUsage, spec)
}

// printer writes events as lines, or folds them.
type printer struct {
	out    *bufio.Writer
	result bool
	fold   event.Folder
	line   []byte
}

// Event prints or folds e.
func (p *printer) Event(e *event.Event) error {
	if p.result {
		return p.fold.Event(e)
	}
	p.line = append(event.AppendJSON(p.line[:0], e), '\n')
	if _, err := p.out.Write(p.line); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
