package family_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/wire"
)

// conversation makes a request from random bytes: roles, parts and texts of all kinds, media aside.
func conversation(rng *rand.Rand, size int) *conv.Request {
	words := []string{
		"", "a", "\n", " b ", "<think>", "</think>", "<|im_end|>", "é\xff", `{"k": "v"}`, `{"a":[1,{"b":null}],"c":"x\ny"}`, "[1,", "<tool_response>",
		"<system-reminder>\nr\n</system-reminder>", strings.Repeat("w", 300),
	}
	word := func() string { return words[rng.IntN(len(words))] }
	req := &conv.Request{}
	for range rng.IntN(4) {
		req.Tools = append(req.Tools, conv.ToolDef{Name: word(), Description: word(), Namespace: word(), Schema: []byte(word()), Deferred: rng.IntN(3) == 0, Kind: conv.ToolKind(rng.IntN(2))})
	}
	for range rng.IntN(size) {
		m := conv.Message{Role: conv.Role(1 + rng.IntN(5))}
		for range rng.IntN(4) {
			var p conv.Part
			switch k := rng.IntN(8); {
			case m.Role == conv.Assistant && k < 3:
				p = call(word(), word(), word())
				p.Call.Kind = conv.ToolKind(rng.IntN(2))
			case m.Role == conv.Assistant && k < 5:
				p = think(word())
			case (m.Role == conv.User || m.Role == conv.Tool) && k < 3:
				p = result(word(), text(word()), reference(word()))
			case k == 5:
				p = reference(word())
			default:
				p = text(word())
			}
			m.Parts = append(m.Parts, p)
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

// The same request gives the same bytes, and no part of it is lost.
func TestSameRequestSameBytes(t *testing.T) {
	t.Parallel()
	kins := all(t)
	for seed := range uint64(200) {
		for name, k := range kins {
			a := k.render(t, conversation(rand.New(rand.NewPCG(seed, 0)), 12), "")
			b := k.render(t, conversation(rand.New(rand.NewPCG(seed, 0)), 12), "")
			if a.Text != b.Text {
				t.Fatalf("seed %d, %s: two prompts of one request differ", seed, name)
			}
			for _, s := range a.Missing {
				if strings.Contains(s, "does not show") {
					t.Errorf("seed %d, %s: %s", seed, name, s)
				}
			}
		}
	}
}

// Within a tool loop each prompt, the header it ends with aside, begins the next one: no later turn
// rewrites an earlier one.
func TestToolLoopOnlyAppends(t *testing.T) {
	t.Parallel()
	const reminder = "<system-reminder>\nmind the gap\n</system-reminder>"
	steps := []conv.Message{
		answer(think("Look first."), text("Looking."), stockCall, newsCall),
		msg(conv.Tool, result("b", text("B")), result("a", text("A"))),
		system("# Environment update"),
		answer(think("R1"), call("c", "f", "{}"), think("R2"), call("d", "g", `{"x":1}`), text("note")),
		tool("d", ""),
		msg(conv.User, result("c", text("C")), text(reminder)),
		answer(stockCall),
		msg(conv.Tool, result("a", reference("later"))),
		answer(stockCall, text("A call without a thought.")),
		msg(conv.User, result("a", text("A")), text(reminder), text(reminder+"\n"+reminder)),
		answer(text("Text alone.")),
		user(reminder),
		answer(newsCall),
		user("<tool_response>\nB\n</tool_response>"),
		answer(think("R3"), text("Done.")),
	}
	for name, k := range all(t) {
		for _, policy := range []string{"", "keep_all", "drop_all"} {
			req := request(system("Be brief."), user("Old"), answer(think("gone"), text("Yes.")), user("Ask"))
			req.Tools = []conv.ToolDef{stock, {Name: "later", Deferred: true}}
			before := ""
			for i, step := range steps {
				if step.Role == conv.Assistant {
					p := k.render(t, req, policy)
					now := strings.TrimSuffix(p.Text, p.Tail)
					if !strings.HasPrefix(now, before) {
						t.Fatalf("%s, %s: step %d rewrites the prompt:\n%s\nwas\n%s", name, policy, i, now, before)
					}
					before = now
				}
				req.Messages = append(req.Messages, step)
			}
		}
	}
}

// A question ends the loop, even between reminders.
func TestQuestionEndsLoop(t *testing.T) {
	t.Parallel()
	const reminder = "<system-reminder>r</system-reminder>"
	k := open(t, qwen35)
	for name, said := range map[string]conv.Message{
		"alone":               user("Ask"),
		"behind a reminder":   msg(conv.User, text(reminder), text("Ask")),
		"before a reminder":   msg(conv.User, text("Ask"), text(reminder)),
		"between reminders":   msg(conv.User, text(reminder), text("Ask"), text(reminder)),
		"an unclosed tag":     user("<system-reminder>Ask"),
		"half a response tag": user("<tool_response>Ask"),
	} {
		p := k.render(t, request(user("Old"), answer(text("Yes.")), said), "")
		if !strings.Contains(p.Text, assistant+"Yes.<|im_end|>") {
			t.Errorf("%s: the old turn keeps its block: %q", name, p.Text)
		}
	}
}

// What a model wrote after a prompt and what the next prompt replays are the same bytes, so that the
// engine's prefix cache holds the whole turn.
func TestReplayIsWhatTheModelWrote(t *testing.T) {
	t.Parallel()
	turns := map[string][]conv.Part{
		"think, text, calls": {think("R"), text("Look."), stockCall, newsCall},
		"rounds":             {think("R1"), stockCall, think("R2"), newsCall, text("\nSo.")},
		"think and text":     {think("R\n\nmore"), text("Done.")},
		"text, think, call":  {think("R"), text("A."), think("S"), stockCall},
		"a call at once":     {stockCall},
		"text at once":       {text("Done.")},
		"call, text":         {stockCall, text("\nDone.")},
	}
	kins := all(t)
	for name, parts := range turns {
		for _, family := range []string{qwen3, qwen35} {
			k, req := kins[family], request(user("Ask"))
			p := k.render(t, req, "")
			turn, err := k.style.Append(nil, p.Tail, blocks(parts))
			if err != nil {
				t.Fatal(err)
			}
			engine := p.Text + string(turn) + "<|im_end|>\n"
			req.Messages = append(req.Messages, answer(parts...), tool("a", "12"))
			if next := k.render(t, req, "").Text; !strings.HasPrefix(next, engine) {
				t.Errorf("%s, %s: the next prompt %q\ndoes not begin with %q", name, family, next, engine)
			}
		}
	}
}

// A prompt and what the model wrote behind it begin the prompt of the next turn, over random conversations:
// where the turn is remembered whatever it was, else where it was written as the family writes. A question
// takes the reasoning of older turns out, if the policy is to; that turn aside the law holds for it, too.
func TestPromptsGrow(t *testing.T) {
	t.Parallel()
	kins := all(t)
	checked, spliced := 0, 0
	for seed := range uint64(80) {
		for _, k := range kins {
			for _, policy := range []string{"", "keep_all"} {
				g := newGrowth(k, policy, rand.New(rand.NewPCG(seed, 2)))
				for range 8 {
					g.turn(t, fmt.Sprintf("seed %d, %s, policy %q", seed, k.name, policy))
				}
				checked, spliced = checked+g.checked, spliced+g.spliced
			}
		}
	}
	t.Logf("%d turns, %d of them remembered", checked, spliced)
	if checked < 3500 || spliced < 2000 {
		t.Errorf("only %d turns were compared, %d of them remembered", checked, spliced)
	}
}

// growth is a conversation that grows.
type growth struct {
	*kin
	policy           string
	rng              *rand.Rand
	req              *conv.Request
	thinks           bool
	memory           map[int]*prompt.Turn
	checked, spliced int
	ids              int
}

func newGrowth(k *kin, policy string, rng *rand.Rand) *growth {
	g := &growth{kin: k, policy: policy, rng: rng, req: request(), memory: map[int]*prompt.Turn{}}
	if rng.IntN(2) == 0 {
		g.req.Messages = append(g.req.Messages, system("Be brief.\n"))
	}
	if rng.IntN(2) == 0 {
		g.req.Tools = []conv.ToolDef{stock, {Name: "later", Deferred: true}}
	}
	if g.thinks = k.name == qwen3 || k.name == qwen35; g.thinks && rng.IntN(4) == 0 {
		g.thinks, g.req.Thinking.Mode = false, conv.ThinkingOff
	}
	g.req.Messages = append(g.req.Messages, user("Ask"))
	return g
}

func (g *growth) prompt(tb testing.TB) *prompt.Prompt {
	tb.Helper()
	in := g.input(tb, g.req, g.policy)
	in.Turns = func(i int) *prompt.Turn { return g.memory[i] }
	return g.make(tb, in)
}

// turn is one turn of the model's and what is said to it, with the prompts before and after.
func (g *growth) turn(t *testing.T, where string) {
	t.Helper()
	before := g.prompt(t)
	parts := g.parts()
	wrote := string(g.style.Write(nil, before.Tail, blocks(parts)))
	// Qwen3 shows no empty block where thinking was off, and Qwen3.5 none in old turns: memory alone does.
	empty := g.name == qwen3 && g.req.Thinking.Mode == conv.ThinkingOff || g.name == qwen35 && g.policy != "" && parts[0].Kind != conv.Reasoning
	kept := empty || g.rng.IntN(2) == 0
	if kept {
		if g.rng.IntN(2) == 0 {
			wrote = "\n any THING\u00a0{\"b\":1.50}</think> " + wrote + " \n"
		}
		g.memory[len(g.req.Messages)] = &prompt.Turn{Before: before.Before, Text: wrote, IDs: []uint32{1, 2}}
	}
	g.req.Messages = append(g.req.Messages, answer(parts...))
	asks := g.says(parts)
	if asks && g.policy == "" && g.name != qwen25 && g.name != qwen3Coder {
		return
	}
	g.checked++
	after := g.prompt(t)
	if want := before.Text + wrote + "<|im_end|>\n"; !strings.HasPrefix(after.Text, want) {
		t.Fatalf("%s: the prompt\n%q\ndoes not begin with what was there\n%q", where, after.Text, want)
	}
	if !kept {
		return
	}
	g.spliced++
	last := after.Splices[len(after.Splices)-1]
	if after.Text[last.From:last.To] != wrote || last.From != len(before.Text) {
		t.Fatalf("%s: the last splice is %q at %d, the turn %q at %d", where, after.Text[last.From:last.To], last.From, wrote, len(before.Text))
	}
}

// parts are those of a turn: rounds of reasoning, text and calls. Their texts are such that a template changes
// nothing of them: there is no white space at their edges, and arguments are spaced as Python does it.
func (g *growth) parts() []conv.Part {
	word := func() string {
		return []string{"So.", "a\n\nb", "é <b> \"q\"", "x <|im_start|> y", `{"k":1}`}[g.rng.IntN(5)]
	}
	var out []conv.Part
	for range 1 + g.rng.IntN(3) {
		if g.thinks && g.rng.IntN(3) > 0 {
			out = append(out, think(word()))
		}
		calls := g.rng.IntN(3)
		if calls == 0 || g.rng.IntN(2) == 0 {
			out = append(out, text(word()))
		}
		for range calls {
			g.ids++
			args := []string{"{}", `{"sym": "A\nB", "days": 3}`, `{"o": {"k": [1, null, true]}, "s": ""}`}[g.rng.IntN(3)]
			out = append(out, call(fmt.Sprint("id", g.ids), "get_stock", args))
		}
	}
	return out
}

// says adds what follows a turn: results in any order, what clients put beside them, or a question. It reports
// a question.
func (g *growth) says(parts []conv.Part) bool {
	const reminder = "<system-reminder>\nr\n</system-reminder>"
	var results []conv.Part
	for _, p := range parts {
		if p.Kind == conv.Call {
			body := []conv.Part{text([]string{"", "R", " r\n"}[g.rng.IntN(3)]), reference([]string{"later", "none"}[g.rng.IntN(2)])}
			results = append(results, result(p.Call.ID, body[g.rng.IntN(2):]...))
		}
	}
	g.rng.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	add := func(m conv.Message) { g.req.Messages = append(g.req.Messages, m) }
	switch {
	case len(results) > 0 && g.rng.IntN(2) == 0:
		for _, r := range results {
			add(msg(conv.Tool, r))
		}
	case len(results) > 0:
		add(msg(conv.User, append(results, text(reminder))...))
	}
	switch k := g.rng.IntN(6); {
	case k == 0:
		add(system("# Update"))
	case k == 1:
		add(msg(conv.Developer, text("More"), text("of it")))
	case k == 2:
		add(user(reminder))
	case k == 3 || len(results) == 0:
		add(msg(conv.User, text("And then?"), text(reminder)))
		return true
	}
	return false
}

func TestFormats(t *testing.T) {
	t.Parallel()
	kins := all(t)
	r, x, c := wire.Block{Kind: wire.Reasoning, Text: "R"}, wire.Block{Kind: wire.Text, Text: "T"}, wire.Block{Kind: wire.Call, Name: "f"}
	const hermes, xml = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", "<tool_call>\n<function=f>\n</function>\n</tool_call>"
	for _, k := range []struct {
		name   string
		family string
		tail   string
		blocks []wire.Block
		want   string
	}{
		{"model opens", qwen3, "", []wire.Block{r, x, c, c}, "<think>\nR\n</think>\n\nT\n" + hermes + "\n" + hermes},
		{"prompt opened", qwen35, "<think>\n", []wire.Block{r, x, c}, "R\n</think>\n\nT\n\n" + xml},
		{"prompt opened, no reasoning", qwen35, "<think>\n", []wire.Block{x}, "\n</think>\n\nT"},
		{"thinking off", qwen35, "<think>\n\n</think>\n\n", []wire.Block{c}, xml},
		{"rounds", qwen35, "<think>\n", []wire.Block{r, c, r, c}, "R\n</think>\n\n" + xml + "\n<think>\nR\n</think>\n\n" + xml},
		{"no thinking", qwen25, "", []wire.Block{r, x, c}, "T\n" + hermes},
		{"two reasonings", qwen3, "", []wire.Block{r, r}, "<think>\nR\n</think>\n\n<think>\nR\n</think>\n\n"},
		{"text after a call", qwen3Coder, "", []wire.Block{c, x}, xml + "T"},
		{"nothing", qwen3, "", nil, ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			if got := string(kins[k.family].style.Write(nil, k.tail, k.blocks)); got != k.want {
				t.Errorf("turn %q\nwant %q", got, k.want)
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	kins := all(f)
	f.Add([]byte("seed"), uint64(1))
	f.Fuzz(func(t *testing.T, ops []byte, seed uint64) {
		req := conversation(rand.New(rand.NewPCG(seed, 1)), 12)
		hostile, err := plan.Parse(ops)
		if err != nil {
			hostile = nil
			for i := 0; i+4 <= len(ops); i += 4 {
				hostile = append(hostile, plan.Op{Kind: plan.PartOp, Message: uint32(ops[i]), Part: uint16(ops[i+1]), Action: plan.PartAction(binary.LittleEndian.Uint16(ops[i+2:]) % 3)})
			}
		}
		for name, k := range kins {
			in := &prompt.Input{Request: req, Plan: hostile, Write: k.write}
			p, err := k.model.Render(t.Context(), in)
			if err != nil {
				continue
			}
			if len(p.Tail) > abi.MaxPromptTail || !strings.HasPrefix(p.Tail, assistant) || !strings.HasSuffix(p.Text, p.Tail) {
				t.Fatalf("%s: tail %q does not end the prompt", name, p.Tail)
			}
			if again := k.make(t, in); again.Text != p.Text {
				t.Fatalf("%s: a second rendering differs", name)
			}
		}
	})
}
