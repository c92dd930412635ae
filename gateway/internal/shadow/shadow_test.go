package shadow_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/shadow"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// toy is a parser: between two of its quotes is reasoning, a "." ends the turn if it says so, a "!" makes
// it fail if it says so, and it holds back what comes in pieces of fewer than hold bytes.
type toy struct {
	state struct{ reasoning uint32 }
	quote byte
	stops bool
	fails bool
	hold  int
	start error
}

func (*toy) Manifest() string          { return "{}" }
func (*toy) Open([]byte) error         { return nil }
func (p *toy) Window() []byte          { return guest.WindowOf(&p.state) }
func (p *toy) Start(guest.Start) error { return p.start }

func (p *toy) Feed(in *guest.Input, out *guest.Out) {
	if len(in.Bytes) >= p.hold {
		p.all(in, out)
	}
}

func (p *toy) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.all(in, out) }

func (p *toy) all(in *guest.Input, out *guest.Out) {
	for _, b := range in.Bytes {
		switch {
		case b == p.quote:
			p.state.reasoning ^= 1
			out.Extend(record.Marker, 0, 0, 1)
		case b == '.' && p.stops:
			out.Emit(record.Marker, record.EndTurn, 0, 1)
			return
		case b == '!' && p.fails:
			panic("boom")
		case p.state.reasoning != 0:
			out.Extend(record.Reasoning, 0, 0, 1)
		default:
			out.Extend(record.Text, 0, 0, 1)
		}
	}
}

