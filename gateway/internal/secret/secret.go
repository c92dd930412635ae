// Package secret holds text that must not be printed.
package secret

import "log/slog"

const redacted = "[redacted]"

// Text is a secret. Every way of printing or encoding it gives [redacted]; Reveal alone gives the text.
// The zero value is no secret at all.
type Text struct{ v string }

// New makes a secret of v.
func New(v string) Text { return Text{v: v} }

// Reveal returns the text, for the one place that needs it.
func (t Text) Reveal() string { return t.v }

// IsZero reports whether there is no secret.
func (t Text) IsZero() bool { return t.v == "" }

// String returns [redacted], or nothing where there is no secret.
func (t Text) String() string {
	if t.v == "" {
		return ""
	}
	return redacted
}

// GoString is String, for %#v.
func (t Text) GoString() string { return t.String() }

// MarshalText is String, for JSON and the like.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is String, for slog.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }
