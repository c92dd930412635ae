package kit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/plugins/examples"
)

// Project says what New writes.
type Project struct {
	Lang string // one of Languages
	Kind string // plughost.KindParser or plughost.KindTemplate
	Name string // of the plugin: a manifest's
	Dir  string // made if it is not there; nothing in it is overwritten
}

// ErrUsage is wrapped by errors that tell of a wrong argument.
var ErrUsage = errors.New("usage")

var goodName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)

// Names that the examples go by. New puts the plugin's in their place.
const (
	exampleParser = "bracket"
	examplePolicy = "recent"
)

// ignored are the files that a project's builds leave behind.
const ignored = "*.wasm\nnode_modules/\ntarget/\n.zig-cache/\nzig-out/\n"

const (
	module       = "github.com/weirgate/weir"
	noVersion    = "v0.0.0" // of a module that is not published: a clone must stand in for it
	goModule     = "module example.com/%s\n\ngo 1.26.0\n\nrequire " + module + " %s\n"
	tinyGoModule = "module example.com/%s\n\ngo 1.24\n"
)

// New writes a project that builds at once, and returns the files in it.
func New(p Project) ([]string, error) {
	switch {
	case !slices.Contains(Languages(), p.Lang):
		return nil, fmt.Errorf("%w: language %q, want one of %s", ErrUsage, p.Lang, strings.Join(Languages(), ", "))
	case p.Kind != plughost.KindParser && p.Kind != plughost.KindTemplate:
		return nil, fmt.Errorf("%w: kind %q, want %s or %s", ErrUsage, p.Kind, plughost.KindParser, plughost.KindTemplate)
	case !goodName.MatchString(p.Name):
		return nil, fmt.Errorf("%w: name %q: want 1 to 64 of a-z, 0-9, '_', '-' and '.', the first a letter or digit", ErrUsage, p.Name)
	}
	files, err := sources(p)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(p.Dir, name)); err == nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(p.Dir, name), fs.ErrExist)
		}
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(p.Dir, name), files[name], 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// sources are the files of a project.
func sources(p Project) (map[string][]byte, error) {
	example := exampleParser
	if p.Kind == plughost.KindTemplate {
		example = examplePolicy
	}
	from, all := p.Lang+"/"+p.Kind, examples.Sources()
	entries, err := fs.ReadDir(all, from)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{".gitignore": []byte(ignored)}
	for _, e := range entries {
		b, err := fs.ReadFile(all, from+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		files[e.Name()] = bytes.ReplaceAll(b, []byte(example), []byte(p.Name))
	}
	if p.Lang != langGo && p.Lang != langTinyGo {
		return files, nil
	}
	clone, inside, err := ownModule(p.Dir)
	if err != nil {
		return nil, err
	}
	switch {
	case inside: // a package of this module
	case p.Lang == langGo:
		files["go.mod"] = []byte(goMod(p.Name, clone))
	default:
		files["go.mod"] = fmt.Appendf(nil, tinyGoModule, p.Name)
	}
	return files, nil
}

// goMod is the go.mod of a project that stands alone. A clone is what the project is built against, if there
// is one: its version need not be published. Without one it is the version that this command is of.
func goMod(name, clone string) string {
	version := noVersion
	if info, ok := debug.ReadBuildInfo(); ok && clone == "" {
		version = published(&info.Main)
	}
	text := fmt.Sprintf(goModule, name, version)
	if clone != "" {
		text += fmt.Sprintf("\nreplace %s => %s\n", module, clone)
	}
	return text
}

// published is the version of this module that others can get, or noVersion. What was built from a clone has a
// version too, by its last commit, but no sum: that comes with a download.
func published(m *debug.Module) string {
	if m.Path != module || m.Sum == "" || !strings.HasPrefix(m.Version, "v") {
		return noVersion
	}
	return m.Version
}

// Before is the command to run in the folder of a Go project before it can be built, or empty: one that requires
// a version of this module that is not published needs a clone of it in its place, and one that requires a
// published version needs the sums of that.
func Before(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	version := ""
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		at := slices.Index(words, module)
		switch {
		case at < 0:
		case slices.Contains(words, "=>"):
			return "" // whether or not replace stands on the line: it may open a block
		case words[0] != "module" && at+1 < len(words):
			version = words[at+1]
		}
	}
	switch version {
	case "":
		return ""
	case noVersion:
		return "go mod edit -replace " + module + "=PATH_OF_A_CLONE"
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
		return ""
	}
	return "go mod tidy"
}

// ownModule looks for a clone of this module: around dir, in which case dir is inside it, or around the
// folder that the command runs in.
func ownModule(dir string) (clone string, inside bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	if root := moduleAbove(dir); root != "" {
		return root, true, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", false, err
	}
	return moduleAbove(here), false, nil
}

// moduleAbove is the folder of the nearest go.mod at or above dir if that is this module's, else empty.
func moduleAbove(dir string) string {
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			if bytes.HasPrefix(b, []byte("module "+module+"\n")) {
				return dir
			}
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
