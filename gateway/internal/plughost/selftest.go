package plughost

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// errSelfTest is wrapped by the refusal of a plugin that breaks a law before it served anybody.
var errSelfTest = errors.New("self-test")

// selfTests are inputs that look like the output of some models. What a plugin makes of them is its matter.
func selfTests() []string {
	return []string{
		"",
		"Plain text, with a < b && c[0] > {d}, and an emoji \U0001F980.\n\n",
		"<think>\nso \u00e9\n</think>\n\nok <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}</tool_call>\"]}}\n</tool_call>",
		"<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call> <<why>> [call:f {\"a\": 1}] <|tool|>",
		strings.Repeat("0123456789 {\"[<'\n", 80),
		"<think><tool_call>{\"name\": \"",
	}
}

// selfTest holds a parser to what every stream relies on, before a stream does: it takes every chunking alike,
// keeps streams apart, loses no byte and ends. It is not the whole of the laws: `weir plugin check` is.
func (p *Plugin) selfTest() error {
	if !p.Manifest.Is(KindParser) {
		return nil
	}
	parser, err := p.Parser([]byte(`{}`))
	if err != nil {
		return err
	}
	for n, input := range selfTests() {
		want, err := parser.trace(input, len(input)+1, true)
		if err != nil {
			return fmt.Errorf("%w: input %d: %w", errSelfTest, n, err)
		}
		for _, size := range [...]int{1, 7} {
			got, err := parser.trace(input, size, true)
			if err == nil && got != want {
				err = fmt.Errorf("in pieces of %d bytes the records are %.200q, at once they are %.200q", size, got, want)
			}
			if err != nil {
				return fmt.Errorf("%w: input %d: %w", errSelfTest, n, err)
			}
		}
		if _, err := parser.trace(input, 3, false); err != nil {
			return fmt.Errorf("%w: input %d, with every name refused: %w", errSelfTest, n, err)
		}
	}
	return parser.interleaved()
}

// interleaved runs two streams in turns and compares them with themselves alone.
func (r *Parser) interleaved() error {
	inputs := selfTests()[2:4]
	var streams []*tested
	for _, input := range inputs {
		t, err := r.tested(input, true)
		if err != nil {
			return fmt.Errorf("%w: two streams: %w", errSelfTest, err)
		}
		defer t.guest.Close()
		streams = append(streams, t)
	}
	for more := true; more; {
		more = false
		for _, t := range streams {
			if err := t.feed(5); err != nil {
				return fmt.Errorf("%w: two streams: %w", errSelfTest, err)
			}
			more = more || len(t.rest) > 0
		}
	}
	for k, t := range streams {
		got, err := t.finish()
		if err != nil {
			return fmt.Errorf("%w: two streams: %w", errSelfTest, err)
		}
		want, err := r.trace(inputs[k], len(inputs[k]), true)
		if err == nil && got != want {
			err = fmt.Errorf("beside another stream the records are %.200q, alone they are %.200q", got, want)
		}
		if err != nil {
			return fmt.Errorf("%w: two streams: %w", errSelfTest, err)
		}
	}
	return nil
}

// trace runs one stream in pieces of size bytes and returns its records, like ones merged.
func (r *Parser) trace(input string, size int, accept bool) (string, error) {
	t, err := r.tested(input, accept)
	if err != nil {
		return "", err
	}
	defer t.guest.Close()
	for len(t.rest) > 0 {
		if err := t.feed(size); err != nil {
			return "", err
		}
	}
	return t.finish()
}

// tested is a stream under test.
type tested struct {
	guest  *Stream
	stream *host.Stream
	sink   merged
	rest   string
	input  string
}

func (r *Parser) tested(input string, accept bool) (*tested, error) {
	g, err := r.Stream()
	if err != nil {
		return nil, err
	}
	t := &tested{guest: g, rest: input, input: input, sink: merged{accept: accept}}
	if t.stream, err = host.Open(g, &t.sink, guest.Start{Tools: true}.Append(nil)); err != nil {
		g.Close()
		return nil, err
	}
	return t, nil
}

func (t *tested) feed(n int) error {
	n = min(n, len(t.rest))
	piece := []byte(t.rest[:n])
	t.rest = t.rest[n:]
	if err := t.stream.Feed(piece, nil, false); err != nil {
		return err
	}
	return t.fault()
}

// fault is that of the stream, where there is one. A sticky plugin may have to give up after a refused name.
func (t *tested) fault() error {
	if f := t.stream.Fault(); f != nil && !errors.Is(f, host.ErrSticky) && !errors.Is(f, errSticky) {
		return f
	}
	return nil
}

func (t *tested) finish() (string, error) {
	if err := t.stream.Finish(abi.WhyStop); err != nil {
		return "", err
	}
	if err := t.fault(); err != nil {
		return "", err
	}
	if want := t.input[:len(t.input)-t.stream.Dropped()]; t.sink.all.String() != want {
		return "", fmt.Errorf("the records' bytes are %.200q, the input is %.200q", t.sink.all.String(), want)
	}
	return t.sink.trace.String(), nil
}

// merged is a sink that writes records down, pieces of one thing put together.
type merged struct {
	accept bool
	all    strings.Builder
	trace  strings.Builder
	last   record.Record
	begun  bool
}

// Accept gives the same verdict on every name.
func (m *merged) Accept([]record.Record, []byte) bool { return m.accept }

// Record writes one down.
func (m *merged) Record(r record.Record, b []byte) error {
	m.all.Write(b)
	fin := r.Kind == record.Value && r.Flags&record.Fin != 0
	r.Flags &^= record.Fin
	r.Ptr, r.Len = 0, 0
	if len(b) == 0 && (r.Kind == record.Text || r.Kind == record.Reasoning || r.Kind == record.Args) {
		return nil
	}
	piece := r.Kind == record.Text || r.Kind == record.Reasoning || r.Kind == record.Args || r.Kind == record.Value
	if !m.begun || !piece || r != m.last {
		fmt.Fprintf(&m.trace, "\n%v %x %x ", r.Kind, r.Flags, r.Aux)
	}
	m.trace.Write(b)
	m.last, m.begun = r, !fin
	return nil
}
