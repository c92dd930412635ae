package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Bounds of a process's life.
const (
	readyTimeout = 60 * time.Second // weir compiles its plugins first
	endTimeout   = 5 * time.Second
)

// process is a child with a pipe to its standard input, which ends with it, and one from its output.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	addr   string // host:port, of a server
	stderr string // file of what it says
}

// start starts a child whose errors go to a file in dir. It ends with ctx.
func start(ctx context.Context, dir, name string, argv ...string) (*process, error) {
	p := &process{name: name, stderr: filepath.Join(dir, name+".log")}
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = endTimeout
	// A home of its own keeps weir away from the user's plugins and caches.
	home := filepath.Join(dir, "home")
	p.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home)
	log, err := os.Create(p.stderr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd.Stderr = log
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// ready waits for a server to say its address.
func (p *process) ready() error {
	late := time.AfterFunc(readyTimeout, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	for {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s did not start: %w%s", p.name, err, p.said())
		}
		if addr, ok := strings.CutPrefix(strings.TrimSpace(line), announcement); ok {
			p.addr = addr
			return nil
		}
	}
}

// said is the end of what the process wrote to its standard error.
func (p *process) said() string {
	b, err := os.ReadFile(p.stderr)
	if err != nil || len(b) == 0 {
		return ""
	}
	return "\n" + p.name + " said: ..." + string(b[max(0, len(b)-2000):])
}

// end ends the process: by its standard input, or by a signal, or by force.
func (p *process) end() error {
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
