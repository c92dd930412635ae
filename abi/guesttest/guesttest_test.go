package guesttest

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

var toyCases = []Case{
	{Name: "text", Input: "no markup at all, in two lines\nof text.", Want: `text "no markup at all, in two lines\nof text."`},
	{Name: "long text", Input: strings.Repeat("words and words. ", 20)},
	{Name: "empty", Input: ""},
	{Name: "reasoning and text", Input: "<t>why</t>so! <b>", Want: "reasoning \"why\"\ntext \"so! <b>\""},
	{Name: "prefilled reasoning", Start: guest.Start{Thinking: guest.ThinkingOn}, Input: "why</t>so", Want: "reasoning \"why\"\ntext \"so\""},
	{
		Name: "calls", Input: "a[f(1)][g()] b!", Accept: []string{"f", "g"},
		Want: "text \"a\"\ncall \"f\"\nargs \"1\"\nend\ncall \"g\"\nend\ntext \" b!\"",
	},
	{
		Name: "refused", Input: "a[f(1)][g(2)]", Accept: []string{"g"},
		Want: "text \"a[f(1)]\"\ncall \"g\"\nargs \"2\"\nend",
	},
	{Name: "none declared", Input: "[f(1)]", Accept: []string{}, Want: `text "[f(1)]"`},
	{Name: "cut", Input: "[f(1", Want: "call \"f\"\nargs \"1\"\nend/truncated"},
	{Name: "half a name", Input: "x [f", Want: `text "x [f"`},
	{Name: "characters", Input: "é<t>漢字</t>€[f(\xff€)]", Want: "text \"é\"\nreasoning \"漢字\"\ntext \"€\"\ncall \"f\"\nargs \"\\xff€\"\nend"},
	{
		Name: "spans", Input: "a<t>b</t>c", Spans: []record.Span{{Off: 1, Len: 3, Token: 7}, {Off: 5, Len: 4, Token: 8}},
		Want: "text \"a\"\nreasoning \"b\"\ntext \"c\"",
	},
}

func TestToyKeepsTheLaws(t *testing.T) {
	Run(t, openToy(none), toyCases)
	Linear(t, openToy(none), longCall)
}

func longCall(n int) Case {
	return Case{Name: "long", Input: "<t>" + strings.Repeat("w", n/2) + "</t>[f(" + strings.Repeat("x)", n/4) + ")]", Why: abi.WhyStop}
}

func TestBrokenLawsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name string
		bug  bug
		law  string
	}{
		{"decides on half a marker", eager, "L1"},
		{"leaves a byte out", gap, "L2"},
		{"holds text", hoarder, "L3"},
		{"panics", panics, "panic: toy"},
		{"ends what did not begin", grammarly, "L6"},
		{"keeps state outside the window", global, "L"},
		{"keeps its input", keeper, "L"},
		{"writes on its input", writer, "wrote on its input"},
		{"finish consumes nothing", endless, "L5"},
		{"leaves a call open", dangling, "L6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var found []string
			for _, c := range toyCases {
				s := &suite{open: func() host.Guest { return openToy(tt.bug)(t) }, c: c}
				if err := s.laws(); err != nil {
					if !errors.Is(err, ErrLaw) {
						t.Errorf("%s: not a broken law: %v", c.Name, err)
					}
					found = append(found, err.Error())
				}
			}
			if err := interleaved(openToy(tt.bug)(t), toyCases); err != nil {
				found = append(found, err.Error())
			}
			if all := strings.Join(found, "\n"); !strings.Contains(all, tt.law) {
				t.Errorf("%d laws broken, none of them %s:\n%.2000s", len(found), tt.law, all)
			}
		})
	}
}

func TestInterleavedFindsSharedState(t *testing.T) {
	if err := interleaved(openToy(global)(t), toyCases); !errors.Is(err, ErrLaw) {
		t.Errorf("got %v, expected a broken law", err)
	}
}

func TestRawCaseAllowsAFault(t *testing.T) {
	c := Case{Name: "panics", Input: "a<t>b! [f(1)]", Raw: true, Want: "text \"a<t>b! [f(1)]\"\nfault \"weir1_feed\""}
	Run(t, openToy(panics), []Case{c})
	if _, err := Trace(openToy(panics)(t), Case{Input: c.Input}, nil); !errors.Is(err, ErrLaw) {
		t.Errorf("got %v, expected a broken law", err)
	}
}

