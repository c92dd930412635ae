package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger makes a logger that writes lines to w, as JSON or as key=value text. The level may be changed
// while it is in use.
func NewLogger(w io.Writer, json bool, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
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
