package assemble_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

const (
	str  = record.ValueString
	js   = record.ValueJSON
	sch  = record.ValueSchema
	auto = record.ContainerAuto
	obj  = record.ContainerObject
	arr  = record.ContainerArray
)

func TestBlocks(t *testing.T) {
	esc := func(r rec, f record.Flags) rec { r.flags |= f; return r }
	weak := begin("<c>")
	weak.flags = record.Weak
	inID := func(r rec) rec { r.flags |= record.InID; return r }
	phase := func(s string, p uint32) rec { return rec{kind: record.Text, aux: p, text: s} }
	declared := assemble.Options{Tools: []conv.ToolDef{{Name: "f"}, {Name: "get", Namespace: "ns"}, {Name: "patch", Kind: conv.Custom}}, Choice: parallel()}
	emit := declared
	emit.EmitUnknown = true
	none := declared
	none.Choice.Mode = conv.ChoiceNone
	single := free()
	single.Choice.Parallel = false
	raw := free()
	raw.KeepRaw = true
	cases := []struct {
		name string
		o    assemble.Options
		recs []rec
		why  event.Reason
		want string
	}{
		{"nothing", free(), nil, event.ReasonStop, "stop"},
		{
			"order", free(), cat(think("r1"), txt("t1"), jsonCall("f", `{"a":1}`), txt("t2"), think("r2"), jsonCall("g", `{}`)), event.ReasonStop,
			"reasoning \"r1\"\ntext \"t1\"\ncall_0 f({\"a\":1})\ntext \"t2\"\nreasoning \"r2\"\ncall_1 g({})\ntool_calls",
		},
		{"markers and empty pieces open nothing", free(), cat(mark("<think>"), think(""), txt(""), mark("</think>"), txt("a"), mark("<x>"), txt("b")), event.ReasonStop, "text \"ab\"\nstop"},
		{"block_end", free(), cat(txt("a"), rec{kind: record.BlockEnd}, txt("b"), rec{kind: record.BlockEnd}, rec{kind: record.BlockEnd}, think("c")), event.ReasonStop, "text \"a\"\ntext \"b\"\nreasoning \"c\"\nstop"},
		{"phases", free(), cat(phase("a", 1), phase("b", 1), phase("c", 2)), event.ReasonStop, "text \"ab\"\ntext \"c\"\nstop"},
		{"bytes that are not UTF-8", free(), cat(txt("a\xffb\xe2\x82"), think("\xf0\x9f\x98\x80\xf0\x9f\x98"), txt("\xed\xa0\x80")), event.ReasonStop, "text \"a\ufffdb\ufffd\"\nreasoning \"😀\ufffd\"\ntext \"\ufffd\ufffd\ufffd\"\nstop"},
		{"cut by length", free(), cat(jsonCall("f", `{}`), txt("and")), event.ReasonLength, "call_0 f({})\ntext \"and\"\nlength"},
		{"cut in arguments", free(), cat(begin("<c>"), name("f"), args(0, `{"a": "x`), cut()), event.ReasonLength, "call_0 f({\"a\": \"x) truncated\nlength"},
		{"cut in arguments, the engine says stop", free(), cat(begin("<c>"), name("f"), args(0, `{"a": "x`), cut()), event.ReasonStop, "call_0 f({\"a\": \"x) truncated\nstop"},
		{"one whole, one cut", free(), cat(jsonCall("f", "{}"), begin("<c>"), name("g"), args(0, `{`), cut()), event.ReasonStop, "call_0 f({})\ncall_1 g({) truncated\nstop"},
		{"cut after the name", free(), cat(txt("a "), begin("<c>"), name("f"), mark(" "), cut()), event.ReasonLength, "text \"a <c>f \"\nlength"},
		{"white space before a call given back", free(), cat(txt("a"), mark("\n"), mark("\n"), begin("<c>"), args(0, "{}"), end()), event.ReasonStop, "text \"a\\n\\n<c>{}</c>\"\nstop"},
		{"white space between calls, given back", free(), cat(jsonCall("f", "{}"), mark("</w>\n"), begin("<c>"), args(0, "{}"), end()), event.ReasonStop, "call_0 f({})\ntext \"\\n<c>{}</c>\"\ntool_calls"},
		{"white space after reasoning is not given back", free(), cat(think("r"), mark("</t>\n\n"), begin("<c>"), args(0, "{}"), end()), event.ReasonStop, "reasoning \"r\"\ntext \"<c>{}</c>\"\nstop"},
		{"white space before a call", raw, cat(txt("a"), mark("\n"), jsonCall("f", "{}")), event.ReasonStop, "text \"a\"\ncall_0 f({})\ntool_calls"},
		{"cut in the header, no end", free(), cat(txt("a "), begin("<c>")), event.ReasonLength, "text \"a <c>\"\nlength"},
		{"the plugin is gone", free(), cat(begin("<c>"), name("f"), args(0, `{"a": `), txt("1}</c>")), event.ReasonStop, "call_0 f({\"a\": ) truncated\ntext \"1}</c>\"\nstop"},
		{"the plugin is gone before arguments", free(), cat(begin("<c>"), name("f"), txt("1}</c>")), event.ReasonStop, "text \"<c>f1}</c>\"\nstop"},
		{"call in call", free(), cat(begin("<c>"), name("f"), args(0, `{`), jsonCall("g", "{}")), event.ReasonStop, "call_0 f({) truncated\ncall_1 g({})\nstop"},
		{"strays", free(), cat(name("a"), args(0, "b"), end()), event.ReasonStop, "text \"ab</c>\"\nstop"},
		{"two names", free(), cat(begin("<c>"), name("a"), name("b"), end()), event.ReasonStop, "call_0 a({}) malformed\nstop"},
		{"arguments and keys", free(), cat(begin("<c>"), name("a"), args(0, "{}"), key("b"), end()), event.ReasonStop, "call_0 a({}) malformed\nstop"},
		{"declared and not", declared, cat(jsonCall("f", "{}"), jsonCall("nosuch", `{"a":1}`), txt("!")), event.ReasonStop, "call_0 f({})\ntext \"<c>nosuch{\\\"a\\\":1}</c>!\"\ntool_calls"},
		{"unknown, emitted", emit, jsonCall("nosuch", "{}"), event.ReasonStop, "call_0 nosuch({})\ntool_calls"},
		{"unknown, weak", emit, cat(weak, name("nosuch"), args(0, "{}"), end()), event.ReasonStop, "text \"<c>nosuch{}</c>\"\nstop"},
		{"known, weak", emit, cat(weak, name("f"), args(0, "{}"), end()), event.ReasonStop, "call_0 f({})\ntool_calls"},
		{"any, weak", free(), cat(weak, name("f"), args(0, "{}"), end()), event.ReasonStop, "call_0 f({})\ntool_calls"},
		{"no name", free(), cat(begin("<c>"), name(""), args(0, "{}"), end()), event.ReasonStop, "text \"<c>{}</c>\"\nstop"},
		{"name that is not UTF-8", free(), jsonCall("a\xff", "{}"), event.ReasonStop, "text \"<c>a\ufffd{}</c>\"\nstop"},
		{"tools off", none, jsonCall("f", "{}"), event.ReasonStop, "text \"<c>f{}</c>\"\nstop"},
		{"namespace", declared, cat(jsonCall("ns__get", "{}"), jsonCall("ns.get", "{}")), event.ReasonStop, "call_0 ns/get({})\ncall_1 ns/get({})\ntool_calls"},
		{"bare name of a namespaced tool", declared, jsonCall("get", "{}"), event.ReasonStop, "text \"<c>get{}</c>\"\nstop"},
		{"name last", free(), cat(begin("<c>"), args(0, `{"a":`), args(0, `1}`), mark(`, "name": "`), name("f"), mark(`"`), end()), event.ReasonStop, "call_0 f({\"a\":1})\ntool_calls"},
		{"name last, typed", prop(`{"type":"integer"}`), cat(begin("<c>"), key("p"), val(sch, "5"), name("f"), end()), event.ReasonStop, "call_0 f({\"p\": 5})\ntool_calls"},
		{"name last, refused", declared, cat(txt("a"), begin("<c>"), args(0, `{"a":1}`), name("no"), mark("x"), end(), txt("b")), event.ReasonStop, "text \"a<c>{\\\"a\\\":1}nox</c>b\"\nstop"},
		{"name last, none", free(), cat(begin("<c>"), args(0, `{"a":1}`), end()), event.ReasonStop, "text \"<c>{\\\"a\\\":1}</c>\"\nstop"},
		{"id before the name", free(), cat(begin("<c>"), id("x1"), name("f"), end()), event.ReasonStop, "x1 f({})\ntool_calls"},
		{"id after the name", free(), cat(begin("<c>"), name("f"), mark("[ID]"), id("x1"), args(0, "{}"), end()), event.ReasonStop, "x1 f({})\ntool_calls"},
		{"id too late", free(), cat(begin("<c>"), name("f"), args(0, "{}"), id("x1"), end()), event.ReasonStop, "call_0 f({})\ntool_calls"},
		{"id of parts", free(), cat(begin("<c>"), inID(mark("functions.")), inID(name("f")), inID(id(":0")), args(0, "{}"), end()), event.ReasonStop, "functions.f:0 f({})\ntool_calls"},
		{"ids that repeat", free(), cat(begin("<c>"), id("0"), name("f"), end(), begin("<c>"), id("0"), name("f"), end(), begin("<c>"), id("call_2"), name("f"), end(), begin("<c>"), id("0"), name("f"), end()), event.ReasonStop, "0 f({})\ncall_1 f({})\ncall_2 f({})\ncall_3 f({})\ntool_calls"},
		{"escaped name and id", free(), cat(begin("<c>"), esc(id(`\"i`), record.EscJSON), esc(name("a&amp;b"), record.EscXML), end()), event.ReasonStop, "\"i a&b({})\ntool_calls"},
		{"one call allowed", single, cat(jsonCall("f", "{}"), txt("more"), jsonCall("g", "{}")), event.ReasonStop, "call_0 f({})\ntool_calls"},
		{"content filter", free(), txts("a"), event.ReasonContent, "text \"a\"\ncontent_filter"},
		{"custom, text", declared, cat(begin("<c>"), name("patch"), args(record.ArgsText, " *** Begin\n\"x\""), end()), event.ReasonStop, "custom call_0 patch( *** Begin\n\"x\")\ntool_calls"},
		{"custom, auto", declared, cat(begin("<c>"), name("patch"), args(record.ArgsAuto, "{ code }"), end()), event.ReasonStop, "custom call_0 patch({ code })\ntool_calls"},
		{"custom, wrapped", declared, jsonCall("patch", ` { "input" : "a\n\u00e9\ud83d\ude00" } `), event.ReasonStop, "custom call_0 patch(a\né😀)\ntool_calls"},
		{"custom, wrapped with more", declared, jsonCall("patch", `{"input": "a", "b": 1}`), event.ReasonStop, "custom call_0 patch(a)\ntool_calls"},
		{"custom, wrapper broken", declared, jsonCall("patch", `{"input": "a"`), event.ReasonStop, "custom call_0 patch(a) malformed\nstop"},
		{"custom, wrapped string broken", declared, jsonCall("patch", `{"input": "a\q"}`), event.ReasonStop, "custom call_0 patch(a) malformed\ntext \"\\\\q\\\"}</c>\"\nstop"},
		{"custom, more behind the wrapper", declared, cat(jsonCall("patch", `{"input": "a"} x`), txt("y")), event.ReasonStop, "custom call_0 patch(a) malformed\ntext \"x</c>y\"\nstop"},
		{"custom, more behind a short wrapper", declared, cat(jsonCall("patch", `"a\n" x`), txt("y")), event.ReasonStop, "custom call_0 patch(a\n) malformed\ntext \"x</c>y\"\nstop"},
		{"quoted arguments break", free(), cat(jsonCall("f", `"{\"a\": Paris, \"b\": 1}"`), txt("y")), event.ReasonStop, "call_0 f({\"a\": Paris, \\\"b\\\": 1}\") malformed\ntext \"y\"\nstop"},
		{"quoted arguments break at an escape", free(), cat(jsonCall("f", `" {\"a\": \u00e9, 1}"`), txt("y")), event.ReasonStop, "call_0 f({\"a\": \\u00e9, 1}\") malformed\ntext \"y\"\nstop"},
		{"quoted arguments go on", free(), cat(jsonCall("f", `"{} {}"`), txt("y")), event.ReasonStop, "call_0 f({}{}\") malformed\ntext \"y\"\nstop"},
		{"quoted arguments end", free(), cat(jsonCall("f", `"{\"a\": \"\ud83d"`), txt("y")), event.ReasonStop, "call_0 f({\"a\": \"\ufffd\") malformed\ntext \"y\"\nstop"},
		{"quoted arguments break, then the name", free(), cat(begin("<c>"), args(record.ArgsJSON, `"{\"a\" 1}"`), mark(","), name("f"), end(), txt("y")), event.ReasonStop, "call_0 f({\"a\" 1}\") malformed\ntext \"y\"\nstop"},
		{"value without its end", prop(`{"type": "integer"}`), cat(begin("<c>"), name("f"), key("p"), part("12"), cut()), event.ReasonLength, "call_0 f({\"p\": ) truncated\nlength"},
		{"object without its end", prop(`{"type": "object"}`), cat(begin("<c>"), name("f"), key("p"), part(`{"a": 1`), cut()), event.ReasonLength, "call_0 f({\"p\": {\"a\": ) truncated\nlength"},
		{"string without its end", prop(`{"type": "string"}`), cat(begin("<c>"), name("f"), key("p"), part("ab"), cut()), event.ReasonLength, "call_0 f({\"p\": \"ab) truncated\nlength"},
		{"custom, one string", declared, jsonCall("patch", `"a\"b"`), event.ReasonStop, "custom call_0 patch(a\"b)\ntool_calls"},
		{"custom, another object", declared, jsonCall("patch", `{"in": "a"}`), event.ReasonStop, "custom call_0 patch({\"in\": \"a\"})\ntool_calls"},
		{"custom, nothing", declared, cat(begin("<c>"), name("patch"), end()), event.ReasonStop, "custom call_0 patch()\ntool_calls"},
		{"custom, short", declared, jsonCall("patch", `{`), event.ReasonStop, "custom call_0 patch({)\ntool_calls"},
		{"custom, parameter", declared, cat(begin("<c>"), name("patch"), key("input"), esc(val(sch, "a &lt; b"), record.EscXML), key("x"), val(sch, "y"), end()), event.ReasonStop, "custom call_0 patch(a < b)\ntool_calls"},
		{"undeclared, text", free(), cat(begin("<c>"), name("p"), args(record.ArgsText, "{x"), end()), event.ReasonStop, "custom call_0 p({x)\ntool_calls"},
		{"undeclared, auto object", free(), cat(begin("<c>"), name("p"), args(record.ArgsAuto, " \n{}"), end()), event.ReasonStop, "call_0 p({})\ntool_calls"},
		{"undeclared, auto text", free(), cat(begin("<c>"), name("p"), args(record.ArgsAuto, " \nls"), end()), event.ReasonStop, "custom call_0 p( \nls)\ntool_calls"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := invariant(t, c.o, c.recs, c.why)
			if s := brief(&got.res); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
		})
	}
}

