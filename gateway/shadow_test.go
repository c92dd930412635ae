package gateway_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway"
	wasm "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// whenTildes is code of a guest that runs where a feed begins with four tildes.
func whenTildes(code string) string {
	const in = 0x4000
	return wasm.I32Const(in) + wasm.Load(0) + wasm.I32Const(0x7e7e7e7e) + wasm.Eq + wasm.If + code + wasm.End
}

// entry is a model entry on the scripted engine.
func entry(id, more string) string {
	return fmt.Sprintf("[[models]]\nid = %q\nengines = [\"double\"]\nfamily = \"qwen3\"\n%s\n", id, more)
}

const builtIn = "reasoning = \"qwen3\"\ntools = \"hermes\"\n"

// dropAll puts plugins into the folder and waits until they are live.
func (w *world) dropAll(plugins map[string][]byte) {
	w.tb.Helper()
	for name, b := range plugins {
		w.drop(name+".wasm", b, true)
	}
	for name := range plugins {
		eventually(w.tb, name+" is live", func() bool { v, _ := w.plugin(name); return v == "1" })
	}
}

// metric is the sum of a metric's series that have these labels, each given as name="value".
func (w *world) metric(name string, labels ...string) float64 {
	w.tb.Helper()
	out := httptest.NewRecorder()
	w.gw.Admin().ServeHTTP(out, httptest.NewRequestWithContext(w.tb.Context(), http.MethodGet, "/metrics", nil))
	sum := 0.0
	for line := range strings.Lines(out.Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok { // without labels
			line = name + "{} " + value
		}
		if rest, ok := strings.CutPrefix(line, name+"{"); ok {
			set, value, _ := strings.Cut(rest, "} ")
			for _, l := range labels {
				ok = ok && strings.Contains(set, l)
			}
			if v := 0.0; ok {
				if _, err := fmt.Sscan(value, &v); err != nil {
					w.tb.Fatal(err)
				}
				sum += v
			}
		}
	}
	return sum
}

// results waits until so many streams of a model were compared, and returns how often each result came.
func (w *world) results(model string, n int) string {
	w.tb.Helper()
	name, label := "weir_shadow_streams_total", `model="`+model+`"`
	eventually(w.tb, "comparisons of "+model, func() bool { return w.metric(name, label) >= float64(n) })
	var out []string
	for _, r := range []string{"same", "different", "fault", "unbounded", "skipped", "unknown"} {
		if v := w.metric(name, label, `result="`+r+`"`); v > 0 {
			out = append(out, fmt.Sprintf("%s %v", r, v))
		}
	}
	return strings.Join(out, ", ")
}

// shadows is what the page of shadows shows.
type shadows struct {
	Models []struct {
		Model   string
		Shadows []struct {
			Shadow     string
			Generation int
			Streams    map[string]int
			Fault      string
		}
		Differences []difference
	}
}

type difference struct {
	Time       string
	RequestID  string `json:"request_id"`
	Shadow     string
	Generation int
	Event      int
	First      place
	Second     place
	Output     *string
}

type place struct {
	Type, Detail string
	At           int
	Text         *string
}

// differences are those of a model.
func (w *world) differences(model string) []difference {
	w.tb.Helper()
	var v shadows
	strict(w.tb, w.gw.Shadows(), &v)
	for _, m := range v.Models {
		if m.Model == model {
			return m.Differences
		}
	}
	return nil
}

// pieces cuts a text into chunks of n bytes.
func pieces(text string, n int) []enginetest.Chunk {
	var out []enginetest.Chunk
	for len(text) > n {
		out = append(out, enginetest.Say(text[:n])...)
		text = text[n:]
	}
	return append(out, enginetest.Say(text)...)
}

