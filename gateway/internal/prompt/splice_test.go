package prompt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/jinja"
)

// remembered makes a turn memory.
func remembered(turns map[int]*prompt.Turn) func(int) *prompt.Turn {
	return func(i int) *prompt.Turn { return turns[i] }
}

// write is a family: what is open is closed, blocks are tagged.
func write(dst []byte, tail string, blocks []prompt.Block) []byte {
	open := strings.HasSuffix(tail, "<think>")
	for _, b := range blocks {
		if open && b.Kind != prompt.BlockReasoning {
			dst = append(dst, "</think>"...)
		}
		switch b.Kind {
		case prompt.BlockReasoning:
			if !open {
				dst = append(dst, "<think>"...)
			}
			dst = append(append(dst, b.Text...), "</think>"...)
		case prompt.BlockText:
			dst = append(dst, b.Text...)
		case prompt.BlockCall:
			dst = append(append(append(append(append(dst, "<call>"...), b.Name...), ' '), b.Arguments...), "</call>"...)
		}
		open = false
	}
	return dst
}

// Before, after a user and after a tool, and a user's turn behind the assistant's.
const (
	open = "</e>\n<t>assistant\n<think>"
	more = "\n<t>user\nV</e>\n<t>assistant\n<think>"
)

func spliced() []plan.Op { return []plan.Op{{Kind: plan.PartOp, Message: 1, Action: plan.Splice}} }

func looped() *conv.Request {
	return request(user("U"), answer(text("B"), call("a", "f", `{"x":1.50}`)), tool("a", "T"))
}

func rounds() conv.Message {
	return answer(think("R1"), call("a", "f", `{"x":1.50}`), think("R2"), text("mid"), call("b", "g", ""))
}

