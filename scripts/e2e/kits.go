package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// clients are the client programs and the exact versions of what they are written for.
//
//go:embed clients
var clients embed.FS

// installLimit bounds the installation of one kit.
const installLimit = 8 * time.Minute

// nodeKit is Node and packages for it.
type nodeKit struct {
	dir     string // has node_modules
	node    string
	bin     string // folder of node
	claude  string // Claude Code's command
	scripts string // folder of the client programs of this run
}

// pythonKit is a virtual environment.
type pythonKit struct {
	python  string
	scripts string
}

var errNPM = errors.New("npm")

// kit installs into dir what manifests name, once for each content of theirs. A kit appears under its
// name when it is whole, so that a broken installation is never used.
func (st *stage) kit(ctx context.Context, name string, manifests []string, install func(ctx context.Context, dir string) error) (string, error) {
	h := sha256.New()
	for _, m := range manifests {
		b, err := clients.ReadFile("clients/" + m)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	final := filepath.Join(st.cache, fmt.Sprintf("%s-%s-%s-%s", name, runtime.GOOS, runtime.GOARCH, hex.EncodeToString(h.Sum(nil))[:12]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(st.cache, 0o750); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(st.cache, name+"-part-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(part) }()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	if err := unpack(part, manifests); err != nil {
		return "", err
	}
	if err := install(ctx, part); err != nil {
		return "", fmt.Errorf("%w: install %s: %w", errSkip, name, err)
	}
	if err := os.Rename(part, final); err != nil {
		// Another run may have been quicker.
		if _, statErr := os.Stat(final); statErr != nil {
			return "", err
		}
	}
	fmt.Fprintf(st.out, "installed the %s clients in %.0f s\n", name, time.Since(begun).Seconds())
	return final, nil
}

// unpack writes embedded files into dir.
func unpack(dir string, names []string) error {
	for _, n := range names {
		b, err := clients.ReadFile("clients/" + n)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(n)), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// scripts unpacks the client programs that match pattern into a folder of this run.
func (st *stage) scripts(name, pattern string) (string, error) {
	dir, err := st.folder("clients-" + name)
	if err != nil {
		return "", err
	}
	files, err := fs.Glob(clients, "clients/"+pattern)
	if err != nil {
		return "", err
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return dir, unpack(dir, files)
}

func (st *stage) installNode(ctx context.Context) (*nodeKit, error) {
	dir, err := st.kit(ctx, "node", []string{"package.json", "package-lock.json"}, npmCI)
	if err != nil {
		return nil, err
	}
	k := &nodeKit{dir: dir, bin: filepath.Join(dir, "node_modules", "node", "bin"), claude: filepath.Join(dir, "node_modules", ".bin", "claude")}
	k.node = filepath.Join(k.bin, "node")
	if _, err := os.Stat(k.node); err != nil {
		return nil, fmt.Errorf("%w: npm brought no node: %w", errSkip, err)
	}
	k.scripts, err = st.modules("node", "*.mjs", dir)
	return k, err
}

// npm installs a client that has a folder of its own in clients, so that it depends on no other.
func (st *stage) npm(ctx context.Context, name string) (dir string, err error) {
	return st.kit(ctx, name, []string{name + "/package.json", name + "/package-lock.json"}, npmCI)
}

// npmAgent is npm for a client with packages for machines of other kinds, which a registry may not have: its lock file
// names those of one kind, and its own manifest the versions of the others. Its scripts are run where it needs them.
func (st *stage) npmAgent(ctx context.Context, name string, scripts bool) (dir string, err error) {
	return st.kit(ctx, name, []string{name + "/package.json", name + "/package-lock.json"}, func(ctx context.Context, dir string) error {
		return npmDo(ctx, dir, scripts, "install", "--no-save")
	})
}

// npmCI installs what a lock file names.
func npmCI(ctx context.Context, dir string) error { return npmDo(ctx, dir, true, "ci") }

func npmDo(ctx context.Context, dir string, scripts bool, command ...string) error {
	npm, err := lookPath("npm")
	if err != nil {
		return err
	}
	// The packages of Node and of Claude Code put their binaries in place by a script.
	out, err := harness.Execute(ctx, dir, harness.InstallEnv("CI=true"), npm,
		append(command, "--no-audit", "--no-fund", "--ignore-scripts="+strconv.FormatBool(!scripts), "--loglevel=error", "--fetch-retries=2", "--fetch-retry-maxtimeout=15000")...)
	if err != nil {
		// What went wrong stands in npm's first lines; the last ones say where its log is.
		err = fmt.Errorf("%w: %.300s", errNPM, strings.Join(strings.Fields(strings.ReplaceAll(out.Stderr, "npm error ", "")), " "))
	}
	return err
}

// modules unpacks client programs beside a link to the modules of a kit: they are looked up from where a program lies.
func (st *stage) modules(name, pattern, kit string) (string, error) {
	dir, err := st.scripts(name, pattern)
	if err != nil {
		return "", err
	}
	return dir, os.Symlink(filepath.Join(kit, "node_modules"), filepath.Join(dir, "node_modules"))
}

func (st *stage) installPython(ctx context.Context) (*pythonKit, error) {
	dir, err := st.kit(ctx, "python", []string{"requirements.txt"}, func(ctx context.Context, dir string) error {
		python, err := lookPath("python3", "python")
		if err != nil {
			return err
		}
		if _, err := harness.Execute(ctx, dir, harness.InstallEnv(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"); err != nil {
			return fmt.Errorf("the clients need Python 3.10 or later: %w", err)
		}
		if _, err := harness.Execute(ctx, dir, harness.InstallEnv(), python, "-m", "venv", "venv"); err != nil {
			return err
		}
		_, err = harness.Execute(ctx, dir, harness.InstallEnv(), filepath.Join("venv", "bin", "python"), "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:", "-r", "requirements.txt")
		return err
	})
	if err != nil {
		return nil, err
	}
	scripts, err := st.scripts("python", "*.py")
	k := &pythonKit{python: filepath.Join(dir, "venv", "bin", "python"), scripts: scripts}
	if _, statErr := os.Stat(k.python); statErr != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", errSkip, statErr))
	}
	return k, err
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
