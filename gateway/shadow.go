package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/shadow"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// variant is a model with another plugin for its parser; nil where there is none. The plugin may be dropped in
// later, so one that is not loaded is no fault.
func (g *Gateway) variant(m *model, plugin string) *model {
	if plugin == "" {
		return nil
	}
	v := *m
	v.shadow, v.canary = nil, nil
	if plugin != m.parserName {
		v.parserName, v.parserConfig = plugin, []byte(`{}`)
	}
	if _, err := g.registry.Lookup(plugin); err != nil {
		g.log.LogAttrs(context.Background(), slog.LevelWarn, "the shadow or canary plugin of a model is not available",
			slog.String(telemetry.KeyModel, m.ID), slog.String(telemetry.KeyPlugin, plugin), slog.String(telemetry.KeyError, err.Error()))
	}
	return &v
}

// parser opens the parser of one stream: that of the model, or its canary's where the stream falls to its
// share. The model returned is the one whose parser it is.
func (g *Gateway) parser(s *snapshot, m *model, t *tenant.Tenant, key string) (*model, *plughost.Stream, error) {
	if m.canary == nil {
		guest, err := g.guest(s, m, t)
		return m, guest, err
	}
	plugin, side := m.canary.parserName, telemetry.FirstSide
	if drawn(m.Canary.Share, m.ID, plugin, key) {
		guest, err := m.canary.stream(g.registry, t.Name)
		if err == nil {
			g.metrics.CanaryStream(m.ID, plugin, telemetry.CanarySide)
			if m.shadow != nil { // it is compared with the model's own parser
				g.skipped(s, g.subject(m))
			}
			return m.canary, guest, nil
		}
		side = telemetry.FallbackSide
	}
	g.metrics.CanaryStream(m.ID, plugin, side)
	guest, err := g.guest(s, m, t)
	return m, guest, err
}

// drawn decides whether something falls to a share. The names decide alone, so that a session stays where it
// is over turns, restarts and gateways; and who is drawn stays so when the share grows.
func drawn(share float64, names ...string) bool {
	h := sha256.New()
	for _, n := range names {
		h.Write([]byte(n))
		h.Write([]byte{0})
	}
	n := binary.BigEndian.Uint64(h.Sum(nil))
	return float64(n>>11)*0x1p-53 < share
}

// beside is the shadow of one stream. Nil is none.
type beside struct {
	g       *Gateway
	store   *shadow.Store
	subject shadow.Subject
	id      string // of the request
	guest   *plughost.Stream
	stream  *shadow.Stream
}

// beside gives a turn its model's shadow. One that cannot be opened is counted, and the turn has none.
func (g *Gateway) beside(s *snapshot, m *model, t *tenant.Tenant, parser *plughost.Stream, tn *turn.Turn) *beside {
	if m.shadow == nil {
		return nil
	}
	b := &beside{g: g, store: s.shadows, id: tn.Request.ID, subject: g.subject(m)}
	var err error
	if parser != nil { // else the output is not parsed, for its parser is quarantined
		b.guest, err = m.shadow.stream(g.registry, t.Name)
	}
	if b.guest == nil || err != nil {
		g.skipped(s, b.subject)
		return nil
	}
	b.guest.NoWait()
	b.stream = shadow.New(shadow.Options{Guest: b.guest, Assemble: tn.Assemble, Content: t.LogPrompts})
	tn.Shadow = b.stream
	return b
}

// subject is what the shadow of a model is compared as.
func (g *Gateway) subject(m *model) shadow.Subject {
	plugin := m.shadow.parserName
	return shadow.Subject{Model: m.ID, Shadow: plugin, Generation: g.registry.Generation(plugin)}
}

// skipped counts a stream without its shadow.
func (g *Gateway) skipped(s *snapshot, of shadow.Subject) {
	g.metrics.ShadowStream(of.Model, of.Shadow, string(shadow.Skipped))
	s.shadows.Count(of, shadow.Skipped, nil)
}

// close ends the shadow and tells what it came to.
func (b *beside) close(ctx context.Context) {
	if b == nil {
		return
	}
	b.guest.Close()
	o, of := b.stream.Outcome(), b.subject
	b.g.metrics.ShadowStream(of.Model, of.Shadow, string(o.Result))
	b.store.Count(of, o.Result, o.Fault)
	switch {
	case o.Fault != nil:
		b.fault(ctx, o.Fault)
	case o.Difference != nil:
		b.difference(ctx, o.Difference)
	}
}

func (b *beside) fault(ctx context.Context, f *host.Fault) {
	kind := plughost.KindOf(f)
	b.g.metrics.PluginFault(b.subject.Shadow, f.Export, string(kind))
	b.guest.Report(f)
	if b.store.First(b.subject, shadow.Faulty) {
		b.g.log.LogAttrs(ctx, slog.LevelInfo, "shadow failed", b.attrs(slog.String(telemetry.KeyExport, f.Export), slog.String(telemetry.KeyKind, string(kind)), slog.String(telemetry.KeyError, f.Err.Error()))...)
	}
}

func (b *beside) difference(ctx context.Context, d *shadow.Difference) {
	of := b.subject
	b.g.metrics.ShadowDifference(of.Model, of.Shadow, d.First.Kind)
	b.store.Add(shadow.Entry{Subject: of, Time: time.Now(), RequestID: b.id, Difference: *d})
	if b.store.First(of, shadow.Different) {
		b.g.log.LogAttrs(ctx, slog.LevelInfo, "shadow differs", b.attrs(slog.Int(telemetry.KeyEvent, d.Event), slog.String(telemetry.KeyFirst, d.First.Kind.String()),
			slog.String(telemetry.KeySecond, d.Second.Kind.String()), slog.Int(telemetry.KeyOffset, d.At()))...)
	}
}

// attrs are those of a line about the shadow. Streams of one generation have most of it in common, so such a
// line is written for the first alone.
func (b *beside) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String(telemetry.KeyRequestID, b.id), slog.String(telemetry.KeyModel, b.subject.Model),
		slog.String(telemetry.KeyPlugin, b.subject.Shadow), slog.Uint64(telemetry.KeyGeneration, b.subject.Generation),
	}, more...)
}

// keepShadows forgets the differences of models that are gone.
func (s *snapshot) keepShadows() {
	if s.shadows == nil {
		s.shadows = &shadow.Store{}
	}
	ids := make([]string, len(s.config.Models))
	for i := range s.config.Models {
		ids[i] = s.config.Models[i].ID
	}
	s.shadows.Keep(ids)
}

// shadowPage shows the differences at the admin address.
func (g *Gateway) shadowPage() telemetry.Page {
	return telemetry.Page{Path: "/shadow", Append: func(dst []byte) []byte { return g.current.Load().shadows.AppendJSON(dst) }}
}
