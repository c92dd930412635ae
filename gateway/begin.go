package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/surface/models"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// Timeouts that are not the operator's business.
const (
	writeTimeout = 60 * time.Second // one flush to a client over HTTP
	socketStall  = 10 * time.Second // a socket whose peer takes nothing
	defaultIdle  = 5 * time.Minute  // an engine that says nothing
)

var _ httpapi.Gateway = (*Gateway)(nil)

// Settings are the handlers' part of the configuration in force.
func (g *Gateway) Settings() httpapi.Settings { return g.current.Load().settings }

// Authorize says who a key belongs to, and that it may use a model; an empty one asks for the key alone.
func (g *Gateway) Authorize(key, model string) (httpapi.Tenant, error) {
	s := g.current.Load()
	var t *tenant.Tenant
	var err error
	if model == "" {
		t, err = s.tenants.Authenticate(key)
	} else {
		t, _, err = s.tenants.Admit(key, model)
	}
	if err != nil {
		return httpapi.Tenant{}, err
	}
	return httpapi.Tenant{Name: t.Name, Store: t.Store, WebSocket: t.WebSocket}, nil
}

// Sockets counts open sockets.
func (g *Gateway) Sockets(delta int) {
	if delta > 0 {
		g.metrics.SocketOpened()
	} else {
		g.metrics.SocketClosed()
	}
}

// Models is the body of the model list, or of one model.
func (g *Gateway) Models(key, id string) ([]byte, error) {
	s := g.current.Load()
	t, err := s.tenants.Authenticate(key)
	if err != nil {
		return nil, err
	}
	if id != "" {
		_, m, err := s.tenants.Admit(key, id)
		if err != nil {
			return nil, err
		}
		_, name := s.config.Lookup(id)
		return models.One(g.listed(s.models[m.ID], name)), nil
	}
	var list []models.Model
	for _, m := range s.tenants.Models(t) {
		for _, name := range m.Names() {
			list = append(list, g.listed(s.models[m.ID], name))
		}
	}
	return models.Body(list), nil
}

// listed is a model as clients see it, under its id or an alias. Nobody knows when it was made; it is served since the
// gateway began.
func (g *Gateway) listed(m *model, name string) models.Model {
	l := models.Model{ID: name, DisplayName: m.DisplayName, OwnedBy: m.OwnedBy, Created: g.started, Context: m.Context, MaxOutput: m.MaxOutput}
	if name != m.ID {
		l.Of = m.ID
	}
	levels := m.ReasoningLevels()
	l.Codex = models.Codex{
		Instructions: m.Codex.Instructions, Levels: levels, DefaultLevel: m.DefaultReasoning(), Reasons: len(levels) > 0 || m.Reasoning != "" || m.Parser != "",
		Truncation: m.Codex.Truncation, AutoCompact: m.Codex.AutoCompact, Room: m.MinRoom, Hidden: !m.Codex.Visible, Priority: m.Codex.Priority,
		Parallel: m.Codex.ParallelTools, Freeform: m.Codex.ApplyPatch == config.PatchFreeform, Images: m.Codex.Images,
	}
	return l
}

// Count counts the prompt of a request.
func (g *Gateway) Count(ctx context.Context, c *httpapi.Call) (int, bool, error) {
	s := g.current.Load()
	t, cm, err := s.tenants.Admit(c.Key, c.Request.Model)
	if err != nil {
		return 0, false, err
	}
	permit, err := t.Acquire()
	if err != nil {
		return 0, false, err
	}
	defer permit.Release()
	p, err := g.prompt(ctx, s, s.models[cm.ID], t, c, false)
	if err != nil {
		return 0, false, err
	}
	defer g.release(p)
	return p.Tokens, p.Estimate, nil
}

// Begin admits a request and makes it a turn that is ready to run.
func (g *Gateway) Begin(ctx context.Context, c *httpapi.Call) (*httpapi.Job, error) {
	labels := telemetry.Labels{Surface: c.Surface}
	job, err := g.begin(ctx, c, &labels)
	if err != nil {
		g.refused(ctx, labels, c.RequestID, err)
	}
	return job, err
}

