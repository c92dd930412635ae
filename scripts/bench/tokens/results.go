package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

// results are what a run found. Times are milliseconds.
type results struct {
	Go      string   `json:"go"`
	CPUs    int      `json:"cpus"`
	Rounds  int      `json:"rounds"`
	Rows    []row    `json:"rows"`
	Skipped []string `json:"skipped"`
}

// row is one template or vocabulary.
type row struct {
	What string   `json:"what"`
	Name string   `json:"name"`
	Weir []sample `json:"weir"`
	Peer []sample `json:"peer"`
}

// sample is one round of one side. Of what a side does not do the time is 0.
type sample struct {
	Bytes  int     `json:"bytes"`
	Tokens int     `json:"tokens"`
	Sum    string  `json:"crc32"`
	Load   float64 `json:"load"`
	Cold   float64 `json:"cold"`
	Warm   float64 `json:"warm"`
	Two    float64 `json:"two"`
	Cached float64 `json:"cached"`
}

// addWeir reads what `weir bench` printed. Its rows are told by the first word.
func (r *row) addWeir(out []byte) error {
	var rep struct {
		Bytes  int    `json:"bytes"`
		Tokens int    `json:"tokens"`
		Sum    string `json:"crc32"`
		Rows   []struct {
			What   string  `json:"what"`
			Median float64 `json:"ms"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(out, &rep); err != nil {
		return err
	}
	s := sample{Bytes: rep.Bytes, Tokens: rep.Tokens, Sum: rep.Sum}
	for _, m := range rep.Rows {
		switch {
		case m.What == "render", strings.HasPrefix(m.What, "warm"):
			s.Warm = m.Median
		case strings.HasPrefix(m.What, "cold"):
			s.Cold = m.Median
		case strings.HasPrefix(m.What, "two"):
			s.Two = m.Median
		case strings.HasPrefix(m.What, "cached"):
			s.Cached = m.Median
		case strings.HasPrefix(m.What, "load"):
			s.Load = m.Median
		}
	}
	r.Weir = append(r.Weir, s)
	return nil
}

// same says whether both sides made the same in all rounds.
func (r *row) same() string {
	if len(r.Peer) == 0 {
		return "-"
	}
	for _, s := range slices.Concat(r.Weir, r.Peer) {
		if s.Sum != r.Weir[0].Sum {
			return "NO"
		}
	}
	return "yes"
}

// median is that of one figure over the rounds.
func median(rounds []sample, figure func(*sample) float64) float64 {
	return report.Median(report.Of(rounds, figure))
}

// cells are a figure of both sides and their ratio.
func (r *row) cells(figure func(*sample) float64) []string {
	w, p := median(r.Weir, figure), median(r.Peer, figure)
	if p == 0 {
		return []string{ms(w), "-", "-"}
	}
	return []string{ms(w), ms(p), fmt.Sprintf("%.0fx", p/max(w, 1e-3))}
}

func ms(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// write prints a table for each of the two.
func (res *results) write(w io.Writer) error {
	warm := func(s *sample) float64 { return s.Warm }
	cold := func(s *sample) float64 { return s.Cold }
	two := func(s *sample) float64 { return s.Two }
	render := [][]string{{"render", "KB", "weir ms", "Jinja2 ms", "ratio", "same"}}
	tokenize := [][]string{{"tokenize", "KB", "tokens", "warm: weir ms", "HF ms", "ratio", "cold: weir ms", "HF ms", "ratio", "two: weir ms", "HF ms", "ratio", "cached: weir ms", "same"}}
	for i := range res.Rows {
		r := &res.Rows[i]
		kb := strconv.Itoa(r.Weir[0].Bytes / 1000)
		line := append([]string{r.Name, kb}, r.cells(warm)...)
		if r.What == "render" {
			render = append(render, append(line, r.same()))
			continue
		}
		line = append([]string{r.Name, kb, strconv.Itoa(r.Weir[0].Tokens)}, r.cells(warm)...)
		line = append(append(line, r.cells(cold)...), r.cells(two)...)
		cached := median(r.Weir, func(s *sample) float64 { return s.Cached })
		tokenize = append(tokenize, append(line, ms(cached), r.same()))
	}
	fmt.Fprintf(w, "%d CPUs, %s, medians of %d rounds; HF is the tokenizers library. Two: a text of two at a time.\nCached: segments that were seen, with their ids as JSON.\n\n", res.CPUs, res.Go, res.Rounds)
	for _, table := range [][][]string{render, tokenize} {
		if len(table) == 1 {
			continue
		}
		if err := report.Table(w, table); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, s := range res.Skipped {
		fmt.Fprintln(w, "SKIPPED", s)
	}
	return nil
}
