package kit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/kit"
	"github.com/weirgate/weir/plugins/builtin"
)

// rendererSource is the renderer that plugins/README.md shows.
const rendererSource = "testdata/renderer/main.go"

// guests of testdata, each built once.
var guests = map[string]func() ([]byte, error){ //nolint:gochecknoglobals // a build takes seconds
	"renderer": sync.OnceValues(func() ([]byte, error) { return compiled("renderer") }),
	"faulty":   sync.OnceValues(func() ([]byte, error) { return compiled("faulty") }),
}

func compiled(name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "weir-kit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, name+".wasm")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "./testdata/"+name)
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if log, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, log)
	}
	return os.ReadFile(out)
}

func guestOf(tb testing.TB, name string) []byte {
	tb.Helper()
	wasm, err := guests[name]()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

func report(tb testing.TB, wasm []byte, o kit.CheckOptions) (*kit.Report, string) {
	tb.Helper()
	r, err := kit.Check(tb.Context(), wasm, o)
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return r, b.String()
}

func TestCheckRenderer(t *testing.T) {
	t.Parallel()
	wasm := guestOf(t, "renderer")
	r, text := report(t, wasm, kit.CheckOptions{File: "lines.wasm"})
	if !r.OK || !slices.Equal(r.Manifest.Renderers, []string{"lines"}) || r.Peaks.PlanFuel == 0 {
		t.Errorf("got\n%s", text)
	}
	for _, id := range []string{"open", "render", "once", "L8", "prefix"} {
		if !slices.ContainsFunc(r.Verdicts, func(v kit.Verdict) bool { return v.Check == id && v.OK && !v.Note }) {
			t.Errorf("no verdict on %s:\n%s", id, text)
		}
	}
	if _, err := kit.Check(t.Context(), wasm, kit.CheckOptions{Samples: []kit.Sample{{Name: "a", Text: "b"}}}); err == nil {
		t.Error("samples of output are of use for a renderer")
	}
}

// TestCheckBuiltinRenderers has what a policy of theirs costs in the notes.
func TestCheckBuiltinRenderers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deepseek_v3_2", "deepseek_v4", "deepseek_v4_0731"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, text := report(t, builtin.Wasm(), kit.CheckOptions{Config: `{"renderer": "` + name + `"}`})
			if !r.OK || !strings.Contains(text, "it asks to read arguments: the operator must grant that") {
				t.Errorf("got\n%s", text)
			}
			if told := strings.Contains(text, "a message of the user makes the renderer drop reasoning"); told != (name == "deepseek_v3_2") {
				t.Errorf("told of reasoning that is dropped: %v\n%s", told, text)
			}
		})
	}
}

// TestCheckFindsFaults wants of each faulty renderer the fault that it has, and no other.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	r, text := report(t, guestOf(t, "faulty"), kit.CheckOptions{File: "faulty"})
	got := map[string][]string{}
	for _, v := range r.Verdicts {
		if !v.OK {
			got[v.Config] = append(got[v.Config], v.Check+": "+v.Detail)
		}
	}
	for name, want := range map[string]string{
		"":         "open: a name that is not known must be an error",
		"none":     "",
		"long":     "render: faulty 1.0.0: bad outline or plan: segment 0 refers to what is not there (protocol)",
		"field":    "refers to what is not there",
		"left-out": "once: part 0 of message 3 (tool) stands there 0 times, want 1",
		"twice":    "once: part 0 of message 0 (user) stands there 2 times, want 1",
		"untold":   "once: part 0 of message 2 (assistant) stands there 0 times, want 1",
		"nothing":  "is dropped, and is not there",
		"changing": "L8: another prompt came the next time",
		"anew":     "prefix: what was there before changed, and no part of it is dropped",
		"kwarg":    "instruction 0 has kind 1 in an answer",
		"half":     "the prompt is not UTF-8",
		"error":    "render: faulty 1.0.0: the guest returned an error: weir1_render returned -2 (refused)",
	} {
		config := ""
		if name != "" {
			config = `{"renderer": "` + name + `"}`
		}
		switch faults := got[config]; {
		case want == "" && len(faults) == 0:
		case want == "" || len(faults) != 1 || !strings.Contains(faults[0], want):
			t.Errorf("%s: want %q, got %q", name, want, faults)
		}
	}
	if r.OK || t.Failed() {
		t.Errorf("got\n%s", text)
	}
}

// TestScenesAreWhole wants the conversations of the check to be what a host gives: words that stand once, parts in
// order.
func TestScenesAreWhole(t *testing.T) {
	t.Parallel()
	for _, in := range kit.Scenes() {
		if _, err := plan.AppendRenderInput(nil, in); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(in.Rows); i++ {
			a, b := in.Rows[i-1], in.Rows[i]
			if b.Message < a.Message || b.Message == a.Message && b.Part != a.Part+1 || b.Message > a.Message && b.Part != 0 {
				t.Errorf("part %d of message %d stands behind part %d of message %d", b.Part, b.Message, a.Part, a.Message)
			}
		}
	}
}

// TestReadmeShowsTheRenderer keeps the page and the program that is tested the same.
func TestReadmeShowsTheRenderer(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../plugins/README.md")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(rendererSource)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(string(src)) {
		if strings.TrimSpace(line) != "" {
			want.WriteString("    ")
		}
		want.WriteString(line)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("plugins/README.md does not show %s", rendererSource)
	}
}
