package models_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"reflect"
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface/models"
)

var update = flag.Bool("update", false, "write the files of testdata")

func catalogue() []models.Model {
	levels := []string{"low", "medium", "high"}
	thinker := models.Codex{Levels: levels, DefaultLevel: "medium", Reasons: true, Priority: 1, Parallel: true, Freeform: true}
	return []models.Model{
		{ID: "qwen/qwen3-coder", DisplayName: "Qwen3 Coder", Context: 131072, MaxOutput: 32768, Codex: thinker},
		{ID: "anthropic/coder", DisplayName: "Qwen3 Coder", Context: 131072, MaxOutput: 32768, Of: "qwen/qwen3-coder", Codex: thinker},
		{ID: "own", OwnedBy: "us", Context: 4096, Codex: models.Codex{
			Instructions: "Write \"code\".\n", Levels: []string{"xhigh", "max"}, DefaultLevel: "max", Truncation: 2000, AutoCompact: 3000, Hidden: true, Priority: 7, Images: true,
		}},
		{ID: "unknown window", Of: "own"},
	}
}

// TestCatalogue compares the catalogue with the one that is written down, and wants the same bytes each time.
func TestCatalogue(t *testing.T) {
	body := models.Body(catalogue())
	if !bytes.Equal(body, models.Body(catalogue())) {
		t.Error("the same list gives other bytes")
	}
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	const file = "testdata/catalogue.json"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}

// TestRequired wants every member without which the client takes none of the catalogue, and its type.
func TestRequired(t *testing.T) {
	entries := infos(t, models.Body(catalogue()))
	for _, m := range entries {
		for key, kind := range map[string]any{
			"slug": "", "display_name": "", "supported_reasoning_levels": []any{}, "shell_type": "", "visibility": "", "supported_in_api": true, "priority": 0.,
			"support_verbosity": true, "truncation_policy": map[string]any{}, "experimental_supported_tools": []any{}, "base_instructions": "",
		} {
			if got := m[key]; reflect.TypeOf(got) != reflect.TypeOf(kind) {
				t.Errorf("%v: %s is %v", m["slug"], key, got)
			}
		}
	}
	small, err := os.ReadFile("../../../../../shared/data/codex/min-models.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: no catalogues in ../shared/data/codex beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range infos(t, small)[0] {
		if got := entries[0][key]; reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%s: got %v, and a client takes %v", key, got, want)
		}
	}
}

func infos(t *testing.T, body []byte) []map[string]any {
	t.Helper()
	var list struct{ Models []map[string]any }
	if err := json.Unmarshal(body, &list); err != nil || len(list.Models) == 0 {
		t.Fatalf("%v in %s", err, body)
	}
	return list.Models
}

// FuzzBody wants JSON of whatever texts and numbers, with each name in both lists.
func FuzzBody(f *testing.F) {
	f.Add("id", "name", "text", "low", 4096, 0, 1)
	f.Add("a\"b\\", "\x00\xff", "line\nline", "", -1, 1<<40, -7)
	f.Fuzz(func(t *testing.T, id, name, text, level string, context, compact, priority int) {
		m := models.Model{
			ID: id, DisplayName: name, Of: name, Context: context,
			Codex: models.Codex{Instructions: text, Levels: []string{level, "high"}, DefaultLevel: level, AutoCompact: compact, Priority: priority},
		}
		var list struct {
			Data   []struct{ ID string }
			Models []struct {
				Slug     string
				Priority int
				Window   int `json:"context_window"`
				Compact  int `json:"auto_compact_token_limit"`
			}
		}
		if err := json.Unmarshal(models.Body([]models.Model{m, {ID: "b"}}), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Data) != 2 || len(list.Models) != 2 {
			t.Fatalf("got %+v", list)
		}
		for i, entry := range list.Models {
			if entry.Slug != list.Data[i].ID || entry.Compact > entry.Window {
				t.Fatalf("got %+v", entry)
			}
		}
		if list.Models[0].Priority != priority || context > 0 != (list.Models[0].Window > 0) {
			t.Fatalf("got %+v", list.Models[0])
		}
	})
}