// TestShadow has shadows that agree, differ, fail, run without end or are not there. The client gets what it
// gets without one.
func TestShadow(t *testing.T) {
	t.Parallel()
	models := entry("agrees", builtIn+`shadow = "builtin"`) + entry("differs", builtIn+`shadow = "plain"`) +
		entry("traps", builtIn+`shadow = "traps"`) + entry("loops", builtIn+`shadow = "loops"`) + entry("absent", builtIn+`shadow = "absent"`)
	w, _ := run(t, options{more: models, plugins: "quarantine = 0"})
	w.dropAll(map[string][]byte{
		"plain": allText("plain", "1"),
		"traps": allText("traps", "1", whenTildes(wasm.Unreachable)),
		"loops": allText("loops", "1", whenTildes(wasm.Loop+wasm.Br(0)+wasm.End)),
	})
	const output = "~~~~<think>\nso\n</think>\n\nSure <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"t\": \"x\"}}\n</tool_call>"
	const turns = 4 * 2 * 3
	want := map[string]string{
		"agrees": fmt.Sprintf("same %d", turns), "differs": fmt.Sprintf("different %d", turns), "traps": fmt.Sprintf("fault %d", turns),
		"loops": fmt.Sprintf("fault %d", turns), "absent": fmt.Sprintf("skipped %d", turns),
	}
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		for _, n := range []int{4, 5, 17, len(output)} {
			for _, more := range [][]string{{streamed}, nil} {
				var without string
				for _, model := range []string{"double", "agrees", "differs", "traps", "loops", "absent"} {
					w.double.Play(enginetest.Script{Chunks: pieces(output, n)})
					body := s.body(model, "hi", append(more, thinks, s.tools("f"))...)
					a := answer{}
					if len(more) > 0 {
						a = w.ask(s, body)
					} else {
						_, b := w.post(s.path, body)
						a = s.whole(t, b)
					}
					got := plain(a.Blocks) + " " + a.Finish
					if model == "double" {
						without = got
					}
					if got != without {
						t.Fatalf("%s in pieces of %d: %s, without a shadow %s", model, n, got, without)
					}
				}
			}
		}
	})
	for model, want := range want {
		if got := w.results(model, turns); got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
	for plugin, kind := range map[string]string{"traps": "trap", "loops": "fuel"} {
		if n := w.metric("weir_plugin_faults_total", `plugin="`+plugin+`"`, `kind="`+kind+`"`); n != turns {
			t.Errorf("%s: %v faults, want %d", plugin, n, turns)
		}
		if n := strings.Count(w.log.String(), `"shadow failed"`); n != 2 {
			t.Errorf("%d lines of failed shadows, want one for each of two", n)
		}
	}
	if n := w.metric("weir_shadow_first_difference_total", `model="differs"`, `shadow="plain"`, `kind="reasoning_start"`); n != 0 {
		t.Errorf("%v differences at the reasoning: the text before it differs already", n)
	}
	if n := w.metric("weir_shadow_first_difference_total", `model="differs"`, `shadow="plain"`, `kind="text_end"`); n != turns {
		t.Errorf("%v differences at the end of the text, want %d", n, turns)
	}
	if n := strings.Count(w.log.String(), `"shadow differs"`); n != 1 {
		t.Errorf("%d lines of a difference that all streams have", n)
	}
	var page shadows
	strict(t, w.gw.Shadows(), &page)
	for _, m := range page.Models {
		if m.Model == "loops" && (m.Shadows[0].Streams["fault"] != turns || !strings.Contains(m.Shadows[0].Fault, "out of fuel")) {
			t.Errorf("the shadow that loops: %+v", m.Shadows)
		}
	}
	if n := len(w.differences("differs")); n != 16 {
		t.Errorf("%d differences are kept, want 16", n)
	}
}

