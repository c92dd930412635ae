package parser_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// fragments are what random inputs are made of: whole markers, halves of them, and what stands around.
var fragments = []string{
	"<think>", "</think>", "<tool_call>", "</tool_call>", "<function=ping>", "<function=nosuch>", "<function=write>", "</function>",
	"<parameter=a>", "<parameter=b>", "</parameter>", "<TOOLCALL>", "</TOOLCALL>", "[", "]", ",", "{", "}", "\"", "`", "'", "`a", "```\n", "\n```\n", "null", "5", "[]", `{"n\u0061me": "ping"`, `"name": "nosuch"}`, `{"arguments": {}, "name": "nosuch"}`,
	"\n</parameter>\n", "\n<parameter=a>\n", "\n</function>\n", "\n<function=ping>\n", "\n</tool_call>\n",
	`{"name": "ping", "arguments": `, `{"name": "nosuch"`, `{"arguments": {}, "name": "ping"}`, `{"a": 1}`, `{"name":"ping"}`, `"name": "x"`,
	"\n", "\n\n", " ", "\r\n", "\r", "\t", strings.Repeat(" ", 33), "text", "é", "\xff", "<", "</", "<t", "<too", "l_call>", "<thi", "nk>", "</par", "ameter>", "<func", "tion=", ">", "=",
	"<seed:tool_call>", "</seed:tool_call>", "<seed:think>", strings.Repeat("n", 100), `\`, `\"`, "<|im_end|>", "«<think>»", "«</think>»", "«<tool_call>»", "«</tool_call>»",
}

var tokens = map[string]uint32{"<think>": 1, "</think>": 2, "<tool_call>": 4, "</tool_call>": 5}

// compose makes a case of the fragments that pick chooses; « and » enclose special tokens.
func compose(pick func(n int) int, n int) guesttest.Case {
	c := guesttest.Case{Accept: []string{"ping", "write", "get_stock"}, Start: guest.Start{Tools: pick(8) > 0}}
	switch pick(4) {
	case 0:
		c.Start.Tail = []byte("<think>\n")
	case 1:
		c.Start.Tail = []byte("<think>\n\n</think>\n\n")
	}
	for range n {
		f := fragments[pick(len(fragments))]
		if text, ok := strings.CutPrefix(f, "«"); ok {
			f = strings.TrimSuffix(text, "»")
			c.Spans = append(c.Spans, record.Span{Off: uint32(len(c.Input)), Len: uint32(len(f)), Token: tokens[f]})
		}
		c.Input += f
	}
	return c
}

// agree checks that the whole and a few chunkings give one trace.
func agree(t *testing.T, g host.Guest, c guesttest.Case, seed uint64) {
	t.Helper()
	whole, err := guesttest.Trace(g, c, nil)
	if err != nil {
		t.Fatalf("%q: %v\n%s", c.Input, err, whole)
	}
	for _, split := range []func(int) []int{guesttest.Every(1), guesttest.Random(seed), guesttest.Random(seed + 1)} {
		got, err := guesttest.Trace(g, c, split)
		if err != nil {
			t.Fatalf("%q in chunks: %v\n%s", c.Input, err, got)
		}
		if got != whole {
			t.Fatalf("%q in chunks %v gives\n%s\nwhole\n%s", c.Input, split(len(c.Input)), got, whole)
		}
	}
}

func TestRandomInputs(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	for _, f := range parsertest.Families() {
		t.Run(f.Name, func(t *testing.T) {
			g := open(t, f.Config)
			r := rand.New(rand.NewPCG(7, uint64(len(f.Name))))
			for i := range n {
				agree(t, g, compose(r.IntN, 1+r.IntN(24)), uint64(i))
			}
		})
	}
}

// general makes a case of c whose spans, which mean nothing, keep a parser from reading by lanes.
func general(c guesttest.Case) guesttest.Case {
	var all []record.Span
	for i, next := 0, c.Spans; i < len(c.Input); {
		sp := record.Span{Off: uint32(i), Len: 1, Token: 999}
		if len(next) > 0 && int(next[0].Off) == i {
			sp, next = next[0], next[1:]
		}
		all = append(all, sp)
		i += int(sp.Len)
	}
	c.Spans = all
	return c
}