// NotKept counts an answer that the store of responses did not take.
func (g *Gateway) NotKept(tenant, id string, err error) {
	g.metrics.NotKept()
	g.log.LogAttrs(context.Background(), slog.LevelError, "response not kept",
		slog.String(telemetry.KeyResponse, id), slog.String(telemetry.KeyTenant, tenant), slog.String(telemetry.KeyError, err.Error()))
}

// Refused counts a request that never reached Begin.
func (g *Gateway) Refused(surface, requestID string, err error) {
	g.refused(context.Background(), telemetry.Labels{Surface: surface}, requestID, err)
}

func (g *Gateway) refused(ctx context.Context, l telemetry.Labels, requestID string, err error) {
	g.metrics.Request(l, telemetry.OutcomeOf(err))
	g.log.LogAttrs(ctx, slog.LevelInfo, "request refused", slog.String(telemetry.KeyRequestID, requestID), slog.String(telemetry.KeySurface, l.Surface),
		slog.String(telemetry.KeyTenant, l.Tenant), slog.String(telemetry.KeyModel, l.Model), slog.String(telemetry.KeyError, err.Error()))
}

func (g *Gateway) begin(ctx context.Context, c *httpapi.Call, labels *telemetry.Labels) (job *httpapi.Job, err error) {
	if g.draining.Load() {
		f := fault.New(fault.Unavailable, "the gateway is shutting down")
		f.RetryAfter = time.Second
		return nil, f
	}
	s := g.current.Load()
	t, cm, err := s.tenants.Admit(c.Key, c.Request.Model)
	if t != nil {
		labels.Tenant = t.Name
	}
	if err != nil {
		return nil, err
	}
	labels.Model = cm.ID
	m := s.models[cm.ID]
	constraint, err := m.constraint(c.Request.Request)
	if err != nil {
		return nil, err
	}
	permit, err := t.Acquire()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			permit.Release()
		}
	}()
	p, err := g.prompt(ctx, s, m, t, c, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.release(p)
		}
	}()
	g.changed(ctx, c, p)
	req := p.req
	maxTokens, err := m.room(req, &p.Prompt)
	if err != nil {
		return nil, err
	}
	m, guest, err := g.parser(s, m, t, cmp.Or(session(t, req), c.RequestID))
	if err != nil {
		return nil, err
	}
	er := turn.RequestFor(c.RequestID, m.engineModel(), session(t, req), req, &p.Prompt, maxTokens)
	er.Constraint = constraint
	er.Headers = forwarded(c)
	tn := g.turn(s, m, t, c, req, &p.Prompt, er)
	tn.Seal = s.sealer(m, t, c.Request.Seal)
	if guest != nil {
		tn.Parser = guest
	}
	meter := g.metrics.Begin(*labels)
	tn.Meter = &turnMeter{turn: meter, metrics: g.metrics, plugin: m.parserName, guest: guest, log: g.log, id: c.RequestID}
	beside := g.beside(s, m, t, guest, tn)
	job = &httpapi.Job{Turn: tn, Dispatch: tn.Assemble.Dispatch, Seal: func(text []byte) string { return s.box.Summary(t.Name, text) }}
	told := g.follow(ctx, job, m, t, p, *labels)
	job.Done = func(o turn.Outcome) {
		if o.TTFT > 0 {
			p.history.remember(m, p, tn.Output, told)
		} else if p.history != nil {
			g.ledger.Forget(p.history.report.Ref) // no engine has seen it
		}
		g.content(ctx, c, t, p, told)
		if guest != nil {
			guest.Close()
		}
		beside.close(ctx)
		permit.Release()
		meter.End(ctx, g.log, result(c.RequestID, o))
		g.release(p)
	}
	return job, nil
}

