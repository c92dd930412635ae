package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
)

// Labels say whose request it is. Surface is the surface's name, Model the id of the model and Tenant the
// tenant's name; each is empty where it is not known yet.
type Labels struct{ Surface, Model, Tenant string }

// Outcome is how a request ended: OK, or a kind of fault.
type Outcome string

// OK is the outcome of a request that was answered in full.
const OK Outcome = "ok"

// kinds are the outcomes beside OK.
var kinds = [...]fault.Kind{
	fault.Invalid, fault.Unsupported, fault.Unauthorized, fault.Forbidden, fault.NotFound, fault.Conflict, fault.TooLarge, fault.Overflow,
	fault.Quota, fault.Busy, fault.Unavailable, fault.Engine, fault.Plugin, fault.Timeout, fault.Canceled, fault.Internal,
}

// OutcomeOf names how a request ended that ended with err, which may be nil.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OK
	}
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok:
		return Outcome(f.Kind)
	case errors.Is(err, context.Canceled):
		return Outcome(fault.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return Outcome(fault.Timeout)
	}
	return Outcome(fault.Internal)
}

func (o Outcome) label() string {
	return label(string(o), o == OK || slices.Contains(kinds[:], fault.Kind(o)))
}

// level is how loud an outcome is in the log: what is weir's or an engine's doing is louder than what a
// client did.
func (o Outcome) level() slog.Level {
	switch fault.Kind(o) {
	case fault.Internal:
		return slog.LevelError
	case fault.Engine, fault.Plugin, fault.Unavailable, fault.Timeout, fault.Busy:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// Turn measures one turn. It belongs to the turn's goroutine.
type Turn struct {
	m      *Metrics
	series *series
	gaps   gaps
	begin  time.Time
	ttft   time.Duration // to the first token
	last   time.Duration // to the latest token; 0: none yet
	ended  bool
}

// Begin starts the measurement of a turn, and its clock. Who begins a turn ends it.
func (m *Metrics) Begin(l Labels) *Turn {
	m.turns.Inc()
	return &Turn{m: m, series: m.of(m.bound(l)), begin: time.Now()}
}

// Tokens notes that n tokens arrived now. Where the engine does not say how many, 0 counts as one. It
// allocates nothing and takes no lock.
func (t *Turn) Tokens(n int) {
	now := max(time.Since(t.begin), 1)
	n = max(n, 1)
	if t.last == 0 {
		t.series.ttft.Observe(now.Seconds())
		t.ttft, t.last = now, now
		return
	}
	t.gaps.observe(now-t.last, n)
	t.last = now
	if t.gaps.pending == flushEvery {
		t.series.gaps.take(&t.gaps)
	}
}

// Result is what is known of a turn when it ends.
type Result struct {
	RequestID  string
	Engine     string
	Err        error // nil: the turn was answered in full
	Input      int   // prompt tokens, cached ones included
	Cached     int   // of Input
	Output     int   // generated tokens
	Calls      int   // tool calls, complete or not
	Incomplete int   // of Calls
}

// End counts the turn and writes its one line to the log, which holds no content of the conversation.
// Further calls do nothing.
func (t *Turn) End(ctx context.Context, log *slog.Logger, r Result) {
	if t.ended {
		return
	}
	t.ended = true
	took := time.Since(t.begin)
	c, o := t.series, OutcomeOf(r.Err)
	l := c.labels
	c.gaps.take(&t.gaps)
	t.m.turns.Dec()
	if o == OK {
		c.ok.Inc()
	} else {
		t.m.requests.WithLabelValues(l.Surface, l.Model, l.Tenant, o.label()).Inc()
	}
	c.in.Add(float64(max(r.Input, 0)))
	c.out.Add(float64(max(r.Output, 0)))
	c.cached.Add(float64(max(r.Cached, 0)))
	if !log.Enabled(ctx, o.level()) {
		return
	}
	attrs := append(make([]slog.Attr, 0, turnAttrs),
		slog.String(KeyRequestID, r.RequestID),
		slog.String(KeySurface, l.Surface),
		slog.String(KeyModel, l.Model),
		slog.String(KeyTenant, l.Tenant),
		slog.String(KeyEngine, r.Engine),
		slog.String(KeyOutcome, string(o)),
		slog.Float64(KeyDuration, milliseconds(took)),
		slog.Float64(KeyTTFT, milliseconds(t.ttft)),
		slog.Int(KeyInput, r.Input),
		slog.Int(KeyCached, r.Cached),
		slog.Int(KeyOutput, r.Output),
		slog.Int(KeyCalls, r.Calls),
		slog.Int(KeyIncomplete, r.Incomplete),
	)
	if r.Err != nil {
		attrs = append(attrs, slog.String(KeyError, clip(r.Err.Error())))
	}
	Log(ctx, log, o.level(), "turn", attrs...)
}

// turnAttrs is how many attributes a turn's line has, at most.
const turnAttrs = 16

// milliseconds gives a duration in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// clip cuts a cause, which may repeat what an engine or a client said.
func clip(s string) string {
	const most = 512
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
