package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/plugins/parser"
)

// stream is a Program fed the way a host does, without a host around it.
type stream struct {
	program *parser.Program
	in      guest.Input
	out     guest.Out
	buf     []byte
}

func newStream(tb testing.TB, config string, start guest.Start) *stream {
	tb.Helper()
	s := &stream{program: parser.New(), buf: make([]byte, 0, 4096)}
	if err := s.program.Open([]byte(config)); err != nil {
		tb.Fatal(err)
	}
	if err := s.program.Start(start); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *stream) feed(piece []byte) {
	s.buf = append(s.buf, piece...)
	for {
		s.in = guest.Input{Bytes: s.buf}
		s.out.Reset(0)
		s.program.Feed(&s.in, &s.out)
		n := s.out.Pos()
		s.buf = s.buf[:copy(s.buf, s.buf[n:])]
		recs := s.out.Records()
		if len(recs) == 0 || recs[len(recs)-1].Kind != 5 && recs[len(recs)-1].Kind != 6 {
			return
		}
	}
}

// scenes are what streams spend their time in: how it begins, and what then repeats.
var scenes = []struct {
	name, config, lead, body string
}{
	{"prose", `{"reasoning":"qwen3","tools":"hermes"}`, "Well", " the quick brown fox jumps over a lazy dog.\nNext line, with (some) punctuation;"},
	{"reasoning", `{"reasoning":"qwen3","tools":"qwen3_coder"}`, "<think>\nwell", " the quick brown fox jumps over a lazy dog.\nNext line, with (some) punctuation;"},
	{"json-args", `{"reasoning":"qwen3","tools":"hermes"}`, `<tool_call>{"name":"write","arguments":{"t":"`, `func f() {\n\treturn \"a\"\n}\n lorem ipsum dolor sit amet`},
	{"xml-value", `{"reasoning":"qwen3","tools":"qwen3_coder"}`, "<tool_call>\n<function=write>\n<parameter=t>\n", "func f() {\n\treturn a < b\n}\n lorem ipsum dolor sit amet"},
	{"markup", `{"reasoning":"qwen3","tools":"qwen3_coder"}`, "", "<tool_call>\n<function=write>\n<parameter=t>\nabc\n</parameter>\n</function>\n</tool_call>\n"},
	{"brackets", `{"reasoning":"qwen3","tools":"hermes"}`, "", "<<</<tool_c<thin< /think>"},
}

func TestFeedAllocatesNothing(t *testing.T) {
	for _, sc := range scenes {
		s := newStream(t, sc.config, guest.Start{Tools: true})
		text := []byte(strings.Repeat(sc.body, 40))
		s.feed([]byte(sc.lead))
		at := 0
		round := func() {
			for range 20 {
				s.feed(text[at : at+8])
				if at += 8; at+8 > len(text) {
					at = 0
				}
			}
		}
		round()
		if n := testing.AllocsPerRun(50, round); n != 0 {
			t.Errorf("%s: %v allocations in 20 feeds", sc.name, n)
		}
	}
}

func TestWindow(t *testing.T) {
	if n := len(parser.New().Window()); n > 256 {
		t.Errorf("the window has %d bytes, at most 256", n)
	}
}

func TestConfig(t *testing.T) {
	for _, r := range append(parser.Reasonings(), "") {
		for _, n := range append(parser.Tools(), "") {
			if err := parser.New().Open(fmt.Appendf(nil, `{"reasoning":%q,"tools":%q}`, r, n)); err != nil {
				t.Errorf("%q with %q: %v", r, n, err)
			}
			if !parser.HasReasoning(r) || !parser.HasTools(n) {
				t.Errorf("%q or %q is not known", r, n)
			}
		}
	}
	for _, bad := range []string{
		`{`, `[]`, `{"reasoning":"nosuch"}`, `{"tools":"nosuch"}`, `{"tools":5}`, `{"reasoning":"qwen3"} x`,
		`{"markers":{"<think>":{"id":-1}}}`, `{"markers":{"<think>":{"id":4294967295}}}`, `{"markers":{"<think>":{"id":"1"}}}`,
		`{"markers":{"<think>":{"textual":1}}}`, `{"markers":[]}`, `{"markers":{"<think>":1}}`,
		`{"markers":{` + strings.Repeat(`"a":{},`, 300) + `"b":{}}}`,
	} {
		if parser.New().Open([]byte(bad)) == nil {
			t.Errorf("opened with %.60s", bad)
		}
	}
	for _, good := range []string{``, `{}`, `{"reasoning":null,"tools":null,"markers":null,"other":[1]}`, `{"markers":{"<x>":{"id":null,"textual":true,"more":{}}}}`} {
		if err := parser.New().Open([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if parser.HasReasoning("nosuch") || parser.HasTools("nosuch") || len(parser.Markers("qwen3", "qwen3_coder")) < 5 {
		t.Error("the registry is wrong")
	}
}

func TestManifest(t *testing.T) {
	for _, m := range []string{parser.Manifest(), parser.Manifest("qwen3", "keep_all")} {
		if !jsonscan.Valid([]byte(m)) || len(m) > abi.MaxManifest {
			t.Errorf("not a manifest: %s", m)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"reasoning":"qwen3","tools":"hermes","markers":{"<think>":{"id":1,"textual":false}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p := parser.New()
		if p.Open(doc) == nil {
			if _, err := guesttest.Native(p, doc); err != nil {
				t.Fatal("opens once and not twice")
			}
		}
	})
}

// BenchmarkFeed is one feed of 8 bytes, natively.
func BenchmarkFeed(b *testing.B) {
	for _, sc := range scenes {
		b.Run(sc.name, func(b *testing.B) {
			s := newStream(b, sc.config, guest.Start{Tools: true})
			text := []byte(strings.Repeat(sc.body, 64))
			s.feed([]byte(sc.lead))
			b.ReportAllocs()
			b.SetBytes(8)
			at := 0
			for b.Loop() {
				s.feed(text[at : at+8])
				if at += 8; at+8 > len(text) {
					at = 0
				}
			}
		})
	}
}

// BenchmarkBulk is a feed of 512 bytes.
func BenchmarkBulk(b *testing.B) {
	for _, sc := range scenes {
		b.Run(sc.name, func(b *testing.B) {
			s := newStream(b, sc.config, guest.Start{Tools: true})
			text := []byte(strings.Repeat(sc.body, 640/len(sc.body)+1))[:512]
			s.feed([]byte(sc.lead))
			b.SetBytes(512)
			for b.Loop() {
				s.feed(text)
			}
		})
	}
}

// BenchmarkLinear parses one argument of 1 MB in 4-byte pieces through a host.Stream.
func BenchmarkLinear(b *testing.B) {
	for _, sc := range scenes {
		for _, size := range []int{64 << 10, 256 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dK", sc.name, size>>10), func(b *testing.B) {
				g := open(b, sc.config)
				input := sc.lead + strings.Repeat(sc.body, size/len(sc.body))
				b.SetBytes(int64(len(input)))
				for b.Loop() {
					s, err := host.Open(g, &counter{}, guest.Start{Tools: true}.Append(nil))
					if err != nil {
						b.Fatal(err)
					}
					for p := []byte(input); len(p) > 0; p = p[min(4, len(p)):] {
						if err := s.Feed(p[:min(4, len(p))], nil, false); err != nil {
							b.Fatal(err)
						}
					}
					if s.Finish(abi.WhyLength) != nil || s.Fault() != nil {
						b.Fatal(s.Fault())
					}
				}
			})
		}
	}
}
