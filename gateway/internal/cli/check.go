package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/gateway/internal/config"
)

func checkCommand() command {
	return command{
		name: "check", args: "FILE [--json]", summary: "checks a configuration file and the model files it names, and prints every fault with its line and what is lost",
		example: "weir check weir.toml",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			asJSON := fs.Bool("json", false, "print JSON")
			file := ""
			if len(e.Args) > 0 && e.Args[0] != "" && e.Args[0][0] != '-' {
				file, e.Args = e.Args[0], e.Args[1:]
			}
			if code, ok := parse(e, fs); !ok {
				return code
			}
			if file == "" && fs.NArg() > 0 {
				file = fs.Arg(0)
			} else if fs.NArg() > 0 {
				file = ""
			}
			if file == "" || fs.NArg() > 1 {
				fmt.Fprintln(e.Stderr, "weir check: want one file")
				return exitMisuse
			}
			c, err := config.Load(file, gateway.ConfigOptions())
			var notes []string
			if err == nil {
				s := gateway.Look(ctx, c)
				if notes = s.Notes; len(s.Faults) > 0 {
					err = s.Faults
				}
			}
			return report(e, file, err, notes, *asJSON)
		},
	}
}

// report prints what a check found.
func report(e Env, file string, err error, notes []string, asJSON bool) int {
	var faults config.Faults
	if err != nil && !errors.As(err, &faults) {
		fmt.Fprintf(e.Stderr, "weir check: %v\n", err)
		return exitMisuse
	}
	if asJSON {
		if faults == nil {
			faults = config.Faults{}
		}
		if notes == nil {
			notes = []string{}
		}
		printJSON(e.Stdout, map[string]any{"file": file, "ok": len(faults) == 0, "faults": faults, "notes": notes})
	} else {
		for _, n := range notes {
			fmt.Fprintf(e.Stdout, "note: %s\n", n)
		}
		if len(faults) == 0 {
			fmt.Fprintf(e.Stdout, "%s: ok\n", file)
		}
	}
	if len(faults) == 0 {
		return exitOK
	}
	if !asJSON {
		for _, f := range faults {
			fmt.Fprintln(e.Stdout, f.Error())
		}
	}
	return exitFound
}
