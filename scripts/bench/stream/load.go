package main

import (
	"context"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// job is one run of the load against one server.
type job struct {
	Addr    string
	Request []byte        // whole, as it is sent
	Shape   string        // of the answer
	Streams int           // at a time, each on a connection of its own
	Each    int           // streams one after the other on a connection
	Stagger time.Duration // over which the first ones begin
}

// load runs jobs.
type load struct {
	check *checker
	pool  *rawhttp.Pool
}

// run asks for streams, each of which must be whole and right.
func (l *load) run(ctx context.Context, j *job) rawhttp.Outcome {
	r := rawhttp.Run{Addr: j.Addr, Clients: j.Streams, Each: j.Each, Stagger: j.Stagger}
	return l.pool.Run(ctx, r, func(_ int, c *rawhttp.Client) (int, error) {
		body, err := c.Ask(j.Request)
		if err != nil {
			return 0, err
		}
		return len(body), l.check.check(j.Shape, body)
	})
}
