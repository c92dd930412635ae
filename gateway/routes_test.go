package gateway_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: "[[models]]\nid = \"org/team/model\"\naliases = [\"claude-*\", \"gpt-*\", \"anthropic/team\"]\nengines = [\"sim\"]\nfamily = \"qwen3\"\ndisplay_name = \"The model\"\n"})
	for _, c := range []struct {
		name, method, path string
		header             []string
		status             int
		text               string // in the body
	}{
		{name: "hello", method: "HEAD", path: "/api/hello", status: 200},
		{name: "hello GET", method: "GET", path: "/api/hello", status: 200},
		{name: "models", method: "GET", path: "/v1/models", status: 200, text: `"id":"org/team/model"`},
		{name: "models HEAD", method: "HEAD", path: "/v1/models", status: 200},
		{name: "models with a query", method: "GET", path: "/v1/models?limit=1000", status: 200, text: `"has_more":false`},
		{name: "one model", method: "GET", path: "/v1/models/sim", status: 200, text: `{"id":"sim",`},
		{name: "slashes", method: "GET", path: "/v1/models/org/team/model", status: 200, text: `"display_name":"The model"`},
		{name: "escaped slashes", method: "GET", path: "/v1/models/org%2Fteam%2Fmodel", status: 200, text: `{"id":"org/team/model",`},
		{name: "exact alias", method: "GET", path: "/v1/models/anthropic/team", status: 200, text: `{"id":"anthropic/team","object":"model","type":"model","display_name":"The model"`},
		{name: "vendor", method: "GET", path: "/v1/models/openai/openai/anthropic/team", status: 200, text: `{"id":"anthropic/team",`},
		{name: "pattern", method: "GET", path: "/v1/models/claude-opus-5", status: 200, text: `{"id":"org/team/model",`},
		{name: "unknown model", method: "GET", path: "/v1/models/no/such", status: 404, text: `"code":"model_not_found"`},
		{name: "unknown model, messages", method: "GET", path: "/v1/models/no", header: []string{"Anthropic-Version", "2023-06-01"}, status: 404, text: `"type":"not_found_error"`},
		{name: "unknown path", method: "POST", path: "/v1/completions", status: 404, text: `there is nothing at POST \"/v1/completions\"`},
		{name: "unknown path, messages", method: "POST", path: "/v1/messages/batches", status: 404, text: `"type":"not_found_error"`},
		{name: "wrong method", method: "DELETE", path: "/v1/messages", status: 404, text: `"type":"error"`},
		{name: "preflight", method: "OPTIONS", path: "/v1/chat/completions", header: []string{"Origin", "https://evil.test"}, status: 403, text: `"code":"forbidden"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			resp, b := w.do(w.request(c.method, c.path, "", c.header...))
			if resp.StatusCode != c.status || !strings.Contains(string(b), c.text) {
				t.Errorf("got %s %s, want %d with %s", resp.Status, b, c.status, c.text)
			}
			if len(b) > 0 && !json.Valid(b) {
				t.Errorf("not JSON: %s", b)
			}
		})
	}
	t.Run("both kinds of clients", func(t *testing.T) {
		w := *w
		w.tb = t
		_, b := w.do(w.request(http.MethodGet, "/v1/models", ""))
		var list struct {
			Object string
			Data   []struct {
				ID, Object, Type string
				Name             string `json:"display_name"`
				Created          int64
				CreatedAt        string `json:"created_at"`
				Owner            string `json:"owned_by"`
				Length           int    `json:"max_model_len"`
				Window           int    `json:"context_window"`
				Output           int    `json:"max_output_tokens"`
			}
			More  bool             `json:"has_more"`
			First string           `json:"first_id"`
			Last  string           `json:"last_id"`
			Codex []map[string]any `json:"models"`
		}
		strict(t, b, &list)
		if list.Object != "list" || len(list.Data) != 4 || len(list.Codex) != 4 || list.First != list.Data[0].ID || list.Last != list.Data[3].ID {
			t.Errorf("got %s", b)
		}
		for i, m := range list.Data {
			if c := list.Codex[i]; c["slug"] != m.ID || c["display_name"] != m.Name || c["context_window"] != float64(m.Window) {
				t.Errorf("got %+v for %s", c, m.ID)
			}
			if m.Object != "model" || m.Type != "model" || m.Name == "" || m.Owner == "" || m.CreatedAt == "" || m.Length == 0 || m.Window != m.Length {
				t.Errorf("got %+v", m)
			}
		}
	})
}

var madeID = regexp.MustCompile(`^req_[0-9A-Za-z]{24}$`)

// TestRequestIDs has the client's id in the answer, or a new one where it sent none that can stand there.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		seen := map[string]bool{}
		for _, c := range []struct {
			name, sent string
			kept       bool
		}{
			{"none", "", false},
			{"none again", "", false},
			{"own", "trace-1_2.3:4", true},
			{"long", strings.Repeat("a", 200), false},
			{"with spaces", "a b", false},
			{"with quotes", `a"b`, false},
		} {
			for _, body := range []string{s.body("sim", "say hi", streamed), s.body("sim", "say hi"), `{}`} {
				var header []string
				if c.sent != "" {
					header = []string{"X-Request-Id", c.sent}
				}
				resp, b := w.post(s.path, body, header...)
				got := resp.Header.Get(s.idHeader)
				if c.kept && got != c.sent || !c.kept && (!madeID.MatchString(got) || seen[got]) {
					t.Errorf("%s: got %q", c.name, got)
				}
				seen[got] = true
				if s.name == "messages" && body == `{}` && s.refusal(t, resp.StatusCode, b).ID != got {
					t.Errorf("%s: header %q, body %s", c.name, got, b)
				}
			}
		}
	})
}