// spliceCases are turns that are remembered or written by the family.
var spliceCases = []struct {
	name, template string
	req            *conv.Request
	turns          map[int]*prompt.Turn
	plan           []plan.Op
	write          bool
	want           string
	ids            int
}{
	{
		name: "the model's words", template: "loop", req: looped(), turns: map[int]*prompt.Turn{1: {Before: open, Text: "</think>B <call>f {\"x\":1.50}</call>", IDs: []uint32{7}}},
		want: "<t>user\nU" + open + "</think>B <call>f {\"x\":1.50}</call></e>\n<t>tool\nT" + open, ids: 1,
	},
	{
		name: "reasoning that the client did not send", template: "loop", req: looped(),
		turns: map[int]*prompt.Turn{1: {Before: open, Text: "R</think>B<call>f {\"x\":1.50}</call>", Reasoning: "R"}},
		want:  "<t>user\nU" + open + "R</think>B<call>f {\"x\":1.50}</call></e>\n<t>tool\nT" + open,
	},
	{
		name: "reasoning that the template drops takes the turn along", template: "loop", req: request(user("U"), answer(think("R"), text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: open, Text: "R</think>A"}},
		want:  "<t>user\nU</e>\n<t>assistant\nA</e>" + more,
	},
	{
		name: "no reasoning, so nothing is dropped", template: "loop", req: request(user("U"), answer(text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: open, Text: "</think> A\n"}},
		want:  "<t>user\nU" + open + "</think> A\n</e>" + more,
	},
	{
		name: "an end that others wrote is none", template: "loop", req: request(user("U</e>"), answer(text("A</e>B")), user("</e>V")),
		turns: map[int]*prompt.Turn{1: {Before: open, Text: "</think>A</e>B!"}},
		want:  "<t>user\nU</e>" + open + "</think>A</e>B!</e>\n<t>user\n</e>V" + open,
	},
	{
		name: "the header of the next turn is the end", template: "parts", req: request(user("U"), answer(text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: "<|assistant|>", Text: "[T][/T]A "}},
		want:  "<|user|>U<|assistant|>[T][/T]A <|user|>V<|assistant|>",
	},
	{
		name: "turns behind each other", template: "loop", req: request(user("U"), answer(text("A")), answer(text("B")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: open, Text: "1"}, 2: {Before: "</e>\n<t>assistant\n<think>", Text: "2", IDs: []uint32{1}}},
		want:  "<t>user\nU" + open + "1" + open + "2</e>" + more, ids: 1,
	},
	{
		name: "nothing in front of it", template: "loop", req: request(answer(text("A")), user("V")),
		turns: map[int]*prompt.Turn{0: {Before: "?", Text: "?"}},
		want:  "<t>assistant\nA</e>" + more,
	},
	{
		name: "a policy that drops reasoning", template: "single", req: request(user("U"), answer(think("R"), text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: "|end||assistant|", Text: "R;A"}}, plan: []plan.Op{{Kind: plan.PartOp, Message: 1, Action: plan.Drop}},
		want: "|user|U|end||assistant|A|end||user|V|end||assistant|",
	},
	{
		name: "a policy that keeps it", template: "single", req: request(user("U"), answer(think("R"), text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: "|end||assistant|", Text: "R;A"}},
		want:  "|user|U|end||assistant|R;A|end||user|V|end||assistant|",
	},
	{
		name: "nobody can say whether a policy keeps what was not sent", template: "single", req: request(user("U"), answer(text("A")), user("V")),
		turns: map[int]*prompt.Turn{1: {Before: "|end||assistant|", Text: "R;A", Reasoning: "R"}},
		want:  "|user|U|end||assistant|A|end||user|V|end||assistant|",
	},
	{
		name: "several calls of a template that takes one", template: "single",
		req:   request(user("U"), answer(call("a", "f", ""), call("b", "g", "")), says(conv.Tool, result("a", text("A")), result("b", text("B")))),
		turns: map[int]*prompt.Turn{1: {Before: "|end||assistant|", Text: "f+g"}},
		want:  "|user|U|end||assistant|f+g|end||tool f a|A|end||tool g b|B|end||assistant|",
	},
	{
		name: "rounds", template: "loop", req: request(user("U"), rounds(), tool("a", "T")), plan: spliced(), write: true,
		want: "<t>user\nU" + open + `R1</think><call>f {"x":1.50}</call><think>R2</think>mid<call>g {}</call></e>` + "\n<t>tool\nT" + open,
	},
	{
		name: "rounds of an old turn", template: "loop", req: request(user("U"), rounds(), tool("a", "T"), user("V")), plan: spliced(), write: true,
		want: "<t>user\nU</e>\n<t>assistant\n" + `<call>f {"x":1.50}</call>mid<call>g {}</call></e>` + "\n<t>tool\nT</e>" + more,
	},
	{
		name: "rounds that the plan does not splice", template: "loop", req: request(user("U"), rounds(), tool("a", "T")), write: true,
		want: "<t>user\nU" + open + `R1` + "\n" + `R2</think>mid<call>f {"x": 1.5}</call><call>g {}</call></e>` + "\n<t>tool\nT" + open,
	},
	{
		name: "rounds that nobody can write", template: "loop", req: request(user("U"), rounds(), tool("a", "T")), plan: spliced(),
		want: "<t>user\nU" + open + `R1` + "\n" + `R2</think>mid<call>f {"x": 1.5}</call><call>g {}</call></e>` + "\n<t>tool\nT" + open,
	},
	{
		name: "text beside a call that the template drops", template: "single", req: request(user("U"), answer(text("Look."), call("a", "f", "")), tool("a", "A")), write: true,
		want: "|user|U|end||assistant|Look.<call>f {}</call>|end||tool f a|A|end||assistant|",
	},
	{
		name: "reasoning that a policy keeps and the template has no place for", template: "single", req: request(user("U"), answer(think("R"), text("A")), user("V")), write: true,
		want: "|user|U|end||assistant|<think>R</think>A|end||user|V|end||assistant|",
	},
}

func TestSplice(t *testing.T) {
	t.Parallel()
	for _, c := range spliceCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := &prompt.Input{Request: c.req, Plan: c.plan, Turns: remembered(c.turns), Sum: sum}
			if c.write {
				in.Write = write
			}
			p := render(t, own(t, c.template), in)
			if p.Text != c.want {
				t.Errorf("prompt\n%q\nwant\n%q", p.Text, c.want)
			}
			known := 0
			for _, s := range p.Splices {
				if len(s.IDs) > 0 {
					known++
				}
			}
			if known != c.ids {
				t.Errorf("splices %v", p.Splices)
			}
			for i, turn := range c.turns {
				if strings.Contains(p.Text, turn.Text) && turn.Text != "A" && !strings.Contains(from(p, jinja.FromAssistant, i), turn.Text) {
					t.Errorf("the words of message %d are not its own: %q", i, from(p, jinja.FromAssistant, i))
				}
			}
		})
	}
}

