package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	qwenFile     = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
	gemmaFile    = "gemma-3-270m-q4_k_m.gguf"
	alias        = "m" // the engine's name of its model
	installLimit = 15 * time.Minute
	readyLimit   = 2 * time.Minute
	// idleLimit is how long a connection to the engine is kept without a request. The engine closes its own
	// after 5 s, and a request that comes at that moment is lost.
	idleLimit = time.Second
)

// lab is where llama.cpp and the models are installed.
type lab struct {
	dir, scripts string
	threads      int // of the engine
}

func (l *lab) model(file string) string { return filepath.Join(l.dir, "models", file) }

func (l *lab) python() string { return filepath.Join(l.dir, "venv-llama", "bin", "python") }

// install fetches llama.cpp and the models if they are not there.
func (l *lab) install(ctx context.Context, out io.Writer) error {
	if errors.Join(exists(l.model(qwenFile)), exists(l.model(gemmaFile)), exists(l.python())) == nil {
		return nil
	}
	begun := time.Now()
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	env := harness.InstallEnv("LAB="+l.dir, "QWEN=1")
	if _, err := harness.Execute(ctx, l.dir, env, "bash", filepath.Join(l.scripts, "setup_llamacpp.sh")); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	fmt.Fprintf(out, "installed in %.0f s\n", time.Since(begun).Seconds())
	return nil
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}

// engine is llama.cpp's server.
type engine struct {
	url    string
	cmd    *exec.Cmd
	ended  chan struct{}
	client http.Client
}

// startEngine serves a model on a free port. The engine is ended by stop, or ends itself after 20 minutes.
func startEngine(ctx context.Context, l *lab, file string, out io.Writer) (*engine, error) {
	e := &engine{ended: make(chan struct{}), client: http.Client{Transport: &http.Transport{IdleConnTimeout: idleLimit}}}
	begun := time.Now()
	e.cmd = exec.CommandContext(context.WithoutCancel(ctx), l.python(), filepath.Join(l.scripts, "serve_gemma.py"),
		"--port", "0", "--model", l.model(file), "--alias", alias, "--special", "--seconds", "1200", "--threads", strconv.Itoa(l.threads))
	e.cmd.Env = harness.InstallEnv("LAB=" + l.dir)
	var log bytes.Buffer
	e.cmd.Stderr = &log
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		defer close(e.ended)
		lines := bufio.NewScanner(stdout)
		for told := false; lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok && !told {
				told = true
				ready <- strings.TrimRight(url, "/")
			}
		}
		_ = e.cmd.Wait() // it is killed in the end
	}()
	t := time.NewTimer(readyLimit)
	defer t.Stop()
	select {
	case e.url = <-ready:
		fmt.Fprintf(out, "engine with %s ready in %.1f s\n", file, time.Since(begun).Seconds())
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

// stop ends the engine and waits for it.
func (e *engine) stop() {
	e.client.CloseIdleConnections()
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

// refusalError is an answer of the engine that is not a success.
type refusalError struct {
	path   string
	status int
	body   string
}

func (r *refusalError) Error() string {
	return fmt.Sprintf("%s: status %d: %.300s", r.path, r.status, r.body)
}

// call sends a request to the engine, a POST if there is a body. A status other than 200 is a *refusalError.
func (e *engine) call(ctx context.Context, path string, body any) ([]byte, error) {
	method, r := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, r = http.MethodPost, bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, e.url+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = &refusalError{path, res.StatusCode, string(b)}
	}
	return b, err
}

// ask is call with an answer in JSON.
func (e *engine) ask(ctx context.Context, path string, body, into any) error {
	b, err := e.call(ctx, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w in %.300s", path, err, b)
	}
	return nil
}

// metric reads one of the engine's counters.
func (e *engine) metric(ctx context.Context, name string) (float64, error) {
	b, err := e.call(ctx, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	return harness.SumMetric(bytes.NewReader(b), name)
}

// tokenize gives the engine's ids of content: a text, or texts and ids in a list. Without special the
// texts of control tokens are no tokens.
func (e *engine) tokenize(ctx context.Context, content any, special bool) ([]uint32, error) {
	var out struct {
		Tokens []uint32 `json:"tokens"`
	}
	err := e.ask(ctx, "/tokenize", object{"content": content, "add_special": false, "parse_special": special}, &out)
	return out.Tokens, err
}

// template gives the prompt that the engine makes of a chat completion's body.
func (e *engine) template(ctx context.Context, body json.RawMessage) (string, error) {
	var out struct {
		Prompt *string `json:"prompt"`
	}
	if err := e.ask(ctx, "/apply-template", body, &out); err != nil {
		return "", err
	}
	if out.Prompt == nil {
		return "", errors.New("/apply-template answers without a prompt")
	}
	return *out.Prompt, nil
}

// count gives the number of tokens that the engine says a prompt has when it runs it.
func (e *engine) count(ctx context.Context, ids []uint32) (int, error) {
	var out struct {
		Usage harness.ChatUsage `json:"usage"`
	}
	err := e.ask(ctx, "/v1/completions", object{"model": alias, "prompt": ids, "max_tokens": 1, "temperature": 0}, &out)
	return out.Usage.Prompt, err
}
