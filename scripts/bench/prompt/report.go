package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

// goal is what weir must reach with a kind of load, on two cores.
type goal struct {
	PerSecond float64 `json:"requests_per_second"`
	Steps     float64 `json:"steps_cpu_ms"` // from decode to hand-over
}

// goalOf is nil where weir does less than the goal speaks of.
func goalOf(prompt, kind string) *goal {
	switch {
	case prompt != promptIDs:
		return nil
	case kind == kindShared:
		return &goal{PerSecond: 1000, Steps: 1}
	}
	return &goal{PerSecond: 500, Steps: 3}
}

// results are what a run found.
type results struct {
	Go           string  `json:"go"`
	CPUs         int     `json:"cpus"`
	Clients      int     `json:"clients"`
	Rounds       int     `json:"rounds"`
	RoundSeconds float64 `json:"round_seconds"`
	Prompt       string  `json:"prompt"` // ids or text
	Units        int     `json:"units"`  // ids of a prompt, or bytes of its JSON
	BodyBytes    int     `json:"body_bytes"`
	Messages     int     `json:"messages"`
	Kinds        []table `json:"kinds"`
}

// table is one kind of load.
type table struct {
	Kind string `json:"kind"`
	Goal *goal  `json:"goal,omitempty"`
	Rows []row  `json:"gateways"`

	Account   *account `json:"account,omitempty"`
	NoAccount string   `json:"no_account,omitempty"` // why there is none
}

// row is a gateway: medians, and its rounds.
type row struct {
	Gateway string   `json:"gateway"`
	Median  sample   `json:"median"`
	CPULow  float64  `json:"cpu_low"`
	CPUHigh float64  `json:"cpu_high"`
	Missed  bool     `json:"missed,omitempty"` // weir's goal
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
		if g != nil && (w.Gateway == gatewayStream || w.Gateway == gatewayWhole) {
			w.Missed = w.Median.PerSecond < g.PerSecond
		}
	}
	r.Kinds = append(r.Kinds, table{Kind: kind, Goal: g, Rows: rows})
}

// parts takes weir's own account of the kind that was added last, or why there is none.
func (r *results) parts(a *account, err error) {
	t := &r.Kinds[len(r.Kinds)-1]
	if t.Account = a; err != nil {
		t.NoAccount = err.Error()
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
			goal = fmt.Sprintf(": weir must do %.0f requests/s, and take at most %.1f ms of CPU from decode to hand-over", k.Goal.PerSecond, k.Goal.Steps)
		}
		fmt.Fprintf(w, "\n%s%s\n", titles[k.Kind], goal)
		lines := [][]string{{"gateway", "requests/s", "CPU ms", "lowest", "highest", "load ms", "double ms", "p50 ms", "p99 ms", "goal"}}
		for _, g := range k.Rows {
			lines = append(lines, g.cells(k.Goal))
		}
		if err := report.Table(w, lines); err != nil {
			return err
		}
		if err := k.steps(w); err != nil {
			return err
		}
	}
	return nil
}

// steps prints weir's own account.
func (t *table) steps(w io.Writer) error {
	switch {
	case t.Account != nil:
		fmt.Fprint(w, "\nOne after the other, each another request, in ms of CPU\n")
		var lines [2][]string
		for _, p := range append(t.Account.Parts, part{"all", t.Account.Total}) {
			lines[0], lines[1] = append(lines[0], p.Name), append(lines[1], fmt.Sprintf("%.3f", p.MS))
		}
		if t.Goal != nil {
			lines[0], lines[1] = append(lines[0], "goal"), append(lines[1], verdict(t.Account.Total > t.Goal.Steps))
		}
		return report.Table(w, lines[:])
	case t.NoAccount != "":
		fmt.Fprintf(w, "\nWhat each step takes is not known: %s\n", t.NoAccount)
	}
	return nil
}

func verdict(missed bool) string {
	if missed {
		return "missed"
	}
	return "met"
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
	if to == nil || g.Gateway != gatewayStream && g.Gateway != gatewayWhole {
		return append(cells, "")
	}
	return append(cells, verdict(g.Missed))
}
