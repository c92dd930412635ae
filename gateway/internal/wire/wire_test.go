package wire_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/plugins/parser"
)

const ns = "]<]minimax[>["

// Formats whose parsers or templates are not at hand, each with one turn that has everything.
func TestFormats(t *testing.T) {
	t.Parallel()
	r, x := wire.Block{Kind: wire.Reasoning, Text: "R"}, wire.Block{Kind: wire.Text, Text: "T"}
	f := wire.Block{Kind: wire.Call, Name: "f", Arguments: `{"a":"x\n","n":1.50}`}
	g := wire.Block{Kind: wire.Call, Name: "g", Arguments: `{"o":{"b":[1,"y"],"c":true}}`}
	none := wire.Block{Kind: wire.Call, Name: "g"}
	all := []wire.Block{r, x, f, g}
	for _, k := range []struct {
		reasoning, tools, tail string
		blocks                 []wire.Block
		want                   string
	}{
		{"seed_oss", "seed_oss", "", all, "<seed:think>R</seed:think>\nT\n\n<seed:tool_call>\n<function=f>\n<parameter=a>x\n</parameter>\n<parameter=n>1.50</parameter>\n</function>\n</seed:tool_call>\n" +
			"<seed:tool_call>\n<function=g>\n<parameter=o>{\"b\":[1,\"y\"],\"c\":true}</parameter>\n</function>\n</seed:tool_call>"},
		{"kimi", "", "", []wire.Block{r, x}, "◁think▷R◁/think▷T"},
		{"", "longcat", "", []wire.Block{x, none}, "T\n<longcat_tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</longcat_tool_call>"},
		{"", "jamba", "", []wire.Block{x, f, none}, "T\n<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\":\"x\\n\",\"n\":1.50}}, {\"name\": \"g\", \"arguments\": {}}]</tool_calls>"},
		{"minimax_m3", "minimax_m3", "", all, "<mm:think>R</mm:think>T" + ns + "<tool_call>\n" + ns + "<invoke name=\"f\">" + ns + "<a>x\n" + ns + "</a>" + ns + "<n>1.50" + ns + "</n>" + ns + "</invoke>\n" +
			ns + "<invoke name=\"g\">" + ns + "<o>" + ns + "<b>" + ns + "<item>1" + ns + "</item>" + ns + "<item>y" + ns + "</item>" + ns + "</b>" + ns + "<c>true" + ns + "</c>" + ns + "</o>" + ns + "</invoke>\n" + ns + "</tool_call>"},
		{"minimax_m3", "minimax_m3", "", []wire.Block{x}, "</mm:think>T"},
		{"kimi_k3", "kimi_k3", "<|open|>think<|sep|>", all, "R<|close|>think<|sep|><|open|>response<|sep|>T<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>" +
			"<|open|>argument key=\"a\" type=\"string\"<|sep|>x\n<|close|>argument<|sep|><|open|>argument key=\"n\" type=\"number\"<|sep|>1.50<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool=\"g\" index=\"2\"<|sep|>" +
			"<|open|>argument key=\"o\" type=\"object\"<|sep|>{\"b\":[1,\"y\"],\"c\":true}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"},
		{"kimi_k3", "kimi_k3", "<|open|>response<|sep|>", []wire.Block{none}, "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"g\" index=\"1\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"},
		{"inkling", "inkling", "<|message_model|>", all, "<|content_thinking|>R<|end_message|><|message_model|><|content_text|>T<|end_message|><|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{\"a\":\"x\\n\",\"n\":1.50}}" +
			"<|end_message|><|message_model|>g<|content_invoke_tool_json|>{\"name\":\"g\",\"args\":{\"o\":{\"b\":[1,\"y\"],\"c\":true}}}<|end_message|>"},
		{"openai_gptoss", "openai", "<|start|>assistant", []wire.Block{r, x, f}, "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>commentary<|message|>T<|end|><|start|>assistant" +
			"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":\"x\\n\",\"n\":1.50}"},
		{"openai_gptoss", "openai", "<|start|>assistant", []wire.Block{r, x}, "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>T"},
		{"apertus", "apertus", "", all, "<|inner_prefix|>R<|inner_suffix|>T<|tools_prefix|>[{\"f\": {\"a\":\"x\\n\",\"n\":1.50}}, {\"g\": {\"o\":{\"b\":[1,\"y\"],\"c\":true}}}]<|tools_suffix|>"},
		{"olmo3", "olmo3", "", []wire.Block{x, f, g}, "T\n<function_calls>\nf(a=\"x\\n\", n=1.50)\ng(o={\"b\":[1,\"y\"],\"c\":true})\n</function_calls>"},
		{"", "pythonic", "", []wire.Block{f, g}, "[f(a=\"x\\n\", n=1.50), g(o={\"b\": [1, \"y\"], \"c\": True})]"},
		{"minicpm5", "minicpm5", "<think>\n", []wire.Block{r, x, f, none}, "R\n</think>\n\nT\n<function name=\"f\"><param name=\"a\">x\n</param><param name=\"n\">1.50</param></function>\n<function name=\"g\"></function>"},
		{"", "gigachat3", "", []wire.Block{x, none}, "T<|function_call|>{\"name\": \"g\", \"arguments\": {}}"},
		{"", "gigachat35", "", []wire.Block{f}, "<｜GCML｜tool_calls><｜GCML｜invoke name=\"f\"><｜GCML｜parameter name=\"a\" string=\"true\">x\n</｜GCML｜parameter><｜GCML｜parameter name=\"n\" string=\"false\">1.50</｜GCML｜parameter></｜GCML｜invoke></｜GCML｜tool_calls>"},
		{"step3", "step3", "", []wire.Block{r, none}, "<think>\nR\n</think>\n<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"g\"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"},
		{"qwen3", "dots", "", []wire.Block{x, f}, "T\n<dots_function_call>\n<invoke name=\"f\">\n<parameter name=\"a\">x\n</parameter>\n<parameter name=\"n\">1.50</parameter>\n</invoke>\n</dots_function_call>"},
		{"", "solar_open2", "", []wire.Block{f}, "<|tool_call:start|>f\n<|tool_arg:start|>a<|tool_arg:value|>x\n<|tool_arg:end|>\n<|tool_arg:start|>n<|tool_arg:value|>1.50<|tool_arg:end|>\n<|tool_call:end|>"},
		{"deepseek_v41", "deepseek_v41", "</think>", []wire.Block{x, f}, "T\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x\n</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"n\" string=\"false\">1.50</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"},
		{"deepseek_v4", "deepseek_v4", "</think>", []wire.Block{none}, "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"g\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"},
		{"", "k2_horizon", "", []wire.Block{f}, "<ifm|tool_calls><ifm|tool_call>f<ifm|arg_key>a</ifm|arg_key><ifm|arg_value>x\n</ifm|arg_value><ifm|arg_key>n</ifm|arg_key><ifm|arg_value>1.50</ifm|arg_value></ifm|tool_call></ifm|tool_calls>"},
		{"ernie45", "ernie45", "", []wire.Block{x}, "\n</think>\n\nT"},
	} {
		t.Run(k.reasoning+"+"+k.tools, func(t *testing.T) {
			t.Parallel()
			got, err := mustFor(t, k.reasoning, k.tools).Append(nil, k.tail, k.blocks)
			if err != nil || string(got) != k.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, got, k.want)
			}
		})
	}
}

