// Package rig runs the processes of a benchmark.
package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Rig is the processes of one benchmark and a folder for them; both end with it. It is not safe for
// concurrent use.
type Rig struct {
	name string
	log  io.Writer
	dir  string
	all  []*Process
}

// New makes the folder. name stands before what is said to log. Close must follow.
func New(name string, log io.Writer) (*Rig, error) {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	return &Rig{name: name, log: log, dir: dir}, nil
}

// Close ends the processes, the last one first, and removes the folder.
func (r *Rig) Close() {
	for _, p := range slices.Backward(r.all) {
		if err := p.end(); err != nil {
			r.Say("%v", err)
		}
	}
	_ = os.RemoveAll(r.dir) // in the system's folder for temporary files
}

// Dir is the folder.
func (r *Rig) Dir() string { return r.dir }

// Say writes a line for the user.
func (r *Rig) Say(format string, args ...any) {
	fmt.Fprintf(r.log, r.name+": "+format+"\n", args...)
}

// Command is a command with a home of its own in the folder, away from the user's plugins and caches. It
// ends with ctx, and with this process.
func (r *Rig) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = endTimeout
	home := filepath.Join(r.dir, "home")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home)
	tie(cmd)
	return cmd
}

// Start starts a process with pipes to and from it.
func (r *Rig) Start(ctx context.Context, name string, argv ...string) (*Process, error) {
	p, err := start(r.Command(ctx, argv...), name, filepath.Join(r.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	r.all = append(r.all, p)
	return p, nil
}

// Server starts this program again as a server, see Serve: its arguments are a role and what it is told.
func (r *Rig) Server(ctx context.Context, role string, told any) (*Process, error) {
	p, err := r.Worker(ctx, role, told)
	if err != nil {
		return nil, err
	}
	return p, p.ready()
}

// Worker starts this program again as one that does jobs, see Work.
func (r *Rig) Worker(ctx context.Context, role string, told any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arg, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return r.Start(ctx, role, self, role, string(arg))
}

// Build returns the path of weir: the one given, or one that it builds.
func (r *Rig) Build(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	binary := filepath.Join(r.dir, "weir")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/weirgate/weir/gateway/cmd/weir")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build weir: %w\n%s", err, out)
	}
	return binary, nil
}

// Weir starts weir with a configuration, the text of a TOML file, on a port of its own.
func (r *Rig) Weir(ctx context.Context, binary, config string) (*Process, error) {
	if err := os.WriteFile(r.ConfigFile(), []byte(config), 0o600); err != nil {
		return nil, err
	}
	p, err := r.Start(ctx, "weir", binary, "serve", "--config", r.ConfigFile(), "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return p, p.ready()
}

// ConfigFile is the path of Weir's configuration.
func (r *Rig) ConfigFile() string { return filepath.Join(r.dir, "weir.toml") }

// Explain adds to an error what the processes said.
func (r *Rig) Explain(err error) error {
	for _, p := range r.all {
		if said := p.said(); said != "" {
			err = fmt.Errorf("%w%s", err, said)
		}
	}
	return err
}

// Spent does work and returns the CPU time that processes spent meanwhile: user and system, of all their
// threads.
func Spent(work func() error, processes ...*Process) ([]time.Duration, error) {
	begin, err := clocks(processes)
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	end, err := clocks(processes)
	if err != nil {
		return nil, err
	}
	for i := range end {
		end[i] -= begin[i]
	}
	return end, nil
}

func clocks(processes []*Process) ([]time.Duration, error) {
	times := make([]time.Duration, len(processes))
	for i, p := range processes {
		var err error
		if times[i], err = cpuTime(p.cmd.Process.Pid); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// Rounds calls measure for each of n things, rounds times, and says how far it is with what. Every other
// round goes backwards, so that a drift of the machine favours nobody.
func (r *Rig) Rounds(ctx context.Context, what string, rounds, n int, measure func(i int) error) error {
	for round := range rounds {
		r.Say("%s: round %d of %d", what, round+1, rounds)
		for i := range n {
			if round%2 == 1 {
				i = n - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := measure(i); err != nil {
				return err
			}
		}
	}
	return nil
}
