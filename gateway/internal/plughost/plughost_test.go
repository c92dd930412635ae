package plughost_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

func startBlock() []byte { return guest.Start{}.Append(nil) }

func TestParse(t *testing.T) {
	t.Parallel()
	p := toggle(t, plughost.Options{})
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"whole", []string{"a<<b<<c"}, `text "a"; marker "<<"; reasoning "b"; marker "<<"; text "c"`},
		{"cut in the marker", []string{"a<", "<b"}, `text "a"; marker "<<"; reasoning "b"`},
		{"held at the end", []string{"a<"}, `text "a<"`},
		{"empty", []string{""}, ``},
		{"long", []string{strings.Repeat("x", 5000)}, `text "` + strings.Repeat("x", 5000) + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, fault := parse(t, p, c.pieces...)
			if fault != nil || got != c.want {
				t.Errorf("got %s, fault %v; want %s", got, fault, c.want)
			}
		})
	}
}

func TestManifestOfPlugin(t *testing.T) {
	t.Parallel()
	p := toggle(t, plughost.Options{}).Plugin()
	if p.Name != "toggle" || p.Version != "1.2.3" || !p.Manifest.Is(plughost.KindTemplate) || len(p.Digest) != 64 {
		t.Errorf("got %s %s %s %+v", p.Name, p.Version, p.Digest, p.Manifest)
	}
}

func TestStartAndConfig(t *testing.T) {
	t.Parallel()
	pg := toggle(t, plughost.Options{}).Plugin()
	reasoning, err := pg.Parser([]byte("reasoning"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := parse(t, reasoning, "a"); got != `reasoning "a"` {
		t.Errorf("template of the configuration: got %s", got)
	}
	again, err := pg.Parser([]byte("reasoning"))
	if err != nil || again != reasoning {
		t.Errorf("a second parser for the same configuration: %v", err)
	}
	plain, err := pg.Parser(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, tr := stream(t, plain, guest.Start{Thinking: guest.ThinkingOn}.Append(nil))
	if err := s.Feed([]byte("b"), nil, false); err != nil || tr.String() != `reasoning "b"` {
		t.Errorf("start: got %s, %v", tr, err)
	}
	s, err = host.Open(plain, &trace{}, guest.Start{Tail: []byte("fail")}.Append(nil))
	wantErr(t, err, nil, "weir1_start returned -3")
	if s == nil || s.Fault() == nil {
		t.Error("the stream is not raw")
	}
	_, err = pg.Parser([]byte("refuse"))
	wantErr(t, err, plughost.ErrConfig, "weir1_open returned -1")
	_, err = pg.Parser(make([]byte, abi.MaxConfig+1))
	wantErr(t, err, nil, "configuration of 65537 bytes, at most 65536")
	// Longer than the guest's static buffer.
	if _, err := pg.Parser([]byte(strings.Repeat(" ", abi.MaxConfig-1))); err != nil {
		t.Errorf("large configuration: %v", err)
	}
}

// reference is what the Go guest does, in one pass.
func reference(text string) string {
	t := &trace{}
	kind := record.Text
	for text != "" {
		before, after, found := strings.Cut(text, "<<")
		if before != "" {
			_ = t.Record(record.Record{Kind: kind}, []byte(before))
		}
		if found {
			_ = t.Record(record.Record{Kind: record.Marker}, []byte("<<"))
		}
		kind ^= record.Text ^ record.Reasoning
		text = after
	}
	return t.String()
}

func TestPooledEqualsIsolated(t *testing.T) {
	t.Parallel()
	const workers, streams = 8, 1000
	p := toggle(t, plughost.Options{Instances: 3}) // fewer than workers, so that they wait for each other
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(k)))
			type one struct {
				s    *host.Stream
				t    *trace
				text string
				rest string
			}
			var all []*one
			for range streams / workers {
				g, err := p.Stream()
				if err != nil {
					t.Error(err)
					return
				}
				defer g.Close()
				var b strings.Builder
				for range rnd.IntN(60) {
					b.WriteString([]string{"<<", "a", "b ", "c"}[rnd.IntN(4)])
				}
				tr := &trace{}
				s, err := host.Open(g, tr, startBlock())
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, &one{s: s, t: tr, text: b.String(), rest: b.String()})
			}
			for open := len(all); open > 0; {
				o := all[rnd.IntN(len(all))]
				if o.s == nil {
					continue
				}
				n := min(len(o.rest), 1+rnd.IntN(9))
				if n == 0 {
					if err := o.s.Finish(abi.WhyStop); err != nil || o.s.Fault() != nil {
						t.Fatalf("finish: %v, %v", err, o.s.Fault())
					}
					if got, want := o.t.String(), reference(o.text); got != want {
						t.Fatalf("%q: got %s, want %s", o.text, got, want)
					}
					o.s = nil
					open--
					continue
				}
				if err := o.s.Feed([]byte(o.rest[:n]), nil, false); err != nil {
					t.Error(err)
				}
				o.rest = o.rest[n:]
			}
		})
	}
	wg.Wait()
	if n := p.Instances(); n > 3 {
		t.Errorf("%d instances, at most 3", n)
	}
	if n := p.Plugin().Holders(); n != 0 {
		t.Errorf("%d holders are left", n)
	}
}

