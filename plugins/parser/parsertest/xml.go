package parsertest

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/guesttest"
)

// Calls on the wire.
const (
	stockXML = "<function=get_stock>\n<parameter=sym>\nACME\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>"
	newsXML  = "<function=get_news>\n<parameter=sym>\nBETA\n</parameter>\n</function>"
)

// call is the trace of a complete call with these keys and values.
func call(name string, kv ...string) string { return open("call", name, kv...) + "\nend" }

func open(head, name string, kv ...string) string {
	var out strings.Builder
	out.WriteString(head + " " + strconv.Quote(name))
	for i := 0; i < len(kv); i += 2 {
		out.WriteString("\nkey " + strconv.Quote(kv[i]) + "\nvalue/schema " + strconv.Quote(kv[i+1]))
	}
	return out.String()
}

// writeXML is a call of write with one value.
func writeXML(v string) string {
	return "<tool_call>\n<function=write>\n<parameter=t>\n" + v + "\n</parameter>\n</function>\n</tool_call>"
}

func coder() Family {
	wrap := func(s string) string { return "<tool_call>\n" + s + "\n</tool_call>" }
	stockCall, newsCall := call("get_stock", "sym", "ACME", "days", "3"), call("get_news", "sym", "BETA")
	cases := []guesttest.Case{
		c("text", tools, "No call here: a < b.", text("No call here: a < b.")),
		c("one", tools, wrap(stockXML), stockCall),
		c("two", tools, "Let me look.\n\n"+wrap(stockXML)+"\n"+wrap(newsXML), text("Let me look."), stockCall, newsCall),
		c("tight", tools, "Look.<tool_call><function=get_news><parameter=sym>BETA</parameter></function></tool_call><tool_call><function=ping></function></tool_call>x",
			text("Look."), newsCall, call("ping"), text("x")),
		c("text-after", tools, wrap(newsXML)+"\n\nDone.", newsCall, text("\n\nDone.")),
		c("text-between", tools, wrap(newsXML)+" and\n"+wrap(stockXML), newsCall, text(" and"), stockCall),
		c("no-parameters", tools, wrap("<function=ping>\n</function>"), call("ping")),
		c("empty-then-call", tools, wrap("<function=ping>\n</function>")+"\n"+wrap(newsXML), call("ping"), newsCall),
		c("bare", tools, "Look.\n\n"+newsXML+"\n</tool_call>\nx", text("Look."), "call~"+strings.TrimPrefix(newsCall, "call"), text("\nx")),
		c("bare-no-parameters", tools, "<function=ping></function>", "call~"+strings.TrimPrefix(call("ping"), "call")),
		c("bare-twice", tools, newsXML+"\n"+newsXML, "call~"+strings.TrimPrefix(newsCall, "call"), "call~"+strings.TrimPrefix(newsCall, "call")),
		c("bare-in-prose", tools, "The `<function=ping>` tag, or <function=ping> alone.", text("The `<function=ping>` tag, or <function=ping> alone.")),
		c("several-functions", tools, wrap(stockXML+"\n"+newsXML), stockCall, newsCall),
		c("closer-missing", tools, "<tool_call>\n"+newsXML+"\nDone.", newsCall, text("\nDone.")),
		c("closer-missing-then-call", tools, "<tool_call>\n"+newsXML+"\n"+wrap(stockXML), newsCall, stockCall),
		c("closer-late", tools, "<tool_call>\n"+newsXML+" oh </tool_call>x", newsCall, text(" ohx")),
		c("function-closer-missing", tools, wrap("<function=get_news>\n<parameter=sym>\nBETA\n</parameter>"), newsCall),
		c("function-closer-doubled", tools, wrap(newsXML+"\n</function>"), newsCall, `junk "</function>"`),
		c("parameter-closer-missing", tools, wrap("<function=get_stock>\n<parameter=sym>\nACME\n<parameter=days>\n3\n</parameter>\n</function>"), stockCall),
		c("last-parameter-closer-missing", tools, wrap("<function=get_stock>\n<parameter=sym>\nACME\n</parameter>\n<parameter=days>\n3\n</function>"), stockCall),
		c("parameter-closer-doubled", tools, wrap("<function=get_stock>\n<parameter=sym>\nACME\n</parameter>\n</parameter>\n<parameter=days>\n3\n</parameter>\n</parameter>\n</function>"),
			`call "get_stock"`, `key "sym"`, `value/schema "ACME"`, `junk "</parameter>"`, `key "days"`, `value/schema "3"`, `junk "</parameter>"`, "end"),
		c("attributes", tools, wrap("<function=get_news>\n<parameter=sym type=\"string\">\nBETA\n</parameter>\n</function>"), newsCall),
		c("crlf", tools, "Hi.\r\n\r\n"+strings.ReplaceAll(wrap(stockXML), "\n", "\r\n"), text("Hi."), stockCall),
		c("value-crlf-lines", tools, writeXML("a\r\nb\r\n"), call("write", "t", "a\r\nb\r\n")),
		c("value-spaces", tools, writeXML("  indented\nline \n\n"), call("write", "t", "  indented\nline \n\n")),
		c("value-empty", tools, writeXML(""), call("write", "t", "")),
		c("value-empty-tight", tools, wrap("<function=write>\n<parameter=t></parameter>\n</function>"), call("write", "t", "")),
		c("value-one-newline", tools, wrap("<function=write>\n<parameter=t>\n</parameter>\n</function>"), call("write", "t", "")),
		c("value-newlines", tools, writeXML("\n\n"), call("write", "t", "\n\n")),
		c("value-same-line", tools, wrap("<function=write><parameter=t>v </parameter></function>"), call("write", "t", "v ")),
		c("value-end-parameter", tools, writeXML("x </parameter> y"), call("write", "t", "x </parameter> y")),
		c("value-end-parameter-line", tools, writeXML("a\n</parameter>\nb"), call("write", "t", "a\n</parameter>\nb")),
		c("value-end-tool-call", tools, writeXML("A tool call block ends with </tool_call> on its own."), call("write", "t", "A tool call block ends with </tool_call> on its own.")),
		c("value-tool-call-line", tools, writeXML("<tool_call>\n</tool_call>\n<tool_call>"), call("write", "t", "<tool_call>\n</tool_call>\n<tool_call>")),
		c("value-end-function", tools, writeXML("x </function> y\n</function>\nz"), call("write", "t", "x </function> y\n</function>\nz")),
		c("value-xml-file", tools, writeXML("<config>\n<parameter name=\"a\">1</parameter>\n<parameter name=\"b\">2</parameter>\n</config>"),
			call("write", "t", "<config>\n<parameter name=\"a\">1</parameter>\n<parameter name=\"b\">2</parameter>\n</config>")),
		c("value-tags-in-prose", tools, writeXML("Use `<parameter=x>` and <function=f> in </parameter>."), call("write", "t", "Use `<parameter=x>` and <function=f> in </parameter>.")),
		c("value-sample", tools, writeXML("Example:\n"+wrap(stockXML)+"\nThat is it."), call("write", "t", "Example:\n"+wrap(stockXML)+"\nThat is it.")),
		c("value-sample-no-parameters", tools, writeXML(wrap("<function=ping>\n</function>")+"\n"+wrap("<function=ping></function>")), call("write", "t", wrap("<function=ping>\n</function>")+"\n"+wrap("<function=ping></function>"))),
		c("value-code", tools, writeXML("if (a < b && c > d) {\n\tx <<= 1;\n}\n"), call("write", "t", "if (a < b && c > d) {\n\tx <<= 1;\n}\n")),
		c("value-think", tools, writeXML("<think>x</think>"), call("write", "t", "<think>x</think>")),
		c("value-utf8", tools, writeXML("計画 🙂\n</é"), call("write", "t", "計画 🙂\n</é")),
		c("value-long-space", tools, writeXML("a\n</parameter>"+strings.Repeat(" ", 60)+"</function>b"), call("write", "t", "a\n</parameter>"+strings.Repeat(" ", 60)+"</function>b")),
		c("value-long", tools, writeXML(strings.Repeat("func f() { return a < b }\n", 80)), call("write", "t", strings.Repeat("func f() { return a < b }\n", 80))),
		c("key-twice", tools, wrap("<function=write>\n<parameter=t>\na\n</parameter>\n<parameter=t>\nb\n</parameter>\n</function>"), call("write", "t", "a", "t", "b")),
		c("odd-keys", tools, wrap("<function=write>\n<parameter=-A>\na\n</parameter>\n<parameter= b >\nb\n</parameter>\n</function>"), call("write", "-A", "a", "b", "b")),
		c("unknown", tools, "a\n"+wrap("<function=nosuch>\n<parameter=t>\n"+wrap(newsXML)+"\n</parameter>\n</function>")+"b",
			text("a\n"+wrap("<function=nosuch>\n<parameter=t>\n"+wrap(newsXML)+"\n</parameter>\n</function>")+"b")),
		c("unknown-then-known", tools, wrap("<function=nosuch>\n</function>\n"+newsXML), text("<tool_call>\n<function=nosuch>\n</function>"), newsCall),
		c("known-then-unknown", tools, wrap(newsXML+"\n<function=nosuch>\n</function>")+"x", newsCall, text("\n<function=nosuch>\n</function>x")),
		c("no-function", tools, wrap("get_stock")+"x", text(wrap("get_stock")+"x")),
		c("empty-name", tools, wrap("<function=></function>"), text(wrap("<function=></function>"))),
		c("name-with-space", tools, wrap("<function=a b></function>"), text(wrap("<function=a b></function>"))),
		c("name-too-long", tools, wrap("<function="+strings.Repeat("n", 600)+"></function>"), text(wrap("<function="+strings.Repeat("n", 600)+"></function>"))),
		c("quoted-marker", tools, "Use the `<tool_call>` tag to call tools. More text.", text("Use the `<tool_call>` tag to call tools. More text.")),
		c("garbage-in-call", tools, wrap("<function=ping>\noops\n</function>")+"x", `call "ping"`, "end/truncated", text("oops\n</function>\n</tool_call>x")),
		c("key-broken", tools, wrap("<function=ping>\n<parameter=a\n1</parameter>"), `call "ping"`, "end/truncated", text("<parameter=a\n1</parameter>\n</tool_call>")),
		c("cut-name", tools, "Hm.\n<tool_call>\n<function=wri", text("Hm.\n<tool_call>\n<function=wri")),
		c("cut-header", tools, "<tool_call>\n<function=write>", `call "write"`, "end/truncated"),
		c("cut-value", tools, "<tool_call>\n<function=write>\n<parameter=t>\na.txt\n</parame", `call "write"`, `key "t"`, `value/schema "a.txt"`, `junk "</parame"`, "end/truncated"),
		c("cut-value-newline", tools, "<tool_call>\n<function=write>\n<parameter=t>\na.txt\n", `call "write"`, `key "t"`, `value/schema "a.txt"`, "end/truncated"),
		c("cut-after-parameter", tools, "<tool_call>\n<function=write>\n<parameter=t>\na.txt\n</parameter>", `call "write"`, `key "t"`, `value/schema "a.txt"`, "end/truncated"),
		c("cut-key", tools, "<tool_call>\n<function=write>\n<parameter=pa", `call "write"`, `junk "<parameter=pa"`, "end/truncated"),
		c("cut-function-closer", tools, "<tool_call>\n<function=ping>\n</func", `call "ping"`, `junk "</func"`, "end/truncated"),
		c("cut-wrapper", tools, "<tool_call>\n"+newsXML+"\n</tool", newsCall, `junk "\n</tool"`),
		c("none", none, "a\n"+wrap(newsXML), text("a\n"+wrap(newsXML))),
		c("no-tools", plain, wrap(newsXML)+newsXML, text(wrap(newsXML)+newsXML)),
	}
	cases = append(cases, oddXML(wrap, stockCall, newsCall)...)
	return Family{
		Name: "qwen3_coder", Config: `{"tools":"qwen3_coder"}`,
		Cases: append(cases, cuts(tools, "Look.\n\n"+wrap(stockXML+"\n"+newsXML)+"\n"+wrap(newsXML)+"\nend", 11)...),
	}
}

