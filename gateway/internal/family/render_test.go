package family_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/prompt"
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
	kins := all(t)
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
		family   string
		messages []conv.Message
		want     string
	}{
		{"qwen2.5 calls", qwen25, calls, askTurn + assistant + "Let me look.\n" + jsonCalls + results + assistant},
		{"qwen2.5 call alone", qwen25, bare, askTurn + assistant + "<tool_call>\n" + stockJSON + "\n</tool_call><|im_end|>\n" + one + assistant},
		{"qwen2.5 words", qwen25, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant},
		{"qwen3 calls", qwen3, calls, askTurn + assistant + reasonTurn + "Let me look.\n" + jsonCalls + results + assistant},
		{"qwen3 call alone", qwen3, bare, askTurn + assistant + "<tool_call>\n" + stockJSON + "\n</tool_call><|im_end|>\n" + one + assistant},
		{"qwen3 words", qwen3, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant},
		{"qwen3.5 calls", qwen35, calls, askTurn + assistant + reasonTurn + "Let me look.\n\n" + xmlCalls + results + assistant + "<think>\n"},
		{"qwen3.5 call alone", qwen35, bare, askTurn + assistant + "<think>\n\n</think>\n\n<tool_call>\n" + stockXML + "\n</tool_call><|im_end|>\n" + one + assistant + "<think>\n"},
		{"qwen3.5 words", qwen35, words, askTurn + assistant + "Here you go.<|im_end|>\n" + askTurn + assistant + "<think>\n"},
		{"coder calls", qwen3Coder, calls, askTurn + assistant + "Let me look.\n\n" + xmlCalls + coder.Replace(results) + assistant},
		{"coder call alone", qwen3Coder, bare, askTurn + assistant + "<tool_call>\n" + stockXML + "\n</tool_call><|im_end|>\n" + coder.Replace(one) + assistant},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := body(kins[c.family].render(t, request(c.messages...), "").Text); got != c.want {
				t.Errorf("prompt %q\nwant   %q", got, c.want)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	kins := all(t)
	custom := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "p", Name: "patch", Kind: conv.Custom, Arguments: "a \"b\"\nc"}}
	spaced := conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: "n", Namespace: "fs", Name: "read"}}
	for _, c := range []struct {
		name     string
		family   string
		messages []conv.Message
		want     string
	}{
		{
			"system messages at the start are one", qwen3,
			[]conv.Message{system("a"), msg(conv.Developer, text("b"), text("c")), user("x")},
			"<|im_start|>system\na\nb\nc<|im_end|>\n<|im_start|>user\nx<|im_end|>\n",
		},
		{
			"later ones stand where they are", qwen3,
			[]conv.Message{user("x"), system("now"), msg(conv.Developer, text("and"))},
			"<|im_start|>user\nx<|im_end|>\n<|im_start|>system\nnow<|im_end|>\n<|im_start|>system\nand<|im_end|>\n",
		},
		{"empty system text", qwen35, []conv.Message{system(""), user(" x\n")}, "<|im_start|>user\nx<|im_end|>\n"},
		{
			"white space around texts is cut", qwen35,
			[]conv.Message{system("\n s \n"), user(" x\n"), answer(text("\nT "), stockCall), tool("a", " r\n"), system(" later ")},
			"<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nx<|im_end|>\n" + assistant + "<think>\n\n</think>\n\nT\n\n<tool_call>\n" + stockXML +
				"\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n<|im_start|>system\nlater<|im_end|>\n",
		},
		{
			"white space around texts stays, but where reasoning or calls touch it", qwen3,
			[]conv.Message{system(" s \n"), user(" x\n"), answer(think("\nR\n"), text("\n\n T ")), answer(text("\nT ")), tool("a", " r\n")},
			"<|im_start|>system\n s \n<|im_end|>\n<|im_start|>user\n x\n<|im_end|>\n" + assistant + "<think>\nR\n</think>\n\n T <|im_end|>\n" +
				assistant + "\nT <|im_end|>\n<|im_start|>user\n<tool_response>\n r\n\n</tool_response><|im_end|>\n",
		},
		{
			"white space around texts stays, but before calls", qwen3Coder,
			[]conv.Message{answer(text("\nT ")), answer(text("\nT "), stockCall)},
			assistant + "\nT <|im_end|>\n" + assistant + "T\n\n<tool_call>\n" + stockXML + "\n</tool_call><|im_end|>\n",
		},
		{
			"a result of white space is empty, too", qwen3,
			[]conv.Message{tool("x", " \n")},
			"<|im_start|>user\n<tool_response>\n(empty result)\n</tool_response><|im_end|>\n",
		},
		{"text parts are joined, empty ones left out", qwen25, []conv.Message{msg(conv.User, text("a"), text(""), text("b"))}, "<|im_start|>user\na\nb<|im_end|>\n"},
		{"a message without parts", qwen25, []conv.Message{msg(conv.User)}, "<|im_start|>user\n<|im_end|>\n"},
		{
			"results in the order of the calls", qwen25,
			[]conv.Message{answer(stockCall, newsCall), tool("b", "B"), tool("a", "A")},
			assistant + "<tool_call>\n" + stockJSON + "\n</tool_call>\n<tool_call>\n" + newsJSON + "\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\nA\n</tool_response>\n<tool_response>\nB\n</tool_response><|im_end|>\n",
		},
		{
			"results of unknown calls come last, in their order", qwen25,
			[]conv.Message{answer(newsCall), msg(conv.User, result("y", text("Y")), result("x", text("X")), result("b", text("B")))},
			assistant + "<tool_call>\n" + newsJSON + "\n</tool_call><|im_end|>\n" +
				"<|im_start|>user\n<tool_response>\nB\n</tool_response>\n<tool_response>\nY\n</tool_response>\n<tool_response>\nX\n</tool_response><|im_end|>\n",
		},
		{
			"text beside results is a turn of its own", qwen25,
			[]conv.Message{msg(conv.User, text("before"), result("x", text("X")), text("after"))},
			"<|im_start|>user\nbefore<|im_end|>\n<|im_start|>user\n<tool_response>\nX\n</tool_response><|im_end|>\n<|im_start|>user\nafter<|im_end|>\n",
		},
		{"an empty result says so", qwen25, []conv.Message{tool("x", "")}, "<|im_start|>user\n<tool_response>\n(empty result)\n</tool_response><|im_end|>\n"},
		{
			"arguments are printed as Python prints them: the last of two members counts, at the place of the first", qwen3,
			[]conv.Message{answer(call("a", "f", `{"b":1.50,"a" : "\u00e9","b":2}`))},
			assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 2, \"a\": \"é\"}}\n</tool_call><|im_end|>\n",
		},
		{
			"numbers are Python's", qwen25,
			[]conv.Message{answer(call("a", "f", `{"a":1.50,"b":1e2,"c":12345678901234567890,"d":-0}`))},
			assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1.5, \"b\": 100.0, \"c\": 12345678901234567890, \"d\": 0}}\n</tool_call><|im_end|>\n",
		},
		{
			"arguments that are no object stay as they are", qwen3,
			[]conv.Message{answer(call("a", "f", `{"a": tru`), call("b", "g", `[1,2]`))},
			assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": tru}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": [1,2]}\n</tool_call><|im_end|>\n",
		},
		{"no arguments", qwen3, []conv.Message{answer(call("a", "f", " "))}, assistant + "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>\n"},
		{"a custom tool's input", qwen3, []conv.Message{answer(custom)}, assistant + `<tool_call>` + "\n" + `{"name": "patch", "arguments": {"input": "a \"b\"\nc"}}` + "\n</tool_call><|im_end|>\n"},
		{
			"a custom tool's input in XML", qwen3Coder,
			[]conv.Message{answer(custom)},
			assistant + "<tool_call>\n<function=patch>\n<parameter=input>\na \"b\"\nc\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
		{
			"a name is quoted as JSON is", qwen25,
			[]conv.Message{answer(call("a", `f"g`, "{}"))},
			assistant + "<tool_call>\n{\"name\": \"f\\\"g\", \"arguments\": {}}\n</tool_call><|im_end|>\n",
		},
		{"a namespace", qwen3Coder, []conv.Message{answer(spaced)}, assistant + "<tool_call>\n<function=fs__read>\n</function>\n</tool_call><|im_end|>\n"},
		{
			"XML values", qwen3Coder,
			[]conv.Message{answer(call("a", "f", `{"s":"x\ny","o":{"k": [1]},"t":true,"z":null,"n":1.50,"e":""}`))},
			assistant + "<tool_call>\n<function=f>\n<parameter=s>\nx\ny\n</parameter>\n<parameter=o>\n{\"k\": [1]}\n</parameter>\n<parameter=t>\ntrue\n</parameter>\n" +
				"<parameter=z>\nnull\n</parameter>\n<parameter=n>\n1.5\n</parameter>\n<parameter=e>\n\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
		{
			"XML of arguments that are no object", qwen3Coder,
			[]conv.Message{answer(call("a", "f", `{"a": tru`))},
			assistant + "<tool_call>\n<function=f>\n<parameter=arguments>\n{\"a\": tru\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(c.messages...)
			req.Thinking.Mode = conv.ThinkingOff
			p := kins[c.family].render(t, req, "")
			if got := strings.TrimSuffix(p.Text, p.Tail); got != c.want {
				t.Errorf("prompt %q\nwant   %q", got, c.want)
			}
		})
	}
}

