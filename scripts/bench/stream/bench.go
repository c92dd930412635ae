package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Gateways that can be measured. direct is none: it tells what load and double can do.
const (
	gatewayDirect   = "direct"
	gatewayProxy    = "proxy"
	gatewayChat     = "chat"
	gatewayMessages = "messages"

	allGateways = "direct,proxy,chat,messages"
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
	process *process // whose CPU counts
	job     job
}

// bench holds the processes.
type bench struct {
	o      options
	log    io.Writer
	dir    string
	all    []*process
	double *process
	proxy  *process
	weir   *process
	load   *process
	jobs   *json.Encoder
	ends   *json.Decoder
}

// newBench builds weir and starts everything. close must follow.
func newBench(ctx context.Context, o options, log io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{o: o, log: log, dir: dir}
	if err := b.startAll(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) startAll(ctx context.Context) (err error) {
	if b.double, err = b.role(ctx, roleDouble, ""); err != nil {
		return err
	}
	if b.proxy, err = b.role(ctx, roleProxy, b.double.addr); err != nil {
		return err
	}
	if b.has(gatewayChat) || b.has(gatewayMessages) {
		if err := b.startWeir(ctx); err != nil {
			return err
		}
	}
	if b.load, err = b.role(ctx, roleLoad, ""); err != nil {
		return err
	}
	b.jobs, b.ends = json.NewEncoder(b.load.stdin), json.NewDecoder(b.load.stdout)
	return nil
}

// close ends the processes, the load first.
func (b *bench) close() {
	for _, p := range slices.Backward(b.all) {
		if err := p.end(); err != nil {
			fmt.Fprintln(b.log, "stream:", err)
		}
	}
	_ = os.RemoveAll(b.dir) // in the system's folder for temporary files
}

func (b *bench) has(gateway string) bool {
	return slices.Contains(strings.Split(b.o.Gateways, ","), gateway)
}

// start starts a process that close ends.
func (b *bench) start(ctx context.Context, name string, argv ...string) (*process, error) {
	p, err := start(ctx, b.dir, name, argv...)
	if err != nil {
		return nil, err
	}
	b.all = append(b.all, p)
	return p, nil
}

// role starts this program in another role.
func (b *bench) role(ctx context.Context, role, upstream string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arg, err := json.Marshal(spec{Script: b.o.Script, Upstream: upstream})
	if err != nil {
		return nil, err
	}
	p, err := b.start(ctx, role, self, role, string(arg))
	if err != nil || role == roleLoad {
		return p, err
	}
	return p, p.ready()
}

// startWeir builds weir, if it must, and starts it with the double as its engine.
func (b *bench) startWeir(ctx context.Context) error {
	binary := b.o.Weir
	if binary == "" {
		binary = filepath.Join(b.dir, "weir")
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/weirgate/weir/gateway/cmd/weir")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build weir: %w\n%s", err, out)
		}
	}
	config := filepath.Join(b.dir, "weir.toml")
	if err := os.WriteFile(config, []byte(b.config()), 0o600); err != nil {
		return err
	}
	var err error
	if b.weir, err = b.start(ctx, "weir", binary, "serve", "--config", config, "--listen", "127.0.0.1:0"); err != nil {
		return err
	}
	return b.weir.ready()
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
`, m, b.double.addr)
	}
	return text.String()
}

// targets are the gateways of a mode, in the order in which they are reported.
func (b *bench) targets(m mode) []target {
	add := func(list []target, gateway string, p *process, path, body, shape string) []target {
		if !b.has(gateway) {
			return list
		}
		j := job{Addr: p.addr, Request: post(p.addr, path, body), Shape: shape, Streams: m.Streams, Each: m.Each}
		if m.Name == modePaced {
			j.Stagger = b.o.Script.Pace
		}
		return append(list, target{gateway: gateway, process: p, job: j})
	}
	engine := "/" + m.Name + "/v1/chat/completions"
	list := add(nil, gatewayDirect, b.double, engine, chatBody(m.Name), shapeRaw)
	list = add(list, gatewayProxy, b.proxy, engine, chatBody(m.Name), shapeRaw)
	list = add(list, gatewayChat, b.weir, "/v1/chat/completions", chatBody(m.Name), shapeChat)
	return add(list, gatewayMessages, b.weir, "/v1/messages", messagesBody(m.Name), shapeMessages)
}

// measure runs all rounds of all modes.
func (b *bench) measure(ctx context.Context) (*report, error) {
	rep := newReport(b.o, runtime.NumCPU())
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
			if _, err := b.one(ctx, t); err != nil {
				return nil, err
			}
		}
		rows := make([]row, len(targets))
		for i := range b.o.Rounds {
			fmt.Fprintf(b.log, "%s: round %d of %d\n", m.Name, i+1, b.o.Rounds)
			for k := range targets {
				// Every other round goes backwards, so that a drift of the machine favours nobody.
				if i%2 == 1 {
					k = len(targets) - 1 - k
				}
				s, err := b.one(ctx, targets[k])
				if err != nil {
					return nil, err
				}
				rows[k].Gateway = targets[k].gateway
				rows[k].Rounds = append(rows[k].Rounds, s)
			}
		}
		rep.add(m, rows)
	}
	return rep, nil
}

// one runs one job and measures who used the processor meanwhile.
func (b *bench) one(ctx context.Context, t target) (sample, error) {
	var s sample
	begin, err := b.cpu(t.process)
	if err != nil {
		return s, err
	}
	if err := b.jobs.Encode(&t.job); err != nil {
		return s, fmt.Errorf("load: %w", err)
	}
	var o outcome
	if err := b.ends.Decode(&o); err != nil {
		return s, errors.Join(ctx.Err(), fmt.Errorf("load: %w", err))
	}
	end, err := b.cpu(t.process)
	switch {
	case err != nil:
		return s, err
	case o.Error != "":
		return s, fmt.Errorf("%s: %s", t.gateway, o.Error)
	case o.Streams != t.job.Streams*t.job.Each:
		return s, fmt.Errorf("%s: %d streams, want %d", t.gateway, o.Streams, t.job.Streams*t.job.Each)
	}
	tokens := float64(o.Streams * b.o.Script.Tokens)
	s = sample{
		Streams: o.Streams, Tokens: int(tokens), Bytes: o.Bytes, Seconds: o.Took.Seconds(), TokensPerSecond: tokens / o.Took.Seconds(),
		Load: perThousand(end[1]-begin[1], tokens), Double: perThousand(end[2]-begin[2], tokens),
	}
	if t.process != b.double {
		s.CPU = perThousand(end[0]-begin[0], tokens)
	}
	return s, nil
}

// cpu reads the clocks of a gateway, the load and the double.
func (b *bench) cpu(gateway *process) (times [3]time.Duration, err error) {
	for i, p := range []*process{gateway, b.load, b.double} {
		if times[i], err = cpuTime(p.cmd.Process.Pid); err != nil {
			return times, err
		}
	}
	return times, nil
}

// perThousand is milliseconds of CPU per 1,000 tokens.
func perThousand(d time.Duration, tokens float64) float64 {
	return d.Seconds() * 1e3 / (tokens / 1e3)
}

// explain adds to an error what the processes said.
func (b *bench) explain(err error) error {
	for _, p := range b.all {
		if said := p.said(); said != "" {
			err = fmt.Errorf("%w%s", err, said)
		}
	}
	return err
}
