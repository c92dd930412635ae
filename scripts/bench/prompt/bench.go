package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// modelID is the model's name in requests.
const modelID = "bench"

// Gateways that can be measured. direct is none: it tells what load and double can do.
const (
	gatewayDirect = "direct"
	gatewayProxy  = "proxy"
	gatewayStream = "stream"
	gatewayWhole  = "whole"

	allGateways = "direct,proxy,stream,whole"
)

// among wants a list to name some of all.
func among(what, list, all string) error {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(strings.Split(all, ","), name) {
			return fmt.Errorf("%s: %q, want some of %s", what, name, all)
		}
	}
	return nil
}

// target is a gateway under a kind of load.
type target struct {
	gateway string
	process *rig.Process // whose CPU counts
	job     job
}

// weir reports whether the target is weir.
func (t *target) weir() bool { return t.job.Shape != shapeRaw }

// bench holds the processes.
type bench struct {
	*rig.Rig
	o      options
	binary string
	model  string // folder
	double *rig.Process
	proxy  *rig.Process
	weir   *rig.Process
	load   *rig.Process

	asked *rawhttp.Client // of the double, what it saw
	units int             // ids of a prompt, or bytes of it; 0 until it is known
}

// start builds weir, if it must, and starts everything.
func (b *bench) start(ctx context.Context) (err error) {
	if b.double, err = b.Server(ctx, roleDouble, spec{}); err != nil {
		return err
	}
	if b.proxy, err = b.Server(ctx, roleProxy, spec{Upstream: b.double.Addr}); err != nil {
		return err
	}
	if b.has(gatewayStream) || b.has(gatewayWhole) {
		if err := b.startWeir(ctx); err != nil {
			return err
		}
	}
	b.load, err = b.Worker(ctx, roleLoad, spec{Text: b.o.Text})
	return err
}

func (b *bench) startWeir(ctx context.Context) (err error) {
	if b.o.Prompt == promptIDs {
		data, err := vocabulary(ctx, b.Say)
		if err != nil {
			return fmt.Errorf("vocabulary: %w", err)
		}
		b.model = filepath.Join(b.Dir(), "model")
		if err := writeModel(b.model, data); err != nil {
			return err
		}
	}
	if b.binary, err = b.Build(ctx, b.o.Weir); err != nil {
		return err
	}
	b.weir, err = b.Weir(ctx, b.binary, b.config())
	return err
}

func (b *bench) has(gateway string) bool {
	return slices.Contains(strings.Split(b.o.Gateways, ","), gateway)
}

// config is weir's: everything as it is by default, but for one model. Where the engine takes a text there
// is no vocabulary, and weir renders the family's own way.
func (b *bench) config() string {
	how, of := "", "family = \"qwen3\"\npolicy = \"qwen3\""
	if b.o.Prompt == promptIDs {
		how, of = "prompt = \"ids\"\nextras = true\n", fmt.Sprintf("dir = %q", b.model)
	}
	return fmt.Sprintf(`[server]
admin = ""

[engines.double]
kind = "openai"
url = "http://%s/v1"
mode = "completions"
%s
[[models]]
id = %q
engines = ["double"]
%s
reasoning = "qwen3"
tools = "hermes"
context = 131072
`, b.double.Addr, how, modelID, of)
}

// targets are the gateways for a kind of load, in the order in which they are reported.
func (b *bench) targets(kind string) []target {
	var list []target
	for _, t := range []struct {
		gateway string
		process *rig.Process
		shape   string
	}{
		{gatewayDirect, b.double, shapeRaw},
		{gatewayProxy, b.proxy, shapeRaw},
		{gatewayStream, b.weir, shapeStream},
		{gatewayWhole, b.weir, shapeWhole},
	} {
		if b.has(t.gateway) {
			list = append(list, target{t.gateway, t.process, job{
				Addr: t.process.Addr, Path: pathChat, Kind: kind, Shape: t.shape, Clients: b.o.Clients, For: b.o.Time,
			}})
		}
	}
	return list
}