func sum(s string) uint64 { return uint64(len(s))<<8 | 1 }

func TestEnding(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 100)
	goOn := func(m ...conv.Message) *conv.Request {
		return &conv.Request{Messages: m, Prompting: conv.Prompting{Continue: true}}
	}
	for _, c := range []struct {
		name, template             string
		req                        *conv.Request
		plan                       []plan.Op
		end, tail, prefill, before string
		start                      plan.StartState
	}{
		{name: "after a user", template: "loop", req: request(user("U ")), end: "U</e>\n<t>assistant\n<think>", tail: "<t>assistant\n<think>", before: "</e>\n<t>assistant\n<think>"},
		{
			name: "as the plan says", template: "loop", req: request(user("U")), plan: []plan.Op{{Kind: plan.TailOp, Value: "<think>"}, {Kind: plan.StartOp, State: plan.StartReasoning}},
			end: "<think>", tail: "<t>assistant\n<think>", before: "</e>\n<t>assistant\n<think>", start: plan.StartReasoning,
		},
		{
			name: "not as the plan says", template: "loop", req: request(user("U")), plan: []plan.Op{{Kind: plan.TailOp, Value: "<think>\n"}, {Kind: plan.StartOp, State: plan.StartReasoning}},
			end: "<think>", tail: "<t>assistant\n<think>", before: "</e>\n<t>assistant\n<think>",
		},
		{name: "no end token in front", template: "parts", req: request(user("U<|user|>")), end: "<|assistant|>", tail: "<|assistant|>", before: "<|assistant|>"},
		{
			name: "tools behind the last message", template: "single", req: withTools(request(user("U")), conv.ToolDef{Name: "f", Description: "|end|<think>"}),
			end: "}]|end||assistant|", tail: "|assistant|",
			before: "",
		},
		{name: "nothing generated", template: "loop", req: &conv.Request{Messages: []conv.Message{user("U")}, Prompting: conv.Prompting{NoGeneration: true}}, end: "U</e>\n", before: "</e>\n"},
		{name: "continued", template: "loop", req: goOn(user("U"), answer(text("Once upon "))), end: "<t>assistant\n<think></think>Once upon ", tail: "<t>assistant\n<think></think>Once upon ", before: "</e>\n<t>assistant\n<think></think>Once upon "},
		{name: "continued, trimmed by the template", template: "strict", req: goOn(user("U"), answer(text(" Once upon "))), end: "[/U] Once upon", tail: "[/U] Once upon", before: "[/U] Once upon"},
		{name: "continued thinking", template: "loop", req: goOn(user("U"), answer(think("So far"))), end: "<t>assistant\n<think>So far", tail: "<t>assistant\n<think>So far", before: "</e>\n<t>assistant\n<think>So far"},
		{name: "continued behind thinking", template: "loop", req: goOn(user("U"), answer(think("R"), text("A"))), end: "<think>R</think>A", tail: "<t>assistant\n<think>R</think>A", before: "</e>\n<t>assistant\n<think>R</think>A"},
		{name: "a long beginning", template: "loop", req: goOn(user("U"), answer(text(long+"end"))), end: long + "end", tail: "<t>assistant\n<think>", prefill: "</think>" + long + "end", before: "</e>\n<t>assistant\n<think></think>" + long + "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := render(t, own(t, c.template), &prompt.Input{Request: c.req, Plan: c.plan})
			if !strings.HasSuffix(p.Text, c.end) || p.Tail != c.tail || p.Prefill != c.prefill || p.Before != c.before || p.Start != c.start {
				t.Errorf("text %q, tail %q, prefill %q, before %q, start %d", p.Text, p.Tail, p.Prefill, p.Before, p.Start)
			}
			if len(p.Tail) > abi.MaxPromptTail {
				t.Errorf("a tail of %d bytes", len(p.Tail))
			}
		})
	}
}

