// Package tck is the conformance kit of the plugin ABI for hosts: scripted guests, each of which traps where
// the host breaks a rule of ABI.md, and what a host must make of their streams.
//
// A host written in Go runs it with Run. One in another language reads the same fixtures, which README.md
// describes.
package tck

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
)

// Host is what is tested. Errors are told apart from nil alone.
type Host interface {
	// Load takes a module, or refuses it.
	Load(wasm []byte) (Plugin, error)
}

// Plugin is a module that was taken.
type Plugin interface {
	// Open gives it a configuration, or tells that the module refuses that.
	Open(config []byte) (Parser, error)
	// Close frees it. No stream of it is open any more.
	Close()
}

// Renderer is what a Plugin is too if the host has a use for renderers.
type Renderer interface {
	// Render opens the plugin with a configuration and makes a prompt. in.Content is what the operator
	// grants. An error says that the plugin is at fault.
	Render(config []byte, in *plan.RenderInput) (*plan.Rendered, error)
}

// Parser is a configured plugin.
type Parser interface {
	// Start begins a stream with a start block as ABI.md section 4 has it. The stream of a guest whose start
	// fails is there, and raw. An error says that the host has no stream for it, as for a sticky plugin.
	Start(block []byte, sink Sink) (Stream, error)
}

// Sink takes what a stream gives, in order.
type Sink interface {
	// Accept is the verdict on the name that a feed returned with.
	Accept(name []byte) bool
	// Record takes one record, without those of kinds that a host skips. Bytes that pass raw are text without
	// flags. b is only looked at until it returns.
	Record(r record.Record, b []byte)
}

// Stream is one stream. It is used by one goroutine.
type Stream interface {
	// Feed gives new bytes; spans are relative to them.
	Feed(p []byte, spans []record.Span, boundary bool) error
	// Finish ends the stream.
	Finish(why abi.Why) error
	// Fault is the export that the guest failed in, or "".
	Fault() string
	// Dropped is the number of bytes behind the end of the turn.
	Dropped() int
	// Close frees the stream.
	Close()
}

// Run takes the host through every fixture, each case a test of its own.
func Run(t *testing.T, h Host) {
	t.Helper()
	refusals, err := Refusals()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("refused", func(t *testing.T) {
		for _, r := range refusals {
			t.Run(r.Name(), func(t *testing.T) {
				p, err := h.Load(r.Wasm)
				if err == nil {
					p.Close()
					t.Errorf("the module is taken, and section %s refuses it: %s", r.Section, r.About)
				}
			})
		}
	})
	fixtures, err := Fixtures()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fixtures {
		t.Run(f.Name(), func(t *testing.T) {
			p, err := h.Load(f.Wasm)
			if err != nil {
				t.Fatalf("the module is refused: %v", err)
			}
			defer p.Close()
			f.play(t, p)
		})
	}
}

// play runs the cases of a fixture.
func (f *Fixture) play(t *testing.T, p Plugin) {
	t.Helper()
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if problem := c.run(p); problem != "" {
				t.Errorf("section %s, %s:\n%s", c.Section, c.About, problem)
			}
		})
	}
	renderer, ok := p.(Renderer)
	if !ok && len(f.Renders) > 0 {
		t.Skip("NOT CHECKED: the host has no renderers")
	}
	for _, c := range f.Renders {
		t.Run(c.Name, func(t *testing.T) {
			if problem := c.run(renderer, f.Input); problem != "" {
				t.Errorf("section %s, %s:\n%s", c.Section, c.About, problem)
			}
		})
	}
}

