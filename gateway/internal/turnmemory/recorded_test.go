package turnmemory_test

import (
	"fmt"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon/canontest"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
)

// TestRecorded follows the conversations of real clients: what a request has of turns, the next one has too,
// under the same keys.
func TestRecorded(t *testing.T) {
	t.Parallel()
	last, compared, turns := map[string][]turnmemory.Key{}, 0, 0
	for _, r := range canontest.Recorded(t) {
		name := r.Client + r.Scenario + opening(r.Conv)
		var keys []turnmemory.Key
		for _, k := range memory.Keys(r.Conv) {
			if k != (turnmemory.Key{}) {
				keys = append(keys, k)
			}
		}
		if before, ok := last[name]; ok {
			compared++
			turns += len(keys)
			if len(keys) < len(before) || fmt.Sprint(keys[:len(before)]) != fmt.Sprint(before) {
				t.Errorf("%s: keys %x, the request before had %x", r.File, keys, before)
			}
		}
		last[name] = keys
	}
	t.Logf("%d pairs of requests compared, with %d turns", compared, turns)
}

// opening tells conversations apart: all texts up to the first of a user.
func opening(req *conv.Request) (s string) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			s += p.Text
		}
		if m.Role == conv.User {
			break
		}
	}
	return s
}
