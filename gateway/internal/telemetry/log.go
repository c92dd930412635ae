package telemetry

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// NewLogger makes a logger that writes lines to w, as JSON or as key=value text. The level may be changed
// while it is in use. If w holds lines back (see Buffered), warnings and errors are flushed at once.
func NewLogger(w io.Writer, json bool, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if json {
		h = slog.NewJSONHandler(w, o)
	}
	if b, ok := w.(flusher); ok {
		h = prompt{h, b}
	}
	return slog.New(h)
}

// Log writes a line as log's LogAttrs does, but does not look for the line of the program that says it, which no
// handler of NewLogger shows and which is a quarter of what a line costs.
func Log(ctx context.Context, log *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	h := log.Handler()
	if !h.Enabled(ctx, level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, message, 0)
	line.AddAttrs(attrs...)
	_ = h.Handle(ctx, line) // as slog does: a log that fails stops no turn
}

type flusher interface{ Flush() error }

// prompt is a handler that flushes what somebody should see now.
type prompt struct {
	slog.Handler
	flusher flusher
}

// Handle writes r.
func (p prompt) Handle(ctx context.Context, r slog.Record) error {
	if err := p.Handler.Handle(ctx, r); err != nil || r.Level < slog.LevelWarn {
		return err
	}
	return p.flusher.Flush()
}

// WithAttrs returns a handler that writes attrs in each line.
func (p prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{p.Handler.WithAttrs(attrs), p.flusher}
}

// WithGroup returns a handler that writes attributes in a group.
func (p prompt) WithGroup(name string) slog.Handler {
	return prompt{p.Handler.WithGroup(name), p.flusher}
}

// SetLevel sets a level by its name: debug, info, warn or error. Another name, which the configuration
// refuses, is info.
func SetLevel(v *slog.LevelVar, name string) {
	switch name {
	case "debug":
		v.Set(slog.LevelDebug)
	case "warn":
		v.Set(slog.LevelWarn)
	case "error":
		v.Set(slog.LevelError)
	default:
		v.Set(slog.LevelInfo)
	}
}
