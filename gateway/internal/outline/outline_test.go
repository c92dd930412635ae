package outline_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/outline"
)

func text(s string) conv.Part { return conv.Part{Kind: conv.Text, Text: s} }
func call(id, name, args string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id string, parts ...conv.Part) conv.Part {
	return conv.Part{Kind: conv.Result, Result: &conv.ToolResult{CallID: id, Parts: parts}}
}
func reference(name string) conv.Part { return conv.Part{Kind: conv.Reference, Text: name} }
func image(data string) conv.Part {
	return conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image", Data: data}}
}

func msg(role conv.Role, parts ...conv.Part) conv.Message {
	return conv.Message{Role: role, Parts: parts}
}
func user(s string) conv.Message              { return msg(conv.User, text(s)) }
func request(m ...conv.Message) *conv.Request { return &conv.Request{Messages: m} }

// of is the outline of a request that has one.
func of(tb testing.TB, req *conv.Request) *plan.Outline {
	tb.Helper()
	b, err := outline.Of(req, true, toolname.Of)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := plan.ParseOutline(b)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// refused fails unless err is a fault of a kind, at a parameter.
func refused(tb testing.TB, err error, kind fault.Kind, param string) {
	tb.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != kind || f.Param != param {
		tb.Errorf("error %v, want a fault of kind %s at %s", err, kind, param)
	}
}

// Every kind of part has a row, with its length, name and flags.
func TestRows(t *testing.T) {
	t.Parallel()
	const system, developer, assistant, tool, person = uint8(conv.System), uint8(conv.Developer), uint8(conv.Assistant), uint8(conv.Tool), uint8(conv.User)
	spaced := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "n", Namespace: "fs", Name: "read", Kind: conv.Custom, Arguments: "x"}}
	failed := result("a", text("12"), reference("later"), result("b", text("no result is in a result")))
	failed.Result.IsError = true
	long := strings.Repeat("n", 1<<16+1)
	for _, c := range []struct {
		name     string
		messages []conv.Message
		want     []plan.Row
	}{
		{"nothing", nil, nil},
		{"messages without parts", []conv.Message{msg(conv.User), msg(conv.Assistant)}, nil},
		{"text", []conv.Message{msg(conv.System, text("s")), msg(conv.Developer, text("dé"))}, []plan.Row{
			{Kind: uint8(conv.Text), Role: system, Length: 1},
			{Message: 1, Kind: uint8(conv.Text), Role: developer, Length: 3},
		}},
		{"reasoning", []conv.Message{msg(conv.Assistant, conv.Part{Kind: conv.Reasoning, Text: "R"}, conv.Part{Kind: conv.Reasoning, Seal: "z"})}, []plan.Row{
			{Kind: uint8(conv.Reasoning), Role: assistant, Length: 1},
			{Part: 1, Kind: uint8(conv.Reasoning), Role: assistant, Flags: plan.RowSealed | plan.RowEmpty},
		}},
		{"calls", []conv.Message{msg(conv.Assistant, call("a", "f", `{"k": 1}`), call("b", "g", ""), spaced)}, []plan.Row{
			{Kind: uint8(conv.Call), Role: assistant, Length: 8, Name: "f"},
			{Part: 1, Kind: uint8(conv.Call), Role: assistant, Name: "g", Flags: plan.RowEmpty},
			{Part: 2, Kind: uint8(conv.Call), Role: assistant, Length: 1, Name: "fs__read"},
		}},
		{"results", []conv.Message{msg(conv.Tool, failed, result("c")), msg(conv.User, result("d", image("data")))}, []plan.Row{
			{Kind: uint8(conv.Result), Role: tool, Length: 7, Name: "a", Flags: plan.RowError},
			{Part: 1, Kind: uint8(conv.Result), Role: tool, Name: "c", Flags: plan.RowEmpty},
			{Message: 1, Kind: uint8(conv.Result), Role: person, Length: 4, Name: "d"},
		}},
		{"media", []conv.Message{msg(conv.User, image("data"), conv.Part{Kind: conv.MediaPart, Media: &conv.Media{URL: "http://x"}}, conv.Part{Kind: conv.MediaPart})}, []plan.Row{
			{Kind: uint8(conv.MediaPart), Role: person, Length: 4, Flags: plan.RowLastUser},
			{Part: 1, Kind: uint8(conv.MediaPart), Role: person, Length: 8, Flags: plan.RowLastUser},
			{Part: 2, Kind: uint8(conv.MediaPart), Role: person, Flags: plan.RowLastUser | plan.RowEmpty},
		}},
		{"a reference", []conv.Message{msg(conv.Developer, reference("later"))}, []plan.Row{{Kind: uint8(conv.Reference), Role: developer, Length: 5}}},
		{"parts that lack what they are of", []conv.Message{msg(conv.Assistant, conv.Part{Kind: conv.Call}, conv.Part{Kind: conv.Result})}, []plan.Row{
			{Kind: uint8(conv.Call), Role: assistant, Flags: plan.RowEmpty},
			{Part: 1, Kind: uint8(conv.Result), Role: assistant, Flags: plan.RowEmpty},
		}},
		{"long names are cut", []conv.Message{msg(conv.Assistant, call("a", long, "")), msg(conv.Tool, result(long))}, []plan.Row{
			{Kind: uint8(conv.Call), Role: assistant, Name: long[:1<<16-1], Flags: plan.RowEmpty},
			{Message: 1, Kind: uint8(conv.Result), Role: tool, Name: long[:1<<16-1], Flags: plan.RowEmpty},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := of(t, request(c.messages...))
			if len(o.Rows) != len(c.want) {
				t.Fatalf("%d rows, want %d", len(o.Rows), len(c.want))
			}
			for i := range c.want {
				if o.Rows[i] != c.want[i] {
					t.Errorf("row %d is %+v, want %+v", i, o.Rows[i], c.want[i])
				}
			}
		})
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	all := &conv.Request{
		Tools:        []conv.ToolDef{{Name: "f"}, {Name: "later", Deferred: true}},
		Thinking:     conv.Thinking{Mode: conv.ThinkingAdaptive, Effort: "hi\"gh"},
		TemplateArgs: []byte(`{"b": 1, "a": 2}`),
		Prompting:    conv.Prompting{NoGeneration: true, Continue: true},
	}
	for _, c := range []struct {
		name     string
		req      *conv.Request
		thinks   bool
		of, into string
	}{
		{"silent", &conv.Request{}, true, `{"default":"on","tools":0}`, `{"default":"on","tools":0}`},
		{"no thinking by default", &conv.Request{}, false, `{"default":"off","tools":0}`, `{"default":"off","tools":0}`},
		{"on", &conv.Request{Thinking: conv.Thinking{Mode: conv.ThinkingOn}}, false, `{"thinking":"on","default":"off","tools":0}`, `{"thinking":"on","default":"off","tools":0}`},
		{"off", &conv.Request{Thinking: conv.Thinking{Mode: conv.ThinkingOff}}, true, `{"thinking":"off","default":"on","tools":0}`, `{"thinking":"off","default":"on","tools":0}`},
		{
			"all of it; how the prompt ends is for renderers", all, false,
			`{"thinking":"adaptive","effort":"hi\"gh","kwargs":{"b": 1, "a": 2},"default":"off","tools":2}`,
			`{"thinking":"adaptive","effort":"hi\"gh","kwargs":{"b": 1, "a": 2},"default":"off","tools":2,"generation":false,"continue":true}`,
		},
		{"no turn begun", &conv.Request{Prompting: conv.Prompting{NoGeneration: true}}, true, `{"default":"on","tools":0}`, `{"default":"on","tools":0,"generation":false}`},
		{"continued", &conv.Request{Prompting: conv.Prompting{Continue: true}}, true, `{"default":"on","tools":0}`, `{"default":"on","tools":0,"continue":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, err := outline.Of(c.req, c.thinks, toolname.Of)
			if err != nil {
				t.Fatal(err)
			}
			o, err := plan.ParseOutline(b)
			if err != nil || string(o.Switches) != c.of {
				t.Errorf("switches of a policy %s, %v, want %s", o.Switches, err, c.of)
			}
			in, err := outline.Input(c.req, c.thinks, join)
			if err != nil || string(in.Switches) != c.into {
				t.Errorf("switches of a renderer %s, %v, want %s", in.Switches, err, c.into)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	parts := func(n int) conv.Message { return conv.Message{Role: conv.User, Parts: make([]conv.Part, n)} }
	for _, c := range []struct {
		name  string
		req   *conv.Request
		param string
	}{
		{"template arguments that are a list", &conv.Request{TemplateArgs: []byte(`[]`)}, "chat_template_kwargs"},
		{"template arguments that are cut", &conv.Request{TemplateArgs: []byte(`{"a"`)}, "chat_template_kwargs"},
		{"template arguments with more behind", &conv.Request{TemplateArgs: []byte(`{}}`)}, "chat_template_kwargs"},
		{"template arguments that are a number", &conv.Request{TemplateArgs: []byte(`3`)}, "chat_template_kwargs"},
		{"too many parts", request(parts(plan.MaxRows/2), parts(plan.MaxRows/2), parts(1)), "messages"},
		{"too many parts in one message", request(parts(plan.MaxRows + 1)), "messages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := outline.Of(c.req, true, toolname.Of)
			refused(t, err, fault.Invalid, c.param)
			_, err = outline.Input(c.req, true, join)
			refused(t, err, fault.Invalid, c.param)
		})
	}
	if n := len(of(t, request(parts(plan.MaxRows/2), parts(plan.MaxRows/2))).Rows); n != plan.MaxRows {
		t.Errorf("%d rows, want %d", n, plan.MaxRows)
	}
}

// The last message that a user wrote is that which ends a tool loop: results do not, nor what clients put
// beside them.
func TestLastUser(t *testing.T) {
	t.Parallel()
	const reminder = "<system-reminder>\nx\n</system-reminder>"
	asked := user("Ask")
	for _, c := range []struct {
		name string
		last conv.Message
		want bool // it is the last, and not the one before
	}{
		{"a question", user("And?"), true},
		{"a question of media", msg(conv.User, image("data")), true},
		{"a blank question", user(" \n"), true},
		{"a question behind a result", msg(conv.User, result("a", text("R")), text("And?")), true},
		{"a question behind a reminder", msg(conv.User, text(reminder), text("And?")), true},
		{"a question before a reminder", msg(conv.User, text("And?"), text(reminder)), true},
		{"a question between reminders, as one text", user(reminder + "\nAnd?\n" + reminder), true},
		{"an unclosed reminder", user("<system-reminder>And?"), true},
		{"another tag", user("<reminder>And?</reminder>"), true},
		{"a result", msg(conv.Tool, result("a", text("R"))), false},
		{"a user's result", msg(conv.User, result("a", text("R"))), false},
		{"a blank text beside a result", msg(conv.User, result("a", text("R")), text(" ")), false},
		{"a result and a reminder", msg(conv.User, result("a", text("R")), text(reminder)), false},
		{"a reminder", user(reminder), false},
		{"reminders as one text", user("\n" + reminder + "\n\n" + reminder + " "), false},
		{"a result as text", user("<tool_response>\nR </tool_response> S\n</tool_response>"), false},
		{"no parts", msg(conv.User), false},
		{"another role", msg(conv.Developer, text("And?")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := of(t, request(asked, c.last))
			for i, r := range o.Rows {
				if want := (r.Message == 1) == c.want; (r.Flags&plan.RowLastUser != 0) != want {
					t.Errorf("row %d of message %d has flags %b", i, r.Message, r.Flags)
				}
			}
		})
	}
	if o := of(t, request(msg(conv.Assistant, text("x")))); o.Rows[0].Flags != 0 {
		t.Errorf("without a user a row has flags %b", o.Rows[0].Flags)
	}
}

func join(namespace, name string) string { return namespace + "/" + name }

func TestInput(t *testing.T) {
	t.Parallel()
	custom := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "p", Name: "patch", Kind: conv.Custom, Arguments: "a \"b\""}}
	spaced := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "n", Namespace: "fs", Name: "read", Arguments: `{"p" :1.50}`}}
	failed := result("n", text("no"), text(""), reference("later"))
	failed.Result.IsError = true
	req := request(
		msg(conv.System, text("s")), user("Ask"),
		msg(conv.Assistant, conv.Part{Kind: conv.Reasoning, Text: "R", Seal: "z"}, text("T"), spaced, custom),
		msg(conv.Tool, failed, result("p"), result("unknown", text("U"))),
		msg(conv.Assistant, call("n", "again", "")),
		msg(conv.Tool, result("n", text("of the last call with the id"))),
		msg(conv.Developer, reference("later")),
	)
	req.Tools = []conv.ToolDef{
		{Namespace: "fs", Name: "read", Description: "Read.", Schema: []byte(`{"type":"object"}`), Strict: true},
		{Name: "later", Deferred: true},
		{Kind: conv.Custom, Name: "patch", Schema: []byte(`{}`), Format: []byte(`{"syntax":"lark"}`)},
		{Name: "ping"},
	}
	in, err := outline.Input(req, true, join)
	if err != nil {
		t.Fatal(err)
	}
	person, assistant, tool := uint8(conv.User), uint8(conv.Assistant), uint8(conv.Tool)
	want := []plan.RenderRow{
		{Kind: uint8(conv.Text), Role: uint8(conv.System), Text: "s"},
		{Message: 1, Kind: uint8(conv.Text), Role: person, Text: "Ask", Flags: plan.RowLastUser},
		{Message: 2, Kind: uint8(conv.Reasoning), Role: assistant, Text: "R", Flags: plan.RowSealed},
		{Message: 2, Part: 1, Kind: uint8(conv.Text), Role: assistant, Text: "T"},
		{Message: 2, Part: 2, Kind: uint8(conv.Call), Role: assistant, Name: "fs/read", ID: "n", Text: `{"p" :1.50}`},
		{Message: 2, Part: 3, Kind: uint8(conv.Call), Role: assistant, Name: "/patch", ID: "p", Text: "a \"b\"", Flags: plan.RowCustom},
		{Message: 3, Kind: uint8(conv.Result), Role: tool, Name: "fs/read", ID: "n", Text: "no\nlater", Flags: plan.RowError},
		{Message: 3, Part: 1, Kind: uint8(conv.Result), Role: tool, Name: "/patch", ID: "p", Flags: plan.RowEmpty},
		{Message: 3, Part: 2, Kind: uint8(conv.Result), Role: tool, ID: "unknown", Text: "U"},
		{Message: 4, Kind: uint8(conv.Call), Role: assistant, Name: "/again", ID: "n", Flags: plan.RowEmpty},
		{Message: 5, Kind: uint8(conv.Result), Role: tool, Name: "/again", ID: "n", Text: "of the last call with the id"},
		{Message: 6, Kind: uint8(conv.Reference), Role: uint8(conv.Developer), Text: "later"},
	}
	if len(in.Rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(in.Rows), len(want))
	}
	for i := range want {
		if in.Rows[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, in.Rows[i], want[i])
		}
	}
	tools := []plan.RenderTool{
		{Name: "fs/read", Description: "Read.", Schema: `{"type":"object"}`, Flags: plan.ToolStrict},
		{Kind: uint8(conv.Custom), Name: "/patch", Schema: `{"syntax":"lark"}`},
		{Name: "/ping"},
	}
	if !reflect.DeepEqual(in.Tools, tools) {
		t.Errorf("tools %+v, want %+v", in.Tools, tools)
	}
}

// A renderer has no place for media, wherever it stands.
func TestInputRefusesMedia(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]conv.Message{
		"of a user": msg(conv.User, text("x"), image("data")), "of the assistant": msg(conv.Assistant, image("data")),
		"in a result": msg(conv.Tool, result("a", text("x"), image("data"))), "of nothing": msg(conv.System, conv.Part{Kind: conv.MediaPart}),
	} {
		_, err := outline.Input(request(user("x"), m), true, join)
		if refused(t, err, fault.Unsupported, "messages"); err == nil || !strings.Contains(err.Error(), "message 1 ") {
			t.Errorf("media %s: %v", name, err)
		}
	}
}