// lanesAgree checks that what is read by lanes is what the general way reads.
func lanesAgree(t *testing.T, g host.Guest, c guesttest.Case, seed uint64) {
	t.Helper()
	for _, split := range []func(int) []int{guesttest.Every(8), guesttest.Random(seed)} {
		got, err := guesttest.Trace(g, c, split)
		want, err2 := guesttest.Trace(g, general(c), split)
		if err != nil || err2 != nil || got != want {
			t.Fatalf("%q in chunks %v gives, by lanes, %v\n%s\nand else, %v\n%s", c.Input, split(len(c.Input)), err, got, err2, want)
		}
	}
}

// calm are fragments between which streams spend their time.
var calm = []string{
	" the quick", " brown fox", "jumps", " ", "\n", "\n\n", "    ", "\t", ".", ";\n", "a < b", "a <b", "<", "é", "12, -3.5,", `\n`, `\"`, `\`, `\u00e9`,
	`": "`, `", "`, `"`, "{", "}", "[", "]", "`", "\r\n", "\r", "</p", "</parameter>\n", "if x {\n\t\treturn\n\t}",
}

func TestLanesAgree(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	for _, f := range parsertest.Families() {
		t.Run(f.Name, func(t *testing.T) {
			g := open(t, f.Config)
			r := rand.New(rand.NewPCG(9, uint64(len(f.Name))))
			for i := range n {
				c := compose(r.IntN, 1+r.IntN(8))
				if i%2 == 0 {
					c.Input += []string{
						"<think>\nx", "x", "<tool_call>\n<function=write>\n<parameter=a>\n", "<tool_call>\n<function=write>\n<parameter=a>",
						`<tool_call>{"name": "ping", "arguments": {"a": "`, `<TOOLCALL>[{"name": "ping", "arguments": {"a": [`,
					}[r.IntN(6)]
				}
				for range r.IntN(30) {
					c.Input += calm[r.IntN(len(calm))]
				}
				lanesAgree(t, g, c, uint64(i))
			}
		})
	}
}

// FuzzParser reads a seed as a list of fragments, and as plain bytes.
func FuzzParser(f *testing.F) {
	families := parsertest.Families()
	for i, fam := range families {
		for _, c := range fam.Cases {
			f.Add(uint8(i), true, []byte(c.Input))
		}
	}
	f.Add(uint8(9), false, []byte{0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, family uint8, raw bool, data []byte) {
		if len(data) > 4096 {
			return
		}
		g := open(t, families[int(family)%len(families)].Config)
		if raw {
			lanesAgree(t, g, guesttest.Case{Input: string(data[:min(len(data), 500)]), Start: guest.Start{Tools: true}}, uint64(len(data)))
			agree(t, g, guesttest.Case{Input: string(data), Start: guest.Start{Tools: true}}, uint64(len(data)))
			return
		}
		at := 0
		pick := func(n int) int {
			if at == len(data) {
				return 0
			}
			at++
			return int(data[at-1]) % n
		}
		agree(t, g, compose(pick, min(len(data), 60)), uint64(len(data)))
	})
}

// TestBoundary checks that with the boundary flag nothing stays held, and nothing is lost.
func TestBoundary(t *testing.T) {
	for _, f := range parsertest.Families() {
		g := open(t, f.Config)
		r := rand.New(rand.NewPCG(8, 1))
		for range 500 {
			c := compose(r.IntN, 1+r.IntN(12))
			sink := &counter{}
			s, err := host.Open(g, sink, c.Start.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			for rest := c.Input; rest != ""; {
				n := 1 + r.IntN(len(rest))
				if err := s.Feed([]byte(rest[:n]), nil, true); err != nil {
					t.Fatal(err)
				}
				if s.Held() != 0 || s.Fault() != nil {
					t.Fatalf("%s: %q: %d bytes held after a boundary, fault %v", f.Name, c.Input, s.Held(), s.Fault())
				}
				rest = rest[n:]
			}
			if err := s.Finish(1); err != nil || s.Fault() != nil || sink.n+s.Dropped() != len(c.Input) || sink.open {
				t.Fatalf("%s: %q: error %v, fault %v, %d of %d bytes, open %v", f.Name, c.Input, err, s.Fault(), sink.n, len(c.Input), sink.open)
			}
		}
	}
}

// counter counts bytes and knows whether a call is open.
type counter struct {
	n    int
	open bool
}

func (c *counter) Accept([]record.Record, []byte) bool { return true }

func (c *counter) Record(r record.Record, b []byte) error {
	c.n += len(b)
	switch r.Kind {
	case record.CallBegin:
		c.open = true
	case record.CallEnd:
		c.open = false
	}
	return nil
}
