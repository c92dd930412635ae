package prompt_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/jinja"
)

// big is the long conversation of the data as variables of a template, as a request, and as JSON.
func big(tb testing.TB, tools int) (map[string]jinja.Value, *conv.Request, []byte) {
	tb.Helper()
	doc := []byte(read(tb, data(tb, "big.json")))
	var in struct {
		Messages []struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
			CallID    string `json:"tool_call_id"`
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
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		tb.Fatal(err)
	}
	roles := map[string]conv.Role{"system": conv.System, "user": conv.User, "assistant": conv.Assistant, "tool": conv.Tool}
	req := &conv.Request{}
	for _, m := range in.Messages {
		out := conv.Message{Role: roles[m.Role]}
		switch m.Role {
		case "tool":
			out.Parts = []conv.Part{result(m.CallID, text(m.Content))}
		default:
			if m.Reasoning != "" {
				out.Parts = append(out.Parts, think(m.Reasoning))
			}
			if m.Content != "" {
				out.Parts = append(out.Parts, text(m.Content))
			}
			for _, c := range m.Calls {
				out.Parts = append(out.Parts, call(c.ID, c.Function.Name, string(c.Function.Arguments)))
			}
		}
		req.Messages = append(req.Messages, out)
	}
	vars := map[string]jinja.Value{}
	var messages []byte
	r := jsonscan.NewReader(doc)
	err := r.Object(func(key []byte) error {
		name := string(key)
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		if name == "messages" {
			messages = raw
		}
		vars[name], err = jinja.FromJSON(raw, jinja.Origin{Kind: jinja.FromUser})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	var list []jinja.Value
	for i := range tools {
		f := in.Tools[i%len(in.Tools)].Function
		name := fmt.Sprintf("%s_%d", f.Name, i)
		req.Tools = append(req.Tools, conv.ToolDef{Name: name, Description: f.Description, Schema: f.Parameters})
		doc, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": name, "description": f.Description, "parameters": f.Parameters}})
		v, err := jinja.FromJSON(doc, jinja.Origin{Kind: jinja.FromToolSchema, Message: int32(i)})
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, v)
	}
	vars["tools"] = jinja.List(list...)
	return vars, req, messages
}

// BenchmarkRender prepares and renders 200 KB of an agent's conversation, beside the bare render of the same, and
// beside one that has its values made first, as each request needs them.
func BenchmarkRender(b *testing.B) {
	vars, req, messages := big(b, 20)
	sum := func(s string) uint64 { return uint64(len(s)) }
	for _, c := range []struct{ name, file string }{
		{"Qwen3", "lcpp__Qwen-Qwen3-0.6B"},
		{"DeepSeek-V3.1", "lcpp__deepseek-ai-DeepSeek-V3.1"},
		{"Kimi-K2.5", "smg__kimi_k25"},
		{"GLM-5.2", "iklcpp__GLM-5.2"},
		{"Qwen3.5", "axo__qwen3_5"},
	} {
		path := filepath.Join(data(b, "jinja"), c.file+".jinja")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		src := read(b, path)
		tpl, err := jinja.Compile(src, jinja.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, origins := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/jinja/origins=%t", c.name, origins), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := tpl.Render(b.Context(), vars, jinja.RenderOptions{Now: clock(), Origins: origins})
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(r.Text)))
				}
			})
		}
		b.Run(c.name+"/jinja/values", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := jinja.FromJSON(messages, jinja.Origin{Kind: jinja.FromUser})
				if err != nil {
					b.Fatal(err)
				}
				vars := maps.Clone(vars)
				vars["messages"] = v
				r, err := tpl.Render(b.Context(), vars, jinja.RenderOptions{Now: clock(), Origins: true})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(r.Text)))
			}
		})
		m := model(b, src)
		remembered := func(int) *prompt.Turn { return nil }
		b.Run(c.name+"/prompt", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := m.Render(b.Context(), &prompt.Input{Request: req, Turns: remembered, Sum: sum})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(p.Text)))
			}
		})
	}
}
