package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/telemetry"
)

var quiet = slog.New(slog.DiscardHandler)

// scrape returns weir's own lines of /metrics.
func scrape(tb testing.TB, m *telemetry.Metrics) string {
	tb.Helper()
	w := get(tb, m, nil, "/metrics")
	if w.Code != http.StatusOK {
		tb.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return strings.Join(regexp.MustCompile(`(?m)^weir_.*$`).FindAllString(w.Body.String(), -1), "\n") + "\n"
}

func get(tb testing.TB, m *telemetry.Metrics, notReady error, path string) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	telemetry.Admin(m, func() error { return notReady }).ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, nil))
	return w
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(got, l+"\n") {
			t.Errorf("no line %s in\n%s", l, got)
		}
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := telemetry.New("v1")
		m.SetKnown([]string{"qwen"}, []string{"ops"})
		var out bytes.Buffer
		log := telemetry.NewLogger(&out, true, new(slog.LevelVar))
		turn := m.Begin(telemetry.Labels{Surface: "chat", Model: "qwen", Tenant: "ops"})
		wantLines(t, scrape(t, m), "weir_active_turns 1")
		time.Sleep(120 * time.Millisecond)
		turn.Tokens(1)
		time.Sleep(6 * time.Millisecond)
		turn.Tokens(0)
		time.Sleep(30 * time.Millisecond)
		turn.Tokens(3)
		time.Sleep(10 * time.Second)
		turn.Tokens(1)
		turn.End(t.Context(), log, telemetry.Result{
			RequestID: "r1", Engine: "sim", Input: 100, Cached: 64, Output: 6, Calls: 2, Incomplete: 1,
		})
		turn.End(t.Context(), log, telemetry.Result{RequestID: "again"})
		wantLines(
			t, scrape(t, m),
			"weir_active_turns 0",
			`weir_requests_total{model="qwen",outcome="ok",surface="chat",tenant="ops"} 1`,
			`weir_tokens_in_total{model="qwen",surface="chat",tenant="ops"} 100`,
			`weir_tokens_cached_total{model="qwen",surface="chat",tenant="ops"} 64`,
			`weir_tokens_out_total{model="qwen",surface="chat",tenant="ops"} 6`,
			`weir_ttft_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="0.1"} 0`,
			`weir_ttft_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="0.15"} 1`,
			`weir_inter_token_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="0.004"} 0`,
			`weir_inter_token_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="0.007"} 1`,
			`weir_inter_token_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="0.01"} 4`,
			`weir_inter_token_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="5"} 4`,
			`weir_inter_token_seconds_bucket{model="qwen",surface="chat",tenant="ops",le="+Inf"} 5`,
			`weir_inter_token_seconds_sum{model="qwen",surface="chat",tenant="ops"} 10.036`,
			`weir_inter_token_seconds_count{model="qwen",surface="chat",tenant="ops"} 5`,
		)
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("not one line: %v\n%s", err, out.String())
		}
		delete(line, "time")
		want := `map[cached_tokens:64 calls:2 duration_ms:10156 engine:sim incomplete_calls:1 input_tokens:100 level:INFO model:qwen msg:turn ` +
			`outcome:ok output_tokens:6 request_id:r1 surface:chat tenant:ops ttft_ms:120]`
		if got := fmt.Sprint(line); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestLongTurnIsSeen wants the gaps of a turn that still runs.