// run plays a case and returns what differs from what is wanted.
func (c *Case) run(p Plugin) string {
	config := c.Config
	if config == "" {
		config = "{}"
	}
	parser, err := p.Open([]byte(config))
	if c.Open == "refused" {
		if err == nil {
			return "the configuration is taken, want an error"
		}
		return ""
	}
	if err != nil {
		if c.Optional {
			return ""
		}
		return fmt.Sprintf("the configuration is refused: %v", err)
	}
	var streams []Stream
	traces := make([]*trace, len(c.Streams))
	for k := range c.Streams {
		traces[k] = &trace{accept: c.Accept}
		s, err := parser.Start(c.Start.block(), traces[k])
		if err != nil {
			if c.Optional {
				return ""
			}
			return fmt.Sprintf("stream %d: %v", k, err)
		}
		defer s.Close()
		streams = append(streams, s)
	}
	for k, st := range c.Steps {
		if err := st.play(streams[st.Stream]); err != nil {
			return fmt.Sprintf("step %d: %v", k, err)
		}
	}
	var problems []string
	for k, want := range c.Streams {
		got := StreamWant{Records: traces[k].records, Fault: streams[k].Fault(), Dropped: streams[k].Dropped()}
		if g, w := got.String(), want.String(); g != w {
			problems = append(problems, fmt.Sprintf("stream %d:\ngot\n%swant\n%s", k, g, w))
		}
	}
	return strings.Join(problems, "\n")
}

// run renders and returns what differs from what is wanted.
func (c *RenderCase) run(r Renderer, in plan.RenderInput) string {
	in.Content = c.Content
	out, err := r.Render([]byte(c.Config), &in)
	switch {
	case c.Fault && err == nil:
		return fmt.Sprintf("the answer is taken: %q", out.Text)
	case c.Fault:
		return ""
	case err != nil:
		return fmt.Sprintf("the answer is refused: %v", err)
	}
	got := RenderCase{Text: out.Text}
	for _, s := range out.Spans {
		got.Spans = append(got.Spans, RenderSpan{s.Start, s.End, int(s.Source), s.Message, s.Part})
	}
	for _, op := range out.Ops {
		got.Ops = append(got.Ops, RenderOp{Kind: op.Kind, Argument: uint8(op.Action) | uint8(op.State), Message: op.Message, Part: op.Part, Value: op.Value})
	}
	if got.Text != c.Text || !slices.Equal(got.Spans, c.Spans) || !slices.Equal(got.Ops, c.Ops) {
		return fmt.Sprintf("got\n  %q\n  %v\n  %v\nwant\n  %q\n  %v\n  %v", got.Text, got.Spans, got.Ops, c.Text, c.Spans, c.Ops)
	}
	return ""
}

// play gives a step to its stream.
func (st *Step) play(s Stream) error {
	if st.Finish != nil {
		return s.Finish(abi.Why(*st.Finish))
	}
	text := []byte(strings.Repeat(*st.Feed, max(st.Repeat, 1)))
	before := bytes.Clone(text)
	var spans []record.Span
	for _, sp := range st.Spans {
		spans = append(spans, record.Span{Off: sp[0], Len: sp[1], Token: sp[2]})
	}
	if err := s.Feed(text, spans, st.Boundary); err != nil {
		return err
	}
	if !bytes.Equal(text, before) {
		return fmt.Errorf("the host changed the bytes that it was given")
	}
	return nil
}

// block encodes the start block.
func (s Start) block() []byte {
	return guest.Start{
		Thinking: guest.Thinking(s.Thinking), Choice: guest.Choice(s.Choice), Tools: s.Tools != 0, Tail: []byte(s.Tail),
	}.Append(nil)
}

// trace is the sink of a case.
type trace struct {
	accept  []string
	records []Record
}

func (t *trace) Accept(name []byte) bool { return slices.Contains(t.accept, string(name)) }

func (t *trace) Record(r record.Record, b []byte) {
	next := Record{Kind: r.Kind.String(), Flags: uint32(r.Flags), Aux: r.Aux, Bytes: string(b)}
	if n := len(t.records); n > 0 && next.continues(t.records[n-1]) {
		t.records[n-1].Bytes += next.Bytes
		return
	}
	if next.Bytes == "" && next.Kind == "text" {
		return
	}
	t.records = append(t.records, next)
}
