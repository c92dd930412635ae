// Package harness starts weir and client programs, and reads what they say as a client would.
package harness

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

// Server is a running weir.
type Server struct {
	URL   string // without a slash at the end
	Admin string // the same, of the admin address
	Model string // the first one of /v1/models
	Home  string

	cmd   *exec.Cmd
	log   tail
	ended chan struct{}
	err   error // of the process, once ended is closed
}

// startLimit is how long weir may take until it serves; it compiles its plugins first.
const startLimit = 60 * time.Second

// Start runs `weir serve` with a home of its own, which holds its configuration as weir.toml, and waits
// until it listens. Compiled plugins are kept in cache.
func Start(ctx context.Context, weir, home, cache, config string) (*Server, error) {
	s := &Server{Home: home, ended: make(chan struct{})}
	file := filepath.Join(home, "weir.toml")
	if err := errors.Join(os.MkdirAll(home, 0o700), WriteWhole(file, []byte(config))); err != nil {
		return nil, err
	}
	// The process outlives ctx, which ends with a scenario; Stop ends it.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), weir, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config", file)
	s.cmd.Dir = home
	s.cmd.Env = CleanEnv(home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CACHE_HOME="+cache)
	s.cmd.Stderr = &s.log
	ownGroup(s.cmd)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start weir: %w", err)
	}
	ready := make(chan struct{})
	go s.watch(out, ready)
	t := time.NewTimer(startLimit)
	defer t.Stop()
	select {
	case <-ready:
		if err := s.firstModel(ctx); err != nil {
			return nil, errors.Join(err, s.kill())
		}
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("weir ended before it listened (%w): %s", s.err, s.LogTail(5))
	case <-t.C:
		return nil, errors.Join(fmt.Errorf("weir does not listen after %v: %s", startLimit, s.LogTail(5)), s.kill())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.kill())
	}
}

// watch reads what weir prints until it ends. ready is closed when both addresses were printed.
func (s *Server) watch(out io.Reader, ready chan<- struct{}) {
	defer close(s.ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Fprintln(&s.log, lines.Text())
		before := s.URL != "" && s.Admin != ""
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok && s.URL == "" {
			s.URL = strings.TrimRight(url, "/")
		} else if url, ok := strings.CutPrefix(lines.Text(), "metrics and health on "); ok && s.Admin == "" {
			s.Admin = strings.TrimRight(url, "/")
		}
		if !before && s.URL != "" && s.Admin != "" {
			close(ready)
		}
	}
	s.err = s.cmd.Wait()
}

func (s *Server) firstModel(ctx context.Context) error {
	var models ModelList
	if _, err := s.GetJSON(ctx, "/v1/models", &models); err != nil {
		return err
	}
	if len(models.Data) == 0 {
		return errors.New("/v1/models is empty")
	}
	s.Model = models.Data[0].ID
	return nil
}

// stopLimit is more than the longest grace that a configuration here gives.
const stopLimit = 20 * time.Second

// Stop asks the server to end and checks that it does so well.
func (s *Server) Stop() (time.Duration, error) {
	begun := time.Now()
	select {
	case <-s.ended:
		return 0, fmt.Errorf("weir had ended: %w", errOr(s.err, "exit code 0"))
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, errors.Join(err, s.kill())
	}
	t := time.NewTimer(stopLimit)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
		return time.Since(begun), errors.Join(fmt.Errorf("weir runs %v after SIGTERM", stopLimit), s.kill())
	}
	took := time.Since(begun)
	if s.err != nil {
		return took, fmt.Errorf("weir ended badly: %w", s.err)
	}
	return took, nil
}

// Complaint is an error in the log that is not an expected one.
func (s *Server) Complaint(expected string) error {
	for line := range strings.Lines(s.log.String()) {
		bad := strings.Contains(line, "panic:") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "level=ERROR")
		if bad && (expected == "" || !strings.Contains(line, expected)) {
			return fmt.Errorf("the log has: %s", line)
		}
	}
	return nil
}

func (s *Server) kill() error {
	err := killGroup(s.cmd)
	<-s.ended
	return err
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// LogTail is the last lines of the log, long ones cut.
func (s *Server) LogTail(n int) string {
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = l[:min(len(l), 400)]
	}
	return strings.Join(lines, "\n") + "\n"
}

// Log is what the server wrote, the last megabytes of it.
func (s *Server) Log() string { return s.log.String() }