func TestStopsAndTokens(t *testing.T) {
	t.Parallel()
	p := render(t, own(t, "loop"), &prompt.Input{Request: request(user("U"), answer(text("A")), user("V")), Plan: []plan.Op{
		{Kind: plan.StopOp, Value: "</e>"}, {Kind: plan.StopOp, Value: "</e>"}, {Kind: plan.TokenOp, Value: "<call>"},
	}})
	if !slices.Equal(p.Stops, []string{"</e>"}) || !slices.Equal(p.Preserve, []string{"<call>"}) {
		t.Errorf("stops %q, tokens %q", p.Stops, p.Preserve)
	}
	// A stop of the plan ends turns, too.
	m, err := prompt.New(t.Context(), prompt.Source{Template: read(t, "testdata/loop.jinja")})
	if err != nil {
		t.Fatal(err)
	}
	in := &prompt.Input{
		Request: request(user("U"), answer(text("A")), user("V")), Plan: []plan.Op{{Kind: plan.StopOp, Value: "</e>"}},
		Turns: remembered(map[int]*prompt.Turn{1: {Before: "</e>\n<t>assistant\n<think>", Text: "words"}}),
	}
	if p := render(t, m, in); !strings.Contains(p.Text, "<think>words</e>") || p.Owner != ledger.OwnerTemplate {
		t.Errorf("owner %s, prompt %q", p.Owner, p.Text)
	}
}

// An answer that was continued comes back as one message: the client's part and the model's are replayed behind
// each other, and the client's is not the template's.
func TestContinuedTurnIsReplayed(t *testing.T) {
	t.Parallel()
	m := own(t, "loop")
	first := render(t, m, &prompt.Input{Request: &conv.Request{Messages: []conv.Message{user("U"), answer(text("Once "))}, Prompting: conv.Prompting{Continue: true}}})
	const wrote = "upon  a time"
	p := render(t, m, &prompt.Input{
		Request: request(user("U"), answer(text("Once upon a time")), user("V")),
		Turns:   remembered(map[int]*prompt.Turn{1: {Before: first.Before, Text: wrote}}),
	})
	if !strings.HasPrefix(p.Text, first.Text+wrote+"</e>") {
		t.Errorf("prompt %q begins not with %q", p.Text, first.Text+wrote)
	}
	if got := from(p, jinja.FromAssistant, 1); got != "<think></think>Once "+wrote {
		t.Errorf("of the assistant are %q", got)
	}
}

// Where a policy decides, what it drops is dropped, and what it keeps of an old turn is shown.
func TestPolicyOwns(t *testing.T) {
	t.Parallel()
	m, err := prompt.New(t.Context(), prompt.Source{
		Template:   "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}[{{ m.reasoning_content }}]{% endif %}{{ m.content }}</e>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
		Ends:       []string{"</e>"},
		PolicyOwns: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	drop := []plan.Op{{Kind: plan.PartOp, Message: 1, Action: plan.Drop}}
	turns := remembered(map[int]*prompt.Turn{1: {Before: "</e><assistant>", Text: "[R] A", Reasoning: "R"}})
	sent := request(user("U"), answer(think("R"), text("A")), user("V"))
	silent := request(user("U"), answer(text("A")), user("V"))
	for _, c := range []struct {
		name  string
		req   *conv.Request
		plan  []plan.Op
		turns func(int) *prompt.Turn
		want  string
	}{
		{"kept", sent, nil, nil, "[R]A"},
		{"dropped", sent, drop, nil, "A"},
		{"kept, remembered", sent, nil, turns, "[R] A"},
		{"dropped, remembered", sent, drop, turns, "A"},
		{"not sent", silent, nil, turns, "A"},
		{"recalled", prompt.Recall(silent, turns), nil, turns, "[R] A"},
		{"recalled and dropped", prompt.Recall(silent, turns), drop, turns, "A"},
	} {
		p := render(t, m, &prompt.Input{Request: c.req, Plan: c.plan, Turns: c.turns, Sum: sum})
		if want := "<user>U</e><assistant>" + c.want + "</e><user>V</e><assistant>"; p.Text != want || p.Owner != ledger.OwnerPolicy {
			t.Errorf("%s: owner %s, prompt %q, want %q", c.name, p.Owner, p.Text, want)
		}
		gone := slices.ContainsFunc(p.Parts, func(q ledger.Part) bool {
			return q.Kind == ledger.Reasoning && q.Start == q.End && q.Canonical == sum("R")
		})
		if gone != (len(c.plan) > 0) {
			t.Errorf("%s: parts %+v", c.name, p.Parts)
		}
	}
	if prompt.Recall(sent, turns) != sent {
		t.Error("reasoning that was sent is recalled")
	}
}