// Several rounds in one message come back in their order; parts that no round needs are folded.
func TestSplice(t *testing.T) {
	t.Parallel()
	kins := all(t)
	rounds := answer(think("R1"), stockCall, think("R2"), text("So."), newsCall, text("\nDone."))
	for _, c := range []struct {
		name   string
		family string
		later  bool // a user's message follows
		want   string
	}{
		{"qwen3", qwen3, false, "<think>\nR1\n</think>\n\n<tool_call>\n" + stockJSON + "\n</tool_call>\n<think>\nR2\n</think>\n\nSo.\n<tool_call>\n" + newsJSON + "\n</tool_call>\nDone."},
		{"qwen3.5", qwen35, false, "<think>\nR1\n</think>\n\n<tool_call>\n" + stockXML + "\n</tool_call>\n<think>\nR2\n</think>\n\nSo.\n\n<tool_call>\n" + newsXML + "\n</tool_call>\nDone."},
		{"older turn", qwen3, true, "<tool_call>\n" + stockJSON + "\n</tool_call>So.\n<tool_call>\n" + newsJSON + "\n</tool_call>\nDone."},
		{"older turn of a family whose prompts open the thinking", qwen35, true, "<tool_call>\n" + stockXML + "\n</tool_call>So.\n\n<tool_call>\n" + newsXML + "\n</tool_call>\nDone."},
		{"no thinking", qwen3Coder, false, "<tool_call>\n" + stockXML + "\n</tool_call>So.\n\n<tool_call>\n" + newsXML + "\n</tool_call>\nDone."},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := []conv.Message{user("Ask"), rounds}
			if c.later {
				m = append(m, user("Ask"))
			}
			got := kins[c.family].render(t, request(m...), "").Text
			if want := askTurn + assistant + c.want + "<|im_end|>\n"; !strings.HasPrefix(got, want) {
				t.Errorf("prompt %q\nwant   %q", got, want)
			}
		})
	}
	folded := kins[qwen3].make(t, &prompt.Input{Request: request(user("Ask"), rounds)})
	if want := "<think>\nR1\nR2\n</think>\n\nSo.\n\nDone.\n<tool_call>\n" + stockJSON + "\n</tool_call>\n<tool_call>\n" + newsJSON; !strings.Contains(folded.Text, want) {
		t.Errorf("without a plan the turn is not folded: %q", folded.Text)
	}
}

