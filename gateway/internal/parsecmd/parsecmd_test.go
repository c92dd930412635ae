package parsecmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/parsecmd"
)

// toy is a parser of its own little grammar: (reasoning), [name|key=value;key=value], and the rest text.
// Its window is one byte of state. A '#' makes it break the ABI.
type toy struct {
	config string
	start  guest.Start
}

const (
	inText byte = iota
	inReasoning
	inHeader // behind the name's closer
	inValue
)

func (g *toy) Template() []byte { return []byte{inText} }

func (g *toy) Start(_, b []byte) (err error) {
	g.start, err = guest.ParseStart(b)
	return err
}

func (g *toy) Feed(c *host.Call) error                { g.parse(c, false); return nil }
func (g *toy) Finish(c *host.Call, why abi.Why) error { g.parse(c, true); return nil }

func (g *toy) parse(c *host.Call, final bool) {
	var o guest.Out
	o.Reset(0)
	defer func() { c.Records = append(c.Records, o.Records()...) }()
	refused := -1
	for _, s := range c.Spans {
		if s.Token == abi.RefusedToken {
			refused = int(s.Off)
		}
	}
	c.Keep()
	for o.Pos() < len(c.In) {
		in := c.In[o.Pos():]
		switch st := &c.Window[0]; *st {
		case inText:
			switch {
			case in[0] == '(':
				o.Emit(record.Marker, 0, 0, 1)
				*st = inReasoning
			case in[0] == '#':
				o.Emit(record.Kind(99), 0, 0, 1)
				return
			case in[0] == '[' && g.start.Tools && o.Pos() > refused:
				n := bytes.IndexByte(in, '|')
				if n < 0 && !final {
					return
				}
				if n < 0 {
					o.Extend(record.Text, 0, 0, len(in))
					continue
				}
				o.Emit(record.CallBegin, 0, 0, 1)
				o.Emit(record.Name, 0, 0, n-1)
				*st = inHeader
				return
			default:
				o.Extend(record.Text, 0, 0, 1)
			}
		case inReasoning:
			if in[0] == ')' {
				o.Emit(record.Marker, 0, 0, 1)
				*st = inText
				continue
			}
			o.Extend(record.Reasoning, 0, 0, 1)
		case inHeader:
			switch n := bytes.IndexByte(in, '='); {
			case in[0] == '|' || in[0] == ';':
				o.Emit(record.Marker, 0, 0, 1)
			case in[0] == ']':
				o.Emit(record.CallEnd, 0, 0, 1)
				*st = inText
			case n < 0 && !final:
				return
			case n < 0:
				o.Emit(record.CallEnd, 0, record.CallTruncated, len(in))
				*st = inText
			default:
				o.Emit(record.Key, 0, 0, n)
				o.Emit(record.Marker, 0, 0, 1)
				*st = inValue
			}
		case inValue:
			n := bytes.IndexAny(in, ";]")
			if n < 0 {
				o.Emit(record.Value, 0, record.ValueSchema, len(in))
				continue
			}
			o.Emit(record.Value, record.Fin, record.ValueSchema, n)
			*st = inHeader
		}
	}
	if final && c.Window[0] >= inHeader {
		o.Emit(record.CallEnd, 0, record.CallTruncated, 0)
		c.Window[0] = inText
	}
}

// run runs the command with the toy.
func run(t *testing.T, o parsecmd.Options, in string) (string, *toy, error) {
	t.Helper()
	g := &toy{}
	var out bytes.Buffer
	err := parsecmd.Run(context.Background(), o, func(_ context.Context, file string, config []byte) (host.Guest, error) {
		if file == "missing.wasm" {
			return nil, errors.New("no such plugin")
		}
		g.config = string(config)
		return g, nil
	}, strings.NewReader(in), &out)
	return out.String(), g, err
}

