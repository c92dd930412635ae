package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/config"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/prompts.good.toml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("/etc/weir/weir.toml", data, options(t))
	if err != nil {
		t.Fatal(err)
	}
	folder, file, plugins, guarded, open := &c.Models[0], &c.Models[1], &c.Models[2], c.Tenants[0], c.Tenants[1]
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"turns", c.Memory.Turns, int64(0)},
		{"ledger", c.Memory.Ledger, int64(1 << 30)},
		{"ids", c.Engine("ids").OpenAI.Prompt, config.PromptIDs},
		{"text", c.Engine("text").OpenAI.Prompt, config.PromptText},
		{"dir", folder.Dir, "/etc/weir/models/x"},
		{"no dir", file.Dir, ""},
		{"gguf", file.GGUF, "/home/weir/x.gguf"},
		{"files", folder.HasFiles() && file.HasFiles() && !plugins.HasFiles(), true},
		{"thinking", folder.Thinking && folder.Given("thinking") && !file.Given("thinking"), true},
		{"given though empty", file.Given("reasoning") && !folder.Given("reasoning"), true},
		{"renderer", plugins.Renderer, "acme"},
		{"policy", plugins.PolicyPlugin + plugins.Policy, "acme"},
		{"tenant", guarded.ChatTemplate && guarded.Guard && guarded.PrefixHeader, true},
		{"other tenant", open.ChatTemplate || open.Guard || open.PrefixHeader, false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if d := mustParse(t, ""); !d.Tenants[0].Guard || !d.Tenants[0].PrefixHeader || d.Tenants[0].ChatTemplate || d.Memory.Turns != 64<<20 || d.Memory.Ledger != 64<<20 {
		t.Errorf("defaults %+v %+v", d.Tenants[0], d.Memory)
	}
}

// TestNoHome wants a path from ~/ to be told where there is none, and not to be taken as no path.
func TestNoHome(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.LookupEnv = func(string) (string, bool) { return "", false }
	_, err := config.Parse("weir.toml", []byte("[engines.sim]\nkind = \"sim\"\n[[models]]\nid = \"m\"\nengines = [\"sim\"]\ndir = \"~/x\""), o)
	want := `weir.toml:6: models[0].dir: got "~/x" where no home folder is known, want an absolute path`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := config.Diff(mustParse(t, ""), mustParse(t, "memory.turns = \"1MiB\"\nmemory.ledger = \"2MiB\"")); err == nil || strings.Count(err.Error(), "restart") != 2 {
		t.Errorf("memory changes while weir runs: %v", err)
	}
}
