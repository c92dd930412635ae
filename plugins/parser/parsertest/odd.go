package parsertest

import (
	"strings"

	"github.com/weirgate/weir/abi/guesttest"
)

// oddJSON are shapes of calls in JSON that no template writes and models do.
func oddJSON(wrap func(string) string) []guesttest.Case {
	late := wrap(`{"arguments": {"a": 1}, "name": "nosuch"}`)
	ping := []string{`call "ping"`, "end"}
	return []guesttest.Case{
		c("opener-cut", tools, "Hi.\n<tool_c", text("Hi.\n<tool_c")),
		c("code-span", tools, "Write `"+`<tool_call>{"name": "ping"}</tool_call>`+"` to ping.", text("Write `"+`<tool_call>{"name": "ping"}</tool_call>`+"` to ping.")),
		c("code-span-long", tools, "a `b` c ``x <tool_call>"+stockJSON+"</tool_call>`` d "+wrap(newsJSON), text("a `b` c ``x"), stock, text("`` d"), news),
		c("code-span-of-last-line", tools, "An odd ` here.\n"+wrap(stockJSON)+" `"+wrap(newsJSON)+"`",
			text("An odd ` here."), stock, text(" `"+wrap(newsJSON)+"`")),
		c("fence", tools, "```xml\n"+wrap(stockJSON)+"\n```", text("```xml"), stock, text("\n```")),
		c("fence-on-one-line", tools, "```<tool_call>"+stockJSON+"</tool_call>```", text("```<tool_call>"+stockJSON+"</tool_call>```")),

		c("late-unknown", tools, "x "+late+"\nDone.", text("x"), "call ?", args(`{"a": 1}`), "end/truncated", text("nosuch\"}\n</tool_call>\nDone.")),
		c("late-unknown-then-known", tools, late+wrap(stockJSON), "call ?", args(`{"a": 1}`), "end/truncated", text("nosuch\"}\n</tool_call>"), stock),
		c("late-known-then-unknown", tools, wrap(`{"arguments": {}, "name": "ping"}`+"\n"+`{"name": "nosuch"}`)+"x",
			"call ?", args("{}"), `name "ping"`, "end", text("\n"+`{"name": "nosuch"}`+"x")),
		c("late-twice", tools, wrap(`{"arguments": {}, "name": "nosuch"}`+"\n"+`{"arguments": {}, "name": "ping"}`)+"x",
			"call ?", args("{}"), "end/truncated", text(`nosuch"}`), "call ?", args("{}"), `name "ping"`, "end", text("x")),
		c("late-none-then-unknown", tools, wrap(`{"arguments": {}}`+"\n"+`{"name": "nosuch"}`)+"x",
			"call ?", args("{}"), "end/truncated", text("\n"+`{"name": "nosuch"}`+"\n</tool_call>x")),
		c("late-in-array", tools, wrap(`[{"arguments": {}, "name": "nosuch"}, {"arguments": {}, "name": "ping"}, {"arguments": {}, "name": "nosuch"}]`)+"x",
			"call ?", args("{}"), "end/truncated", text(`nosuch"}, `), "call ?", args("{}"), `name "ping"`, "end", "call ?", args("{}"), "end/truncated", text(`nosuch"}x`)),
		c("late-not-a-string", tools, wrap(`{"arguments": {}, "name": 5}`)+wrap(`{"name": "nosuch"}`),
			"call ?", args("{}"), "end/truncated", text("5}\n</tool_call>"+wrap(`{"name": "nosuch"}`))),
		c("late-cut", tools, `<tool_call>{"arguments": {}, "name": "pi`, "call ?", args("{}"), `junk "\"pi"`, "end/truncated"),

		c("member-escaped", tools, wrap(`{"n\u0061me": "ping", "\u0061rguments": {"a": 1}}`), `call "ping"`, args(`{"a": 1}`), "end"),
		c("member-escaped-late", tools, wrap(`{"argument\u0073": {}, "n\u0061me": "ping"}`), "call ?", args("{}"), `name "ping"`, "end"),
		c("member-badly-escaped", tools, wrap(`{"n\ud83dame": 1, "name": "ping"}`), ping[0], ping[1]),

		c("element-null", tools, wrap("["+stockJSON+`, null, "x", `+newsJSON+"]")+"x", stock, `text! "null\"x\""`, news, text("x")),
		c("element-first", tools, wrap("[null, 1.5, "+stockJSON+"]")+"x", `text! "null, 1.5"`, stock, text("x")),
		c("element-nameless", tools, wrap(`[{"a": {"name": "x"}}, `+stockJSON+`, {"b": []}]`)+"x", `text! "{\"a\": {\"name\": \"x\"}}"`, stock, `text! "{\"b\": []}"`, text("x")),
		c("element-first-late", tools, wrap(`[5, {"arguments": {}, "name": "ping"}]`)+"x", `text! "5"`, "call ?", args("{}"), `name "ping"`, "end", text("x")),
		c("element-unknown", tools, wrap(`[5, {"name": "nosuch"}]`)+"x", text(wrap(`[5, {"name": "nosuch"}]`)+"x")),
		c("element-broken", tools, wrap("["+stockJSON+", {oops}, "+newsJSON+"]")+"x", stock, `text! "{oops}, `+strings.ReplaceAll(newsJSON, `"`, `\"`)+`]"`, text("x")),
		c("elements-alone", tools, wrap("[null, 5]"), text(wrap("[null, 5]"))),

		c("closer-doubled", tools, wrap(stockJSON)+"</tool_call>\n</tool_call>\nx</tool_call>", stock, `junk "</tool_call></tool_call>"`, text("\nx</tool_call>")),
		c("closer-doubled-cut", tools, wrap(stockJSON)+"\n</tool", stock, text("\n</tool")),
		c("opener-cut-behind", tools, wrap(stockJSON)[:len(wrap(stockJSON))-len("</tool_call>")]+"<to", stock, text("\n<to")),
		c("closer-of-unknown-cut", tools, "<tool_call>"+`{"name": "nosuch"}`+"\n</tool", text("<tool_call>"+`{"name": "nosuch"}`+"\n</tool")),
	}
}

