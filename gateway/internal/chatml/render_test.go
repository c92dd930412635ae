package chatml_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/chatml"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// body cuts a prompt's system turn off.
func body(p string) string {
	if _, rest, ok := strings.Cut(p, "<|im_end|>\n"); ok && strings.HasPrefix(p, "<|im_start|>system") {
		return rest
	}
	return p
}

const (
	stockJSON  = `{"name": "get_stock", "arguments": {"sym": "ACME", "days": 3}}`
	newsJSON   = `{"name": "get_news", "arguments": {"sym": "BETA"}}`
	stockXML   = "<function=get_stock>\n<parameter=sym>\nACME\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>"
	newsXML    = "<function=get_news>\n<parameter=sym>\nBETA\n</parameter>\n</function>"
	askTurn    = "<|im_start|>user\nAsk<|im_end|>\n"
	assistant  = "<|im_start|>assistant\n"
	reasonTurn = "<think>\nR-text\n</think>\n\n"
)

var (
	stockCall = call("a", "get_stock", `{"sym": "ACME", "days": 3}`)
	newsCall  = call("b", "get_news", `{"sym": "BETA"}`)
)

// What the families' own templates print for these turns, system turn aside.
func TestTurns(t *testing.T) {
	t.Parallel()
	calls := []conv.Message{user("Ask"), answer(think("R-text"), text("Let me look."), stockCall, newsCall), tool("a", "12"), tool("b", "none")}
	bare := []conv.Message{user("Ask"), answer(stockCall), tool("a", "12")}
	words := []conv.Message{user("Ask"), answer(think("R-text"), text("Here you go.")), user("Ask")}
	results := "<|im_start|>user\n<tool_response>\n12\n</tool_response>\n<tool_response>\nnone\n</tool_response><|im_end|>\n"
	jsonCalls := "<tool_call>\n" + stockJSON + "\n</tool_call>\n<tool_call>\n" + newsJSON + "\n</tool_call><|im_end|>\n"
	xmlCalls := "<tool_call>\n" + stockXML + "\n</tool_call>\n<tool_call>\n" + newsXML + "\n</tool_call><|im_end|>\n"
	one := "<|im_start|>user\n<tool_response>\n12\n</tool_response><|im_end|>\n"
	coder := strings.NewReplacer("\n</tool_response><|im_end|>", "\n</tool_response>\n<|im_end|>")
	for _, c := range []struct {
		name     string
		dialect  chatml.Dialect
		messages []conv.Message
		want     string
	}{
		{"qwen2.5 calls", chatml.Qwen25, calls, askTurn + assistant + "Let me look.\n" + jsonCalls + results + assistant},
		{"qwen2.5 call alone", chatml.Qwen25, bare, askTurn + assistant + "<tool_call>\n" + stockJSON + "\n</tool_call><|im_end|>\n" + one + assistant},
		{"qwen2.5 words", chatml.Qwen25, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant},
		{"qwen3 calls", chatml.Qwen3, calls, askTurn + assistant + reasonTurn + "Let me look.\n" + jsonCalls + results + assistant},
		{"qwen3 call alone", chatml.Qwen3, bare, askTurn + assistant + "<tool_call>\n" + stockJSON + "\n</tool_call><|im_end|>\n" + one + assistant},
		{"qwen3 words", chatml.Qwen3, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant},
		{"qwen3.5 calls", chatml.Qwen35, calls, askTurn + assistant + reasonTurn + "Let me look.\n\n" + xmlCalls + results + assistant + "<think>\n"},
		{"qwen3.5 call alone", chatml.Qwen35, bare, askTurn + assistant + "<think>\n\n</think>\n\n<tool_call>\n" + stockXML + "\n</tool_call><|im_end|>\n" + one + assistant + "<think>\n"},
		{"qwen3.5 words", chatml.Qwen35, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant + "<think>\n"},
		{"coder calls", chatml.Qwen3Coder, calls, askTurn + assistant + "Let me look.\n\n" + xmlCalls + coder.Replace(results) + assistant},
		{"coder call alone", chatml.Qwen3Coder, bare, askTurn + assistant + "<tool_call>\n" + stockXML + "\n</tool_call><|im_end|>\n" + coder.Replace(one) + assistant},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := body(render(t, request(c.messages...), c.dialect, policies[c.dialect]).Text); got != c.want {
				t.Errorf("prompt %q\nwant   %q", got, c.want)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	custom := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "p", Name: "patch", Kind: conv.Custom, Arguments: "a \"b\"\nc"}}
	spaced := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "n", Namespace: "fs", Name: "read"}}
	for _, c := range []struct {
		name     string
		dialect  chatml.Dialect
		messages []conv.Message
		want     string
	}{
		{
			"system messages at the start are one", chatml.Qwen3,
			[]conv.Message{system("a"), msg(conv.Developer, text("b"), text("c")), user("x")},
			"<|im_start|>system\na\nb\nc<|im_end|>\n<|im_start|>user\nx<|im_end|>\n",
		},
		{
			"later ones stand where they are", chatml.Qwen3,
			[]conv.Message{user("x"), system("now"), msg(conv.Developer, text("and"))},
			"<|im_start|>user\nx<|im_end|>\n<|im_start|>system\nnow<|im_end|>\n<|im_start|>system\nand<|im_end|>\n",
		},
		{"empty system text", chatml.Qwen35, []conv.Message{system(""), user(" x\n")}, "<|im_start|>user\nx<|im_end|>\n"},
		{"text parts are joined, empty ones left out", chatml.Qwen25, []conv.Message{msg(conv.User, text("a"), text(""), text("b"))}, "<|im_start|>user\na\nb<|im_end|>\n"},
		{"a message without parts", chatml.Qwen25, []conv.Message{msg(conv.User)}, "<|im_start|>user\n<|im_end|>\n"},
		{
			"results in the order of the calls", chatml.Qwen25,
			[]conv.Message{answer(stockCall, newsCall), tool("b", "B"), tool("a", "A")},
			assistant + "<tool_call>\n" + stockJSON + "\n</tool_call>\n<tool_call>\n" + newsJSON + "\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\nA\n</tool_response>\n<tool_response>\nB\n</tool_response><|im_end|>\n",
		},
		{
			"results of unknown calls come last, in their order", chatml.Qwen25,
			[]conv.Message{answer(newsCall), msg(conv.User, result("y", text("Y")), result("x", text("X")), result("b", text("B")))},
			assistant + "<tool_call>\n" + newsJSON + "\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\nB\n</tool_response>\n<tool_response>\nY\n</tool_response>\n<tool_response>\nX\n</tool_response><|im_end|>\n",
		},
		{
			"text beside results is a turn of its own", chatml.Qwen25,
			[]conv.Message{msg(conv.User, text("before"), result("x", text("X")), text("after"))},
			"<|im_start|>user\nbefore<|im_end|>\n<|im_start|>user\n<tool_response>\nX\n</tool_response><|im_end|>\n<|im_start|>user\nafter<|im_end|>\n",
		},
		{"an empty result says so", chatml.Qwen25, []conv.Message{tool("x", "")}, "<|im_start|>user\n<tool_response>\n(empty result)\n</tool_response><|im_end|>\n"},
		{
			"arguments are not touched", chatml.Qwen3,
			[]conv.Message{answer(call("a", "f", `{"b":1.50,"a" : "\u00e9","b":2}`))},
			assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\":1.50,\"a\" : \"\\u00e9\",\"b\":2}}\n</tool_call><|im_end|>\n",
		},
		{"no arguments", chatml.Qwen3, []conv.Message{answer(call("a", "f", " "))}, assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>\n"},
		{"a custom tool's input", chatml.Qwen3, []conv.Message{answer(custom)}, assistant + `<tool_call>` + "\n" + `{"name": "patch", "arguments": {"input": "a \"b\"\nc"}}` + "\n</tool_call><|im_end|>\n"},
		{
			"a custom tool's input in XML", chatml.Qwen3Coder,
			[]conv.Message{answer(custom)},
			assistant + "<tool_call>\n<function=patch>\n<parameter=input>\na \"b\"\nc\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
		{"a namespace", chatml.Qwen3Coder, []conv.Message{answer(spaced)}, assistant + "<tool_call>\n<function=fs__read>\n</function>\n</tool_call><|im_end|>\n"},
		{
			"XML values", chatml.Qwen3Coder,
			[]conv.Message{answer(call("a", "f", `{"s":"x\ny","o":{"k": [1]},"t":true,"z":null,"n":1.50,"e":""}`))},
			assistant + "<tool_call>\n<function=f>\n<parameter=s>\nx\ny\n</parameter>\n<parameter=o>\n{\"k\": [1]}\n</parameter>\n<parameter=t>\ntrue\n</parameter>\n" +
				"<parameter=z>\nnull\n</parameter>\n<parameter=n>\n1.50\n</parameter>\n<parameter=e>\n\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
		{
			"XML of arguments that are no object", chatml.Qwen3Coder,
			[]conv.Message{answer(call("a", "f", `{"a": tru`))},
			assistant + "<tool_call>\n<function=f>\n<parameter=arguments>\n{\"a\": tru\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := chatml.Render(request(c.messages...), nil, chatml.Options{Dialect: c.dialect, Thinking: chatml.ThinkingOff})
			if err != nil {
				t.Fatal(err)
			}
			// Without a user message all is one loop, in which qwen3.5 would open blocks; see TestTurns.
			if got := strings.TrimSuffix(p.Text, assistant+p.Tail); got != c.want {
				t.Errorf("prompt %q\nwant   %q", got, c.want)
			}
		})
	}
}

// Several rounds in one message come back in their order; parts that no round needs are folded.
func TestSplice(t *testing.T) {
	t.Parallel()
	rounds := answer(think("R1"), stockCall, think("R2"), text("So."), newsCall, text("\nDone."))
	for _, c := range []struct {
		name    string
		dialect chatml.Dialect
		later   bool // a user's message follows
		want    string
	}{
		{"qwen3", chatml.Qwen3, false, "<think>\nR1\n</think>\n\n<tool_call>\n" + stockJSON + "\n</tool_call>\n<think>\nR2\n</think>\n\nSo.\n<tool_call>\n" + newsJSON + "\n</tool_call>\nDone."},
		{"qwen3.5", chatml.Qwen35, false, "<think>\nR1\n</think>\n\n<tool_call>\n" + stockXML + "\n</tool_call>\n<think>\nR2\n</think>\n\nSo.\n\n<tool_call>\n" + newsXML + "\n</tool_call>\nDone."},
		{"older turn", chatml.Qwen3, true, "<tool_call>\n" + stockJSON + "\n</tool_call>So.\n<tool_call>\n" + newsJSON + "\n</tool_call>\nDone."},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := []conv.Message{user("Ask"), rounds}
			if c.later {
				m = append(m, user("Ask"))
			}
			got := render(t, request(m...), c.dialect, policies[c.dialect]).Text
			if want := askTurn + assistant + c.want + "<|im_end|>\n"; !strings.HasPrefix(got, want) {
				t.Errorf("prompt %q\nwant   %q", got, want)
			}
		})
	}
	keep, err := chatml.Render(request(user("Ask"), rounds), nil, plain(chatml.Qwen3))
	if err != nil {
		t.Fatal(err)
	}
	if want := "<think>\nR1\nR2\n</think>\n\nSo.\n\nDone.\n<tool_call>\n" + stockJSON + "\n</tool_call>\n<tool_call>\n" + newsJSON; !strings.Contains(keep.Text, want) {
		t.Errorf("without a plan the turn is not folded: %q", keep.Text)
	}
}

