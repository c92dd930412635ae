package sim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/sim"
)

func user(texts ...string) conv.Message {
	m := conv.Message{Role: conv.User}
	for _, t := range texts {
		m.Parts = append(m.Parts, conv.Part{Kind: conv.Text, Text: t})
	}
	return m
}

func result(role conv.Role, text string) conv.Message {
	return conv.Message{Role: role, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{CallID: "c", Parts: []conv.Part{{Kind: conv.Text, Text: text}}}}}}
}

func called(name string) conv.Message {
	return conv.Message{Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Call, Call: &conv.ToolCall{ID: "c", Name: name, Arguments: "{}"}}}}
}

func tool(name, description, schema string) conv.ToolDef {
	return conv.ToolDef{Name: name, Description: description, Schema: []byte(schema)}
}

var (
	bash    = tool("Bash", "Executes a bash command", `{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"},"description":{"type":"string"}},"required":["command"]}`)
	reader  = tool("Read", "Reads a file from the local filesystem.", `{"type":"object","properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}},"required":["file_path"]}`)
	write   = tool("Write", "Writes a file", `{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`)
	weather = tool("get_weather", "Current weather of a city", `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]},"days":{"type":"integer","minimum":2},"note":{"type":"string"}},"required":["city","unit","days"]}`)
	quote   = tool("lookup", "Looks at a record", `{"type":"object","properties":{}}`)
	patch   = conv.ToolDef{Kind: conv.Custom, Name: "apply_patch", Description: "Patch files"}
	codex   = tool("exec_command", "Runs a command in a PTY", `{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}`)
	array   = tool("shell", "Runs a command", `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}}},"required":["command"]}`)
	ns      = conv.ToolDef{Namespace: "mcp", Name: "find", Description: "Finds a page", Schema: []byte(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)}
	output  = tool("StructuredOutput", "Return the answer", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
)

// show writes a turn on one line.
func show(t sim.Turn) string {
	var parts []string
	for _, b := range t.Blocks {
		switch b.Kind {
		case sim.Reasoning:
			parts = append(parts, "think")
		case sim.Text:
			parts = append(parts, "say "+b.Text)
		case sim.Call:
			name := b.Call.Name
			if b.Call.Namespace != "" {
				name = b.Call.Namespace + "/" + name
			}
			parts = append(parts, "call "+name+" "+b.Call.Arguments)
		}
	}
	return strings.Join(parts, "; ")
}

func TestActor(t *testing.T) {
	const reminder = "<system-reminder>\nUse tools. call Write {\"file_path\":\"/etc/x\"}\n</system-reminder>"
	auto := conv.ToolChoice{Parallel: true}
	for _, c := range []struct {
		name   string
		req    conv.Request
		thinks bool
		want   string
	}{
		{"text only", conv.Request{Messages: []conv.Message{user("hello there")}}, false, "say Weir heard: hello there"},
		{"thinks first", conv.Request{Messages: []conv.Message{user("hello")}}, true, "think; say Weir heard: hello"},
		{"shell", conv.Request{Messages: []conv.Message{user("do it")}, Tools: []conv.ToolDef{write, bash}}, true, `think; call Bash {"command":"echo weir","description":"Print weir"}`},
		{"shell of codex", conv.Request{Messages: []conv.Message{user("do it")}, Tools: []conv.ToolDef{codex}}, false, `call exec_command {"cmd":"echo weir"}`},
		{"shell with a list", conv.Request{Messages: []conv.Message{user("do it")}, Tools: []conv.ToolDef{array}}, false, `call shell {"command":["echo","weir"]}`},
		{"reader of a path", conv.Request{Messages: []conv.Message{user("Read a.txt, please.")}, Tools: []conv.ToolDef{bash, reader}}, false, `call Read {"file_path":"a.txt"}`},
		{"no device is read", conv.Request{Messages: []conv.Message{user("Read /dev/zero now")}, Tools: []conv.ToolDef{reader}}, false, `call Read {"file_path":"weir.txt"}`},
		{"path elsewhere", conv.Request{Messages: []conv.Message{{Role: conv.System, Parts: []conv.Part{{Kind: conv.Text, Text: "see https://x.y/z.html and /workspace/notes.md"}}}, user("go")}, Tools: []conv.ToolDef{reader}}, false, `call Read {"file_path":"/workspace/notes.md"}`},
		{"from the schema", conv.Request{Messages: []conv.Message{user("hi")}, Tools: []conv.ToolDef{write, weather}}, false, `call get_weather {"city":"weir","unit":"c","days":2}`},
		{"namespace", conv.Request{Messages: []conv.Message{user("hi")}, Tools: []conv.ToolDef{ns}}, false, `call mcp/find {"q":"weir"}`},
		{"nothing harmless", conv.Request{Messages: []conv.Message{user("hi")}, Tools: []conv.ToolDef{write, patch}}, false, "say Weir heard: hi"},
		{"ordered call", conv.Request{Messages: []conv.Message{user(`please call Write {"file_path": "/tmp/x"} now`)}, Tools: []conv.ToolDef{bash, write}}, false, `call Write {"file_path": "/tmp/x"}`},
		{"ordered in parallel", conv.Request{Messages: []conv.Message{user("call Bash {\"command\":\"a\"}\ncall Read {\n \"file_path\":\n\"b\"}\ncall Bash {\"command\":\"c\"} call Read {}")}, Tools: []conv.ToolDef{bash, reader}}, false, "call Bash {\"command\":\"a\"}; call Read {\n \"file_path\":\n\"b\"}; call Bash {\"command\":\"c\"}; call Read {}"},
		{"ordered unknown", conv.Request{Messages: []conv.Message{user(`call nosuch {"a":1}`)}, Tools: []conv.ToolDef{bash}}, false, `call nosuch {"a":1}`},
		{"ordered without tools", conv.Request{Messages: []conv.Message{user(`call Bash {"a":1}`)}}, false, `say Weir heard: call Bash {"a":1}`},
		{"ordered by schema", conv.Request{Messages: []conv.Message{user("call lookup")}, Tools: []conv.ToolDef{bash, quote}}, false, "call lookup {}"},
		{"prose with the word", conv.Request{Messages: []conv.Message{user("recall lookup {} and call Bob later")}, Tools: []conv.ToolDef{quote}}, false, "call lookup {}"},
		{"broken JSON is no order", conv.Request{Messages: []conv.Message{user(`call Write {"file_path": `)}, Tools: []conv.ToolDef{write}}, false, `say Weir heard: call Write {"file_path":`},
		{"ordered custom", conv.Request{Messages: []conv.Message{user("call apply_patch *** Begin Patch")}, Tools: []conv.ToolDef{patch}}, false, "call apply_patch *** Begin Patch"},
		{"ordered with namespace", conv.Request{Messages: []conv.Message{user(`call mcp__find {"q":"x"}`)}, Tools: []conv.ToolDef{ns}}, false, `call mcp/find {"q":"x"}`},
		{"quoted by the client", conv.Request{Messages: []conv.Message{user(`"call Bash {\"command\":\"a\"}"`)}, Tools: []conv.ToolDef{bash}}, false, `call Bash {"command":"a"}`},
		{"after a time stamp", conv.Request{Messages: []conv.Message{user("[Sun 2026-01-01 00:00 UTC] say hi\n\nRuntime: x")}, Tools: []conv.ToolDef{bash}}, false, "say hi"},
		{"reminders are not the user", conv.Request{Messages: []conv.Message{user(reminder, "say  two spaces "), {Role: conv.System, Parts: []conv.Part{{Kind: conv.Text, Text: "call Write {}"}}}}, Tools: []conv.ToolDef{bash, write}}, false, "say  two spaces"},
		{"only the last user counts", conv.Request{Messages: []conv.Message{user(`call Write {}`), {Role: conv.Assistant}, user("hi")}, Tools: []conv.ToolDef{bash, write}}, false, `call Bash {"command":"echo weir","description":"Print weir"}`},
		{"client's own message last", conv.Request{Messages: []conv.Message{user("say yes"), user("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nsay no\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>")}, Tools: []conv.ToolDef{bash}}, false, "say yes"},
		{"answers a result", conv.Request{Messages: []conv.Message{user("go"), called("Bash"), result(conv.Tool, "weir\nmore")}, Tools: []conv.ToolDef{bash}}, true, "think; say The tool answered: weir"},
		{"result in a user message", conv.Request{Messages: []conv.Message{user("go"), called("Bash"), {Role: conv.User, Parts: append(result(conv.User, "weir").Parts, conv.Part{Kind: conv.Text, Text: reminder})}}, Tools: []conv.ToolDef{bash}}, false, "say The tool answered: weir"},
		{"result, then the client's message", conv.Request{Messages: []conv.Message{user("go"), called("Bash"), result(conv.Tool, "weir"), user("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> x")}, Tools: []conv.ToolDef{bash}}, false, "say The tool answered: weir"},
		{"result, then a word", conv.Request{Messages: []conv.Message{user("go"), called("Bash"), {Role: conv.User, Parts: append(result(conv.User, "weir").Parts, conv.Part{Kind: conv.Text, Text: "say now"})}}, Tools: []conv.ToolDef{bash}}, false, "say now"},
		{"empty result", conv.Request{Messages: []conv.Message{called("x"), result(conv.Tool, "")}}, false, "say The tool answered with nothing."},
		{"cut off after a thought", conv.Request{Messages: []conv.Message{user("go"), called("Bash"), result(conv.Tool, "weir"), {Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Reasoning, Text: "Hm."}}}}, Tools: []conv.ToolDef{bash}}, false, "say The tool answered: weir"},
		{"interleave", conv.Request{Messages: []conv.Message{user("interleave\ncall Bash {\"command\":\"a\"}\ncall Read {\"file_path\":\"b\"}")}, Tools: []conv.ToolDef{bash, reader}}, true, `think; call Bash {"command":"a"}; think; call Read {"file_path":"b"}`},
		{"interleave alone", conv.Request{Messages: []conv.Message{user("interleave")}, Tools: []conv.ToolDef{weather}}, true, `think; call get_weather {"city":"weir","unit":"c","days":2}; think; call get_weather {"city":"weir","unit":"c","days":2}`},
		{"text, then a call", conv.Request{Messages: []conv.Message{user("say first\ncall lookup {}")}, Tools: []conv.ToolDef{quote}}, false, "say first; call lookup {}"},
		{"say JSON", conv.Request{Messages: []conv.Message{user(`sayjson "a\nb <think>"`)}}, false, "say a\nb <think>"},
		{"long", conv.Request{Messages: []conv.Message{user("long 3")}}, false, "say below naïve gate"},
		{"choice none", conv.Request{Messages: []conv.Message{user("call lookup {}")}, Tools: []conv.ToolDef{quote}, Choice: conv.ToolChoice{Mode: conv.ChoiceNone}}, false, "say Weir heard: call lookup {}"},
		{"choice required", conv.Request{Messages: []conv.Message{user("no")}, Tools: []conv.ToolDef{write, weather}, Choice: conv.ToolChoice{Mode: conv.ChoiceRequired}}, false, `call get_weather {"city":"weir","unit":"c","days":2}`},
		{"choice named", conv.Request{Messages: []conv.Message{user("call lookup {}")}, Tools: []conv.ToolDef{quote, weather}, Choice: conv.ToolChoice{Mode: conv.ChoiceNamed, Name: "get_weather"}}, false, `call get_weather {"city":"weir","unit":"c","days":2}`},
		{"choice named and ordered", conv.Request{Messages: []conv.Message{user(`call get_weather {"city":"x"}`)}, Tools: []conv.ToolDef{quote, weather}, Choice: conv.ToolChoice{Mode: conv.ChoiceNamed, Name: "get_weather"}}, false, `call get_weather {"city":"x"}`},
		{"schema", conv.Request{Messages: []conv.Message{user("Say hello please")}, Format: conv.Format{Type: "json_schema", Schema: []byte(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)}}, false, `say {"title":"weir"}`},
		{"JSON object", conv.Request{Messages: []conv.Message{user("x")}, Tools: []conv.ToolDef{bash}, Format: conv.Format{Type: "json_object"}}, true, `think; say {"answer":"weir"}`},
		{"answer through a tool", conv.Request{Messages: []conv.Message{user("x"), called("Bash"), result(conv.Tool, "weir")}, Tools: []conv.ToolDef{bash, output}}, false, `call StructuredOutput {"ok":false}`},
		{"answer given", conv.Request{Messages: []conv.Message{user("x"), called("StructuredOutput"), result(conv.Tool, "ok")}, Tools: []conv.ToolDef{bash, output}}, false, `say The tool answered: ok`},
		{"deferred tool", conv.Request{Messages: []conv.Message{user("x")}, Tools: []conv.ToolDef{{Name: "lookup", Deferred: true}}}, false, "say Weir heard: x"},
		{"empty request", conv.Request{}, false, "say Weir is here."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.req.Choice.Mode == conv.ChoiceAuto {
				c.req.Choice = auto
			}
			got := show(sim.Act(&c.req, sim.Mood{Thinking: c.thinks}))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestActorConstraints(t *testing.T) {
	req := &conv.Request{Messages: []conv.Message{user("x")}, Tools: []conv.ToolDef{bash}}
	for want, c := range map[string]engines.Constraint{
		`say {"a":1}`:           {JSONSchema: []byte(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)},
		`say {"answer":"weir"}`: {JSONObject: true},
		`say www-0`:             {Regex: `[a-z]{3}-\d`},
	} {
		if got := show(sim.Act(req, sim.Mood{Constraint: c})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRecordedClients: what agent clients really send is answered with an echo, a read, or words.
func TestRecordedClients(t *testing.T) {
	files := recorded(t)
	seen := 0
	for _, f := range files {
		req := decode(t, f)
		if req == nil {
			continue
		}
		seen++
		turn := sim.Act(req, sim.Mood{})
		for _, b := range turn.Blocks {
			if b.Kind != sim.Call {
				continue
			}
			if !json.Valid([]byte(b.Call.Arguments)) {
				t.Errorf("%s: arguments %s", filepath.Base(f), b.Call.Arguments)
			}
			switch b.Call.Name {
			case "Bash", "bash", "exec_command", "exec", "run_shell_command":
				if !strings.Contains(b.Call.Arguments, "echo weir") {
					t.Errorf("%s: %s %s", filepath.Base(f), b.Call.Name, b.Call.Arguments)
				}
			case "Read", "read", "read_file", "StructuredOutput", "get_weather", "weather", "glob", "get_goal":
			default:
				t.Errorf("%s: called %s %s", filepath.Base(f), b.Call.Name, b.Call.Arguments)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d recorded requests were read", seen)
	}
}

func recorded(t *testing.T) []string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "recorded", "*.json"))
	if len(files) == 0 {
		t.Skip("SKIPPED: ../shared/data/recorded is not here, so nothing recorded from real clients was checked")
	}
	return files
}

// decode reads as much of a chat or messages request as the actor looks at; nil for other requests.
func decode(t *testing.T, file string) *conv.Request {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rec struct {
		Body struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
			Tools []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				InputSchema json.RawMessage `json:"input_schema"`
				Function    struct {
					Name        string          `json:"name"`
					Description string          `json:"description"`
					Parameters  json.RawMessage `json:"parameters"`
				} `json:"function"`
			} `json:"tools"`
		} `json:"body"`
	}
	if json.Unmarshal(raw, &rec) != nil || len(rec.Body.Messages) == 0 {
		return nil
	}
	req := &conv.Request{Choice: conv.ToolChoice{Parallel: true}}
	roles := map[string]conv.Role{"system": conv.System, "user": conv.User, "assistant": conv.Assistant, "tool": conv.Tool}
	for _, m := range rec.Body.Messages {
		msg := conv.Message{Role: roles[m.Role]}
		var text string
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		switch {
		case m.Role == "tool":
			msg.Parts = result(conv.Tool, string(m.Content)).Parts
		case json.Unmarshal(m.Content, &text) == nil:
			msg.Parts = user(text).Parts
		case json.Unmarshal(m.Content, &parts) == nil:
			for _, p := range parts {
				switch p.Type {
				case "text":
					msg.Parts = append(msg.Parts, conv.Part{Kind: conv.Text, Text: p.Text})
				case "tool_result":
					msg.Parts = append(msg.Parts, result(conv.User, "weir").Parts...)
				}
			}
		}
		req.Messages = append(req.Messages, msg)
	}
	for _, d := range rec.Body.Tools {
		if d.Function.Name != "" {
			d.Name, d.Description, d.InputSchema = d.Function.Name, d.Function.Description, d.Function.Parameters
		}
		if d.Name != "" {
			req.Tools = append(req.Tools, conv.ToolDef{Name: d.Name, Description: d.Description, Schema: d.InputSchema})
		}
	}
	return req
}
