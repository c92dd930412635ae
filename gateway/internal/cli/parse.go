package cli

import (
	"context"
	"flag"
)

func parseCommand() command {
	return command{name: "parse", run: func(ctx context.Context, e Env, fs *flag.FlagSet) int { return exitMisuse }}
}
