// Command prompt measures what weir costs a request with a long prompt and a short answer.
//
//	go run ./scripts/bench/prompt            # about two minutes
//	go run ./scripts/bench/prompt -quick     # about half a minute, coarser
//	go run ./scripts/bench/prompt -json      # every round, for a machine
//
// The request is an agent's conversation of 201 KB of text, 61,000 tokens, which the script makes up: 20
// tools, and rounds of thinking, calls and results. weir reads it, renders it, makes tokens of it and hands
// them to an engine double, which answers with one token. Requests have only the system prompt and the
// tools in common (unique), or all but the last 4,000 tokens (shared); what differs is put in from the first
// message on, every few hundred bytes, so that nothing that was made of one message serves for another.
//
// Load, double, weir and a bare httputil.ReverseProxy are processes of their own on loopback, and take turns
// within each round, so that whatever else the machine does meets all of them. The targets are for two
// cores; on a larger machine, `taskset -c 0,1` before the command gives it as many. Every answer is checked,
// and so is that the engine got as many tokens as there are, for each request once and no two alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/report"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// limit bounds a whole run.
const limit = 30 * time.Minute

// options are the flags.
type options struct {
	Text     int // bytes of text in a request
	Rounds   int
	Time     time.Duration // of a gateway in a round
	Clients  int
	Kinds    string
	Gateways string
	Prompt   string // what the engine gets
	Weir     string // a built weir; empty: it is built
	JSON     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "prompt:", err)
		os.Exit(1)
	}
}

// run is the benchmark, or one of its other processes when the first argument is a role.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 2 {
		switch args[0] {
		case roleDouble, roleProxy, roleLoad:
			return runRole(ctx, args[0], args[1], stdin, stdout)
		}
	}
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := rig.New("prompt", stderr)
	if err != nil {
		return err
	}
	defer r.Close()
	b := &bench{Rig: r, o: o}
	if err := b.start(ctx); err != nil {
		return err
	}
	rep, err := b.measure(ctx)
	switch {
	case err != nil && ctx.Err() != nil: // then the processes only say that they end
		return errors.Join(context.Cause(ctx), err)
	case err != nil:
		return b.Explain(err)
	}
	if o.JSON {
		return report.JSON(stdout, rep)
	}
	return rep.write(stdout)
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	o := options{Text: defaultText}
	fs := flag.NewFlagSet("prompt", flag.ContinueOnError)
	fs.SetOutput(stderr)
	quick := fs.Bool("quick", false, "two short rounds")
	rounds := fs.Int("rounds", 0, "rounds; 0 means 5, or 2 with -quick")
	fs.DurationVar(&o.Time, "time", 0, "how long a gateway is measured in a round; 0 means 3s, or 1s with -quick")
	fs.IntVar(&o.Clients, "clients", 8, "requests at a time")
	fs.StringVar(&o.Kinds, "kinds", allKinds, "what requests have in common: a comma-separated list of unique and shared")
	fs.StringVar(&o.Gateways, "gateways", allGateways, "what to measure: a comma-separated list of direct, proxy, stream (weir, streamed) and whole (weir, not streamed)")
	fs.StringVar(&o.Prompt, "prompt", promptIDs, "what the engine gets: ids, or text, which weir only renders")
	fs.StringVar(&o.Weir, "weir", "", "a weir that is built already")
	fs.BoolVar(&o.JSON, "json", false, "print every round as JSON")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.Rounds = 5
	long := 3 * time.Second
	if *quick {
		o.Rounds, long = 2, time.Second
	}
	if *rounds != 0 {
		o.Rounds = *rounds
	}
	if o.Time == 0 {
		o.Time = long
	}
	return o, o.check()
}

// check refuses what would not end, or would measure nothing.
func (o *options) check() error {
	switch {
	case o.Rounds < 1 || o.Rounds > 100:
		return fmt.Errorf("%d rounds, want 1 to 100", o.Rounds)
	case o.Time < 100*time.Millisecond || o.Time > 30*time.Second:
		return fmt.Errorf("time %v, want 100ms to 30s", o.Time)
	case o.Clients < 1 || o.Clients > 256:
		return fmt.Errorf("%d clients, want 1 to 256", o.Clients)
	case o.Prompt != promptIDs && o.Prompt != promptText:
		return fmt.Errorf("prompt %q, want %s or %s", o.Prompt, promptIDs, promptText)
	}
	if err := among("kinds", o.Kinds, allKinds); err != nil {
		return err
	}
	return among("gateways", o.Gateways, allGateways)
}
