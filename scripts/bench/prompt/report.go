package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

// goal is what weir must reach with a kind of load, on two cores.
type goal struct {
	PerSecond float64 `json:"requests_per_second"`
	CPU       float64 `json:"cpu_ms_per_request"`
}

// goalOf is nil where weir does less than the goal speaks of.
func goalOf(prompt, kind string) *goal {
	switch {
	case prompt != promptIDs:
		return nil
	case kind == kindShared:
		return &goal{PerSecond: 1000, CPU: 1}
	}
	return &goal{PerSecond: 500, CPU: 3}
}

// results are what a run found.
type results struct {
	Go           string   `json:"go"`
	CPUs         int      `json:"cpus"`
	Clients      int      `json:"clients"`
	Rounds       int      `json:"rounds"`
	RoundSeconds float64  `json:"round_seconds"`
	Prompt       string   `json:"prompt"` // ids or text
	Units        int      `json:"units"`  // ids of a prompt, or bytes of its JSON
	BodyBytes    int      `json:"body_bytes"`
	Messages     int      `json:"messages"`
	Kinds        []table  `json:"kinds"`
	Account      *account `json:"account,omitempty"`
	NoAccount    string   `json:"no_account,omitempty"` // why there is none
}

// table is one kind of load.
type table struct {
	Kind string `json:"kind"`
	Goal *goal  `json:"goal,omitempty"`
	Rows []row  `json:"gateways"`
}

// row is a gateway: medians, and its rounds.
type row struct {
	Gateway string   `json:"gateway"`
	Median  sample   `json:"median"`
	CPULow  float64  `json:"cpu_low"`
	CPUHigh float64  `json:"cpu_high"`
	Misses  []string `json:"misses,omitempty"` // of weir's goal
	Rounds  []sample `json:"rounds"`
}

// sample is one round of one gateway. Times are in milliseconds, those of CPU for each request.
type sample struct {
	Requests  int     `json:"requests"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"`
	CPU       float64 `json:"cpu_ms"`
	Load      float64 `json:"load_cpu_ms"`
	Double    float64 `json:"double_cpu_ms"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// add takes the rounds of a kind and works out its rows.
func (r *results) add(kind string, rows []row) {
	g := goalOf(r.Prompt, kind)
	for i := range rows {
		w := &rows[i]
		median := func(figure func(*sample) float64) float64 { return report.Median(report.Of(w.Rounds, figure)) }
		w.Median = sample{
			Requests:  int(median(func(s *sample) float64 { return float64(s.Requests) })),
			Seconds:   median(func(s *sample) float64 { return s.Seconds }),
			PerSecond: median(func(s *sample) float64 { return s.PerSecond }),
			CPU:       median(func(s *sample) float64 { return s.CPU }),
			Load:      median(func(s *sample) float64 { return s.Load }),
			Double:    median(func(s *sample) float64 { return s.Double }),
			P50:       median(func(s *sample) float64 { return s.P50 }),
			P99:       median(func(s *sample) float64 { return s.P99 }),
		}
		cpus := report.Of(w.Rounds, func(s *sample) float64 { return s.CPU })
		w.CPULow, w.CPUHigh = slices.Min(cpus), slices.Max(cpus)
		if g == nil || w.Gateway != gatewayStream && w.Gateway != gatewayWhole {
			continue
		}
		if w.Median.PerSecond < g.PerSecond {
			w.Misses = append(w.Misses, "requests/s")
		}
		if w.Median.CPU > g.CPU {
			w.Misses = append(w.Misses, "CPU")
		}
	}
	r.Kinds = append(r.Kinds, table{Kind: kind, Goal: g, Rows: rows})
}

// parts takes weir's own account, or why there is none.
func (r *results) parts(a *account, err error) {
	if r.Account = a; err != nil {
		r.NoAccount = err.Error()
	}
}

func unitsOf(prompt string) string {
	if prompt == promptIDs {
		return "tokens"
	}
	return "bytes of text"
}

var titles = map[string]string{
	gatewayDirect: "no gateway",
	gatewayProxy:  "httputil.ReverseProxy",
	gatewayStream: "weir, streamed",
	gatewayWhole:  "weir, not streamed",
	kindUnique:    "System prompt and tools in common",
	kindShared:    "All but the last 4,000 tokens in common",
}

// write prints the tables.
func (r *results) write(w io.Writer) error {
	if r.Units > 0 {
		fmt.Fprintf(w, "prompts of %d %s, ", r.Units, unitsOf(r.Prompt))
	}
	fmt.Fprintf(w, "bodies of %d KB with %d messages, %d requests at a time, medians of %d rounds of %.1f s, %d CPUs, %s\n",
		r.BodyBytes/1000, r.Messages, r.Clients, r.Rounds, r.RoundSeconds, r.CPUs, r.Go)
	for _, k := range r.Kinds {
		goal := ""
		if k.Goal != nil {
			goal = fmt.Sprintf(": weir must do %.0f requests/s with at most %.1f ms of CPU each", k.Goal.PerSecond, k.Goal.CPU)
		}
		fmt.Fprintf(w, "\n%s%s\n", titles[k.Kind], goal)
		lines := [][]string{{"gateway", "requests/s", "CPU ms", "lowest", "highest", "load ms", "double ms", "p50 ms", "p99 ms", "goal"}}
		for _, g := range k.Rows {
			lines = append(lines, g.cells(k.Goal))
		}
		if err := report.Table(w, lines); err != nil {
			return err
		}
	}
	switch {
	case r.Account != nil:
		fmt.Fprint(w, "\nOne request alone, step by step\n")
		lines := [][]string{{"step", "ms"}}
		for _, p := range append(r.Account.Parts, part{"all", r.Account.Total}) {
			lines = append(lines, []string{p.Name, fmt.Sprintf("%.3f", p.MS)})
		}
		return report.Table(w, lines)
	case r.NoAccount != "":
		fmt.Fprintf(w, "\nWhat each step takes is not known: %s\n", r.NoAccount)
	}
	return nil
}

func (g *row) cells(to *goal) []string {
	m := &g.Median
	cells := []string{titles[g.Gateway], fmt.Sprintf("%.0f", m.PerSecond)}
	for i, v := range [...]float64{m.CPU, g.CPULow, g.CPUHigh, m.Load, m.Double, m.P50, m.P99} {
		if i < 3 && g.Gateway == gatewayDirect {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, fmt.Sprintf("%.2f", v))
	}
	switch {
	case to == nil || g.Gateway != gatewayStream && g.Gateway != gatewayWhole:
		return append(cells, "")
	case len(g.Misses) > 0:
		return append(cells, "missed: "+strings.Join(g.Misses, ", "))
	}
	return append(cells, "met")
}