// What switches thinking is the template's argument; the tail of a plan says what the prompt will end with. Where it
// ends otherwise, the prompt's own tail tells where the model starts.
func TestTails(t *testing.T) {
	t.Parallel()
	const closed = "<think>\n\n</think>\n\n"
	kins := all(t)
	off := plan.Op{Kind: plan.KwargOp, Key: "enable_thinking", Value: "false"}
	for _, c := range []struct {
		name   string
		family string
		mode   conv.ThinkingMode
		args   string    // chat_template_kwargs
		ops    []plan.Op // in place of the family's plan
		tail   string
		start  plan.StartState
	}{
		{"qwen2.5", qwen25, conv.ThinkingOn, "", nil, "", plan.StartAuto},
		{"qwen2.5 off", qwen25, conv.ThinkingOff, "", nil, "", plan.StartAuto},
		{"qwen3", qwen3, conv.ThinkingUnset, "", nil, "", plan.StartAuto},
		{"qwen3 on", qwen3, conv.ThinkingOn, "", nil, "", plan.StartAuto},
		{"qwen3 off", qwen3, conv.ThinkingOff, "", nil, closed, plan.StartContent},
		{"qwen3.5", qwen35, conv.ThinkingUnset, "", nil, "<think>\n", plan.StartReasoning},
		{"qwen3.5 adaptive", qwen35, conv.ThinkingAdaptive, "", nil, "<think>\n", plan.StartReasoning},
		{"qwen3.5 off", qwen35, conv.ThinkingOff, "", nil, closed, plan.StartContent},
		{"the client's argument counts more", qwen35, conv.ThinkingOn, `{"enable_thinking": false}`, nil, closed, plan.StartContent},
		{"an argument that is no switch", qwen35, conv.ThinkingOn, `{"enable_thinking": null}`, nil, "<think>\n", plan.StartReasoning},
		{"an argument that is no switch, off", qwen3, conv.ThinkingOff, `{"enable_thinking": 0}`, nil, "", plan.StartAuto},
		{"a plan that says nothing", qwen35, conv.ThinkingOff, "", []plan.Op{}, "<think>\n", plan.StartAuto},
		{"a tail that is not what the template ends with", qwen35, conv.ThinkingUnset, "", []plan.Op{off, {Kind: plan.TailOp, Value: "<think>\n"}, {Kind: plan.StartOp, State: plan.StartReasoning}}, closed, plan.StartAuto},
		{"a turn in the tail is not written", qwen35, conv.ThinkingUnset, "", []plan.Op{{Kind: plan.TailOp, Value: "<|im_end|>"}}, "<think>\n", plan.StartAuto},
		{"the plan's start", qwen3, conv.ThinkingUnset, "", []plan.Op{{Kind: plan.StartOp, State: plan.StartContent}}, "", plan.StartContent},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, req := kins[c.family], request(user("x"))
			req.Thinking.Mode, req.TemplateArgs = c.mode, []byte(c.args)
			in := k.input(t, req, "")
			if c.ops != nil {
				in.Plan = c.ops
			}
			p := k.make(t, in)
			if p.Tail != assistant+c.tail || p.Start != c.start || !strings.HasSuffix(p.Text, "<|im_end|>\n"+assistant+c.tail) {
				t.Errorf("tail %q, start %d, want %q, %d; prompt %q", p.Tail, p.Start, assistant+c.tail, c.start, p.Text)
			}
		})
	}
}

