package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/answer"
	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// Shapes of an answer.
const (
	shapeRaw    = "raw"    // as the double wrote it
	shapeStream = "stream" // chat.completion.chunks
	shapeWhole  = "whole"  // a chat.completion
)

// kinds of load say what two requests have in common.
const (
	kindUnique = "unique" // system prompt and tools
	kindShared = "shared" // all but the last messages

	allKinds = "unique,shared"
)

// job is one run of the load against one server.
type job struct {
	Addr    string
	Path    string
	Kind    string
	Shape   string
	Clients int           // requests at a time
	Each    int           // requests a client; 0: as many as For allows
	For     time.Duration // after which no request begins
	Input   int           // tokens of the prompt that usage must say; 0: any
}

// load runs jobs. Its requests are made before the clock starts, but for the digits in them.
type load struct {
	pool     *rawhttp.Pool
	streamed *request
	whole    *request
	count    atomic.Uint64 // requests so far, of all jobs; patch tells apart more than come before limit
}

func newLoad(s spec) (*load, error) {
	streamed, err := newRequest(s.Text, true)
	if err != nil {
		return nil, err
	}
	whole, err := newRequest(s.Text, false)
	if err != nil {
		return nil, err
	}
	return &load{pool: rawhttp.NewPool(), streamed: streamed, whole: whole}, nil
}

// run asks until the job is over. Every answer must be right.
func (l *load) run(ctx context.Context, j *job) rawhttp.Outcome {
	req := l.streamed
	if j.Shape == shapeWhole {
		req = l.whole
	}
	c := checker{shape: j.Shape, input: j.Input}
	var err error
	if c.raw, err = rawhttp.BodyOf(appendAnswer(nil, len(req.JSON))); err != nil {
		return rawhttp.Outcome{Error: err.Error()}
	}
	slots := req.changing(j.Kind)
	posts, bodies := make([][]byte, j.Clients), make([][]byte, j.Clients)
	for i := range posts {
		posts[i] = rawhttp.Post(j.Addr, j.Path, req.JSON)
		bodies[i] = posts[i][len(posts[i])-len(req.JSON):]
	}
	r := rawhttp.Run{Addr: j.Addr, Clients: j.Clients, Each: j.Each, For: j.For}
	return l.pool.Run(ctx, r, func(i int, client *rawhttp.Client) (int, error) {
		patch(bodies[i], slots, l.count.Add(1))
		body, err := client.Ask(posts[i])
		if err != nil {
			return 0, err
		}
		return len(body), c.check(body)
	})
}

// checker compares answers with the one that the double gave.
type checker struct {
	shape string
	input int
	raw   []byte // the engine's own
}

func (c *checker) check(body []byte) error {
	read := answer.ChatStream
	switch c.shape {
	case shapeRaw:
		if !bytes.Equal(body, c.raw) {
			return fmt.Errorf("%d bytes that are not the engine's %d", len(body), len(c.raw))
		}
		return nil
	case shapeWhole:
		read = answer.Chat
	}
	a, err := read(body)
	if err != nil {
		return err
	}
	// Where thinking is not decided, the one token may be read as its begin.
	said := string(a.Reasoning) + string(a.Text)
	switch {
	case said != token:
		return fmt.Errorf("the answer is %q, want %q", said, token)
	case len(a.Tool) > 0:
		return fmt.Errorf("a call of %q", a.Tool)
	case a.Finish != "length":
		return fmt.Errorf("finish is %q, want length", a.Finish)
	case a.Output != 1:
		return fmt.Errorf("usage says %d tokens of output, want 1", a.Output)
	case c.input > 0 && a.Input != c.input:
		return fmt.Errorf("usage says %d tokens of input, want %d", a.Input, c.input)
	case !a.Whole:
		return errors.New("the last event is missing")
	}
	return nil
}
