// Command stream measures what weir costs a streamed token, beside a proxy that only copies.
//
//	go run ./scripts/bench/stream            # about two minutes
//	go run ./scripts/bench/stream -quick     # about half a minute, coarser
//	go run ./scripts/bench/stream -json      # every round, for a machine
//
// It starts an engine double that streams a scripted answer (reasoning, text, a tool call), a bare
// httputil.ReverseProxy and weir in front of it, and a load: each a process of its own, on loopback. The
// gateways take turns within each round, so that whatever else the machine does meets all of them, and
// the ratio to the proxy is taken within a round. Every stream is checked: one whose content is not the
// scripted one, or that does not end properly, fails the run.
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
	Script   script
	Rounds   int
	Burst    mode
	Paced    mode
	Gateways string
	Weir     string // a built weir; empty: it is built
	JSON     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "stream:", err)
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
	r, err := rig.New("stream", stderr)
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
	var o options
	fs := flag.NewFlagSet("stream", flag.ContinueOnError)
	fs.SetOutput(stderr)
	quick := fs.Bool("quick", false, "two short rounds")
	rounds := fs.Int("rounds", 0, "rounds; 0 means 7, or 2 with -quick")
	tokens := fs.Int("tokens", 64, "tokens a stream, one event each")
	parts := fs.String("parts", allParts, "what the scripted answer holds: a comma-separated list of think, text and call")
	pace := fs.Duration("pace", 10*time.Millisecond, "time between two tokens of a paced stream, one write a token")
	pacedStreams := fs.Int("paced-streams", 100, "streams at a time, paced; 0 leaves this mode out")
	burst := fs.Int("burst", 0, "tokens in one write of a stream that is not paced; 0 means all of them")
	burstStreams := fs.Int("burst-streams", 32, "streams at a time, not paced; 0 leaves this mode out")
	fs.StringVar(&o.Gateways, "gateways", allGateways, "what to measure: a comma-separated list of direct, proxy, chat, messages and responses")
	fs.StringVar(&o.Weir, "weir", "", "a weir that is built already")
	fs.BoolVar(&o.JSON, "json", false, "print every round as JSON")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.Script = script{Tokens: *tokens, Parts: *parts, Pace: *pace, Burst: *burst}
	o.Rounds = 7
	o.Burst = mode{Name: modeBurst, Streams: *burstStreams, Each: 200, Target: 1.6}
	o.Paced = mode{Name: modePaced, Streams: *pacedStreams, Each: 4, Target: 1.3}
	if *quick {
		o.Rounds, o.Burst.Each, o.Paced.Each = 2, 50, 2
	}
	if *rounds > 0 {
		o.Rounds = *rounds
	}
	return o, o.check()
}

// check refuses what would not end, or would measure nothing.
func (o *options) check() error {
	switch {
	case o.Rounds < 1 || o.Rounds > 100:
		return fmt.Errorf("%d rounds, want 1 to 100", o.Rounds)
	case o.Burst.Streams < 0 || o.Burst.Streams > 1024 || o.Paced.Streams < 0 || o.Paced.Streams > 1024:
		return errors.New("streams: want 0 to 1024")
	case o.Script.Pace < time.Millisecond || o.Script.Pace > time.Second:
		return fmt.Errorf("pace %v, want 1ms to 1s", o.Script.Pace)
	}
	_, err := o.Script.turn()
	return err
}
