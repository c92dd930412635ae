package weir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weirgate/weir"

// std stands for every package of the standard library in a rule.
const std = "std"

// rule says what packages may import, tests aside. Names are relative to the module; one that ends in
// /... takes in the packages below it and the one it names. Packages may always import what lies below
// themselves.
type rule struct {
	of   []string
	may  []string
	not  []string // exceptions to may
	why  string
	wasm bool // also holds for GOOS=wasip1
}

// pure are the parts of the standard library that a parser has no business with: they reach outside, make
// guests large, or make a result depend on more than the input.
var pure = []string{
	"fmt", "encoding/json", "reflect", "regexp", "os", "os/...", "io/fs", "net", "net/...", "time", "log", "log/...", "math/rand", "math/rand/v2",
	"context", "sync", "sync/...", "runtime/...", "testing", "testing/...",
}

var rules = []rule{
	{
		of: []string{"abi", "abi/record", "abi/jsonscan", "abi/plan", "abi/conv", "abi/guest"}, may: []string{std, "abi/..."}, not: pure,
		why:  "every plugin links them, so they stay small and touch nothing outside",
		wasm: true,
	},
	{
		of: []string{"abi/..."}, may: []string{std, "abi/..."},
		why:  "a plugin author pulls in the contract and nothing else",
		wasm: true,
	},
	{
		of:  []string{"plugins/parser/...", "plugins/template/...", "plugins/internal/..."},
		may: []string{std, "abi/...", "plugins/parser/...", "plugins/internal/..."}, not: slices.Concat(pure, []string{"abi/host", "abi/event"}),
		why:  "a parser is a function of its input: no clock, no files, no formatting, no view of the host",
		wasm: true,
	},
	{
		of: []string{"plugins/cmd/..."}, may: []string{std, "abi/...", "plugins/parser/...", "plugins/template/..."}, not: pure,
		why:  "a guest's main only says which plugin it exports",
		wasm: true,
	},
	{of: []string{"plugins/builtin"}, may: []string{std}, why: "it embeds a file; who wants the parsers natively imports them"},
	{of: []string{"engines"}, may: []string{std, "abi/..."}, why: "the contract of adapters knows no adapter"},
	{of: []string{"engines/..."}, may: []string{std, "abi/...", "engines", "engines/internal/..."}, why: "adapters are usable without the gateway, and do not know each other"},
	{of: []string{"gateway/tokenizer/..."}, may: []string{std, "gateway/tokenizer/..."}, why: "public and reusable on its own"},
	{of: []string{"gateway/internal/fault"}, may: []string{std}, why: "a leaf: every layer may return one"},
	{of: []string{"gateway/internal/transport"}, may: []string{std}, why: "a leaf: frames are bytes"},
	{of: []string{"gateway/internal/chain"}, may: []string{std, "abi/conv"}, why: "a leaf: what a kept conversation is made of, whoever keeps it"},
	{of: []string{"gateway/internal/store"}, may: []string{std, "abi/conv", "gateway/internal/chain", "modernc.org/sqlite/..."}, why: "it keeps links and knows no surface"},
	{of: []string{"gateway/internal/seal"}, may: []string{std, "abi/conv", "gateway/internal/fault"}, why: "it seals texts, whatever they are for"},
	{
		of: []string{"gateway/internal/transport/..."}, may: []string{std, "gateway/internal/transport", "github.com/gorilla/websocket/..."},
		why: "writers know bytes, not schemas",
	},
	{
		of:  []string{"gateway/internal/surface/..."},
		may: []string{std, "abi/...", "gateway/internal/fault", "gateway/internal/transport", "gateway/internal/chain", "gateway/internal/surface/..."}, not: []string{"abi/host", "abi/guest"},
		why: "a surface knows the canonical forms and its own wire, no engine and no plugin",
	},
	{
		of: []string{"gateway/internal/turn"}, may: []string{std, "abi/...", "engines", "gateway/internal/fault", "gateway/internal/assemble"},
		why: "the turn loop meets surfaces, plugins and transports through its own interfaces",
	},
	{of: []string{"gateway/jinja/..."}, may: []string{std, "abi/jsonscan", "gateway/jinja/..."}, why: "templates are a language of their own and know nothing of a gateway"},
	{
		of: []string{"gateway/internal/prompt"}, may: []string{std, "abi/...", "gateway/jinja", "gateway/internal/fault", "gateway/internal/ledger"},
		why: "a prompt is made of a conversation and a template, whatever they came by",
	},
	{of: []string{"gateway/internal/wire", "gateway/internal/turnmemory", "gateway/internal/outline"}, may: []string{std, "abi/...", "gateway/internal/fault"}, why: "they know conversations and events, not where those come from"},
	{of: []string{"gateway/internal/family"}, may: []string{std}, why: "embedded files"},
	{
		of: []string{"gateway/internal/modelfile"}, may: []string{std, "abi/...", "plugins/parser", "plugins/template", "gateway/jinja", "gateway/tokenizer/..."},
		why: "what a model's files say is known before anything serves it",
	},
	{of: []string{"gateway/internal/ledger"}, may: []string{std, "abi/..."}, why: "the ledger is told of prompts and knows nothing of how they are made"},
	{of: []string{"gateway/internal/shadow"}, may: []string{std, "abi/...", "gateway/internal/assemble"}, why: "a comparison of two parsers knows no host of plugins and no turn"},
	{of: []string{"gateway/internal/assemble/..."}, may: []string{std, "abi/...", "engines", "gateway/internal/assemble/...", "gateway/internal/fault"}, why: "records in, or fragments that an engine parsed already; events out"},
	{of: []string{"gateway/internal/sandbox/..."}, may: []string{std, "gateway/internal/sandbox/...", "github.com/tetratelabs/wazero/..."}, why: "it judges modules before anything runs them"},
	{
		of: []string{"gateway/internal/plughost/..."}, may: []string{std, "abi/...", "gateway/internal/sandbox/...", "gateway/internal/fault", "gateway/internal/plughost/...", "github.com/tetratelabs/wazero/...", "golang.org/x/sys/..."},
		why: "the host of plugins knows no turn, surface or configuration",
	},
	{of: []string{"gateway/internal/config/..."}, may: []string{std, "abi/...", "configs", "gateway/internal/fault", "gateway/internal/secret", "gateway/internal/config/...", "github.com/BurntSushi/toml/..."}, why: "configuration is read before anything that it configures exists"},
	{of: []string{"configs"}, may: []string{std}, why: "embedded files"},
}

