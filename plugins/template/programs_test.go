package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/plugins/template"
)

// programs are the chat templates that were made of the programs which the renderers stand for.
var programs = map[string]string{
	"deepseek_v3_2":    "lcpp__deepseek-ai-DeepSeek-V3.2",
	"deepseek_v4":      "lcpp__deepseek-ai-DeepSeek-V4",
	"deepseek_v4_0731": "lcpp__deepseek-ai-DeepSeek-V4-Flash-0731",
}

// differ are the conversations of which a renderer makes something else than the chat template, and why.
var differ = map[string]string{
	"deepseek_v3_2/20_developer":      "the template leaves the developer's message out; to the model it is a user's",
	"deepseek_v4/12_parts_image":      "the template prints the list of parts as Python would; the model takes no images",
	"deepseek_v4_0731/12_parts_image": "as in deepseek_v4",
}

// script is a conversation in the form of chat templates.
type script struct {
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Reasoning string          `json:"reasoning_content"`
		ID        string          `json:"tool_call_id"`
		Calls     []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
			Strict            bool
		}
	}
	Generation *bool `json:"add_generation_prompt"`
}

// texts are those of a content: a string, or the texts in a list of parts.
func texts(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &s) == nil {
		return []string{s}
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return out
}

// input is the render input of the variables of a chat template.
func input(t *testing.T, vars []byte) *plan.RenderInput {
	t.Helper()
	var s script
	var all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(vars, &s), json.Unmarshal(vars, &all)); err != nil {
		t.Fatal(err)
	}
	in := &plan.RenderInput{Content: plan.ReadArguments}
	last := -1
	for i, m := range s.Messages {
		part := uint16(0)
		add := func(role conv.Role, kind conv.PartKind, r plan.RenderRow) {
			r.Message, r.Part, r.Role, r.Kind = uint32(i), part, uint8(role), uint8(kind)
			in.Rows = append(in.Rows, r)
			part++
		}
		role := map[string]conv.Role{"system": conv.System, "developer": conv.Developer, "user": conv.User, "assistant": conv.Assistant, "tool": conv.Tool}[m.Role]
		if m.Reasoning != "" {
			add(role, conv.Reasoning, plan.RenderRow{Text: m.Reasoning})
		}
		for _, text := range texts(t, m.Content) {
			if role == conv.Tool {
				add(role, conv.Result, plan.RenderRow{ID: m.ID, Text: text})
			} else {
				add(role, conv.Text, plan.RenderRow{Text: text})
			}
		}
		for _, c := range m.Calls {
			arguments := string(c.Function.Arguments)
			if jsonscan.TypeOf(c.Function.Arguments) == jsonscan.String {
				if err := json.Unmarshal(c.Function.Arguments, &arguments); err != nil {
					t.Fatal(err)
				}
			}
			add(role, conv.Call, plan.RenderRow{ID: c.ID, Name: c.Function.Name, Text: arguments})
		}
		if role == conv.User {
			last = i
		}
	}
	for i := range in.Rows {
		if r := &in.Rows[i]; int(r.Message) == last {
			r.Flags |= plan.RowLastUser
		}
	}
	for _, tool := range s.Tools {
		f := tool.Function
		r := plan.RenderTool{Name: f.Name, Description: f.Description, Schema: string(f.Parameters)}
		if f.Strict {
			r.Flags = plan.ToolStrict
		}
		in.Tools = append(in.Tools, r)
	}
	kwargs := map[string]json.RawMessage{}
	for _, name := range []string{"enable_thinking", "thinking", "reasoning_effort", "drop_thinking"} {
		if raw, ok := all[name]; ok {
			kwargs[name] = raw
		}
	}
	in.Switches, _ = json.Marshal(map[string]any{"kwargs": kwargs, "tools": len(s.Tools), "generation": s.Generation == nil || *s.Generation})
	return in
}

func renderer(tb testing.TB, name string) *template.Renderer {
	tb.Helper()
	var r template.Renderer
	if err := r.Open([]byte(`{"renderer":"` + name + `"}`)); err != nil {
		tb.Fatal(err)
	}
	return &r
}

