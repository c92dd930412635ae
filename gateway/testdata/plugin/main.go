//go:build wasip1

// Command plugin is a plugin for the gateway's tests: what stands between two slashes is reasoning, and a
// "!" makes it trap.
package main

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/record"
)

type state struct{ reasoning uint32 }

type program struct{ state state }

func (p *program) Manifest() string {
	return `{"name": "slashes", "version": "1", "abi": 1, "kinds": ["parser"]}`
}

func (p *program) Open([]byte) error { return nil }

func (p *program) Window() []byte { return guest.WindowOf(&p.state) }

func (p *program) Start(guest.Start) error { return nil }

func (p *program) Feed(in *guest.Input, out *guest.Out) {
	for _, b := range in.Bytes {
		switch {
		case b == '!':
			panic("boom")
		case b == '/':
			p.state.reasoning ^= 1
			out.Extend(record.Marker, 0, 0, 1)
		case p.state.reasoning != 0:
			out.Extend(record.Reasoning, 0, 0, 1)
		default:
			out.Extend(record.Text, 0, 0, 1)
		}
	}
}

func (p *program) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.Feed(in, out) }

func init() { guest.Export(&program{}) }

func main() {}