func TestLongTurnIsSeen(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.SetKnown([]string{"qwen"}, nil)
	turn := m.Begin(telemetry.Labels{Model: "qwen"})
	for range 300 {
		turn.Tokens(1)
	}
	wantLines(t, scrape(t, m), `weir_inter_token_seconds_count{model="qwen",surface="unknown",tenant="unknown"} 256`)
	turn.End(t.Context(), quiet, telemetry.Result{})
	wantLines(t, scrape(t, m), `weir_inter_token_seconds_count{model="qwen",surface="unknown",tenant="unknown"} 299`)
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.SetKnown([]string{"qwen"}, []string{"ops"})
	for i := range 1000 {
		m.Request(telemetry.Labels{Surface: fmt.Sprint("s", i), Model: fmt.Sprint("m", i), Tenant: fmt.Sprint("t", i)}, telemetry.Outcome(fmt.Sprint("o", i)))
		m.Begin(telemetry.Labels{Surface: "chat", Model: fmt.Sprint("m", i)}).End(t.Context(), quiet, telemetry.Result{})
		m.PluginFault(fmt.Sprint("p", i), fmt.Sprint("e", i), "trap")
		m.PluginLoaded(fmt.Sprint("p", i), i)
	}
	m.Request(telemetry.Labels{Surface: "messages", Model: "qwen", Tenant: "ops"}, telemetry.OutcomeOf(fault.New(fault.Quota, "x")))
	got := scrape(t, m)
	wantLines(
		t, got,
		`weir_requests_total{model="unknown",outcome="unknown",surface="unknown",tenant="unknown"} 1000`,
		`weir_requests_total{model="unknown",outcome="ok",surface="chat",tenant="unknown"} 1000`,
		`weir_requests_total{model="qwen",outcome="quota",surface="messages",tenant="ops"} 1`,
		`weir_plugin_faults_total{export="unknown",kind="trap",plugin="p0"} 1`,
		`weir_plugin_faults_total{export="unknown",kind="trap",plugin="unknown"} 872`,
	)
	if n := strings.Count(got, "\n"); n > 500 {
		t.Errorf("%d lines", n)
	}
	// What a reload takes away is not counted any more, and what it brings is.
	m.SetKnown([]string{"llama"}, nil)
	m.Request(telemetry.Labels{Surface: "chat", Model: "qwen", Tenant: "ops"}, telemetry.OK)
	m.Request(telemetry.Labels{Surface: "chat", Model: "llama"}, telemetry.OK)
	wantLines(t, scrape(t, m), `weir_requests_total{model="llama",outcome="ok",surface="chat",tenant="unknown"} 1`,
		`weir_requests_total{model="unknown",outcome="ok",surface="chat",tenant="unknown"} 1001`)
}

func TestCounters(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1.2.3")
	m.PluginFault("builtin", "weir1_feed", "fuel")
	m.PluginLoaded("acme", 3)
	m.PluginLoaded("gone", 1)
	m.PluginGone("gone")
	m.Reload(nil)
	m.Reload(errors.New("bad"))
	m.Reload(errors.New("bad"))
	m.SocketOpened()
	m.SocketOpened()
	m.SocketClosed()
	got := scrape(t, m)
	wantLines(
		t, got,
		`weir_plugin_faults_total{export="weir1_feed",kind="fuel",plugin="builtin"} 1`,
		`weir_plugin_generation{plugin="acme"} 3`,
		`weir_reloads_total{outcome="ok"} 1`,
		`weir_reloads_total{outcome="refused"} 2`,
		`weir_websocket_connections 1`,
		`weir_active_turns 0`,
	)
	if strings.Contains(got, `plugin="gone"`) || !strings.Contains(got, `version="v1.2.3"`) {
		t.Errorf("got\n%s", got)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		want  telemetry.Outcome
		level string
	}{
		{"none", nil, "ok", "INFO"},
		{"client's fault", fault.New(fault.Invalid, "x"), "invalid", "INFO"},
		{"wrapped", fmt.Errorf("turn: %w", fault.New(fault.Engine, "x")), "engine", "WARN"},
		{"client left", context.Canceled, "canceled", "INFO"},
		{"client left, as a fault", fault.Wrap(fault.Timeout, context.Canceled, "x"), "timeout", "WARN"},
		{"deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout", "WARN"},
		{"a bug", errors.New("x"), "internal", "ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := telemetry.OutcomeOf(tt.err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var out bytes.Buffer
			m := telemetry.New("v1")
			m.Begin(telemetry.Labels{}).End(t.Context(), telemetry.NewLogger(&out, false, new(slog.LevelVar)), telemetry.Result{Err: tt.err})
			if !strings.Contains(out.String(), "level="+tt.level+" ") || strings.Contains(out.String(), "error=") != (tt.err != nil) {
				t.Errorf("got %s", out.String())
			}
		})
	}
}

