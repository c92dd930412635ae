package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// run runs a turn in a bubble of fake time.
func run(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// must runs a turn that has to begin.
func must(t *testing.T, tn *turn.Turn, s *sink) turn.Outcome {
	t.Helper()
	out, err := tn.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("events: %v", err)
	}
	return out
}

func TestTurn(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		e := &engine{headers: time.Second, steps: []step{say(time.Second, "Hel"), say(2*time.Second, "lo"), done(engines.ReasonStop)}}
		tn, s, m := newTurn(replica(e))
		out := must(t, tn, s)
		compare(t, s.String(),
			"1s turn_start", "2s text_start", `2s text_delta "Hel"`, `4s text_delta "lo"`, "4s text_end", "4s usage 20/5/7", "4s finish stop")
		if out.TTFT != 2*time.Second || out.Replica != "r" || out.Fault != nil || out.Usage.Output != 7 || m.tokens != 2 || e.closed != 1 {
			t.Errorf("outcome %+v, %d tokens, closed %d times", out, m.tokens, e.closed)
		}
	})
}

// TestBurst has deltas that wait already: they leave in one write.
func TestBurst(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(peeking{&engine{steps: []step{say(time.Second, "a"), say(0, "b"), say(0, "c"), say(time.Second, "d"), done(engines.ReasonStop)}}}))
		must(t, tn, s)
		if s.n != 3 {
			t.Errorf("%d writes, want the start, a to c, and d with the end", s.n)
		}
	})
}

// TestEnds has every way in which an engine says that it is over.
func TestEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		last    step
		options assemble.Options
		want    []string
	}{
		"stop":          {last: done(engines.ReasonStop), want: []string{"0s usage 20/5/7", "0s finish stop"}},
		"length":        {last: done(engines.ReasonLength), want: []string{"0s usage 20/5/7", "0s finish length"}},
		"content":       {last: done(engines.ReasonContent), want: []string{"0s usage 20/5/7", "0s finish content_filter"}},
		"abort":         {last: done(engines.ReasonAbort), want: []string{"0s usage 20/5/7", "0s finish stop"}},
		"its own calls": {last: done(engines.ReasonToolCalls), want: []string{"0s usage 20/5/7", "0s finish stop"}},
		"no usage": {
			last: step{delta: engines.Delta{Finish: &engines.Finish{Reason: engines.ReasonStop}}},
			want: []string{"0s usage 11/0/1", "0s finish stop"},
		},
		"stop string": {
			last: done(engines.ReasonLength), options: assemble.Options{Stop: []string{"lo"}},
			want: []string{"0s usage 11/0/1", "0s finish stop_sequencelo"},
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				e := &engine{steps: []step{say(0, "Hello"), c.last}}
				tn, s, _ := newTurn(replica(e))
				tn.Assemble = c.options
				must(t, tn, s)
				text := `0s text_delta "Hello"`
				if len(c.options.Stop) > 0 {
					text = `0s text_delta "Hel"`
				}
				compare(t, s.String(), append([]string{"0s turn_start", "0s text_start", text, "0s text_end"}, c.want...)...)
				if e.closed != 1 {
					t.Errorf("closed %d times", e.closed)
				}
			})
		})
	}
}

// TestLateHeaders opens the stream when the engine takes its time, keeps it alive, and then has only the
// stream to tell of a fault.
func TestLateHeaders(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(&engine{headers: 32 * time.Second, refuse: &engines.Error{Class: engines.ClassBusy, Message: "secret", RetryAfter: time.Second}}))
		out := must(t, tn, s)
		compare(t, s.String(), "5s turn_start", "15s alive", "25s alive", "32s fault busy: the engine is overloaded, try again later")
		if out.Fault == nil || out.Fault.Kind != fault.Busy || out.TTFT != 0 {
			t.Errorf("outcome %+v", out)
		}
	})
}

// TestNoHeaderWait opens the stream at once.
func TestNoHeaderWait(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(&engine{headers: 3 * time.Second, steps: []step{done(engines.ReasonStop)}}))
		tn.Times.HeaderWait = 0
		must(t, tn, s)
		compare(t, s.String(), "0s turn_start", "3s usage 20/5/7", "3s finish stop")
	})
}

