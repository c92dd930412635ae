package plughost_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/abi/tck/wat"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// attack is a module that wishes the host ill.
type attack struct {
	name string
	// where is what fails: load, open, start, feed, finish, reserve for an open that needs a larger buffer, or
	// refused for a feed whose name was refused.
	where string
	// fault is its kind, error for one that the guest returned; or refused where the text tells, config, any,
	// none, or swallows for a guest that makes bytes disappear by means that the ABI grants.
	fault string
	after int    // feeds before it
	text  string // what the refusal must say
	wasm  []byte
}

// header is the first line of a file of testdata/hostile.
var header = regexp.MustCompile(`^;; (load|open|reserve|start|feed|finish|refused) ([a-z]+)(?: after (\d+))?(?: "([^"]*)")?: .+$`)

// root is the repository's.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		err = errors.New("no go.mod above")
	}
	tb.Fatal(err)
	return ""
}

// hostileFiles assembles testdata/hostile.
func hostileFiles(tb testing.TB) []attack {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(root(tb), "testdata", "hostile", "*.wat"))
	if err != nil || len(paths) < 100 {
		tb.Fatalf("%d hostile modules, %v", len(paths), err)
	}
	var out []attack
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".wat")
		first, _, _ := strings.Cut(string(text), "\n")
		m := header.FindStringSubmatch(first)
		if m == nil {
			tb.Fatalf("%s begins %q, which does not say what is expected", name, first)
		}
		after, _ := strconv.Atoi(m[3])
		a := attack{name: name, where: m[1], fault: m[2], after: after, text: m[4]}
		if a.wasm, err = wat.Assemble(string(text)); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, a)
	}
	return out
}

// checkFault holds an error of one place to what is expected of the attack. nil is no fault.
func (a *attack) checkFault(t *testing.T, where string, err error) {
	t.Helper()
	switch {
	case a.fault == "any":
		t.Logf("%s: %v", where, err)
		return
	case plughost.RaceDetector && err != nil && strings.Contains(err.Error(), "out of time"):
		// The detector makes what the host does for a guest, such as growing a table, many times as dear.
		t.Logf("%s, under race: %v", where, err)
		return
	case a.fault == "none" || a.fault == "swallows":
		if err != nil {
			t.Errorf("%s: %v, want no fault", where, err)
		}
		return
	case err == nil:
		t.Errorf("no fault, want %s at %s", a.fault, a.where)
		return
	}
	if where != a.where && (a.where != "refused" || where != "feed") {
		t.Errorf("fault at %s, want %s at %s: %v", where, a.fault, a.where, err)
	}
	switch a.fault {
	case "config":
		if !errors.Is(err, plughost.ErrConfig) {
			t.Errorf("%s: %v, want a refused configuration", where, err)
		}
	case "refused":
		if !strings.Contains(err.Error(), a.text) {
			t.Errorf("%s: %v, want it to say %q", where, err, a.text)
		}
	default:
		got := plughost.KindOf(err)
		if got == plughost.KindRefused {
			got = "error"
		}
		// The laws that package host checks are of the kind protocol where no record breaks them by itself.
		if string(got) != a.fault && (a.fault != "records" || got != plughost.KindProtocol) {
			t.Errorf("%s: fault of kind %s, want %s: %v", where, got, a.fault, err)
		}
	}
}

// hostileInput is a stream that looks like a model's, in pieces of many sizes.
func (a *attack) hostileInput() (pieces []string) {
	text := strings.Repeat("so <think>it goes</think> on <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call> \u00e9\n", 50+a.after/80)
	cut := func(n, times int) {
		for range times {
			n := min(n, len(text))
			pieces = append(pieces, text[:n])
			text = text[n:]
		}
	}
	cut(1, 20+a.after)
	cut(8, 20)
	cut(64, 10)
	cut(1100, 2)
	return pieces
}

// verdict is a trace that accepts names or does not.
type verdict struct {
	trace
	accept bool
}

func (v *verdict) Accept([]record.Record, []byte) bool { return v.accept }

