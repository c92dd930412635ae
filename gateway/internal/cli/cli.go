// Package cli is the command line: one file a command, each with its help, an example and the exit
// codes 0 (ok), 1 (found something) and 2 (misuse).
package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Exit codes.
const (
	exitOK     = 0
	exitFound  = 1
	exitMisuse = 2
)

// Env is what a command touches of its process.
type Env struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// command is one verb. run gets the arguments after it.
type command struct {
	name    string
	args    string
	summary string
	example string
	run     func(ctx context.Context, e Env, fs *flag.FlagSet) int
}

func commands() []command {
	return []command{serveCommand(), checkCommand(), parseCommand(), renderCommand(), tokenizeCommand(), modelCommand(), pluginCommand(), benchCommand(), keysCommand(), versionCommand()}
}

// Run runs one command and returns the exit code.
func Run(ctx context.Context, e Env) int {
	if len(e.Args) > 1 && e.Args[0] == "help" {
		e.Args = append(e.Args[1:len(e.Args):len(e.Args)], "--help")
	}
	if len(e.Args) > 0 && (e.Args[0] == "--version" || e.Args[0] == "-version") {
		e.Args = []string{"version"}
	}
	if len(e.Args) == 0 || e.Args[0] == "help" || e.Args[0] == "-h" || e.Args[0] == "--help" {
		usage(e.Stdout)
		if len(e.Args) == 0 {
			return exitMisuse
		}
		return exitOK
	}
	for _, c := range commands() {
		if c.name == e.Args[0] {
			e.Args = e.Args[1:]
			fs := flag.NewFlagSet("weir "+c.name, flag.ContinueOnError)
			fs.SetOutput(e.Stderr)
			fs.Usage = func() { c.help(fs.Output(), fs) }
			return c.run(ctx, e, fs)
		}
	}
	fmt.Fprintf(e.Stderr, "weir: unknown command %q\n", e.Args[0])
	usage(e.Stderr)
	return exitMisuse
}

func usage(w io.Writer) {
	fmt.Fprint(w, "weir is a streaming gateway between agents and LLM engines.\n\nUsage: weir COMMAND [flags]\n\n")
	for _, c := range commands() {
		name := c.name
		if c.name == "keys" {
			name = "keys new"
		}
		fmt.Fprintf(w, "  %-9s %s\n", name, c.summary)
	}
	fmt.Fprint(w, "\n`weir COMMAND --help` explains a command. Exit codes: 0 ok, 1 found something, 2 misuse.\n")
}

func (c command) help(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: weir %s\n\n%s\n\nFlags:\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
	fs.SetOutput(w)
	fs.PrintDefaults()
	fmt.Fprintf(w, "\nExample:\n  %s\n", c.example)
}

// parse reads flags; ok is false when the command is over, with the exit code.
func parse(e Env, fs *flag.FlagSet) (code int, ok bool) {
	for _, a := range e.Args {
		if a == "-h" || a == "--help" || a == "-help" {
			fs.SetOutput(e.Stdout)
			fs.Usage()
			return exitOK, false
		}
		if a == "--" {
			break
		}
	}
	if err := fs.Parse(e.Args); err != nil {
		return exitMisuse, false
	}
	return exitOK, true
}

// printJSON prints v as one line of JSON.
func printJSON(w io.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(`{"error":"not encodable"}`)
	}
	fmt.Fprintf(w, "%s\n", b)
}
