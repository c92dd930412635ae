package turnmemory_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
)

// memory has the seeds of all keys here; it is not changed.
var memory = turnmemory.New(1)

func text(s string) conv.Part { return conv.Part{Kind: conv.Text, Text: s} }

func call(id, name, args string) conv.Part {
	return conv.Part{Kind: conv.Call, Call: &conv.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id string, parts ...conv.Part) conv.Part {
	return conv.Part{Kind: conv.Result, Result: &conv.ToolResult{CallID: id, Parts: parts}}
}

func says(role conv.Role, parts ...conv.Part) conv.Message {
	return conv.Message{Role: role, Parts: parts}
}

// last is the key of the last assistant message.
func last(t *testing.T, messages ...conv.Message) turnmemory.Key {
	t.Helper()
	keys := memory.Keys(&conv.Request{Messages: messages})
	var k turnmemory.Key
	for i, m := range messages {
		first := m.Role == conv.Assistant && (i == 0 || messages[i-1].Role != conv.Assistant)
		if zero := keys[i] == (turnmemory.Key{}); zero == first {
			t.Fatalf("message %d of role %v has key %x", i, m.Role, keys[i])
		}
		if first {
			k = keys[i]
		}
	}
	return k
}

// TestSame lists forms of one conversation.
func TestSame(t *testing.T) {
	t.Parallel()
	sys, user := says(conv.System, text("s")), says(conv.User, text("u"))
	args := func(s string) []conv.Message {
		return []conv.Message{user, says(conv.Assistant, call("1", "f", s))}
	}
	volatile := text("reminder")
	volatile.Volatile = true
	custom := func(id string) conv.Part {
		p := call(id, "patch", "*** {\n")
		p.Call.Kind = conv.Custom
		return p
	}
	image := func(m conv.Media) []conv.Message {
		return []conv.Message{says(conv.User, conv.Part{Kind: conv.MediaPart, Media: &m}), says(conv.Assistant, text("a"))}
	}
	for _, c := range []struct {
		name  string
		forms [][]conv.Message
	}{
		{"reasoning", [][]conv.Message{
			{user, says(conv.Assistant, text("a"))},
			{user, says(conv.Assistant, conv.Part{Kind: conv.Reasoning, Text: "r", Seal: "s"}, text("a"))},
		}},
		{"white space at the ends", [][]conv.Message{
			{user, says(conv.Assistant, text("a b"))},
			{user, says(conv.Assistant, text("\n\n a b\u00a0\ufeff\r\n"))},
			{user, says(conv.Assistant, text(" "), text("a"), text(" b"), text("\n"))},
		}},
		{"blank text before a call", [][]conv.Message{
			{user, says(conv.Assistant, text("\n\n"), call("1", "f", "{}"))},
			{user, says(conv.Assistant, call("1", "f", "{}"))},
		}},
		{"order of text and calls", [][]conv.Message{
			{user, says(conv.Assistant, text("a"), call("1", "f", "{}"), text("b"), call("2", "g", "{}"))},
			{user, says(conv.Assistant, text("ab"), call("1", "f", "{}"), call("2", "g", "{}"))},
		}},
		{"turns in a row", [][]conv.Message{
			{user, says(conv.Assistant, text("a"), call("1", "f", "{}"), text("b"), call("2", "g", "{}")), user, says(conv.Assistant)},
			{user, says(conv.Assistant, text("a"), call("1", "f", "{}")), says(conv.Assistant, text("b"), call("2", "g", "{}")), user, says(conv.Assistant)},
		}},
		{"ids", [][]conv.Message{
			{user, says(conv.Assistant, call("call_1", "f", "{}")), says(conv.Tool, result("call_1", text("r"))), says(conv.Assistant, text("a"))},
			{user, says(conv.Assistant, call("call1", "f", "{}")), says(conv.Tool, result("call1", text("r"))), says(conv.Assistant, text("a"))},
		}},
		{"order of results", [][]conv.Message{
			{user, says(conv.Assistant, call("1", "f", "{}"), call("2", "g", "{}")), says(conv.Tool, result("1", text("x"))), says(conv.Tool, result("2", text("y"))), says(conv.Assistant, text("a"))},
			{user, says(conv.Assistant, call("1", "f", "{}"), call("2", "g", "{}")), says(conv.Tool, result("2", text("y")), result("1", text("x"))), says(conv.Assistant, text("a"))},
		}},
		{"messages of one role", [][]conv.Message{
			{sys, says(conv.User, text("u"), text("v")), says(conv.Assistant, text("a"))},
			{sys, says(conv.User, text("u")), says(conv.User, text("v")), says(conv.Assistant, text("a"))},
			{says(conv.Developer, text("s")), says(conv.User, text("u")), says(conv.User, text("v")), says(conv.Assistant, text("a"))},
		}},
		{"volatile", [][]conv.Message{
			{user, says(conv.Assistant, text("a"))},
			{user, says(conv.User, volatile), says(conv.Assistant, text("a"))},
			{says(conv.User, text("u"), volatile), says(conv.Assistant, text("a"))},
		}},
		{"no arguments", [][]conv.Message{args(""), args("{}"), args(" { } "), args("null")}},
		{"white space in arguments", [][]conv.Message{args(`{"a": [1, 2], "b": {"c": null}}`), args("{\n\"a\":[1,2],\t\"b\":{\"c\":null}}")}},
		{"members in another order", [][]conv.Message{args(`{"a":1,"b":{"x":true,"y":false}}`), args(`{"b":{"y":false,"x":true},"a":1}`)}},
		{"a member twice", [][]conv.Message{args(`{"a":1,"b":2}`), args(`{"a":9,"b":2,"a":1}`)}},
		{"escapes", [][]conv.Message{args(`{"a":"é/\n\"😀"}`), args(`{"\u0061":"\u00e9\/\u000a\"\ud83d\ude00"}`)}},
		{"numbers", [][]conv.Message{args(`{"a":1.50,"b":1e3,"c":-0,"d":12345678901234567890}`), args(`{"a":1.5,"b":1000,"c":0,"d":12345678901234567000}`)}},
		{"custom", [][]conv.Message{{user, says(conv.Assistant, custom("1"))}, {user, says(conv.Assistant, custom("2"))}}},
		{"media", [][]conv.Message{
			image(conv.Media{Type: "image", MIME: "image/png", Data: "AAAA"}), image(conv.Media{Type: "image", URL: "data:image/png;base64,AAAA"}),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := last(t, c.forms[0]...)
			for i, form := range c.forms[1:] {
				if got := last(t, form...); got != want {
					t.Errorf("form %d has another key than the first", i+2)
				}
			}
		})
	}
}

// TestDifferent wants another key for each of these conversations.
func TestDifferent(t *testing.T) {
	t.Parallel()
	u, a := says(conv.User, text("u")), says(conv.Assistant, text("a"))
	f := func(args string) conv.Message { return says(conv.Assistant, call("1", "f", args)) }
	failed := result("1", text("r"))
	failed.Result.IsError = true
	custom := call("1", "f", "{}")
	custom.Call.Kind = conv.Custom
	spaced := says(conv.Assistant, text("a"), text(" b"))
	all := map[turnmemory.Key]string{}
	for name, messages := range map[string][]conv.Message{
		"plain":                     {u, a},
		"another user text":         {says(conv.User, text("v")), a},
		"white space of the user":   {says(conv.User, text("u ")), a},
		"another answer":            {u, says(conv.Assistant, text("b"))},
		"white space within":        {u, spaced},
		"no white space within":     {u, says(conv.Assistant, text("ab"))},
		"no user":                   {a},
		"the system's":              {says(conv.System, text("u")), a},
		"a part more":               {says(conv.User, text("u"), text("u")), a},
		"a named user":              {{Role: conv.User, Name: "n", Parts: []conv.Part{text("u")}}, a},
		"a turn more":               {u, a, u, a},
		"empty":                     {u, says(conv.Assistant)},
		"a reference":               {says(conv.User, conv.Part{Kind: conv.Reference, Text: "u"}), a},
		"a call":                    {u, f(`{}`)},
		"an argument":               {u, f(`{"a":1}`)},
		"a string":                  {u, f(`{"a":"1"}`)},
		"null":                      {u, f(`{"a":null}`)},
		"an array":                  {u, f(`{"a":[1]}`)},
		"another order in it":       {u, f(`{"a":[2,1]}`)},
		"nested":                    {u, f(`{"a":{"a":1}}`)},
		"not JSON":                  {u, f(`{"a":1`)},
		"not an object":             {u, f(`"a"`)},
		"custom":                    {u, says(conv.Assistant, custom)},
		"a call said as text":       {u, says(conv.Assistant, text("f{}"))},
		"call and result":           {u, f(`{}`), says(conv.Tool, result("1", text("r"))), a},
		"another result":            {u, f(`{}`), says(conv.Tool, result("1", text("s"))), a},
		"the result in two parts":   {u, f(`{}`), says(conv.Tool, result("1", text("r"), text(""))), a},
		"a failed result":           {u, f(`{}`), says(conv.Tool, failed), a},
		"a result told by the user": {u, f(`{}`), says(conv.User, text("r")), a},
		"two results":               {u, f(`{}`), says(conv.Tool, result("1", text("r")), result("1")), a},
	} {
		k := last(t, messages...)
		if other, taken := all[k]; taken {
			t.Errorf("%q and %q have one key", name, other)
		}
		all[k] = name
	}
}

// TestKeyOf writes turns after a conversation, which then comes back with them.
func TestKeyOf(t *testing.T) {
	t.Parallel()
	u := says(conv.User, text("u"))
	blocks := []event.Block{
		{Kind: event.ReasoningStart, Text: []byte("r")},
		{Kind: event.TextStart, Text: []byte("a\n")},
		{Kind: event.ToolStart, Complete: true, Call: event.Call{Namespace: "ns", Name: "f", Arguments: []byte(`{"x": 1.0}`)}},
		{Kind: event.ToolStart, Raw: []byte("<cut")},
	}
	own := text("I say ")
	for _, c := range []struct {
		name         string
		before, back []conv.Message // with no back there is no key
	}{
		{"a turn", []conv.Message{u}, []conv.Message{u, says(conv.Assistant, text("a\n<cut"), call("1", "ns__f", `{"x":1}`))}},
		{"its own words before", []conv.Message{u, says(conv.Assistant, own)}, []conv.Message{u, says(conv.Assistant, text("I say a\n<cut"), call("1", "ns__f", `{"x":1}`))}},
		{"words that are not continued", []conv.Message{u, says(conv.Assistant, own)}, nil},
		{"first of all", nil, []conv.Message{says(conv.Assistant, text("a\n<cut"), call("1", "ns__f", `{"x":1}`))}},
		{
			"after results",
			[]conv.Message{u, says(conv.Assistant, call("1", "f", "")), says(conv.Tool, result("1", text("r")))},
			[]conv.Message{u, says(conv.Assistant, call("9", "f", "{}")), says(conv.Tool, result("9", text("r"))), says(conv.Assistant, text("a\n<cut"), call("1", "ns__f", `{"x":1}`))},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := &conv.Request{Messages: c.before, Prompting: conv.Prompting{Continue: c.back != nil}}
			want := last(t, c.back...)
			if got := memory.KeyOf(req, blocks); got != want {
				t.Errorf("got %x, want %x", got, want)
			}
			_, end := memory.Follow(req)
			for range 2 {
				if end.Key(blocks) != want {
					t.Error("the end of the conversation does not stay")
				}
			}
		})
	}
}

