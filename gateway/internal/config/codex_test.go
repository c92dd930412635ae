package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/config"
)

func TestCodex(t *testing.T) {
	t.Parallel()
	c, err := config.Load("testdata/codex.good.toml", options(t))
	if err != nil {
		t.Fatal(err)
	}
	type want struct {
		names, levels, level string
		priority             int
	}
	for i, w := range []want{
		{"plain", "", "", 1},
		{"thinks anthropic/thinks fast", "low medium high", "medium", 0},
		{"levels", "high xhigh max ultra", "max", 3},
		{"quiet", "", "", 4},
		{"chosen", "low medium high", "low", 5},
	} {
		m := &c.Models[i]
		got := want{strings.Join(m.Names(), " "), strings.Join(m.ReasoningLevels(), " "), m.DefaultReasoning(), m.Codex.Priority}
		if got != w {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
	plain, thinks, file := c.Models[0].Codex, c.Models[1].Codex, c.Models[2].Codex
	if !plain.Visible || !plain.ParallelTools || plain.ApplyPatch != config.PatchFreeform || plain.Images || plain.Truncation != 10000 || plain.AutoCompact != 0 || plain.Instructions != "" {
		t.Errorf("defaults: %+v", plain)
	}
	if thinks.Visible || thinks.ParallelTools || thinks.ApplyPatch != config.PatchFunction || !thinks.Images || thinks.Truncation != 2000 || thinks.AutoCompact != 4096 {
		t.Errorf("given: %+v", thinks)
	}
	if !filepath.IsAbs(file.InstructionsFile) || file.Instructions != "You write code for us.\n" {
		t.Errorf("instructions: %+v", file)
	}
}

// TestLevelsOfFiles has the levels follow what a model's files say of its reasoning.
func TestLevelsOfFiles(t *testing.T) {
	t.Parallel()
	m := mustParse(t, "engines.sim.kind = \"sim\"\n[[models]]\nid = \"m\"\nengines = [\"sim\"]\ndir = \"/x\"\n"+
		"codex = { default_reasoning = \"high\", auto_compact = 1_000_000 }").Models[0]
	if m.ReasoningLevels() != nil || m.DefaultReasoning() != "" {
		t.Errorf("got %v %q before the files were read", m.ReasoningLevels(), m.DefaultReasoning())
	}
	m.Reasoning = "qwen3"
	if !slices.Equal(m.ReasoningLevels(), []string{"low", "medium", "high"}) || m.DefaultReasoning() != "high" {
		t.Errorf("got %v %q", m.ReasoningLevels(), m.DefaultReasoning())
	}
}

func TestInstructionsFile(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	for _, tt := range []struct{ name, text, want string }{
		{"as long as may be", strings.Repeat("x", most), ""},
		{"longer", strings.Repeat("x", most+1), ", which is longer"},
		{"empty", "", ", which is empty"},
		{"white space", " \n\t\n", ", which is empty"},
		{"not UTF-8", "a\xff", ", which is not UTF-8"},
		{"nul", "a\x00b", ", which is not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "text.md"), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, "weir.toml")
			c, err := config.Parse(name, []byte("engines.sim.kind = \"sim\"\n[[models]]\nid = \"m\"\nengines = [\"sim\"]\nfamily = \"qwen3\"\n"+
				"[models.codex]\nbase_instructions_file = \"text.md\""), options(t))
			if tt.want == "" {
				if err != nil || c.Models[0].Codex.Instructions != tt.text {
					t.Errorf("got %v", err)
				}
				return
			}
			want := name + `:7: models[0].codex.base_instructions_file: got "text.md"` + tt.want + ", want a file of text, at most 64KiB"
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