// TestSilence keeps a stream alive while the engine says nothing, as often as was asked, give or take half.
func TestSilence(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(&engine{steps: []step{say(0, "a"), say(31*time.Second, "b"), say(9*time.Second, "c"), done(engines.ReasonStop)}}))
		must(t, tn, s)
		compare(t, s.String(), "0s turn_start", "0s text_start", `0s text_delta "a"`, "10s alive", "20s alive", "30s alive",
			`31s text_delta "b"`, `40s text_delta "c"`, "40s text_end", "40s usage 20/5/7", "40s finish stop")
	})
}

// TestWhole has a client that waits for the whole answer: nothing is sent early, and faults have a status.
func TestWhole(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(&engine{headers: 20 * time.Second, steps: []step{say(20*time.Second, "a"), failing(20*time.Second, engines.ClassProtocol)}}))
		tn.Streamed = false
		out, err := tn.Run(t.Context())
		if f := fault.From(err); f.Kind != fault.Engine || out.Fault != f {
			t.Errorf("got %v, outcome %+v", err, out)
		}
		compare(t, s.String(), "20s turn_start", "40s text_start", `40s text_delta "a"`)
	})
}

// TestIdle ends a turn whose engine hangs, before its headers and after them.
func TestIdle(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		engine   engine
		streamed bool
		want     []string
		at       time.Duration
	}{
		"before the headers":           {engine: engine{headers: time.Hour}, at: time.Minute},
		"before the headers, streamed": {engine: engine{headers: time.Hour}, streamed: true, at: time.Minute, want: []string{"5s turn_start", "15s alive", "25s alive", "35s alive", "45s alive", "55s alive", "1m0s fault timeout: the engine sent nothing for 1m0s, try again later"}},
		"in the stream": {
			engine: engine{steps: []step{say(0, "a"), say(time.Hour, "b")}}, streamed: true, at: time.Minute,
			want: []string{"0s turn_start", "0s text_start", `0s text_delta "a"`, "10s alive", "20s alive", "30s alive", "40s alive", "50s alive", "1m0s text_end", "1m0s fault timeout: the engine sent nothing for 1m0s, try again later"},
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				e := c.engine
				tn, s, _ := newTurn(replica(&e))
				tn.Streamed = c.streamed
				_, err := tn.Run(t.Context())
				if c.streamed != (err == nil) || !c.streamed && fault.From(err).Kind != fault.Timeout {
					t.Errorf("got %v", err)
				}
				if d := time.Since(s.begun); d < c.at || d > c.at+5*time.Second {
					t.Errorf("ended after %v", d)
				}
				if e.gone == nil {
					t.Error("the engine was not cancelled")
				}
				compare(t, s.String(), c.want...)
			})
		})
	}
}

// TestSlowClient has a client that takes nothing for longer than the engine may be silent: the engine is
// not to blame for what it was not asked.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		tn, s, _ := newTurn(replica(&engine{steps: []step{say(0, "a"), say(2*time.Second, "b"), done(engines.ReasonStop)}}))
		tn.Times = turn.Times{HeaderWait: time.Second, KeepAlive: time.Second, Idle: 5 * time.Second}
		s.slow = func(flush int) time.Duration {
			if flush == 1 {
				return 20 * time.Second
			}
			return 0
		}
		if out := must(t, tn, s); out.Fault != nil {
			t.Errorf("fault %v\n%s", out.Fault, s)
		}
	})
}

// TestSilentOutput has an engine that talks while nothing of it shows, as with thinking that the client
// does not want to see: the client must be kept alive all the same.
func TestSilentOutput(t *testing.T) {
	t.Parallel()
	run(t, func(t *testing.T) {
		steps := []step{say(0, "a")}
		for range 5 {
			steps = append(steps, say(2*time.Second, "b"))
		}
		tn, s, _ := newTurn(replica(&engine{steps: append(steps, done(engines.ReasonStop))}))
		tn.Times = turn.Times{HeaderWait: time.Second, KeepAlive: 3 * time.Second, Idle: time.Minute}
		s.hidden = true
		must(t, tn, s)
		if n := strings.Count(s.String(), "alive"); n < 2 {
			t.Errorf("%d signs of life in ten seconds\n%s", n, s)
		}
	})
}