// A prompt that ends behind the last message, and one whose last message the model goes on with.
func TestEnds(t *testing.T) {
	t.Parallel()
	kins := all(t)
	said := []conv.Message{user("Ask"), answer(think("R-text"), text("Well, "))}
	for _, c := range []struct {
		name, family  string
		closed, going bool
		want          string
	}{
		{"qwen2.5 closed", qwen25, true, false, "Well, <|im_end|>\n"},
		{"qwen2.5 goes on", qwen25, false, true, "Well, "},
		{"qwen3 closed", qwen3, true, false, reasonTurn + "Well, <|im_end|>\n"},
		{"qwen3 goes on", qwen3, false, true, reasonTurn + "Well, "},
		{"qwen3.5 closed, where the template trims", qwen35, true, false, reasonTurn + "Well,<|im_end|>\n"},
		{"qwen3.5 goes on, where the template trims", qwen35, false, true, reasonTurn + "Well,"},
		{"coder closed", qwen3Coder, true, false, "Well, <|im_end|>\n"},
		{"coder goes on", qwen3Coder, false, true, "Well, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(said...)
			req.Prompting.NoGeneration, req.Prompting.Continue = c.closed, c.going
			if got, want := kins[c.family].render(t, req, "").Text, askTurn+assistant+c.want; got != want {
				t.Errorf("prompt %q\nwant   %q", got, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	kins := all(t)
	image := conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}}
	history := []conv.Message{user("x"), answer(think("r"), text("t")), user("y")}
	for _, c := range []struct {
		name     string
		messages []conv.Message
		op       plan.Op
		kind     fault.Kind
	}{
		{"image", []conv.Message{msg(conv.User, image)}, plan.Op{}, fault.Unsupported},
		{"image in a system message", []conv.Message{msg(conv.System, image)}, plan.Op{}, fault.Unsupported},
		{"image in a result", []conv.Message{msg(conv.Tool, result("a", image))}, plan.Op{}, fault.Unsupported},
		{"image of the assistant", []conv.Message{answer(image)}, plan.Op{}, fault.Unsupported},
		{"no such message", history, plan.Op{Kind: plan.PartOp, Message: 3}, fault.Plugin},
		{"no such part", history, plan.Op{Kind: plan.PartOp, Message: 1, Part: 2}, fault.Plugin},
		{"a user's part", history, plan.Op{Kind: plan.PartOp, Action: plan.Drop}, fault.Plugin},
		{"drop of text", history, plan.Op{Kind: plan.PartOp, Message: 1, Part: 1, Action: plan.Drop}, fault.Plugin},
		{"long tail", history, plan.Op{Kind: plan.TailOp, Value: strings.Repeat("x", 4097)}, fault.Plugin},
		{"empty stop", history, plan.Op{Kind: plan.StopOp}, fault.Plugin},
		{"empty token", history, plan.Op{Kind: plan.TokenOp}, fault.Plugin},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &prompt.Input{Request: request(c.messages...)}
			if c.op.Kind != 0 {
				in.Plan = append(in.Plan, c.op)
			}
			for name, k := range kins {
				_, err := k.model.Render(t.Context(), in)
				if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != c.kind {
					t.Errorf("%s: error %v, want a fault of kind %s", name, err, c.kind)
				}
			}
		})
	}
	if src, ok := family.Template("gpt"); ok {
		t.Errorf("an unknown family has the template %q", src)
	}
}