// run loads the module and takes a stream through it. The stream must be whole, whatever the guest does.
func (a *attack) run(t *testing.T, h *plughost.Host) {
	t.Helper()
	p, err := h.Load(t.Context(), "", a.wasm, a.name)
	if err != nil {
		a.checkFault(t, "load", err)
		return
	}
	defer p.Retire()
	open, config := "open", "{}"
	if a.where == "reserve" {
		open, config = a.where, "{"+strings.Repeat(" ", 9000)+"}"
	}
	r, err := p.Parser([]byte(config))
	if err != nil {
		a.checkFault(t, open, err)
		return
	}
	g, err := r.Stream()
	if err != nil {
		a.checkFault(t, "open", err)
		return
	}
	defer g.Close()
	sink := &verdict{accept: a.where != "refused"}
	s, _ := host.Open(g, sink, startBlock())
	pieces := a.hostileInput()
	for _, piece := range pieces {
		b := []byte(piece)
		if err := s.Feed(b, nil, false); err != nil {
			t.Fatal(err)
		}
		if string(b) != piece {
			t.Fatal("the input of the stream was changed")
		}
	}
	if err := s.Finish(abi.WhyStop); err != nil {
		t.Fatal(err)
	}
	if got, want := sink.bytes.String(), strings.Join(pieces, ""); got != want && a.fault != "swallows" {
		t.Errorf("%d bytes of %d came out, or other ones", len(got), len(want))
	}
	fault := s.Fault()
	if fault == nil {
		a.checkFault(t, "", nil)
		return
	}
	a.checkFault(t, strings.TrimPrefix(fault.Export, "weir1_"), fault)
}

// healthy runs a stream of a plugin that wishes nobody ill.
func healthy(t *testing.T, r *plughost.Parser) {
	t.Helper()
	got, fault := parse(t, r, "all ", "is ", "well")
	if fault != nil || got != `text "all is well"` {
		t.Errorf("a healthy stream gives %s, fault %v", got, fault)
	}
}

// TestHostile holds the host to its word for every module of testdata/hostile, and for those that are made
// here: the module is refused with its reason, or each call fails with the kind of fault that the file
// names; no byte of a stream is lost; other plugins go on; nothing is left behind.
func TestHostile(t *testing.T) {
	var log logBuffer
	h := newHost(t, plughost.Options{Log: log.logger()})
	well := parser(t, h, tiny{}.wasm())
	live, goroutines := h.Live(), runtime.NumGoroutine()
	for _, a := range slices.Concat(hostileFiles(t), generated()) {
		t.Run(a.name, func(t *testing.T) {
			a.run(t, h)
			healthy(t, well)
			if n := h.Live(); n != live {
				t.Errorf("%d plugins live, want %d", n, live)
			}
		})
	}
	await(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MB of heap are left", m.HeapAlloc>>20)
	}
	if lines := strings.Count(log.String(), "\n"); lines > 1000 {
		t.Errorf("%d lines were logged", lines)
	}
	if strings.ContainsAny(log.String(), "\x1b\x00") {
		t.Error("a guest writes control characters to the log")
	}
}

// TestHostileBeside runs healthy streams while others fail without a pause.
func TestHostileBeside(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{})
	well := toggle(t, plughost.Options{})
	var bad []attack
	for _, a := range hostileFiles(t) {
		switch a.name {
		case "loop_in_feed", "recursion_exponential", "recursion_deep", "trap_in_the_middle", "exit_in_feed", "grows_memory_for_ever", "records_a_million", "loop_in_finish":
			bad = append(bad, a)
		}
	}
	if len(bad) != 8 {
		t.Fatalf("%d attacks, want 8", len(bad))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for k := range 2 {
		wg.Go(func() {
			for n := k; ; n++ {
				select {
				case <-done:
					return
				default:
					a := bad[n%len(bad)]
					a.run(t, h)
				}
			}
		})
	}
	const text = "a<<b<<c and so on<<"
	for range 300 {
		var pieces []string
		for _, c := range text {
			pieces = append(pieces, string(c))
		}
		if got, fault := parse(t, well, pieces...); fault != nil || got != reference(text) {
			t.Errorf("beside hostile streams: %s, fault %v", got, fault)
		}
	}
	close(done)
	wg.Wait()
	if n := h.Live(); n != 0 {
		t.Errorf("%d hostile plugins live", n)
	}
}

