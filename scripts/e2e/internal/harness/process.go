package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Output is what a process left.
type Output struct {
	Stdout, Stderr string
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

// Execute runs a process to its end. When ctx ends, its whole process group is killed. A process that
// fails gives an error with the last thing it said.
func Execute(ctx context.Context, dir string, env []string, name string, args ...string) (Output, error) {
	return ExecuteTyping(ctx, dir, env, bytes.NewReader(nil), name, args...)
}

// ExecuteTyping is Execute for a process that reads.
func ExecuteTyping(ctx context.Context, dir string, env []string, stdin io.Reader, name string, args ...string) (Output, error) {
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Stdin = stdin
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	err := cmd.Run()
	out := Output{Stdout: stdout.String(), Stderr: stderr.String()}
	if err == nil {
		return out, nil
	}
	// A process that ends in an error may leave children behind, which are in its group.
	_ = killGroup(cmd)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out.Reason())
}

// Reason is what a client program says it is, else the last line of the errors, or of the output.
func (e Output) Reason() string {
	text := strings.TrimSpace(e.Stderr)
	if text == "" {
		text = strings.TrimSpace(e.Stdout)
	}
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if reason, ok := strings.CutPrefix(line, "FAIL: "); ok {
			return reason
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

// CleanEnv is an environment with a home of its own and nothing that would change what a client does.
func CleanEnv(home string, extra ...string) []string {
	env := append(inherit(kept...), "HOME="+home, "NO_PROXY=127.0.0.1,localhost")
	return append(env, extra...)
}

// InstallEnv is the environment of package managers.
func InstallEnv(extra ...string) []string {
	return append(inherit(append(kept, forInstall...)...), extra...)
}

// CopyFile writes a copy under a name that only appears when it is whole.
func CopyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return WriteWhole(to, b)
}

// WriteWhole writes a file that only appears when it is whole.
func WriteWhole(path string, b []byte) error {
	part := path + ".part"
	return errors.Join(os.WriteFile(part, b, 0o600), os.Rename(part, path))
}

var _ io.Writer = (*tail)(nil)