// TestShadowPlace finds a difference where it is, and keeps bytes of the conversation only for a tenant that
// allows content in the log. The shadow is the built-in guest in a second configuration, which parses nothing.
func TestShadowPlace(t *testing.T) {
	t.Parallel()
	key := func(name, secret, more string) string {
		return fmt.Sprintf("[[tenants]]\nname = %q\nkeys = [\"sha256:%x\"]\n%s\n", name, sha256.Sum256([]byte(secret)), more)
	}
	w, _ := run(t, options{
		more:    entry("m", "parser = \"slashes\"\nshadow = \"builtin\""),
		tenants: key("open", "open-key", "log_prompts = true") + key("shut", "shut-key", ""),
	})
	w.dropAll(map[string][]byte{"slashes": guestWasm(t)})
	s := chat()
	for i, c := range []struct{ key, id string }{{"open-key", "req-open"}, {"shut-key", "req-shut"}} {
		w.double.Play(enginetest.Script{Chunks: pieces("a secret /thought/ and more", 6)})
		w.post(s.path, s.body("m", "hi", streamed), "Authorization", "Bearer "+c.key, "X-Request-Id", c.id)
		if got, want := w.results("m", i+1), fmt.Sprintf("different %d", i+1); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	got := w.differences("m")
	if len(got) != 2 {
		t.Fatalf("%d differences: %s", len(got), w.gw.Shadows())
	}
	for _, d := range got {
		if d.Shadow != "builtin" || d.Generation != 1 || d.Event != 1 || d.First.Type != "text_end" || d.First.At != 10 || d.Second.Type != "text_delta" || d.Second.At != 9 {
			t.Errorf("got %+v", d)
		}
	}
	if d := got[0]; d.RequestID != "req-open" || d.Output == nil || *d.Output != "a secret /thought/ and more" || d.Second.Text == nil || !strings.HasPrefix(*d.Second.Text, "/") {
		t.Errorf("of the tenant that allows it: %s", w.gw.Shadows())
	}
	if d := got[1]; d.RequestID != "req-shut" || d.Output != nil || d.First.Text != nil || d.Second.Text != nil {
		t.Errorf("of the tenant that does not: %s", w.gw.Shadows())
	}
	if err := w.gw.Reload(); err != nil || len(w.differences("m")) != 2 {
		t.Errorf("after a reload: %v, %s", err, w.gw.Shadows())
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "thought") && !strings.Contains(line, "msg=content") {
			t.Errorf("content in the log: %s", line)
		}
	}
}

// TestBesideQuarantine has a shadow and a canary that fail: they are not used any more, and the model's own
// parser serves as if they were not there.
func TestBesideQuarantine(t *testing.T) {
	t.Parallel()
	w, _ := run(t, options{
		plugins: "quarantine = 3",
		more:    entry("s", builtIn+`shadow = "first"`) + entry("c", builtIn+`canary = { parser = "second", share = 1 }`),
	})
	trap := whenTildes(wasm.Unreachable)
	w.dropAll(map[string][]byte{"first": allText("first", "1", trap), "second": allText("second", "1", trap)})
	s := chat()
	const own, raw = `reasoning "so" | text "Hi"`, `text "~~~~<think>so</think>Hi"`
	for i := range 5 {
		for _, model := range []string{"s", "c"} {
			w.double.Play(enginetest.Script{Chunks: enginetest.Say("~~~~<think>so</think>Hi")})
			want := `text "~~~~" | ` + own
			if model == "c" && i < 3 {
				want = raw
			}
			if a := w.ask(s, s.body(model, "hi", streamed)); plain(a.Blocks) != want || a.Finish != s.stop {
				t.Errorf("%s, turn %d: %s, %s, want %s", model, i, plain(a.Blocks), a.Finish, want)
			}
		}
		w.results("s", i+1)
	}
	if got, want := w.results("s", 5), "fault 3, skipped 2"; got != want {
		t.Errorf("shadow: %s, want %s", got, want)
	}
	for side, want := range map[string]float64{"canary": 3, "fallback": 2, "first": 0} {
		if got := w.metric("weir_canary_streams_total", `model="c"`, `parser="second"`, `side="`+side+`"`); got != want {
			t.Errorf("%v streams on side %s, want %v", got, side, want)
		}
	}
}