// What a format cannot say is told, and nothing is written.
func TestCannot(t *testing.T) {
	t.Parallel()
	text := func(s string) wire.Block { return wire.Block{Kind: wire.Text, Text: s} }
	think := func(s string) wire.Block { return wire.Block{Kind: wire.Reasoning, Text: s} }
	call := func(args string) wire.Block { return wire.Block{Kind: wire.Call, Name: "f", Arguments: args} }
	for _, k := range []struct {
		name, reasoning, tools string
		blocks                 []wire.Block
		says                   string
	}{
		{"no stage for reasoning", "", "hermes", []wire.Block{think("R")}, "block 0: reasoning"},
		{"no stage for calls", "qwen3", "", []wire.Block{think("R"), call("")}, "block 1: a call"},
		{"no kind", "qwen3", "hermes", []wire.Block{{}}, "kind 0"},
		{"two texts", "qwen3", "hermes", []wire.Block{text("a"), text("b")}, "block 1: text directly after text"},
		{"two texts around nothing", "qwen3", "hermes", []wire.Block{text("a"), think(""), text("b")}, "block 2: text directly after text"},
		{"a closer in reasoning", "qwen3", "hermes", []wire.Block{think("a</think>b")}, "</think>"},
		{"an opener in text", "qwen3", "hermes", []wire.Block{text("a<tool_call>b")}, "<tool_call>"},
		{"a weak opener in text", "qwen3", "qwen3_coder", []wire.Block{text("a\n<function=f>")}, "<function="},
		{"a bracket is no marker", "", "jamba", []wire.Block{text("a <tool_calls> [")}, "<tool_calls>"},
		{"not UTF-8", "qwen3", "hermes", []wire.Block{text("a\xff")}, "UTF-8"},
		{"an array", "", "hermes", []wire.Block{call("[1]")}, "not an object"},
		{"not JSON", "", "qwen3_coder", []wire.Block{call(`{"a":`)}, "not an object"},
		{"a string", "", "qwen3_coder", []wire.Block{call(`"a"`)}, "not an object"},
		{"no name", "", "hermes", []wire.Block{{Kind: wire.Call}}, "name of 0 bytes"},
		{"a long name", "", "hermes", []wire.Block{{Kind: wire.Call, Name: strings.Repeat("x", 600)}}, "600 bytes"},
		{"a name with a bracket", "", "qwen3_coder", []wire.Block{{Kind: wire.Call, Name: "f>g"}}, "f>g"},
		{"a key twice", "", "qwen3_coder", []wire.Block{call(`{"a":1,"\u0061":2}`)}, `"a" comes twice`},
		{"a closer in a value", "", "qwen3_coder", []wire.Block{call(`{"a":"x\n</parameter>\ny"}`)}, "</parameter>"},
		{"a closer in an object", "", "qwen3_coder", []wire.Block{call(`{"a":{"b":"</function>"}}`)}, "</function>"},
		{"a closer in custom input", "", "seed_oss", []wire.Block{{Kind: wire.Call, Name: "f", Arguments: "</seed:tool_call>", Custom: true}}, "</seed:tool_call>"},
		{"between quotes", "mistral", "", []wire.Block{think(`a"`), text(`"b`)}, "between two quotes"},
		{"in a code span", "", "step3p5", []wire.Block{text("a ` b"), call("")}, "code span"},
		{"a second call", "openai_gptoss", "openai", []wire.Block{call(""), call("")}, "call 2 of a turn that takes 1"},
		{"text after the last", "deepseek_v4", "deepseek_v4", []wire.Block{call(""), text("x")}, "after calls"},
		{"text beside calls", "", "xlam", []wire.Block{text("x"), call("")}, "text beside calls"},
		{"text like a call", "", "llama3_json", []wire.Block{text(` {"a"`)}, "begins like a call"},
		{"text like a list of calls", "", "pythonic", []wire.Block{text("[f(a=1)]")}, "begins like a call"},
		{"null in nested tags", "", "minimax_m3", []wire.Block{call(`{"a":{"b":null}}`)}, "null"},
		{"the token in nested tags", "", "minimax_m3", []wire.Block{call(`{"a":["` + ns + `"]}`)}, ns},
		{"the quote in a string", "", "gemma4", []wire.Block{call(`{"a":["<|\"|>"]}`)}, `holds "<|\"|>"`},
		{"a key that is no word", "", "lfm2", []wire.Block{call(`{"a b":1}`)}, "a b"},
		{"a function that is no word", "", "pythonic", []wire.Block{{Kind: wire.Call, Name: "f-g"}}, "f-g"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			got, err := mustFor(t, k.reasoning, k.tools).Append([]byte("kept"), "", k.blocks)
			if !errors.Is(err, wire.ErrCannot) || !strings.Contains(err.Error(), k.says) || string(got) != "kept" {
				t.Errorf("%q, %v; want an error with %q", got, err, k.says)
			}
		})
	}
}

