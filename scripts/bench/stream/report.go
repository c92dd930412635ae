package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

// results are what a run found. CPU is in milliseconds per 1,000 tokens of the engine.
type results struct {
	Go     string  `json:"go"`
	CPUs   int     `json:"cpus"`
	Tokens int     `json:"tokens_per_stream"`
	Parts  string  `json:"parts"`
	PaceMS int64   `json:"pace_ms"`
	Rounds int     `json:"rounds"`
	Modes  []table `json:"modes"`
}

// table is one mode.
type table struct {
	Name    string  `json:"name"`
	Streams int     `json:"streams"`
	Target  float64 `json:"target_ratio"`
	Rows    []row   `json:"gateways"`
}

// row is a gateway: medians, and its rounds.
type row struct {
	Gateway         string   `json:"gateway"`
	TokensPerSecond float64  `json:"tokens_per_second"`
	CPU             float64  `json:"cpu_ms_per_1000_tokens"`
	CPULow          float64  `json:"cpu_low"`
	CPUHigh         float64  `json:"cpu_high"`
	Ratio           float64  `json:"ratio_to_proxy"` // median of the rounds' ratios; 0 without a proxy
	Rounds          []sample `json:"rounds"`
}

// sample is one round of one gateway.
type sample struct {
	Streams         int     `json:"streams"`
	Tokens          int     `json:"tokens"`
	Bytes           int64   `json:"bytes_to_clients"`
	Seconds         float64 `json:"seconds"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	CPU             float64 `json:"cpu_ms_per_1000_tokens"`
	Load            float64 `json:"load_cpu_ms_per_1000_tokens"`
	Double          float64 `json:"double_cpu_ms_per_1000_tokens"`
}

func newResults(o options, cpus int) *results {
	return &results{
		Go: runtime.Version(), CPUs: cpus, Tokens: o.Script.Tokens, Parts: o.Script.Parts, PaceMS: o.Script.Pace.Milliseconds(), Rounds: o.Rounds,
	}
}

// add takes the rounds of a mode and works out its rows.
func (r *results) add(m mode, rows []row) {
	var proxy []sample
	for _, w := range rows {
		if w.Gateway == gatewayProxy {
			proxy = w.Rounds
		}
	}
	for i := range rows {
		w := &rows[i]
		var ratios []float64
		for k, s := range w.Rounds {
			if k < len(proxy) && proxy[k].CPU > 0 {
				ratios = append(ratios, s.CPU/proxy[k].CPU)
			}
		}
		cpus := report.Of(w.Rounds, func(s *sample) float64 { return s.CPU })
		w.TokensPerSecond = report.Median(report.Of(w.Rounds, func(s *sample) float64 { return s.TokensPerSecond }))
		w.CPU, w.Ratio = report.Median(cpus), report.Median(ratios)
		w.CPULow, w.CPUHigh = slices.Min(cpus), slices.Max(cpus)
	}
	r.Modes = append(r.Modes, table{Name: m.Name, Streams: m.Streams, Target: m.Target, Rows: rows})
}

var titles = map[string]string{
	gatewayDirect:    "no gateway",
	gatewayProxy:     "httputil.ReverseProxy",
	gatewayChat:      "weir, chat",
	gatewayMessages:  "weir, messages",
	gatewayResponses: "weir, responses",
}

// write prints the tables.
func (r *results) write(w io.Writer) error {
	fmt.Fprintf(w, "%d tokens a stream (%s), medians of %d rounds, %d CPUs, %s\n", r.Tokens, r.Parts, r.Rounds, r.CPUs, r.Go)
	for _, m := range r.Modes {
		how := "not paced"
		if m.Name == modePaced {
			how = fmt.Sprintf("a token every %d ms", r.PaceMS)
		}
		fmt.Fprintf(w, "\n%d streams, %s: weir may cost %.1f times the proxy\n", m.Streams, how, m.Target)
		lines := [][]string{{"gateway", "tokens/s", "CPU ms per 1,000 tokens", "lowest", "highest", "times the proxy"}}
		for _, g := range m.Rows {
			cells := []string{titles[g.Gateway], fmt.Sprintf("%.0f", g.TokensPerSecond), "", "", "", ""}
			if g.Gateway != gatewayDirect {
				for k, v := range [...]float64{g.CPU, g.CPULow, g.CPUHigh, g.Ratio} {
					cells[2+k] = fmt.Sprintf("%.2f", v)
				}
			}
			lines = append(lines, cells)
		}
		if err := report.Table(w, lines); err != nil {
			return err
		}
	}
	return nil
}
