package ledger_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/ledger"
)

// TestNothingLost: a prompt that begins with all of an earlier one breaks nothing, whatever their parts are called.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("the same words ", 100)
	ids := make([]uint32, 300)
	for i := range ids {
		ids[i] = uint32(i + 1)
	}
	l := ledger.New(ledger.Options{})
	key := ledger.Key{Tenant: "t", Model: "m", Session: "s"}
	part := func(k ledger.Kind, end int) []ledger.Part { return []ledger.Part{{Kind: k, End: end}} }
	l.Observe(&ledger.Prompt{Key: key, IDs: ids[:200], Text: text[:1000], Parts: part(ledger.System, 1000)})
	r := l.Observe(&ledger.Prompt{Key: key, IDs: ids, Text: text, Parts: part(ledger.User, len(text))})
	if r.Cause != ledger.None || r.Shared != 200 || r.Lost != 0 {
		t.Errorf("got %s, shared %d, lost %d", r.Cause, r.Shared, r.Lost)
	}
}

// TestForget: a prompt that no engine saw leaves nothing behind, and takes nothing away that was there.
func TestForget(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	prompt := func(n int) *ledger.Prompt {
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = uint32(i + 1)
		}
		return &ledger.Prompt{Key: ledger.Key{Tenant: "t", Model: "m", Session: "s"}, IDs: ids}
	}
	first := l.Observe(prompt(200))
	l.Append(first.Ref, ledger.Answer{})
	bytes := l.Stats().Bytes
	for range 20 {
		r := l.Observe(prompt(300))
		if r.Cause != ledger.None || r.Shared != 200 {
			t.Fatalf("got %s, shared %d", r.Cause, r.Shared)
		}
		l.Forget(r.Ref)
		if got := l.Stats().Bytes; got != bytes {
			t.Fatalf("%d bytes in use, were %d", got, bytes)
		}
	}
	l.Append(l.Observe(prompt(300)).Ref, ledger.Answer{})
	if r := l.Observe(prompt(400)); r.Shared != 300 {
		t.Errorf("shared %d", r.Shared)
	}
	l.Forget(ledger.Ref{})
}
