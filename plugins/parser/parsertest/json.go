package parsertest

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
)

// Traces of the calls that most cases use.
const (
	stock = "call \"get_stock\"\nargs \"{\\\"sym\\\": \\\"ACME\\\", \\\"days\\\": 3}\"\nend"
	news  = "call \"get_news\"\nargs \"{\\\"sym\\\": \\\"BETA\\\"}\"\nend"
)

// Calls on the wire.
const (
	stockJSON = `{"name": "get_stock", "arguments": {"sym": "ACME", "days": 3}}`
	newsJSON  = `{"name": "get_news", "arguments": {"sym": "BETA"}}`
)

func text(s string) string { return "text " + strconv.Quote(s) }

func args(s string) string { return "args " + strconv.Quote(s) }

func hermes() Family {
	wrap := func(s string) string { return "<tool_call>\n" + s + "\n</tool_call>" }
	cases := []guesttest.Case{
		c("text", tools, "No call here.", text("No call here.")),
		c("one", tools, wrap(stockJSON), stock),
		c("two", tools, "Let me look.\n"+wrap(stockJSON)+"\n"+wrap(newsJSON), text("Let me look."), stock, news),
		c("tight", tools, "x<tool_call>"+stockJSON+"</tool_call><tool_call>"+newsJSON+"</tool_call>y", text("x"), stock, news, text("y")),
		c("text-after", tools, wrap(stockJSON)+"\n\nDone.", stock, text("\n\nDone.")),
		c("text-between", tools, wrap(stockJSON)+" and "+wrap(newsJSON), stock, text(" and"), news),
		c("trailing-space", tools, wrap(stockJSON)+"\n", stock, text("\n")),
		c("empty-arguments", tools, wrap(`{"name": "ping", "arguments": {}}`), `call "ping"`, args("{}"), "end"),
		c("no-arguments", tools, wrap(`{"name": "ping"}`)+wrap(stockJSON), `call "ping"`, "end", stock),
		c("null-arguments", tools, wrap(`{"name":"ping","arguments":null}`), `call "ping"`, args("null"), "end"),
		c("quoted-arguments", tools, wrap(`{"name":"ping","arguments":"{\"a\": 1}"}`), `call "ping"`, args(`"{\"a\": 1}"`), "end"),
		c("number-arguments", tools, wrap(`{"name":"ping","arguments": 12 }`), `call "ping"`, args("12"), "end"),
		c("parameters", tools, wrap(`{"name":"ping","parameters":{"a":[1,{"b":null}]}}`), `call "ping"`, args(`{"a":[1,{"b":null}]}`), "end"),
		c("other-members", tools, wrap(`{"id": 7, "name": "ping", "type": "function", "arguments": {}, "x": [1]}`),
			`call "ping"`, `junk " \"function\""`, args("{}"), `junk " [1]"`, "end"),
		c("long-member", tools, wrap(`{"name":"ping","`+strings.Repeat("k", 300)+`":1}`), `call "ping"`, `junk "1"`, "end"),
		c("arguments-first", tools, wrap(`{"arguments": {"a": 1}, "name": "ping"}`), "call ?", args(`{"a": 1}`), `name "ping"`, "end"),
		c("arguments-first-no-name", tools, wrap(`{"arguments": {"a": 1}}`), "call ?", args(`{"a": 1}`), "end/truncated", text("\n</tool_call>")),
		c("arguments-twice", tools, wrap(`{"name":"ping","arguments":{"a":1},"arguments":{"b":2}}`), `call "ping"`, args(`{"a":1}`), `junk "{\"b\":2}"`, "end"),
		c("braces-and-tags-in-strings", tools, wrap(`{"name":"write","arguments":{"t":"}{ </tool_call> \"<tool_call>\" \\"}}`)+"x",
			`call "write"`, args(`{"t":"}{ </tool_call> \"<tool_call>\" \\"}`), "end", text("x")),
		c("sample-in-string", tools, wrap(`{"name":"write","arguments":{"t":"<tool_call>\n{\"name\": \"ping\"}\n</tool_call>"}}`),
			`call "write"`, args(`{"t":"<tool_call>\n{\"name\": \"ping\"}\n</tool_call>"}`), "end"),
		c("unicode", tools, wrap(`{"name":"write","arguments":{"t":"計画 🙂 \ud83d\ude42 é"}}`), `call "write"`, args(`{"t":"計画 🙂 \ud83d\ude42 é"}`), "end"),
		c("literals", tools, wrap(`{"name":"write","arguments":{"a":12345678901234567890,"b":1.10,"c":1e5,"a":2}}`),
			`call "write"`, args(`{"a":12345678901234567890,"b":1.10,"c":1e5,"a":2}`), "end"),
		c("pretty", tools, wrap("{\n  \"name\": \"ping\",\n  \"arguments\": {\n    \"a\": 1\n  }\n}"), `call "ping"`, args("{\n    \"a\": 1\n  }"), "end"),
		c("crlf", tools, "Hi.\r\n<tool_call>\r\n"+stockJSON+"\r\n</tool_call>\r\n<tool_call>\r\n"+newsJSON+"\r\n</tool_call>", text("Hi."), stock, news),
		c("several-in-wrapper", tools, wrap(stockJSON+"\n"+newsJSON), stock, news),
		c("array", tools, wrap("["+stockJSON+", "+newsJSON+"]"), stock, news),
		c("array-unclosed", tools, "<tool_call>["+stockJSON, stock),
		c("array-broken", tools, wrap("["+stockJSON+", 5]")+"x", stock, `text! "5"`, text("x")),
		c("closer-missing", tools, "<tool_call>\n"+stockJSON+"\nDone.", stock, text("\nDone.")),
		c("closer-missing-then-call", tools, "<tool_call>\n"+stockJSON+"\n<tool_call>\n"+newsJSON+"\n</tool_call>", stock, news),
		c("closer-missing-at-end", tools, "<tool_call>\n"+stockJSON, stock),
		c("closer-late", tools, "<tool_call>"+stockJSON+" oh</tool_call>x", stock, text(" ohx")),
		c("closer-cut", tools, "<tool_call>"+stockJSON+"\n</tool_c", stock, `junk "\n</tool_c"`),
		c("extra-brace", tools, wrap(stockJSON+"}")+"x", stock, text("}x")),
		c("unknown", tools, "a\n"+wrap(`{"name": "nosuch", "arguments": {"t": "<tool_call>{\"name\":\"ping\"}"}}`)+"b",
			text("a\n"+wrap(`{"name": "nosuch", "arguments": {"t": "<tool_call>{\"name\":\"ping\"}"}}`)+"b")),
		c("unknown-then-known", tools, wrap(`{"name": "nosuch"}`)+"\n"+wrap(stockJSON), text(wrap(`{"name": "nosuch"}`)), stock),
		c("unknown-in-array", tools, wrap(`[{"name":"nosuch"},`+stockJSON+`,{"name":"nosuch","arguments":[]}]`),
			text("<tool_call>\n[{\"name\":\"nosuch\"},"), stock, text(`{"name":"nosuch","arguments":[]}`)),
		c("not-json", tools, wrap("get_stock(ACME)")+" x", text(wrap("get_stock(ACME)")+" x")),
		c("no-name", tools, wrap(`{"foo": 1}`), text(wrap(`{"foo": 1}`))),
		c("empty-name", tools, wrap(`{"name": ""}`), text(wrap(`{"name": ""}`))),
		c("name-not-string", tools, wrap(`{"name": 5}`), text(wrap(`{"name": 5}`))),
		c("name-too-long", tools, wrap(`{"name": "`+strings.Repeat("n", 600)+`"}`), text(wrap(`{"name": "`+strings.Repeat("n", 600)+`"}`))),
		c("empty-array", tools, "a\n<tool_call> [ ]\n</tool_call>b", text("ab")),
		c("empty-array-alone", tools, "a<tool_call>[]b", text("a<tool_call>[]b")),
		c("quoted-marker", tools, "Use the `<tool_call>` tag to call tools. More text.", text("Use the `<tool_call>` tag to call tools. More text.")),
		c("marker-in-prose", tools, "The <tool_call> tag, </tool_call> and <tool_call>.", text("The <tool_call> tag, </tool_call> and <tool_call>.")),
		c("marker-twice", tools, "<tool_call><tool_call>"+stockJSON+"</tool_call>", text("<tool_call>"), stock),
		c("broken-arguments", tools, wrap(`{"name": "ping", "arguments": {"city": Paris}}`)+"\nDone.",
			`call "ping"`, args("{\"city\": Paris}}\n"), "end/truncated", text("\nDone.")),
		c("broken-object", tools, wrap(`{"name": "ping" oops}`), `call "ping"`, "end/truncated", text("oops}\n</tool_call>")),
		c("missing-brace", tools, wrap(`{"name": "ping", "arguments": {"a": 1}`)+"x", `call "ping"`, args(`{"a": 1}`), "end/truncated", text("x")),
		c("broken-then-call", tools, "<tool_call>{\"name\": \"ping\", \"arguments\": {oops\n"+wrap(stockJSON),
			`call "ping"`, args("{oops\n"), "end/truncated", stock),
		c("trailing-comma", tools, wrap(`{"name": "ping", "arguments": {},}`), `call "ping"`, args("{}"), "end"),
		c("none", none, "a\n"+wrap(stockJSON), text("a\n"+wrap(stockJSON))),
		c("no-tools", plain, wrap(stockJSON), text(wrap(stockJSON))),
		c("think-is-text", tools, "<think>a</think>", text("<think>a</think>")),
		c("escaped-name", tools, wrap(`{"name": "pi\u006eg"}`), text(wrap(`{"name": "pi\u006eg"}`))),
		c("long-arguments", tools, wrap(`{"name":"write","arguments":{"t":"`+strings.Repeat("line\\n", 400)+`"}}`),
			`call "write"`, args(`{"t":"`+strings.Repeat("line\\n", 400)+`"}`), "end"),
		c("long-space-in-wrapper", tools, "<tool_call>"+stockJSON+strings.Repeat("\n", 50)+"</tool_call>", stock, text(strings.Repeat("\n", 18))),
	}
	cases = append(cases, oddJSON(wrap)...)
	return Family{Name: "hermes", Config: `{"tools":"hermes"}`, Cases: append(cases, cuts(tools, "Look.\n"+wrap(stockJSON)+"\n"+wrap(newsJSON)+" end", 17)...)}
}

