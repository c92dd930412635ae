package kit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/kit"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/plugins/builtin"
)

// built is the folder of the modules that are in the repository.
const built = "../../../plugins/examples/built"

// languages whose modules are in the repository.
func languages() []string { return []string{"c", "rust", "zig", "assemblyscript"} }

func readBuilt(tb testing.TB, name string) []byte {
	tb.Helper()
	wasm, err := os.ReadFile(filepath.Join(built, name))
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// modules are those of the languages that the Go tool builds, which every machine with this test has. They are
// made once, as a user makes them.
var modules = map[string]func() ([]byte, error){ //nolint:gochecknoglobals // a build takes seconds
	"go-parser":       sync.OnceValues(func() ([]byte, error) { return build("go", "parser", "bracket") }),
	"go-template":     sync.OnceValues(func() ([]byte, error) { return build("go", "template", "recent") }),
	"tinygo-parser":   sync.OnceValues(func() ([]byte, error) { return build("tinygo", "parser", "bracket") }),
	"tinygo-template": sync.OnceValues(func() ([]byte, error) { return build("tinygo", "template", "recent") }),
}

func build(lang, kind, name string) ([]byte, error) {
	root, err := os.MkdirTemp("", "weir-kit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, name)
	if _, err := kit.New(kit.Project{Lang: lang, Kind: kind, Name: name, Dir: dir}); err != nil {
		return nil, err
	}
	var log bytes.Buffer
	file, err := kit.Build(context.Background(), kit.BuildOptions{Dir: dir, Lang: "go", Log: &log})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	return os.ReadFile(file)
}

func goModule(tb testing.TB, lang, kind string) []byte {
	tb.Helper()
	wasm, err := modules[lang+"-"+kind]()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// bracketed are samples of the example format.
func bracketed() []kit.Sample {
	return []kit.Sample{
		{Name: "turn", Text: "<<I should look.>>Let me see.[call:get_stock {\"a\": \"x]}\", \"b\": [1, {}]}] Done [call:a.b-c_D {}]"},
		{Name: "cut", Text: "a < b << c > d >> e [call:f {\"a\": \"\\\"[call:g {}]"},
		{Name: "garbage", Text: "[call: {}][call:f{}][call:f  {}][call:f []][[call:f {}]]>>[call:f {}"},
		{Name: "longest", Text: "[call:" + strings.Repeat("n", 64) + " {}][call:" + strings.Repeat("n", 65) + " {}]"},
	}
}

func TestExamplesKeepTheLaws(t *testing.T) {
	t.Parallel()
	all := map[string]func(tb testing.TB) []byte{}
	for _, lang := range languages() {
		for _, kind := range []string{"parser", "template"} {
			all[lang+" "+kind] = func(tb testing.TB) []byte { tb.Helper(); return readBuilt(tb, lang+"-"+kind+".wasm") }
		}
	}
	for _, lang := range []string{"go", "tinygo"} {
		for _, kind := range []string{"parser", "template"} {
			all[lang+" "+kind] = func(tb testing.TB) []byte { tb.Helper(); return goModule(tb, lang, kind) }
		}
	}
	for name, module := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := kit.CheckOptions{File: name}
			if strings.HasSuffix(name, "parser") {
				o.Samples = bracketed()
			}
			r, err := kit.Check(t.Context(), module(t), o)
			if err != nil {
				t.Fatal(err)
			}
			if !r.OK {
				var b bytes.Buffer
				if err := r.Write(&b); err != nil {
					t.Fatal(err)
				}
				t.Errorf("got:\n%s", b.String())
			}
			if r.Peaks.Window > 64 || r.Peaks.Held > 72 {
				t.Errorf("window %d, held %d bytes: want 64 and 72 at most", r.Peaks.Window, r.Peaks.Held)
			}
		})
	}
}

// load gives the parser or the planner of a module.
func load(tb testing.TB, wasm []byte) *plughost.Plugin {
	tb.Helper()
	h, err := plughost.New(plughost.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := h.Load(tb.Context(), "", wasm, "test")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Retire)
	return p
}

// TestExamplesAgree has every language cut the same streams, at random, and compares with Go.
func TestExamplesAgree(t *testing.T) {
	t.Parallel()
	want, err := load(t, goModule(t, "go", "parser")).Parser([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	parsers := map[string]*plughost.Parser{}
	for _, lang := range languages() {
		if parsers[lang], err = load(t, readBuilt(t, lang+"-parser.wasm")).Parser([]byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if parsers["tinygo"], err = load(t, goModule(t, "tinygo", "parser")).Parser([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	words := []string{
		"<<", ">>", "<", ">", "[call:f {", "[call:", "[", "]", "{", "}", "}]", "\"", "\\", " ", "word", "é", "n-1.b_", strings.Repeat("n", 63), "\n",
	}
	starts := []guest.Start{{Tools: true}, {Tools: true, Tail: []byte("<< a >> b <<")}, {}, {Tools: true, Choice: guest.ChoiceNone, Tail: []byte("<<>")}}
	for n, s := range kit.Made(400, words, bracketed()) {
		c := guesttest.Case{Name: s.Name, Input: s.Text, Start: starts[n%len(starts)]}
		if n%3 == 0 {
			c.Accept = []string{"f"}
		}
		expected, err := guesttest.Trace(want, c, guesttest.Whole)
		if err != nil {
			t.Fatal(err)
		}
		for lang, p := range parsers {
			got, err := guesttest.Trace(p, c, guesttest.Random(uint64(n)))
			if err != nil {
				t.Fatalf("%s: %v", lang, err)
			}
			if got != expected {
				t.Fatalf("%s: input %q, accept %v, start %+v\n%s gives\n%s\nGo\n%s", c.Name, c.Input, c.Accept, c.Start, lang, got, expected)
			}
		}
	}
}

// TestPoliciesAgree has every language plan the same conversations, one of them larger than a first buffer.
func TestPoliciesAgree(t *testing.T) {
	t.Parallel()
	planners := map[string]*plughost.Planner{}
	for _, lang := range languages() {
		p, err := load(t, readBuilt(t, lang+"-template.wasm")).Planner([]byte(`{"policy": "recent"}`))
		if err != nil {
			t.Fatal(err)
		}
		planners[lang] = p
	}
	for _, lang := range []string{"tinygo", "go"} {
		p, err := load(t, goModule(t, lang, "template")).Planner([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		planners[lang] = p
	}
	for _, s := range kit.Shapes() {
		b := plan.AppendOutline(nil, &s)
		want, err := planners["go"].Plan(b)
		if err != nil {
			t.Fatal(err)
		}
		for lang, p := range planners {
			if got, err := p.Plan(b); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d rows: got %x, %v; want %x", lang, len(s.Rows), got, err, want)
			}
		}
	}
	if got, err := planners["go"].Ops(plan.AppendOutline(nil, &kit.Shapes()[12])); err != nil || len(got) == 0 {
		t.Errorf("two turns: got %v, %v; want instructions", got, err)
	}
}

// ziglang is how to get the compiler in the version that the examples are built by.
const ziglang = "pip install ziglang==0.17.1"

func TestNew(t *testing.T) {
	t.Parallel()
	for _, lang := range kit.Languages() {
		for kind, example := range map[string]string{"parser": "bracket", "template": "recent"} {
			t.Run(lang+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "new")
				p := kit.Project{Lang: lang, Kind: kind, Name: "acme-1.x", Dir: dir}
				files, err := kit.New(p)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					b, err := os.ReadFile(filepath.Join(dir, f))
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(b, []byte(example)) {
						t.Errorf("%s: %q is still there", f, example)
					}
				}
				for _, f := range []string{"README.md", ".gitignore"} {
					if !slices.Contains(files, f) {
						t.Errorf("got %v, want %s", files, f)
					}
				}
				readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
				if err != nil {
					t.Fatal(err)
				}
				command, err := kit.Command(lang, "acme-1.x.wasm")
				if err != nil || !strings.Contains(string(readme), "\n    "+command+"\n") {
					t.Errorf("README.md does not say %q (%v)", command, err)
				}
				if kind == "template" && strings.Contains(string(readme), "--corpus") {
					t.Error("README.md offers --corpus, which is for parsers")
				}
				if lang == "zig" && !strings.Contains(string(readme), "`"+ziglang+"`") {
					t.Errorf("README.md does not say %q", ziglang)
				}
				if _, err := kit.New(p); !errors.Is(err, fs.ErrExist) {
					t.Errorf("a second time: got %v, want %v", err, fs.ErrExist)
				}
			})
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, p := range []kit.Project{
		{Lang: "cobol", Kind: "parser", Name: "a"},
		{Lang: "go", Kind: "renderer", Name: "a"},
		{Lang: "go", Kind: "parser", Name: ""},
		{Lang: "go", Kind: "parser", Name: "../a"},
		{Lang: "go", Kind: "parser", Name: "Acme"},
		{Lang: "go", Kind: "parser", Name: strings.Repeat("a", 65)},
	} {
		p.Dir = filepath.Join(t.TempDir(), "new")
		if _, err := kit.New(p); !errors.Is(err, kit.ErrUsage) {
			t.Errorf("%+v: got %v, want %v", p, err, kit.ErrUsage)
		}
		if _, err := os.Stat(p.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: the folder was made", p)
		}
	}
}

func TestBuildFaults(t *testing.T) {
	t.Run("no project", func(t *testing.T) {
		if _, err := kit.Build(t.Context(), kit.BuildOptions{Dir: t.TempDir()}); !errors.Is(err, kit.ErrUsage) {
			t.Errorf("got %v, want %v", err, kit.ErrUsage)
		}
	})
	t.Run("no tool", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		for lang, want := range map[string]string{
			"go":             "tool not found: go: see https://go.dev/dl, 1.26 or later",
			"c":              "tool not found: clang: apt-get install clang lld,",
			"rust":           "tool not found: cargo: see https://rustup.rs,",
			"zig":            "tool not found: zig: " + ziglang + ",",
			"assemblyscript": "tool not found: asc: npm install",
			"tinygo":         "tool not found: tinygo: see https://tinygo.org/",
		} {
			_, err := kit.Build(t.Context(), kit.BuildOptions{Dir: t.TempDir(), Lang: lang})
			if !errors.Is(err, kit.ErrTool) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", lang, err, want)
			}
		}
	})
	t.Run("sources that do not build", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() { undefined() }\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		if _, err := kit.Build(t.Context(), kit.BuildOptions{Dir: dir, Log: &log}); err == nil || !strings.Contains(log.String(), "undefined") {
			t.Errorf("got %v and %q, want the words of the compiler", err, log.String())
		}
	})
	t.Run("no plugin", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() {}\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := kit.Build(t.Context(), kit.BuildOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "export weir1_open: missing") {
			t.Errorf("got %v, want what is missing", err)
		}
	})
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	b, err := kit.Measure(t.Context(), readBuilt(t, "c-parser.wasm"), kit.BenchOptions{Streams: 20, Time: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Rows) != 8 || b.Window != 8 || b.Instance == 0 || b.Stream == 0 {
		t.Errorf("got %+v", b)
	}
	for _, r := range b.Rows {
		if r.Nanos <= 0 || r.Fuel <= 0 || r.Host <= 0 || r.Scaling <= 0 {
			t.Errorf("got %+v, want figures", r)
		}
	}
	if _, err := kit.Measure(t.Context(), readBuilt(t, "c-template.wasm"), kit.BenchOptions{}); err == nil {
		t.Error("a policy was measured as a parser")
	}
}

// TestInspectBuiltin reads a large module with imports.
func TestInspectBuiltin(t *testing.T) {
	t.Parallel()
	in := kit.Inspect(t.Context(), "built in", builtin.Wasm())
	if len(in.Refused) > 0 || in.Manifest == nil || in.Manifest.Name != "builtin" || len(in.Imports) == 0 || in.Load.Memory == 0 {
		t.Errorf("got %+v", in)
	}
	var b bytes.Buffer
	if err := in.Write(&b); err != nil || !strings.Contains(b.String(), "the sandbox takes it") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
