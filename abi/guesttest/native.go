package guesttest

import (
	"fmt"
	"runtime/debug"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
)

// native runs a Program in this process, the way a Wasm host runs an instance.
type native struct {
	program  guest.Program
	window   []byte // the program's own
	template []byte
	before   []byte
	in       guest.Input
	out      guest.Out
}

// Native opens p with config and runs it natively. Around each call the stream's window is copied into
// the program's and back, and the program's own is put back to what it was, so that state kept elsewhere
// shows. A panic of the program is returned as an error with its stack, as a trap would be. The guest is
// for one goroutine. A program whose window is empty is sticky: it serves one stream.
func Native(p guest.Program, config []byte) (host.Guest, error) {
	if err := p.Open(config); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	w := p.Window()
	if len(w) > abi.MaxWindow {
		return nil, fmt.Errorf("%w: window of %d bytes, at most %d", host.ErrProtocol, len(w), abi.MaxWindow)
	}
	return &native{program: p, window: w, template: append([]byte(nil), w...), before: make([]byte, len(w))}, nil
}

// Template is the program's window after Open.
func (n *native) Template() []byte { return n.template }

// Start begins a stream in window.
func (n *native) Start(window, start []byte) (err error) {
	s, err := guest.ParseStart(start)
	if err != nil {
		return err
	}
	n.enter(window)
	defer n.leave(window, &err)
	return n.program.Start(s)
}

// Feed runs the program's Feed.
func (n *native) Feed(c *host.Call) (err error) {
	c.Keep()
	n.enter(c.Window)
	defer n.leave(c.Window, &err)
	n.load(c)
	n.program.Feed(&n.in, &n.out)
	c.Records = append(c.Records, n.out.Records()...)
	return nil
}

// Finish runs the program's Finish.
func (n *native) Finish(c *host.Call, why abi.Why) (err error) {
	c.Keep()
	n.enter(c.Window)
	defer n.leave(c.Window, &err)
	n.load(c)
	n.program.Finish(&n.in, why, &n.out)
	c.Records = append(c.Records, n.out.Records()...)
	return nil
}

func (n *native) load(c *host.Call) {
	n.in = guest.Input{Bytes: c.In, Spans: c.Spans, Flags: c.Flags}
	n.out.Reset(0)
}

func (n *native) enter(window []byte) {
	copy(n.before, n.window)
	copy(n.window, window)
}

func (n *native) leave(window []byte, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
	}
	copy(window, n.window)
	copy(n.window, n.before)
}
