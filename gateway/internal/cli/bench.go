package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/gateway/tokenizer/load"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func benchCommand() command {
	return command{
		name: "bench", args: "COMMAND [flags]", summary: "measures parts of weir on this machine",
		example: "weir bench tokenize --tokenizer /models/Qwen3-8B",
		run: func(ctx context.Context, e Env, _ *flag.FlagSet) int {
			return runVerb(ctx, e, "bench", benchCommands())
		},
	}
}

// benchCommands are the verbs behind `weir bench`.
func benchCommands() []command {
	return []command{
		{
			name: "prefix", args: "[flags]", summary: "measures what a stable prompt prefix is worth, with the simulated engine",
			example: "weir bench prefix --json", run: benchPrefix,
		},
		{
			name: "prompt", args: "--config F.toml --request R.json [flags]", summary: "measures the steps of a chat completions request up to its engine",
			example: "weir bench prompt --config weir.toml --request request.json", run: benchPrompt,
		},
		{
			name: "render", args: "--template F.jinja [flags]", summary: "measures how long a chat template takes for a conversation",
			example: "weir bench render --template /models/Qwen3-8B/chat_template.jinja", run: benchRender,
		},
		{
			name: "tokenize", args: "--tokenizer F [flags]", summary: "measures how long a vocabulary takes for a prompt",
			example: "weir bench tokenize --tokenizer /models/Qwen3-8B --text prompt.txt", run: benchTokenize,
		},
	}
}

// benchRow is one thing measured, in milliseconds: the median of its runs, and the fastest one.
type benchRow struct {
	What   string  `json:"what"`
	Median float64 `json:"ms"`
	Best   float64 `json:"best_ms"`
	Runs   int     `json:"runs"`
}

// benchReport is what a command found. Sum is the CRC-32 of the text, or of the ids in four bytes each, the
// lowest first: two programs that have the same did the same.
type benchReport struct {
	File   string     `json:"file"`
	Bytes  int        `json:"bytes"`
	Tokens int        `json:"tokens,omitempty"`
	Sum    string     `json:"crc32"`
	CPUs   int        `json:"cpus"`
	Rows   []benchRow `json:"rows"`
}

func (r *benchReport) add(what string, times []time.Duration) {
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	r.Rows = append(r.Rows, benchRow{what, ms(times[len(times)/2]), ms(times[0]), len(times)})
}

func (r *benchReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		printJSON(w, r)
		return nil
	}
	fmt.Fprintf(w, "%s: %d bytes", r.File, r.Bytes)
	if r.Tokens > 0 {
		fmt.Fprintf(w, ", %d tokens", r.Tokens)
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "median ms\tbest ms\tMB/s\truns\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%.3f\t%.3f\t%.0f\t%d\t  %s\n", row.Median, row.Best, float64(r.Bytes)/max(row.Median, 1e-3)/1e3, row.Runs, row.What)
	}
	return t.Flush()
}

// Bounds of what is measured.
const (
	minRuns  = 3
	maxTime  = time.Minute
	coldRuns = 3
	cacheMax = 256 << 20
)

// timed runs f for so long, at least minRuns times, and returns what each run took.
func timed(ctx context.Context, d time.Duration, f func() error) ([]time.Duration, error) {
	var times []time.Duration
	for begin := time.Now(); len(times) < minRuns || time.Since(begin) < d; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		from := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(from))
	}
	return times, nil
}

func benchRender(ctx context.Context, e Env, fs *flag.FlagSet) int {
	template := fs.String("template", "", "chat template `FILE`")
	vars := fs.String("vars", "", "`FILE` with the variables as a JSON object; otherwise a conversation of 200 KB with tools")
	printVars := fs.Bool("print-vars", false, "print the variables of that conversation, and measure nothing")
	asJSON := fs.Bool("json", false, "print JSON")
	d := fs.Duration("time", time.Second, "`TIME` for each measurement")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if *printVars && fs.NArg() == 0 {
		if _, err := e.Stdout.Write(append(benchConversation().vars(), '\n')); err != nil {
			return exitFound
		}
		return exitOK
	}
	switch {
	case fs.NArg() > 0:
		return misuse(e, fs, "unexpected argument %q", fs.Arg(0))
	case *template == "":
		return misuse(e, fs, "want --template")
	case *d <= 0 || *d > maxTime:
		return misuse(e, fs, "--time %v: want at most %v", *d, maxTime)
	}
	source, err := readInput(e, *template, maxRenderTemplate)
	if err != nil {
		return failed(e, fs, err)
	}
	doc := benchConversation().vars()
	if *vars != "" {
		if doc, err = readInput(e, *vars, maxRenderVars); err != nil {
			return failed(e, fs, err)
		}
	}
	r, err := measureRender(ctx, string(source), doc, *d)
	if err != nil {
		return failed(e, fs, fmt.Errorf("%s: %w", *template, err))
	}
	r.File = *template
	if r.print(e.Stdout, *asJSON) != nil {
		return exitFound
	}
	return exitOK
}