// cuts are the laws for input cut at every step-th byte, as a token limit does.
func cuts(start guest.Start, input string, step int) []guesttest.Case {
	var out []guesttest.Case
	for i := step; i < len(input); i += step {
		out = append(out, c("cut-"+strconv.Itoa(i), start, input[:i]))
	}
	return out
}

func hermesSpans() Family {
	return Family{
		Name: "hermes-spans", Config: `{"reasoning":"qwen3","tools":"hermes","markers":{"<think>":{"id":1},"</think>":{"id":2},"<tool_call>":{"id":4},"</tool_call>":{"id":5}}}`,
		Cases: []guesttest.Case{
			marked("strong-in-reasoning", tools, thinkIDs, "«<think>»a\n«<tool_call>»\n"+stockJSON+"\n«</tool_call>»\nb«</think>»c",
				`reasoning "a"`, stock, text("\nbc")),
			marked("literal-call", tools, thinkIDs, "<tool_call>"+stockJSON+"</tool_call>", text("<tool_call>"+stockJSON+"</tool_call>")),
			marked("quoted-by-the-user", tools, thinkIDs, "«<think>»like <tool_call>"+stockJSON+"«</think>»ok", "reasoning "+strconv.Quote("like <tool_call>"+stockJSON), text("ok")),
			marked("unknown", tools, thinkIDs, "a\n«<tool_call>»{\"name\":\"nosuch\"}«</tool_call>»", text("a\n<tool_call>{\"name\":\"nosuch\"}</tool_call>")),
			marked("none", none, thinkIDs, "«<tool_call>»{}«</tool_call>»", text("<tool_call>{}</tool_call>")),
		},
	}
}