// measure runs all rounds of all kinds.
func (b *bench) measure(ctx context.Context) (*results, error) {
	req, err := newRequest(b.o.Text, true)
	if err != nil {
		return nil, err
	}
	rep := &results{
		Go: runtime.Version(), CPUs: runtime.NumCPU(), Clients: b.o.Clients, Rounds: b.o.Rounds, RoundSeconds: b.o.Time.Seconds(),
		Prompt: b.o.Prompt, BodyBytes: len(req.JSON), Messages: req.messages,
	}
	if b.asked, err = rawhttp.Dial(ctx, b.double.Addr); err != nil {
		return nil, err
	}
	defer b.asked.Close()
	if b.weir != nil && b.o.Prompt == promptIDs {
		b.units, err = countTokens(ctx, b.weir.Addr, req)
		if err != nil {
			b.Say("no count from weir, so the engine's first one holds: %v", err)
		}
	}
	for kind := range strings.SplitSeq(b.o.Kinds, ",") {
		rows, err := b.kind(ctx, kind)
		if err != nil {
			return nil, err
		}
		rep.add(kind, rows)
		if b.weir != nil && b.binary != "" {
			rep.parts(b.parts(ctx, req, kind))
		}
	}
	rep.Units = b.units
	return rep, nil
}

// kind runs the rounds of one kind of load.
func (b *bench) kind(ctx context.Context, kind string) ([]row, error) {
	targets := b.targets(kind)
	for _, t := range targets {
		first := t
		first.job.Clients, first.job.Each = 1, 1
		t.job.For = min(t.job.For, time.Second) // connections, pools, caches and the heap's size
		for _, t := range []target{first, t} {
			if _, err := b.one(t); err != nil {
				return nil, err
			}
		}
	}
	rows := make([]row, len(targets))
	err := b.Rounds(ctx, kind, b.o.Rounds, len(targets), func(i int) error {
		s, err := b.one(targets[i])
		rows[i].Gateway, rows[i].Rounds = targets[i].gateway, append(rows[i].Rounds, s)
		return err
	})
	return rows, err
}

// one runs one job, measures who used the processor meanwhile, and checks what the engine got.
func (b *bench) one(t target) (sample, error) {
	if t.weir() {
		t.job.Input = b.units
	}
	if _, err := b.seen(); err != nil {
		return sample{}, err
	}
	var o rawhttp.Outcome
	spent, err := rig.Spent(func() error { return b.load.Do(&t.job, &o) }, t.process, b.load, b.double)
	if err != nil {
		return sample{}, err
	}
	if o.Error != "" {
		return sample{}, fmt.Errorf("%s, %s: %s", t.job.Kind, t.gateway, o.Error)
	}
	s, err := b.seen()
	if err == nil {
		err = b.compare(&t, &o, s)
	}
	if err != nil {
		return sample{}, fmt.Errorf("%s, %s: %w", t.job.Kind, t.gateway, err)
	}
	n := float64(o.Requests)
	out := sample{
		Requests: o.Requests, Seconds: o.Took.Seconds(), PerSecond: n / o.Took.Seconds(),
		Load: milliseconds(spent[1]) / n, Double: milliseconds(spent[2]) / n, P50: milliseconds(o.P50), P99: milliseconds(o.P99),
	}
	if t.process != b.double {
		out.CPU = milliseconds(spent[0]) / n
	}
	return out, nil
}

// compare wants the engine to have got each request once, whole, and no two alike.
func (b *bench) compare(t *target, o *rawhttp.Outcome, s *seen) error {
	prompt := ""
	if t.weir() {
		prompt = b.o.Prompt
		if b.units == 0 {
			b.units = s.Min
		}
	}
	switch {
	case o.Requests == 0:
		return fmt.Errorf("no answer within %v", o.Took)
	case s.Requests != o.Requests:
		return fmt.Errorf("%d requests came to the engine, %d were answered", s.Requests, o.Requests)
	case s.Distinct != s.Requests:
		return fmt.Errorf("%d different prompts in %d requests", s.Distinct, s.Requests)
	case s.Prompt != prompt:
		return fmt.Errorf("the engine got prompts of kind %q, want %q", s.Prompt, prompt)
	case t.weir() && (s.Min != b.units || s.Max != b.units):
		return fmt.Errorf("the engine got prompts of %d to %d %s, want %d", s.Min, s.Max, unitsOf(prompt), b.units)
	}
	return nil
}

// seen asks the double what came since the last time.
func (b *bench) seen() (*seen, error) {
	body, err := b.asked.Ask(rawhttp.Get(b.double.Addr, pathSeen))
	if err != nil {
		return nil, fmt.Errorf("double: %w", err)
	}
	var s seen
	return &s, json.Unmarshal(body, &s)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
