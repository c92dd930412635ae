// Command e2e runs weir against real clients: the OpenAI and Anthropic SDKs for Node and Python, Vercel's AI
// SDK, Claude Code, Codex, opencode, Qwen Code, OpenClaw, WebSockets, and HTTP read byte by byte.
//
//	go run ./scripts/e2e [-only NAME,..] [-cache DIR] [-list]
//
// It builds weir, starts it with folders of its own, and installs pinned clients into a cache (the flag,
// $WEIR_E2E_CACHE, or weir-e2e in the user's cache folder). A client that cannot be had is skipped, with
// the reason; OpenClaw, which takes minutes, unless $WEIR_E2E_OPENCLAW is set. The exit code is 0 if nothing
// failed, 1 if something did, 2 if the flags are wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is main without the process.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("e2e", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "run scenarios whose name contains one of these, separated by commas")
	cache := fs.String("cache", defaultCache(), "folder for installed clients")
	list := fs.Bool("list", false, "print the scenarios and end")
	keep := fs.Bool("keep", false, "keep the folder with logs and homes, and print where it is")
	binary := fs.String("weir", "", "use this weir instead of building one")
	limit := fs.Duration("timeout", 20*time.Minute, "time for everything")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return 2
	}
	chosen := choose(scenarios(), *only)
	if len(chosen) == 0 {
		fmt.Fprintf(stderr, "e2e: no scenario matches %q\n", *only)
		return 2
	}
	if *list {
		for _, s := range chosen {
			fmt.Fprintln(stdout, s.name)
		}
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	failed, err := runAll(ctx, chosen, options{cache: *cache, keep: *keep, binary: *binary, out: stdout})
	if err != nil {
		fmt.Fprintf(stderr, "e2e: %v\n", err)
		return 1
	}
	if failed > 0 {
		return 1
	}
	return 0
}

// defaultCache is where clients are installed if nobody says otherwise.
func defaultCache() string {
	if dir := os.Getenv("WEIR_E2E_CACHE"); dir != "" {
		return dir
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "weir-e2e")
	}
	return filepath.Join(os.TempDir(), "weir-e2e")
}
