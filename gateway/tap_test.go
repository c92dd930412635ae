package gateway_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/sim"
)

// heard is what an engine was asked, and what it said.
type heard struct {
	prompt  string
	ids     []uint32
	request engines.Request

	out  []byte
	said []uint32 // ids of out
}

// tap is an engine that keeps what passes, by the gateway's id of the request.
type tap struct {
	engines.Engine
	mu   sync.Mutex
	seen map[string]*heard // guarded by mu
}

// tapped puts a tap on a world's simulated engine, whose turns an actor writes.
func (w *world) tapped(actor func(*conv.Request, sim.Mood) sim.Turn) *tap {
	t := &tap{seen: map[string]*heard{}}
	w.gw.Simulate("sim", func(c sim.Config) engines.Engine {
		c.Actor = actor
		t.Engine = sim.New(c)
		return t
	})
	return t
}

// Generate implements engines.Engine.
func (t *tap) Generate(ctx context.Context, r *engines.Request) (engines.Stream, error) {
	s, err := t.Engine.Generate(ctx, r)
	if err != nil {
		return nil, err
	}
	h := &heard{prompt: strings.Clone(r.Prompt), ids: slices.Clone(r.IDs), request: *r}
	h.request.Headers = maps.Clone(r.Headers)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[r.ID] = h
	return &tapStream{Stream: s, tap: t, heard: h}, nil
}

// of is what passed for a request, which must have come.
func (t *tap) of(tb testing.TB, id string) heard {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.seen[id]
	if h == nil {
		tb.Fatalf("the engine got no request %q", id)
	}
	delete(t.seen, id)
	return *h
}

type tapStream struct {
	engines.Stream
	tap   *tap
	heard *heard
}

// Next implements engines.Stream.
func (s *tapStream) Next() (*engines.Delta, error) {
	d, err := s.Stream.Next()
	if err == nil {
		s.tap.mu.Lock()
		defer s.tap.mu.Unlock()
		s.heard.out = append(s.heard.out, d.Bytes...)
		s.heard.said = append(s.heard.said, d.IDs...)
	}
	return d, err
}

// Ready implements engines.Peeker.
func (s *tapStream) Ready() bool { return s.Stream.(engines.Peeker).Ready() }

// act is the actor of conversations. It does as sim.Act does, but for two texts of the last message: "rounds"
// makes it think, speak and call several times in one turn, and "then" call once more, now the next in turn.
func act(r *conv.Request, mood sim.Mood) sim.Turn {
	switch last := words(r); {
	case strings.HasPrefix(last, "rounds"):
		return rounds(mood.Thinking)
	case strings.HasPrefix(last, "then "):
		n, _ := strconv.Atoi(strings.TrimPrefix(last, "then "))
		var t sim.Turn
		if mood.Thinking {
			t.Blocks = append(t.Blocks, sim.Block{Kind: sim.Reasoning, Text: "That was result " + strconv.Itoa(n) + ", there is more to find."})
		}
		t.Blocks = append(t.Blocks, asks("find", `{"word":"w`+strconv.Itoa(n)+`", "most": 3}`))
		return t
	}
	return sim.Act(r, mood)
}

func asks(name, arguments string) sim.Block {
	return sim.Block{Kind: sim.Call, Call: conv.ToolCall{Name: name, Arguments: arguments}}
}

// rounds is a turn of several: with numbers, spaces and escapes that a template prints in another way.
func rounds(thinks bool) sim.Turn {
	all := []sim.Block{
		{Kind: sim.Reasoning, Text: "First I look.\n\nThen I see."},
		{Kind: sim.Text, Text: "Looking at it:"},
		asks("look", `{"place": "K\u00f6ln",  "days":2}`),
		{Kind: sim.Reasoning, Text: "Now the word."},
		asks("find", `{"word":"a < b & \"c\"", "most":10}`),
		{Kind: sim.Reasoning, Text: "And once more."},
		asks("find", `{"word":"naïve"}`),
	}
	if thinks {
		return sim.Turn{Blocks: all}
	}
	return sim.Turn{Blocks: slices.DeleteFunc(all, func(b sim.Block) bool { return b.Kind == sim.Reasoning })}
}

// words are those of the last message, of a user or of the last result.
func words(r *conv.Request) string {
	if len(r.Messages) == 0 {
		return ""
	}
	parts := r.Messages[len(r.Messages)-1].Parts
	if len(parts) == 0 {
		return ""
	}
	p := &parts[len(parts)-1]
	if p.Kind == conv.Result && len(p.Result.Parts) > 0 {
		p = &p.Result.Parts[len(p.Result.Parts)-1]
	}
	return p.Text
}