func native(tb testing.TB, p guest.Program, config string) host.Guest {
	tb.Helper()
	g, err := guesttest.Native(p, []byte(config))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// pair is a stream with its shadow, driven as a turn drives it.
type pair struct {
	first, second host.Guest
	options       assemble.Options
	start         guest.Start
	content       bool
	why           abi.Why
	reason        event.Reason
	sink          event.Sink
}

// run cuts the input in its own way for either side. Whoever has less goes on, so that each is ahead at
// times.
func (p pair) run(tb testing.TB, input string, one, two []int) shadow.Outcome {
	tb.Helper()
	s := shadow.New(shadow.Options{Guest: p.second, Assemble: p.options, Content: p.content})
	a := assemble.New(p.options, event.SinkFunc(func(e *event.Event) error {
		s.Event(e)
		if p.sink != nil {
			return p.sink.Event(e)
		}
		return nil
	}))
	start := p.start.Append(nil)
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	sink := s.Begin(start, a)
	st, err := host.Open(p.first, sink, start)
	must(err)
	must(a.Start(event.Usage{}))
	for at, other := 0, 0; len(one) > 0 || len(two) > 0; {
		if len(one) > 0 && (at <= other || len(two) == 0) {
			must(st.Feed([]byte(input[at:at+one[0]]), nil, false))
			at, one = at+one[0], one[1:]
			continue
		}
		s.Feed([]byte(input[other:other+two[0]]), nil)
		other, two = other+two[0], two[1:]
	}
	why, reason := p.why, p.reason
	if reason == "" {
		why, reason = abi.WhyStop, event.ReasonStop
	}
	must(st.Finish(why))
	must(a.Finish(reason, "", event.Usage{Output: 1}))
	s.Finish(why, reason, "")
	return s.Outcome()
}

// TestSame has the same parser on both sides, whatever the cut: the whole corpus of the built-in ones.
func TestSame(t *testing.T) {
	t.Parallel()
	splits := map[string]func(int) []int{
		"whole": guesttest.Whole, "bytes": guesttest.Every(1), "sevens": guesttest.Every(7), "random": guesttest.Random(1), "other": guesttest.Random(2),
	}
	n := 0
	for _, f := range parsertest.Families() {
		for _, c := range f.Cases {
			if len(c.Spans) > 0 {
				continue
			}
			for a, one := range splits {
				for b, two := range splits {
					n++
					p := pair{
						first: native(t, parser.New(), f.Config), second: native(t, parser.New(), f.Config),
						options: assemble.Options{AnyName: true}, start: c.Start, why: c.Why, reason: event.ReasonLength,
					}
					if o := p.run(t, c.Input, one(len(c.Input)), two(len(c.Input))); o.Result != shadow.Same {
						t.Errorf("%s/%s, %s beside %s: %s, %+v, %v", f.Name, c.Name, a, b, o.Result, o.Difference, o.Fault)
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d comparisons", n)
	}
}

// TestDifferent has parsers that part at a known place.
func TestDifferent(t *testing.T) {
	t.Parallel()
	const call = "Hi <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"
	slash, bar := &toy{quote: '/'}, &toy{quote: '|'}
	text, hermes, think := `{}`, `{"tools":"hermes"}`, `{"reasoning":"qwen3"}`
	built := func(config string) host.Guest { return native(t, parser.New(), config) }
	for _, c := range []struct {
		name          string
		first, second host.Guest
		input, want   string
	}{
		{"another marker", native(t, slash, ""), native(t, bar, ""), "abc |def| ghi", `event 1: text_delta at 4 "|def| ghi", text_end at 5 ""`},
		{"the other way", native(t, bar, ""), native(t, slash, ""), "abc |def| ghi", `event 1: text_end at 5 "", text_delta at 4 "|def| ghi"`},
		{"at once", native(t, slash, ""), native(t, bar, ""), "/def/ ghi", `event 0: reasoning_start at 1 "", text_start at 0 ""`},
		{"an end", native(t, &toy{quote: '/'}, ""), native(t, &toy{quote: '/', stops: true}, ""), "ab. c", `event 1: text_delta at 2 ". c", text_end at 2 ""`},
		{"no call", built(hermes), built(text), call, `event 1: text_end at 42 "", text_delta at 2 " <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"`},
		{"no reasoning", built(think), built(text), "<think>\nhm\n</think>\nHi", `event 0: reasoning_start at 8 "", text_start at 0 ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, split := range []func(int) []int{guesttest.Whole, guesttest.Every(1), guesttest.Random(3)} {
				cut := split(len(c.input))
				o := pair{first: c.first, second: c.second, content: true, start: guest.Start{Tools: true}, options: assemble.Options{AnyName: true}}.run(t, c.input, cut, cut)
				if o.Result != shadow.Different || o.Difference == nil {
					t.Fatalf("got %+v", o)
				}
				if len(cut) > 1 {
					// What one side had given when it came to light depends on the cut; where that was does not.
					if got, want := o.Difference.At(), place(t, c.want); got != want {
						t.Errorf("cut into %d: at %d, want %d", len(cut), got, want)
					}
					continue
				}
				if got := show(o.Difference); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if got := string(o.Difference.Output); got != c.input {
					t.Errorf("output %q", got)
				}
			}
		})
	}
}

func show(d *shadow.Difference) string {
	side := func(p shadow.Place) string {
		out := p.Kind.String()
		if p.Detail != "" {
			out += " " + p.Detail
		}
		return fmt.Sprintf("%s at %d %q", out, p.At, p.Text)
	}
	return fmt.Sprintf("event %d: %s, %s", d.Event, side(d.First), side(d.Second))
}

// place is the lesser offset in what show printed.
func place(t *testing.T, s string) int {
	t.Helper()
	var at [2]int
	for i := range at {
		_, s, _ = strings.Cut(s, " at ")
		if _, err := fmt.Sscan(s, &at[i]); err != nil {
			t.Fatal(err)
		}
	}
	return min(at[0], at[1])
}

// TestAttributes has two parsers that give the same blocks and call a detail of them by another name.
func TestAttributes(t *testing.T) {
	t.Parallel()
	call := func(name, args string, close bool) string {
		s := "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": {\"a\": " + args + "}"
		if close {
			s += "}\n</tool_call>"
		}
		return s
	}
	g := func() host.Guest { return native(t, parser.New(), `{"tools":"hermes"}`) }
	for _, c := range []struct{ name, first, second, want string }{
		{"name", call("f", "1", true), call("g", "1", true), `event 0: tool_start function at 39 "f", tool_start function at 39 "g"`},
		{"arguments", call("f", "12", true), call("f", "13", true), `event 1: tool_args at 46 "2}", tool_args at 46 "3}"`},
		{"whole", call("f", "1", true), call("f", "1", false), `event 2: tool_end complete at 47 "", tool_end truncated at 47 ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := shadow.New(shadow.Options{Guest: g(), Assemble: assemble.Options{AnyName: true}, Content: true})
			a := assemble.New(assemble.Options{AnyName: true}, event.SinkFunc(func(e *event.Event) error { s.Event(e); return nil }))
			start := guest.Start{Tools: true}.Append(nil)
			st, err := host.Open(g(), s.Begin(start, a), start)
			err = errors.Join(err, st.Feed([]byte(c.first), nil, false), st.Finish(abi.WhyStop), a.Finish(event.ReasonStop, "", event.Usage{}))
			s.Feed([]byte(c.second), nil)
			s.Finish(abi.WhyStop, event.ReasonStop, "")
			o := s.Outcome()
			if err != nil || o.Difference == nil {
				t.Fatalf("%v, %+v", err, o)
			}
			if got := show(o.Difference); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestContent keeps nothing of the conversation where that is not allowed, and little where it is.
func TestContent(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		before, after := strings.Repeat("b", 70_000), strings.Repeat("a", 70_000)
		input := before + "|" + after
		p := pair{first: native(t, &toy{quote: '/'}, ""), second: native(t, &toy{quote: '|'}, ""), content: content}
		cut := guesttest.Every(500)(len(input))
		o := p.run(t, input, cut, cut)
		d := o.Difference
		if o.Result != shadow.Different || d == nil || d.First.At != 70_000 || d.Second.At != 70_001 {
			t.Fatalf("got %s, %+v", o.Result, d)
		}
		if !content {
			if d.Output != nil || d.First.Text != nil || d.Second.Text != nil {
				t.Errorf("kept %q, %q, %q", d.Output, d.First.Text, d.Second.Text)
			}
			continue
		}
		want := strings.Repeat("b", 128) + "|" + strings.Repeat("a", 127)
		if string(d.Output) != want || string(d.First.Text) != want[128:] || len(d.Second.Text) != 0 {
			t.Errorf("got %q, %q, %q", d.Output, d.First.Text, d.Second.Text)
		}
	}
}

// TestFaults has a shadow that fails: at its start, within and at the end.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input string
		second      toy
		result      shadow.Result
		export      string
	}{
		{"start", "abc", toy{quote: '/', start: errors.New("no")}, shadow.Faulty, abi.ExportStart},
		{"feed", "ab! c", toy{quote: '/', fails: true}, shadow.Faulty, abi.ExportFeed},
		{"finish", "ab! c", toy{quote: '/', fails: true, hold: 100}, shadow.Faulty, abi.ExportFinish},
		{"after a difference", "|ab| ! c", toy{quote: '|', fails: true}, shadow.Different, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var fold event.Folder
			cut := guesttest.Every(1)(len(c.input))
			o := pair{first: native(t, &toy{quote: '/'}, ""), second: native(t, &c.second, ""), sink: &fold}.run(t, c.input, cut, cut)
			if o.Result != c.result || (o.Fault != nil) != (c.export != "") || o.Fault != nil && o.Fault.Export != c.export {
				t.Errorf("got %s, %v", o.Result, o.Fault)
			}
			if got := string(fold.Result.Blocks[0].Text); got != c.input {
				t.Errorf("the first parser gave %q", got)
			}
		})
	}
}

// TestUnbounded gives a comparison up when one side is too far ahead, whichever it is, and not before.
func TestUnbounded(t *testing.T) {
	t.Parallel()
	whole, stops := &toy{quote: '/'}, &toy{quote: '/', stops: true}
	for _, c := range []struct {
		name          string
		first, second *toy
		more          int
		want          shadow.Result
	}{
		{"first", whole, stops, 70_000, shadow.Unbounded},
		{"second", stops, whole, 70_000, shadow.Unbounded},
		{"first, less", whole, stops, 60_000, shadow.Different},
		{"second, less", stops, whole, 60_000, shadow.Different},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			input := "abc." + strings.Repeat("x", c.more)
			cut := guesttest.Every(100)(len(input))
			if o := (pair{first: native(t, c.first, ""), second: native(t, c.second, "")}).run(t, input, cut, cut); o.Result != c.want {
				t.Errorf("got %s", o.Result)
			}
		})
	}
}

// TestSkipped does not judge a stream that had no end.
func TestSkipped(t *testing.T) {
	t.Parallel()
	s := shadow.New(shadow.Options{Guest: native(t, &toy{quote: '/'}, "")})
	a := assemble.New(assemble.Options{}, event.SinkFunc(func(e *event.Event) error { s.Event(e); return nil }))
	if o := s.Outcome(); o.Result != shadow.Skipped {
		t.Errorf("before its start: %s", o.Result)
	}
	st := host.Raw(s.Begin(nil, a))
	if err := st.Feed([]byte("abc"), nil, false); err != nil {
		t.Fatal(err)
	}
	s.Feed([]byte("abc"), nil)
	if o := s.Outcome(); o.Result != shadow.Faulty { // nil is no start block
		t.Errorf("got %s", o.Result)
	}
}

// FuzzCompare checks the comparison with one of whole lists of events.
func FuzzCompare(f *testing.F) {
	f.Add("a/b/c|d|.e", uint8('/'), uint8('|'), uint64(1), uint8(0))
	f.Add("a/b/c|d|.e", uint8('/'), uint8('/'), uint64(2), uint8(9))
	f.Add("//||\xff\xc3/\xa9", uint8('/'), uint8(0xc3), uint64(3), uint8(3))
	f.Fuzz(func(t *testing.T, input string, one, two uint8, seed uint64, hold uint8) {
		if len(input) > 1000 {
			return
		}
		p := pair{first: native(t, &toy{quote: one}, ""), second: native(t, &toy{quote: two, hold: int(hold), stops: hold%2 == 0}, ""), content: true}
		o := p.run(t, input, guesttest.Random(seed)(len(input)), guesttest.Random(seed+1)(len(input)))
		a := list(t, native(t, &toy{quote: one}, ""), input)
		b := list(t, native(t, &toy{quote: two, stops: hold%2 == 0}, ""), input)
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		if at == len(a) && at == len(b) {
			if o.Result != shadow.Same {
				t.Fatalf("got %s, %+v, the lists are the same:\n%q", o.Result, o.Difference, a)
			}
			return
		}
		if o.Result != shadow.Different || o.Difference.Event != at {
			t.Fatalf("got %s, %+v, want event %d of\n%q\n%q", o.Result, o.Difference, at, a, b)
		}
	})
}

// list are the events of a parser, deltas put together.
func list(tb testing.TB, g host.Guest, input string) []string {
	tb.Helper()
	var out []string
	var last event.Kind
	a := assemble.New(assemble.Options{}, event.SinkFunc(func(e *event.Event) error {
		switch e.Kind {
		case event.UsageKind:
			return nil
		case event.TextDelta, event.ReasoningDelta:
			if last == e.Kind {
				out[len(out)-1] += string(e.Text)
				return nil
			}
		}
		last = e.Kind
		out = append(out, e.Kind.String()+" "+string(e.Text))
		return nil
	}))
	start := guest.Start{}.Append(nil)
	s, err := host.Open(g, a, start)
	if err = errors.Join(err, s.Feed([]byte(input), nil, false), s.Finish(abi.WhyStop), a.Finish(event.ReasonStop, "", event.Usage{})); err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestLongStreams keeps the memory of a comparison small while the shadow is always a little behind.
func TestLongStreams(t *testing.T) {
	t.Parallel()
	input := strings.Repeat("text /and thoughts/ ", 100_000)
	cut := guesttest.Every(50)(len(input))
	p := pair{first: native(t, &toy{quote: '/'}, ""), second: native(t, &toy{quote: '/', hold: 120}, "")}
	if o := p.run(t, input, cut, cut); o.Result != shadow.Same {
		t.Errorf("got %s, %+v", o.Result, o.Difference)
	}
}

// BenchmarkCompare is what a delta of eight bytes costs beside the second parser itself.
func BenchmarkCompare(b *testing.B) {
	s := shadow.New(shadow.Options{Guest: native(b, &toy{quote: '/'}, "")})
	start := guest.Start{}.Append(nil)
	s.Begin(start, nil)
	delta := bytes.Repeat([]byte("x"), 8)
	s.Event(&event.Event{Kind: event.TextStart})
	b.ReportAllocs()
	for b.Loop() {
		s.Event(&event.Event{Kind: event.TextDelta, Text: delta})
		s.Feed(delta, nil)
	}
	if o := s.Outcome(); o.Difference != nil || o.Fault != nil {
		b.Errorf("got %+v", o)
	}
}
