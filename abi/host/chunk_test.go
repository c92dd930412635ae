package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// letters is a guest whose decisions depend on the bytes and spans alone: '<' waits for one more byte
// and is a marker with it, "[x" is a call x unless it was refused, '$' ends the turn, '?' traps, other
// bytes are text.
type letters struct{ final bool }

func (letters) Template() []byte        { return []byte{0} }
func (letters) Start(_, _ []byte) error { return nil }
func (letters) Feed(c *host.Call) error { return letters{}.scan(c) }

func (letters) Finish(c *host.Call, _ abi.Why) error {
	if len(c.In) == 0 {
		c.Records = append(c.Records, record.Record{Kind: record.BlockEnd})
		return nil
	}
	return letters{final: true}.scan(c)
}

func (g letters) scan(c *host.Call) error {
	refused := -1
	for _, sp := range c.Spans {
		if sp.Token == abi.RefusedToken {
			refused = int(sp.Off)
		} else if int(sp.Off+sp.Len) > len(c.In) {
			return errTrap
		}
	}
	emit := func(k record.Kind, f record.Flags, at, n int) {
		c.Records = append(c.Records, record.Record{Kind: k, Flags: f, Ptr: uint32(at), Len: uint32(n)})
	}
	for i := 0; i < len(c.In); {
		n := 1
		switch b := c.In[i]; {
		case (b == '<' || b == '[' && i > refused) && i+1 == len(c.In) && !g.final:
			return nil
		case b == '<' && i+1 < len(c.In):
			n = 2
			emit(record.Marker, 0, i, n)
		case b == '[' && i > refused && i+1 < len(c.In):
			emit(record.CallBegin, 0, i, 1)
			emit(record.Name, 0, i+1, 1)
			return nil
		case b == '$':
			emit(record.Marker, record.EndTurn, i, 1)
		case b == '?':
			return errTrap
		default:
			emit(record.Text, 0, i, 1)
		}
		i += n
	}
	return nil
}

func open(tb testing.TB, sink host.Sink) *host.Stream {
	tb.Helper()
	s, err := host.Open(letters{}, sink, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// FuzzChunks checks that cutting the input changes nothing, and that no byte is lost, traps included.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("ab<c[f1[g2<"), []byte{1, 2, 3})
	f.Add([]byte("a$bc[f"), []byte{2})
	f.Add([]byte("[[[[<[<"), []byte{1})
	f.Add([]byte("ab[?f"), []byte{1, 3})
	f.Add(bytes.Repeat([]byte("abc<[g"), 400), []byte{200, 7, 255})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		run := func(cut func(n int) int) (string, *host.Stream) {
			sink := &recorder{accept: []string{"f", "<", "["}}
			s := open(t, sink)
			for rest := in; len(rest) > 0; {
				n := cut(len(rest))
				spans := []record.Span{{Off: 0, Len: uint32(min(n, 3)), Token: 1}}
				if err := s.Feed(rest[:n], spans, false); err != nil {
					t.Fatal(err)
				}
				if s.Held() > abi.MaxHeld {
					t.Fatalf("%d bytes held", s.Held())
				}
				rest = rest[n:]
			}
			if err := s.Finish(abi.WhyStop); err != nil {
				t.Fatal(err)
			}
			if got := len(sink.all) + s.Dropped(); got != len(in) || !bytes.Equal(sink.all, in[:len(sink.all)]) {
				t.Fatalf("%q came out as %q with %d dropped", in, sink.all, s.Dropped())
			}
			return merged(sink), s
		}
		whole, w := run(func(n int) int { return n })
		i := 0
		parts, p := run(func(n int) int {
			if len(cuts) == 0 {
				return n
			}
			i++
			return min(n, int(cuts[i%len(cuts)])+1)
		})
		if w.Ended() != p.Ended() && bytes.ContainsRune(in, '$') {
			return // a trap behind the end of the turn is met only where both lie in one feed
		}
		if (w.Fault() == nil) != (p.Fault() == nil) || w.Fault() != nil && !errors.Is(w.Fault(), errTrap) {
			t.Fatalf("faults %v and %v", w.Fault(), p.Fault())
		}
		if w.Fault() == nil && whole != parts {
			t.Fatalf("%q gives %s, in chunks %s", in, whole, parts)
		}
	})
}

// merged joins what the sink got; text of the script comes byte by byte.
func merged(r *recorder) string { return fmt.Sprint(r.got) }

type quiet struct{}

func (quiet) Accept([]record.Record, []byte) bool { return false }
func (quiet) Record(record.Record, []byte) error  { return nil }

func TestFeedAllocatesNothing(t *testing.T) {
	s := open(t, quiet{})
	p := bytes.Repeat([]byte("words <m and [r "), 80)
	spans := []record.Span{{Off: 6, Len: 2, Token: 1}, {Off: 510, Len: 4, Token: 2}, {Off: 1030, Len: 2, Token: 3}}
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Feed(p, spans, true); err != nil {
			t.Fatal(err)
		}
	}); n != 0 || s.Fault() != nil {
		t.Errorf("%v allocations a feed, fault %v", n, s.Fault())
	}
}

func BenchmarkFeed8(b *testing.B) {
	s := open(b, quiet{})
	p := []byte("8 bytes ")
	spans := []record.Span{{Off: 2, Len: 5, Token: 1}}
	b.ReportAllocs()
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if err := s.Feed(p, spans, false); err != nil {
			b.Fatal(err)
		}
	}
}
