package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway"
)

// admin asks the admin address.
func (w *world) admin(method, path string, header ...string) (int, gateway.PluginList) {
	w.tb.Helper()
	r := httptest.NewRequestWithContext(w.tb.Context(), method, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.gw.Admin().ServeHTTP(rec, r)
	var list gateway.PluginList
	if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
		w.tb.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	return rec.Code, list
}

// listed finds a plugin in the list.
func listed(l gateway.PluginList, name string) gateway.PluginStatus {
	for _, p := range l.Plugins {
		if p.Name == name {
			return p
		}
	}
	return gateway.PluginStatus{}
}

// metrics is the text of the admin address's metrics.
func (w *world) metrics() string {
	w.tb.Helper()
	rec := httptest.NewRecorder()
	w.gw.Admin().ServeHTTP(rec, httptest.NewRequestWithContext(w.tb.Context(), http.MethodGet, "/metrics", http.NoBody))
	return rec.Body.String()
}

// TestQuarantine has a new version that traps: after a few faults the model is back on the last good one,
// the metrics and the admin address say so, and an operator's word brings the new one back.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w, _ := run(t, options{plugins: "quarantine = 3", more: slashes})
	s := messages()
	w.drop("slashes.wasm", allText("slashes", "0"), true)
	eventually(t, "the first version", func() bool { v, _ := w.plugin("slashes"); return v == "0" })
	w.drop("slashes.wasm", guestWasm(t), true)
	eventually(t, "the second version", func() bool { v, _ := w.plugin("slashes"); return v == "1" })

	w.double.Play(enginetest.Script{Chunks: enginetest.Say("because!", " /and/", " on")}) // it traps at the !
	for range 3 {
		if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `text "because! /and/ on"` {
			t.Fatalf("a stream whose parser traps: %s", plain(a.Blocks))
		}
	}
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/ so")})
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `text "/why/ so"` {
		t.Errorf("after the quarantine: %s", plain(a.Blocks))
	}
	if code, list := w.admin(http.MethodGet, "/plugins"); code != http.StatusOK || !listed(list, "slashes").Quarantined || listed(list, "slashes").Previous != "0" || listed(list, "slashes").Faults != 3 {
		t.Errorf("%d %+v", code, listed(list, "slashes"))
	}
	for _, line := range []string{`weir_plugin_quarantined{plugin="slashes"} 1`, `weir_plugin_faults_total{export="weir1_feed",kind="trap",plugin="slashes"} 3`} {
		if !strings.Contains(w.metrics(), line+"\n") {
			t.Errorf("no metric %s", line)
		}
	}
	if log := w.log.String(); strings.Count(log, "plugin quarantined") != 1 {
		t.Errorf("told not once:\n%s", log)
	}

	if code, _ := w.admin(http.MethodPost, "/plugins/slashes/release"); code != http.StatusForbidden {
		t.Errorf("without the header: %d", code)
	}
	if code, list := w.admin(http.MethodPost, "/plugins/slashes/release", "X-Weir-Admin", "1"); code != http.StatusOK || listed(list, "slashes").Quarantined {
		t.Errorf("%d %+v", code, list)
	}
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `reasoning "why" | text " so"` {
		t.Errorf("after the release: %s", plain(a.Blocks))
	}
	if code, list := w.admin(http.MethodPost, "/plugins/slashes/rollback", "X-Weir-Admin", "1"); code != http.StatusOK || listed(list, "slashes").Version != "0" {
		t.Errorf("%d %+v", code, list)
	}
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `text "/why/ so"` {
		t.Errorf("after the rollback: %s", plain(a.Blocks))
	}
	for path, want := range map[string]int{"/plugins/builtin/rollback": http.StatusConflict, "/plugins/none/rollback": http.StatusNotFound} {
		if code, list := w.admin(http.MethodPost, path, "X-Weir-Admin", "1"); code != want || list.Error == "" {
			t.Errorf("%s: %d %s", path, code, list.Error)
		}
	}
}

// TestQuarantineWithoutAnother: where there is no version to go back to, the failure policy says what becomes
// of the model.
func TestQuarantineWithoutAnother(t *testing.T) {
	t.Parallel()
	b := guestWasm(t)
	for _, c := range []struct{ name, plugins string }{
		{"raw", "quarantine = 1"},
		{"abort", "quarantine = 1\nsettings = { slashes = { failure = \"abort\" } }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, _ := run(t, options{plugins: c.plugins, more: slashes})
			s := messages()
			w.drop("slashes.wasm", b, true)
			eventually(t, "the plugin", func() bool { v, _ := w.plugin("slashes"); return v == "1" })
			w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/!")})
			w.ask(s, s.body("slashes", "hello", streamed))
			w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/ so")})
			resp, body := w.post(s.path, s.body("slashes", "hello"))
			switch {
			case c.name == "raw" && (resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "/why/ so")):
				t.Errorf("%d %s", resp.StatusCode, body)
			case c.name == "abort" && (resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "quarantined")):
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestHotSwapUnderLoad swaps a parser while 500 streams are on it: none breaks, and each ends as it began.
func TestHotSwapUnderLoad(t *testing.T) {
	t.Parallel()
	const streams = 500
	w, _ := run(t, options{more: slashes})
	w.drop("slashes.wasm", guestWasm(t), true)
	eventually(t, "the plugin", func() bool { v, _ := w.plugin("slashes"); return v == "1" })
	gate := make(chan struct{})
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/anci", "ent/ ", "way", "s /in", "deed/."), Gate: gate})
	s := messages()
	body := s.body("slashes", "hello", streamed)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	answers := make([]answer, streams)
	errs := make([]error, streams)
	var group sync.WaitGroup
	for k := range streams {
		r := w.request(http.MethodPost, s.path, body)
		group.Go(func() {
			resp, err := client.Do(r) //nolint:bodyclose // the stream's rest closes it
			if err != nil {
				errs[k] = err
				return
			}
			answers[k] = s.read(t, newStream(t, resp).rest())
		})
	}
	seen := 0
	eventually(t, "all streams run", func() bool { seen += len(w.double.Requests()); return seen == streams })
	for range streams {
		gate <- struct{}{} // some get a piece, some none, some several
	}
	w.drop("slashes.wasm", allText("slashes", "2"), true)
	eventually(t, "the new version", func() bool { v, _ := w.plugin("slashes"); return v == "2" })
	close(gate)
	group.Wait()
	for k, err := range errs {
		if got := plain(answers[k].Blocks); err != nil || got != `reasoning "ancient" | text " ways " | reasoning "indeed" | text "."` {
			t.Fatalf("stream %d: %s, %v", k, got, err)
		}
	}
	if a := w.ask(s, body); plain(a.Blocks) != `text "/ancient/ ways /indeed/."` {
		t.Errorf("a new stream: %s", plain(a.Blocks))
	}
	if strings.Contains(w.log.String(), "parser failed") {
		t.Error("a parser failed")
	}
}
