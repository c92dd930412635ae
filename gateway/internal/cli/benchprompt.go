package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/gateway"
)

// maxRequest bounds the body that is measured.
const maxRequest = 32 << 20

// benchPrompt is `weir bench prompt`.
func benchPrompt(ctx context.Context, e Env, fs *flag.FlagSet) int {
	file := fs.String("config", "", "configuration `FILE`; without it the embedded default holds")
	request := fs.String("request", "", "`FILE` with the body of a chat completions request, - for standard input")
	key := fs.String("key", "", "`KEY` of a tenant")
	rounds := fs.Int("rounds", 50, "how often each step is run")
	asJSON := fs.Bool("json", false, "print JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if *request == "" || fs.NArg() > 0 || *rounds < 1 || *rounds > 100_000 {
		return misuse(e, fs, "want --request, and 1 to 100000 rounds")
	}
	body, err := readInput(e, *request, maxRequest)
	if err != nil {
		return failed(e, fs, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, err := gateway.New(ctx, gateway.Options{ConfigFile: *file, Admin: "off", LogOutput: e.Stderr, LookupEnv: os.LookupEnv})
	if err != nil {
		return failed(e, fs, err)
	}
	defer g.Close()
	if _, err := g.MeasurePrompt(ctx, *key, body, 3); err != nil { // so that caches are warm
		return failed(e, fs, err)
	}
	costs, err := g.MeasurePrompt(ctx, *key, body, *rounds)
	if err != nil {
		return failed(e, fs, err)
	}
	type part struct {
		Name string  `json:"name"`
		MS   float64 `json:"ms"`
	}
	var parts []part
	var total time.Duration
	for _, c := range costs {
		parts = append(parts, part{c.Step, float64(c.Time.Nanoseconds()) / 1e6})
		total += c.Time
	}
	if *asJSON {
		printJSON(e.Stdout, map[string]any{"parts": parts, "total_ms": float64(total.Nanoseconds()) / 1e6, "rounds": *rounds})
		return exitOK
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 8, 2, ' ', 0)
	for _, p := range append(parts, part{"all", float64(total.Nanoseconds()) / 1e6}) {
		fmt.Fprintf(w, "%s\t%.3f ms\n", p.Name, p.MS)
	}
	if err := w.Flush(); err != nil {
		return exitFound
	}
	return exitOK
}
