package cli_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway"
)

// TestPluginAdmin asks a gateway with a plugin in its folder.
func TestPluginAdmin(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	wasm, err := os.ReadFile(examples + "c-parser.wasm")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "weir.toml")
	for file, b := range map[string][]byte{
		filepath.Join(dir, "bracket.wasm"): wasm,
		filepath.Join(dir, "junk.wasm"):    []byte("no module"),
		config:                             []byte("[plugins]\ndir = \".\"\n"),
	} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := gateway.New(t.Context(), gateway.Options{ConfigFile: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	s := httptest.NewServer(g.Admin())
	t.Cleanup(s.Close)
	for _, c := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string
	}{
		{"list", "list", 0, "bracket  ", ""},
		{"what is refused", "list", 0, "not a WebAssembly module", ""},
		{"as JSON", "list --json", 0, `"name": "bracket"`, ""},
		{"no version to go back to", "rollback bracket", 1, "", "no earlier version"},
		{"a built-in", "rollback builtin", 1, "", "no earlier version"},
		{"release of one that serves", "release bracket", 1, "", "not quarantined"},
		{"an unknown plugin", "release none", 1, "", "no such plugin"},
		{"no name", "rollback", 2, "", "want the name of one plugin"},
		{"too much", "list bracket", 2, "", "unexpected argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"plugin"}, strings.Fields(c.args)...)
			code, stdout, stderr := weir(t, append(args, "--admin", s.URL+"/")...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
	s.Close()
	if code, _, stderr := weir(t, "plugin", "list", "--admin", s.URL); code != 1 || !strings.Contains(stderr, "no weir answers") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
