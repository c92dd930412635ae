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
