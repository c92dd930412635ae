package upstream

import "testing"

func TestStreams(t *testing.T) {
	for kind, want := range map[string]bool{
		"text/event-stream":                    true,
		"text/event-stream; charset=utf-8":     true,
		"text/event-stream;charset=UTF-8":      true,
		"Text/Event-Stream ; charset=utf-8":    true,
		"text/event-stream; charset=\"utf-8\"": true,
		"text/event-streams":                   false,
		"text/event-stream; charset":           false,
		"text/event-stream, text/html":         false,
		"application/json":                     false,
		"":                                     false,
	} {
		if got := streams(kind); got != want {
			t.Errorf("%q: got %v", kind, got)
		}
	}
}
