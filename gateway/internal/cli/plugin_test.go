package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/cli"
)

const examples = "../../../plugins/examples/built/"

// weir runs one command line.
func weir(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, diag bytes.Buffer
	code = cli.Run(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag})
	return code, out.String(), diag.String()
}

func TestPlugin(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.wasm")
	sample := filepath.Join(dir, "sample.txt")
	for file, text := range map[string]string{bad: "no module", sample: "<<x>>[call:f {}]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string
	}{
		{"no verb", "plugin", 2, "Usage: weir plugin", ""},
		{"help", "plugin --help", 0, "Usage: weir plugin", ""},
		{"help of a verb", "plugin check --help", 0, "Usage: weir plugin check FILE.wasm", ""},
		{"unknown verb", "plugin fly", 2, "", `unknown command "fly"`},
		{"new without a name", "plugin new", 2, "", "want a name"},
		{"new in no language", "plugin new --lang cobol acme " + dir + "/a", 2, "", `language "cobol"`},
		{"new", "plugin new acme --lang c " + dir + "/acme", 0, "plugin.c", ""},
		{"new again", "plugin new --lang c acme " + dir + "/acme", 2, "", "exists"},
		{"build of nothing", "plugin build " + dir + "/none", 2, "", "none"},
		{"inspect", "plugin inspect " + examples + "c-parser.wasm", 0, "the sandbox takes it", ""},
		{"inspect what is refused", "plugin inspect " + bad, 1, "not a WebAssembly module", ""},
		{"inspect no file", "plugin inspect " + dir + "/none.wasm", 2, "", "none.wasm"},
		{"inspect nothing", "plugin inspect", 2, "", "want one file"},
		{"inspect the built-in and a file", "plugin inspect --builtin x", 2, "", "takes no file"},
		{"check", "plugin check " + examples + "zig-template.wasm", 0, ": PASS\n", ""},
		{"check a configuration", "plugin check " + examples + "c-parser.wasm --config {} --corpus " + sample, 0, ": PASS\n", ""},
		{"check what is refused", "plugin check " + bad, 1, ": FAIL: load\n", ""},
		{"check a policy with a sample", "plugin check " + examples + "c-template.wasm --corpus " + sample, 2, "", "are for parsers"},
		{"check no configuration", "plugin check --config [ " + examples + "c-parser.wasm", 2, "", "no JSON object"},
		{"check a configuration that is refused", `plugin check --config {"tools":"x"} ` + examples + "c-parser.wasm", 1, "refuses its configuration", ""},
		{"bench without streams", "plugin bench --streams 0 " + examples + "c-parser.wasm", 2, "", "--streams 0"},
		{"bench a policy", "plugin bench " + examples + "c-template.wasm", 1, "", "is not a parser"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := weir(t, strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("weir %s: got %d, %q, %q; want %d, %q, %q", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

// TestPluginCheckNoSample has one line for a sample that is not there, and no usage.
func TestPluginCheckNoSample(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "none.txt")
	code, stdout, stderr := weir(t, "plugin", "check", examples+"c-parser.wasm", "--corpus", file)
	if want := "weir plugin check: open " + file + ": no such file or directory\n"; code != 2 || stdout != "" || stderr != want {
		t.Errorf("got %d, %q, %q; want 2 and %q", code, stdout, stderr, want)
	}
}

// TestPluginNewWithoutClone has the step that a Go project needs outside of a clone.
func TestPluginNewWithoutClone(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, stdout, _ := weir(t, "plugin", "new", "acme")
	if want := "\nfirst, in acme: go mod edit -replace github.com/weirgate/weir=PATH_OF_A_CLONE\nnext: weir plugin build acme\n"; code != 0 || !strings.HasSuffix(stdout, want) {
		t.Errorf("got %d, %q; want 0 and %q", code, stdout, want)
	}
	if code, stdout, _ := weir(t, "plugin", "new", "--lang", "c", "other"); code != 0 || strings.Contains(stdout, "first") {
		t.Errorf("C: got %d, %q", code, stdout)
	}
}

func TestPluginJSON(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, verb := range []string{"inspect", "check"} {
		code, stdout, stderr := weir(t, "plugin", verb, examples+"rust-template.wasm", "--json")
		var got struct {
			SHA256   string
			Manifest struct{ Name string }
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || len(got.SHA256) != 64 || got.Manifest.Name != "recent" {
			t.Errorf("%s: got %d, %q, %q, %v", verb, code, stdout, stderr, err)
		}
	}
}