// content logs what was asked and answered, where the tenant allows it.
func (g *Gateway) content(ctx context.Context, c *httpapi.Call, t *tenant.Tenant, p *made, told *event.Folder) {
	if t.LogPrompts {
		g.log.LogAttrs(ctx, slog.LevelInfo, "content", slog.String(telemetry.KeyRequestID, c.RequestID), slog.String(telemetry.KeyTenant, t.Name),
			slog.String(telemetry.KeyPrompt, p.Text), slog.String(telemetry.KeyAnswer, string(told.Result.AppendJSON(nil))))
	}
}

// grammars counts the custom tools that come with a grammar.
func grammars(tools []conv.ToolDef) int {
	n := 0
	for i := range tools {
		if bytes.Contains(tools[i].Format, []byte(`"grammar"`)) {
			n++
		}
	}
	return n
}

// changed tells what of a request has no effect, what its chat template cannot show, and what was changed for that.
func (g *Gateway) changed(ctx context.Context, c *httpapi.Call, p *made) {
	id := c.RequestID
	// No engine is asked to keep to a custom tool's grammar: the input stands in another format, which has rules of its own.
	g.metrics.GrammarsIgnored(grammars(c.Request.Tools))
	if len(c.Request.Ignored) > 0 {
		g.log.LogAttrs(ctx, slog.LevelDebug, "members without effect", slog.String(telemetry.KeyRequestID, id), slog.Any(telemetry.KeyIgnored, c.Request.Ignored))
	}
	if p.page == nil {
		return
	}
	if len(p.page.Lost) > 0 {
		g.log.LogAttrs(ctx, slog.LevelWarn, "the chat template leaves out a part of the request", slog.String(telemetry.KeyRequestID, id), slog.Any(telemetry.KeyLost, p.page.Lost))
	}
	if len(p.page.Missing) > 0 {
		g.log.LogAttrs(ctx, slog.LevelDebug, "changed for the chat template", slog.String(telemetry.KeyRequestID, id), slog.Any(telemetry.KeyMissing, p.page.Missing))
	}
}

// turn puts a turn together.
func (g *Gateway) turn(s *snapshot, m *model, t *tenant.Tenant, c *httpapi.Call, req *conv.Request, p *turn.Prompt, er *engines.Request) *turn.Turn {
	dispatch := t.Dispatch || c.Header.Get("X-Weir-Dispatch") == "1"
	tn := &turn.Turn{
		Request: er, Prompt: p, Abort: s.config.Plugins.FailureOf(m.parserName) == config.FailureAbort,
		Assemble: assemble.Options{
			Tools: req.Tools, Choice: req.Choice, EmitUnknown: m.UnknownTools == config.UnknownEmit, Stop: req.Stop,
			KeepRaw: !c.Streamed, Dispatch: dispatch && c.Streamed, ID: callID(c.Surface),
		},
		Times: turn.Times{HeaderWait: s.config.Server.HeaderWait, KeepAlive: s.config.Server.KeepAlive, Idle: defaultIdle},
	}
	for _, e := range m.engines {
		tn.Replicas = append(tn.Replicas, turn.Replica{Name: e.name, Engine: e.Engine})
		if o := e.config.OpenAI; o != nil && o.IdleTimeout > 0 {
			tn.Times.Idle = o.IdleTimeout
		}
	}
	return tn
}

// guest opens the parser's guest of one stream. It is nil for a model whose output is not parsed, also because
// its parser is quarantined and may pass as text.
func (g *Gateway) guest(s *snapshot, m *model, t *tenant.Tenant) (*plughost.Stream, error) {
	guest, err := m.stream(g.registry, t.Name)
	switch {
	case err == nil:
		return guest, nil
	case errors.Is(err, plughost.ErrQuarantined) && s.config.Plugins.FailureOf(m.parserName) != config.FailureAbort:
		return nil, nil
	case errors.Is(err, plughost.ErrQuarantined):
		return nil, fault.Wrap(fault.Unavailable, err, "the parser plugin of this model is quarantined")
	case errors.Is(err, plughost.ErrUnknown):
		return nil, fault.Wrap(fault.Unavailable, err, "the parser plugin of this model is not loaded")
	}
	kind := plughost.KindOf(err)
	g.metrics.PluginFault(m.parserName, abi.ExportOpen, string(kind))
	g.log.LogAttrs(context.Background(), slog.LevelWarn, "parser not opened", slog.String(telemetry.KeyModel, m.ID), slog.String(telemetry.KeyPlugin, m.parserName),
		slog.String(telemetry.KeyKind, string(kind)), slog.String(telemetry.KeyError, err.Error()))
	if kind != plughost.KindBusy && s.config.Plugins.FailureOf(m.parserName) != config.FailureAbort {
		return nil, nil // as if it had failed at the first byte
	}
	return nil, fault.Wrap(fault.Plugin, err, "the parser plugin of this model is not available")
}