// oddXML are shapes of calls in tags that no template writes and models do.
func oddXML(wrap func(string) string, stockCall, newsCall string) []guesttest.Case {
	weak := func(s string) string { return "call~" + strings.TrimPrefix(s, "call") }
	f := func(param string) string { return wrap("<function=write>\n" + param + "\n</function>") }
	tight := func(v string) string { return "<tool_call><function=write><parameter=t>" + v }
	t := func(v string) string { return call("write", "t", v) }
	return []guesttest.Case{
		c("opener-cut", tools, "Hi.\n<tool_c", text("Hi.\n<tool_c")),
		c("code-span", tools, "Write `<tool_call><function=ping></function></tool_call>` to ping.", text("Write `<tool_call><function=ping></function></tool_call>` to ping.")),
		c("bare-in-line", tools, "I use <function=ping></function> so.\n  "+newsXML+"x", text("I use <function=ping></function> so."), weak(newsCall), text("x")),
		c("bare-in-span", tools, "`\t<function=ping></function>`", text("`\t<function=ping></function>`")),
		c("bare-far-in-line", tools, strings.Repeat(" ", 40)+"x"+strings.Repeat(" ", 40)+"<function=ping></function>",
			text(strings.Repeat(" ", 40)+"x"+strings.Repeat(" ", 40)+"<function=ping></function>")),
		c("bare-behind-call", tools, wrap(newsXML)+" <function=ping></function>", newsCall, weak(call("ping"))),

		c("value-function-alone", tools, f("<parameter=t>\n<function=q>\n</parameter>"), t("<function=q>")),
		c("value-function-alone-tight", tools, tight("<function=q></parameter></function></tool_call>x"), t("<function=q>"), text("x")),
		c("value-function-pattern", tools, f("<parameter=t>\nre: <function=(\\w+)>\n</parameter>")+"x", t("re: <function=(\\w+)>"), text("x")),
		c("value-function-in-line", tools, f("<parameter=t>\nUse <function=NAME> <parameter=KEY> and done.\n</parameter>")+wrap(newsXML), t("Use <function=NAME> <parameter=KEY> and done."), newsCall),
		c("value-function-odd-key", tools, f("<parameter=t>\n<function=f> <parameter=[k]> x\n</parameter>"), t("<function=f> <parameter=[k]> x")),
		c("value-function-then-bracket", tools, f("<parameter=t>\n<function=f> < \n</parameter>"), t("<function=f> < ")),
		c("value-sample-in-line", tools, f("<parameter=t>\nSo: <tool_call> <function=f> <parameter=k>v</parameter></function></tool_call>\n</parameter>"),
			t("So: <tool_call> <function=f> <parameter=k>v</parameter></function></tool_call>")),
		c("value-closers-in-line", tools, f("<parameter=t>\nsee </parameter></function></tool_call> tags\n</parameter>"), t("see </parameter></function></tool_call> tags")),
		c("value-closer-line", tools, f("<parameter=t>\na\n</tool_call>\nb\n</parameter>"), t("a\n</tool_call>\nb")),
		c("value-closers-indented", tools, f("  <parameter=t>\n  v\n\t </parameter>"), t("  v\n\t ")),
		c("value-closer-ends-line", tools, f("<parameter=t>\nv</parameter>"), t("v")),
		c("value-closer-ends-line-next", tools, f("<parameter=t>\nv</parameter>\n<parameter=u>\nw</parameter>"), call("write", "t", "v", "u", "w")),
		c("value-closer-ends-line-crlf", tools, f("<parameter=t>\r\nv</parameter>\r"), t("v")),
		c("value-closer-ends-line-then-text", tools, f("<parameter=t>\nv</parameter>\nmore\n</parameter>"), t("v</parameter>\nmore")),
		c("value-closers-on-a-line", tools, f("<parameter=t>\nsee </parameter></function> tags\n</parameter>"), t("see </parameter></function> tags")),
		c("value-tight-lines", tools, tight("a\nb </parameter>c\n</parameter>\n</function></tool_call>x"), t("a\nb </parameter>c"), text("x")),
		c("value-tight-no-function-closer", tools, tight("v</parameter></tool_call>Done. ")+wrap(newsXML), t("v"), text("Done."), newsCall),
		c("value-tight-no-closer", tools, tight("v</function></tool_call>Done. ")+wrap(newsXML), t("v"), text("Done."), newsCall),
		c("value-tight-next-parameter", tools, tight("v<parameter=u>w</parameter></function></tool_call>"), call("write", "t", "v", "u", "w")),
		c("value-tight-next-call", tools, tight("v</parameter>")+wrap(newsXML), t("v"), newsCall),
		c("value-tight-next-function", tools, tight("v</function>\n<function=ping></function></tool_call>x"), t("v"), call("ping"), text("x")),
		c("next-call", tools, "<tool_call>\n<function=write>\n<parameter=t>\nv\n</parameter>\n"+wrap(newsXML)+"x", t("v"), newsCall, text("x")),
		c("next-call-doubled-closer", tools, "<tool_call>\n<function=write>\n<parameter=t>\nv\n</parameter>\n</parameter>\n"+wrap(newsXML),
			`call "write"`, `key "t"`, `value/schema "v"`, `junk "</parameter>"`, "end", newsCall),
		c("value-opener-behind-closer", tools, f("<parameter=t>\nv\n</parameter>\n<tool_call>\n{}\n</parameter>"), t("v\n</parameter>\n<tool_call>\n{}")),
		c("value-cut-number", tools, "<tool_call>\n<function=write>\n<parameter=t>\n12", open("call", "write", "t", "12"), "end/truncated"),
		c("value-cut-empty", tools, "<tool_call>\n<function=write>\n<parameter=t>\n", `call "write"`, `key "t"`, "end/truncated"),
		c("value-whole-then-cut", tools, "<tool_call>\n<function=write>\n<parameter=t>\n1\n</parameter>\n<parameter=u>\n2", open("call", "write", "t", "1", "u", "2"), "end/truncated"),

		c("garbage-before-parameters", tools, wrap("<function=ping>\nHere:\n<parameter=t>\nv\n</parameter>\n</function>")+"x",
			`call "ping"`, "end/truncated", text("Here:\n<parameter=t>\nv\n</parameter>\n</function>\n</tool_call>x")),
		c("garbage-behind-parameters", tools, wrap("<function=ping>\n<parameter=t>\nv\n</parameter>\n<parameter=u\n1\n</function>")+"x",
			`call "ping"`, `key "t"`, `value/schema "v"`, "end/truncated", `text! "<parameter=u\n1\n</function>"`, text("x")),
		c("garbage-in-second", tools, wrap(newsXML+"\n<function=ping>\noops\n</function>")+"x", newsCall, `call "ping"`, "end/truncated", `text! "oops\n</function>"`, text("x")),
		c("closer-doubled", tools, wrap(stockXML)+"</tool_call>\n</tool_call>\nx</tool_call>", stockCall, `junk "</tool_call></tool_call>"`, text("\nx</tool_call>")),
		c("bare-closer-cut", tools, newsXML+"\n</tool", weak(newsCall), text("\n</tool")),
	}
}

