package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stage is what the scenarios share: folders, the built weir, the installed clients.
type stage struct {
	work   string // this run's folder, removed at its end
	cache  string // outlives runs
	weir   string
	out    io.Writer
	node   *nodeKit
	python *pythonKit
	why    map[need]error // why a kit is not there
}

// prepare builds weir and installs what the scenarios need.
func (st *stage) prepare(ctx context.Context, chosen []scenario) error {
	needed := map[need]bool{}
	for _, s := range chosen {
		needed[s.needs] = true
	}
	if st.weir == "" {
		begun := time.Now()
		st.weir = filepath.Join(st.work, "weir")
		if err := goBuild(ctx, nil, st.weir, "./gateway/cmd/weir"); err != nil {
			return err
		}
		fmt.Fprintf(st.out, "built weir in %.1f s\n", time.Since(begun).Seconds())
	}
	st.why = map[need]error{}
	if needed[needNode] {
		st.node, st.why[needNode] = st.installNode(ctx)
	}
	if needed[needPython] {
		st.python, st.why[needPython] = st.installPython(ctx)
	}
	return ctx.Err()
}

// missing is why a need is not met, or nil.
func (st *stage) missing(n need) error { return st.why[n] }

// goBuild builds a package of this module. The tool runs anywhere inside it.
func goBuild(ctx context.Context, env []string, out string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	res, err := execute(ctx, root, append(os.Environ(), env...), "go", append([]string{"build", "-o", out}, args...)...)
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", args[len(args)-1], err, res.stderr)
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	res, err := execute(ctx, "", os.Environ(), "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(res.stdout)
	if file == "" || file == os.DevNull {
		return "", errors.New("run this inside the module")
	}
	return filepath.Dir(file), nil
}

// folder makes a folder of this run.
func (st *stage) folder(parts ...string) (string, error) {
	dir := filepath.Join(append([]string{st.work}, parts...)...)
	return dir, os.MkdirAll(dir, 0o700)
}

// server is a running weir.
type server struct {
	url    string // without a slash at the end
	admin  string // the same, of the admin address
	model  string // the first one of /v1/models
	config string // the configuration file
	home   string
	cmd    *exec.Cmd
	log    *tail
	ended  chan struct{}
	err    error // of the process, once ended is closed
}

// startLimit is how long weir may take until it serves; it compiles its plugins first.
const startLimit = 60 * time.Second

// start runs `weir serve` with a home of its own and waits until it listens.
func (st *stage) start(ctx context.Context, name, config string) (*server, error) {
	home, err := st.folder(name)
	if err != nil {
		return nil, err
	}
	admin, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{
		home: home, config: filepath.Join(home, "weir.toml"), admin: "http://" + admin,
		log: &tail{}, ended: make(chan struct{}),
	}
	if err := writeWhole(s.config, []byte(strings.ReplaceAll(config, "ADMIN", admin))); err != nil {
		return nil, err
	}
	// The process outlives ctx, which ends with a scenario; stop ends it.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), st.weir, "serve", "--listen", "127.0.0.1:0", "--config", s.config) //nolint:contextcheck // see above
	s.cmd.Dir = home
	s.cmd.Env = clean(home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CACHE_HOME="+filepath.Join(st.work, "weir-cache"))
	s.cmd.Stderr = s.log
	ownGroup(s.cmd)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start weir: %w", err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(s.log, lines.Text())
			if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				select {
				case listening <- strings.TrimRight(strings.Fields(url)[0], "/"):
				default:
				}
			}
		}
		s.err = s.cmd.Wait()
	}()
	t := time.NewTimer(startLimit)
	defer t.Stop()
	select {
	case s.url = <-listening:
		if err := s.firstModel(ctx); err != nil {
			return nil, errors.Join(err, s.kill())
		}
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("weir ended before it listened (%w): %s", s.err, s.logTail(5))
	case <-t.C:
		return nil, errors.Join(fmt.Errorf("weir does not listen after %v: %s", startLimit, s.logTail(5)), s.kill())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.kill())
	}
}

// freePort finds an address for a listener that does not say where it listens.
func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

func (s *server) firstModel(ctx context.Context) error {
	var list modelList
	if _, err := s.getJSON(ctx, "/v1/models", &list); err != nil {
		return err
	}
	if len(list.Data) == 0 {
		return errors.New("/v1/models is empty")
	}
	s.model = list.Data[0].ID
	return nil
}

// stopLimit is more than the longest grace that a configuration here gives.
const stopLimit = 20 * time.Second

// stop asks the server to end and checks that it does so well.
func (s *server) stop() (time.Duration, error) {
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
	for _, word := range []string{"panic:", "DATA RACE", "level=ERROR"} {
		if log := s.log.String(); strings.Contains(log, word) {
			at := strings.Index(log, word)
			return took, fmt.Errorf("the log has %q: %.300s", word, log[at:])
		}
	}
	return took, nil
}

func (s *server) kill() error {
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

// logTail is the last lines of the log.
func (s *server) logTail(n int) string {
	lines := strings.SplitAfter(s.log.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}