func TestTails(t *testing.T) {
	t.Parallel()
	const closed = "<think>\n\n</think>\n\n"
	for _, c := range []struct {
		name    string
		dialect chatml.Dialect
		set     chatml.Thinking
		ops     []plan.Op
		tail    string
		start   plan.StartState
	}{
		{"qwen2.5", chatml.Qwen25, chatml.ThinkingOn, nil, "", plan.StartContent},
		{"qwen3", chatml.Qwen3, chatml.ThinkingDefault, nil, "", plan.StartAuto},
		{"qwen3 off", chatml.Qwen3, chatml.ThinkingOff, nil, closed, plan.StartContent},
		{"qwen3.5", chatml.Qwen35, chatml.ThinkingDefault, nil, "<think>\n", plan.StartReasoning},
		{"qwen3.5 off", chatml.Qwen35, chatml.ThinkingOff, nil, closed, plan.StartContent},
		{"the plan's tail", chatml.Qwen35, chatml.ThinkingOff, []plan.Op{{Kind: plan.TailOp, Value: "<think>\nOK, "}}, "<think>\nOK, ", plan.StartReasoning},
		{"the plan's start", chatml.Qwen35, chatml.ThinkingOff, []plan.Op{{Kind: plan.StartOp, State: plan.StartAuto}}, "", plan.StartAuto},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := chatml.Render(request(user("x")), c.ops, chatml.Options{Dialect: c.dialect, Thinking: c.set})
			if err != nil {
				t.Fatal(err)
			}
			if p.Tail != c.tail || p.Start != c.start || !strings.HasSuffix(p.Text, assistant+c.tail) {
				t.Errorf("tail %q, start %d, want %q, %d; prompt %q", p.Tail, p.Start, c.tail, c.start, p.Text)
			}
		})
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	tools := []conv.ToolDef{stock, {Name: "patch", Kind: conv.Custom, Description: "Change a file."}, {Name: "ping"}, {Name: "later", Deferred: true, Schema: []byte(`{"type":"object"}`)}}
	const lines = `
{"type": "function", "function": {"name": "get_stock", "description": "Price of a share.", "parameters": {"type": "object", "properties": {"sym": {"type": "string", "description": " Ticker \n"}, "days": {"type": ["integer", "null"], "minimum": 1}}, "required": ["sym"]}}}
{"type": "function", "function": {"name": "patch", "description": "Change a file.", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}
{"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}
</tools>`
	const elements = `
<function>
<name>get_stock</name>
<description>Price of a share.</description>
<parameters>
<parameter>
<name>sym</name>
<type>string</type>
<description>Ticker</description>
</parameter>
<parameter>
<name>days</name>
<type>["integer", "null"]</type>
<minimum>1</minimum>
</parameter>
<required>["sym"]</required>
</parameters>
</function>
<function>
<name>patch</name>`
	for _, c := range []struct {
		dialect      chatml.Dialect
		begin, holds string
	}{
		{chatml.Qwen25, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + lines},
		{chatml.Qwen3, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + lines},
		{chatml.Qwen35, "<|im_start|>system\n# Tools\n", "<tools>" + lines},
		{chatml.Qwen3Coder, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + elements},
	} {
		t.Run(string(c.dialect), func(t *testing.T) {
			req := request(system("Be brief."), user("x"))
			req.Tools = tools
			p, err := chatml.Render(req, nil, plain(c.dialect))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(p.Text, c.begin) || !strings.Contains(p.Text, c.holds) || strings.Contains(p.Text, "later") {
				t.Errorf("prompt %s", p.Text)
			}
			if c.dialect == chatml.Qwen35 && !strings.Contains(p.Text, "\n\nBe brief.<|im_end|>\n") {
				t.Errorf("the system text does not follow the tools: %s", p.Text)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	req := request(user("x"), answer(call("s", "search", "{}")), msg(conv.Tool, result("s", reference("later"), reference("none"), text("Loaded."))),
		answer(call("s", "search", "{}")), msg(conv.Tool, result("s", reference("later"))))
	req.Tools = []conv.ToolDef{{Name: "search"}, {Name: "later", Deferred: true}}
	p, err := chatml.Render(req, nil, plain(chatml.Qwen3))
	if err != nil {
		t.Fatal(err)
	}
	want := "<tool_response>\n<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"later\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}\n</tools>\nnone\nLoaded.\n</tool_response>"
	if !strings.Contains(p.Text, want) || !strings.Contains(p.Text, "<tool_response>\nlater\n</tool_response>") {
		t.Errorf("prompt %s", p.Text)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	image := conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}}
	history := []conv.Message{user("x"), answer(think("r"), text("t")), user("y")}
	for _, c := range []struct {
		name     string
		messages []conv.Message
		op       plan.Op
		dialect  chatml.Dialect
		kind     fault.Kind
	}{
		{"image", []conv.Message{msg(conv.User, image)}, plan.Op{}, chatml.Qwen3, fault.Unsupported},
		{"image in a system message", []conv.Message{msg(conv.System, image)}, plan.Op{}, chatml.Qwen3, fault.Unsupported},
		{"image in a result", []conv.Message{msg(conv.Tool, result("a", image))}, plan.Op{}, chatml.Qwen3, fault.Unsupported},
		{"image of the assistant", []conv.Message{answer(image)}, plan.Op{}, chatml.Qwen3, fault.Unsupported},
		{"dialect", history, plan.Op{}, "gpt", fault.Internal},
		{"no such message", history, plan.Op{Kind: plan.PartOp, Message: 3}, chatml.Qwen3, fault.Plugin},
		{"no such part", history, plan.Op{Kind: plan.PartOp, Message: 1, Part: 2}, chatml.Qwen3, fault.Plugin},
		{"a user's part", history, plan.Op{Kind: plan.PartOp, Action: plan.Drop}, chatml.Qwen3, fault.Plugin},
		{"drop of text", history, plan.Op{Kind: plan.PartOp, Message: 1, Part: 1, Action: plan.Drop}, chatml.Qwen3, fault.Plugin},
		{"long tail", history, plan.Op{Kind: plan.TailOp, Value: strings.Repeat("x", 257)}, chatml.Qwen3, fault.Plugin},
		{"turn in the tail", history, plan.Op{Kind: plan.TailOp, Value: "<|im_end|>"}, chatml.Qwen3, fault.Plugin},
		{"empty stop", history, plan.Op{Kind: plan.StopOp}, chatml.Qwen3, fault.Plugin},
		{"empty token", history, plan.Op{Kind: plan.TokenOp}, chatml.Qwen3, fault.Plugin},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ops []plan.Op
			if c.op.Kind != 0 {
				ops = append(ops, c.op)
			}
			_, err := chatml.Render(request(c.messages...), ops, plain(c.dialect))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind {
				t.Errorf("error %v, want a fault of kind %s", err, c.kind)
			}
		})
	}
}

func TestStopsAndTokens(t *testing.T) {
	t.Parallel()
	ops := []plan.Op{{Kind: plan.StopOp, Value: "<|im_end|>"}, {Kind: plan.StopOp, Value: "<|endoftext|>"}, {Kind: plan.TokenOp, Value: "<think>"}, {Kind: plan.TokenOp, Value: "<x>"}}
	p, err := chatml.Render(request(user("x")), ops, plain(chatml.Qwen3))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"<|im_end|>", "<|endoftext|>"}; !slices.Equal(p.Stops, want) {
		t.Errorf("stops %q, want %q", p.Stops, want)
	}
	if want := []string{"<tool_call>", "</tool_call>", "<think>", "</think>", "<x>"}; !slices.Equal(p.Preserve, want) {
		t.Errorf("tokens %q, want %q", p.Preserve, want)
	}
}
