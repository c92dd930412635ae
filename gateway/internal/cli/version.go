package cli

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/weirgate/weir/abi"
)

func versionCommand() command {
	return command{
		name: "version", args: "[--json]", summary: "prints the version of the program and of its plugin ABI",
		example: "weir version --json",
		run: func(_ context.Context, e Env, fs *flag.FlagSet) int {
			asJSON := fs.Bool("json", false, "print JSON")
			if code, ok := parse(e, fs); !ok {
				return code
			}
			if fs.NArg() > 0 {
				fmt.Fprintf(e.Stderr, "weir version: unexpected argument %q\n", fs.Arg(0))
				return exitMisuse
			}
			v, rev := buildVersion()
			if *asJSON {
				printJSON(e.Stdout, map[string]any{"version": v, "revision": rev, "abi": abi.Version, "go": runtime.Version()})
				return exitOK
			}
			fmt.Fprintf(e.Stdout, "weir %s %s, plugin ABI %d, %s\n", v, rev, abi.Version, runtime.Version())
			return exitOK
		},
	}
}

// buildVersion is what the Go toolchain recorded of this build.
func buildVersion() (version, revision string) {
	version, revision = "devel", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			revision = s.Value[:12]
		}
	}
	return version, revision
}
