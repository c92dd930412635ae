package family_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
)

// dataDir finds the shared test data beside the repository.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			data := filepath.Join(dir, "..", "shared", "data", "templates")
			if _, err := os.Stat(data); err != nil {
				t.Skipf("SKIPPED: no template data beside the repository: %v", err)
			}
			return data
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}

type fixture struct {
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning_content"`
		CallID    string          `json:"tool_call_id"`
		Calls     []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Thinking *bool `json:"enable_thinking"`
	Generate bool  `json:"add_generation_prompt"`
}

func (f *fixture) request(t *testing.T) *conv.Request {
	t.Helper()
	roles := map[string]conv.Role{"system": conv.System, "developer": conv.Developer, "user": conv.User, "assistant": conv.Assistant, "tool": conv.Tool}
	req := &conv.Request{}
	for _, m := range f.Messages {
		var content string
		if err := json.Unmarshal(m.Content, &content); err != nil && len(m.Content) > 0 {
			var parts []struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(m.Content, &parts); err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				content += p.Text
			}
		}
		out := conv.Message{Role: roles[m.Role]}
		if m.Role == "tool" {
			out.Parts = []conv.Part{result(m.CallID, text(content))}
		} else {
			out.Parts = []conv.Part{think(m.Reasoning), text(content)}[btoi(m.Role != "assistant"):]
		}
		for _, c := range m.Calls {
			args := string(c.Function.Arguments)
			var quoted string
			if json.Unmarshal(c.Function.Arguments, &quoted) == nil {
				args = quoted
			}
			out.Parts = append(out.Parts, call(c.ID, c.Function.Name, args))
		}
		req.Messages = append(req.Messages, out)
	}
	for _, d := range f.Tools {
		req.Tools = append(req.Tools, conv.ToolDef{Name: d.Function.Name, Description: d.Function.Description, Schema: d.Function.Parameters})
	}
	req.Prompting.NoGeneration = !f.Generate
	if f.Thinking != nil && !*f.Thinking {
		req.Thinking.Mode = conv.ThinkingOff
	}
	return req
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// differs are fixtures that are rendered in another way on purpose, by family; with "all" for every one.
var differs = map[string]string{
	"all/12_parts_image":       "media is refused",
	"qwen2.5/06_tools_str":     "that template quotes arguments that come as text",
	"qwen3.5/06_tools_str":     "that template drops arguments that come as text",
	"qwen3/04_multi_noagp":     "an answer that is last has no empty block here, as it has none once something follows it",
	"qwen3/18_final_assistant": "the same",
	"qwen3_coder/20_developer": "a developer message is a system message here; that template keeps a role that the model does not know",
}

// listed are the definitions of a prompt's tools, without what a template shows of them and a gateway does not give,
// and with constants as JSON has them.
func listed(p string) string {
	_, p, _ = strings.Cut(p, "<tools>\n")
	p, _, _ = strings.Cut(p, "\n</tools>")
	return strings.NewReplacer(`, "strict": true`, "", "\n<strict>True</strict>", "", ">False<", ">false<").Replace(p)
}

// The families' own templates print the same turns. System turns differ in their words where there are
// tools, so those are compared without.
func TestTemplatesAgree(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for _, c := range []struct {
		family   string
		template string
	}{
		{qwen25, "lcpp__Qwen-Qwen2.5-7B-Instruct"},
		{qwen3, "lcpp__Qwen-Qwen3-0.6B"},
		{qwen35, "ardan__Qwen3.6-35B-A3B-UD-Q4_K_M"},
		{qwen3Coder, "lcpp__Qwen3-Coder"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, "truth", c.template+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var truth map[string]struct {
			OK  bool   `json:"ok"`
			Out string `json:"out"`
		}
		if err := json.Unmarshal(data, &truth); err != nil {
			t.Fatal(err)
		}
		k, compared := open(t, c.family), 0
		for name, want := range truth {
			data, err := os.ReadFile(filepath.Join(dir, "fixtures", name+".json"))
			if err != nil || !want.OK {
				continue
			}
			var f fixture
			if err := json.Unmarshal(data, &f); err != nil {
				t.Fatal(err)
			}
			why := cmp.Or(differs["all/"+name], differs[c.family+"/"+name])
			req := f.request(t)
			p, err := k.model.Render(t.Context(), k.input(t, req, ""))
			if err != nil {
				if why == "" {
					t.Errorf("%s, %s: %v", c.family, name, err)
				}
				continue
			}
			got, wanted := p.Text, want.Out
			if len(req.Tools) > 0 {
				if got, wanted := listed(got), listed(wanted); got != wanted {
					t.Errorf("%s, %s: tools\n%s\nwant\n%s", c.family, name, got, wanted)
				}
			}
			if len(req.Tools) > 0 || req.Messages[0].Role != conv.System {
				got, wanted = body(got), body(wanted)
			}
			// A result without text says so here.
			wanted = strings.ReplaceAll(wanted, "<tool_response>\n\n</tool_response>", "<tool_response>\n(empty result)\n</tool_response>")
			switch {
			case why == "" && got != wanted:
				t.Errorf("%s, %s: prompt\n%q\nwant\n%q", c.family, name, got, wanted)
			case why != "" && got == wanted:
				t.Errorf("%s, %s is the same, though %s", c.family, name, why)
			}
			compared++
		}
		if compared < 15 {
			t.Errorf("%s: only %d fixtures compared", c.family, compared)
		}
	}
}
