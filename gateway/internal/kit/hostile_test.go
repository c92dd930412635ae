package kit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/tck/wat"
	"github.com/weirgate/weir/gateway/internal/kit"
)

// TestHostile has every module of testdata/hostile checked. Each says in its first line where it misbehaves and
// how; what the author of one would read must say so too.
func TestHostile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/hostile/*.wat")
	if err != nil || len(files) == 0 {
		t.Skipf("SKIPPED: no hostile modules in testdata/hostile: %v", err)
	}
	// Where fuel ends a call, its time may end it first.
	words := map[string]string{"fuel:": "out of ", "depth:": "nested too deep", "trap:": "wasm error", "exit:": "exit"}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".wat"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wasm, err := wat.Assemble(string(text))
			if err != nil {
				t.Fatal(err)
			}
			r, err := kit.Check(t.Context(), wasm, kit.CheckOptions{File: file})
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(text), "\n")
			what := append(strings.Fields(head), "", "", "")[1:3]
			if what[1] == "none:" || what[1] == "any:" {
				return // it is odd, and keeps the rules, or breaks them by chance
			}
			if r.OK {
				t.Errorf("%s: every check passes", head)
			}
			said := false
			for _, v := range r.Verdicts {
				if !v.OK {
					said = said || strings.Contains(v.Detail, words[what[1]])
					if strings.ContainsAny(v.Detail, "\n\x1b") || len(v.Detail) > 1000 {
						t.Errorf("%s: detail %q", v.Check, v.Detail)
					}
				}
			}
			if !said {
				t.Errorf("%s: no verdict says %q: %+v", head, words[what[1]], r.Verdicts)
			}
		})
	}
}
