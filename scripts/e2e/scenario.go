package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// need is what a scenario runs on.
type need uint8

const (
	needNothing need = iota
	needNode
	needPython
	needCodex
	needSDK // the SDKs of clients/sdk, and Node
	needOpencode
	needQwen
	needOpenClaw
)

// scenario is one thing that must work. run gets the server of the scenario's group.
type scenario struct {
	name  string
	group *group
	needs need
	limit time.Duration
	run   func(ctx context.Context, st *stage, srv *harness.Server) (note string, err error)
}

// group is scenarios that share a server.
type group struct {
	name string
	// open returns the configuration and what ends when the server has; nil for nothing.
	open func(st *stage) (config string, closing func())
	// errors is part of the error lines that the server's log may have.
	errors string
}

var (
	errSkip     = errors.New("skipped") // wrapped by what keeps a scenario from being run at all
	errNoServer = errors.New("its server did not start")
)

// scenarios are all there are, in order.
func scenarios() []scenario {
	g := simGroup()
	return slices.Concat(rawScenarios(g), nodeScenarios(g), pythonScenarios(g), responsesScenarios(g), aiScenarios(g), claudeScenarios(g), codexScenarios(g), agentScenarios(g),
		scriptedScenarios(), agentScripted(), codexScriptedScenarios(), pluginScenarios())
}

func choose(all []scenario, only string) []scenario {
	if only == "" {
		return all
	}
	var chosen []scenario
	for _, s := range all {
		if slices.ContainsFunc(strings.Split(only, ","), func(part string) bool { return part != "" && strings.Contains(s.name, part) }) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// result is a row of the table.
type result struct {
	name string
	note string
	took time.Duration
	err  error
}

func (r *result) verdict() string {
	switch {
	case r.err == nil:
		return "pass"
	case errors.Is(r.err, errSkip):
		return "skip"
	}
	return "FAIL"
}

// detail is the note or the reason, on one line.
func (r *result) detail() string {
	if r.err == nil {
		return r.note
	}
	text := strings.TrimPrefix(strings.Join(strings.Fields(r.err.Error()), " "), errSkip.Error()+": ")
	if len(text) > 600 {
		text = text[:600] + "..."
	}
	return text
}

type options struct {
	cache  string
	keep   bool
	binary string
	out    io.Writer
}

// runAll runs the scenarios group by group and prints the table. The error is one that kept everything
// from running.
func runAll(ctx context.Context, chosen []scenario, opt options) (failed int, err error) {
	begun := time.Now()
	work, err := os.MkdirTemp("", "weir-e2e-")
	if err != nil {
		return 0, fmt.Errorf("make a folder: %w", err)
	}
	if opt.keep {
		fmt.Fprintf(opt.out, "logs and homes: %s\n", work)
	} else {
		defer func() { _ = os.RemoveAll(work) }()
	}
	st := &stage{work: work, cache: opt.cache, weir: opt.binary, out: opt.out}
	if err := st.prepare(ctx, chosen); err != nil {
		return 0, err
	}
	var results []result
	for len(chosen) > 0 {
		n := 1
		for n < len(chosen) && chosen[n].group == chosen[0].group {
			n++
		}
		results = append(results, st.runGroup(ctx, chosen[:n])...)
		chosen = chosen[n:]
	}
	return report(opt.out, results, time.Since(begun)), nil
}

// runGroup starts the group's server, runs its scenarios one after another, and stops it. How it started
// and stopped are rows of their own.
func (st *stage) runGroup(ctx context.Context, list []scenario) []result {
	g := list[0].group
	config, closing := g.open(st)
	if closing != nil {
		defer closing()
	}
	var results []result
	add := func(r result) {
		fmt.Fprintf(st.out, "%s  %-34s %6.2fs  %s\n", r.verdict(), r.name, r.took.Seconds(), r.detail())
		results = append(results, r)
	}
	start := result{name: g.name + "/start"}
	begun := time.Now()
	srv, err := st.start(ctx, g.name, config)
	start.took, start.err = time.Since(begun), err
	add(start)
	for _, s := range list {
		r := result{name: s.name, err: st.missing(s.needs)}
		switch {
		case r.err != nil:
		case start.err != nil:
			r.err = errNoServer
		default:
			r = st.runOne(ctx, s, srv)
		}
		add(r)
	}
	if srv == nil {
		return results
	}
	stop := result{name: g.name + "/shutdown"}
	stop.took, stop.err = srv.Stop()
	if stop.err == nil {
		stop.err = srv.Complaint(g.errors)
	}
	add(stop)
	if slices.ContainsFunc(results, func(r result) bool { return r.verdict() == "FAIL" }) {
		fmt.Fprintf(st.out, "--- end of the log of %s\n%s---\n", g.name, srv.LogTail(30))
	}
	return results
}

func (st *stage) runOne(ctx context.Context, s scenario, srv *harness.Server) result {
	limit := s.limit
	if limit == 0 {
		limit = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := result{name: s.name}
	begun := time.Now()
	r.note, r.err = s.run(ctx, st, srv)
	r.took = time.Since(begun)
	if r.err != nil && ctx.Err() != nil {
		r.err = fmt.Errorf("not done within %v: %w", limit, r.err)
	}
	return r
}

// report prints the table and the counts.
func report(w io.Writer, results []result, took time.Duration) (failed int) {
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	counts := map[string]int{}
	for _, r := range results {
		counts[r.verdict()]++
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.name, r.verdict(), r.detail())
	}
	_ = table.Flush() // standard output
	fmt.Fprintf(w, "\ne2e: %d passed, %d failed, %d skipped in %.0f s\n", counts["pass"], counts["FAIL"], counts["skip"], took.Seconds())
	return counts["FAIL"]
}
