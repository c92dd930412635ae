// Package canontest gives tests the requests of real clients in canonical form.
package canontest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

// Request is a request that a client sent.
type Request struct {
	File, Client, Scenario string
	Conv                   *conv.Request // without preambles, volatile parts marked
}

// Recorded returns the recorded requests of the surfaces that there are, in the order of their files. Without the
// recordings beside the repository it skips the test.
func Recorded(tb testing.TB) []Request {
	tb.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		tb.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "recorded", "*.json"))
	if err != nil || len(files) == 0 {
		tb.Skip("SKIPPED: no recorded requests in ../shared/data/recorded beside the repository")
	}
	surfaces := map[string]surface.Surface{"/v1/chat/completions": chat.Surface{}, "/v1/messages": messages.Surface{}}
	var out []Request
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		var r struct {
			Client, Scenario, Method, Path string
			Body                           json.RawMessage
		}
		if err := json.Unmarshal(data, &r); err != nil {
			tb.Fatalf("%s: %v", f, err)
		}
		s := surfaces[r.Path]
		if r.Method != http.MethodPost || s == nil {
			continue
		}
		req, err := s.Decode(r.Body, nil)
		if err != nil {
			tb.Fatalf("%s: %v", f, err)
		}
		out = append(out, Request{filepath.Base(f), r.Client, r.Scenario, canon.MarkVolatile(canon.StripPreamble(req.Request), canon.VolatileBlocks())})
	}
	return out
}
