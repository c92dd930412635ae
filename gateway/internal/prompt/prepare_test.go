package prompt_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// own is a model of one of the templates of these tests.
func own(tb testing.TB, name string) *prompt.Model {
	tb.Helper()
	m, err := prompt.New(tb.Context(), prompt.Source{
		Template: read(tb, filepath.Join("testdata", name+".jinja")),
		Tokens:   map[string]string{"bos_token": "<s>", "eos_token": "</s>"},
		Ends:     []string{"", "</s>", "</e>", "|end|", "<|user|>", "<|tool|>"},
		Now:      clock,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// What the templates of these tests print of a tool without a schema, and to begin a turn.
const (
	loopTools = "<t>tools" + `{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}` + "</e>\n"
	think3    = "<t>assistant\n<think>"
)

func bare() conv.ToolDef { return conv.ToolDef{Name: "f"} }

func bad(id, s string) conv.Part {
	p := result(id, text(s))
	p.Result.IsError = true
	return p
}

// prepareCases are conversations and what becomes of them.
var prepareCases = []struct {
	name, template string
	req            *conv.Request
	plan           []plan.Op
	want           string
	missing        string // is among what is told
}{
	{
		name: "plain", template: "loop", req: request(system("S"), user("U"), answer(text("A")), user("V")),
		want: "<t>system\nS</e>\n<t>user\nU</e>\n<t>assistant\nA</e>\n<t>user\nV</e>\n" + think3,
	},
	{
		name: "system in the user's turn", template: "paired", req: request(system("S"), user("U"), answer(text("A"))), want: "[U]S; U[/U]A",
	},
	{
		name: "system alone", template: "paired", req: request(system("S"), says(conv.Developer, text("D"))), want: "[U]S\nD[/U]", missing: "the system message became text",
	},
	{
		name: "texts and system blocks are joined", template: "loop",
		req:  request(says(conv.System, text("S1"), text(""), text("S2")), system("S3"), says(conv.User, text("a"), text("b"))),
		want: "<t>system\nS1\nS2\nS3</e>\n<t>user\na\nb</e>\n" + think3,
	},
	{
		name: "developer becomes system", template: "loop", req: request(says(conv.Developer, text("D")), user("U")),
		want: "<t>system\nD</e>\n<t>user\nU</e>\n" + think3, missing: "developer",
	},
	{
		name: "system and developer become one in their order", template: "loop",
		req:  request(says(conv.Developer, text("D1")), system("S"), says(conv.Developer, text("D2")), user("U")),
		want: "<t>system\nD1\nS\nD2</e>\n<t>user\nU</e>\n" + think3, missing: "developer",
	},
	{
		name: "both stay where both are shown", template: "single", req: request(system("S"), says(conv.Developer, text("D")), user("U")),
		want: "|system|S|end||developer|D|end||user|U|end||assistant|",
	},
	{
		name: "late system stays where it is shown", template: "loop", req: request(user("U"), answer(text("A")), says(conv.Developer, text("L")), user("V")),
		want: "<t>user\nU</e>\n<t>assistant\nA</e>\n<t>system\nL</e>\n<t>user\nV</e>\n" + think3, missing: "developer",
	},
	{
		name: "reasoning and calls in a loop", template: "loop",
		req:  withTools(request(user("U"), answer(think("R"), text("B"), call("a", "f", `{"x":1.50,"y":"é"}`)), tool("a", "T")), bare()),
		want: loopTools + "<t>user\nU</e>\n<t>assistant\n<think>R</think>B<call>f " + `{"x": 1.5, "y": "é"}` + "</call></e>\n<t>tool\nT</e>\n" + think3,
	},
	{
		name: "no arguments", template: "loop", req: request(user("U"), answer(call("a", "f", ""), call("b", "f", " null ")), tool("a", "T"), tool("b", "U")),
		want: "<t>user\nU</e>\n<t>assistant\n<think></think><call>f {}</call><call>f {}</call></e>\n<t>tool\nT</e>\n<t>tool\nU</e>\n" + think3,
	},
	{
		name: "arguments that are broken", template: "loop", req: request(user("U"), answer(call("a", "f", `{"x":`)), tool("a", "T")),
		want: "<t>user\nU</e>\n<t>assistant\n<think></think><call>f " + `{"input": "{\"x\":"}` + "</call></e>\n<t>tool\nT</e>\n" + think3, missing: "not an object",
	},
	{
		name: "broken arguments where text is printed", template: "parts", req: request(user("U"), answer(call("a", "f", `{"x":`)), tool("a", "T")),
		want: `<|user|>U<|assistant|><call>f{"x":<|tool|>T<|assistant|>`, missing: "not an object",
	},
	{
		name: "results in the order of the calls", template: "loop",
		req:  request(user("U"), answer(call("a", "f", ""), call("b", "f", "")), says(conv.User, result("zz", text("Z")), result("b", text("B")), bad("a", "boom"), text("note"))),
		want: "<t>user\nU</e>\n<t>assistant\n<call>f {}</call><call>f {}</call></e>\n<t>tool\nboom</e>\n<t>tool\nB</e>\n<t>tool\nZ</e>\n<t>user\nnote</e>\n" + think3,
	},
	{
		name: "empty result", template: "loop", req: request(user("U"), answer(call("a", "f", "")), says(conv.Tool, result("a"))),
		want: "<t>user\nU</e>\n<t>assistant\n<think></think><call>f {}</call></e>\n<t>tool\n(empty result)</e>\n" + think3,
	},
	{
		name: "custom tool", template: "loop",
		req: withTools(request(user("U"), answer(conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "a", Name: "patch", Kind: conv.Custom, Arguments: "+\"x\"\n"}}), tool("a", "T")), conv.ToolDef{Name: "patch", Kind: conv.Custom}),
		want: "<t>tools" + `{"type": "function", "function": {"name": "patch", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}` +
			"</e>\n<t>user\nU</e>\n<t>assistant\n<think></think><call>patch " + `{"input": "+\"x\"\n"}` + "</call></e>\n<t>tool\nT</e>\n" + think3,
	},
	{
		name: "deferred tools are shown where they are named, once", template: "loop",
		req: withTools(request(user("U"), answer(call("a", "f", "")), says(conv.Tool, result("a", conv.Part{Kind: conv.Reference, Text: "g"}, conv.Part{Kind: conv.Reference, Text: "g"}))), bare(), conv.ToolDef{Name: "g", Deferred: true}),
		want: loopTools + "<t>user\nU</e>\n<t>assistant\n<think></think><call>f {}</call></e>\n<t>tool\n<tools>\n" +
			`{"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}` + "\n</tools>\ng</e>\n" + think3,
	},
	{
		name: "schemas are completed", template: "single",
		req:     withTools(request(user("U")), conv.ToolDef{Name: "f", Namespace: "n", Schema: []byte(`{"required":["a"]}`)}, conv.ToolDef{Name: "g", Schema: []byte("{}")}, conv.ToolDef{Name: "h", Schema: []byte("[]")}),
		want:    `|user|U|end||tools|[{"type": "function", "function": {"name": "n__f", "parameters": {"type": "object", "required": ["a"], "properties": {}}}}, {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}, {"type": "function", "function": {"name": "h", "parameters": {"type": "object", "properties": {}}}}]|end||assistant|`,
		missing: "tools[2]",
	},
	{
		name: "no system role, and turns must alternate", template: "strict",
		req:  request(system("S"), user("U"), user("V"), answer(text("A")), answer(text("B")), system("L"), user("W")),
		want: "<s>[U]S\n\nU\n\nV[/U] A\n\nB</s>[U]<system-reminder>\nL\n</system-reminder>\n\nW[/U]", missing: "first user",
	},
	{
		name: "no tools at all", template: "strict",
		req: withTools(request(user("U"), answer(text("Look."), call("a", "f", `{"x":1}`), call("b", "g", "")), says(conv.Tool, result("b", text("B")), result("a", text("A"))), user("V")), bare()),
		want: "<s>[U]# Tools\n\nThese tools can be called. Each line between <tools> and </tools> describes one:\n\n<tools>\n" +
			`{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}` +
			"\n</tools>\n\nA call is one JSON object, with the tool's name and its arguments, between <tool_call> and </tool_call>. Several calls are written one after the other:\n<tool_call>\n" +
			`{"name": <tool name>, "arguments": <object with the arguments>}` + "\n</tool_call>\n\nU[/U] Look.\n<tool_call>\n" + `{"name": "f", "arguments": {"x":1}}` + "\n</tool_call>\n<tool_call>\n" +
			`{"name": "g", "arguments": {}}` + "\n</tool_call></s>[U]<tool_response>\nA\n</tool_response>\n<tool_response>\nB\n</tool_response>\n\nV[/U]",
		missing: "tools: described",
	},
	{
		name: "one call at a time and no text beside it", template: "single",
		req:  request(user("U"), answer(text("Look."), call("a", "f", `{}`), call("b", "g", `{}`)), says(conv.Tool, result("b", text("B")), result("a", text("A")))),
		want: "|user|U|end||assistant|Look.|end||assistant|a f({})|end||tool f a|A|end||assistant|b g({})|end||tool g b|B|end||assistant|", missing: "a message of its own",
	},
	{
		name: "ids by the plan, on the call and its result", template: "single",
		req:  request(user("U"), answer(call("long-id", "f", `{}`)), tool("long-id", "T")),
		plan: []plan.Op{{Kind: plan.CallIDOp, Message: 1, Value: "functions.f:0"}},
		want: "|user|U|end||assistant|functions.f:0 f({})|end||tool f functions.f:0|T|end||assistant|",
	},
	{
		name: "parts stay parts, images too", template: "parts",
		req:  request(says(conv.User, text("a"), conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}}, text("b")), answer(think("R"), text("c"))),
		want: "<|user|>a<img>b<|assistant|>[T]R[/T]c<|assistant|>",
	},
	{
		name: "one text is a string", template: "parts", req: request(says(conv.User, text("a"))), want: "<|user|>a<|assistant|>",
	},
	{
		name: "documents", template: "parts", req: &conv.Request{Messages: []conv.Message{user("U")}, Prompting: conv.Prompting{Documents: []byte(`[{"title":"T","text":"X"}]`)}},
		want: "<docs>T: X;<|user|>U<|assistant|>",
	},
	{
		name: "documents that nobody shows", template: "loop", req: &conv.Request{Messages: []conv.Message{user("U")}, Prompting: conv.Prompting{Documents: []byte(`[]`)}},
		want: "<t>user\nU</e>\n" + think3, missing: "documents",
	},
	{
		name: "no generation", template: "loop", req: &conv.Request{Messages: []conv.Message{user("U")}, Prompting: conv.Prompting{NoGeneration: true}}, want: "<t>user\nU</e>\n",
	},
	{
		name: "arguments of the plan, unless the client names them", template: "loop", req: request(user("U")),
		plan: []plan.Op{{Kind: plan.KwargOp, Key: "thinking", Value: "false"}, {Kind: plan.KwargOp, Key: "unknown", Value: "1"}},
		want: "<t>user\nU</e>\n<t>assistant\n<think></think>",
	},
	{
		name: "the client's arguments win", template: "loop", req: &conv.Request{Messages: []conv.Message{user("U")}, TemplateArgs: []byte(`{"thinking":true,"other":[1]}`)},
		plan: []plan.Op{{Kind: plan.KwargOp, Key: "thinking", Value: "false"}}, want: "<t>user\nU</e>\n" + think3, missing: "does not read other",
	},
	{
		name: "a template of the request's own", template: "loop",
		req:  &conv.Request{Messages: []conv.Message{system("S"), user("U")}, Prompting: conv.Prompting{Template: "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"}},
		want: "s:S;u:U;",
	},
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for _, c := range prepareCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := render(t, own(t, c.template), &prompt.Input{Request: c.req, Plan: c.plan})
			if p.Text != c.want {
				t.Errorf("prompt\n%q\nwant\n%q", p.Text, c.want)
			}
			told := slices.ContainsFunc(p.Missing, func(s string) bool { return strings.Contains(s, c.missing) })
			if c.missing == "" && len(p.Missing) > 0 || c.missing != "" && !told {
				t.Errorf("told %q, want %q", p.Missing, c.missing)
			}
		})
	}
}

