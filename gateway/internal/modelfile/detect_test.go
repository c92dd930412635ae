package modelfile_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/modelfile"
	"github.com/weirgate/weir/gateway/internal/parsecmd"
	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/template"
)

// data is a folder of reference data beside the repository; a test without it is skipped.
func data(tb testing.TB, name ...string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{filepath.Dir(dir), "shared", "data"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("SKIPPED: no reference data %s: nothing compared with it", filepath.Join(name...))
	}
	return path
}

// sources are the chat templates beside the repository by the names of their files.
func sources(tb testing.TB) map[string]string {
	tb.Helper()
	dir := data(tb, "templates", "jinja")
	files, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no templates in %s: %v", dir, err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".jinja")] = string(b)
	}
	return out
}

func dash(s string) string { return cmp.Or(s, "-") }

// TestDetect holds every real template to what its name says it is.
func TestDetect(t *testing.T) {
	seen := 0
	for name, src := range sources(t) {
		want, ok := expected[name]
		if !ok {
			t.Errorf("%s: nothing is expected of it", name)
			continue
		}
		seen++
		d := modelfile.Detect(src, nil)
		if got := [3]string{dash(d.Family.Name), dash(d.Reasoning.Name), dash(d.Tools.Name)}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if d.Family.Why == "" || d.Reasoning.Why == "" || d.Tools.Why == "" {
			t.Errorf("%s: no reason for one of %+v", name, d)
		}
		if got := len(d.Warnings) > 0; got != slices.Contains(warned, name) {
			t.Errorf("%s: warnings %q", name, d.Warnings)
		}
	}
	if seen != len(expected) {
		t.Errorf("%d of %d templates were there", seen, len(expected))
	}
}

// What a rule calls a family must be one: a policy of another name would not open.
func TestRulesNameFamilies(t *testing.T) {
	families, _, _ := modelfile.RuleNames()
	for _, name := range families {
		if name != "" && name != "none" && !slices.Contains(template.Names(), name) {
			t.Errorf("%q is no policy", name)
		}
	}
}

// turn is a user's question and an answer that thinks, talks and calls a tool.
const turn = `{"tools": [{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.", "parameters": {"type": "object",
 "properties": {"city": {"type": "string", "description": "where"}}, "required": ["city"]}}}], "documents": null, "bos_token": "", "eos_token": "", "messages": [
 {"role": "user", "content": "How is the weather?"},
 {"role": "assistant", "content": "Let me look.", "reasoning_content": "A look is needed.", "reasoning": "A look is needed.", "thinking": "A look is needed.",
  "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}]}]}`

// render renders the turn, or the prompt for it.
func render(t *testing.T, tpl *jinja.Template, arguments string, prompt bool) (string, error) {
	t.Helper()
	vars := map[string]jinja.Value{}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.Replace(turn, "ARGUMENTS", arguments, 1)), &doc); err != nil {
		t.Fatal(err)
	}
	if prompt {
		var messages []json.RawMessage
		if err := json.Unmarshal(doc["messages"], &messages); err != nil {
			t.Fatal(err)
		}
		doc["messages"] = append(append([]byte{'['}, messages[0]...), ']')
	}
	for name, raw := range doc {
		v, err := jinja.FromJSON(raw, jinja.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		vars[name] = v
	}
	vars["add_generation_prompt"] = jinja.Bool(prompt)
	r, err := tpl.Render(t.Context(), vars, jinja.RenderOptions{})
	return string(r.Text), err
}

// answer is what a template writes for the assistant's turn, and the end of the prompt before it.
func answer(t *testing.T, src string) (tail, text string, ok bool) {
	t.Helper()
	tpl, err := jinja.Compile(src, jinja.Options{})
	if err != nil {
		return "", "", false
	}
	for _, arguments := range []string{`{"city": "Paris"}`, `"{\"city\": \"Paris\"}"`} {
		full, err := render(t, tpl, arguments, false)
		if err != nil {
			continue
		}
		prompt, err := render(t, tpl, arguments, true)
		if err != nil {
			continue
		}
		n := 0
		for n < len(prompt) && n < len(full) && prompt[n] == full[n] {
			n++
		}
		if n = min(n, strings.LastIndex(full, "get_weather")); n < 0 || !strings.Contains(full[n:], "Paris") {
			continue // the template does not show calls
		}
		return full[max(0, n-64):n], full[n:], true
	}
	return "", "", false
}

// TestFormatsRead lets the parsers that were detected read what the templates themselves write. Templates
// that write no calls of the history are left out, and formats that no built-in parser reads.
func TestFormatsRead(t *testing.T) {
	read, without := 0, 0
	for name, src := range sources(t) {
		d := modelfile.Detect(src, nil)
		if d.Tools.Name == "" {
			continue
		}
		if !parser.HasTools(d.Tools.Name) || !parser.HasReasoning(d.Reasoning.Name) {
			without++
			continue
		}
		tail, text, ok := answer(t, src)
		if !ok {
			continue
		}
		var out bytes.Buffer
		err := parsecmd.Run(t.Context(), parsecmd.Options{Reasoning: d.Reasoning.Name, Tools: d.Tools.Name, PromptTail: tail, Result: true},
			func(_ context.Context, _ string, config []byte) (host.Guest, error) {
				return guesttest.Native(parser.New(), config)
			}, strings.NewReader(text), &out)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got struct {
			Reasoning string
			Calls     []struct {
				Name, Arguments string
				Complete        bool
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Calls) != 1 || got.Calls[0].Name != "get_weather" || !got.Calls[0].Complete || !strings.Contains(got.Calls[0].Arguments, `"Paris"`) {
			t.Errorf("%s: tail %q, turn %q: %s", name, tail, text, out.Bytes())
		}
		if d.Reasoning.Name != "" && strings.Contains(text, "A look is needed.") && !strings.Contains(got.Reasoning, "A look is needed.") {
			t.Errorf("%s: reasoning %q of tail %q, turn %q", name, got.Reasoning, tail, text)
		}
		read++
	}
	t.Logf("%d templates read, %d in formats that no built-in parser reads", read, without)
	if read == 0 {
		t.Error("no template was read")
	}
}