// A turn that the format cannot say is written all the same where it must be.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, tools, args, want string }{
		{"cut JSON", "hermes", `{"a":`, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":}\n</tool_call>"},
		{"cut JSON in tags", "qwen3_coder", `{"a":1,"b":`, "<tool_call>\n<function=f>\n<parameter=arguments>\n{\"a\":1,\"b\":\n</parameter>\n</function>\n</tool_call>"},
		{"cut JSON in nested tags", "minimax_m3", `{"a":{"b":1`, ns + "<tool_call>\n" + ns + "<invoke name=\"f\">" + ns + "<arguments>{\"a\":{\"b\":1" + ns + "</arguments>" + ns + "</invoke>\n" + ns + "</tool_call>"},
		{"an array in Python", "pythonic", `[1]`, `[f(arguments="[1]")]`},
		{"an array in an object", "gemma4", `[1]`, `<|tool_call>call:f{arguments:<|"|>[1]<|"|>}<tool_call|>`},
		{"custom input", "qwen3_coder", "", "<tool_call>\n<function=f>\n<parameter=input>\n\"raw\" {\n</parameter>\n</function>\n</tool_call>"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := wire.Block{Kind: wire.Call, Name: "f", Arguments: k.args}
			if k.args == "" {
				b.Arguments, b.Custom = `"raw" {`, true
			}
			if got := string(mustFor(t, "", k.tools).Write(nil, "", []wire.Block{b})); got != k.want {
				t.Errorf("got  %q\nwant %q", got, k.want)
			}
		})
	}
}