// constraint says how the output is forced into shape. A choice of tools that the engine cannot enforce
// is refused: a wrong answer that looks right is worse.
func (m *model) constraint(req *conv.Request) (engines.Constraint, error) {
	forced := req.Choice.Mode == conv.ChoiceRequired || req.Choice.Mode == conv.ChoiceNamed
	for _, e := range m.engines {
		o := e.config.OpenAI
		if forced && o != nil && !o.Structured {
			return engines.Constraint{}, fault.At(fault.Unsupported, "tool_choice", "this model's engine cannot be forced to call a tool, use auto")
		}
	}
	switch req.Format.Type {
	case "json_schema":
		return engines.Constraint{JSONSchema: req.Format.Schema}, nil
	case "json_object":
		return engines.Constraint{JSONObject: true}, nil
	}
	return engines.Constraint{}, nil
}

// session is the client's name of the conversation, kept apart between tenants.
func session(t *tenant.Tenant, req *conv.Request) string {
	if req.Session == "" {
		return ""
	}
	return t.Name + "/" + req.Session
}

// forwarded are the request headers that an engine gets to see.
func forwarded(c *httpapi.Call) map[string]string {
	var out map[string]string
	for _, name := range [...]string{"Traceparent", "Tracestate"} {
		if v := c.Header.Get(name); v != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = v
		}
	}
	return out
}

// callID makes ids of tool calls as a surface's clients know them: the surface's prefix, then the
// model's own id if it can stand in one, else 24 random characters.
func callID(surface string) func(native string) string {
	prefix := "call_"
	if surface == "messages" {
		prefix = "toolu_"
	}
	return func(native string) string {
		if plainID(native) {
			return prefix + native
		}
		return prefix + httpapi.NewID()
	}
}

func plainID(s string) bool {
	if len(s) < 9 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if digit, letter := c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z'; !digit && !letter {
			return false
		}
	}
	return true
}

// turnMeter feeds a turn's numbers to the metrics.
type turnMeter struct {
	turn    *telemetry.Turn
	metrics *telemetry.Metrics
	plugin  string
	guest   *plughost.Stream // nil for output that is not parsed
	log     *slog.Logger
	id      string
}

// Tokens notes generated tokens.
func (m *turnMeter) Tokens(n int) { m.turn.Tokens(n) }

// PluginFault counts a parser that failed and says why, once a stream.
func (m *turnMeter) PluginFault(f *host.Fault) {
	kind := plughost.KindOf(f)
	m.metrics.PluginFault(m.plugin, f.Export, string(kind))
	if m.guest != nil {
		m.guest.Report(f)
	}
	m.log.LogAttrs(context.Background(), slog.LevelWarn, "parser failed",
		slog.String(telemetry.KeyRequestID, m.id), slog.String(telemetry.KeyPlugin, m.plugin), slog.String(telemetry.KeyExport, f.Export),
		slog.String(telemetry.KeyKind, string(kind)), slog.String(telemetry.KeyError, f.Err.Error()))
}

func result(id string, o turn.Outcome) telemetry.Result {
	r := telemetry.Result{
		RequestID: id, Engine: o.Replica, Input: o.Usage.Input, Cached: o.Usage.Cached, Output: o.Usage.Output,
		Calls: o.Stats.Calls, Incomplete: o.Stats.Incomplete,
	}
	if o.Fault != nil {
		r.Err = o.Fault
	}
	return r
}
