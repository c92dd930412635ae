package gateway_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

// extra is a model that a changed configuration has beside the others.
const extra = "[[models]]\nid = \"extra\"\nengines = [\"sim\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\n"

// served reports whether a model answers.
func (w *world) served(model string) bool {
	w.tb.Helper()
	s := chat()
	resp, b := w.post(s.path, s.body(model, "say hi"))
	if resp.StatusCode == http.StatusOK {
		return s.whole(w.tb, b).of("text") == "hi"
	}
	if got := s.refusal(w.tb, resp.StatusCode, b); got.Status != http.StatusNotFound {
		w.tb.Errorf("model %s: %+v", model, got)
	}
	return false
}

// TestReload is what SIGHUP does.
func TestReload(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	if w.served("extra") {
		t.Fatal("a model that is not there")
	}
	w.configure(options{more: extra})
	if err := w.gw.Reload(); err != nil || !w.served("extra") {
		t.Fatalf("a good file: %v", err)
	}
	good, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"syntax", "[server\n", "weir.toml:1"},
		{"unknown key", strings.Replace(string(good), "[plugins]", "[plugins]\nnosuch = 1", 1), "nosuch"},
		{"unknown engine", strings.Replace(string(good), `engines = ["sim"]`, `engines = ["nosuch"]`, 1), `"nosuch"`},
		{"listen", strings.Replace(string(good), "[server]", "[server]\nlisten = \"127.0.0.1:9\"", 1), "listen"},
		{"no models", "[[tenants]]\nname = \"x\"\n[engines.a]\nkind = \"sim\"\n", "models"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.write(c.text)
			if err := w.gw.Reload(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
			if !w.served("sim") || !w.served("extra") {
				t.Error("a bad file changed something")
			}
		})
	}
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	if err := w.gw.Reload(); err == nil || !w.served("extra") {
		t.Errorf("without a file: %v", err)
	}
	w.configure(options{})
	if err := w.gw.Reload(); err != nil || w.served("extra") {
		t.Errorf("a model that was taken out: %v", err)
	}
}

// TestReloadKeepsTurns takes everything away that a running stream uses; it ends as it would have.
func TestReloadKeepsTurns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s surface) {
		t.Parallel()
		w := start(t, options{})
		gate := make(chan struct{}, 2)
		gate <- struct{}{}
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("<think>\nHello", "\n</think>\n\nagain"), Gate: gate})
		body := s.body("double", "hello", streamed, thinks)
		st := w.open(s.path, body)
		k := w.dial(s.path)
		frames := st.until("Hello")
		w.write("[plugins]\ndir = \"" + w.plugins + "\"\ncache_dir = \"" + once.cache + "\"\n[engines.sim]\nkind = \"sim\"\noverhead = \"0s\"\ntoken_time = \"0s\"\n" + extra + "[[tenants]]\nname = \"new\"\nany_key = true\n")
		if err := w.gw.Reload(); err != nil {
			t.Fatal(err)
		}
		if w.served("double") || w.served("sim") || !w.served("extra") {
			t.Error("the new configuration does not hold")
		}
		k.request("1", body)
		if _, e := k.refused(s); e.Status != http.StatusNotFound {
			t.Errorf("a socket's next turn: %+v", e)
		}
		gate <- struct{}{}
		if a := s.read(t, append(frames, st.rest()...)); plain(a.Blocks) != `reasoning "Hello" | text "again"` || a.Finish != s.stop {
			t.Errorf("got %s, %s", plain(a.Blocks), a.Finish)
		}
	})
}

// TestFileWatched changes the file under a running gateway.
func TestFileWatched(t *testing.T) {
	t.Parallel()
	w, _ := run(t, options{})
	w.configure(options{more: extra})
	eventually(t, "a changed file holds", func() bool { return w.served("extra") })
	w.write("[server]\nnosuch = 1\n")
	eventually(t, "a bad file is told of", func() bool {
		return strings.Contains(w.log.String(), "configuration not taken") && strings.Contains(w.log.String(), "weir.toml:2: server.nosuch")
	})
	if !w.served("extra") || !w.served("sim") {
		t.Error("a bad file changed something")
	}
	w.configure(options{})
	eventually(t, "a repaired file holds", func() bool { return !w.served("extra") })
}

// TestWithoutFile has the embedded default, which nothing can reload.
func TestWithoutFile(t *testing.T) {
	t.Parallel()
	w := defaultWorld(t)
	if err := w.gw.Reload(); err == nil {
		t.Error("a reload of nothing")
	}
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		if a := w.ask(s, s.body("claude-opus-5", "say hi", streamed), "Authorization", "Bearer anything"); a.of("text") != "hi" {
			t.Errorf("got %+v", a)
		}
		if a := w.ask(s, s.body("weir/sim-coder", "call f {\"a\": 7, \"t\": \"x\"}", s.tools("f"), streamed)); plain(a.Blocks) != `call f"{\"a\": 7, \"t\": \"x\"}"` {
			t.Errorf("got %s", plain(a.Blocks))
		}
	})
}