func TestTrapLosesOneInstanceAndNoBytes(t *testing.T) {
	t.Parallel()
	var log logBuffer
	p := toggle(t, plughost.Options{Log: log.logger()})
	healthy, ht := stream(t, p, startBlock())
	if err := healthy.Feed([]byte("a<<b"), nil, false); err != nil {
		t.Fatal(err)
	}
	before := p.Instances()
	for _, c := range []struct{ name, input, want string }{
		{"panic", "!", `panic: boom`},
		{"exit", "^", "the guest called proc_exit with status 3"},
	} {
		s, tr := stream(t, p, startBlock())
		for _, piece := range []string{"x<<y", "z" + c.input + "<<more", "<<end"} {
			if err := s.Feed([]byte(piece), nil, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(abi.WhyStop); err != nil {
			t.Fatal(err)
		}
		if s.Fault() == nil || s.Fault().Export != abi.ExportFeed || !strings.Contains(s.Fault().Error(), c.want) {
			t.Errorf("%s: fault %v, want %q", c.name, s.Fault(), c.want)
		}
		if got, want := tr.bytes.String(), "x<<yz"+c.input+"<<more<<end"; got != want {
			t.Errorf("%s: records hold %q, want %q", c.name, got, want)
		}
		if got := p.Instances(); got != before-1 {
			t.Errorf("%s: %d instances after the trap, %d before", c.name, got, before)
		}
		if err := healthy.Feed([]byte("c"), nil, false); err != nil || healthy.Fault() != nil {
			t.Errorf("%s: another stream: %v, %v", c.name, err, healthy.Fault())
		}
	}
	if err := healthy.Finish(abi.WhyStop); err != nil || ht.String() != `text "a"; marker "<<"; reasoning "bcc"` {
		t.Errorf("another stream: %s, %v", ht, err)
	}
	if !strings.Contains(log.String(), "panic: boom") {
		t.Errorf("the log lacks the guest's message: %s", log.String())
	}
}

func TestGuestFaults(t *testing.T) {
	t.Parallel()
	text := func(from, n string) string { return put(recordsAt, uint32(record.Text), from, n) + answer(1) }
	for _, c := range []struct {
		name   string
		guest  tiny
		target error
		want   string
	}{
		{"unreachable", tiny{feed: w.Unreachable}, nil, "unreachable"},
		{"error code", tiny{feed: w.I64Const(-2)}, nil, "weir1_feed returned -2"},
		{"records outside the memory", tiny{feed: w.I64Const(0x20000<<32 | 16)}, host.ErrProtocol, "weir1_feed returned [131072,+16) in a memory of 131072 bytes"},
		{"records across the end", tiny{feed: w.I64Const(0x1fff8<<32 | 16)}, host.ErrProtocol, "in a memory of"},
		{"half a record", tiny{feed: w.I64Const(recordsAt<<32 | 24)}, host.ErrProtocol, "weir1_feed returned 24 bytes of records, want a multiple of 16"},
		{"too many records", tiny{feed: w.I64Const(recordsAt<<32 | 65552)}, host.ErrProtocol, "weir1_feed returned 65552 bytes, at most 65536"},
		{"record before the input", tiny{feed: text(w.I32Const(inAt-1), w.I32Const(1))}, host.ErrProtocol, "outside the input"},
		{"record after the input", tiny{feed: text(w.I32Const(inAt+1), w.LocalGet(0))}, host.ErrProtocol, "record 0 (text) at [16385,+3), outside the input [16384,+3)"},
		{"record of 4 GB", tiny{feed: text(w.I32Const(inAt), w.I32Const(-1))}, host.ErrProtocol, "outside the input"},
		{"unknown kind", tiny{feed: put(recordsAt, 99, w.I32Const(inAt), w.LocalGet(0)) + answer(1)}, host.ErrProtocol, "unknown kind 99"},
		{"load outside the memory", tiny{feed: w.I32Const(-1) + w.Load(0) + w.Drop + w.I64Const(0)}, nil, "out of bounds memory access"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := parser(t, newHost(t, plughost.Options{}), c.guest.wasm())
			got, fault := parse(t, p, "abc", "def")
			if got != `text "abcdef"` {
				t.Errorf("got %s", got)
			}
			if fault == nil {
				t.Fatal("no fault")
			}
			wantErr(t, fault, c.target, c.want)
			if n := p.Instances(); n > 1 {
				t.Errorf("%d instances", n)
			}
		})
	}
}

func TestMemoryThatGrows(t *testing.T) {
	t.Parallel()
	grow := w.I32Const(1) + w.MemoryGrow + w.Drop
	p := parser(t, newHost(t, plughost.Options{}), tiny{feed: grow + allText()}.wasm())
	// Growth moves the memory, and ends at the limit without a trap.
	if got, fault := parse(t, p, strings.Split(strings.Repeat("ab,", 300), ",")...); fault != nil || got != `text "`+strings.Repeat("ab", 300)+`"` {
		t.Errorf("got %s, fault %v", got, fault)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	// The guest answers the first span as a marker and the rest as text.
	at := func(off int32) string { return w.I32Const(inAt+inCap-24) + w.Load(uint32(off)) }
	feed := put(recordsAt, uint32(record.Text), w.I32Const(inAt), at(0)) +
		put(recordsAt+16, uint32(record.Marker), w.I32Const(inAt)+at(0)+w.Add, at(4)) +
		put(recordsAt+32, uint32(record.Text), w.I32Const(inAt)+at(12)+w.Add, at(16)) + answer(3)
	p := parser(t, newHost(t, plughost.Options{}), tiny{feed: feed}.wasm())
	s, tr := stream(t, p, startBlock())
	if err := s.Feed([]byte("ab<eos>cd"), []record.Span{{Off: 2, Len: 5, Token: 7}, {Off: 7, Len: 2, Token: 8}}, false); err != nil || s.Fault() != nil {
		t.Fatal(err, s.Fault())
	}
	if got := tr.String(); got != `text "ab"; marker "<eos>"; text "cd"` {
		t.Errorf("got %s", got)
	}
}

func TestForeignWindowAndLargeInput(t *testing.T) {
	t.Parallel()
	p := parser(t, newHost(t, plughost.Options{}), tiny{}.wasm())
	wantErr(t, p.Feed(&host.Call{Window: make([]byte, 8)}), nil, "window of another plugin: 8 bytes, want 16")
	wantErr(t, p.Feed(&host.Call{Window: make([]byte, 16), In: make([]byte, inCap+1)}), nil, "8193 bytes and 0 spans for a buffer of 8192")
	if err := p.Feed(&host.Call{Window: make([]byte, 16), In: make([]byte, inCap)}); err != nil {
		t.Error(err)
	}
}

func TestStartIsOptional(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{})
	if _, err := host.Open(parser(t, h, tiny{}.wasm()), &trace{}, startBlock()); err != nil {
		t.Error(err)
	}
	_, err := host.Open(parser(t, h, tiny{start: w.Unreachable}.wasm()), &trace{}, startBlock())
	wantErr(t, err, nil, "weir1_start: tiny 1: wasm error: unreachable")
	_, err = host.Open(parser(t, h, tiny{start: w.I32Const(-2)}.wasm()), &trace{}, startBlock())
	wantErr(t, err, nil, "weir1_start returned -2")
}

func TestSticky(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{Sticky: 2})
	// The guest counts its feeds in memory and calls all input after the first feed reasoning.
	feed := w.I32Const(0) + w.I32Const(0) + w.Load(0) + w.I32Const(1) + w.Add + w.Store(0) +
		put(recordsAt, uint32(record.Reasoning), w.I32Const(inAt), w.LocalGet(0)) +
		w.I32Const(0) + w.Load(0) + w.I32Const(1) + w.Eq + w.If + w.I32Const(recordsAt) + w.I32Const(int32(record.Text)) + w.Store(0) + w.End + answer(1)
	p := parser(t, h, tiny{noState: true, feed: feed}.wasm())
	if !p.Sticky() {
		t.Fatal("not sticky")
	}
	wantErr(t, p.Feed(&host.Call{In: []byte("a")}), nil, "use Stream")
	var guests []*plughost.Stream
	for range 2 {
		g, err := p.Stream()
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, g)
		if got, fault := parse(t, g, "a", "b", "c"); got != `text "a"; reasoning "bc"` || fault != nil {
			t.Errorf("got %s, %v", got, fault)
		}
	}
	_, err := p.Stream()
	wantErr(t, err, plughost.ErrBusy, "2 sticky streams")
	guests[0].Close()
	guests[0].Close()
	g, err := p.Stream()
	if err != nil {
		t.Fatal(err)
	}
	refused := &host.Call{In: []byte("a"), Spans: []record.Span{{Token: abi.RefusedToken}}}
	wantErr(t, g.Feed(refused), nil, "a refused call cannot be taken back")
	wantErr(t, g.Feed(&host.Call{In: []byte("a")}), nil, "cannot be taken back")
	g.Close()
	wantErr(t, guests[0].Feed(&host.Call{In: []byte("a")}), nil, "stream is closed")
	guests[1].Close()
	if n := p.Plugin().Holders(); n != 0 {
		t.Errorf("%d holders", n)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	entered := make(chan struct{})
	var first sync.Once
	log := blockingHandler{func() { first.Do(func() { close(entered); <-release }) }}
	h := newHost(t, plughost.Options{Instances: 1, Wait: time.Millisecond, Log: log.logger()})
	// The guest logs in each feed, and the log blocks: that holds the only instance.
	writes := tiny{
		imports: []sandbox.Import{importOf(t, sandbox.ModuleWeir, "log")},
		feed:    w.I32Const(1) + w.I32Const(inAt) + w.LocalGet(0) + w.Call(0) + allText(),
	}
	p := parser(t, h, writes.wasm())
	done := make(chan error, 1)
	go func() { done <- p.Feed(&host.Call{Window: make([]byte, 16), In: []byte("a")}) }()
	<-entered
	wantErr(t, p.Feed(&host.Call{Window: make([]byte, 16), In: []byte("b")}), plughost.ErrBusy, "1 of 1 for 1ms")
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := p.Feed(&host.Call{Window: make([]byte, 16), In: []byte("c")}); err != nil {
		t.Error(err)
	}
}

