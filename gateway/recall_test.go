package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// long is a conversation that is worth remembering, of so many turns.
func long(turns int) string {
	var b strings.Builder
	b.WriteString(`"messages":[{"role":"user","content":"` + strings.Repeat("a word ", 2500) + `"}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":"said %d"},{"role":"user","content":"and %d?"}`, i, i)
	}
	return b.String() + "]"
}

// TestRecall: a conversation that comes again has the prompt that it has when it comes first, on both surfaces and over a reload;
// what is remembered is shared by the surfaces as memory, and by nobody who has another key.
func TestRecall(t *testing.T) {
	t.Parallel()
	onFramed(t, func(t *testing.T, s surface) {
		w, fresh := start(t, options{}), start(t, options{})
		ask := func(w *world, turns int, key string) string {
			t.Helper()
			body := object(`"model":"double"`, `"max_tokens":64`, long(turns))
			if resp, b := w.post(s.path, body, "Authorization", "Bearer "+key); resp.StatusCode != http.StatusOK {
				t.Fatalf("status %d: %s", resp.StatusCode, b)
			}
			return w.prompt()
		}
		held := 0
		for turns := 1; turns <= 6; turns++ {
			if got, want := ask(w, turns, "a"), ask(fresh, turns, fmt.Sprint("k", turns)); got != want {
				t.Errorf("%d turns: got\n%s\nwant\n%s", turns, got[max(0, len(got)-400):], want[max(0, len(want)-400):])
			}
			before := held
			held = w.gw.Recalled()
			if first := 2; turns < first && held != 0 || turns >= first && held <= before {
				t.Errorf("%d turns: %d bytes are held, had %d", turns, held, before)
			}
			if turns == 4 {
				if err := w.gw.Reload(); err != nil || w.gw.Recalled() != held {
					t.Errorf("reloaded: %d bytes of %d, %v", w.gw.Recalled(), held, err)
				}
			}
		}
		if n := fresh.gw.Recalled(); n != 0 {
			t.Errorf("%d bytes are held of what came once with each key", n)
		}
	})
}