// TestCanary sends a share of the sessions to another parser, always the same ones.
func TestCanary(t *testing.T) {
	t.Parallel()
	w, _ := run(t, options{more: entry("m", builtIn+"shadow = \"builtin\"\ncanary = { parser = \"slashes\", share = 0.5 }")})
	s := chat()
	const text = "so /why/ not"
	ask := func(session string) string {
		t.Helper()
		w.double.Play(enginetest.Script{Chunks: enginetest.Say(text)})
		return plain(w.ask(s, s.body("m", "hi", streamed), "X-Session-Id", session).Blocks)
	}
	const own, canary = `text "so /why/ not"`, `text "so " | reasoning "why" | text " not"`
	sessions := map[string]string{}
	for i := range 8 {
		if got := ask(fmt.Sprint("s", i)); got != own {
			t.Errorf("without the plugin: %s", got)
		}
	}
	drawn := w.metric("weir_canary_streams_total", `model="m"`, `parser="slashes"`, `side="fallback"`)
	if n := w.metric("weir_canary_streams_total", `side="first"`); drawn == 0 || n == 0 || drawn+n != 8 {
		t.Errorf("%v streams could not go to the canary, %v should not", drawn, n)
	}
	w.dropAll(map[string][]byte{"slashes": guestWasm(t)})
	for range 3 {
		for i := range 8 {
			name := fmt.Sprint("s", i)
			got := ask(name)
			if before, ok := sessions[name]; ok && before != got || got != own && got != canary {
				t.Errorf("session %s: %s, before %s", name, got, before)
			}
			sessions[name] = got
		}
	}
	if n := w.metric("weir_canary_streams_total", `model="m"`, `parser="slashes"`, `side="canary"`); n != 3*drawn {
		t.Errorf("%v streams went to the canary, want those of %v sessions three times", n, drawn)
	}
	if got, want := w.results("m", 32), fmt.Sprintf("same %v, skipped %v", 32-3*drawn, 3*drawn); got != want {
		t.Errorf("shadows: %s, want %s", got, want)
	}
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/ because", "! and on")})
	for name, got := range sessions {
		if got == canary {
			w.ask(s, s.body("m", "hi", streamed), "X-Session-Id", name)
			break
		}
	}
	if n := w.metric("weir_plugin_faults_total", `plugin="slashes"`); n != 1 {
		t.Errorf("%v faults of the canary's plugin", n)
	}
}

// TestShares wants shares to be what was asked for, over many names, and sessions to stay drawn as a share grows.
func TestShares(t *testing.T) {
	t.Parallel()
	const n = 200_000
	shares := []float64{0.001, 0.05, 0.5, 0.999, 1}
	count := make([]int, len(shares))
	for i := range n {
		id, before := fmt.Sprintf("req_%024d", i), false
		for k, share := range shares {
			got := gateway.Drawn(share, "model", "plugin", id)
			if before && !got {
				t.Fatalf("%s is drawn at less than %v and not at it", id, share)
			}
			if before = got; got {
				count[k]++
			}
		}
	}
	for k, share := range shares {
		if tolerance := 4 * math.Sqrt(n*share*(1-share)); math.Abs(float64(count[k])-n*share) > tolerance {
			t.Errorf("%d of %d streams at a share of %v, want within %.0f", count[k], n, share, tolerance)
		}
	}
}

// BenchmarkShadow is a whole turn of 64 words without a shadow and with one that does the same work again.
func BenchmarkShadow(b *testing.B) {
	more := "[[models]]\nid = \"shadowed\"\nengines = [\"sim\"]\nfamily = \"qwen3\"\npolicy = \"qwen3\"\nshadow = \"builtin\"\n" + builtIn
	w := start(b, options{more: more})
	s := chat()
	for _, c := range []struct{ name, model string }{{"without", "sim"}, {"with", "shadowed"}} {
		b.Run(c.name, func(b *testing.B) {
			body := s.body(c.model, "long 64", streamed)
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, s.path, strings.NewReader(body))
				r.Host = "localhost"
				out := &nowhere{header: http.Header{}}
				w.gw.Handler().ServeHTTP(out, r)
				if out.status != http.StatusOK {
					b.Fatalf("status %d", out.status)
				}
			}
		})
	}
}
