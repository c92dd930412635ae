package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

const (
	modelFile    = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
	installLimit = 15 * time.Minute
	readyLimit   = 2 * time.Minute
)

// engine is llama.cpp's server.
type engine struct {
	url   string
	cmd   *exec.Cmd
	ended chan struct{}
}

// startEngine installs llama.cpp and the model if they are not there, and starts them.
func startEngine(ctx context.Context, lab, shared string, port int, out io.Writer) (*engine, error) {
	model := filepath.Join(lab, "models", modelFile)
	python := filepath.Join(lab, "venv-llama", "bin", "python")
	if errors.Join(exists(model), exists(python)) != nil {
		begun := time.Now()
		if err := os.MkdirAll(lab, 0o750); err != nil {
			return nil, err
		}
		install, cancel := context.WithTimeout(ctx, installLimit)
		defer cancel()
		if _, err := harness.Execute(install, lab, harness.InstallEnv("LAB="+lab, "QWEN=1"), "bash", filepath.Join(shared, "setup_llamacpp.sh")); err != nil {
			return nil, fmt.Errorf("install: %w", err)
		}
		fmt.Fprintf(out, "installed in %.0f s\n", time.Since(begun).Seconds())
	}
	e := &engine{url: "http://127.0.0.1:" + strconv.Itoa(port), ended: make(chan struct{})}
	if _, err := e.get(ctx, "/health"); err == nil {
		return nil, fmt.Errorf("something answers at %s already", e.url)
	}
	begun := time.Now()
	// The engine is ended by stop, or ends itself after 20 minutes.
	e.cmd = exec.CommandContext(context.WithoutCancel(ctx), python, filepath.Join(shared, "serve_gemma.py"),
		"--port", strconv.Itoa(port), "--model", model, "--alias", "qwen", "--special", "--seconds", "1200")
	e.cmd.Env = harness.InstallEnv("LAB=" + lab)
	var log bytes.Buffer
	e.cmd.Stderr = &log
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(e.ended)
		lines := bufio.NewScanner(stdout)
		for told := false; lines.Scan(); {
			if !told && strings.HasPrefix(lines.Text(), "ready ") {
				told = true
				close(ready)
			}
		}
		_ = e.cmd.Wait() // it is killed in the end
	}()
	t := time.NewTimer(readyLimit)
	defer t.Stop()
	select {
	case <-ready:
		fmt.Fprintf(out, "engine ready in %.1f s\n", time.Since(begun).Seconds())
		return e, nil
	case <-e.ended:
		text := log.String()
		return nil, fmt.Errorf("the engine ended: %s", text[max(0, len(text)-600):])
	case <-t.C:
		e.stop()
		return nil, fmt.Errorf("the engine is not ready after %v", readyLimit)
	case <-ctx.Done():
		e.stop()
		return nil, context.Cause(ctx)
	}
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}

// stop ends the engine and waits for it.
func (e *engine) stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-e.ended:
	case <-t.C:
		_ = e.cmd.Process.Kill() // as above
		<-e.ended
	}
}

func (e *engine) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", path, res.StatusCode)
	}
	return b, err
}

// metric reads one of the engine's counters.
func (e *engine) metric(ctx context.Context, name string) (float64, error) {
	b, err := e.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	return harness.SumMetric(bytes.NewReader(b), name)
}
