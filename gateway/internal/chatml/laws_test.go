package chatml_test

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/chatml"
)

var dialects = []chatml.Dialect{chatml.Qwen25, chatml.Qwen3, chatml.Qwen35, chatml.Qwen3Coder}

// conversation makes a request from random bytes: roles, parts and texts of all kinds, media aside.
func conversation(rng *rand.Rand, size int) *conv.Request {
	words := []string{"", "a", "\n", " b ", "<think>", "</think>", "<|im_end|>", "é\xff", `{"k": "v"}`, `{"a":[1,{"b":null}],"c":"x\ny"}`, "[1,", "<tool_response>", strings.Repeat("w", 300)}
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

func TestSameRequestSameBytes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		for _, d := range dialects {
			a := render(t, conversation(rand.New(rand.NewPCG(seed, 0)), 12), d, policies[d])
			b := render(t, conversation(rand.New(rand.NewPCG(seed, 0)), 12), d, policies[d])
			if a.Text != b.Text {
				t.Fatalf("seed %d, %s: two prompts of one request differ", seed, d)
			}
		}
	}
}

// Within a tool loop each prompt, the header it ends with aside, begins the next one: no later turn
// rewrites an earlier one.
func TestToolLoopOnlyAppends(t *testing.T) {
	t.Parallel()
	steps := []conv.Message{
		answer(think("Look first."), text("Looking."), stockCall, newsCall),
		msg(conv.Tool, result("b", text("B")), result("a", text("A"))),
		system("# Environment update"),
		answer(think("R1"), call("c", "f", "{}"), think("R2"), call("d", "g", `{"x":1}`), text("note")),
		tool("d", ""),
		msg(conv.User, result("c", text("C")), text("<system-reminder>\nmind the gap\n</system-reminder>")),
		answer(stockCall),
		msg(conv.Tool, result("a", reference("later"))),
		answer(think("R3"), text("Done.")),
	}
	for _, d := range dialects {
		for _, config := range []string{policies[d], `{"policy":"keep_all"}`, `{"policy":"drop_all"}`} {
			req := request(system("Be brief."), user("Old"), answer(think("gone"), text("Yes.")), user("Ask"))
			req.Tools = []conv.ToolDef{stock, {Name: "later", Deferred: true}}
			before := ""
			for i, step := range steps {
				if step.Role == conv.Assistant {
					p := render(t, req, d, config)
					now := strings.TrimSuffix(p.Text, p.Tail)
					if !strings.HasPrefix(now, strings.TrimSuffix(before, assistant)) {
						t.Fatalf("%s, %s: step %d rewrites the prompt:\n%s\nwas\n%s", d, config, i, now, before)
					}
					before = now
				}
				req.Messages = append(req.Messages, step)
			}
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
	}
	for name, parts := range turns {
		for _, d := range []chatml.Dialect{chatml.Qwen3, chatml.Qwen35} {
			req := request(user("Ask"))
			p := render(t, req, d, policies[d])
			var blocks []chatml.Block
			for _, q := range parts {
				switch q.Kind {
				case conv.Reasoning:
					blocks = append(blocks, chatml.Block{Kind: chatml.BlockReasoning, Text: q.Text})
				case conv.Text:
					blocks = append(blocks, chatml.Block{Kind: chatml.BlockText, Text: q.Text})
				case conv.Call:
					blocks = append(blocks, chatml.Block{Kind: chatml.BlockCall, Name: q.Call.Name, Arguments: q.Call.Arguments})
				}
			}
			engine := p.Text + string(chatml.RenderTurn(string(d), blocks)) + "<|im_end|>\n"
			req.Messages = append(req.Messages, answer(parts...), tool("a", "12"))
			if next := render(t, req, d, policies[d]).Text; !strings.HasPrefix(next, engine) {
				t.Errorf("%s, %s: the next prompt %q\ndoes not begin with %q", name, d, next, engine)
			}
		}
	}
}

func TestRenderTurn(t *testing.T) {
	t.Parallel()
	r, x, c := chatml.Block{Kind: chatml.BlockReasoning, Text: "R"}, chatml.Block{Kind: chatml.BlockText, Text: "T"}, chatml.Block{Kind: chatml.BlockCall, Name: "f"}
	const hermes, xml = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", "<tool_call>\n<function=f>\n</function>\n</tool_call>"
	for _, k := range []struct {
		name, dialect, tail string
		blocks              []chatml.Block
		want                string
	}{
		{"model opens", "qwen3", "", []chatml.Block{r, x, c, c}, "<think>\nR\n</think>\n\nT\n" + hermes + "\n" + hermes},
		{"prompt opened", "qwen3.5", "<think>\n", []chatml.Block{r, x, c}, "R\n</think>\n\nT\n\n" + xml},
		{"prompt opened, no reasoning", "qwen3.5", "<think>\n", []chatml.Block{x}, "\n</think>\n\nT"},
		{"thinking off", "qwen3.5", "<think>\n\n</think>\n\n", []chatml.Block{c}, xml},
		{"rounds", "qwen3.5", "<think>\n", []chatml.Block{r, c, r, c}, "R\n</think>\n\n" + xml + "\n<think>\nR\n</think>\n\n" + xml},
		{"no thinking", "qwen2.5", "", []chatml.Block{r, x, c}, "T\n" + hermes},
		{"two reasonings", "qwen3", "", []chatml.Block{r, r}, "<think>\nR\n</think>\n\n<think>\nR\n</think>\n\n"},
		{"text after a call", "qwen3_coder", "", []chatml.Block{c, x}, xml + "T"},
		{"unknown dialect", "other", "", []chatml.Block{x, c}, "T\n" + hermes},
		{"nothing", "qwen3", "", nil, ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			if got := string(chatml.RenderTurnAfter(k.dialect, k.tail, k.blocks)); got != k.want {
				t.Errorf("turn %q\nwant %q", got, k.want)
			}
		})
	}
	if got, want := string(chatml.RenderTurn("qwen3.5", []chatml.Block{x})), "T"; got != want {
		t.Errorf("a turn without reasoning, thinking off: %q, want %q", got, want)
	}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	req := request(system("s"), user("x"), answer(conv.Part{Kind: conv.Reasoning, Seal: "z"}, stockCall),
		msg(conv.Tool, conv.Part{Kind: conv.Result, Result: &conv.ToolResult{CallID: "a", IsError: true, Parts: []conv.Part{text("12")}}}),
		user("<system-reminder>x</system-reminder>"))
	req.Tools = []conv.ToolDef{stock}
	req.Thinking = conv.Thinking{Mode: conv.ThinkingAdaptive, Effort: "high"}
	req.TemplateArgs = []byte(`{"b": 1, "a": 2}`)
	b, err := chatml.Outline(req, false)
	if err != nil {
		t.Fatal(err)
	}
	o, err := plan.ParseOutline(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(o.Switches), `{"thinking":"adaptive","effort":"high","kwargs":{"b": 1, "a": 2},"default":"off","tools":1}`; got != want {
		t.Errorf("switches %s, want %s", got, want)
	}
	want := []plan.Row{
		{Message: 0, Kind: uint8(conv.Text), Role: uint8(conv.System), Length: 1},
		{Message: 1, Kind: uint8(conv.Text), Role: uint8(conv.User), Length: 1, Flags: plan.RowLastUser},
		{Message: 2, Kind: uint8(conv.Reasoning), Role: uint8(conv.Assistant), Flags: plan.RowSealed | plan.RowEmpty},
		{Message: 2, Part: 1, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Length: 26, Name: "get_stock"},
		{Message: 3, Kind: uint8(conv.Result), Role: uint8(conv.Tool), Length: 2, Name: "a", Flags: plan.RowError},
		{Message: 4, Kind: uint8(conv.Text), Role: uint8(conv.User), Length: 36},
	}
	if len(o.Rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(o.Rows), len(want))
	}
	for i := range want {
		if o.Rows[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, o.Rows[i], want[i])
		}
	}
	for _, args := range []string{`[]`, `{"a"`, `3`} {
		if _, err := chatml.Outline(&conv.Request{TemplateArgs: []byte(args)}, true); err == nil {
			t.Errorf("template arguments %s are accepted", args)
		}
	}
	many := request(conv.Message{Role: conv.User, Parts: make([]conv.Part, plan.MaxRows)})
	if _, err := chatml.Outline(many, true); err == nil {
		t.Error("an outline of too many parts is made")
	}
}

