package kit

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// BenchOptions says how a parser is measured.
type BenchOptions struct {
	File     string
	CacheDir string
	Config   string
	Sample   string        // text that the streams are fed, over and over; empty means prose, and a turn of a coding agent
	Streams  int           // that take turns; 0 means 10,000
	Time     time.Duration // of each measurement; 0 means 80 ms
}

// Bench is what a parser costs, beside a parser that takes everything for text and runs natively: what the
// host does itself.
type Bench struct {
	File     string `json:"file"`
	Plugin   string `json:"plugin"`
	Config   string `json:"config"`
	Streams  int    `json:"streams"`
	Cores    int    `json:"cores"`
	Rows     []Row  `json:"rows"`
	Instance int    `json:"instance_bytes"` // memory of one
	Window   int    `json:"window_bytes"`   // state of a stream, in the plugin
	Stream   int    `json:"stream_bytes"`   // all that a stream keeps, in the host
}

// Row is the cost of one size of deltas of one sample.
type Row struct {
	Sample  string  `json:"sample"` // prose, turn, or file
	Delta   int     `json:"delta_bytes"`
	Nanos   float64 `json:"ns_per_delta"`
	PerKB   float64 `json:"ns_per_kb"`
	Host    float64 `json:"host_ns_per_delta"` // of it, as far as the host path goes
	Fuel    float64 `json:"fuel_per_delta"`
	Two     float64 `json:"deltas_per_second_two_workers"`
	One     float64 `json:"deltas_per_second_one_worker"`
	Scaling float64 `json:"scaling"` // Two / One
}

// benchProse is content alone, with what looks like the beginning of markup now and then: most deltas of a stream
// are of this kind.
const benchProse = "I read both files before I changed anything. The parser keeps the length of the header, and a value < 0 means that\n" +
	"it has not been seen; the writer does not, so it cannot tell the two apart. That is why the test with an empty\n" +
	"body passes and the one with two bodies does not. I would rather keep it in one place: the reader knows it, and\n" +
	"whoever wants it can ask. It costs one field and takes away three. The name stays, so that callers compile.\n"

// benchTurn is a whole turn as coding agents have it: the model thinks, says what it does and writes a file. At a
// change from one to the other a delta costs several times what it costs within.
const benchTurn = "<think>\nThe user wants the report to name the day. The function that writes it takes a time, so it is enough to\n" +
	"format that: the layout with the month first is what the other reports use. One test compares the whole text,\n" +
	"and must be changed with it. If the day < 10 it has one digit there, which is what the test expects.\n</think>\n\n" +
	"I will add the date to the report, and then run the tests. The layout is that of the other reports, so that a\n" +
	"reader who compares two of them finds the same form in both. Nothing else changes: callers need not pass more.\n\n" +
	"<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"report/report.go\", \"content\": \"" +
	"// Package report writes what happened in a day, for people to read.\\n" +
	"package report\\n\\nimport (\\n\\t\\\"fmt\\\"\\n\\t\\\"time\\\"\\n)\\n\\n" +
	"// Title is the first line of the report of a day, with the day in the form that all reports have.\\n" +
	"func Title(day time.Time, name string) string {\\n\\treturn fmt.Sprintf(\\\"%s: %s\\\", day.Format(layout), name)\\n}\\n" +
	"\"}}\n</tool_call>\n"

// Measure runs a parser for about five seconds.
func Measure(ctx context.Context, wasm []byte, o BenchOptions) (*Bench, error) {
	if err := validConfig(o.Config); err != nil {
		return nil, err
	}
	if o.Streams <= 0 {
		o.Streams = 10_000
	}
	if o.Time <= 0 {
		o.Time = 80 * time.Millisecond
	}
	samples := []Sample{{"prose", benchProse}, {"turn", benchTurn}}
	if o.Sample != "" {
		samples = []Sample{{"file", o.Sample}}
	}
	var total, calls int64
	var memory int
	metered, closeMetered, err := openParser(ctx, wasm, &o, func(c plughost.CallStats) {
		memory = max(memory, c.Memory)
		if c.Export == abi.ExportFeed {
			total += c.Fuel
			calls++
		}
	})
	if err != nil {
		return nil, err
	}
	defer closeMetered()
	parser, closeParser, err := openParser(ctx, wasm, &o, nil)
	if err != nil {
		return nil, err
	}
	defer closeParser()
	p := parser.Plugin()
	out := &Bench{File: o.File, Plugin: p.Name + " " + p.Version, Config: o.Config, Streams: o.Streams, Cores: runtime.GOMAXPROCS(0), Window: len(parser.Template())}
	if parser.Sticky() {
		return nil, fmt.Errorf("%s keeps state of its own: an instance a stream, so there is no row of streams to measure", p.Name)
	}
	streams, size, err := openStreams(parser, o.Streams)
	if err != nil {
		return nil, err
	}
	native, _, err := openStreams(passThrough{}, o.Streams)
	if err != nil {
		return nil, err
	}
	few, _, err := openStreams(metered, min(o.Streams, 100))
	if err != nil {
		return nil, err
	}
	out.Stream = size
	for _, sample := range samples {
		for _, delta := range [...]int{4, 8, 64, 512} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			text := cut(sample.Text, delta)
			total, calls = 0, 0
			few.feed(text, delta, time.Now().Add(o.Time/10))
			row := Row{Sample: sample.Name, Delta: delta}
			if calls > 0 {
				row.Fuel = float64(total) / float64(calls)
			}
			row.rates(native, streams, text, o.Time)
			out.Rows = append(out.Rows, row)
		}
	}
	for _, s := range streams.of {
		if f := s.Fault(); f != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, f)
		}
	}
	out.Instance = memory
	return out, nil
}

