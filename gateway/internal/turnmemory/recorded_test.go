package turnmemory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
)

// TestRecorded follows the conversations of real clients: what a request has of turns, the next one has too,
// under the same keys.
func TestRecorded(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "recorded", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("SKIPPED: no recorded requests in ../shared/data/recorded beside the repository")
	}
	last, compared, turns := map[string][]turnmemory.Key{}, 0, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Client, Scenario, Method, Path string
			Body                           json.RawMessage
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		s := map[string]surface.Surface{"/v1/chat/completions": chat.Surface{}, "/v1/messages": messages.Surface{}}[r.Path]
		if r.Method != "POST" || s == nil {
			continue
		}
		req, err := s.Decode(r.Body, nil)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		canonical := canon.MarkVolatile(canon.StripPreamble(req.Request), canon.VolatileBlocks())
		name := fmt.Sprint(r.Client, r.Scenario, opening(canonical))
		var keys []turnmemory.Key
		for _, k := range memory.Keys(canonical) {
			if k != (turnmemory.Key{}) {
				keys = append(keys, k)
			}
		}
		if before, ok := last[name]; ok {
			compared++
			turns += len(keys)
			if len(keys) < len(before) || fmt.Sprint(keys[:len(before)]) != fmt.Sprint(before) {
				t.Errorf("%s: keys %x, the request before had %x", filepath.Base(f), keys, before)
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
