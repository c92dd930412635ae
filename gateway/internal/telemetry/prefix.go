package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Prefix is what the ledger says of one prompt. Counts are tokens.
type Prefix struct {
	Cause    string // one of a fixed set
	Tokens   int    // length of the prompt
	Expected int    // of them, expected in the engine's cache
	Lost     int    // of an earlier prompt's, beyond where this one left it
}

// prefixes count what the ledger says.
type prefixes struct {
	prompts, lost    *prometheus.CounterVec
	tokens, expected *prometheus.CounterVec
}

func newPrefixes() prefixes {
	return prefixes{
		prompts:  counter("prefix_prompts_total", "Prompts, by why they do not begin with all of an earlier one of their conversation.", "model", "tenant", "cause"),
		lost:     counter("prefix_lost_tokens_total", "Tokens of earlier prompts that later ones did not begin with, by why.", "model", "tenant", "cause"),
		tokens:   counter("prefix_tokens_total", "Tokens of prompts that the prefix ledger saw.", "model", "tenant"),
		expected: counter("prefix_expected_tokens_total", "Of those, tokens that the engine's prefix cache is expected to hold.", "model", "tenant"),
	}
}

func (p *prefixes) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.prompts, p.lost, p.tokens, p.expected}
}

// Prefix counts a prompt.
func (m *Metrics) Prefix(l Labels, p Prefix) {
	l = m.bound(l)
	m.prefixes.prompts.WithLabelValues(l.Model, l.Tenant, p.Cause).Inc()
	if p.Lost > 0 {
		m.prefixes.lost.WithLabelValues(l.Model, l.Tenant, p.Cause).Add(float64(p.Lost))
	}
	m.prefixes.tokens.WithLabelValues(l.Model, l.Tenant).Add(float64(p.Tokens))
	m.prefixes.expected.WithLabelValues(l.Model, l.Tenant).Add(float64(p.Expected))
}