// rates measures a row.
func (r *Row) rates(native, streams *herd, text []byte, d time.Duration) {
	const tries = 3 // the best counts: others are slowed down by what else the machine does
	for range tries {
		r.Host = max(r.Host, native.rate(text, r.Delta, 1, d/2))
		r.One = max(r.One, streams.rate(text, r.Delta, 1, d))
		r.Two = max(r.Two, streams.rate(text, r.Delta, 2, d))
	}
	r.Host = nanos(1e9 / r.Host)
	r.Nanos = nanos(1e9 / r.One)
	r.PerKB = r.Nanos * 1024 / float64(r.Delta)
	r.Scaling = r.Two / r.One
}

// nanos rounds to a tenth: more digits would not come again.
func nanos(v float64) float64 { return float64(int64(v*10+0.5)) / 10 }

func openParser(ctx context.Context, wasm []byte, o *BenchOptions, onCall func(plughost.CallStats)) (*plughost.Parser, func(), error) {
	h, err := plughost.New(plughost.Options{CacheDir: o.CacheDir, OnCall: onCall})
	if err != nil {
		return nil, nil, err
	}
	p, err := h.Load(ctx, "", wasm, o.File)
	if err != nil {
		return nil, nil, err
	}
	if o.Config == "" && p.Manifest.Is(plughost.KindParser) {
		configs := parserConfigs(&p.Manifest)
		o.Config = configs[min(1, len(configs)-1)] // the formats that it lists last
	}
	parser, err := p.Parser([]byte(o.Config))
	if err != nil {
		p.Retire()
		return nil, nil, err
	}
	return parser, p.Retire, nil
}

// cut repeats a sample until it is a whole number of deltas.
func cut(sample string, delta int) []byte {
	text := []byte(strings.Repeat(sample, delta/len(sample)+8))
	return text[:len(text)/delta*delta]
}

// herd is a number of streams that take turns.
type herd struct {
	of []*host.Stream
	at []int // where in the sample each one is
}

// openStreams opens n streams, and says how much memory each takes.
func openStreams(g host.Guest, n int) (*herd, int, error) {
	h := &herd{of: make([]*host.Stream, n), at: make([]int, n)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := guest.Start{Tools: true}.Append(nil)
	for i := range h.of {
		var err error
		if h.of[i], err = host.Open(g, discard{}, start); err != nil {
			return nil, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return h, int((after.TotalAlloc - before.TotalAlloc) / uint64(n)), nil
}

// rate is how many deltas a second so many workers get through, each with its share of the streams.
func (h *herd) rate(text []byte, delta, workers int, d time.Duration) float64 {
	done := make([]int, workers)
	var wg sync.WaitGroup
	begun := time.Now()
	until := begun.Add(d)
	for w := range workers {
		from, to := w*len(h.of)/workers, (w+1)*len(h.of)/workers
		share := &herd{of: h.of[from:to], at: h.at[from:to]}
		wg.Go(func() { done[w] = share.feed(text, delta, until) })
	}
	wg.Wait()
	total := 1
	for _, n := range done {
		total += n
	}
	return float64(total) / time.Since(begun).Seconds()
}

// feed gives each stream in turn its next delta until the time is over, and returns how many it gave.
func (h *herd) feed(text []byte, delta int, until time.Time) int {
	const batch = 256 // deltas between two looks at the clock
	n := 0
	for len(h.of) > 0 {
		for i, s := range h.of {
			at := h.at[i]
			if at+delta > len(text) {
				at = 0
			}
			_ = s.Feed(text[at:at+delta], nil, false) // the sink has no errors; faults are looked for at the end
			h.at[i] = at + delta
			if n++; n%batch == 0 && time.Now().After(until) {
				return n
			}
		}
	}
	return n
}

// passThrough takes everything for text.
type passThrough struct{}

func (passThrough) Template() []byte           { return make([]byte, 64) }
func (passThrough) Start([]byte, []byte) error { return nil }
func (passThrough) Feed(c *host.Call) error {
	c.Records = append(c.Records, record.Record{Kind: record.Text, Len: uint32(len(c.In))})
	return nil
}

func (p passThrough) Finish(c *host.Call, _ abi.Why) error {
	if len(c.In) == 0 {
		return nil
	}
	return p.Feed(c)
}

// Write prints a table.
func (b *Bench) Write(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "%s (%s) with %s, %d streams in turn, %d cores\n\n", b.Plugin, b.File, b.Config, b.Streams, b.Cores)
	fmt.Fprintf(&t, "%-6s %6s %9s %9s %9s %12s %12s %12s %8s\n", "sample", "delta", "ns/delta", "ns/KB", "of host", "fuel/delta", "1 worker/s", "2 workers/s", "scaling")
	for _, r := range b.Rows {
		fmt.Fprintf(&t, "%-6s %6d %9.1f %9.0f %9.1f %12.0f %12.0f %12.0f %8.2f\n", r.Sample, r.Delta, r.Nanos, r.PerKB, r.Host, r.Fuel, r.One, r.Two, r.Scaling)
	}
	fmt.Fprintf(&t, "\nan instance has %d KiB of memory; a stream keeps %d bytes in the plugin's window, %d in all\n", b.Instance>>10, b.Window, b.Stream)
	_, err := io.WriteString(w, t.String())
	return err
}
