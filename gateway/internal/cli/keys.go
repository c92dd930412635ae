package cli

import (
	"context"
	"flag"
	"fmt"

	"github.com/weirgate/weir/gateway/internal/tenant"
)

func keysCommand() command {
	return command{
		name: "keys", args: "new [--json]", summary: "makes a tenant's key: the key for the client, its hash for the configuration",
		example: "weir keys new",
		run: func(_ context.Context, e Env, fs *flag.FlagSet) int {
			asJSON := fs.Bool("json", false, "print JSON")
			verb := ""
			if len(e.Args) > 0 && e.Args[0] != "" && e.Args[0][0] != '-' {
				verb, e.Args = e.Args[0], e.Args[1:]
			}
			if code, ok := parse(e, fs); !ok {
				return code
			}
			if verb != "new" || fs.NArg() > 0 {
				fmt.Fprintln(e.Stderr, "weir keys: want `weir keys new`")
				return exitMisuse
			}
			key, hash := tenant.NewKey()
			if *asJSON {
				printJSON(e.Stdout, map[string]string{"key": key, "hash": hash})
				return exitOK
			}
			fmt.Fprintf(e.Stdout, "key   %s\nhash  %s\n\nThe key is shown once. Put the hash into the tenant's keys.\n", key, hash)
			return exitOK
		},
	}
}