// TestFaultInACall has faults while a call is open: what the host passes on as text then is not what broke.
func TestFaultInACall(t *testing.T) {
	c := Case{Name: "fault", Input: "a[f(1!2)] b"}
	for _, tt := range []struct {
		name string
		bug  bug
		want string
	}{
		{"trap", panics, "law broken: L5: weir1_feed: panic: toy"},
		{"records", careless, "law broken: L2: weir1_feed: plugin breaks the ABI: records: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Trace(openToy(tt.bug)(t), c, Every(1))
			if !errors.Is(err, ErrLaw) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			err = interleaved(openToy(tt.bug)(t), []Case{c, {Name: "text", Input: "words"}})
			if !errors.Is(err, ErrLaw) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("between other streams: got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestChunks(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		want  string
	}{
		{nil, "in one piece"},
		{Whole(9), "in one piece"},
		{Every(1)(9), "in pieces of 1 byte"},
		{Every(1)(2), "cut at byte 1"},
		{Every(3)(10), "in pieces of 3 bytes"},
		{Every(3)(4), "cut at byte 3"},
		{At(7)(9), "cut at byte 7"},
		{[]int{3, 1, 5, 2}, "cut at bytes 3, 4, 9"},
		{[]int{2, 2, 3}, "cut at bytes 2, 4"},
		{append(Every(1)(27), 2), "cut at bytes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 and at 3 more places"},
	} {
		if got := Chunks(tt.sizes); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.sizes, got, tt.want)
		}
	}
}

