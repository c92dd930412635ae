package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/shadow"
	"github.com/weirgate/weir/gateway/internal/telemetry"
)

func TestShadowsAndCanaries(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.SetKnown([]string{"qwen"}, nil)
	for _, r := range shadow.Results() {
		m.ShadowStream("qwen", "acme", string(r))
	}
	m.ShadowStream("other", "acme", "odd")
	m.ShadowDifference("qwen", "acme", event.ToolStart)
	m.CanaryStream("qwen", "acme", telemetry.CanarySide)
	m.CanaryStream("qwen", "acme", telemetry.FirstSide)
	m.CanaryStream("qwen", "acme", telemetry.FallbackSide)
	m.CanaryStream("qwen", "acme", "odd")
	wantLines(t, scrape(t, m),
		`weir_shadow_streams_total{model="qwen",result="same",shadow="acme"} 1`,
		`weir_shadow_streams_total{model="qwen",result="different",shadow="acme"} 1`,
		`weir_shadow_streams_total{model="qwen",result="fault",shadow="acme"} 1`,
		`weir_shadow_streams_total{model="qwen",result="unbounded",shadow="acme"} 1`,
		`weir_shadow_streams_total{model="qwen",result="skipped",shadow="acme"} 1`,
		`weir_shadow_streams_total{model="unknown",result="unknown",shadow="acme"} 1`,
		`weir_shadow_first_difference_total{kind="tool_start",model="qwen",shadow="acme"} 1`,
		`weir_canary_streams_total{model="qwen",parser="acme",side="canary"} 1`,
		`weir_canary_streams_total{model="qwen",parser="acme",side="first"} 1`,
		`weir_canary_streams_total{model="qwen",parser="acme",side="fallback"} 1`,
		`weir_canary_streams_total{model="qwen",parser="acme",side="unknown"} 1`)
}

func TestPage(t *testing.T) {
	t.Parallel()
	page := telemetry.Page{Path: "/shadow", Append: func(dst []byte) []byte { return append(dst, `{"models":[]}`...) }}
	h := telemetry.Admin(telemetry.New("v1"), func() error { return nil }, page)
	for method, status := range map[string]int{http.MethodGet: 200, http.MethodPost: 405} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/shadow", nil))
		if w.Code != status {
			t.Errorf("%s: status %d", method, w.Code)
		}
		if status == 200 && (w.Body.String() != "{\"models\":[]}\n" || w.Header().Get("Content-Type") != "application/json") {
			t.Errorf("%s: got %q, %v", method, w.Body, w.Header())
		}
	}
}