func longcat() Family {
	return Family{Name: "longcat", Config: `{"tools":"longcat"}`, Cases: []guesttest.Case{
		c("one", tools, "Hi.\n<longcat_tool_call>\n"+stockJSON+"\n</longcat_tool_call>\n", text("Hi."), stock, text("\n")),
		c("other-tag", tools, "<tool_call>"+stockJSON, text("<tool_call>"+stockJSON)),
	}}
}

func toolCall() Family {
	return Family{Name: "nemotron_deci", Config: `{"reasoning":"nemotron_deci","tools":"nemotron_deci"}`, Cases: []guesttest.Case{
		c("two", tools, "<think>\nplan\n</think>\n\n<TOOLCALL>["+stockJSON+", "+newsJSON+"]</TOOLCALL>", `reasoning "plan"`, stock, news),
		c("one-spaced", tools, "<TOOLCALL> [ "+stockJSON+" ] </TOOLCALL> Done.", stock, text(" Done.")),
		c("unclosed", tools, "<TOOLCALL>["+stockJSON+","+newsJSON, stock, news),
		c("cut", tools, `<TOOLCALL>[`+stockJSON+`, {"name": "get_news", "argum`, stock, `call "get_news"`, `junk "\"argum"`, "end/truncated"),
		c("cut-name", tools, `<TOOLCALL>[`+stockJSON+`, {"name": "get_ne`, stock, `text! "{\"name\": \"get_ne"`),
		c("text-between", tools, "<TOOLCALL>["+stockJSON+"]</TOOLCALL> and <TOOLCALL>["+newsJSON+"]</TOOLCALL>", stock, text(" and"), news),
	}}
}

