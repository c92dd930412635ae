package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/gateway/internal/config"
)

// TestLook says of each model what it lacks, and of files that cannot be read where they are named.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bare := filepath.Join(dir, "bare")
	broken := filepath.Join(dir, "broken")
	for name, text := range map[string]string{
		filepath.Join(bare, "chat_template.jinja"):   "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
		filepath.Join(broken, "chat_template.jinja"): "{% for m in messages %}",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "weir.toml")
	text := `[engines.real]
kind = "openai"
url = "http://127.0.0.1:1/v1"
[engines.chat]
kind = "openai"
url = "http://127.0.0.1:1/v1"
mode = "chat"
[engines.sim]
kind = "sim"
[[models]]
id = "simulated"
engines = ["sim"]
family = "qwen3"
[[models]]
id = "family"
engines = ["real"]
family = "qwen3"
[[models]]
id = "rendered"
engines = ["chat"]
[[models]]
id = "bare"
engines = ["real"]
dir = "` + bare + `"
[[models]]
id = "broken"
engines = ["real"]
dir = "` + broken + `"
[[models]]
id = "missing"
engines = ["real"]
gguf = "` + filepath.Join(dir, "no.gguf") + `"
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, gateway.ConfigOptions())
	if err != nil {
		t.Fatal(err)
	}
	s := gateway.Look(t.Context(), c)
	if len(s.Faults) != 2 || !strings.Contains(s.Faults[0].Error(), "weir.toml:28: models[4].dir: got ") || !strings.Contains(s.Faults[1].Error(), "models[5].gguf: got ") {
		t.Errorf("faults: %v", s.Faults)
	}
	for _, want := range []string{
		"model family: weir has no vocabulary of it", "model rendered: its engine makes the prompts", "model bare: weir has no vocabulary of it",
	} {
		found := false
		for _, n := range s.Notes {
			found = found || strings.HasPrefix(n, want)
		}
		if !found {
			t.Errorf("no note %q in %q", want, s.Notes)
		}
	}
	for _, n := range s.Notes {
		if strings.HasPrefix(n, "model simulated") {
			t.Errorf("note: %s", n)
		}
	}
}