// A late system message at a tool's result must not end the loop, or its reasoning goes.
func TestLateSystemKeepsTheLoop(t *testing.T) {
	t.Parallel()
	src := strings.Replace(read(t, filepath.Join("testdata", "loop.jinja")), "{%- if m.role == 'developer' -%}", "{%- if m.role == 'developer' or m.role == 'system' and not loop.first -%}", 1)
	m, err := prompt.New(t.Context(), prompt.Source{Template: src})
	if err != nil {
		t.Fatal(err)
	}
	p := render(t, m, &prompt.Input{Request: request(user("U"), answer(think("R"), call("a", "f", "{}")), tool("a", "T"), system("L"))})
	want := "<t>user\nU</e>\n<t>assistant\n<think>R</think><call>f {}</call></e>\n<t>tool\nT\n\n<system-reminder>\nL\n</system-reminder></e>\n<t>assistant\n<think>"
	if p.Text != want {
		t.Errorf("prompt\n%q\nwant\n%q", p.Text, want)
	}
}

func TestNamedTemplates(t *testing.T) {
	t.Parallel()
	m, err := prompt.New(t.Context(), prompt.Source{Templates: map[string]string{
		"default":  "plain {{ messages[0].content }}",
		"tool_use": "tools {{ tools | tojson }} {{ messages[0].content }}",
		"rag":      "docs {{ documents | tojson }} {{ messages[0].content }}",
		"other":    "{% broken",
	}})
	if err != nil {
		t.Fatal(err)
	}
	docs := conv.Prompting{Documents: []byte(`["d"]`)}
	for _, c := range []struct {
		req        *conv.Request
		name, want string
	}{
		{request(user("U")), "default", "plain U"},
		{withTools(&conv.Request{Messages: []conv.Message{user("U")}, Prompting: docs}, weather()), "tool_use", "tools ["},
		{&conv.Request{Messages: []conv.Message{user("U")}, Prompting: docs}, "rag", `docs ["d"] U`},
	} {
		p := render(t, m, &prompt.Input{Request: c.req})
		if p.Template != c.name || !strings.HasPrefix(p.Text, c.want) {
			t.Errorf("template %s: %q", p.Template, p.Text)
		}
	}
	if facts := m.Facts(); !strings.Contains(facts.String(), "tool_use (with tools): tools = yes") {
		t.Errorf("facts\n%s", facts)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	image := says(conv.User, conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}})
	args := func(s string) *conv.Request {
		return &conv.Request{Messages: []conv.Message{user("U")}, TemplateArgs: []byte(s)}
	}
	brought := func(s string) *conv.Request {
		return &conv.Request{Messages: []conv.Message{user("U")}, Prompting: conv.Prompting{Template: s}}
	}
	goOn := func(m ...conv.Message) *conv.Request {
		return &conv.Request{Messages: m, Prompting: conv.Prompting{Continue: true}}
	}
	for _, c := range []struct {
		name, template string
		req            *conv.Request
		plan           []plan.Op
		kind           fault.Kind
		param, public  string
	}{
		{"raised", "strict", request(answer(text("A"))), nil, fault.Invalid, "messages", "Roles must alternate"},
		{"media", "loop", request(user("U"), image), nil, fault.Unsupported, "messages[1]", "messages[1] holds image"},
		{"media of the assistant", "parts", request(user("U"), answer(image.Parts...)), nil, fault.Unsupported, "messages[1]", "messages[1] holds media"},
		{"media in a result", "parts", request(user("U"), answer(call("a", "f", "")), says(conv.Tool, result("a", image.Parts...))), nil, fault.Unsupported, "messages[2]", "image"},
		{"clash", "loop", args(`{"messages":[]}`), nil, fault.Invalid, "chat_template_kwargs.messages", `"messages"`},
		{"clash with a token", "strict", args(`{"bos_token":""}`), nil, fault.Invalid, "chat_template_kwargs.bos_token", "bos_token"},
		{"no object", "loop", args(`[]`), nil, fault.Invalid, "chat_template_kwargs", "object"},
		{"documents", "loop", &conv.Request{Prompting: conv.Prompting{Documents: []byte(`{}`)}}, nil, fault.Invalid, "documents", "array"},
		{"template that is broken", "loop", brought("{% if %}"), nil, fault.Invalid, "chat_template", ""},
		{"template that fails", "loop", brought("{{ messages[0].content + 1 }}"), nil, fault.Invalid, "chat_template", ""},
		{"template without end", "loop", brought("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"), nil, fault.Invalid, "chat_template", ""},
		{"plan for a part that is not there", "loop", request(user("U")), []plan.Op{{Kind: plan.PartOp, Message: 3}}, fault.Plugin, "", ""},
		{"plan that drops text", "loop", request(user("U"), answer(text("A"))), []plan.Op{{Kind: plan.PartOp, Message: 1, Action: plan.Drop}}, fault.Plugin, "", ""},
		{"plan with an argument that is not JSON", "loop", request(user("U")), []plan.Op{{Kind: plan.KwargOp, Key: "thinking", Value: "{"}}, fault.Plugin, "", ""},
		{"continue a user", "loop", goOn(user("U")), nil, fault.Invalid, "continue_final_message", "not the assistant's"},
		{"continue nothing", "loop", goOn(user("U"), answer(text(""))), nil, fault.Invalid, "continue_final_message", "empty"},
		{"continue a call", "loop", goOn(user("U"), answer(call("a", "f", ""))), nil, fault.Invalid, "continue_final_message", "call"},
		{"continue what is printed before", "loop", goOn(user("U"), answer(text("A"), think("R"))), nil, fault.Invalid, "continue_final_message", "last part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := refused(t, own(t, c.template), &prompt.Input{Request: c.req, Plan: c.plan})
			if f.Kind != c.kind || f.Param != c.param || !strings.Contains(f.Public, c.public) {
				t.Errorf("fault %s %q: %s", f.Kind, f.Param, f.Public)
			}
		})
	}
}

func TestBadTemplates(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"syntax":  "{% if %}",
		"endless": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
	} {
		if _, err := prompt.New(t.Context(), prompt.Source{Template: src}); err == nil || !strings.Contains(err.Error(), `"default"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	m, err := prompt.New(t.Context(), prompt.Source{Template: "{{ messages[0].content.missing() }}"})
	if err != nil {
		t.Fatal(err)
	}
	f := refused(t, m, &prompt.Input{Request: request(user("U"))})
	if f.Kind != fault.Internal || strings.Contains(f.Public, "missing") || f.Err == nil || !strings.Contains(f.Err.Error(), "1:") {
		t.Errorf("fault %s: %s, %v", f.Kind, f.Public, f.Err)
	}
}
