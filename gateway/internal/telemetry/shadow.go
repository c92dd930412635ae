package telemetry

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgate/weir/abi/event"
)

// Keys of the log lines of shadows.
const (
	KeyEvent  = "event"  // index of an event
	KeyFirst  = "first"  // type of what the model's parser gave
	KeySecond = "second" // of what the shadow gave
	KeyOffset = "offset" // in the model's output
)

// The sets of label values that code gives, not a configuration.
var (
	shadowResults = [...]string{"same", "different", "fault", "unbounded", "skipped"}
	canarySides   = [...]string{CanarySide, FirstSide, FallbackSide}
)

// Sides of a canary.
const (
	CanarySide   = "canary"   // the canary parsed the stream
	FirstSide    = "first"    // the stream was not of its share
	FallbackSide = "fallback" // it was, and the canary could not be opened
)

// beside are the metrics of parsers that run beside a model's own.
type beside struct {
	shadows, differences, canaries *prometheus.CounterVec
}

func newBeside() beside {
	return beside{
		shadows:     counter("shadow_streams_total", "Streams of models with a shadow, by how its events compare with those that were sent.", "model", "shadow", "result"),
		differences: counter("shadow_first_difference_total", "Streams whose shadow differs, by the event of the model's parser at the first difference.", "model", "shadow", "kind"),
		canaries:    counter("canary_streams_total", "Streams of models with a canary, by the parser that they got.", "model", "parser", "side"),
	}
}

// collectors are what is registered.
func (b *beside) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.shadows, b.differences, b.canaries}
}

// ShadowStream counts a stream of a model with a shadow. result is one of package shadow's.
func (m *Metrics) ShadowStream(model, plugin, result string) {
	m.beside.shadows.WithLabelValues(m.model(model), m.plugin(plugin), label(result, slices.Contains(shadowResults[:], result))).Inc()
}

// ShadowDifference counts the first difference of a stream.
func (m *Metrics) ShadowDifference(model, plugin string, first event.Kind) {
	m.beside.differences.WithLabelValues(m.model(model), m.plugin(plugin), first.String()).Inc()
}

// CanaryStream counts a stream of a model with a canary.
func (m *Metrics) CanaryStream(model, plugin, side string) {
	m.beside.canaries.WithLabelValues(m.model(model), m.plugin(plugin), label(side, slices.Contains(canarySides[:], side))).Inc()
}

// model bounds the names of models.
func (m *Metrics) model(name string) string { return label(name, m.known.Load().models[name]) }

// Page is a JSON document at the admin address.
type Page struct {
	Path   string // such as /shadow
	Append func(dst []byte) []byte
}

func (p Page) serve(w http.ResponseWriter, _ *http.Request) {
	b := append(p.Append(nil), '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(b) // a client that is gone is no concern of ours
}
