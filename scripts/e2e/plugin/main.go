// Command plugin is a parser that somebody drops into a running weir: what stands before the separator is
// reasoning, what follows it is text. The separator is set by the linker, so that two builds differ.
package main

import (
	"bytes"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/record"
)

var separator = "|" //nolint:gochecknoglobals // set with -X, which knows nothing else

// state is what differs between streams.
type state struct {
	past uint32 // 1 after the separator
}

type program struct{ state state }

// Manifest names the plugin.
func (p *program) Manifest() string {
	return `{"name": "split", "version": "1.0.0", "abi": 1, "kinds": ["parser"]}`
}

// Open takes no configuration.
func (p *program) Open([]byte) error { return nil }

// Window is the stream's state.
func (p *program) Window() []byte { return guest.WindowOf(&p.state) }

// Start has nothing to look at.
func (p *program) Start(guest.Start) error { return nil }

// Feed decides about every byte at once.
func (p *program) Feed(in *guest.Input, out *guest.Out) {
	b := in.Bytes
	if p.state.past == 0 {
		i := bytes.IndexByte(b, separator[0])
		if i < 0 {
			emit(out, record.Reasoning, len(b))
			return
		}
		emit(out, record.Reasoning, i)
		emit(out, record.Marker, 1)
		p.state.past = 1
		b = b[i+1:]
	}
	emit(out, record.Text, len(b))
}

// Finish is Feed once more.
func (p *program) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.Feed(in, out) }

func emit(out *guest.Out, kind record.Kind, n int) {
	if n > 0 {
		out.Emit(kind, 0, 0, n)
	}
}

func init() { guest.Export(&program{}) } //nolint:gochecknoinits // main does not run in a guest

func main() {}