func qwen35() Family {
	stockCall, newsCall := call("get_stock", "sym", "ACME", "days", "3"), call("get_news", "sym", "BETA")
	weak := func(s string) string { return "call~" + strings.TrimPrefix(s, "call") }
	wire := "The user wants both.\n</think>\n\nLet me look.\n\n<tool_call>\n" + stockXML + "\n</tool_call>\n<tool_call>\n" + newsXML + "\n</tool_call>"
	cases := []guesttest.Case{
		c("two", prompted, wire, `reasoning "The user wants both."`, text("Let me look."), stockCall, newsCall),
		c("plain", prompted, "Short.\n</think>\n\nACME closed at 12.", `reasoning "Short."`, text("ACME closed at 12.")),
		c("call-in-reasoning", prompted, "plan\n<tool_call>\n"+newsXML+"\n</tool_call>\n", `reasoning "plan"`, weak(newsCall), text("\n")),
		c("bare-in-reasoning", prompted, "plan\n"+newsXML+"\n</think>\nx", `reasoning "plan"`, weak(newsCall), text("x")),
		c("think-between", prompted, "a</think>\n<tool_call>\n"+newsXML+"\n</tool_call>\n<think>\nb\n</think>\n<tool_call>\n"+newsXML+"\n</tool_call>",
			`reasoning "a"`, newsCall, `reasoning "b"`, newsCall),
		c("off", closed, "Done.", text("Done.")),
		c("sample-in-reasoning", prompted, "I write `<tool_call>` then `<function=ping>`.\n</think>ok", "reasoning \"I write `<tool_call>` then `<function=ping>`.\"", text("ok")),
	}
	return Family{Name: "qwen3.5", Config: `{"reasoning":"qwen3","tools":"qwen3_coder"}`, Cases: append(cases, cuts(prompted, wire, 19)...)}
}

func seed() Family {
	return Family{Name: "seed_oss", Config: `{"reasoning":"seed_oss","tools":"seed_oss"}`, Cases: []guesttest.Case{
		c("one", tools, "<seed:think>Two.</seed:think>\nLook.\n\n<seed:tool_call>\n<function=write>\n<parameter=t>\n a\n</parameter>\n</function>\n</seed:tool_call>",
			`reasoning "Two."`, text("Look."), call("write", "t", "\n a\n")),
		c("line", tools, "<seed:tool_call><function=write><parameter=t>a\n<parameter=u>b</parameter></function></seed:tool_call>",
			call("write", "t", "a\n", "u", "b")),
	}}
}