// oddThinking are calls in and near reasoning that no template writes and models do.
func oddThinking() []guesttest.Case {
	call := "<tool_call>\n" + stockJSON + "\n</tool_call>"
	weak := "call~" + strings.TrimPrefix(stock, "call")
	return []guesttest.Case{
		c("code-span-in-reasoning", tools, "<think>Maybe `<tool_call>"+stockJSON+"</tool_call>`? No.</think>Hi.",
			"reasoning \"Maybe `<tool_call>"+strings.ReplaceAll(stockJSON, `"`, `\"`)+"</tool_call>`? No.\"", text("Hi.")),
		c("code-span-ends-with-block", tools, "<think>An odd ` here.</think>"+call+"` <think>`</think>"+call, "reasoning \"An odd ` here.\"", stock, text("`"), "reasoning \"`\"", stock),
		c("call-in-reasoning-then-lines", tools, "<think>plan\n"+call+"\nmore.\n</think>\n\nFinal.", `reasoning "plan"`, weak, text("\nmore.\nFinal.")),
		c("call-in-reasoning-then-unknown", tools, "<think>plan\n"+call+"\n"+`<tool_call>{"name": "nosuch"}</tool_call>`+"\n</think>\nx",
			`reasoning "plan"`, weak, text("\n"+`<tool_call>{"name": "nosuch"}</tool_call>`+"\nx")),
		c("empty-array-in-reasoning", tools, "<think>a <tool_call>[]</tool_call> b</think>c", `reasoning "a b"`, text("c")),
	}
}