// TestHostilePool fails streams of one plugin at the same time as others of it run: guests that misbehave
// by chance, or for some inputs, do not take the healthy streams of their pool along.
func TestHostilePool(t *testing.T) {
	t.Parallel()
	const feed = `(if (i32.eq (i32.load8_u (i32.const 0x4000)) (i32.const 33)) (then (loop $again (br $again))))
    (call $text (local.get $len))`
	r := parser(t, newHost(t, plughost.Options{Instances: 2}), usual(feed, "", ""))
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for n := range 20 {
				s, sink := stream(t, r, startBlock())
				input := strings.Repeat("x", 100)
				if (n+k)%2 == 0 {
					input = "!" + input
				}
				for _, piece := range []string{input[:1], input[1:50], input[50:]} {
					if err := s.Feed([]byte(piece), nil, false); err != nil {
						t.Error(err)
					}
				}
				if err := s.Finish(abi.WhyStop); err != nil || sink.bytes.String() != input {
					t.Errorf("%v, %d bytes of %d", err, sink.bytes.Len(), len(input))
				}
				switch f := s.Fault(); {
				case input[0] == '!' && (f == nil || plughost.KindOf(f) != plughost.KindFuel):
					t.Errorf("a stream that runs away: %v", f)
				case input[0] != '!' && f != nil:
					t.Errorf("a healthy stream: %v", f)
				}
			}
		})
	}
	wg.Wait()
	if n := r.Instances(); n > 2 {
		t.Errorf("%d instances, at most 2", n)
	}
}

// TestHostileFolder drops every module into a folder at once. What breaks a law is refused with its reason,
// what serves is whole, and the healthy plugin among them is live.
func TestHostileFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("well.wasm", tiny{name: "well"}.wasm())
	attacks := slices.Concat(hostileFiles(t), generated())
	for _, a := range attacks {
		f.write(a.name+".wasm", a.wasm)
	}
	f.settle()
	refused := map[string]string{}
	for _, s := range f.reg.Status() {
		if s.Err != "" {
			refused[strings.TrimSuffix(filepath.Base(s.Origin), ".wasm")] = s.Err
		}
	}
	if refused["well"] != "" || len(refused) < 60 {
		t.Errorf("%d modules are refused, of well: %s", len(refused), refused["well"])
	}
	for _, a := range attacks {
		why := refused[a.name]
		switch {
		case a.fault == "fuel" && a.where != "reserve" && a.after == 0 && why == "":
			t.Errorf("%s is not refused", a.name)
		case a.where == "load" && a.fault == "refused" && !strings.Contains(why, a.text):
			t.Errorf("%s: refused with %q, want it to say %q", a.name, why, a.text)
		}
		if len(why) > 4096 || strings.Contains(why, "\x1b") {
			t.Errorf("%s: the reason has %d bytes, or control characters", a.name, len(why))
		}
	}
	p, err := f.reg.Acquire("well")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	r, err := p.Parser([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	healthy(t, r)
}

// BenchmarkHostile is what it costs to cut a guest short: one feed that runs away, the instance that is
// lost with it and the stream that goes on raw.
func BenchmarkHostile(b *testing.B) {
	for _, a := range hostileFiles(b) {
		switch a.name {
		case "loop_in_feed", "recursion_exponential", "recursion_deep", "loop_of_divisions", "loop_over_cache_misses", "chases_cache_misses", "copies_memory_for_ever", "slow_to_begin",
			"grows_memory_for_ever", "grows_memory_and_touches_it", "trap_in_the_middle", "burns_its_budget", "draws_random_for_ever", "writes_for_ever", "logs_for_ever":
			b.Run(a.name, func(b *testing.B) {
				// A thread has a clock of its own. What it stands at after a call is what the next one begins with, but
				// for what makes an instance, which is no part of the feed.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var last, longest, all time.Duration
				calls := 0
				r := parser(b, newHost(b, plughost.Options{OnCall: func(c plughost.CallStats) {
					now := plughost.ThreadTime()
					if c.Export == abi.ExportFeed {
						longest = max(longest, now-last)
						all += now - last
						calls++
					}
					last = now
				}}), a.wasm)
				piece := bytes.Repeat([]byte("x"), 8)
				for b.Loop() {
					s, _ := stream(b, r, startBlock())
					for range 4 {
						last = plughost.ThreadTime()
						if err := s.Feed(piece, nil, false); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(longest.Microseconds()), "longest-cpu-µs")
				b.ReportMetric(float64(all.Microseconds())/float64(calls), "mean-cpu-µs")
			})
		}
	}
}