func qwen3() Family {
	call := "<tool_call>\n" + stockJSON + "\n</tool_call>"
	cases := []guesttest.Case{
		c("think-and-calls", tools, "<think>\nNeed two.\n</think>\n\nLet me look.\n"+call+"\n<tool_call>\n"+newsJSON+"\n</tool_call>",
			`reasoning "Need two."`, text("Let me look."), stock, news),
		c("interleaved", tools, "<think>\na\n</think>\n\n"+call+"\n<think>\nb\n</think>\n\n"+call+"\nDone.",
			`reasoning "a"`, stock, `reasoning "b"`, stock, text("\nDone.")),
		c("call-in-reasoning", tools, "<think>\nplan\n"+call, `reasoning "plan"`, "call~"+strings.TrimPrefix(stock, "call")),
		c("call-in-reasoning-then-closer", tools, "<think>plan "+call+"\n</think>\n\nAnswer.", `reasoning "plan"`, "call~"+strings.TrimPrefix(stock, "call"), text("Answer.")),
		c("call-in-reasoning-then-text", tools, "<think>plan "+call+" more </think> x </think>", `reasoning "plan"`, "call~"+strings.TrimPrefix(stock, "call"),
			text(" more  x </think>")),
		c("unknown-in-reasoning", tools, "<think>try <tool_call>{\"name\": \"nosuch\"}</tool_call></think>x",
			`reasoning "try <tool_call>{\"name\": \"nosuch\"}</tool_call>"`, text("x")),
		c("marker-in-reasoning", tools, "<think>A <tool_call> starts a call.</think>"+call, `reasoning "A <tool_call> starts a call."`, stock),
		c("think-in-arguments", tools, `<tool_call>{"name":"write","arguments":{"t":"<think>x</think>"}}</tool_call>`, `call "write"`, args(`{"t":"<think>x</think>"}`), "end"),
		c("thinking-off", closed, "Sure.\n"+call, text("Sure."), stock),
		c("switched-off", off, "Sure.\n"+call, text("Sure."), stock),
		c("prompted", prompted, "plan\n</think>\n\n"+call, `reasoning "plan"`, stock),
		c("prompted-call", prompted, call, "call~"+strings.TrimPrefix(stock, "call")),
		c("prompted-none", guest.Start{Tools: true, Choice: guest.ChoiceNone, Tail: []byte("<think>\n")}, "a"+call+"</think>b", "reasoning "+strconv.Quote("a"+call), text("b")),
		c("broken-then-think", tools, "<tool_call>{\"name\":\"ping\", oops <think>a</think> b</tool_call>",
			`call "ping"`, "end/truncated", text("oops"), `reasoning "a"`, text(" b</tool_call>")),
	}
	cases = append(cases, oddThinking()...)
	return Family{
		Name: "qwen3", Config: `{"reasoning":"qwen3","tools":"hermes","markers":{}}`,
		Cases: append(cases, cuts(tools, "<think>\nNeed two.\n</think>\n\nLook.\n"+call+"\n<think>b</think>"+call+"\nDone.", 13)...),
	}
}