func FuzzRender(f *testing.F) {
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
		for _, d := range dialects {
			p, err := chatml.Render(req, hostile, plain(d))
			if err != nil {
				continue
			}
			if len(p.Tail) > abi.MaxPromptTail || !strings.HasSuffix(p.Text, assistant+p.Tail) {
				t.Fatalf("%s: tail %q does not end the prompt", d, p.Tail)
			}
			if again, err := chatml.Render(req, hostile, plain(d)); err != nil || again.Text != p.Text {
				t.Fatalf("%s: a second rendering differs", d)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	req := request(system(strings.Repeat("Follow the rules of the house. ", 300)))
	req.Tools = []conv.ToolDef{}
	for range 20 {
		req.Tools = append(req.Tools, stock)
	}
	args := `{"path": "/srv/app/main.go", "old": "` + strings.Repeat(`x := 1\n`, 60) + `"}`
	for range 60 {
		req.Messages = append(req.Messages, user("Go on."), answer(think(strings.Repeat("so it is ", 50)), text("Next."), call("a", "edit", args)), tool("a", strings.Repeat("output line\n", 160)))
	}
	for _, d := range dialects {
		b.Run(string(d), func(b *testing.B) {
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				p, err := chatml.Render(req, nil, plain(d))
				if err != nil {
					b.Fatal(err)
				}
				n = len(p.Text)
			}
			b.SetBytes(int64(n))
			b.ReportMetric(float64(n), "bytes")
		})
	}
	b.Run("outline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := chatml.Outline(req, true); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkShort is what the first request of a conversation costs: one tool, one plan.
func BenchmarkShort(b *testing.B) {
	req := request(system(strings.Repeat("Follow the rules of the house. ", 5)), user(strings.Repeat("What is it worth? ", 6)))
	req.Tools = []conv.ToolDef{stock}
	for _, d := range dialects {
		ops := planFor(b, req, policies[d])
		b.Run(string(d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chatml.Render(req, ops, plain(d)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("outline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := chatml.Outline(req, true); err != nil {
				b.Fatal(err)
			}
		}
	})
}
