package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/tck/wat"
	"github.com/weirgate/weir/engines/enginetest"
	wasm "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// runaway is a plugin that is honest until a feed begins with four tildes, which no trial and no test of its
// host's shows it.
type runaway struct {
	name, kind string
	code       string
}

func runaways() []runaway {
	again := wasm.LocalGet(0) + wasm.LocalGet(1) + wasm.LocalGet(2) + wasm.Call(2) + wasm.Drop // of weir1_feed
	return []runaway{
		{"loops", "fuel", wasm.Loop + wasm.Br(0) + wasm.End},
		{"recurses", "depth", again},
		{"hoards", "fuel", wasm.Loop + wasm.I32Const(1) + wasm.MemoryGrow + wasm.Drop + wasm.Br(0) + wasm.End},
		{"traps", "trap", wasm.Unreachable},
		{"lies", "records", wasm.I64Const(0x7fff0000<<32|64) + wasm.Return},
	}
}

// beside runs a gateway with the runaways in its folder and a model for each. Model "paced" is a healthy one
// whose tokens come at some pace.
func beside(tb testing.TB, pace string) *world {
	tb.Helper()
	more := fmt.Sprintf("[engines.paced]\nkind = \"sim\"\nprefill_tps = 0\noverhead = \"0s\"\ntoken_time = %q\n", pace) +
		"[[models]]\nid = \"paced\"\nengines = [\"paced\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\ntools = \"hermes\"\npolicy = \"qwen3\"\n"
	plugins := map[string][]byte{}
	for _, r := range runaways() {
		plugins[r.name] = allText(r.name, "1", whenTildes(r.code))
		more += entry(r.name, fmt.Sprintf("parser = %q\n", r.name))
	}
	w, _ := run(tb, options{plugins: "quarantine = 0", more: more})
	w.dropAll(plugins)
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("~~~~ runs", " away", " and <think>on\u00e9")})
	return w
}

// raw is what a runaway's stream must come out as.
const raw = "~~~~ runs away and <think>on\u00e9"

// in is the world for a test of its own.
func (w *world) in(tb testing.TB) *world {
	tb.Helper()
	c := *w
	c.tb = tb
	return &c
}

// TestHostile runs streams whose plugins loop, recurse, take memory, trap and lie beside healthy ones: the
// healthy ones are what they are alone, and the others come as raw text to the last byte.
func TestHostile(t *testing.T) {
	t.Parallel()
	const each = 12
	w := beside(t, "0s")
	healthy := map[string]string{}
	for _, s := range []surface{chat(), messages()} {
		healthy[s.name] = plain(w.ask(s, s.body("paced", "hello", streamed)).Blocks)
	}
	live := w.gw.LivePlugins()
	t.Run("streams", func(t *testing.T) {
		for _, r := range runaways() {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				w := w.in(t)
				for n := range each {
					s := []surface{chat(), messages()}[n%2]
					if a := w.ask(s, s.body(r.name, "hello", streamed)); plain(a.Blocks) != fmt.Sprintf("text %q", raw) || a.Finish != s.stop {
						t.Errorf("%s: %s, finish %q", s.name, plain(a.Blocks), a.Finish)
					}
				}
			})
		}
		for _, s := range []surface{chat(), messages()} {
			t.Run("healthy on "+s.name, func(t *testing.T) {
				t.Parallel()
				w := w.in(t)
				for range 4 * each {
					if got := plain(w.ask(s, s.body("paced", "hello", streamed)).Blocks); got != healthy[s.name] {
						t.Errorf("beside runaways: %s\nalone: %s", got, healthy[s.name])
					}
				}
			})
		}
	})
	for _, r := range runaways() {
		if n := w.metric("weir_plugin_faults_total", `plugin="`+r.name+`"`, `kind="`+r.kind+`"`, `export="weir1_feed"`); n != each {
			t.Errorf("%s: %v faults of kind %s are counted, want %d", r.name, n, r.kind, each)
		}
	}
	if n := w.gw.LivePlugins(); n != live {
		t.Errorf("%d plugins live, %d before", n, live)
	}
}

// TestHostileWhole is the same for an answer that is not streamed.
func TestHostileWhole(t *testing.T) {
	t.Parallel()
	w := beside(t, "0s")
	for _, s := range []surface{chat(), messages()} {
		for _, r := range runaways() {
			resp, b := w.post(s.path, s.body(r.name, "hello"))
			if resp.StatusCode != 200 || plain(s.whole(t, b).Blocks) != fmt.Sprintf("text %q", raw) {
				t.Errorf("%s, %s: status %d: %s", s.name, r.name, resp.StatusCode, b)
			}
		}
	}
}

