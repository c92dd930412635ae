package sim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/sim"
)

func TestContract(t *testing.T) {
	paced := sim.Default()
	paced.Scale = 0.001
	for name, cfg := range map[string]sim.Config{
		"as fast as possible": {},
		"paced":               paced,
		"thinks":              {Thinks: true, Special: []sim.Special{{Text: "<think>", ID: 1}, {Text: "</think>", ID: 2}}},
		"batch of two":        {MaxBatch: 2},
		"a vocabulary":        {Thinks: true, Special: family, Vocabulary: pairs{}},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, enginetest.Factory{Open: func(testing.TB, string) engines.Engine { return sim.New(cfg) }})
		})
	}
}

// manual is a clock that stands still until it is waited for, and then is where it was waited for.
type manual struct {
	mu  sync.Mutex
	now time.Time
}

func newManual() *manual { return &manual{now: time.Unix(1000, 0)} }

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) Wait(ctx context.Context, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until.After(m.now) {
		m.now = until
	}
	return context.Cause(ctx)
}

func ids(n int, seed uint32) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)*2654435761 + seed
	}
	return out
}

// first runs a prompt and tells the time to its first token.
func first(t *testing.T, e *sim.Engine, clock *manual, prompt []uint32) (time.Duration, engines.Usage) {
	t.Helper()
	begin := clock.Now()
	st, err := e.Generate(t.Context(), &engines.Request{IDs: prompt, MaxTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Next(); err != nil {
		t.Fatal(err)
	}
	ttft := clock.Now().Sub(begin)
	out, err := enginetest.Drain(t, st)
	if err != nil {
		t.Fatal(err)
	}
	return ttft, *out.Usage
}

// TestCalibration: the published times to first token of a 52,000-token prompt, within 2 %.
func TestCalibration(t *testing.T) {
	clock := newManual()
	cfg := sim.B200()
	cfg.Clock = clock
	e := sim.New(cfg)
	prompt := ids(52_000, 0)
	near := func(name string, got, want time.Duration) {
		t.Helper()
		if d := float64(got-want) / float64(want); d > 0.02 || d < -0.02 {
			t.Errorf("%s: %v, published %v", name, got, want)
		}
	}
	cold, usage := first(t, e, clock, prompt)
	near("varying", cold, 912*time.Millisecond)
	if usage.Cached != 0 || usage.Input != 52_000 {
		t.Errorf("cold usage %+v", usage)
	}
	warm, usage := first(t, e, clock, prompt)
	near("stable", warm, 168*time.Millisecond)
	if usage.Cached != 51_968 {
		t.Errorf("warm usage %+v, want every whole block cached", usage)
	}
	changed := ids(52_000, 0)
	changed[100] = 7
	if _, usage = first(t, e, clock, changed); usage.Cached != 64 {
		t.Errorf("a change in the second block: usage %+v, want 64 cached", usage)
	}
}

func TestCacheIsBounded(t *testing.T) {
	e := sim.New(sim.Config{CacheBlocks: 4})
	clock := newManual()
	for seed := range uint32(5) {
		first(t, e, clock, ids(256, seed))
	}
	if _, u := first(t, e, clock, ids(256, 4)); u.Cached != 192 {
		t.Errorf("the latest prompt: %+v, want all but its last block", u)
	}
	if _, u := first(t, e, clock, ids(256, 0)); u.Cached != 0 {
		t.Errorf("the oldest prompt: %+v, want nothing", u)
	}
	off := sim.New(sim.Config{CacheBlocks: -1})
	first(t, off, clock, ids(256, 0))
	if _, u := first(t, off, clock, ids(256, 0)); u.Cached != 0 {
		t.Errorf("without a cache: %+v", u)
	}
	text := sim.New(sim.Config{})
	for _, want := range []int{0, 192} {
		st, err := text.Generate(t.Context(), &engines.Request{Prompt: strings.Repeat("word", 200)})
		if err != nil {
			t.Fatal(err)
		}
		out, err := enginetest.Drain(t, st)
		if err != nil || out.Usage.Cached != want || out.Usage.Input != 200 {
			t.Errorf("text prompt: %+v, %v, want %d cached of 200", out.Usage, err, want)
		}
	}
}

// TestBatchAndQueue: two at a time, one waits, the fourth is refused; who leaves lets the next in.
func TestBatchAndQueue(t *testing.T) {
	e := sim.New(sim.Config{MaxBatch: 2, MaxQueue: 1})
	var streams []engines.Stream
	for range 3 {
		st, err := e.Generate(t.Context(), enginetest.Request())
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	_, err := e.Generate(t.Context(), enginetest.Request())
	var busy *engines.Error
	if !errors.As(err, &busy) || busy.Class != engines.ClassBusy || busy.RetryAfter <= 0 {
		t.Fatalf("got %v, want busy", err)
	}
	waiting := streams[2].(engines.Peeker)
	if !streams[0].(engines.Peeker).Ready() || waiting.Ready() {
		t.Error("the first is in the batch, the third is not")
	}
	if err := streams[0].Close(); err != nil {
		t.Fatal(err)
	}
	if !waiting.Ready() {
		t.Error("the third did not move up")
	}
	for _, st := range streams[1:] {
		if _, err := enginetest.Drain(t, st); err != nil {
			t.Error(err)
		}
	}
}

// TestCancelInQueue: a cancelled generation leaves the queue although nobody pulls it.
func TestCancelInQueue(t *testing.T) {
	e := sim.New(sim.Config{MaxBatch: 1, MaxQueue: 1})
	running, err := e.Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	queued, err := e.Generate(ctx, enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := queued.Next()
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := enginetest.Drain(t, running); err != nil {
		t.Error(err)
	}
	st, err := e.Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Drain(t, st); err != nil {
		t.Error(err)
	}
}

// TestPrefillIsShared: the second of two prompts waits for the first one's prefill.
func TestPrefillIsShared(t *testing.T) {
	clock := newManual()
	e := sim.New(sim.Config{PrefillRate: 1000, Scale: 1, Clock: clock})
	begin := clock.Now()
	a, errA := e.Generate(t.Context(), &engines.Request{IDs: ids(1000, 1)})
	b, errB := e.Generate(t.Context(), &engines.Request{IDs: ids(1000, 2)})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.(engines.Peeker).Ready() || b.(engines.Peeker).Ready() {
		t.Error("ready before the prefill")
	}
	if _, err := b.Next(); err != nil {
		t.Fatal(err)
	}
	if got := clock.Now().Sub(begin); got != 2*time.Second {
		t.Errorf("the second prompt's first token came after %v, want 2s", got)
	}
	_, _ = a.Close(), b.Close()
}

func chat(text string) *engines.Request {
	return &engines.Request{Prompt: text, Conversation: &conv.Request{
		Messages: []conv.Message{user(text)},
		Tools:    []conv.ToolDef{bash},
		Choice:   conv.ToolChoice{Parallel: true},
	}}
}

var family = []sim.Special{{Text: "<think>", ID: 1}, {Text: "</think>", ID: 2}, {Text: "<tool_call>", ID: 3}, {Text: "</tool_call>", ID: 4}, {Text: "<|end|>", ID: 5}}

// TestSpansAndStops: markers that the renderer wrote have spans, the same text said by the actor has
// none, and the family's stop cuts the output.
func TestSpansAndStops(t *testing.T) {
	render := func(t sim.Turn, model string) []byte {
		return append(sim.Render(t, model), "<|end|>leftovers"...)
	}
	e := sim.New(sim.Config{Thinks: true, Special: family, RenderTurn: render})
	req := chat("say a <think> b <|end|> c\ncall Bash {\"command\":\"x\"}")
	req.Stop = []string{"<|end|>", "nowhere"}
	st, err := e.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enginetest.Drain(t, st)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(out.Spans, " "); got != "<think> </think> <tool_call> </tool_call>" {
		t.Errorf("spans %s", got)
	}
	if out.Finish.Stop != "<|end|>" || !strings.HasSuffix(out.Text, "</tool_call>") || !strings.Contains(out.Text, "a <think> b <|end|> c\n") {
		t.Errorf("stop %q, text %q", out.Finish.Stop, out.Text)
	}
	req = chat("say one STOP two")
	req.Stop = []string{"STOP"}
	if st, err = e.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if out, err = enginetest.Drain(t, st); err != nil || !strings.HasSuffix(out.Text, "one ") || out.Finish.Stop != "STOP" {
		t.Errorf("textual stop: %q, %+v, %v", out.Text, out.Finish, err)
	}
}

func TestPromptTail(t *testing.T) {
	got := string(sim.Render(sim.Turn{PromptTail: "assistant\n<think>\n", Blocks: []sim.Block{{Kind: sim.Reasoning, Text: "a"}, {Kind: sim.Text, Text: "b"}}}, ""))
	if want := "a\n</think>\n\nb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailAfter(t *testing.T) {
	e := sim.New(sim.Config{})
	for n, text := range []string{"long 50\nfail after 0", "fail after 1\nlong 50", "long 50\nfail after 2"} {
		st, err := e.Generate(t.Context(), chat(text))
		if err != nil {
			t.Fatal(err)
		}
		out, err := enginetest.Drain(t, st)
		var e *engines.Error
		if !errors.As(err, &e) || e.Class != engines.ClassProtocol || out.Deltas != n {
			t.Errorf("%q: %d deltas, %v", text, out.Deltas, err)
		}
	}
}

func TestWindow(t *testing.T) {
	e := sim.New(sim.Config{Window: 100})
	_, err := e.Generate(t.Context(), &engines.Request{IDs: ids(100, 0)})
	var over *engines.Error
	if !errors.As(err, &over) || over.Class != engines.ClassOverflow || over.Limit != 100 {
		t.Errorf("got %v", err)
	}
	req := chat("long 500")
	req.IDs = ids(95, 0)
	st, err := e.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enginetest.Drain(t, st)
	if err != nil || out.Finish.Reason != engines.ReasonLength || out.Usage.Output != 5 {
		t.Errorf("%+v, %+v, %v", out.Finish, out.Usage, err)
	}
}

// TestDeterminism: equal seeds give equal pieces, other seeds other ones.
func TestDeterminism(t *testing.T) {
	pieces := func(seed uint64) string {
		e := sim.New(sim.Config{Seed: seed, Thinks: true})
		st, err := e.Generate(t.Context(), chat("long 100"))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for {
			d, err := st.Next()
			if err == io.EOF {
				return b.String()
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Write(d.Bytes)
			b.WriteByte('|')
		}
	}
	first := pieces(1)
	if first != pieces(1) {
		t.Error("the same seed gave other pieces")
	}
	if first == pieces(2) {
		t.Error("another seed gave the same pieces")
	}
}

func TestGrammarIsRefused(t *testing.T) {
	req := chat("x")
	req.Constraint.Grammar = "root ::= x"
	_, err := sim.New(sim.Config{}).Generate(t.Context(), req)
	var e *engines.Error
	if !errors.As(err, &e) || e.Class != engines.ClassRefused {
		t.Errorf("got %v", err)
	}
}

func FuzzActor(f *testing.F) {
	f.Add("call Bash {\"command\":\"a\"}\nfail after 3\nlong 4\nsay x\ninterleave", "{}")
	f.Add("<system-reminder>call x {}</system-reminder> \"call x", `{"type":"object","properties":{"command":{"$ref":"#"}}}`)
	f.Fuzz(func(t *testing.T, text, schema string) {
		if strings.Contains(text, "long") {
			return
		}
		e := sim.New(sim.Config{Thinks: true, Special: family, Vocabulary: pairs{}})
		req := chat(text)
		req.Conversation.Tools = append(req.Conversation.Tools, tool("x", text, schema), patch)
		st, err := e.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for {
			d, err := st.Next()
			if err != nil {
				break
			}
			if total += len(d.Bytes); len(d.Bytes) == 0 && d.Finish == nil {
				t.Fatal("an empty delta")
			}
			if len(d.IDs) == 1 {
				if token, _ := (pairs{}).Token(d.IDs[0]); token != string(d.Bytes) {
					t.Fatalf("id %d for %q", d.IDs[0], d.Bytes)
				}
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkToken(b *testing.B) {
	e := sim.New(sim.Config{Special: family})
	b.ReportAllocs()
	var st engines.Stream
	for b.Loop() {
		if st == nil {
			b.StopTimer()
			var err error
			if st, err = e.Generate(b.Context(), chat("long 20000")); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if _, err := st.Next(); err != nil {
			_ = st.Close()
			st = nil
		}
	}
}

// BenchmarkPrompt is what the cache costs for a prompt of 61,000 ids that it holds.
func BenchmarkPrompt(b *testing.B) {
	e := sim.New(sim.Config{})
	req := chat("say x")
	req.IDs = ids(61_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		st, err := e.Generate(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := st.Next(); err != nil {
			b.Fatal(err)
		}
		_ = st.Close()
	}
}
