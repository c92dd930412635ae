package tck_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/tck"
	"github.com/weirgate/weir/abi/tck/wat"
)

var update = flag.Bool("update", false, "write the modules of fixtures anew from their text")

// TestModules wants each module to be what its text says.
func TestModules(t *testing.T) {
	for _, pattern := range []string{"fixtures/*.wat", "fixtures/refused/*.wat"} {
		paths, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := wat.Assemble(string(text))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			module := strings.TrimSuffix(path, ".wat") + ".wasm"
			if *update {
				if err := os.WriteFile(module, want, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			got, err := os.ReadFile(module)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what its text says (run with -update): %v", module, err)
			}
		}
	}
}

// TestFixtures wants the fixtures to be whole: each module has cases, each case says which rule it is of.
func TestFixtures(t *testing.T) {
	fixtures, err := tck.Fixtures()
	if err != nil {
		t.Fatal(err)
	}
	cases, renders := 0, 0
	for _, f := range fixtures {
		seen := map[string]bool{}
		for _, c := range f.Cases {
			if c.Name == "" || seen[c.Name] || c.About == "" || c.Section == "" {
				t.Errorf("%s: case %q has no name of its own, rule or section", f.Name(), c.Name)
			}
			seen[c.Name] = true
			cases++
		}
		for _, c := range f.Renders {
			if c.Name == "" || seen[c.Name] || c.About == "" || c.Section == "" || len(f.Input.Rows) == 0 {
				t.Errorf("%s: case %q has no name of its own, rule, section or input", f.Name(), c.Name)
			}
			seen[c.Name] = true
			renders++
		}
	}
	refusals, err := tck.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d guests with %d cases and %d renders, %d modules to refuse", len(fixtures), cases, renders, len(refusals))
	if len(fixtures) < 15 || cases < 60 || renders < 20 || len(refusals) < 40 {
		t.Error("fixtures are missing")
	}
}