func measureRender(ctx context.Context, source string, doc []byte, d time.Duration) (*benchReport, error) {
	vars, _, err := renderVars(doc)
	if err != nil {
		return nil, err
	}
	compiled, err := timed(ctx, d/10, func() error {
		_, err := jinja.Compile(source, jinja.Options{})
		return err
	})
	if err != nil {
		return nil, err
	}
	tpl, err := jinja.Compile(source, jinja.Options{})
	if err != nil {
		return nil, err
	}
	r := &benchReport{CPUs: runtime.GOMAXPROCS(0)}
	var text []byte
	now := time.Now()
	for _, origins := range []bool{false, true} {
		what := "render"
		if origins {
			what = "render, with the origin of each byte"
		}
		times, err := timed(ctx, d, func() error {
			out, err := tpl.Render(ctx, vars, jinja.RenderOptions{Now: now, Origins: origins, Buffer: text[:0]})
			text = out.Text
			return err
		})
		if err != nil {
			return nil, err
		}
		r.add(what, times)
	}
	r.add("compile the template", compiled)
	r.Bytes, r.Sum = len(text), fmt.Sprintf("%08x", crc32.ChecksumIEEE(text))
	return r, nil
}

func benchTokenize(ctx context.Context, e Env, fs *flag.FlagSet) int {
	file := fs.String("tokenizer", "", "`PATH` of a model's folder, a tokenizer.json or a GGUF file")
	text := fs.String("text", "", "`FILE` with the prompt; otherwise the text of a conversation of 200 KB")
	asJSON := fs.Bool("json", false, "print JSON")
	d := fs.Duration("time", time.Second, "`TIME` for each measurement")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	switch {
	case fs.NArg() > 0:
		return misuse(e, fs, "unexpected argument %q", fs.Arg(0))
	case *file == "":
		return misuse(e, fs, "want --tokenizer")
	case *d <= 0 || *d > maxTime:
		return misuse(e, fs, "--time %v: want at most %v", *d, maxTime)
	}
	prompt := []byte(benchConversation().text())
	if *text != "" {
		var err error
		if prompt, err = os.ReadFile(*text); err != nil {
			return failed(e, fs, err)
		}
	}
	r, err := measureTokenize(ctx, *file, string(prompt), *d)
	if err != nil {
		return failed(e, fs, fmt.Errorf("%s: %w", *file, err))
	}
	if r.print(e.Stdout, *asJSON) != nil {
		return exitFound
	}
	return exitOK
}

func measureTokenize(ctx context.Context, file, text string, d time.Duration) (*benchReport, error) {
	r := &benchReport{File: file, Bytes: len(text), CPUs: runtime.GOMAXPROCS(0)}
	var tok *vocab.Tokenizer
	var loads, colds []time.Duration
	var ids []uint32
	for range coldRuns {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		runtime.GC() // what the last one leaves behind is not counted here
		from := time.Now()
		var err error
		if tok, err = load.Model(file, ""); err != nil {
			return nil, err
		}
		loads = append(loads, time.Since(from))
		ids = make([]uint32, 0, len(text)/2)
		from = time.Now()
		ids = tok.Encode(ids, text)
		colds = append(colds, time.Since(from))
	}
	warm, err := timed(ctx, d, func() error {
		ids = tok.Encode(ids[:0], text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	two, err := timedTwo(ctx, d, tok, text)
	if err != nil {
		return nil, err
	}
	cache := tok.NewCache(cacheMax)
	var out vocab.Encoded
	cached, err := timed(ctx, d, func() error {
		out.Reset()
		cache.EncodeText(&out, text, nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	for _, id := range ids {
		raw.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
	}
	r.Tokens, r.Sum = len(ids), fmt.Sprintf("%08x", crc32.ChecksumIEEE(raw.Bytes()))
	r.add("warm: words that were seen", warm)
	r.add("cold: the first text", colds)
	r.add("two: a text of two at a time", two)
	r.add("cached: segments that were seen, with their ids as JSON", cached)
	r.add("load the vocabulary", loads)
	return r, nil
}

// timedTwo has two goroutines encode at a time and returns what a text takes then: half of what both do.
func timedTwo(ctx context.Context, d time.Duration, tok *vocab.Tokenizer, text string) ([]time.Duration, error) {
	const each = 4 // texts of a goroutine in a run
	ids := [2][]uint32{}
	times, err := timed(ctx, d, func() error {
		var both sync.WaitGroup
		for i := range ids {
			both.Go(func() {
				for range each {
					ids[i] = tok.Encode(ids[i][:0], text)
				}
			})
		}
		both.Wait()
		return nil
	})
	for i := range times {
		times[i] /= time.Duration(len(ids) * each)
	}
	return times, err
}