// BenchmarkRunaways reports the gap between the tokens of healthy streams, first alone and then while twenty
// streams a second run away, and how many times longer its 99th percentile is.
func BenchmarkRunaways(b *testing.B) {
	for _, r := range runaways() {
		b.Run(r.name, func(b *testing.B) {
			w := beside(b, "2ms")
			s := chat()
			var alone, busy []time.Duration
			for b.Loop() {
				alone = append(alone, w.gaps(s)...)
				stop := make(chan struct{})
				var wg sync.WaitGroup
				wg.Go(func() {
					tick := time.NewTicker(time.Second / 20)
					defer tick.Stop()
					for {
						select {
						case <-stop:
							return
						case <-tick.C:
							w.ask(s, s.body(r.name, "hello", streamed))
						}
					}
				})
				busy = append(busy, w.gaps(s)...)
				close(stop)
				wg.Wait()
			}
			a, z := p99(alone), p99(busy)
			b.ReportMetric(float64(a.Microseconds()), "p99-alone-µs")
			b.ReportMetric(float64(z.Microseconds()), "p99-beside-µs")
			b.ReportMetric(float64(z)/float64(a), "ratio")
		})
	}
}

// gaps are the times between the frames of sixteen healthy streams.
func (w *world) gaps(s surface) []time.Duration {
	var mu sync.Mutex
	var out []time.Duration
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			st := w.open(s.path, s.body("paced", strings.Repeat("Say a long story. ", 20), streamed))
			last := time.Time{}
			for _, ok := st.next(); ok; _, ok = st.next() {
				now := time.Now()
				if !last.IsZero() {
					mu.Lock()
					out = append(out, now.Sub(last))
					mu.Unlock()
				}
				last = now
			}
		})
	}
	wg.Wait()
	return out
}

func p99(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)*99/100]
}

// TestHostileRecords has a guest whose records are allowed one by one and follow no grammar together. Whatever
// becomes of the answer, it is one that a strict client reads, and the streamed and the whole one agree on how
// the turn ended.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../testdata/hostile/records_by_chance.wat"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := wat.Assemble(string(text))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := run(t, options{plugins: "quarantine = 0", more: entry("chance", "parser = \"records_by_chance\"\n")})
	w.dropAll(map[string][]byte{"records_by_chance": module})
	rnd := rand.New(rand.NewPCG(1, 2))
	calls, asked := 0, 0
	for n := range 60 {
		var b strings.Builder
		fmt.Fprintf(&b, "~~~~%c", 'A'+n)
		for range 2000 {
			b.WriteByte("ffffffffffgggggggg{}\"\\:,1[] e\n"[rnd.IntN(30)])
		}
		// In one chunk: what this guest does depends on how its input is cut, and deltas that wait are put together.
		w.double.Play(enginetest.Script{Chunks: enginetest.Say(b.String())})
		for _, s := range []surface{chat(), messages()} {
			a := w.ask(s, s.body("chance", "hello", streamed, s.tools("f", "g")))
			resp, body := w.post(s.path, s.body("chance", "hello", s.tools("f", "g")))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("seed %d, %s: status %d: %s", n, s.name, resp.StatusCode, body)
			}
			if whole := s.whole(t, body); whole.Finish != a.Finish {
				t.Errorf("seed %d, %s: a stream ends with %q, the whole answer with %q", n, s.name, a.Finish, whole.Finish)
			}
			calls += len(a.calls())
			if a.Finish == s.calls {
				asked++
			}
			for _, c := range a.calls() {
				if a.Finish == s.calls && !json.Valid([]byte(c.Text)) {
					t.Errorf("seed %d, %s: the turn asks for a call of arguments that are no JSON: %q", n, s.name, c.Text)
				}
			}
		}
	}
	t.Logf("%d calls, %d turns that ask for them, %v faults", calls, asked, w.metric("weir_plugin_faults_total"))
	if calls == 0 {
		t.Error("no stream had a call")
	}
	if log := w.log.String(); strings.Contains(log, "panic") {
		t.Errorf("panics were logged:\n%.2000s", log)
	}
}
