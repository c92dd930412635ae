package main

import (
	"fmt"
	"io"
	"time"
)

// report prints a line for each check, and counts.
type report struct {
	out                       io.Writer
	passed, explained, failed int
}

// row is a check that ran. reasons explain what is not the same at the engine.
func (r *report) row(name string, begun time.Time, note string, reasons []string, err error) {
	verdict := "pass"
	switch {
	case err != nil:
		verdict, note, reasons = "FAIL", err.Error(), nil
		r.failed++
	case len(reasons) > 0:
		verdict = "diff"
		r.explained++
	default:
		r.passed++
	}
	fmt.Fprintf(r.out, "%s  %-32s %6.2fs  %s\n", verdict, name, time.Since(begun).Seconds(), note)
	for _, why := range reasons {
		fmt.Fprintf(r.out, "      %s\n", why)
	}
}

// err is nil if all is the same, or explained.
func (r *report) err() error {
	fmt.Fprintf(r.out, "llamacpp: %d passed, %d explained, %d failed\n", r.passed, r.explained, r.failed)
	if r.failed > 0 {
		return fmt.Errorf("%d checks failed", r.failed)
	}
	return nil
}
