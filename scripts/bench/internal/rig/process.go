package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Bounds of a process's life.
const (
	readyTimeout = 60 * time.Second // weir compiles its plugins first
	endTimeout   = 5 * time.Second
)

// announcement is what a server prints when it is ready, before its address.
const announcement = "listening on http://"

// Process is a child with a pipe to its standard input, with which it ends, and one from its output.
type Process struct {
	Addr string // host:port, of a server

	name    string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	jobs    *json.Encoder // to stdin
	answers *json.Decoder // from stdout
	stderr  string        // file of what it says
}

// start starts a child whose errors go to a file.
func start(cmd *exec.Cmd, name, stderr string) (*Process, error) {
	p := &Process{name: name, cmd: cmd, stderr: stderr}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := os.Create(stderr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stderr = log
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(out)
	p.jobs, p.answers = json.NewEncoder(p.stdin), json.NewDecoder(p.stdout)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// ready waits for a server to say its address.
func (p *Process) ready() error {
	late := time.AfterFunc(readyTimeout, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	for {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s did not start: %w%s", p.name, err, p.said())
		}
		if addr, ok := strings.CutPrefix(strings.TrimSpace(line), announcement); ok {
			p.Addr = addr
			return nil
		}
	}
}

// Do has a worker do a job and waits for its answer.
func (p *Process) Do(job, answer any) error {
	if err := p.jobs.Encode(job); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.answers.Decode(answer); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// said is the end of what the process wrote to its standard error.
func (p *Process) said() string {
	b, err := os.ReadFile(p.stderr)
	if err != nil || len(b) == 0 {
		return ""
	}
	return "\n" + p.name + " said: ..." + string(b[max(0, len(b)-2000):])
}

// end ends the process: by its standard input, or by a signal, or by force.
func (p *Process) end() error {
	_ = p.stdin.Close()
	signal := time.AfterFunc(endTimeout/10, func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
	kill := time.AfterFunc(endTimeout, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	signal.Stop()
	kill.Stop()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// Serve is what a Server does: it listens on loopback, says where, and serves until stdin ends, whose other
// end is held by the process that started this one.
func Serve(ctx context.Context, stdin io.Reader, stdout io.Writer, serve func(context.Context, net.Listener) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an end by an error is an end
		cancel()
	}()
	if _, err := fmt.Fprintf(stdout, "%s%s\n", announcement, ln.Addr()); err != nil {
		return err
	}
	return serve(ctx, ln)
}

// Work is what a Worker does: it answers jobs, one after the other, until in ends.
func Work[Job, Answer any](in io.Reader, out io.Writer, do func(*Job) Answer) error {
	jobs, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j Job
		switch err := jobs.Decode(&j); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a job: %w", err)
		}
		if err := answers.Encode(do(&j)); err != nil {
			return fmt.Errorf("answer a job: %w", err)
		}
	}
}
