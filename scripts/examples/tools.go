package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool builds the examples of one language.
type tool struct {
	lang    string
	command []string // prints the version
	needs   []string // what else must be there: each prints anything and succeeds
	kept    bool     // the modules are small and the tool can be had, so they are in the repository
	instead string   // language whose tool builds the sources too, where this one is missing
	install func(cache, bin string) error
}

// Versions that are installed where the tool is missing.
const (
	zigVersion = "0.17.1"
	ascVersion = "0.28.20"
)

var tools = [...]tool{
	{lang: "go", command: []string{"go", "version"}},
	{lang: "c", command: []string{"clang", "--version"}, needs: []string{"wasm-ld --version"}, kept: true, install: installClang},
	{lang: "rust", command: []string{"rustc", "--version"}, needs: []string{"cargo --version", "rustc --print target-libdir --target wasm32-unknown-unknown"}, kept: true, install: installRust},
	{lang: "zig", command: []string{"zig", "version"}, kept: true, install: installZig},
	{lang: "assemblyscript", command: []string{"asc", "--version"}, kept: true, install: installAsc},
	{lang: "tinygo", command: []string{"tinygo", "version"}, instead: "go"},
}

// version is the first line that the tool prints of itself.
func (t tool) version() (string, error) {
	if _, err := exec.LookPath(t.command[0]); err != nil {
		return "", err
	}
	for _, n := range t.needs {
		words := strings.Fields(n)
		out, err := exec.Command(words[0], words[1:]...).Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", n, err)
		}
		if dir := strings.TrimSpace(string(out)); strings.Contains(n, "target-libdir") {
			if _, err := os.Stat(dir); err != nil {
				return "", err
			}
		}
	}
	out, err := exec.Command(t.command[0], t.command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(t.command, " "), err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// installClang needs Debian and the right to install packages: clang has no package that a folder takes.
func installClang(string, string) error {
	if os.Getuid() != 0 {
		return errors.New("clang and lld are not there, and only root can install them (apt-get install clang lld)")
	}
	if err := do("apt-get", "update"); err != nil {
		return err
	}
	return do("apt-get", "install", "-y", "--no-install-recommends", "clang", "lld")
}

func installRust(string, string) error {
	return do("rustup", "target", "add", "wasm32-unknown-unknown")
}

// installZig takes the compiler from its Python package.
func installZig(cache, bin string) error {
	dir := filepath.Join(cache, "ziglang")
	if err := do("python3", "-m", "pip", "install", "--quiet", "--target", dir, "ziglang=="+zigVersion); err != nil {
		return err
	}
	return link(filepath.Join(dir, "ziglang", "zig"), filepath.Join(bin, "zig"))
}

func installAsc(cache, bin string) error {
	dir := filepath.Join(cache, "assemblyscript")
	if err := do("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "assemblyscript@"+ascVersion); err != nil {
		return err
	}
	return link(filepath.Join(dir, "node_modules", ".bin", "asc"), filepath.Join(bin, "asc"))
}

func link(to, from string) error {
	if err := os.Remove(from); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(to, from)
}

// do runs a command and tells the end of what it printed if it fails.
func do(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(out))
	}
	return nil
}

func tail(b []byte) string {
	const most = 300
	s := strings.TrimSpace(string(b))
	if len(s) > most {
		s = ".." + s[len(s)-most:]
	}
	return s
}
