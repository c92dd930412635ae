package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// Gateways that can be measured. direct is none: it tells what load and double can do.
const (
	gatewayDirect    = "direct"
	gatewayProxy     = "proxy"
	gatewayChat      = "chat"
	gatewayMessages  = "messages"
	gatewayResponses = "responses"

	allGateways = "direct,proxy,chat,messages,responses"
)

// mode is a way in which the engine streams.
type mode struct {
	Name    string
	Streams int     // at a time
	Each    int     // streams a connection and round
	Target  float64 // of weir's CPU to the proxy's
}

// target is a gateway in a mode.
type target struct {
	gateway string
	process *rig.Process // whose CPU counts
	job     job
}

// bench holds the processes.
type bench struct {
	*rig.Rig
	o      options
	double *rig.Process
	proxy  *rig.Process
	weir   *rig.Process
	load   *rig.Process
}

// start builds weir, if it must, and starts everything.
func (b *bench) start(ctx context.Context) (err error) {
	if b.double, err = b.Server(ctx, roleDouble, spec{Script: b.o.Script}); err != nil {
		return err
	}
	if b.proxy, err = b.Server(ctx, roleProxy, spec{Upstream: b.double.Addr}); err != nil {
		return err
	}
	if b.has(gatewayChat) || b.has(gatewayMessages) || b.has(gatewayResponses) {
		binary, err := b.Build(ctx, b.o.Weir)
		if err != nil {
			return err
		}
		if b.weir, err = b.Weir(ctx, binary, b.config()); err != nil {
			return err
		}
	}
	b.load, err = b.Worker(ctx, roleLoad, spec{Script: b.o.Script})
	return err
}

func (b *bench) has(gateway string) bool {
	return slices.Contains(strings.Split(b.o.Gateways, ","), gateway)
}

// config is weir's: everything as it is by default, and a model a mode.
func (b *bench) config() string {
	var text strings.Builder
	text.WriteString("[server]\nadmin = \"\"\n")
	for _, m := range []string{modeBurst, modePaced} {
		fmt.Fprintf(&text, `
[engines.%[1]s]
kind = "openai"
url = "http://%[2]s/%[1]s/v1"

[[models]]
id = "%[1]s"
engines = ["%[1]s"]
family = "qwen3"
reasoning = "qwen3"
tools = "hermes"
policy = "qwen3"
max_output = 4096
`, m, b.double.Addr)
	}
	return text.String()
}

// targets are the gateways of a mode, in the order in which they are reported.
func (b *bench) targets(m mode) []target {
	add := func(list []target, gateway string, p *rig.Process, path, body, shape string) []target {
		if !b.has(gateway) {
			return list
		}
		j := job{Addr: p.Addr, Request: rawhttp.Post(p.Addr, path, []byte(body)), Shape: shape, Streams: m.Streams, Each: m.Each}
		if m.Name == modePaced {
			j.Stagger = b.o.Script.Pace
		}
		return append(list, target{gateway: gateway, process: p, job: j})
	}
	engine := "/" + m.Name + "/v1/chat/completions"
	list := add(nil, gatewayDirect, b.double, engine, chatBody(m.Name), shapeRaw)
	list = add(list, gatewayProxy, b.proxy, engine, chatBody(m.Name), shapeRaw)
	list = add(list, gatewayChat, b.weir, "/v1/chat/completions", chatBody(m.Name), shapeChat)
	list = add(list, gatewayMessages, b.weir, "/v1/messages", messagesBody(m.Name), shapeMessages)
	return add(list, gatewayResponses, b.weir, "/v1/responses", responsesBody(m.Name), shapeResponses)
}

// measure runs all rounds of all modes.
func (b *bench) measure(ctx context.Context) (*results, error) {
	rep := newResults(b.o, runtime.NumCPU())
	for _, m := range []mode{b.o.Burst, b.o.Paced} {
		if m.Streams == 0 {
			continue
		}
		targets := b.targets(m)
		if len(targets) == 0 {
			return nil, fmt.Errorf("no gateway: want some of %s", allGateways)
		}
		for _, t := range targets {
			t.job.Each = 2 // connections, pools and the heap's size
			if _, err := b.one(t); err != nil {
				return nil, err
			}
		}
		rows := make([]row, len(targets))
		err := b.Rounds(ctx, m.Name, b.o.Rounds, len(targets), func(i int) error {
			s, err := b.one(targets[i])
			rows[i].Gateway, rows[i].Rounds = targets[i].gateway, append(rows[i].Rounds, s)
			return err
		})
		if err != nil {
			return nil, err
		}
		rep.add(m, rows)
	}
	return rep, nil
}

// one runs one job and measures who used the processor meanwhile.
func (b *bench) one(t target) (sample, error) {
	var o rawhttp.Outcome
	spent, err := rig.Spent(func() error { return b.load.Do(&t.job, &o) }, t.process, b.load, b.double)
	switch {
	case err != nil:
		return sample{}, err
	case o.Error != "":
		return sample{}, fmt.Errorf("%s: %s", t.gateway, o.Error)
	case o.Requests != t.job.Streams*t.job.Each:
		return sample{}, fmt.Errorf("%s: %d streams, want %d", t.gateway, o.Requests, t.job.Streams*t.job.Each)
	}
	tokens := float64(o.Requests * b.o.Script.Tokens)
	s := sample{
		Streams: o.Requests, Tokens: int(tokens), Bytes: o.Bytes, Seconds: o.Took.Seconds(), TokensPerSecond: tokens / o.Took.Seconds(),
		Load: perThousand(spent[1], tokens), Double: perThousand(spent[2], tokens),
	}
	if t.process != b.double {
		s.CPU = perThousand(spent[0], tokens)
	}
	return s, nil
}

// perThousand is milliseconds of CPU per 1,000 tokens.
func perThousand(d time.Duration, tokens float64) float64 {
	return d.Seconds() * 1e3 / (tokens / 1e3)
}