func TestResult(t *testing.T) {
	request := func(choice conv.ToolChoice) *conv.Request {
		return &conv.Request{Choice: choice, Stop: []string{"STOP"}, Tools: []conv.ToolDef{{Name: "get", Schema: []byte(`{"properties": {"n": {"type": "integer"}}}`)}}}
	}
	parallel := conv.ToolChoice{Parallel: true}
	const call0 = `{"blocks":[{"type":"reasoning","text":"plan"},{"type":"text","text":"hi "},{"type":"tool_call","text":"","id":"call_0","name":"get","arguments":"{\"n\": 5, \"s\": \"x\"}","complete":true},{"type":"text","text":" bye"}],"reasoning":"plan","content":"hi  bye","tool_calls":[{"id":"call_0","name":"get","arguments":"{\"n\": 5, \"s\": \"x\"}","complete":true}],"finish_reason":"tool_calls"}`
	for _, c := range []struct {
		name string
		o    parsecmd.Options
		in   string
		want string
	}{
		{"typed by the request", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(parallel)}, "(plan)hi [get|n=5;s=x] bye", call0},
		{"untyped without one", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm"}, "[any|n=5]", `{"blocks":[{"type":"tool_call","text":"","id":"call_0","name":"any","arguments":"{\"n\": \"5\"}","complete":true}],"reasoning":"","content":"","tool_calls":[{"id":"call_0","name":"any","arguments":"{\"n\": \"5\"}","complete":true}],"finish_reason":"tool_calls"}`},
		{"unknown name", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(parallel)}, "a [no|n=5] b", `{"blocks":[{"type":"text","text":"a [no|n=5] b"}],"reasoning":"","content":"a [no|n=5] b","tool_calls":[],"finish_reason":"stop"}`},
		{"tools off", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(conv.ToolChoice{Mode: conv.ChoiceNone})}, "[get|n=5]", `{"blocks":[{"type":"text","text":"[get|n=5]"}],"reasoning":"","content":"[get|n=5]","tool_calls":[],"finish_reason":"stop"}`},
		{"one call allowed", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(conv.ToolChoice{})}, "[get|][get|]", `{"blocks":[{"type":"tool_call","text":"","id":"call_0","name":"get","arguments":"{}","complete":true}],"reasoning":"","content":"","tool_calls":[{"id":"call_0","name":"get","arguments":"{}","complete":true}],"finish_reason":"tool_calls"}`},
		{"cut", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(parallel), Finish: "length"}, "[get|s=abc", `{"blocks":[{"type":"tool_call","text":"[get|s=abc","id":"call_0","name":"get","arguments":"{\"s\": \"abc","complete":false}],"reasoning":"","content":"","tool_calls":[{"id":"call_0","name":"get","arguments":"{\"s\": \"abc","complete":false}],"finish_reason":"length"}`},
		{"stop string", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Request: request(parallel)}, "a STOP b", `{"blocks":[{"type":"text","text":"a "}],"reasoning":"","content":"a ","tool_calls":[],"finish_reason":"stop_sequence"}`},
		{"no parser", parsecmd.Options{}, "(a)[b|]", `{"blocks":[{"type":"text","text":"(a)[b|]"}],"reasoning":"","content":"(a)[b|]","tool_calls":[],"finish_reason":"stop"}`},
		{"abort", parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Finish: "abort"}, "a", `{"blocks":[{"type":"text","text":"a"}],"reasoning":"","content":"a","tool_calls":[],"finish_reason":"","fault":{"kind":"engine","message":"the stream broke off"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Result = true
			for _, spec := range []string{"", "all", "bytes:1", "bytes:3", "random:1", "random:2"} {
				c.o.Chunks = spec
				got, _, err := run(t, c.o, c.in)
				if err != nil {
					t.Fatal(err)
				}
				if got != c.want+"\n" {
					t.Errorf("chunks %q:\ngot  %swant %s", spec, got, c.want)
				}
			}
		})
	}
}

func TestEvents(t *testing.T) {
	got, _, err := run(t, parsecmd.Options{Tools: "toy", PluginFile: "toy.wasm", Chunks: "bytes:4"}, "(abc)hello")
	want := `{"type":"turn_start","input":0,"cached":0,"output":0,"reasoning":0}
{"type":"reasoning_start"}
{"type":"reasoning_delta","text":"abc"}
{"type":"reasoning_end"}
{"type":"text_start"}
{"type":"text_delta","text":"hel"}
{"type":"text_delta","text":"lo"}
{"type":"text_end"}
{"type":"usage","input":0,"cached":0,"output":0,"reasoning":0}
{"type":"finish","reason":"stop"}
`
	if err != nil || got != want {
		t.Errorf("%v\ngot\n%swant\n%s", err, got, want)
	}
}

