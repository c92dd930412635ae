package host_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// rec is a record of a script: its bytes follow those of the one before.
type rec struct {
	kind  record.Kind
	n     int
	flags record.Flags
	skip  int // moves its pointer away from where it should be
}

// step is one expected call of a scripted guest and its answer.
type step struct {
	export string // feed when empty
	in     string
	spans  []record.Span // compared where not nil
	flags  uint32
	recs   []rec
	err    error
}

// script is a guest that answers call by call. Its window counts the calls of the stream, so that a
// window that is not put back shows.
type script struct {
	t      *testing.T
	steps  []step
	sticky bool
	starts error
	calls  int
}

func (g *script) Template() []byte {
	if g.sticky {
		return nil
	}
	return []byte{0, 0xEE}
}

func (g *script) Start(window, start []byte) error { return g.starts }

func (g *script) Feed(c *host.Call) error { return g.call("feed", c) }

func (g *script) Finish(c *host.Call, why abi.Why) error { return g.call("finish", c) }

func (g *script) call(export string, c *host.Call) error {
	g.t.Helper()
	if g.calls == len(g.steps) {
		g.t.Fatalf("call %d, a %s of %q, is not in the script", g.calls, export, c.In)
	}
	s := g.steps[g.calls]
	g.calls++
	if s.export == "" {
		s.export = "feed"
	}
	if s.export != export || s.in != string(c.In) || s.flags != c.Flags {
		g.t.Errorf("call %d: %s of %q, flags %d; expected %s of %q, flags %d", g.calls-1, export, c.In, c.Flags, s.export, s.in, s.flags)
	}
	if s.spans != nil && !slices.Equal(s.spans, c.Spans) {
		g.t.Errorf("call %d: spans %v, expected %v", g.calls-1, c.Spans, s.spans)
	}
	if c.Keep(); len(c.Window) > 0 {
		c.Window[0]++
	}
	pos := 0
	for _, r := range s.recs {
		c.Records = append(c.Records, record.Record{Kind: r.kind, Flags: r.flags, Ptr: uint32(pos + r.skip), Len: uint32(r.n)})
		pos += r.n
	}
	return s.err
}

func (g *script) done() {
	g.t.Helper()
	if g.calls != len(g.steps) {
		g.t.Errorf("%d calls of %d", g.calls, len(g.steps))
	}
}

// recorder is a sink that writes down what it gets.
type recorder struct {
	accept []string
	got    []string
	all    []byte
	err    error
}

func (r *recorder) Accept(recs []record.Record, in []byte) bool {
	name := recs[len(recs)-1]
	return slices.Contains(r.accept, string(in[name.Ptr:name.Ptr+name.Len]))
}

func (r *recorder) Record(rec record.Record, b []byte) error {
	r.got = append(r.got, fmt.Sprintf("%v %q", rec.Kind, b))
	r.all = append(r.all, b...)
	return r.err
}

func (r *recorder) String() string { return strings.Join(r.got, ", ") }

// feed is one call of a stream in a test.
type feed struct {
	p        string
	spans    []record.Span
	boundary bool
}

var errTrap = errors.New("trap")
