// Command weir is the gateway and its tools; `weir help` lists them.
package main

import (
	"context"
	"os"

	"github.com/weirgate/weir/gateway/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), cli.Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
}