func TestErrorIsClipped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	telemetry.New("v1").Begin(telemetry.Labels{}).End(t.Context(), telemetry.NewLogger(&out, true, new(slog.LevelVar)),
		telemetry.Result{Err: errors.New(strings.Repeat("é", 5000))})
	if out.Len() > 1500 || strings.Contains(out.String(), "\ufffd") {
		t.Errorf("%d bytes: %s", out.Len(), out.String())
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	for _, tt := range []struct {
		path     string
		notReady error
		status   int
		body     string
	}{
		{"/healthz", errors.New("loading plugins"), 200, "ok\n"},
		{"/readyz", nil, 200, "ready\n"},
		{"/readyz", errors.New("loading plugins"), 503, "not ready: loading plugins\n"},
		{"/", nil, 404, "404 page not found\n"},
	} {
		w := get(t, m, tt.notReady, tt.path)
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%s: got %d %q", tt.path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	telemetry.Admin(m, func() error { return nil }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/healthz", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	if !strings.Contains(get(t, m, nil, "/metrics").Body.String(), "go_goroutines") {
		t.Error("nothing about the process")
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var level slog.LevelVar
	log := telemetry.NewLogger(&out, false, &level)
	for _, name := range []string{"debug", "info", "warn", "error", "?"} {
		telemetry.SetLevel(&level, name)
		fmt.Fprintf(&out, "%s:", name)
		log.DebugContext(t.Context(), "d")
		log.InfoContext(t.Context(), "i")
		log.WarnContext(t.Context(), "w")
		log.ErrorContext(t.Context(), "e")
	}
	got := regexp.MustCompile(`time=\S+ level=\S+ msg=(\w)\n`).ReplaceAllString(out.String(), "$1")
	if want := "debug:diweinfo:iwewarn:weerror:e?:iwe"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHammer(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.SetKnown([]string{"a", "b"}, []string{"t"})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				turn := m.Begin(telemetry.Labels{Surface: "chat", Model: []string{"a", "b"}[g%2], Tenant: "t"})
				for range 301 {
					turn.Tokens(1)
				}
				turn.End(t.Context(), quiet, telemetry.Result{Output: 301})
				if i%10 == 0 {
					scrape(t, m)
					m.SetKnown([]string{"a", "b"}, []string{"t"})
				}
			}
		})
	}
	wg.Wait()
	wantLines(t, scrape(t, m), `weir_inter_token_seconds_count{model="a",surface="chat",tenant="t"} 60000`, `weir_inter_token_seconds_count{model="b",surface="chat",tenant="t"} 60000`,
		`weir_tokens_out_total{model="a",surface="chat",tenant="t"} 60200`, "weir_active_turns 0")
}

func BenchmarkTokens(b *testing.B) {
	m := telemetry.New("v1")
	m.SetKnown([]string{"a"}, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		turn := m.Begin(telemetry.Labels{Surface: "chat", Model: "a"})
		for pb.Next() {
			turn.Tokens(1)
		}
		turn.End(context.Background(), quiet, telemetry.Result{})
	})
}

// BenchmarkTurn is a turn from Begin to its line in the log.
func BenchmarkTurn(b *testing.B) {
	m := telemetry.New("v1")
	m.SetKnown([]string{"a"}, []string{"t"})
	file, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	buffered := telemetry.NewBuffered(file)
	defer buffered.Close()
	for _, c := range []struct {
		name string
		w    io.Writer
		json bool
	}{
		{"text", io.Discard, false},
		{"JSON", io.Discard, true},
		{"text to a file", file, false},
		{"text to a file, buffered", buffered, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := telemetry.NewLogger(c.w, c.json, new(slog.LevelVar))
			b.ReportAllocs()
			for b.Loop() {
				turn := m.Begin(telemetry.Labels{Surface: "chat", Model: "a", Tenant: "t"})
				turn.Tokens(1)
				turn.End(context.Background(), log, telemetry.Result{RequestID: "req_0123456789abcdefghijklmn", Engine: "vllm", Input: 100, Output: 64})
			}
		})
	}
}
