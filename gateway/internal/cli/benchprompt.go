package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/gateway"
)

// maxRequests bounds the bodies that are measured, in bytes.
const maxRequests = 64 << 20

// warmRequests are not measured: what is the first of its kind costs more.
const warmRequests = 20

// benchPrompt is `weir bench prompt`.
func benchPrompt(ctx context.Context, e Env, fs *flag.FlagSet) int {
	file := fs.String("config", "", "configuration `FILE`; without it the embedded default holds")
	request := fs.String("request", "", "`FILE` with bodies of chat completions requests, one behind the other; - for standard input")
	key := fs.String("key", "", "`KEY` of a tenant")
	rounds := fs.Int("rounds", 50, "how often each step is run")
	asJSON := fs.Bool("json", false, "print JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if *request == "" || fs.NArg() > 0 || *rounds < 1 || *rounds > 100_000 {
		return misuse(e, fs, "want --request, and 1 to 100000 rounds")
	}
	text, err := readInput(e, *request, maxRequests)
	if err != nil {
		return failed(e, fs, err)
	}
	bodies, err := documents(text)
	if err != nil {
		return failed(e, fs, fmt.Errorf("%s: %w", *request, err))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer relaxCollector(ctx)() // as serve does
	g, err := gateway.New(ctx, gateway.Options{ConfigFile: *file, Admin: "off", LogOutput: e.Stderr, LookupEnv: os.LookupEnv})
	if err != nil {
		return failed(e, fs, err)
	}
	defer g.Close()
	touchHeap()
	warm := min(warmRequests, len(bodies))
	if _, err := g.MeasurePrompt(ctx, *key, bodies[:warm], warmRequests); err != nil {
		return failed(e, fs, err)
	}
	costs, err := g.MeasurePrompt(ctx, *key, slices.Concat(bodies[warm:], bodies[:warm]), *rounds)
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

// touchHeap has the heap grow to what it is in a gateway that has run for some seconds: there the pages that a request
// is given were those of earlier ones, and are not the system's to find first.
func touchHeap() {
	const piece = 1 << 20
	for range headroom / piece {
		for b := make([]byte, piece); len(b) > 0; b = b[min(os.Getpagesize(), len(b)):] {
			b[0] = 1
		}
	}
	runtime.GC()
}

// documents are the JSON values of a text, of which there is at least one.
func documents(text []byte) ([][]byte, error) {
	var out [][]byte
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var doc json.RawMessage
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF) && len(out) > 0:
			return out, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("no request")
		case err != nil:
			return nil, fmt.Errorf("request %d, before byte %d: %w", len(out)+1, d.InputOffset(), err)
		}
		out = append(out, doc)
	}
}
