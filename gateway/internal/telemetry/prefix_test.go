package telemetry_test

import (
	"testing"

	"github.com/weirgate/weir/gateway/internal/telemetry"
)

func TestPrefix(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.SetKnown([]string{"qwen"}, []string{"acme"})
	l := telemetry.Labels{Surface: "chat", Model: "qwen", Tenant: "acme"}
	m.Prefix(l, telemetry.Prefix{Cause: "first", Tokens: 100})
	m.Prefix(l, telemetry.Prefix{Cause: "header_changed", Tokens: 150, Expected: 64, Lost: 36})
	m.Prefix(telemetry.Labels{Model: "odd", Tenant: "odd"}, telemetry.Prefix{Cause: "none", Tokens: 7, Expected: 6})
	wantLines(t, scrape(t, m),
		`weir_prefix_prompts_total{cause="first",model="qwen",tenant="acme"} 1`,
		`weir_prefix_prompts_total{cause="header_changed",model="qwen",tenant="acme"} 1`,
		`weir_prefix_prompts_total{cause="none",model="unknown",tenant="unknown"} 1`,
		`weir_prefix_lost_tokens_total{cause="header_changed",model="qwen",tenant="acme"} 36`,
		`weir_prefix_tokens_total{model="qwen",tenant="acme"} 250`,
		`weir_prefix_expected_tokens_total{model="qwen",tenant="acme"} 64`)
}