// TestClientGone has a client whose connection breaks: at the start, in the text, at a keepalive.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, flush := range []int{1, 2, 3, 4} {
		run(t, func(t *testing.T) {
			e := &engine{steps: []step{say(time.Second, "a"), say(25*time.Second, "b"), done(engines.ReasonStop)}}
			tn, s, _ := newTurn(replica(e))
			s.breaks = flush
			out, err := tn.Run(t.Context())
			if err != nil || out.Fault == nil || out.Fault.Kind != fault.Canceled {
				t.Errorf("flush %d: outcome %+v, %v", flush, out, err)
			}
			if e.closed != 1 {
				t.Errorf("flush %d: the engine's stream was closed %d times", flush, e.closed)
			}
			if d := time.Since(s.begun); d > 25*time.Second {
				t.Errorf("flush %d: the turn ended after %v", flush, d)
			}
		})
	}
}

// TestCauses tells apart why a turn's context ended.
func TestCauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		kind  fault.Kind
	}{
		"left":      {context.Canceled, fault.Canceled},
		"a fault":   {fault.New(fault.Unavailable, "shutting down"), fault.Unavailable},
		"wrapped":   {errors.Join(errors.New("x"), fault.New(fault.Conflict, "y")), fault.Conflict},
		"too late":  {context.DeadlineExceeded, fault.Timeout},
		"something": {errors.New("x"), fault.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				tn, s, _ := newTurn(replica(&engine{steps: []step{say(0, "a"), say(time.Minute, "b")}}))
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(3*time.Second, func() { cancel(c.cause) })
				out, err := tn.Run(ctx)
				if err != nil || out.Fault == nil || out.Fault.Kind != c.kind {
					t.Errorf("got %+v, %v", out.Fault, err)
				}
				if d := time.Since(s.begun); d != 3*time.Second {
					t.Errorf("ended after %v", d)
				}
			})
		})
	}
}

// TestReplicas tries another replica for faults that are the first one's own, as long as it gave nothing.
func TestReplicas(t *testing.T) {
	t.Parallel()
	good := func() *engine { return &engine{steps: []step{say(0, "ok"), done(engines.ReasonStop)}} }
	refusing := func(c engines.Class) *engine { return &engine{refuse: &engines.Error{Class: c, Message: "secret"}} }
	for name, c := range map[string]struct {
		first *engine
		kind  fault.Kind // of the end; empty: the second replica served
	}{
		"unavailable":        {first: refusing(engines.ClassUnavailable)},
		"busy":               {first: refusing(engines.ClassBusy)},
		"internal":           {first: refusing(engines.ClassInternal)},
		"protocol":           {first: refusing(engines.ClassProtocol)},
		"refused":            {first: refusing(engines.ClassRefused), kind: fault.Invalid},
		"overflow":           {first: refusing(engines.ClassOverflow), kind: fault.Overflow},
		"broke at once":      {first: &engine{steps: []step{failing(0, engines.ClassProtocol)}}},
		"broke after a word": {first: &engine{steps: []step{say(0, "a"), failing(0, engines.ClassProtocol)}}, kind: fault.Engine},
		"no engine's error":  {first: &engine{refuse: errors.New("x")}, kind: fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				second := good()
				tn, s, _ := newTurn(replica(c.first), turn.Replica{Name: "second", Engine: second})
				out, err := tn.Run(t.Context())
				if c.kind == "" {
					if err != nil || out.Fault != nil || out.Replica != "second" {
						t.Errorf("got %+v, %v\n%s", out, err, s)
					}
					return
				}
				if out.Fault == nil || out.Fault.Kind != c.kind || second.calls != 0 || out.Replica != "r" {
					t.Errorf("got %+v, %v, second called %d times", out, err, second.calls)
				}
			})
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		run(t, func(t *testing.T) {
			tn, _, _ := newTurn()
			if _, err := tn.Run(t.Context()); fault.From(err).Kind != fault.Unavailable {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("all busy", func(t *testing.T) {
		t.Parallel()
		run(t, func(t *testing.T) {
			busy := &engine{refuse: &engines.Error{Class: engines.ClassBusy, RetryAfter: 7 * time.Second}}
			tn, _, _ := newTurn(replica(refusing(engines.ClassUnavailable)), replica(busy))
			_, err := tn.Run(t.Context())
			if f := fault.From(err); f.Kind != fault.Busy || f.RetryAfter != 7*time.Second {
				t.Errorf("got %+v", f)
			}
		})
	})
}

// TestMixed refuses an engine that parses and does not in one turn.
func TestMixed(t *testing.T) {
	t.Parallel()
	fragment := step{delta: engines.Delta{Fragments: []engines.Fragment{{Kind: engines.FragmentText, Text: "b"}}}}
	for name, steps := range map[string][]step{
		"raw first":        {say(0, "a"), fragment},
		"structured first": {fragment, say(0, "a")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				tn, s, _ := newTurn(replica(&engine{steps: append(steps, done(engines.ReasonStop))}))
				if out := must(t, tn, s); out.Fault == nil || out.Fault.Kind != fault.Engine {
					t.Errorf("got %+v\n%s", out, s)
				}
			})
		})
	}
}