func txts(s ...string) (out []rec) {
	for _, s := range s {
		out = append(out, txt(s))
	}
	return out
}

func TestJSONArguments(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"object", `{"a": 1.50, "b": 9223372036854775807, "a": [1e5]}`, `{"a": 1.50, "b": 9223372036854775807, "a": [1e5]}`},
		{"space around", " \n{\"a\": 1 }\n ", `{"a": 1 }`},
		{"nothing", ``, `{}`},
		{"space", " \n", `{}`},
		{"null", ` null `, `{}`},
		{"empty string", `""`, `{}`},
		{"blank string", `" \n"`, `{}`},
		{"quoted object", `"{\"a\": \"x\\n\\u00e9\"}"`, `{"a": "x\n\u00e9"}`},
		{"quoted object, space", `" \n{} " `, `{}`},
		{"quoted pair", `"{\"a\": \"\ud83d\ude00\"}"`, `{"a": "😀"}`},
		{"not UTF-8", "{\"a\": \"\xff\"}", "{\"a\": \"\ufffd\"}"},
		{"number", `5`, `5 malformed`},
		{"array", `[1, 2]`, `[1, 2] malformed`},
		{"string", `"hello \"you\""`, `"hello \"you\"" malformed`},
		{"blank before a string", `"\n\n x"`, `"\n\n x" malformed`},
		{"half null", `nul`, `nul malformed`},
		{"no null", `nothing`, `nothing malformed`},
		{"null and more", `null x`, `nullx malformed`},
		{"more behind", `{} x`, `{}x malformed`},
		{"open", `{"a": `, `{"a":  malformed`},
		{"broken", `{"a" 1}`, `{"a" 1} malformed`},
		{"quoted open", `"{\"a\": 1"`, `{"a": 1" malformed`},
		{"quoted broken", `"{\"a\" 1}"`, `{"a" 1}" malformed`},
		{"quoted and more inside", `"{}x"`, `{}x" malformed`},
		{"quoted and more outside", `"{}" x`, `{}x malformed`},
		{"quote open", `"{}`, `{} malformed`},
		{"quote open, blank", `" `, ` malformed`},
		{"quoted with a bad escape", `"{\q}"`, `{\q}" malformed`},
		{"lone quote and bad escape", `"\q"`, `"\q" malformed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invariant(t, free(), jsonCall("f", c.in), event.ReasonStop)
			b := got.res.Blocks[0]
			s := string(b.Call.Arguments)
			if !b.Complete {
				s += " " + string(b.Cause)
			}
			if s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestRawBytesOfACall(t *testing.T) {
	o := free()
	o.KeepRaw = true
	got := invariant(t, o, cat(txt("a"), mark("\n"), begin("<c>"), args(0, `{"a": `), name("f"), mark("|"), end()), event.ReasonLength)
	if b := got.res.Blocks[1]; string(b.Raw) != `<c>{"a": f|</c>` {
		t.Errorf("raw %q", b.Raw)
	}
	got = invariant(t, o, cat(begin("<c>"), name("f"), mark("|"), args(0, `{"a": "`+"\xff"), cut()), event.ReasonLength)
	if b := got.res.Blocks[0]; string(b.Raw) != "<c>f|{\"a\": \"\ufffd" || b.Complete {
		t.Errorf("raw %q, complete %v", b.Raw, b.Complete)
	}
	long := strings.Repeat("x", 3<<20)
	got = run(t, o, cat(begin("<c>"), name("f"), args(0, `{"a": "`+long), cut()), event.ReasonLength)
	if n := len(got.res.Blocks[0].Raw); n != 1<<20 {
		t.Errorf("%d raw bytes kept", n)
	}
}

func TestEarlyArgumentsAreBounded(t *testing.T) {
	big := `{"a": "` + strings.Repeat("x", 2<<20) + `"}`
	got := invariantOf(t, cat(txt("!"), begin("<c>"), args(0, big), name("f"), end()))
	if want := "!<c>" + big + "f</c>"; len(got.res.Blocks) != 1 || string(got.res.Blocks[0].Text) != want {
		t.Errorf("%d blocks, the first of %d bytes", len(got.res.Blocks), len(got.res.Blocks[0].Text))
	}
	held := `{"a": "` + strings.Repeat("x", 200<<10) + `"}`
	recs := cat(begin("<c>"), args(0, held), name("f"), end())
	if got := run(t, free(), pieces(recs, func() int { return 1 }), event.ReasonStop); string(got.res.Blocks[0].Call.Arguments) != held {
		t.Errorf("arguments in single bytes gave %+v", got.stats)
	}
	var many []rec
	for range 1 << 17 {
		many = append(many, key(""))
	}
	got = run(t, free(), cat(begin("<c>"), many, name("f"), end()), event.ReasonStop)
	if len(got.res.Blocks) != 1 || got.stats.Returned != 1 {
		t.Errorf("stats %+v", got.stats)
	}
}

func invariantOf(t *testing.T, recs []rec) turn {
	t.Helper()
	whole := run(t, free(), recs, event.ReasonStop)
	got := run(t, free(), pieces(recs, func() int { return 4099 }), event.ReasonStop)
	if got.log != whole.log {
		t.Error("pieces differ from the whole")
	}
	return whole
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		name string
		stop []string
		recs []rec
		why  event.Reason
		want string
		seq  string
	}{
		{"in text", []string{"STOP"}, txts("one STO STOP two"), event.ReasonStop, "text \"one STO \"\nstop_sequence", "STOP"},
		{"not in reasoning", []string{"STOP"}, cat(think("a STOP b"), txt("c")), event.ReasonStop, "reasoning \"a STOP b\"\ntext \"c\"\nstop", ""},
		{"not in arguments", []string{"STOP"}, cat(jsonCall("f", `{"a": "STOP"}`)), event.ReasonStop, "call_0 f({\"a\": \"STOP\"})\ntool_calls", ""},
		{"not across blocks", []string{"ab"}, cat(txt("a"), think("x"), txt("b")), event.ReasonStop, "text \"a\"\nreasoning \"x\"\ntext \"b\"\nstop", ""},
		{"not across a block end", []string{"ab"}, cat(txt("a"), rec{kind: record.BlockEnd}, txt("b")), event.ReasonStop, "text \"a\"\ntext \"b\"\nstop", ""},
		{"across a marker", []string{"ab"}, cat(txt("xa"), mark("<m>"), txt("by")), event.ReasonStop, "text \"x\"\nstop_sequence", "ab"},
		{"at the start", []string{"ab"}, txts("ab"), event.ReasonStop, "stop_sequence", "ab"},
		{"first to end wins", []string{"abcd", "bc"}, txts("xabcd"), event.ReasonStop, "text \"xa\"\nstop_sequence", "bc"},
		{"longest of those that end together", []string{"b", "ab"}, txts("xab"), event.ReasonStop, "text \"x\"\nstop_sequence", "ab"},
		{"overlapping prefix", []string{"aab"}, txts("aaaab"), event.ReasonStop, "text \"aa\"\nstop_sequence", "aab"},
		{"prefix at the end", []string{"abc"}, txts("xab"), event.ReasonStop, "text \"xab\"\nstop", ""},
		{"the engine says length", []string{"ab"}, txts("xab"), event.ReasonLength, "text \"x\"\nlength", "ab"},
		{"after a whole call", []string{"ab"}, cat(jsonCall("f", "{}"), txt("xab")), event.ReasonStop, "call_0 f({})\ntext \"x\"\ntool_calls", "ab"},
		{"call after the stop", []string{"ab"}, cat(txt("xab"), jsonCall("f", "{}")), event.ReasonStop, "text \"x\"\nstop_sequence", "ab"},
		{"character", []string{"é"}, txts("aéb"), event.ReasonStop, "text \"a\"\nstop_sequence", "é"},
		{"empty strings are none", []string{"", "b"}, txts("ab"), event.ReasonStop, "text \"a\"\nstop_sequence", "b"},
		{"newlines", []string{"\n\n"}, txts("a\nb\n\nc"), event.ReasonStop, "text \"a\\nb\"\nstop_sequence", "\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := free()
			o.Stop = c.stop
			got := run(t, o, c.recs, c.why)
			for _, n := range []int{1, 2, 3} {
				if p := run(t, o, pieces(c.recs, func() int { return n }), c.why); p.log != got.log {
					t.Errorf("pieces of %d:\n%s\nwhole:\n%s", n, p.log, got.log)
				}
			}
			if s := brief(&got.res); s != c.want || got.res.StopSequence != c.seq {
				t.Errorf("got\n%s, stop %q\nwant\n%s, stop %q", s, got.res.StopSequence, c.want, c.seq)
			}
			seq, ok := got.a.Stopped()
			if seq != c.seq || ok != (c.seq != "") || got.a.Ended() != ok {
				t.Errorf("Stopped %q %v, Ended %v", seq, ok, got.a.Ended())
			}
		})
	}
}

func TestAccept(t *testing.T) {
	in := []byte("<c>nosuch f")
	recs := func(begin record.Flags, from, n uint32) []record.Record {
		return []record.Record{{Kind: record.CallBegin, Flags: begin, Len: 3}, {Kind: record.Name, Ptr: from, Len: n}}
	}
	declared := assemble.Options{Tools: []conv.ToolDef{{Name: "f"}}}
	emit := declared
	emit.EmitUnknown = true
	none := emit
	none.Choice.Mode = conv.ChoiceNone
	for _, c := range []struct {
		name string
		o    assemble.Options
		recs []record.Record
		want bool
	}{
		{"declared", declared, recs(0, 10, 1), true},
		{"declared, weak", declared, recs(record.Weak, 10, 1), true},
		{"unknown", declared, recs(0, 3, 6), false},
		{"unknown, emitted", emit, recs(0, 3, 6), true},
		{"unknown, weak", emit, recs(record.Weak, 3, 6), false},
		{"unknown, any", free(), recs(record.Weak, 3, 6), true},
		{"off", none, recs(0, 10, 1), false},
		{"no tools", assemble.Options{EmitUnknown: true}, recs(0, 10, 1), false},
		{"began earlier", declared, recs(0, 10, 1)[1:], true},
		{"began earlier, unknown", declared, recs(0, 3, 6)[1:], false},
		{"empty", free(), recs(0, 3, 0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := assemble.New(c.o, &both{}).Accept(c.recs, in); got != c.want {
				t.Errorf("Accept = %v", got)
			}
		})
	}
}

func TestDispatch(t *testing.T) {
	o := prop(`{"type":"string"}`)
	o.Dispatch = true
	got := invariant(t, o, cat(kv("f", "p", "é"), jsonCall("f", ` null`), begin("<c>"), name("f"), args(0, "{"), cut()), event.ReasonStop)
	want := `{"type":"turn_start","input":0,"cached":0,"output":0,"reasoning":0}
{"type":"tool_start","index":0,"id":"call_0","name":"f","kind":"function"}
tool_args {"p": "é"}
{"type":"tool_end","index":0,"id":"call_0","complete":true}
{"type":"dispatch","index":0,"id":"call_0","name":"f","kind":"function","arguments":"{\"p\": \"é\"}"}
{"type":"tool_start","index":1,"id":"call_1","name":"f","kind":"function"}
tool_args {}
{"type":"tool_end","index":1,"id":"call_1","complete":true}
{"type":"dispatch","index":1,"id":"call_1","name":"f","kind":"function","arguments":"{}"}
{"type":"tool_start","index":2,"id":"call_2","name":"f","kind":"function"}
tool_args {
{"type":"tool_end","index":2,"id":"call_2","complete":false,"cause":"truncated"}
{"type":"usage","input":0,"cached":0,"output":0,"reasoning":0}
{"type":"finish","reason":"stop"}`
	if got.log != want {
		t.Errorf("got\n%s\nwant\n%s", got.log, want)
	}
	big := run(t, o, jsonCall("f", `{"p": "`+strings.Repeat("x", 5<<20)+`"}`), event.ReasonStop)
	if strings.Contains(big.log, "dispatch") || big.res.Reason != event.ReasonToolUse {
		t.Error("a call over the cap was dispatched, or spoiled the turn")
	}
}

func TestFail(t *testing.T) {
	var out both
	check := &event.Checker{Next: &out}
	a := assemble.New(free(), check)
	a.Ending() // so that a call that ends truncated was cut
	for _, err := range []error{
		a.Start(event.Usage{}),
		a.Record(record.Record{Kind: record.CallBegin}, []byte("<c>")),
		a.Record(record.Record{Kind: record.Name}, []byte("f")),
		a.Record(record.Record{Kind: record.Args}, []byte("{")),
		a.Fail(event.Fault{Kind: "engine", Message: "gone"}),
		a.Fail(event.Fault{}),
		a.Finish(event.ReasonStop, "", event.Usage{}),
		a.Record(record.Record{Kind: record.Text}, []byte("late")),
		check.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if b := out.fold.Result.Blocks[0]; b.Cause != event.CauseFault || out.fold.Result.Fault.Message != "gone" || a.Stats().Dropped != 4 {
		t.Errorf("%+v %+v", b, a.Stats())
	}
}

func TestIDs(t *testing.T) {
	o := free()
	n := 0
	o.ID = func(native string) string {
		if len(native) >= 3 {
			return "toolu_" + native
		}
		n++
		return "toolu_r" + string(rune('0'+n))
	}
	got := run(t, o, cat(begin(""), id("abc"), name("f"), end(), begin(""), id("abc"), name("f"), end(), begin(""), name("f"), end()), event.ReasonStop)
	if want := "toolu_abc f({})\ntoolu_r1 f({})\ntoolu_r2 f({})\ntool_calls"; brief(&got.res) != want {
		t.Errorf("got\n%s", brief(&got.res))
	}
	o.ID = func(string) string { return "same" }
	got = run(t, o, cat(jsonCall("f", "{}"), jsonCall("f", "{}"), jsonCall("f", "{}"), jsonCall("f", "{}")), event.ReasonStop)
	seen := map[string]bool{}
	for _, b := range got.res.Blocks {
		seen[b.Call.ID] = true
	}
	if len(seen) != 4 {
		t.Errorf("ids %v", seen)
	}
}

func TestToolName(t *testing.T) {
	long := strings.Repeat("é", 40)
	a := toolname.Of("mcp", long)
	o := assemble.Options{Tools: []conv.ToolDef{{Namespace: "mcp", Name: long}}, Choice: parallel()}
	if got := run(t, o, jsonCall(a, "{}"), event.ReasonStop); got.res.Blocks[0].Call.Name != long {
		t.Errorf("%q is not mapped back", a)
	}
}

func TestStats(t *testing.T) {
	junk := mark("##")
	junk.flags = record.Junk
	bad := txt("xyz")
	bad.flags = record.Malformed
	got := invariant(t, prop(`{}`), cat(junk, bad, kv("nosuch", "a", "b"), begin("<c>"), name("f"), key("p"), val(sch, "1"), key("p"), val(sch, "2"), end(), txt("\xff")), event.ReasonStop)
	want := assemble.Stats{Calls: 1, Returned: 1, Unknown: 1, Duplicates: 1, Malformed: 3, Junk: 2, Invalid: 1}
	if got.stats != want {
		t.Errorf("got %+v, want %+v", got.stats, want)
	}
}
