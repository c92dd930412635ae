package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

func refusedAt(off uint32) record.Span { return record.Span{Off: off, Token: abi.RefusedToken} }

var empty = step{export: "finish"}

// call is the header of a call: opener "[" and a one-byte name.
var call = []rec{{kind: record.CallBegin, n: 1}, {kind: record.Name, n: 1}}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", abi.MaxPiece)
	for _, tt := range []struct {
		name    string
		accept  []string
		feeds   []feed
		steps   []step
		want    string
		fault   error
		dropped int
	}{
		{
			name:  "held bytes come again",
			feeds: []feed{{p: "ab"}, {p: "c"}},
			steps: []step{{in: "ab", recs: []rec{{kind: record.Text, n: 1}}}, {in: "bc", recs: []rec{{kind: record.Text, n: 2}}}, empty},
			want:  `text "a", text "bc"`,
		},
		{
			name:  "nothing decided",
			feeds: []feed{{p: "a"}, {p: "b"}},
			steps: []step{{in: "a"}, {in: "ab"}, {export: "finish", in: "ab", recs: []rec{{kind: record.Text, n: 2}}}, empty},
			want:  `text "ab"`,
		},
		{
			name:  "finish is repeated until it had no bytes",
			feeds: []feed{{p: "abc"}},
			steps: []step{
				{in: "abc"},
				{export: "finish", in: "abc", recs: []rec{{kind: record.Text, n: 1}}},
				{export: "finish", in: "bc", recs: []rec{{kind: record.Text, n: 2}}},
				{export: "finish", recs: []rec{{kind: record.BlockEnd}}},
			},
			want: `text "a", text "bc", block_end ""`,
		},
		{
			name:  "finish consumes nothing",
			feeds: []feed{{p: "ab"}},
			steps: []step{{in: "ab"}, {export: "finish", in: "ab", recs: []rec{{kind: record.BlockEnd}}}},
			want:  `block_end "", text "ab"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "a name ends a feed and the rest follows at once",
			feeds: []feed{{p: "a[f1"}}, accept: []string{"f"},
			steps: []step{
				{in: "a[f1", recs: append([]rec{{kind: record.Text, n: 1}}, call...)},
				{in: "1", recs: []rec{{kind: record.Args, n: 1}}},
				empty,
			},
			want: `text "a", call_begin "[", name "f", args "1"`,
		},
		{
			name:  "a name at the end of the input needs no more feed",
			feeds: []feed{{p: "[f"}}, accept: []string{"f"},
			steps: []step{{in: "[f", recs: call}, empty},
			want:  `call_begin "[", name "f"`,
		},
		{
			name:  "a refused name comes again as text",
			feeds: []feed{{p: "a[f1"}},
			steps: []step{
				{in: "a[f1", spans: []record.Span{}, recs: append([]rec{{kind: record.Text, n: 1}}, call...)},
				{in: "a[f1", spans: []record.Span{refusedAt(1)}, recs: []rec{{kind: record.Text, n: 4}}},
				empty,
			},
			want: `text "a[f1"`,
		},
		{
			name:  "a refusal stands while its opener is held",
			feeds: []feed{{p: "a[f"}, {p: "b"}, {p: "c"}},
			steps: []step{
				{in: "a[f", recs: append([]rec{{kind: record.Text, n: 1}}, call...)},
				{in: "a[f", spans: []record.Span{refusedAt(1)}, recs: []rec{{kind: record.Text, n: 1}}},
				{in: "[fb", spans: []record.Span{refusedAt(0)}, recs: []rec{{kind: record.Text, n: 1}}},
				{in: "fbc", spans: []record.Span{}, recs: []rec{{kind: record.Text, n: 3}}},
				empty,
			},
			want: `text "a", text "[", text "fbc"`,
		},
		{
			name:  "refused twice, further on",
			feeds: []feed{{p: "[f[g[h"}}, accept: []string{"h"},
			steps: []step{
				{in: "[f[g[h", recs: call},
				{in: "[f[g[h", spans: []record.Span{refusedAt(0)}, recs: append([]rec{{kind: record.Text, n: 2}}, call...)},
				{in: "[f[g[h", spans: []record.Span{refusedAt(2)}, recs: append([]rec{{kind: record.Text, n: 4}}, call...)},
				empty,
			},
			want: `text "[f[g", call_begin "[", name "h"`,
		},
		{
			name:  "a call where it was refused",
			feeds: []feed{{p: "[f"}},
			steps: []step{{in: "[f", recs: call}, {in: "[f", recs: call}},
			want:  `text "[f"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "refused at finish",
			feeds: []feed{{p: "[f"}},
			steps: []step{
				{in: "[f"},
				{export: "finish", in: "[f", recs: call},
				{export: "finish", in: "[f", spans: []record.Span{refusedAt(0)}, recs: []rec{{kind: record.Text, n: 2}}},
				empty,
			},
			want: `text "[f"`,
		},
		{
			name:  "name last, accepted",
			feeds: []feed{{p: "[1"}, {p: "f"}}, accept: []string{"f"},
			steps: []step{
				{in: "[1", recs: []rec{{kind: record.CallBegin, n: 1}}},
				{in: "1", recs: []rec{{kind: record.Args, n: 1}}},
				{in: "f", recs: []rec{{kind: record.Name, n: 1}}},
				empty,
			},
			want: `call_begin "[", args "1", name "f"`,
		},
		{
			name:  "name last, refused",
			feeds: []feed{{p: "["}, {p: "1f]"}},
			steps: []step{
				{in: "[", recs: []rec{{kind: record.CallBegin, n: 1}}},
				{in: "1f]", recs: []rec{{kind: record.Args, n: 1}, {kind: record.Name, n: 1}}},
				{in: "1f]", spans: []record.Span{refusedAt(1)}, recs: []rec{{kind: record.Args, n: 1}, {kind: record.CallEnd}, {kind: record.Text, n: 2}}},
				empty,
			},
			want: `call_begin "[", args "1", call_end "", text "f]"`,
		},
		{
			name:  "name last, where it was refused",
			feeds: []feed{{p: "["}, {p: "f"}},
			steps: []step{
				{in: "[", recs: []rec{{kind: record.CallBegin, n: 1}}},
				{in: "f", recs: []rec{{kind: record.Name, n: 1}}},
				{in: "f", recs: []rec{{kind: record.Name, n: 1}}},
			},
			want:  `call_begin "[", text "f"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "name last, at finish",
			feeds: []feed{{p: "[1"}}, accept: []string{"f"},
			steps: []step{
				{in: "[1"},
				{export: "finish", in: "[1", recs: []rec{{kind: record.CallBegin, n: 1}}},
				{export: "finish", in: "1", recs: []rec{{kind: record.Args, n: 1}, {kind: record.CallEnd}}},
				empty,
			},
			want: `call_begin "[", args "1", call_end ""`,
		},
		{
			name:  "name last, without a return",
			feeds: []feed{{p: "[1"}},
			steps: []step{{in: "[1", recs: []rec{{kind: record.CallBegin, n: 1}, {kind: record.Args, n: 1}}}},
			want:  `text "[1"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "a header without its name",
			feeds: []feed{{p: "[1"}},
			steps: []step{{in: "[1", recs: []rec{{kind: record.CallBegin, n: 1}, {kind: record.ID, n: 1}}}},
			want:  `text "[1"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "an empty call_begin that returns",
			feeds: []feed{{p: "[1"}},
			steps: []step{{in: "[1", recs: []rec{{kind: record.CallBegin}}}},
			want:  `text "[1"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "an empty name that is accepted",
			feeds: []feed{{p: "[f"}}, accept: []string{""},
			steps: []step{{in: "[f", recs: []rec{{kind: record.CallBegin}, {kind: record.Name}}}},
			want:  `text "[f"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "a gap",
			feeds: []feed{{p: "abc"}, {p: "d"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.Text, n: 1}, {kind: record.Text, n: 1, skip: 1}}}},
			want:  `text "abc", text "d"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "an overlap",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.Text, n: 2}, {kind: record.Text, n: 1, skip: -1}}}},
			want:  `text "abc"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "beyond the input",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.Text, n: 4}}}},
			want:  `text "abc"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "a length that wraps around",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.Text, n: 2}, {kind: record.Text, n: 1<<32 - 1}}}},
			want:  `text "abc"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "an unknown kind",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.CallEnd + 1, n: 1}}}},
			want:  `text "abc"`,
			fault: record.ErrRecord,
		},
		{
			name:  "a kind to ignore covers its bytes",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.KindIgnored + 3, n: 2, flags: 0xffff}, {kind: record.Text, n: 1}}}, empty},
			want:  `text "c"`,
		},
		{
			name:  "a flag that is not allowed",
			feeds: []feed{{p: "abc"}},
			steps: []step{{in: "abc", recs: []rec{{kind: record.Text, n: 1, flags: record.Fin}}}},
			want:  `text "abc"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "records after a name",
			feeds: []feed{{p: "[f1"}}, accept: []string{"f"},
			steps: []step{{in: "[f1", recs: append(call[:2:2], rec{kind: record.Args, n: 1})}},
			want:  `text "[f1"`,
			fault: host.ErrProtocol,
		},
		{
			name:  "a trap loses no byte",
			feeds: []feed{{p: "ab"}, {p: "c"}, {p: "d"}},
			steps: []step{{in: "ab", recs: []rec{{kind: record.Text, n: 1}}}, {in: "bc", err: errTrap}},
			want:  `text "a", text "bc", text "d"`,
			fault: errTrap,
		},
		{
			name:  "a trap at finish loses no byte",
			feeds: []feed{{p: "ab"}},
			steps: []step{{in: "ab"}, {export: "finish", in: "ab", err: errTrap}},
			want:  `text "ab"`,
			fault: errTrap,
		},
		{
			name:  "the end of the turn",
			feeds: []feed{{p: "a$bc"}, {p: "de"}},
			steps: []step{{in: "a$bc", recs: []rec{
				{kind: record.Text, n: 1}, {kind: record.Marker, n: 1, flags: record.EndTurn}, {kind: record.Text, n: 1},
			}}},
			want:    `text "a", marker "$"`,
			dropped: 4,
		},
		{
			name:  "pieces and the boundary flag on the last",
			feeds: []feed{{p: long + "y", boundary: true}},
			steps: []step{
				{in: long, recs: []rec{{kind: record.Text, n: abi.MaxPiece}}},
				{in: "y", flags: abi.FlagBoundary, recs: []rec{{kind: record.Text, n: 1}}},
				empty,
			},
			want: `text "` + long + `", text "y"`,
		},
		{
			name:  "a boundary without bytes",
			feeds: []feed{{p: "<"}, {boundary: true}},
			steps: []step{{in: "<"}, {in: "<", flags: abi.FlagBoundary, recs: []rec{{kind: record.Text, n: 1}}}, empty},
			want:  `text "<"`,
		},
		{
			name:  "no bytes, no call",
			feeds: []feed{{}},
			steps: []step{empty},
		},
		{
			name:  "a span across the end of a piece moves to the next",
			feeds: []feed{{p: long + "tok", spans: []record.Span{{Off: 510, Len: 4, Token: 7}}}},
			steps: []step{
				{in: long[:510], spans: []record.Span{}, recs: []rec{{kind: record.Text, n: 510}}},
				{in: "xxtok", spans: []record.Span{{Off: 0, Len: 4, Token: 7}}, recs: []rec{{kind: record.Text, n: 5}}},
				empty,
			},
			want: `text "` + long[:510] + `", text "xxtok"`,
		},
		{
			name:  "spans move with held bytes",
			feeds: []feed{{p: "a<t>", spans: []record.Span{{Off: 1, Len: 3, Token: 7}}}, {p: "</t>", spans: []record.Span{{Len: 4, Token: 8}}}},
			steps: []step{
				{in: "a<t>", spans: []record.Span{{Off: 1, Len: 3, Token: 7}}, recs: []rec{{kind: record.Text, n: 1}}},
				{in: "<t></t>", spans: []record.Span{{Off: 0, Len: 3, Token: 7}, {Off: 3, Len: 4, Token: 8}}, recs: []rec{{kind: record.Marker, n: 3}}},
				{export: "finish", in: "</t>", spans: []record.Span{{Len: 4, Token: 8}}, recs: []rec{{kind: record.Marker, n: 4}}},
				empty,
			},
			want: `text "a", marker "<t>", marker "</t>"`,
		},
		{
			name: "spans that make no sense",
			feeds: []feed{{p: "abcd", spans: []record.Span{
				{Off: 1, Len: 0, Token: 1},
				{Off: 1, Len: 2, Token: 2},
				{Off: 2, Len: 1, Token: 3},
				{Off: 0, Len: 1, Token: 4},
				{Off: 3, Len: 2, Token: 5},
				{Off: 3, Len: 1<<32 - 1, Token: 6},
				{Off: 1<<32 - 1, Len: 9, Token: 7},
			}}},
			steps: []step{{in: "abcd", spans: []record.Span{{Off: 1, Len: 2, Token: 2}}, recs: []rec{{kind: record.Text, n: 4}}}, empty},
			want:  `text "abcd"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &script{t: t, steps: tt.steps}
			sink := &recorder{accept: tt.accept}
			s, err := host.Open(g, sink, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range tt.feeds {
				if err := s.Feed([]byte(f.p), f.spans, f.boundary); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Finish(abi.WhyStop); err != nil {
				t.Fatal(err)
			}
			g.done()
			if sink.String() != tt.want {
				t.Errorf("got  %s\nwant %s", sink, tt.want)
			}
			if s.Dropped() != tt.dropped || s.Ended() != (tt.dropped > 0) {
				t.Errorf("dropped %d, ended %v; expected %d", s.Dropped(), s.Ended(), tt.dropped)
			}
			if tt.fault == nil && s.Fault() != nil || tt.fault != nil && (s.Fault() == nil || !errors.Is(s.Fault(), tt.fault)) {
				t.Errorf("fault %v, expected %v", s.Fault(), tt.fault)
			}
		})
	}
}

func TestHeldTooMuch(t *testing.T) {
	piece := strings.Repeat("x", abi.MaxPiece)
	g := &script{t: t, steps: []step{{in: piece}, {in: piece + piece}, {in: piece + piece + "y"}}}
	sink := &recorder{}
	s, err := host.Open(g, sink, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Feed([]byte(piece+piece), nil, false); err != nil || s.Fault() != nil || s.Held() != abi.MaxHeld {
		t.Fatalf("%d bytes held: error %v, fault %v", s.Held(), err, s.Fault())
	}
	if err := s.Feed([]byte("y"), nil, false); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(s.Fault(), host.ErrProtocol) || string(sink.all) != piece+piece+"y" {
		t.Errorf("fault %v after %d bytes", s.Fault(), len(sink.all))
	}
	if f := s.TakeFault(); f == nil || s.TakeFault() != nil {
		t.Error("a fault is taken once")
	}
}

func TestTooManyRecords(t *testing.T) {
	g := &script{t: t, steps: []step{{in: "a", recs: make([]rec, abi.MaxRecords+1)}}}
	sink := &recorder{}
	s, err := host.Open(g, sink, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Feed([]byte("a"), nil, false); err != nil || !errors.Is(s.Fault(), host.ErrProtocol) {
		t.Errorf("error %v, fault %v", err, s.Fault())
	}
}

// TestManySpans feeds more one-byte tokens than one feed may carry, to guests that take and that hold.
func TestManySpans(t *testing.T) {
	const n = 2*host.MaxSpans + 8
	p := []byte(strings.Repeat("t", n))
	spans := make([]record.Span, n)
	for i := range spans {
		spans[i] = record.Span{Off: uint32(i), Len: 1, Token: uint32(i)}
	}
	for _, tt := range []struct {
		name  string
		takes bool
	}{{"takes", true}, {"holds", false}} {
		t.Run(tt.name, func(t *testing.T) {
			g := &counter{takes: tt.takes}
			sink := &recorder{}
			s, err := host.Open(g, sink, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Feed(p, spans, false); err != nil {
				t.Fatal(err)
			}
			if g.most > host.MaxSpans || string(sink.all) != string(p) {
				t.Errorf("%d spans in one feed, %d of %d bytes", g.most, len(sink.all), n)
			}
			if tt.takes && (s.Fault() != nil || g.tokens != n) || !tt.takes && !errors.Is(s.Fault(), host.ErrProtocol) {
				t.Errorf("fault %v after %d spans", s.Fault(), g.tokens)
			}
		})
	}
}

// counter counts spans; it takes everything as text, or nothing.
type counter struct {
	takes        bool
	most, tokens int
}

func (g *counter) Template() []byte                     { return []byte{0} }
func (g *counter) Start(_, _ []byte) error              { return nil }
func (g *counter) Finish(c *host.Call, _ abi.Why) error { return g.Feed(c) }

func (g *counter) Feed(c *host.Call) error {
	g.most = max(g.most, len(c.Spans))
	if g.takes && len(c.In) > 0 {
		g.tokens += len(c.Spans)
		c.Records = append(c.Records, record.Record{Kind: record.Text, Len: uint32(len(c.In))})
	}
	return nil
}

func TestStickyRefusalGoesRaw(t *testing.T) {
	g := &script{t: t, sticky: true, steps: []step{{in: "[f1", recs: call}}}
	sink := &recorder{}
	s, err := host.Open(g, sink, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Feed([]byte("[f1"), nil, false); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(s.Fault(), host.ErrSticky) || sink.String() != `text "[f1"` {
		t.Errorf("fault %v, got %s", s.Fault(), sink)
	}
}

func TestStartFails(t *testing.T) {
	sink := &recorder{}
	s, err := host.Open(&script{t: t, starts: errTrap}, sink, nil)
	var f *host.Fault
	if !errors.As(err, &f) || f.Export != abi.ExportStart || !errors.Is(err, errTrap) {
		t.Fatalf("got %v", err)
	}
	if err := errors.Join(s.Feed([]byte("a"), nil, true), s.Finish(abi.WhyStop)); err != nil || sink.String() != `text "a"` || !s.Fed() {
		t.Errorf("error %v, got %s", err, sink)
	}
}

func TestRaw(t *testing.T) {
	sink := &recorder{}
	s := host.Raw(sink)
	long := strings.Repeat("x", 3*abi.MaxPiece)
	if err := errors.Join(s.Feed([]byte(long), nil, true), s.Feed(nil, nil, true), s.Finish(abi.WhyStop)); err != nil {
		t.Fatal(err)
	}
	if string(sink.all) != long || len(sink.got) != 1 || s.Fault() != nil {
		t.Errorf("%d bytes in %d records, fault %v", len(sink.all), len(sink.got), s.Fault())
	}
}

func TestSinkErrorIsReturned(t *testing.T) {
	errSink := errors.New("client went away")
	g := &script{t: t, steps: []step{{in: "a", recs: []rec{{kind: record.Text, n: 1}}}}}
	s, err := host.Open(g, &recorder{err: errSink}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Feed([]byte("a"), nil, false); !errors.Is(err, errSink) || s.Fault() != nil {
		t.Errorf("error %v, fault %v", err, s.Fault())
	}
}

// TestWindowGoesBack sees the window of the scripts, which counts calls: a refused one does not count.
func TestWindowGoesBack(t *testing.T) {
	var windows []byte
	g := &script{t: t, steps: []step{
		{in: "[f", recs: call},
		{in: "[f", recs: []rec{{kind: record.Text, n: 2}}},
		empty,
	}}
	s, err := host.Open(watcher{script: g, seen: &windows}, &recorder{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Feed([]byte("[f"), nil, false), s.Finish(abi.WhyStop)); err != nil {
		t.Fatal(err)
	}
	if string(windows) != "\x00\x00\x01" {
		t.Errorf("windows before the calls: %v", windows)
	}
}

type watcher struct {
	*script
	seen *[]byte
}

func (w watcher) Feed(c *host.Call) error {
	*w.seen = append(*w.seen, c.Window[0])
	return w.script.Feed(c)
}

func (w watcher) Finish(c *host.Call, why abi.Why) error {
	*w.seen = append(*w.seen, c.Window[0])
	return w.script.Finish(c, why)
}
