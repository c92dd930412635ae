package guesttest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// toy is a small whole parser: <t>reasoning</t>, [name(args)] for a call, anything else text. A bug makes
// it break one law.
type toy struct {
	state toyState
	bug   bug
	seen  int    // outside the window, for the bugs
	kept  []byte // likewise
}

type toyState struct {
	mode uint8
}

const (
	inText = iota
	inReasoning
	inHeader // after a name, at the parenthesis
	inArgs
)

type bug int

const (
	none      bug = iota
	eager         // decides on half a marker
	gap           // leaves a byte out
	hoarder       // holds text
	panics        // on a '!'
	grammarly     // ends a call that did not begin
	global        // keeps state outside the window
	keeper        // keeps its input
	writer        // writes on its input
	endless       // finish consumes nothing
	dangling      // leaves a call open at the end
	careless      // leaves a byte out at a '!' in a call
)

func (p *toy) Manifest() string { return `{"name":"toy"}` }
func (p *toy) Window() []byte   { return guest.WindowOf(&p.state) }

func (p *toy) Open(config []byte) error {
	if bytes.Equal(config, []byte("bad")) {
		return errors.New("config")
	}
	p.state = toyState{}
	return nil
}

func (p *toy) Start(s guest.Start) error {
	if s.Thinking == guest.ThinkingOn {
		p.state.mode = inReasoning
	}
	return nil
}

func (p *toy) Feed(in *guest.Input, out *guest.Out) {
	if p.misbehave(in, out) {
		return
	}
	p.scan(in, out, false)
}

func (p *toy) Finish(in *guest.Input, _ abi.Why, out *guest.Out) {
	if p.bug == endless {
		return
	}
	p.scan(in, out, true)
	if len(in.Bytes) == 0 && p.state.mode >= inHeader && p.bug != dangling {
		out.Emit(record.CallEnd, 0, record.CallTruncated, 0)
		p.state.mode = inText
	}
}

func (p *toy) misbehave(in *guest.Input, out *guest.Out) bool {
	b := in.Bytes
	switch p.bug {
	case gap:
		if len(b) > 2 {
			out.Emit(record.Text, 0, 0, 1)
			*out = guest.Out{}
			out.Reset(1)
			out.Emit(record.Text, 0, 0, 1)
			return true
		}
	case hoarder:
		return len(b) < 200
	case panics:
		if bytes.IndexByte(b, '!') >= 0 {
			panic("toy")
		}
	case careless:
		if p.state.mode >= inHeader && bytes.IndexByte(b, '!') >= 0 {
			out.Reset(1)
			out.Emit(record.Args, 0, 0, 1)
			return true
		}
	case grammarly:
		if len(b) > 0 && b[0] == '!' {
			out.Emit(record.CallEnd, 0, 0, 1)
			return true
		}
	case global:
		if p.seen++; p.seen%7 == 0 && len(b) > 0 && p.state.mode == inText {
			out.Emit(record.Reasoning, 0, 0, 1)
			return true
		}
	case keeper:
		if len(p.kept) > 0 && p.kept[0] == 0xA5 && len(b) > 0 && p.state.mode == inText {
			out.Emit(record.Reasoning, 0, 0, len(b))
			return true
		}
		p.kept = b
	case writer:
		if len(b) > 0 {
			b[0] = 'X'
		}
	}
	return false
}

func (p *toy) scan(in *guest.Input, out *guest.Out, final bool) {
	b := in.Bytes
	refused := -1
	for _, sp := range in.Spans {
		if sp.Token == abi.RefusedToken {
			refused = int(sp.Off)
		}
	}
	for out.Pos() < len(b) {
		rest := b[out.Pos():]
		switch p.state.mode {
		case inHeader:
			out.Emit(record.Marker, 0, 0, 1)
			p.state.mode = inArgs
		case inArgs:
			if !p.args(rest, out, final) {
				return
			}
		case inReasoning:
			if !p.reasoning(rest, out, final) {
				return
			}
		default:
			if !p.text(rest, out, final, out.Pos() > refused) {
				return
			}
		}
	}
}

// until emits content up to the first marker; more says that the marker is incomplete.
func (p *toy) until(b []byte, marker string, k record.Kind, out *guest.Out, final bool) (found, more bool) {
	i := bytes.IndexByte(b, marker[0])
	if i < 0 {
		i = len(b)
	}
	if i > 0 {
		out.Extend(k, 0, 0, i)
	}
	b = b[i:]
	switch {
	case len(b) == 0:
		return false, false
	case bytes.HasPrefix(b, []byte(marker)):
		return true, false
	case len(b) < len(marker) && bytes.HasPrefix([]byte(marker), b) && !final && p.bug != eager:
		return false, true
	}
	out.Extend(k, 0, 0, 1)
	return false, false
}

func (p *toy) args(b []byte, out *guest.Out, final bool) bool {
	found, more := p.until(b, ")]", record.Args, out, final)
	if found {
		out.Emit(record.CallEnd, 0, record.CallComplete, 2)
		p.state.mode = inText
	}
	return !more
}

func (p *toy) reasoning(b []byte, out *guest.Out, final bool) bool {
	found, more := p.until(b, "</t>", record.Reasoning, out, final)
	if found {
		out.Emit(record.Marker, 0, 0, 4)
		p.state.mode = inText
	}
	return !more
}

func (p *toy) text(b []byte, out *guest.Out, final, calls bool) bool {
	i := bytes.IndexAny(b, "<[")
	if i != 0 {
		if i < 0 {
			i = len(b)
		}
		out.Extend(record.Text, 0, 0, i)
		return true
	}
	if b[0] == '<' {
		found, more := p.until(b, "<t>", record.Text, out, final)
		if found {
			out.Emit(record.Marker, 0, 0, 3)
			p.state.mode = inReasoning
		}
		return !more
	}
	n := 1
	for n < len(b) && n <= 16 && b[n] >= 'a' && b[n] <= 'z' {
		n++
	}
	switch {
	case !calls:
	case n == len(b) && n <= 16 && !final:
		return false
	case n > 1 && n < len(b) && b[n] == '(':
		out.Emit(record.CallBegin, 0, 0, 1)
		out.Emit(record.Name, 0, 0, n-1)
		p.state.mode = inHeader
		return false
	}
	out.Extend(record.Text, 0, 0, 1)
	return true
}

func openToy(b bug) func(tb testing.TB) host.Guest {
	return func(tb testing.TB) host.Guest {
		tb.Helper()
		g, err := Native(&toy{bug: b}, nil)
		if err != nil {
			tb.Fatal(err)
		}
		return g
	}
}