func render(t *testing.T, name string, in *plan.RenderInput) *plan.Rendered {
	t.Helper()
	out, err := guest.Rendered(renderer(t, name), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const bos = "<｜begin▁of▁sentence｜>"

// TestRenderersEqualTruth compares with what the vendors' templates render.
func TestRenderersEqualTruth(t *testing.T) {
	t.Parallel()
	dir := data(t)
	for name, file := range programs {
		var truth map[string]struct {
			OK  bool
			Out string
		}
		load(t, &truth, dir, "truth", file+".json")
		same := 0
		for fixture, want := range truth {
			t.Run(name+"/"+fixture, func(t *testing.T) {
				vars, err := os.ReadFile(filepath.Join(dir, "fixtures", fixture+".json"))
				if err != nil {
					t.Fatal(err)
				}
				got := render(t, name, input(t, vars)).Text
				expected := bos + strings.TrimPrefix(want.Out, "<|bos|>")
				switch why, known := differ[name+"/"+fixture]; {
				case !want.OK: // the template does not take it
				case known && got == expected:
					t.Errorf("is the same now: %s", why)
				case !known && got != expected:
					t.Errorf("got\n%q, want\n%q", got, expected)
				default:
					same++
				}
			})
		}
		if same < 15 {
			t.Errorf("%s: %d conversations compared", name, same)
		}
	}
}

// TestRenderersEqualJinja compares with the chat templates, rendered here, for conversations made at random.
func TestRenderersEqualJinja(t *testing.T) {
	t.Parallel()
	dir := data(t)
	for name, file := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(filepath.Join(dir, "jinja", file+".jinja"))
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := jinja.Compile(string(src), jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 400 {
				vars := talk(rnd, name != "deepseek_v3_2")
				values := map[string]jinja.Value{"bos_token": jinja.Text(bos, jinja.Origin{})}
				var all map[string]json.RawMessage
				if err := json.Unmarshal(vars, &all); err != nil {
					t.Fatal(err)
				}
				for k, raw := range all {
					if values[k], err = jinja.FromJSON(raw, jinja.Origin{}); err != nil {
						t.Fatal(err)
					}
				}
				want, err := tmpl.Render(t.Context(), values, jinja.RenderOptions{})
				if err != nil {
					t.Fatalf("%v: %s", err, vars)
				}
				if got := render(t, name, input(t, vars)).Text; got != string(want.Text) {
					t.Fatalf("got\n%s\nwant\n%s\nfor %s", got, want.Text, vars)
				}
			}
		})
	}
}

// talk makes a conversation that the templates take. Where developers do not speak, none does.
func talk(rnd *rand.Rand, developers bool) []byte {
	words := []string{"", "a", "wée\nthere", "\"q\" \\ <b>", "日本 😀", "{\"x\": [1]}", "<｜DSML｜x>", "  pad  "}
	word := func() string { return words[rnd.IntN(len(words))] }
	var value func(deep int) any
	value = func(deep int) any {
		switch n := rnd.IntN(9); {
		case n < 3 || deep > 3:
			return word()
		case n == 3:
			return json.Number([]string{"0", "-3", "1.5", "12345678901", "1e-07"}[rnd.IntN(5)])
		case n == 4:
			return []any{nil, true, false}[rnd.IntN(3)]
		case n == 5:
			return []any{value(deep + 1), value(deep + 1)}
		case n == 6:
			return []any{}
		}
		return map[string]any{"k" + word(): value(deep + 1), "z": value(deep + 1)}
	}
	type m = map[string]any
	var messages []m
	if rnd.IntN(2) == 0 {
		messages = append(messages, m{"role": "system", "content": word()})
	}
	for range 1 + rnd.IntN(3) {
		for range 1 + rnd.IntN(2) {
			role := "user"
			if developers && rnd.IntN(5) == 0 {
				role = "developer"
			}
			messages = append(messages, m{"role": role, "content": word()})
		}
		if rnd.IntN(8) == 0 {
			messages = append(messages, m{"role": "system", "content": word()})
		}
		for range rnd.IntN(3) {
			var calls []m
			for i := range 1 + rnd.IntN(3) {
				arguments := m{}
				for range rnd.IntN(3) {
					arguments[fmt.Sprint("p", rnd.IntN(9), word())] = value(0)
				}
				calls = append(calls, m{"id": fmt.Sprint("c", i), "type": "function", "function": m{"name": "f", "arguments": arguments}})
			}
			messages = append(messages, m{"role": "assistant", "content": word(), "reasoning_content": word(), "tool_calls": calls})
			for i := range calls {
				messages = append(messages, m{"role": "tool", "tool_call_id": fmt.Sprint("c", i), "content": word()})
			}
		}
		if rnd.IntN(3) > 0 {
			messages = append(messages, m{"role": "assistant", "content": word(), "reasoning_content": word()})
		}
	}
	vars := m{"messages": messages, "add_generation_prompt": rnd.IntN(3) > 0}
	if rnd.IntN(2) == 0 {
		f := m{"name": "f", "description": "d" + word(), "parameters": m{"type": "object", "properties": m{"p": m{"enum": []any{value(0)}}}}}
		vars["tools"] = []m{{"type": "function", "function": ordered(f)}}
	}
	for _, name := range []string{"thinking", "drop_thinking"} {
		if rnd.IntN(2) == 0 {
			vars[name] = rnd.IntN(4) > 0
		}
	}
	if _, told := vars["thinking"]; told && rnd.IntN(2) == 0 { // an effort alone would switch it on, but not in a template
		vars["reasoning_effort"] = []string{"max", "high", "low"}[rnd.IntN(3)]
	}
	b, _ := json.Marshal(vars)
	return b
}

// ordered is a function object with its members in the usual order.
func ordered(f map[string]any) json.RawMessage {
	b := []byte("{")
	for i, k := range []string{"name", "description", "parameters"} {
		if i > 0 {
			b = append(b, ',')
		}
		v, _ := json.Marshal(f[k])
		b = append(append(jsonscan.AppendString(b, k), ':'), v...)
	}
	return append(b, '}')
}
