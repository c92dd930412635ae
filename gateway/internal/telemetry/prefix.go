package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

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

	mu sync.Mutex
	of map[prefixLabels]prefixSeries // guarded by mu
}

type prefixLabels struct{ model, tenant, cause string }

// prefixSeries are what prompts of one set of labels count in, looked up by their labels once.
type prefixSeries struct {
	prompts, tokens, expected prometheus.Counter
	lost                      prometheus.Counter // nil before something was
}

func newPrefixes() *prefixes {
	return &prefixes{
		prompts:  counter("prefix_prompts_total", "Prompts, by why they do not begin with all of an earlier one of their conversation.", "model", "tenant", "cause"),
		lost:     counter("prefix_lost_tokens_total", "Tokens of earlier prompts that later ones did not begin with, by why.", "model", "tenant", "cause"),
		tokens:   counter("prefix_tokens_total", "Tokens of prompts that the prefix ledger saw.", "model", "tenant"),
		expected: counter("prefix_expected_tokens_total", "Of those, tokens that the engine's prefix cache is expected to hold.", "model", "tenant"),
		of:       map[prefixLabels]prefixSeries{},
	}
}

func (p *prefixes) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.prompts, p.lost, p.tokens, p.expected}
}

// Prefix counts a prompt.
func (m *Metrics) Prefix(l Labels, p Prefix) {
	l = m.bound(l)
	s := m.prefixes.series(prefixLabels{l.Model, l.Tenant, p.Cause}, p.Lost > 0)
	s.prompts.Inc()
	s.tokens.Add(float64(p.Tokens))
	s.expected.Add(float64(p.Expected))
	if p.Lost > 0 {
		s.lost.Add(float64(p.Lost))
	}
}

// series returns those of labels that are bounded, with that of lost tokens where it is asked for.
func (p *prefixes) series(l prefixLabels, lost bool) prefixSeries {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.of[l]
	if known && (s.lost != nil || !lost) {
		return s
	}
	s.prompts = p.prompts.WithLabelValues(l.model, l.tenant, l.cause)
	s.tokens, s.expected = p.tokens.WithLabelValues(l.model, l.tenant), p.expected.WithLabelValues(l.model, l.tenant)
	if lost {
		s.lost = p.lost.WithLabelValues(l.model, l.tenant, l.cause)
	}
	p.of[l] = s
	return s
}
