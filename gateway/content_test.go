package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
)

// TestContentInLog has one tenant that allows content in the log, and one that does not.
func TestContentInLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tenants string
		logged  bool
	}{
		{"allowed", "[[tenants]]\nname = \"open\"\nany_key = true\nlog_prompts = true\n", true},
		{"not allowed", "[[tenants]]\nname = \"shut\"\nany_key = true\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, options{tenants: c.tenants, script: []enginetest.Script{{Chunks: enginetest.Say("the quiet answer")}}})
			s := chat()
			w.post(s.path, s.body("double", "the loud question", streamed))
			// The line is written when the turn is over, which the client may see first.
			deadline := time.Now().Add(patience)
			for c.logged && !strings.Contains(w.log.String(), "the quiet answer") && time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond)
			}
			for _, text := range []string{"the loud question", "the quiet answer"} {
				if got := strings.Contains(w.log.String(), text); got != c.logged {
					t.Errorf("%q in the log: %v, want %v", text, got, c.logged)
				}
			}
		})
	}
}
