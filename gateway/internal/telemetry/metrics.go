// Package telemetry is what weir tells of itself: log lines, metrics and health.
package telemetry

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weirgate/weir/abi"
)

// Unknown is the value of a label that is not one of those known, so that clients cannot make series.
const Unknown = "unknown"

// maxPlugins bounds the plugins with series of their own.
const maxPlugins = 128

// exports are what a fault of a plugin is counted under; surfaces are those of requests.
var (
	exports = [...]string{
		abi.ExportInitialize, abi.ExportDescribe, abi.ExportOpen, abi.ExportStart, abi.ExportFeed, abi.ExportFinish,
		abi.ExportReserve, abi.ExportPlan, abi.ExportRender,
	}
	surfaces = [...]string{"chat", "messages", "responses"}
)

// Metrics are weir's metrics, in a registry of their own. They are safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	known      atomic.Pointer[known]
	requests   *prometheus.CounterVec
	ttft       *prometheus.HistogramVec
	gaps       *gapCollector
	in         *prometheus.CounterVec
	out        *prometheus.CounterVec
	cached     *prometheus.CounterVec
	faults     *prometheus.CounterVec
	generation *prometheus.GaugeVec
	quarantine *prometheus.GaugeVec
	turns      prometheus.Gauge
	sockets    prometheus.Gauge
	reloads    *prometheus.CounterVec
	seals      *prometheus.CounterVec
	unkept     prometheus.Counter
	grammars   prometheus.Counter
	beside     beside
	prefixes   *prefixes

	mu      sync.Mutex // guards the following
	plugins map[string]bool
	turnsOf map[Labels]*series
}

// series are what the turns of one set of labels count in, looked up by their labels once. They are there,
// at zero, from the first turn on.
type series struct {
	labels          Labels
	gaps            *gapHistogram
	ttft            prometheus.Observer
	ok              prometheus.Counter // requests that were answered in full
	in, out, cached prometheus.Counter
}

// of returns the series of labels that are bounded.
func (m *Metrics) of(l Labels) *series {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.turnsOf[l]
	if s == nil {
		s = &series{
			labels: l, gaps: m.gaps.histogram(l), ttft: m.ttft.WithLabelValues(l.Surface, l.Model, l.Tenant),
			ok: m.requests.WithLabelValues(l.Surface, l.Model, l.Tenant, OK.label()),
			in: m.in.WithLabelValues(l.Surface, l.Model, l.Tenant), out: m.out.WithLabelValues(l.Surface, l.Model, l.Tenant), cached: m.cached.WithLabelValues(l.Surface, l.Model, l.Tenant),
		}
		m.turnsOf[l] = s
	}
	return s
}

// known are the models and tenants of the configuration that holds.
type known struct{ models, tenants map[string]bool }

// New makes the metrics of a program of this version. They count nothing under a model's or tenant's name
// until SetKnown names them.
func New(version string) *Metrics {
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		requests:   counter("requests_total", "Requests that were answered, by how they ended.", "surface", "model", "tenant", "outcome"),
		in:         counter("tokens_in_total", "Prompt tokens, those from the engine's prefix cache included.", "surface", "model", "tenant"),
		out:        counter("tokens_out_total", "Generated tokens, markers and reasoning included.", "surface", "model", "tenant"),
		cached:     counter("tokens_cached_total", "Prompt tokens that came from the engine's prefix cache.", "surface", "model", "tenant"),
		faults:     counter("plugin_faults_total", "Calls of a plugin that failed, by what it did wrong.", "plugin", "export", "kind"),
		reloads:    counter("reloads_total", "Changes of the configuration, by whether they were taken.", "outcome"),
		seals:      counter("seals_total", "Seals that came back from clients, by whether they opened.", "outcome"),
		unkept:     prometheus.NewCounter(prometheus.CounterOpts(opts("responses_not_kept_total", "Answers that the store of responses did not take."))),
		grammars:   prometheus.NewCounter(prometheus.CounterOpts(opts("tool_grammars_ignored_total", "Custom tools whose grammar was not enforced."))),
		generation: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("plugin_generation", "How often a plugin was loaded under its name.")), []string{"plugin"}),
		quarantine: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("plugin_quarantined", "1 while the current version of a plugin is quarantined for its faults.")), []string{"plugin"}),
		turns:      prometheus.NewGauge(prometheus.GaugeOpts(opts("active_turns", "Turns that run now."))),
		sockets:    prometheus.NewGauge(prometheus.GaugeOpts(opts("websocket_connections", "WebSockets that are open now."))),
		ttft: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "weir", Name: "ttft_seconds", Help: "Time from the request to its first token.",
			Buckets: []float64{.01, .025, .05, .1, .15, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"surface", "model", "tenant"}),
		gaps: &gapCollector{
			desc: prometheus.NewDesc("weir_inter_token_seconds", "Time between two tokens of a turn; tokens that came together share theirs evenly.", []string{"surface", "model", "tenant"}, nil),
			of:   map[Labels]*gapHistogram{},
		},
		beside:   newBeside(),
		prefixes: newPrefixes(),
		plugins:  map[string]bool{},
		turnsOf:  map[Labels]*series{},
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("build_info", "Always 1; its labels say what runs.")), []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.SetKnown(nil, nil)
	for _, o := range []string{"ok", "refused"} {
		m.reloads.WithLabelValues(o)
	}
	for _, o := range sealOutcomes {
		m.seals.WithLabelValues(o)
	}
	m.registry.MustRegister(m.seals, m.unkept, m.grammars, m.requests, m.ttft, m.gaps, m.in, m.out, m.cached, m.faults, m.generation, m.quarantine, m.turns, m.sockets, m.reloads, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.beside.collectors()...)
	m.registry.MustRegister(m.prefixes.collectors()...)
	return m
}

func opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: "weir", Name: name, Help: help}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
}

// SetKnown replaces the names that models and tenants are counted under; series that were made before
// stay.
func (m *Metrics) SetKnown(models, tenants []string) {
	m.known.Store(&known{set(models), set(tenants)})
}

func set(names []string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

func label(name string, ok bool) string {
	if ok {
		return name
	}
	return Unknown
}

// bound replaces what is not known.
func (m *Metrics) bound(l Labels) Labels {
	k := m.known.Load()
	return Labels{
		Surface: label(l.Surface, slices.Contains(surfaces[:], l.Surface)),
		Model:   label(l.Model, k.models[l.Model]),
		Tenant:  label(l.Tenant, k.tenants[l.Tenant]),
	}
}

// Request counts a request that ended before it became a turn.
func (m *Metrics) Request(l Labels, o Outcome) {
	l = m.bound(l)
	m.requests.WithLabelValues(l.Surface, l.Model, l.Tenant, o.label()).Inc()
}

// plugin bounds the names of plugins: those that come after the first 128 share one.
func (m *Metrics) plugin(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.plugins[name] {
		if len(m.plugins) >= maxPlugins {
			return Unknown
		}
		m.plugins[name] = true
	}
	return name
}

// PluginFault counts a call of a plugin's export that failed. kind is one of a fixed set.
func (m *Metrics) PluginFault(plugin, export, kind string) {
	m.faults.WithLabelValues(m.plugin(plugin), label(export, slices.Contains(exports[:], export)), kind).Inc()
}

// PluginLoaded notes the generation of a plugin that is served now.
func (m *Metrics) PluginLoaded(plugin string, generation int) {
	name := m.plugin(plugin)
	m.generation.WithLabelValues(name).Set(float64(generation))
	m.quarantine.WithLabelValues(name).Set(0)
}

// PluginQuarantined notes that the current version of a plugin is not used for new streams.
func (m *Metrics) PluginQuarantined(plugin string) {
	m.quarantine.WithLabelValues(m.plugin(plugin)).Set(1)
}

// PluginGone ends the series of a plugin that is not served any more. Its faults stay counted.
func (m *Metrics) PluginGone(plugin string) {
	name := m.plugin(plugin)
	m.generation.DeleteLabelValues(name)
	m.quarantine.DeleteLabelValues(name)
}

// Reload counts a change of the configuration; err says why it was not taken.
func (m *Metrics) Reload(err error) {
	if err != nil {
		m.reloads.WithLabelValues("refused").Inc()
		return
	}
	m.reloads.WithLabelValues("ok").Inc()
}

// sealOutcomes are what becomes of a seal: it is opened, it is weir's and does not open, or it is another's.
var sealOutcomes = [...]string{"opened", "invalid", "foreign"}

// Seals counts the seals of one request, in the order of sealOutcomes.
func (m *Metrics) Seals(counts ...int) {
	for i, n := range counts {
		if n > 0 {
			m.seals.WithLabelValues(sealOutcomes[i]).Add(float64(n))
		}
	}
}

// GrammarsIgnored counts custom tools of one request that come with a grammar which nothing enforces.
func (m *Metrics) GrammarsIgnored(n int) { m.grammars.Add(float64(n)) }

// NotKept counts an answer that the store of responses did not take.
func (m *Metrics) NotKept() { m.unkept.Inc() }

// SocketOpened counts a WebSocket until SocketClosed.
func (m *Metrics) SocketOpened() { m.sockets.Inc() }

// SocketClosed ends what SocketOpened began.
func (m *Metrics) SocketClosed() { m.sockets.Dec() }