func importOf(tb testing.TB, module, name string) sandbox.Import {
	tb.Helper()
	for _, i := range sandbox.Allowed() {
		if i.Module == module && i.Name == name {
			return i
		}
	}
	tb.Fatalf("%s.%s is not allowed", module, name)
	return sandbox.Import{}
}

func TestPlanner(t *testing.T) {
	t.Parallel()
	p, err := toggle(t, plughost.Options{}).Plugin().Planner(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{0, 1, 10_000} {
		o := &plan.Outline{Rows: make([]plan.Row, rows), Switches: []byte("{}")}
		for i := range o.Rows {
			o.Rows[i].Message = uint32(i)
		}
		b, err := p.Plan(plan.AppendOutline(nil, o))
		if err != nil {
			t.Fatal(err)
		}
		ops, err := plan.Parse(b)
		if err != nil || len(ops) != rows || rows > 0 && ops[rows-1].Message != uint32(rows-1) {
			t.Errorf("%d rows: %d instructions, %v", rows, len(ops), err)
		}
		if again, err := p.Ops(plan.AppendOutline(nil, o)); err != nil || !slices.Equal(again, ops) {
			t.Errorf("%d rows: %d instructions decoded at once, %v", rows, len(again), err)
		}
	}
	_, err = p.Plan([]byte("junk"))
	wantErr(t, err, nil, "weir1_plan returned -2")
	_, err = p.Plan(make([]byte, 5<<20))
	wantErr(t, err, nil, "outline of 5242880 bytes")
	o := &plan.Outline{Rows: make([]plan.Row, 30_000)}
	_, err = p.Plan(plan.AppendOutline(nil, o))
	wantErr(t, err, host.ErrProtocol, "weir1_plan returned 480000 bytes, at most 262144")
	if _, err := p.Plan(plan.AppendOutline(nil, &plan.Outline{})); err != nil {
		t.Errorf("after a fault: %v", err)
	}
	_, err = parser(t, newHost(t, plughost.Options{}), tiny{}.wasm()).Plugin().Planner(nil)
	wantErr(t, err, nil, "plugin tiny is not a template policy")
}