// TestDeepArguments are as deep as JSON may be here, with the members in the wrong order all the way.
func TestDeepArguments(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{8, 200, 300} {
		deep := strings.Repeat(`{"b":1,"a":`, depth) + `"x"` + strings.Repeat(`}`, depth)
		a := last(t, says(conv.Assistant, call("1", "f", deep)))
		b := last(t, says(conv.Assistant, call("1", "f", strings.ReplaceAll(deep, ":", ": "))))
		if same := a == b; same != (depth < 256) {
			t.Errorf("depth %d: the same key: %v", depth, same)
		}
	}
}

// FuzzArguments wants arguments to keep their key when they are written another way.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":1.5e3,"b":[true,null,{"c":"\u00e9"}]}`, `{}`, `"x"`, `{"a":1,"a":2}`, `[1e999]`, "{\"\xff\":1}", `{"a":"\ud800"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again := rewrite(s)
		a, b := memory.Keys(&conv.Request{Messages: []conv.Message{says(conv.Assistant, call("1", "f", s))}}), memory.Keys(&conv.Request{Messages: []conv.Message{says(conv.Assistant, call("2", "f", again))}})
		if again != "" && a[0] != b[0] {
			t.Errorf("%q and %q have two keys", s, again)
		}
	})
}

// conversation is about size bytes as agents send it.
func conversation(size int) *conv.Request {
	line := "\tif err := run(ctx, \"name\"); err != nil { return fmt.Errorf(\"run: %w\", err) }\n"
	req := &conv.Request{Messages: []conv.Message{says(conv.System, text(strings.Repeat("You keep the weir. ", 1000))), says(conv.User, text("Go on."))}}
	for n, i := 19000, 0; n < size; i++ {
		args := fmt.Sprintf(`{"path": "a%d.go", "content": %q, "lines": [%d, 2.5]}`, i, strings.Repeat(line, 6), i)
		id := fmt.Sprint("call_", i)
		out := strings.Repeat(line, 30)
		req.Messages = append(req.Messages,
			says(conv.Assistant, conv.Part{Kind: conv.Reasoning, Text: strings.Repeat("So it is. ", 40)}, text("I write it.\n"), call(id, "Write", args)),
			says(conv.Tool, result(id, text(out))))
		n += len(args) + len(out) + 400
	}
	return req
}

func BenchmarkKeys(b *testing.B) {
	for _, size := range []int{50 << 10, 200 << 10, 800 << 10} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			req := conversation(size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				memory.Keys(req)
			}
		})
	}
}

// BenchmarkFollow is what a turn costs: all keys of the request, and later that of its answer.
func BenchmarkFollow(b *testing.B) {
	req := conversation(200 << 10)
	blocks := []event.Block{{Kind: event.TextStart, Text: bytes.Repeat([]byte("word "), 400)}}
	b.ReportAllocs()
	for b.Loop() {
		_, end := memory.Follow(req)
		end.Key(blocks)
	}
}