func TestWantIsChecked(t *testing.T) {
	s := &suite{open: func() host.Guest { return openToy(none)(t) }, c: Case{Input: "a", Want: `text "b"`}}
	if err := s.laws(); err == nil {
		t.Error("a wrong trace passed")
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := Native(&toy{}, []byte("bad")); err == nil {
		t.Error("no error")
	}
}

// TestTraceForms drives the tracer with records of every kind.
func TestTraceForms(t *testing.T) {
	type step struct {
		kind  record.Kind
		flags record.Flags
		aux   uint32
		text  string
	}
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"text by phase", []step{
			{record.Text, 0, record.PhaseCommentary, "a"},
			{record.Text, 0, record.PhaseFinal, "b"},
			{record.Text, 0, record.PhaseFinal, "c"},
			{record.Text, record.Malformed, 0, "d"},
		}, "text/commentary \"a\"\ntext/final \"bc\"\ntext! \"d\"\n"},
		{"blocks and markers", []step{
			{record.Reasoning, 0, 0, "a"},
			{record.BlockEnd, 0, 0, "-"},
			{record.Reasoning, 0, 0, "b"},
			{record.Text, 0, 0, "c"},
			{record.Marker, 0, 0, "<"},
			{record.Text, 0, 0, "d"},
			{record.Marker, record.Junk, 0, "x"},
			{record.Marker, record.EndTurn, 0, "$"},
		}, "reasoning \"a\"\nblock_end\nreasoning \"b\"\ntext \"cd\"\njunk \"x\"\nend_turn\n"},
		{"id before the name", []step{
			{record.CallBegin, record.Weak, 0, "["},
			{record.ID, 0, 0, "1"},
			{record.Name, 0, 0, "f"},
			{record.Args, 0, record.ArgsAuto, "{"},
			{record.Marker, 0, 0, " "},
			{record.Args, 0, record.ArgsAuto, "}"},
			{record.CallEnd, 0, 0, ""},
		}, "call~ \"f\"\nid \"1\"\nargs/auto \"{}\"\nend\n"},
		{"name last", []step{
			{record.CallBegin, 0, 0, "["}, {record.Args, 0, record.ArgsText, "x"}, {record.Name, 0, 0, "f"}, {record.CallEnd, 0, 0, ""},
		}, "call ?\nargs/text \"x\"\nname \"f\"\nend\n"},
		{"keys and values", []step{
			{record.CallBegin, 0, 0, ""},
			{record.Name, 0, 0, "f"},
			{record.Key, 0, 0, "a"},
			{record.Value, 0, record.ValueString, "1"},
			{record.Value, record.Fin, record.ValueString, "2"},
			{record.Key, 0, 0, "b"},
			{record.Open, 0, record.ContainerArray, "["},
			{record.Value, record.Fin, record.ValueJSON, "1"},
			{record.Value, record.Fin, record.ValueSchema, ""},
			{record.Close, 0, record.ContainerArray, "]"},
			{record.CallEnd, 0, 0, ""},
		}, "call \"f\"\nkey \"a\"\nvalue/string \"12\"\nkey \"b\"\nopen/array\nvalue/json \"1\"\nvalue/schema \"\"\nclose/array\nend\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := &tracer{}
			for _, s := range tt.steps {
				r := record.Record{Kind: s.kind, Flags: s.flags, Aux: s.aux, Len: uint32(len(s.text))}
				if err := record.Check(r); err != nil {
					t.Fatal(err)
				}
				if err := tr.Record(r, []byte(s.text)); err != nil {
					t.Fatal(err)
				}
			}
			if got := tr.trace(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestGrammarRefuses(t *testing.T) {
	begin, name := record.Record{Kind: record.CallBegin}, record.Record{Kind: record.Name}
	key, end := record.Record{Kind: record.Key}, record.Record{Kind: record.CallEnd}
	value, fin := record.Record{Kind: record.Value}, record.Record{Kind: record.Value, Flags: record.Fin}
	open, closing := record.Record{Kind: record.Open}, record.Record{Kind: record.Close}
	array := record.Record{Kind: record.Open, Aux: record.ContainerArray}
	args, text := record.Record{Kind: record.Args}, record.Record{Kind: record.Text}
	for _, tt := range []struct {
		name string
		recs []record.Record
	}{
		{"name outside a call", []record.Record{name}},
		{"call in a call", []record.Record{begin, begin}},
		{"text in a call", []record.Record{begin, text}},
		{"two names", []record.Record{begin, name, name}},
		{"two ids", []record.Record{begin, {Kind: record.ID}, {Kind: record.ID}}},
		{"no name", []record.Record{begin, end}},
		{"weak without a name", []record.Record{{Kind: record.CallBegin, Flags: record.Weak}, args}},
		{"args and keys", []record.Record{begin, name, args, key}},
		{"keys and args", []record.Record{begin, name, key, fin, args}},
		{"two types of args", []record.Record{begin, name, args, {Kind: record.Args, Aux: record.ArgsText}}},
		{"value without a key", []record.Record{begin, name, fin}},
		{"two keys", []record.Record{begin, name, key, key}},
		{"end after a key", []record.Record{begin, name, key, end}},
		{"no fin before a key", []record.Record{begin, name, key, value, key}},
		{"no fin before the end", []record.Record{begin, name, key, value, end}},
		{"value pieces differ", []record.Record{begin, name, key, value, {Kind: record.Value, Flags: record.Fin, Aux: record.ValueJSON}}},
		{"close without open", []record.Record{begin, name, closing}},
		{"another container closes", []record.Record{begin, name, key, array, closing}},
		{"open at the end", []record.Record{begin, name, key, open, end}},
		{"key in an array", []record.Record{begin, name, key, array, key}},
		{"end_turn in a call", []record.Record{begin, {Kind: record.Marker, Flags: record.EndTurn}}},
		{"after end_turn", []record.Record{{Kind: record.Marker, Flags: record.EndTurn}, text}},
		{"never ended", []record.Record{begin, name}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g grammar
			var err error
			for i, r := range tt.recs {
				if err != nil {
					t.Fatalf("record %d refused: %v", i-1, err)
				}
				err = g.record(r)
			}
			if err == nil {
				err = g.close(false)
			}
			if !errors.Is(err, ErrLaw) {
				t.Errorf("got %v, expected a broken law", err)
			}
		})
	}
}

func TestNativeFeedAllocatesNothing(t *testing.T) {
	g := openToy(none)(t)
	s, err := host.Open(g, discard{}, guest.Start{}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p := []byte("<t>abc</t>de[f(")
	end := []byte("1)]")
	if n := testing.AllocsPerRun(200, func() {
		if err := errors.Join(s.Feed(p, nil, false), s.Feed(end, nil, false)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a feed", n)
	}
}

func BenchmarkLinear(b *testing.B) { BenchLinear(b, openToy(none), longCall) }
