package rawhttp

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Run is a load: clients that ask one time after the other, each on a connection of its own.
type Run struct {
	Addr    string
	Clients int
	Each    int           // requests a client; 0: as many as For allows
	For     time.Duration // after which no request begins; 0: Each alone counts
	Stagger time.Duration // over which the first requests begin
}

// Outcome is what a run came to. Error is empty if every request succeeded.
type Outcome struct {
	Requests int
	Bytes    int64 // of answers
	Took     time.Duration
	P50, P99 time.Duration // of the time from a request to the end of its answer
	Error    string
}

// Pool keeps connections from one run to the next, so that no run pays for opening them. It is not safe for
// concurrent use.
type Pool struct {
	idle map[string][]*Client // by address
}

// NewPool returns a pool without connections. Close must follow.
func NewPool() *Pool { return &Pool{idle: map[string][]*Client{}} }

// Close closes the connections.
func (p *Pool) Close() {
	for _, clients := range p.idle {
		for _, c := range clients {
			c.Close()
		}
	}
}

// Run has ask called for the clients, whose numbers begin at 0. It returns the bytes of an answer. The first
// failure ends the run.
func (p *Pool) Run(ctx context.Context, r Run, ask func(i int, c *Client) (int, error)) Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for len(p.idle[r.Addr]) < r.Clients {
		c, err := Dial(ctx, r.Addr)
		if err != nil {
			return Outcome{Error: err.Error()}
		}
		p.idle[r.Addr] = append(p.idle[r.Addr], c)
	}
	parts := make([]part, r.Clients)
	var group sync.WaitGroup
	begin := time.Now()
	for i, c := range p.idle[r.Addr][:r.Clients] {
		group.Go(func() {
			if err := parts[i].run(ctx, r, begin, i, func() (int, error) { return ask(i, c) }); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	o := Outcome{Took: time.Since(begin)}
	var times []time.Duration
	for i := range parts {
		o.Bytes += parts[i].bytes
		times = append(times, parts[i].times...)
	}
	slices.Sort(times)
	o.Requests, o.P50, o.P99 = len(times), quantile(times, 50), quantile(times, 99)
	if err := context.Cause(ctx); err != nil {
		o.Error = err.Error()
	}
	return o
}

// part is what one client did.
type part struct {
	bytes int64
	times []time.Duration
}

func (p *part) run(ctx context.Context, r Run, begin time.Time, i int, ask func() (int, error)) error {
	wait := time.NewTimer(r.Stagger * time.Duration(i) / time.Duration(r.Clients))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil // another client said why
	}
	for from := time.Now(); ctx.Err() == nil; {
		if r.Each > 0 && len(p.times) == r.Each || r.For > 0 && from.Sub(begin) >= r.For {
			break
		}
		n, err := ask()
		if err != nil {
			return err
		}
		to := time.Now()
		p.times = append(p.times, to.Sub(from))
		p.bytes += int64(n)
		from = to
	}
	return nil
}

// quantile is the smallest value that percent of all, sorted, do not exceed; 0 for none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