func TestStart(t *testing.T) {
	args := func(s string) *conv.Request { return &conv.Request{TemplateArgs: []byte(s)} }
	for _, c := range []struct {
		name string
		req  *conv.Request
		want guest.Start
	}{
		{"no request", nil, guest.Start{Tools: true}},
		{"no tools", &conv.Request{}, guest.Start{}},
		{"required", &conv.Request{Tools: make([]conv.ToolDef, 1), Choice: conv.ToolChoice{Mode: conv.ChoiceRequired}}, guest.Start{Tools: true, Choice: guest.ChoiceRequired}},
		{"named", &conv.Request{Choice: conv.ToolChoice{Mode: conv.ChoiceNamed}}, guest.Start{Choice: guest.ChoiceNamed}},
		{"none", &conv.Request{Choice: conv.ToolChoice{Mode: conv.ChoiceNone}}, guest.Start{Choice: guest.ChoiceNone}},
		{"template off", args(`{"x": [1], "enable_thinking": false}`), guest.Start{Thinking: guest.ThinkingOff}},
		{"template on", args(`{"thinking": true}`), guest.Start{Thinking: guest.ThinkingOn}},
		{"template silent", args(`{"thinking": "yes"}`), guest.Start{}},
		{"template broken", args(`{"thinking": true`), guest.Start{}},
		{"mode", &conv.Request{Thinking: conv.Thinking{Mode: conv.ThinkingOn}}, guest.Start{Thinking: guest.ThinkingOn}},
		{"effort none", &conv.Request{Thinking: conv.Thinking{Effort: "none"}}, guest.Start{Thinking: guest.ThinkingOff}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, g, err := run(t, parsecmd.Options{Reasoning: `a"b`, Tools: "toy", PluginFile: "toy.wasm", Request: c.req, PromptTail: "<think>\n"}, "")
			if err != nil {
				t.Fatal(err)
			}
			if g.start.Tools != c.want.Tools || g.start.Choice != c.want.Choice || g.start.Thinking != c.want.Thinking || string(g.start.Tail) != "<think>\n" {
				t.Errorf("start %+v, want %+v", g.start, c.want)
			}
			if want := `{"reasoning":"a\"b","tools":"toy","markers":{}}`; g.config != want {
				t.Errorf("config %s, want %s", g.config, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     parsecmd.Options
		usage bool
		want  string
	}{
		{"chunks", parsecmd.Options{Chunks: "lines"}, true, `chunks "lines"`},
		{"chunks of none", parsecmd.Options{Chunks: "bytes:0"}, true, `chunks "bytes:0"`},
		{"seed", parsecmd.Options{Chunks: "random:x"}, true, `chunks "random:x"`},
		{"all of something", parsecmd.Options{Chunks: "all:1"}, true, `chunks "all:1"`},
		{"finish", parsecmd.Options{Finish: "done"}, true, `finish reason "done"`},
		{"long tail", parsecmd.Options{PromptTail: strings.Repeat("x", 257)}, true, "prompt tail of 257 bytes, at most 256"},
		{"reasoning", parsecmd.Options{Reasoning: "nosuch", Tools: "hermes"}, true, `reasoning "nosuch", expected one of think, basic`},
		{"tools", parsecmd.Options{Reasoning: "qwen3", Tools: "nosuch"}, true, `tools "nosuch", expected one of hermes`},
		{"plugin", parsecmd.Options{PluginFile: "missing.wasm"}, false, "no such plugin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := run(t, c.o, "x")
			if err == nil || errors.Is(err, parsecmd.ErrUsage) != c.usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPluginFault(t *testing.T) {
	got, _, err := run(t, parsecmd.Options{PluginFile: "toy.wasm", Result: true}, "a#(b)")
	var f *host.Fault
	if !errors.As(err, &f) || !strings.Contains(got, `"content":"a#(b)"`) {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestIO(t *testing.T) {
	none := func(context.Context, string, []byte) (host.Guest, error) { return &toy{}, nil }
	broken := errors.New("broken pipe")
	if err := parsecmd.Run(context.Background(), parsecmd.Options{}, none, strings.NewReader("x"), failing{broken}); !errors.Is(err, broken) {
		t.Errorf("write: %v", err)
	}
	if err := parsecmd.Run(context.Background(), parsecmd.Options{}, none, failing{broken}, io.Discard); !errors.Is(err, broken) {
		t.Errorf("read: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := parsecmd.Run(ctx, parsecmd.Options{}, none, strings.NewReader("x"), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }
