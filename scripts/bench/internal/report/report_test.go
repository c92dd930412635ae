package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirgate/weir/scripts/bench/internal/report"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{8, 2, 4, 6}, 5}} {
		if got := report.Median(c.values); got != c.want {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
	rounds := []struct{ CPU float64 }{{2}, {7}}
	if got := report.Of(rounds, func(r *struct{ CPU float64 }) float64 { return r.CPU }); len(got) != 2 || got[1] != 7 {
		t.Errorf("got %v", got)
	}
}

func TestPrints(t *testing.T) {
	var b bytes.Buffer
	if err := report.Table(&b, [][]string{{"gateway", "ms"}, {"a", "1.25"}, {"long name", ""}}); err != nil {
		t.Fatal(err)
	}
	if want := "     gateway     ms\n           a   1.25\n   long name       \n"; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := report.JSON(&b, map[string]int{"a": 1}); err != nil || strings.TrimSpace(b.String()) != "{\n  \"a\": 1\n}" {
		t.Errorf("got %s, error %v", b.String(), err)
	}
}