// library says who may import one.
type library struct {
	path string
	by   []string
	why  string
}

var libraries = []library{
	{"github.com/tetratelabs/wazero", []string{"gateway/internal/sandbox", "gateway/internal/plughost"}, "one place runs Wasm"},
	{"github.com/gorilla/websocket", []string{"gateway/internal/transport/ws"}, "one writer goroutine a connection is a rule that one package can keep"},
	{"github.com/BurntSushi/toml", []string{"gateway/internal/config"}, "configuration is decoded strictly, once"},
	{"github.com/prometheus/client_golang", []string{"gateway/internal/telemetry"}, "metrics have one home for names and labels"},
	{"modernc.org/sqlite", []string{"gateway/internal/store"}, "one place keeps conversations"},
	{"golang.org/x/sys", []string{"gateway/internal/plughost"}, "only the host of plugins asks for a thread's clock"},
	{"github.com/klauspost/compress", []string{"gateway/internal/httpapi"}, "bodies are inflated where they are bounded"},
}

// listed is what the go command tells of a package.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// list returns the packages that patterns match, and what they depend on, by import path.
func list(t *testing.T, env []string, patterns ...string) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Imports"}, patterns...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	pkgs := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
}

// relative is the name of a package of the module in the rules; false for others.
func relative(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return pattern == name
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// allows reports whether r lets name import the package at path.
func (r rule) allows(name, path string, standard bool) bool {
	to, ours := relative(path)
	if !ours {
		to = path
	}
	switch {
	case matchesAny(r.not, to):
		return false
	case ours && strings.HasPrefix(to, name+"/"):
		return true
	case standard:
		return slices.Contains(r.may, std)
	}
	return matchesAny(r.may, to)
}

// first returns the first rule that speaks of name, so that a narrow one stands before a wide one.
func first(name string, wasm bool) *rule {
	for i, r := range rules {
		if (r.wasm || !wasm) && matchesAny(r.of, name) {
			return &rules[i]
		}
	}
	return nil
}

func TestLayers(t *testing.T) {
	for _, target := range []struct {
		name     string
		env      []string
		patterns []string
	}{
		{"host", nil, []string{"./..."}},
		{"wasip1", []string{"GOOS=wasip1", "GOARCH=wasm"}, []string{"./abi/...", "./plugins/..."}},
	} {
		t.Run(target.name, func(t *testing.T) {
			wasm := target.name == "wasip1"
			pkgs := list(t, target.env, target.patterns...)
			for _, p := range pkgs {
				name, ours := relative(p.ImportPath)
				if !ours {
					continue
				}
				checkTop(t, name, p)
				r := first(name, wasm)
				// Support for tests is not linked into guests and may use all of the standard library.
				if r == nil || strings.HasSuffix(name, "test") && strings.HasPrefix(name, "plugins/") {
					continue
				}
				for _, path := range p.Imports {
					if !r.allows(name, path, pkgs[path].Standard) {
						t.Errorf("%s imports %s: %s", name, path, r.why)
					}
				}
			}
		})
	}
}

// foreign reports whether path is of another module: its first element is a host's name.
func foreign(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	_, ours := relative(path)
	return !ours && strings.Contains(host, ".")
}

// checkTop holds for every package: what lies outside the gateway does not know it, and libraries are
// imported where the table says.
func checkTop(t *testing.T, name string, p listed) {
	t.Helper()
	for _, path := range p.Imports {
		if to, ours := relative(path); ours {
			inside := matches("gateway/...", name) || matches("scripts/...", name)
			if matches("gateway/...", to) && !inside {
				t.Errorf("%s imports %s: the gateway is built of the rest, not the other way", name, to)
			}
			continue
		}
		if !foreign(path) {
			continue
		}
		i := slices.IndexFunc(libraries, func(l library) bool { return matches(l.path+"/...", path) })
		if i < 0 {
			t.Errorf("%s imports %s, a library that the table does not name", name, path)
		} else if l := libraries[i]; !matchesAny(l.by, name) {
			t.Errorf("%s imports %s: %s", name, path, l.why)
		}
	}
}

// TestGuestsStaySmall looks at all that is linked into a guest: fmt alone adds 0.8 MB and five imports.
func TestGuestsStaySmall(t *testing.T) {
	for path := range list(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "./plugins/cmd/...") {
		switch path {
		case "fmt", "encoding/json", "os", "net", "regexp", "testing", "text/template":
			t.Errorf("guests link %s", path)
		}
	}
}

// TestLayersNameRealPackages fails for a rule that speaks of nothing, which would hold without a check.
func TestLayersNameRealPackages(t *testing.T) {
	var names []string
	for path := range list(t, nil, "./...") {
		if name, ours := relative(path); ours {
			names = append(names, name)
		}
	}
	for path := range list(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "./abi/...", "./plugins/...") {
		if name, ours := relative(path); ours {
			names = append(names, name)
		}
	}
	exists := func(pattern string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return matches(pattern, n) })
	}
	for _, r := range rules {
		for _, p := range slices.Concat(r.of, r.may) {
			if p != std && !foreign(p) && !exists(p) {
				t.Errorf("a rule names %s, which does not exist", p)
			}
		}
	}
	for _, l := range libraries {
		for _, p := range l.by {
			if !exists(p) {
				t.Errorf("the rule for %s names %s, which does not exist", l.path, p)
			}
		}
	}
}