func TestStopsAndTokens(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		qwen25: {"<tool_call>", "</tool_call>"}, qwen3Coder: {"<tool_call>", "</tool_call>"},
		qwen3: {"<tool_call>", "</tool_call>", "<think>", "</think>"}, qwen35: {"<tool_call>", "</tool_call>", "<think>", "</think>"},
	} {
		p := open(t, name).render(t, request(user("x")), "")
		if !slices.Equal(p.Stops, []string{"<|im_end|>"}) || !slices.Equal(p.Preserve, want) {
			t.Errorf("%s: stops %q, tokens %q, want %q", name, p.Stops, p.Preserve, want)
		}
	}
}

// The families say one thing about themselves in all places: what thinks has a parser for it, and a start.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range family.Names() {
		reasoning, tools, ok := family.Formats(name)
		if start := family.Start(name); !ok || tools == "" || start == "" || (reasoning == "") != (start == "none") {
			t.Errorf("%s: formats %q, %q, start %q", name, reasoning, tools, start)
		}
	}
	names := family.Names()
	if names[0] = "changed"; slices.Contains(family.Names(), "changed") {
		t.Error("the list of names is shared")
	}
	if _, _, ok := family.Formats("gpt"); ok || family.Start("gpt") != "" {
		t.Error("an unknown family has formats or a start")
	}
}
