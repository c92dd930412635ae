package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded is a request of a real client.
type recorded struct {
	Client, Scenario, Method, Path string
	Headers                        [][2]string
	Body                           json.RawMessage
}

// TestRecorded replays what real clients sent: each request is answered, streamed or not as it asked, with
// a turn that is well-formed.
func TestRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../shared/data/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("SKIPPED: no recorded requests in ../shared/data/recorded beside the repository")
	}
	w := start(t, options{sim: "aliases = [\"*\"]\ncontext = 2000000"})
	played := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var r recorded
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		path, _, _ := strings.Cut(r.Path, "?")
		for _, s := range []surface{chat(), messages()} {
			if r.Method != http.MethodPost || path != s.path && path != s.path+"/count_tokens" {
				continue
			}
			played++
			t.Run(filepath.Base(f), func(t *testing.T) {
				w := *w
				w.tb = t
				w.replay(t, s, r, path)
			})
		}
	}
	if played == 0 {
		t.Error("no recording was of a path served here")
	}
}

func (w *world) replay(t *testing.T, s surface, r recorded, path string) {
	t.Helper()
	var body bytes.Buffer // the files are indented, requests are not
	if err := json.Compact(&body, r.Body); err != nil {
		t.Fatal(err)
	}
	req := w.request(http.MethodPost, r.Path, body.String())
	for _, h := range r.Headers {
		switch http.CanonicalHeaderKey(h[0]) {
		case "Host", "Content-Length", "Connection", "Accept-Encoding", "Transfer-Encoding":
		default:
			req.Header.Set(h[0], h[1])
		}
	}
	resp := w.send(req)
	if resp.StatusCode != http.StatusOK {
		_, b := w.do(req)
		t.Fatalf("%s: %s", resp.Status, b)
	}
	var asked struct{ Stream bool }
	if err := json.Unmarshal(r.Body, &asked); err != nil {
		t.Fatal(err)
	}
	var a answer
	switch {
	case path != s.path:
		return
	case asked.Stream:
		a = s.read(t, newStream(t, resp).rest())
	default:
		var b bytes.Buffer
		if _, err := b.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		a = s.whole(t, b.Bytes())
	}
	if len(a.Blocks) == 0 || a.Fault != nil {
		t.Errorf("got %+v", a)
	}
	for _, c := range a.calls() {
		if !json.Valid([]byte(c.Text)) {
			t.Errorf("call %s: %s", c.Name, c.Text)
		}
	}
}
