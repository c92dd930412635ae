package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ended is what a process left.
type ended struct {
	stdout, stderr string
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 4 << 20

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - maxTail; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// execute runs a process to its end. When ctx ends, its whole process group is killed. A process that
// fails gives an error with the last thing it said.
func execute(ctx context.Context, dir string, env []string, name string, args ...string) (ended, error) {
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Stdin = bytes.NewReader(nil)
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	err := cmd.Run()
	out := ended{stdout: stdout.String(), stderr: stderr.String()}
	if err == nil {
		return out, nil
	}
	// A process that ends in an error may leave children behind, which are in its group.
	_ = killGroup(cmd)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out.reason())
}

// reason is the last line of the errors, or of the output where there is none.
func (e ended) reason() string {
	text := strings.TrimSpace(e.stderr)
	if text == "" {
		text = strings.TrimSpace(e.stdout)
	}
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "FAIL: ") {
			return strings.TrimPrefix(lines[i], "FAIL: ")
		}
	}
	return lines[len(lines)-1]
}

// kept are the variables of the environment that every process gets.
var kept = []string{"PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// forInstall are those that reach package registries.
var forInstall = []string{
	"HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS",
	"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_CONFIG_FILE", "NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "PYENV_ROOT", "PYENV_VERSION",
}

func inherit(names ...string) []string {
	var env []string
	for _, n := range names {
		if v, ok := os.LookupEnv(n); ok {
			env = append(env, n+"="+v)
		}
	}
	return env
}

// clean is an environment with a home of its own and nothing that would change what a client does.
func clean(home string, extra ...string) []string {
	env := append(inherit(kept...), "HOME="+home, "NO_PROXY=127.0.0.1,localhost")
	return append(env, extra...)
}

// installing is the environment of package managers.
func installing(extra ...string) []string {
	return append(inherit(append(kept, forInstall...)...), extra...)
}

// lookPath finds a command, or says that it is not there.
func lookPath(names ...string) (string, error) {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not installed", errSkip, strings.Join(names, " or "))
}

// copyFile writes a copy under a name that only appears when it is whole.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeWhole(to, b)
}

func writeWhole(path string, b []byte) error {
	part := path + ".part"
	return errors.Join(os.WriteFile(part, b, 0o600), os.Rename(part, path))
}

var _ io.Writer = (*tail)(nil)
