package template_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/plugins/template"
)

// chat is a conversation in few words: a line for each message, its role and its parts.
func chat(switches string, rows ...plan.RenderRow) *plan.RenderInput {
	return &plan.RenderInput{Rows: rows, Switches: []byte(switches), Content: plan.ReadArguments}
}

func part(message, n int, role conv.Role, kind conv.PartKind, text string) plan.RenderRow {
	return plan.RenderRow{Message: uint32(message), Part: uint16(n), Role: uint8(role), Kind: uint8(kind), Text: text}
}

func call(message, n int, id, name, arguments string) plan.RenderRow {
	r := part(message, n, conv.Assistant, conv.Call, arguments)
	r.ID, r.Name = id, name
	return r
}

func result(message, n int, role conv.Role, id, text string) plan.RenderRow {
	r := part(message, n, role, conv.Result, text)
	r.ID = id
	return r
}

// TestRenderers are what chat templates do not say.
func TestRenderers(t *testing.T) {
	t.Parallel()
	user := part(0, 0, conv.User, conv.Text, "u")
	const on = `{"thinking":"on"}`
	invoked := func(block, parameters string) string {
		return "\n\n<｜DSML｜" + block + ">\n<｜DSML｜invoke name=\"f\">\n" + parameters + "</｜DSML｜invoke>\n</｜DSML｜" + block + ">"
	}
	custom := call(1, 0, "c", "f", `{"a": 1}`)
	custom.Flags = plan.RowCustom
	for _, tt := range []struct {
		name, renderer string
		in             *plan.RenderInput
		want           string
	}{
		{"nothing", "deepseek_v3_2", chat(on), ""},
		{"nothing v4", "deepseek_v4", chat(on), "<｜Assistant｜><think>"},
		{"texts of a message", "deepseek_v4", chat(`{"generation":false}`, user, part(0, 1, conv.User, conv.Text, "v")), "<｜User｜>u\nv"},
		{
			"results in the order of the calls", "deepseek_v4",
			chat(`{"generation":false}`, user, call(1, 0, "a", "f", ""), call(1, 1, "b", "f", "null"),
				result(2, 0, conv.User, "x", "none"), result(2, 1, conv.User, "b", "B"), result(3, 0, conv.Tool, "a", "A"), part(4, 0, conv.User, conv.Text, "go on")),
			"<｜User｜>u<｜Assistant｜></think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"f\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>" +
				"<｜User｜><tool_result>A</tool_result>\n\n<tool_result>B</tool_result>\n\n<tool_result>none</tool_result>\n\ngo on",
		},
		{
			"a result that is missing", "deepseek_v3_2",
			chat(on, user, call(1, 0, "a", "f", "{}"), call(1, 1, "b", "f", "{}"), result(2, 0, conv.Tool, "b", "B")),
			"<｜User｜>u<｜Assistant｜><think></think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"f\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls><｜end▁of▁sentence｜>" +
				"\n\n<function_results>\n<result>B</result>\n</function_results>\n\n<think>",
		},
		{
			"arguments that are cut", "deepseek_v4", chat(`{"generation":false}`, user, call(1, 0, "a", "f", `{"a": "x`)),
			"<｜User｜>u<｜Assistant｜></think>" + invoked("tool_calls", "<｜DSML｜parameter name=\"arguments\" string=\"true\">{\"a\": \"x</｜DSML｜parameter>\n") + "<｜end▁of▁sentence｜>",
		},
		{
			"arguments that are no object", "deepseek_v3_2", chat(`{"generation":false}`, user, call(1, 0, "a", "f", `[1]`)),
			"<｜User｜>u<｜Assistant｜></think>" + invoked("function_calls", "<｜DSML｜parameter name=\"arguments\" string=\"true\">[1]</｜DSML｜parameter>\n") + "<｜end▁of▁sentence｜>",
		},
		{
			"a custom tool", "deepseek_v4", chat(`{"generation":false}`, user, custom),
			"<｜User｜>u<｜Assistant｜></think>" + invoked("tool_calls", "<｜DSML｜parameter name=\"input\" string=\"true\">{\"a\": 1}</｜DSML｜parameter>\n") + "<｜end▁of▁sentence｜>",
		},
		{
			"names and strings with escapes", "deepseek_v4", chat(`{"generation":false}`, user, call(1, 0, "a", "f", ` { "a\"\u00e9" : "x\n\"" ,"b":{"c":[1,2.50]} } `)),
			"<｜User｜>u<｜Assistant｜></think>" + invoked("tool_calls",
				"<｜DSML｜parameter name=\"a\"é\" string=\"true\">x\n\"</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">{\"c\": [1, 2.50]}</｜DSML｜parameter>\n") + "<｜end▁of▁sentence｜>",
		},
		{
			"rounds", "deepseek_v4",
			chat(`{"thinking":"on","generation":false}`, user, part(1, 0, conv.Assistant, conv.Reasoning, "r1"), part(1, 1, conv.Assistant, conv.Text, "t1"),
				part(1, 2, conv.Assistant, conv.Reasoning, ""), part(1, 3, conv.Assistant, conv.Reasoning, "r2"), call(1, 4, "a", "f", "{}"), part(1, 5, conv.Assistant, conv.Text, "t2")),
			"<｜User｜>u<｜Assistant｜><think>r1\nr2</think>t1\nt2" + invoked("tool_calls", "\n") + "<｜end▁of▁sentence｜>",
		},
		{
			"going on in a text", "deepseek_v4", chat(`{"continue":true}`, user, part(1, 0, conv.Assistant, conv.Text, "half")),
			"<｜User｜>u<｜Assistant｜></think>half",
		},
		{
			"going on in a thought", "deepseek_v3_2", chat(`{"thinking":"on","continue":true}`, user, part(1, 0, conv.Assistant, conv.Reasoning, "half")),
			"<｜User｜>u<｜Assistant｜><think>half",
		},
		{
			"another message of the model's", "deepseek_v3_2",
			chat(`{"thinking":"on","generation":false}`, user, part(1, 0, conv.Assistant, conv.Text, "a"), part(2, 0, conv.Assistant, conv.Reasoning, "r"), part(2, 1, conv.Assistant, conv.Text, "b")),
			"<｜User｜>u<｜Assistant｜><think></think>a<｜end▁of▁sentence｜>b<｜end▁of▁sentence｜>",
		},
		{"system texts", "deepseek_v4", chat(`{"generation":false}`, part(0, 0, conv.System, conv.Text, "a"), part(0, 1, conv.System, conv.Text, "b"), part(1, 0, conv.System, conv.Text, "c")), "a\nb\n\nc"},
		{"high effort", "deepseek_v4", chat(`{"effort":"high","generation":false}`, user), "<｜User｜>u"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := render(t, tt.renderer, tt.in).Text; got != bos+tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, bos+tt.want)
			}
		})
	}
}

