package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Languages of the examples.
const (
	langGo     = "go"
	langC      = "c"
	langRust   = "rust"
	langZig    = "zig"
	langAS     = "assemblyscript"
	langTinyGo = "tinygo"
)

// ErrTool is wrapped where the tool that builds a project is not there.
var ErrTool = errors.New("tool not found")

// toolchain builds the projects of one language.
type toolchain struct {
	lang    string
	sign    string     // a file that only projects of this language have
	tools   [][]string // the ways to call the tool, best first
	args    []string   // OUT stands for the module to make
	env     []string
	result  string // where the tool puts the module, if it cannot be told
	install string // what to do where the tool is not there
}

var toolchains = [...]toolchain{
	{
		lang: langTinyGo, sign: "tinygo.go", tools: [][]string{{"tinygo"}},
		args: []string{
			"build", "-target=wasip1", "-buildmode=c-shared", "-opt=2", "-no-debug", "-panic=trap", "-scheduler=none", "-gc=leaking", "-o", "OUT", ".",
		},
		install: "see https://tinygo.org/getting-started/install, 0.35 or later",
	},
	{
		lang: langGo, sign: "main.go", tools: [][]string{{"go"}}, env: []string{"GOOS=wasip1", "GOARCH=wasm"},
		args:    []string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", "OUT", "."},
		install: "see https://go.dev/dl, 1.26 or later",
	},
	{
		lang: langC, sign: "plugin.c", tools: [][]string{{"clang"}},
		args: []string{
			"--target=wasm32", "-mcpu=mvp", "-std=c11", "-Wall", "-Wextra", "-O2", "-nostdlib",
			"-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=8192", "-o", "OUT", "plugin.c",
		},
		install: "apt-get install clang lld, or brew install llvm lld; wasm-ld of lld must be there too",
	},
	{
		lang: langRust, sign: "Cargo.toml", tools: [][]string{{"cargo"}},
		args:    []string{"rustc", "--release", "--target", "wasm32-unknown-unknown", "--", "-C", "link-arg=-zstack-size=8192"},
		result:  "target/wasm32-unknown-unknown/release/plugin.wasm",
		install: "see https://rustup.rs, then rustup target add wasm32-unknown-unknown",
	},
	{
		lang: langZig, sign: "plugin.zig", tools: [][]string{{"zig"}, {"python3", "-m", "ziglang"}},
		args: []string{
			"build-exe", "plugin.zig", "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic", "-O", "ReleaseSmall", "-fstrip", "--stack", "8192", "-femit-bin=OUT",
		},
		install: "pip install ziglang==0.17.1, or see https://ziglang.org/download",
	},
	{
		lang: langAS, sign: "plugin.ts", tools: [][]string{{"node_modules/.bin/asc"}, {"asc"}},
		args: []string{
			"plugin.ts", "--runtime", "stub", "--use", "abort=", "--optimizeLevel", "3", "--shrinkLevel", "1", "--converge", "--noAssert", "--outFile", "OUT",
		},
		install: "npm install in the project, or npm install -g assemblyscript",
	},
}

// Languages are those that New writes and Build builds.
func Languages() []string { return []string{langGo, langC, langRust, langZig, langAS, langTinyGo} }

// BuildOptions says how a project is built.
type BuildOptions struct {
	Dir  string
	Lang string    // empty: told from the files in Dir
	Out  string    // file to write; empty means NAME.wasm in Dir, by the manifest
	Log  io.Writer // what the tool prints
}

// Build runs the tool of a project's language and returns the file of the module. A module that the gateway
// would not take is an error, and stays there as plugin.wasm to be looked into.
func Build(ctx context.Context, o BuildOptions) (string, error) {
	t, err := chain(o.Dir, o.Lang)
	if err != nil {
		return "", err
	}
	tool, err := t.find(ctx, o.Dir)
	if err != nil {
		return "", err
	}
	const made = "plugin.wasm"
	args := slices.Concat(tool[1:], t.args)
	for i := range args {
		args[i] = strings.Replace(args[i], "OUT", made, 1)
	}
	cmd := exec.CommandContext(ctx, tool[0], args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.Dir, o.Log, o.Log
	cmd.Env = append(os.Environ(), t.env...)
	if err := cmd.Run(); err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(append(slices.Clip(tool), args...), " "), err)
		if t.lang == langGo {
			if hint := Before(o.Dir); hint != "" {
				err = fmt.Errorf("%w; first, in %s: %s", err, o.Dir, hint)
			}
		}
		return "", err
	}
	from := filepath.Join(o.Dir, made)
	if t.result != "" {
		from = filepath.Join(o.Dir, filepath.FromSlash(t.result))
	}
	wasm, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	in := Inspect(ctx, from, wasm)
	if len(in.Refused) > 0 {
		return "", fmt.Errorf("%s was built, but the gateway refuses it:\n  %s", from, strings.Join(in.Refused, "\n  "))
	}
	to := o.Out
	if to == "" {
		to = filepath.Join(o.Dir, in.Manifest.Name+".wasm")
	}
	if t.result != "" { // the tool's own folder is left as it is
		return to, os.WriteFile(to, wasm, 0o644)
	}
	return to, os.Rename(from, to)
}

// Command is the command that builds a project by hand into a file.
func Command(lang, out string) (string, error) {
	i := slices.IndexFunc(toolchains[:], func(t toolchain) bool { return t.lang == lang })
	if i < 0 {
		return "", fmt.Errorf("%w: language %q", ErrUsage, lang)
	}
	t := &toolchains[i]
	words := slices.Concat(t.env, t.tools[len(t.tools)-1], t.args)
	if lang == langZig {
		words = slices.Concat(t.tools[0], t.args)
	}
	for i, w := range words {
		w = strings.Replace(w, "OUT", out, 1)
		if strings.Contains(w, " ") {
			flag, value, _ := strings.Cut(w, "=")
			w = flag + `="` + value + `"`
		}
		words[i] = w
	}
	return strings.Join(words, " "), nil
}

// chain finds the toolchain of a project.
func chain(dir, lang string) (*toolchain, error) {
	for i := range toolchains {
		t := &toolchains[i]
		if lang != "" {
			if t.lang == lang {
				return t, nil
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, t.sign)); err == nil {
			return t, nil
		}
	}
	if lang != "" {
		return nil, fmt.Errorf("%w: language %q, want one of %s", ErrUsage, lang, strings.Join(Languages(), ", "))
	}
	return nil, fmt.Errorf("%w: %s holds none of tinygo.go, main.go, plugin.c, Cargo.toml, plugin.zig, plugin.ts: say the language with --lang", ErrUsage, dir)
}

// find returns the first way to call the tool that there is.
func (t *toolchain) find(ctx context.Context, dir string) ([]string, error) {
	for _, tool := range t.tools {
		name := tool[0]
		if strings.Contains(name, "/") {
			local, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			name = local
		}
		full, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// An interpreter alone is not the tool that it may have a module for.
		if len(tool) > 1 && exec.CommandContext(ctx, full, "-c", "import "+tool[len(tool)-1]).Run() != nil {
			continue
		}
		return append([]string{full}, tool[1:]...), nil
	}
	return nil, fmt.Errorf("%w: %s: %s", ErrTool, path.Base(t.tools[0][0]), t.install)
}
