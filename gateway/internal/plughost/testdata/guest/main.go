//go:build wasip1

// Command guest is a plugin for the host's tests: "<<" switches between text and reasoning, and some
// bytes misbehave.
package main

import (
	"errors"
	"os"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
)

type state struct {
	reasoning uint32
	fed       uint32
}

type program struct {
	state state
}

func (p *program) Manifest() string {
	return `{"name": "toggle", "version": "1.2.3", "abi": 1, "kinds": ["parser", "template"], "families": ["toy"]}`
}

func (p *program) Open(config []byte) error {
	switch string(config) {
	case "refuse":
		return errors.New("refused")
	case "reasoning":
		p.state.reasoning = 1
	}
	return nil
}

func (p *program) Window() []byte { return guest.WindowOf(&p.state) }

func (p *program) Start(s guest.Start) error {
	if string(s.Tail) == "fail" {
		return errors.New("failed")
	}
	if s.Thinking == guest.ThinkingOn {
		p.state.reasoning = 1
	}
	return nil
}

func (p *program) kind() record.Kind {
	if p.state.reasoning != 0 {
		return record.Reasoning
	}
	return record.Text
}

func (p *program) Feed(in *guest.Input, out *guest.Out) {
	p.run(in, out, in.Flags&abi.FlagBoundary != 0)
}

func (p *program) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.run(in, out, true) }

func (p *program) run(in *guest.Input, out *guest.Out, decide bool) {
	b := in.Bytes
	for i := 0; i < len(b); {
		n := plain(b[i:])
		if n > 0 {
			out.Extend(p.kind(), 0, 0, n)
			p.state.fed += uint32(n)
			i += n
			continue
		}
		switch b[i] {
		case '!':
			panic("boom")
		case '^':
			os.Exit(3)
		case '%':
			println("the guest\nwrites")
		case '<':
			if i+1 == len(b) && !decide {
				return
			}
			if i+1 < len(b) && b[i+1] == '<' {
				out.Emit(record.Marker, 0, 0, 2)
				p.state.reasoning ^= 1
				i += 2
				continue
			}
		}
		out.Extend(p.kind(), 0, 0, 1)
		i++
	}
}

// plain counts the bytes before one that means something.
func plain(b []byte) int {
	for i, c := range b {
		if c == '!' || c == '^' || c == '%' || c == '<' {
			return i
		}
	}
	return len(b)
}

func (p *program) Plan(dst, outline []byte) ([]byte, error) {
	o, err := plan.ParseOutline(outline)
	if err != nil {
		return nil, err
	}
	for _, r := range o.Rows {
		dst = plan.AppendOp(dst, plan.Op{Kind: plan.PartOp, Message: r.Message, Part: r.Part, Action: plan.Drop})
	}
	return dst, nil
}

func init() { guest.Export(&program{}) }

func main() {}
