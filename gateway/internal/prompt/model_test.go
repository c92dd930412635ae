package prompt_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// One model serves many requests at once, and none sees another's.
func TestConcurrentRenders(t *testing.T) {
	t.Parallel()
	m := own(t, "loop")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("tool%d", (i+j)%20)
				req := withTools(request(system("S"), user(name), answer(think("R"), call("a", name, `{"x":1}`)), tool("a", "T")), conv.ToolDef{Name: name})
				p, err := m.Render(t.Context(), &prompt.Input{Request: req})
				if err != nil {
					t.Error(err)
					return
				}
				want := `<t>tools{"type": "function", "function": {"name": "` + name + `", "parameters": {"type": "object", "properties": {}}}}</e>` +
					"\n<t>system\nS</e>\n<t>user\n" + name + "</e>\n<t>assistant\n<think>R</think><call>" + name + ` {"x": 1}</call></e>` + "\n<t>tool\nT</e>\n<t>assistant\n<think>"
				if p.Text != want {
					t.Errorf("prompt %q, want %q", p.Text, want)
				}
			}
		})
	}
	wg.Wait()
}

// Each fact has a value and says what it means, and templates differ in them.
func TestFacts(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]map[string]string{
		"loop": {
			"system message": "yes", "later system message": "yes", "developer message": "no", "tools": "yes", "calls": "yes", "arguments": "object", "several calls in a message": "yes",
			"text beside calls": "yes", "tool role": "yes", "reasoning": "reasoning_content", "parts": "no", "media": "none",
			"turn header": `"</e>\n<t>assistant\n"`, "prompt ends after a user": `"</e>\n<t>assistant\n<think>"`, "prompt ends after a tool": `"</e>\n<t>assistant\n<think>"`,
		},
		"strict": {"system message": "no", "user messages in a row": "no", "tools": "no", "calls": "no", "tool role": "no", "reasoning": "none", "turn closing": `"</s>[U]"`},
		"single": {"developer message": "yes", "several calls in a message": "no", "text beside calls": "no", "ids of calls": "yes", "names of tools at results": "yes"},
		"parts":  {"parts": "yes", "media": "image", "documents": "yes", "reasoning": "content[].thinking"},
	} {
		got := map[string]string{}
		for _, f := range own(t, template).Facts() {
			if f.Value == "" || f.Means == "" || f.Template != "default" {
				t.Errorf("%s: fact %+v", template, f)
			}
			got[f.Name] = f.Value
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %s, want %s", template, name, got[name], value)
			}
		}
	}
}

// The cache of tools is bounded, and other tools are other tools.
func TestToolCache(t *testing.T) {
	t.Parallel()
	m := own(t, "loop")
	for i := range 40 {
		for range 2 {
			def := conv.ToolDef{Name: "f", Description: fmt.Sprint("d", i)}
			p := render(t, m, &prompt.Input{Request: withTools(request(user("U")), def)})
			if want := `"description": "d` + strconv.Itoa(i) + `"`; !strings.Contains(p.Text, want) {
				t.Fatalf("no %s in %q", want, p.Text)
			}
		}
		if n, _ := prompt.CachedTools(m); n != min(i+1, 16) {
			t.Fatalf("%d lists are kept of %d", n, i+1)
		}
	}
	large := conv.ToolDef{Name: "f", Description: strings.Repeat("x", 3<<20)}
	for i := range 4 {
		large.Name = fmt.Sprint("f", i)
		render(t, m, &prompt.Input{Request: withTools(request(user("U")), large)})
	}
	if n, size := prompt.CachedTools(m); size > 8<<20 || n == 0 {
		t.Errorf("%d lists of %d bytes are kept", n, size)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	const none = `{"type": "object", "properties": {}}`
	for in, want := range map[string]string{
		"":                                 none,
		" null ":                           none,
		"{}":                               none,
		" { } ":                            none,
		`{"type":"object"}`:                `{"type":"object", "properties": {}}`,
		`{"properties":{"a":{}}}`:          `{"type": "object", "properties":{"a":{}}}`,
		`{"a":1}`:                          `{"type": "object", "a":1, "properties": {}}`,
		`{"properties":{},"type":"array"}`: `{"properties":{},"type":"array"}`,
		"[]":                               "",
		`{"a":`:                            "",
		`{} {}`:                            "",
	} {
		got := prompt.Complete(in)
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if got != "" && !jsonscan.Valid([]byte(got)) {
			t.Errorf("%q became %q, which is no JSON", in, got)
		}
	}
}