// TestPlugin runs a parser that ends the turn, or fails, under both policies.
func TestPlugin(t *testing.T) {
	t.Parallel()
	start := []string{"0s turn_start", "0s text_start", `0s text_delta "a"`, "0s text_end", "0s reasoning_start", `0s reasoning_delta "b"`, "0s reasoning_end"}
	usage := "0s usage 20/5/7"
	for name, c := range map[string]struct {
		plugin plugin
		pieces []string
		abort  bool
		want   []string
		faults int
	}{
		"whole":           {pieces: []string{"a/b", "/c"}, want: append(start[:7:7], "0s text_start", `0s text_delta "c"`, "0s text_end", usage, "0s finish stop")},
		"ends the turn":   {pieces: []string{"a/b/.", "never"}, want: append(start[:7:7], "0s usage 11/0/1", "0s finish stop")},
		"traps, raw":      {pieces: []string{"a/b/", "c!/", "d"}, faults: 1, want: append(start[:7:7], "0s text_start", `0s text_delta "c!/"`, `0s text_delta "d"`, "0s text_end", usage, "0s finish stop")},
		"traps, abort":    {pieces: []string{"a/b", "c!/", "d"}, abort: true, faults: 1, want: append(start[:6:6], "0s reasoning_end", "0s text_start", `0s text_delta "c!/"`, "0s text_end", "0s fault plugin: the model's parser failed")},
		"no start, raw":   {plugin: plugin{noStart: true}, pieces: []string{"a/"}, faults: 1, want: []string{"0s turn_start", "0s text_start", `0s text_delta "a/"`, "0s text_end", usage, "0s finish stop"}},
		"no start, abort": {plugin: plugin{noStart: true}, pieces: []string{"a/"}, abort: true, faults: 1, want: []string{"0s turn_start", "0s text_start", `0s text_delta "a/"`, "0s text_end", "0s fault plugin: the model's parser failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				var steps []step
				for _, p := range c.pieces {
					steps = append(steps, say(0, p))
				}
				tn, s, m := newTurn(replica(&engine{steps: append(steps, done(engines.ReasonStop))}))
				var g host.Guest
				g, err := guesttest.Native(&c.plugin, nil)
				if err != nil {
					t.Fatal(err)
				}
				tn.Parser, tn.Abort, tn.Prompt.Start = g, c.abort, guest.Start{}.Append(nil)
				must(t, tn, s)
				compare(t, s.String(), c.want...)
				if len(m.faults) != c.faults {
					t.Errorf("faults %q, want %d", m.faults, c.faults)
				}
			})
		})
	}
}
