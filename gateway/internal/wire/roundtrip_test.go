package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/wire"
	"github.com/weirgate/weir/plugins/parser"
)

// mustFor returns the style of a pair of names.
func mustFor(tb testing.TB, reasoning, tools string) *wire.Style {
	tb.Helper()
	s, err := wire.For(reasoning, tools)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// native returns the built-in parser of a pair of names.
func native(tb testing.TB, reasoning, tools string) host.Guest {
	tb.Helper()
	config, err := json.Marshal(map[string]string{"reasoning": reasoning, "tools": tools})
	if err != nil {
		tb.Fatal(err)
	}
	g, err := guesttest.Native(parser.New(), config)
	if err != nil {
		tb.Fatalf("%s, %s: %v", reasoning, tools, err)
	}
	return g
}

// parse reads a turn in pieces and returns its blocks.
func parse(g host.Guest, turn []byte, tail string, tools []conv.ToolDef, piece func() int) ([]event.Block, error) {
	var folder event.Folder
	a := assemble.New(assemble.Options{Tools: tools, Choice: conv.ToolChoice{Parallel: true}}, &event.Checker{Next: &folder})
	if err := a.Start(event.Usage{}); err != nil {
		return nil, err
	}
	s, err := host.Open(g, a, guest.Start{Tools: len(tools) > 0, Tail: []byte(tail)}.Append(nil))
	if err != nil {
		return nil, err
	}
	for len(turn) > 0 {
		n := min(piece(), len(turn))
		if err := s.Feed(turn[:n], nil, false); err != nil {
			return nil, err
		}
		turn = turn[n:]
	}
	if err := s.Finish(abi.WhyStop); err != nil {
		return nil, err
	}
	if f := s.Fault(); f != nil {
		return nil, f
	}
	if err := a.Finish(event.ReasonStop, "", event.Usage{}); err != nil {
		return nil, err
	}
	return folder.Result.Blocks, nil
}

// toolsOf declares the tools that blocks call, with the types of the arguments that they are called with.
func toolsOf(blocks []wire.Block) []conv.ToolDef {
	var out []conv.ToolDef
	for _, b := range blocks {
		if b.Kind != wire.Call {
			continue
		}
		def := conv.ToolDef{Name: b.Name}
		if b.Custom {
			def.Kind = conv.Custom
		} else {
			properties := map[string]any{}
			r := jsonscan.NewReader([]byte(b.Arguments))
			_ = r.Object(func(key []byte) error {
				name := r.Peek().String()
				if r.Peek() == jsonscan.Bool {
					name = "boolean"
				}
				properties[string(key)] = map[string]string{"type": name}
				_, err := r.Raw()
				return err
			})
			def.Schema, _ = json.Marshal(map[string]any{"type": "object", "properties": properties})
		}
		out = append(out, def)
	}
	return out
}

// same compares what was written with what was read. JSON says that arguments come back byte for byte.
func same(want []wire.Block, got []event.Block, exact bool) error {
	want = slices.DeleteFunc(slices.Clone(want), func(b wire.Block) bool { return b.Kind != wire.Call && b.Text == "" })
	if len(got) != len(want) {
		return fmt.Errorf("%d blocks, want %d", len(got), len(want))
	}
	kinds := map[wire.Kind]event.Kind{wire.Reasoning: event.ReasoningStart, wire.Text: event.TextStart, wire.Call: event.ToolStart}
	for i := range want {
		w, g := &want[i], &got[i]
		switch {
		case g.Kind != kinds[w.Kind]:
			return fmt.Errorf("block %d: %s", i, g.Kind)
		case w.Kind != wire.Call && string(g.Text) != w.Text:
			return fmt.Errorf("block %d: %q, want %q", i, g.Text, w.Text)
		case w.Kind == wire.Call && (g.Call.Name != w.Name || !g.Complete):
			return fmt.Errorf("block %d: call of %q, complete: %v", i, g.Call.Name, g.Complete)
		case w.Kind == wire.Call && !sameArguments(w, string(g.Call.Arguments), exact):
			return fmt.Errorf("block %d: arguments %s, want %s", i, g.Call.Arguments, w.Arguments)
		}
	}
	return nil
}

func sameArguments(w *wire.Block, got string, exact bool) bool {
	want := w.Arguments
	switch {
	case w.Custom:
		return got == want
	case strings.TrimSpace(want) == "":
		return got == "{}"
	case exact:
		return got == want
	}
	a, err := value(got)
	if err != nil {
		return false
	}
	b, err := value(want)
	return err == nil && reflect.DeepEqual(a, b)
}

// value decodes JSON; numbers stay what they are written as.
func value(s string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// maker makes turns.
type maker struct {
	*rand.Rand
	n     int
	marks []string // of the format
}

var pool = []string{
	"a", "plain words", "é", "😀", "日本", "\u2028", "\"", "'", "`", "\\", "{", "}", "[", "]", "<", ">", "</", "<|", "|>", "&amp;", "``", "```json\n{}\n```",
	"\n", "\n\n", " ", "\t", "\r\n", "<tool", "</thin", "<fun", "name", ":", ",", "null", "true", "7", "=", "x=1", "<b>bold</b>", "\u0001", "<|\"|>", "%s",
}

// samples are pieces of the tagged formats.
var samples = []string{"<parameter=a>", "</parameter>", "</function>", "\n<function=f>\n<parameter=a>\n"}

// words is some text; markers only now and then, since most formats cannot say them.
func (m *maker) words(markers bool) string {
	var b strings.Builder
	for range 1 + m.IntN(6) {
		if markers && m.IntN(4) == 0 {
			b.WriteString(m.marks[m.IntN(len(m.marks))])
		} else {
			b.WriteString(pool[m.IntN(len(pool))])
		}
	}
	return b.String()
}

// text is text without white space at its edges, which belongs to markers.
func (m *maker) text() string {
	for {
		if s := strings.TrimFunc(m.words(m.IntN(8) == 0), unicode.IsSpace); s != "" {
			return s
		}
	}
}

func (m *maker) json(depth int) string {
	switch k := m.IntN(10); {
	case k < 4:
		return string(jsonscan.AppendString(nil, m.words(m.IntN(8) == 0)))
	case k < 6:
		return []string{"0", "-1", "12345678901234567890123", "1.50", "-0.0", "1e5", "2E-10"}[m.IntN(7)]
	case k == 6:
		return []string{"true", "false"}[m.IntN(2)]
	case k == 7:
		return "null"
	case k == 8 && depth > 0:
		var items []string
		for range m.IntN(4) {
			items = append(items, m.json(depth-1))
		}
		return "[" + strings.Join(items, []string{",", ", ", "\n,"}[m.IntN(3)]) + "]"
	case depth > 0:
		return m.object(depth - 1)
	}
	return "{}"
}

func (m *maker) object(depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range m.IntN(5) {
		if i > 0 {
			b.WriteString([]string{",", ", "}[m.IntN(2)])
		}
		fmt.Fprintf(&b, "%q%s%s", []string{"a", "b-c", "long_name", "x.y", "Ü"}[m.IntN(5)]+strconv.Itoa(i), []string{":", ": "}[m.IntN(2)], m.json(depth))
	}
	b.WriteByte('}')
	return b.String()
}

func (m *maker) call() wire.Block {
	m.n++
	b := wire.Block{Kind: wire.Call, Name: []string{"f", "get_stock", "mcp__find", "a.b-c"}[m.IntN(4)] + strconv.Itoa(m.n)}
	switch m.IntN(8) {
	case 0:
		b.Arguments = []string{"", " ", "{}", "{ }"}[m.IntN(4)]
	case 1:
		b.Custom, b.Arguments = true, m.words(m.IntN(4) == 0)
	default:
		b.Arguments = m.object(2)
	}
	return b
}

// turn is some blocks: at most the usual reasoning, text, calls, or rounds of them in any order.
func (m *maker) turn(thinks, calls bool) []wire.Block {
	var out []wire.Block
	think := func() {
		if thinks {
			out = append(out, wire.Block{Kind: wire.Reasoning, Text: []string{m.text(), m.text(), m.text(), ""}[m.IntN(4)]})
		}
	}
	say := func() {
		if n := len(out); n == 0 || out[n-1].Kind != wire.Text {
			out = append(out, wire.Block{Kind: wire.Text, Text: m.text()})
		}
	}
	act := func() {
		for range 1 + m.IntN(3) {
			if calls {
				out = append(out, m.call())
			}
		}
	}
	steps := []func(){think, say, act}
	if m.IntN(2) == 0 {
		for _, step := range steps {
			if m.IntN(4) > 0 {
				step()
			}
		}
	} else {
		for range 1 + m.IntN(6) {
			steps[m.IntN(3)]()
		}
	}
	if n := len(out); n > 0 && out[n-1].Kind == wire.Text {
		out[n-1].Text += []string{"", " ", "\n\n"}[m.IntN(3)]
	}
	return out
}

// tails are the ends of prompts after which a model may write.
func tails(reasoning string) []string {
	markers := parser.Markers(reasoning, "")
	if reasoning == "" || len(markers) < 2 {
		return []string{""}
	}
	open, end := markers[0], markers[1]
	return []string{"", open, open + "\n", open + end, open + "\n\n" + end + "\n\n", end}
}

// raw tells the formats in which arguments are not JSON.
func raw(tools string) bool {
	return slices.Contains(parser.Markers("", tools), "<function=")
}

// The parser gives back what was written, whatever the turn, the end of the prompt and the pieces.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, reasoning := range append([]string{""}, parser.Reasonings()...) {
		for _, tools := range append([]string{""}, parser.Tools()...) {
			t.Run(reasoning+"+"+tools, func(t *testing.T) {
				t.Parallel()
				roundTrip(t, reasoning, tools)
			})
		}
	}
}

