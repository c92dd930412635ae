package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Metric is the sum of a metric's samples at the admin address.
func (s *Server) Metric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Admin+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	return SumMetric(res.Body, name)
}

// SumMetric reads the text format of Prometheus.
func SumMetric(r io.Reader, name string) (float64, error) {
	sum, found := 0.0, false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum, found = sum+v, true
	}
	if !found && lines.Err() == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return sum, lines.Err()
}

// UntilIdle waits until no turn runs.
func (s *Server) UntilIdle(ctx context.Context) error {
	for {
		n, err := s.Metric(ctx, "weir_active_turns")
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%.0f turns still run: %w", n, err)
		}
	}
}

// Pause waits between two looks at something.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
