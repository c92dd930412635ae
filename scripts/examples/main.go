// Command examples builds the example plugins the way their readers do: it has `weir plugin new` write each
// one, `weir plugin build` build it and `weir plugin check` check it, and compares the modules with those in
// plugins/examples/built. With -write it puts them there instead:
//
//	go run ./scripts/examples [-write] [-cache DIR] [LANG ..]
//
// Tools that are missing are installed where a package manager has them (see tools.go); what cannot be had
// is skipped, and the end says so. Bytes are compared where the tool has the version that built/versions.json
// names. Exit status: 0, 1 for a failed build or check or other bytes, 2 for misuse.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Paths from the module's root.
const (
	built    = "plugins/examples/built"
	versions = built + "/versions.json"
)

// example is one project. Its module is kept in the repository unless it is too large.
type example struct {
	lang, kind, name string
	kept             bool
	instead          string // language whose tool takes the sources too
}

func all() []example {
	var out []example
	for _, t := range tools {
		out = append(out, example{t.lang, "parser", "bracket", t.kept, t.instead}, example{t.lang, "template", "recent", t.kept, t.instead})
	}
	return out
}

func main() {
	write := flag.Bool("write", false, "write the modules into the repository")
	cache := flag.String("cache", "", "folder for tools (default: weir-examples in the user's cache folder)")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/examples [-write] [-cache DIR] [LANG ..]")
		flag.PrintDefaults()
	}
	flag.Parse()
	for _, lang := range flag.Args() {
		if !slices.ContainsFunc(tools[:], func(t tool) bool { return t.lang == lang }) {
			flag.Usage()
			os.Exit(2)
		}
	}
	if err := run(*write, *cache, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

func run(write bool, cache string, langs []string) error {
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		cache = filepath.Join(dir, "weir-examples")
	}
	work, err := os.MkdirTemp("", "weir-examples-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a folder for temporary files may stay
	weir := filepath.Join(work, "weir")
	if out, err := exec.Command("go", "build", "-o", weir, "./gateway/cmd/weir").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	b := &builder{weir: weir, work: work, bin: filepath.Join(cache, "bin"), write: write, seen: map[string]string{}}
	if err := b.prepare(cache, langs); err != nil {
		return err
	}
	for _, e := range all() {
		if len(langs) > 0 && !slices.Contains(langs, e.lang) {
			continue
		}
		switch err := b.example(e); {
		case errors.Is(err, errSkip):
			b.skipped++
			fmt.Printf("skip  %-15s %-9s %v\n", e.lang, e.kind, err)
		case err != nil:
			b.failed++
			fmt.Printf("FAIL  %-15s %-9s %v\n", e.lang, e.kind, err)
		default:
			b.passed++
		}
	}
	if write {
		if err := b.save(); err != nil {
			return err
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", b.passed, b.failed, b.skipped)
	if b.failed > 0 {
		return errors.New("some examples are not what they should be")
	}
	return nil
}

// builder is one run.
type builder struct {
	weir, work, bin         string
	write                   bool
	recorded                map[string]string // version of each tool that made what is in the repository
	seen                    map[string]string // that is here
	missing                 map[string]error
	passed, failed, skipped int
}

// errSkip is wrapped where a tool is not to be had.
var errSkip = errors.New("not built")

// prepare finds or installs the tools.
func (b *builder) prepare(cache string, langs []string) error {
	b.missing = map[string]error{}
	text, err := os.ReadFile(versions)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err == nil {
		if err := json.Unmarshal(text, &b.recorded); err != nil {
			return fmt.Errorf("%s: %w", versions, err)
		}
	}
	if err := os.MkdirAll(b.bin, 0o755); err != nil {
		return err
	}
	if err := os.Setenv("PATH", b.bin+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return err
	}
	for _, t := range tools {
		if len(langs) > 0 && !slices.Contains(langs, t.lang) {
			continue
		}
		version, err := t.version()
		if err != nil && t.install != nil {
			fmt.Printf("installing %s for %s\n", t.command[0], t.lang)
			if err := t.install(cache, b.bin); err != nil {
				b.missing[t.lang] = fmt.Errorf("%w: %s: %w", errSkip, t.command[0], err)
				continue
			}
			version, err = t.version()
		}
		if err != nil {
			b.missing[t.lang] = fmt.Errorf("%w: %w", errSkip, err)
			continue
		}
		b.seen[t.lang] = version
	}
	return nil
}

// example writes, builds, checks and compares one.
func (b *builder) example(e example) error {
	by := b.missing[e.lang]
	if by != nil && e.instead == "" {
		return by
	}
	dir := filepath.Join(b.work, e.lang+"-"+e.kind)
	if err := b.run("new", "--lang", e.lang, "--kind", e.kind, e.name, dir); err != nil {
		return err
	}
	build := []string{"build", dir}
	if by != nil {
		build = append(build, "--lang", e.instead)
	}
	if err := b.run(build...); err != nil {
		return err
	}
	file := filepath.Join(dir, e.name+".wasm")
	if err := b.run("check", file); err != nil {
		return err
	}
	if by != nil {
		return fmt.Errorf("%w; checked as built by %s instead", by, e.instead)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	verdict := "checked"
	if e.kept {
		kept := filepath.Join(built, e.lang+"-"+e.kind+".wasm")
		if b.write {
			if err := os.WriteFile(kept, got, 0o644); err != nil {
				return err
			}
			verdict = "written"
		} else if verdict, err = b.compare(e, kept, got); err != nil {
			return err
		}
	}
	fmt.Printf("ok    %-15s %-9s %7d bytes, %s, by %s\n", e.lang, e.kind, len(got), verdict, b.seen[e.lang])
	return nil
}

// compare holds a module to the one in the repository.
func (b *builder) compare(e example, kept string, got []byte) (string, error) {
	want, err := os.ReadFile(kept)
	if err != nil {
		return "", err
	}
	switch {
	case bytes.Equal(got, want):
		return "the same bytes", nil
	case b.seen[e.lang] == b.recorded[e.lang]:
		return "", fmt.Errorf("%s has %d other bytes than the %d built here by the same %s: run with -write", kept, len(want), len(got), b.seen[e.lang])
	}
	return "checked, with other bytes than those of " + b.recorded[e.lang], nil
}

// run runs `weir plugin`.
func (b *builder) run(args ...string) error {
	out, err := exec.Command(b.weir, append([]string{"plugin"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("weir plugin %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// save records the versions of the tools whose modules are kept.
func (b *builder) save() error {
	out := maps.Clone(b.recorded)
	if out == nil {
		out = map[string]string{}
	}
	for _, t := range tools {
		if v, ok := b.seen[t.lang]; ok && t.kept {
			out[t.lang] = v
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(versions, append(text, '\n'), 0o644)
}
