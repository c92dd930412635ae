package assemble_test

import (
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

// sizes counts argument bytes as they leave.
type sizes struct {
	a    *assemble.Assembler
	args int
}

func (s *sizes) Event(e *event.Event) error {
	if e.Kind == event.ToolArgs {
		s.args += len(e.Text)
	}
	return nil
}

func (s *sizes) add(tb testing.TB, r rec) {
	tb.Helper()
	if err := s.a.Record(record.Record{Kind: r.kind, Flags: r.flags, Aux: r.aux}, []byte(r.text)); err != nil {
		tb.Fatal(err)
	}
}

func feed(tb testing.TB, s *sizes, o assemble.Options, recs []rec) {
	tb.Helper()
	s.a = assemble.New(o, s)
	if err := s.a.Start(event.Usage{}); err != nil {
		tb.Fatal(err)
	}
	for _, r := range recs {
		s.add(tb, r)
	}
}

func TestNoAllocations(t *testing.T) {
	for _, c := range steady() {
		t.Run(c.name, func(t *testing.T) {
			s := &sizes{}
			feed(t, s, c.o, c.head)
			r, b := record.Record{Kind: c.kind, Flags: c.flags, Aux: c.aux}, []byte(c.piece)
			n := testing.AllocsPerRun(1000, func() {
				if err := s.a.Record(r, b); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%v allocations a delta", n)
			}
		})
	}
}

type steadyCase struct {
	name  string
	o     assemble.Options
	head  []rec
	kind  record.Kind
	flags record.Flags
	aux   uint32
	piece string
}

// steady are the deltas that a long turn is made of.
func steady() []steadyCase {
	stops := free()
	stops.Stop = []string{"\n\nHuman:", "STOP"}
	inJSON := cat(begin("<c>"), name("f"), args(0, `{"content": "`))
	value := cat(begin("<c>"), name("f"), key("p"))
	return []steadyCase{
		{"text", free(), nil, record.Text, 0, 0, "a token "},
		{"text, split characters", free(), txts("x\xe2"), record.Text, 0, 0, "\x82\xac\xe2"},
		{"text, stop strings", stops, nil, record.Text, 0, 0, "a\n\nST ok"},
		{"reasoning", free(), nil, record.Reasoning, 0, 0, "a token "},
		{"JSON arguments", free(), inJSON, record.Args, 0, 0, `if a < b`},
		{"quoted arguments", free(), cat(begin("<c>"), name("f"), args(0, `"{\"content\": \"`)), record.Args, 0, 0, `if \\n a`},
		{"string value", prop(`{"type":"string"}`), value, record.Value, 0, sch, "if a < b"},
		{"string value, escaped", free(), value, record.Value, record.EscXML, str, "a &lt; b"},
		{"object value", prop(`{"type":"object"}`), cat(value, rec{kind: record.Value, aux: sch, text: `{'a': '`}), record.Value, 0, sch, "if a < b"},
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, c := range steady() {
		b.Run(c.name, func(b *testing.B) {
			s := &sizes{}
			feed(b, s, c.o, c.head)
			r, p := record.Record{Kind: c.kind, Flags: c.flags, Aux: c.aux}, []byte(c.piece)
			b.ReportAllocs()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				if err := s.a.Record(r, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkArgument writes one large argument in small pieces: linear means the same figure a byte.
func BenchmarkArgument(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"64KB", 64 << 10}, {"1MB", 1 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(c.size))
			piece := []byte("abcd")
			for b.Loop() {
				s := &sizes{}
				feed(b, s, free(), cat(begin("<c>"), name("f"), args(0, `{"content": "`)))
				for range c.size / len(piece) {
					if err := s.a.Record(record.Record{Kind: record.Args}, piece); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkCall is a whole turn of one call with typed parameters, its schema read.
func BenchmarkCall(b *testing.B) {
	o := with(`{"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}`)
	o.AnyName = true
	recs := cat(begin("<c>"), name("f"), key("path"), val(sch, "a.txt"), key("n"), val(sch, "5"), end())
	b.ReportAllocs()
	for b.Loop() {
		feed(b, &sizes{}, o, recs)
	}
}

// BenchmarkTurn is a whole short turn: reasoning, text and a call of one declared tool.
func BenchmarkTurn(b *testing.B) {
	o := with(`{"type": "object", "properties": {"path": {"type": "string"}}}`)
	text := txts("The water stands level.", " It flows.")
	json := cat(begin("<c>"), name("f"), args(0, `{"path": "notes.md", `), args(0, `"content": "a low wall"}`), end())
	typed := cat(begin("<c>"), name("f"), key("path"), val(sch, "notes.md"), end())
	for _, c := range []struct {
		name string
		recs []rec
	}{
		{"text", cat(think("Why?"), text)},
		{"JSON call", cat(think("Why?"), text, json)},
		{"typed call", cat(think("Why?"), text, typed)},
	} {
		b.Run(c.name, func(b *testing.B) {
			bytes := make([][]byte, len(c.recs))
			for i, r := range c.recs {
				bytes[i] = []byte(r.text)
			}
			b.ReportAllocs()
			for b.Loop() {
				a := assemble.New(o, discard{})
				if err := a.Start(event.Usage{}); err != nil {
					b.Fatal(err)
				}
				for i, r := range c.recs {
					if err := a.Record(record.Record{Kind: r.kind, Flags: r.flags, Aux: r.aux}, bytes[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := a.Finish(event.ReasonStop, "", event.Usage{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type discard struct{}

func (discard) Event(*event.Event) error { return nil }
