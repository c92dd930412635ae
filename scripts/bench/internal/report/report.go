// Package report turns the rounds of a benchmark into figures that can be read.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Median is the middle of the values, 0 for none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[n/2] + s[(n-1)/2]) / 2
}

// Of collects one figure of each round.
func Of[Round any](rounds []Round, figure func(*Round) float64) []float64 {
	out := make([]float64, len(rounds))
	for i := range rounds {
		out[i] = figure(&rounds[i])
	}
	return out
}

// Table prints lines of cells, the first of which are titles, in columns that end where their titles do.
func Table(w io.Writer, lines [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, cells := range lines {
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	return t.Flush()
}

// JSON prints all that a report holds.
func JSON(w io.Writer, report any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}