func roundTrip(t *testing.T, reasoning, tools string) {
	t.Helper()
	const turns = 80
	s, g := mustFor(t, reasoning, tools), native(t, reasoning, tools)
	m := &maker{Rand: rand.New(rand.NewPCG(uint64(len(reasoning))<<8|uint64(len(tools)), 7)), marks: append(parser.Markers(reasoning, tools), samples...)}
	said := 0
	for i := range turns {
		blocks := m.turn(reasoning != "", tools != "")
		ends := tails(reasoning)
		tail := ends[i%len(ends)]
		before := []byte("kept")
		turn, err := s.Append(before, tail, blocks)
		if err != nil {
			if !errors.Is(err, wire.ErrCannot) || string(turn) != "kept" {
				t.Fatalf("turn %d: %v, %q", i, err, turn)
			}
			continue
		}
		said++
		turn = turn[len(before):]
		got, err := parse(g, turn, tail, toolsOf(blocks), func() int { return 1 + m.IntN(40) })
		if err == nil {
			err = same(blocks, got, !raw(tools))
		}
		if err != nil {
			t.Fatalf("turn %d after %q: %v\nwrote %q\nof %+v", i, tail, err, turn, blocks)
		}
		if whole, err := parse(g, turn, tail, toolsOf(blocks), func() int { return len(turn) }); err != nil || !reflect.DeepEqual(whole, got) {
			t.Fatalf("turn %d is read in another way as a whole: %v, %q", i, err, turn)
		}
	}
	if said < turns/2 {
		t.Errorf("only %d of %d turns could be said", said, turns)
	}
}

// Every name of a parser has a style, and markers that it knows by their tokens.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range parser.Reasonings() {
		s := mustFor(t, name, "")
		for _, marker := range parser.Markers(name, "")[:2] {
			if !slices.Contains(s.Special(), marker) {
				t.Errorf("reasoning %s: %q is none of %q", name, marker, s.Special())
			}
		}
	}
	for _, name := range parser.Tools() {
		mustFor(t, "", name)
	}
	for _, pair := range [][2]string{{"nobody", ""}, {"", "nobody"}} {
		if s, err := wire.For(pair[0], pair[1]); err == nil || s != nil || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("%q: %v", pair, err)
		}
	}
	if s := mustFor(t, "", ""); len(s.Special()) != 0 || !bytes.Equal(s.Write(nil, "", []wire.Block{{Kind: wire.Reasoning, Text: "R"}, {Kind: wire.Text, Text: "T"}}), []byte("T")) {
		t.Error("a style without stages does not write text alone")
	}
}