// trimmed are blocks without the white space that belongs to markers, and without those that say nothing.
func trimmed(blocks []wire.Block) []wire.Block {
	var out []wire.Block
	for _, b := range blocks {
		if b.Kind != wire.Call {
			if b.Text = strings.TrimFunc(b.Text, unicode.IsSpace); b.Text == "" {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

func FuzzAppend(f *testing.F) {
	reasonings, tools := wire.Names()
	reasonings, tools = append(reasonings, ""), append(tools, "")
	for i, order := range []uint16{0b11_10_01, 0b10_11_01_11_01, 0b11_11, 0b01_11_10, 0b10} {
		for s := range tools {
			f.Add(uint8(s), uint8(s+i), uint8(i), order, "why\n`", "say \"it\"", "f", `{"a":"x\n","b":[1,{"c":null}]}`)
		}
	}
	f.Fuzz(func(t *testing.T, r, c, end uint8, order uint16, why, say, name, args string) {
		reasoning, tool := reasonings[int(r)%len(reasonings)], tools[int(c)%len(tools)]
		if r&0x80 != 0 {
			// One of the pairs that a parser reads.
			reasoning, tool = parser.Reasonings()[int(r&0x7f)%len(parser.Reasonings())], parser.Tools()[int(c)%len(parser.Tools())]
		}
		var blocks []wire.Block
		for ; order != 0; order >>= 2 {
			b := wire.Block{Kind: wire.Kind(order & 3)}
			switch b.Kind {
			case wire.Reasoning:
				b.Text = why
			case wire.Text:
				b.Text = say
			case wire.Call:
				b.Name, b.Arguments, b.Custom, b.ID = name, args, end&0x40 != 0, say
			}
			blocks = append(blocks, b)
		}
		s := mustFor(t, reasoning, tool)
		all := s.Write([]byte("kept"), why, blocks)
		if !strings.HasPrefix(string(all), "kept") {
			t.Fatalf("%q does not begin with what was there", all)
		}
		blocks = trimmed(blocks)
		ends := tails(reasoning)
		if !parser.HasReasoning(reasoning) {
			ends = []string{"", say}
		}
		tail := ends[int(end&0x3f)%len(ends)]
		turn, err := s.Append(nil, tail, blocks)
		if err != nil {
			if !errors.Is(err, wire.ErrCannot) || turn != nil {
				t.Fatalf("%q, %v", turn, err)
			}
			return
		}
		if !utf8.Valid(turn) || !reflect.DeepEqual(turn, s.Write(nil, tail, blocks)) {
			t.Fatalf("Append and Write differ: %q", turn)
		}
		if !parser.HasReasoning(reasoning) || !parser.HasTools(tool) || slices.ContainsFunc(blocks, func(b wire.Block) bool { return b.Kind == 0 }) {
			return
		}
		got, err := parse(native(t, reasoning, tool), turn, tail, toolsOf(blocks), func() int { return 1 + int(end) })
		if err == nil {
			err = same(blocks, got, !raw(tool))
		}
		if err != nil {
			t.Fatalf("%s+%s after %q: %v\nwrote %q\nof %+v", reasoning, tool, tail, err, turn, blocks)
		}
	})
}

// BenchmarkWrite writes a turn with a long argument, whose size is doubled: the time per byte must stay.
func BenchmarkWrite(b *testing.B) {
	_, tools := wire.Names()
	for _, tool := range []string{"hermes", "qwen3_coder", "minimax_m3", "gemma4", "lfm2"} {
		if !slices.Contains(tools, tool) {
			b.Fatal(tool)
		}
		for _, size := range []int{64 << 10, 128 << 10} {
			args := `{"path": "/srv/app/main.go", "text": "` + strings.Repeat(`x := 1 \"é\"\n`, size/14) + `"}`
			blocks := []wire.Block{{Kind: wire.Reasoning, Text: "Well."}, {Kind: wire.Text, Text: "Now."}, {Kind: wire.Call, Name: "edit", Arguments: args}}
			s := mustFor(b, "qwen3", tool)
			b.Run(tool+"/"+map[bool]string{true: "64K", false: "128K"}[size == 64<<10], func(b *testing.B) {
				var dst []byte
				b.SetBytes(int64(len(args)))
				b.ReportAllocs()
				for b.Loop() {
					dst = s.Write(dst[:0], "", blocks)
				}
			})
		}
	}
}