// TestRendererTools are definitions that chat templates do not get.
func TestRendererTools(t *testing.T) {
	t.Parallel()
	in := chat(`{"generation":false}`)
	in.Tools = []plan.RenderTool{
		{Kind: uint8(conv.Custom), Name: "run", Description: "a \"b\"\n", Schema: `{"syntax":"lark"}`},
		{Name: "bare"},
		{Name: "odd", Schema: "no JSON"},
	}
	got := render(t, "deepseek_v3_2", in).Text
	want := `<functions>
{"name": "run", "description": "a \"b\"\n", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}
{"name": "bare"}
{"name": "odd", "parameters": no JSON}
</functions>
`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

// TestRendererOps wants the instructions beside a prompt: what is dropped, where the model starts, stops
// and tokens.
func TestRendererOps(t *testing.T) {
	t.Parallel()
	rows := []plan.RenderRow{
		part(0, 0, conv.User, conv.Text, "u"), part(1, 0, conv.Assistant, conv.Reasoning, "old"), part(1, 1, conv.Assistant, conv.Text, "a"),
		part(2, 0, conv.User, conv.Text, "v"), part(3, 0, conv.Assistant, conv.Reasoning, "new"), part(3, 1, conv.Assistant, conv.Reasoning, ""), part(3, 2, conv.Assistant, conv.Text, "b"),
	}
	drop := func(message uint32, part uint16) plan.Op {
		return plan.Op{Kind: plan.PartOp, Message: message, Part: part, Action: plan.Drop}
	}
	fixed := []plan.Op{
		{Kind: plan.StopOp, Value: "<｜end▁of▁sentence｜>"}, {Kind: plan.TokenOp, Value: "｜DSML｜"}, {Kind: plan.TokenOp, Value: "<think>"}, {Kind: plan.TokenOp, Value: "</think>"},
	}
	start := func(s plan.StartState) plan.Op { return plan.Op{Kind: plan.StartOp, State: s} }
	for _, tt := range []struct {
		name, renderer, switches string
		want                     []plan.Op
	}{
		{"on", "deepseek_v4", `{"thinking":"on"}`, []plan.Op{drop(1, 0), drop(3, 1), start(plan.StartReasoning)}},
		{"off", "deepseek_v4", `{"thinking":"off"}`, []plan.Op{drop(1, 0), drop(3, 0), drop(3, 1), start(plan.StartContent)}},
		{"all", "deepseek_v4", `{"thinking":"on","kwargs":{"drop_thinking":false}}`, []plan.Op{drop(3, 1), start(plan.StartReasoning)}},
		{"no turn", "deepseek_v3_2", `{"thinking":"on"}`, []plan.Op{drop(1, 0), drop(3, 1)}},
		{"the text goes on", "deepseek_v3_2", `{"thinking":"on","continue":true}`, []plan.Op{drop(1, 0), drop(3, 1), start(plan.StartContent)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := render(t, tt.renderer, chat(tt.switches, rows...)).Ops; !reflect.DeepEqual(got, slices.Concat(tt.want, fixed)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestRendererSpans wants each part of a conversation where its bytes are.
func TestRendererSpans(t *testing.T) {
	t.Parallel()
	in := chat(`{"generation":false}`, part(0, 0, conv.User, conv.Text, "ask"), call(1, 0, "a", "f", `{"k":"v\n"}`), result(2, 0, conv.Tool, "a", "got"))
	in.Tools = []plan.RenderTool{{Name: "f", Schema: `{"a":1}`}}
	out := render(t, "deepseek_v4", in)
	var got []string
	for _, s := range out.Spans {
		if s.Source != plan.FromRenderer {
			got = append(got, fmt.Sprintf("%d %d.%d %q", s.Source, s.Message, s.Part, out.Text[s.Start:s.End]))
		}
	}
	want := []string{`6 0.0 "f"`, `6 0.0 "{\"a\": 1}"`, `3 0.0 "ask"`, `4 1.0 "f"`, `4 1.0 "k"`, `4 1.0 "v\n"`, `5 2.0 "got"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRendererRefuses(t *testing.T) {
	t.Parallel()
	var r template.Renderer
	if _, err := r.Render(nil, nil); err == nil {
		t.Error("renders before it is opened")
	}
	for _, config := range []string{``, `{}`, `[]`, `{"renderer":"no-such"}`, `{"renderer":1}`, `{"renderer":"deepseek_v4"} x`} {
		if err := r.Open([]byte(config)); err == nil {
			t.Errorf("opens with %s", config)
		}
	}
	if err := r.Open([]byte(`{"later":{"renderer":1},"renderer":"deepseek_v4"}`)); err != nil {
		t.Errorf("a member of a later host: %v", err)
	}
	in := chat(`{}`, call(0, 0, "a", "f", "{}"))
	in.Content = plan.ReadText
	if _, err := guest.Rendered(&r, in); err == nil {
		t.Error("calls are rendered without their arguments")
	}
	if _, err := guest.Rendered(&r, chat(`{`)); err == nil {
		t.Error("switches that are no JSON are taken")
	}
	many := chat(`{}`)
	many.Rows = slices.Repeat([]plan.RenderRow{call(1, 0, "a", "f", `{"`+strings.Repeat(`a":1,"`, 200)+`b":2}`)}, 400)
	if _, err := guest.Rendered(&r, many); err == nil {
		t.Error("an answer without end")
	}
	if !strings.Contains(r.Manifest(), `"deepseek_v3_2"`) || !jsonscan.Valid([]byte(r.Manifest())) {
		t.Errorf("manifest %s", r.Manifest())
	}
}

// FuzzRenderer gives arguments and switches of any kind: no input makes an answer that breaks the ABI.
func FuzzRenderer(f *testing.F) {
	f.Add(`{"a":"b","c":[1]}`, `{"thinking":"on"}`, "text", uint8(1))
	f.Add(`{"a\"":"`, `{}`, "", uint8(0))
	f.Add(" null ", `{"continue":true}`, "\x00", uint8(2))
	f.Fuzz(func(t *testing.T, arguments, switches, text string, n uint8) {
		names := template.RendererNames()
		r := renderer(t, names[int(n)%len(names)])
		in := chat(switches, part(0, 0, conv.User, conv.Text, text), call(1, 0, "a", text[:min(len(text), 100)], arguments), result(2, 0, conv.Tool, "b", text))
		b, err := plan.AppendRenderInput(nil, in)
		if err != nil {
			return
		}
		if b, err = r.Render(nil, b); err != nil {
			return
		}
		a, err := plan.ParseAnswer(b)
		if err == nil {
			_, err = plan.Assemble(in, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkRenderer(b *testing.B) {
	in := chat(`{"thinking":"on"}`)
	for k := range 400 {
		id := fmt.Sprint("call_", k)
		in.Rows = append(in.Rows, part(3*k, 0, conv.User, conv.Text, strings.Repeat("what? ", 50)), part(3*k+1, 0, conv.Assistant, conv.Reasoning, "I look."),
			call(3*k+1, 1, id, "get", `{"path":"a\nb","lines":[1,2]}`), result(3*k+2, 0, conv.Tool, id, strings.Repeat("line\n", 100)))
	}
	e, err := plan.AppendRenderInput(nil, in)
	if err != nil {
		b.Fatal(err)
	}
	r := renderer(b, "deepseek_v4")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = r.Render(buf[:0], e); err != nil {
			b.Fatal(err)
		}
	}
}
