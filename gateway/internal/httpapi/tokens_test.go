package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	busy := fault.New(fault.Busy, "later")
	for _, c := range []struct {
		name, path, body string
		stub             *stub
		status           int
		want             string // of the body
		refused          int32
	}{
		{name: "text", path: "/tokenize", body: `{"model":"m","prompt":"hi"}`, status: 200, want: `{"count":2,"max_model_len":100,"tokens":[1,2],"token_strs":null}`},
		{name: "texts", path: "/tokenize", body: `{"model":"m","prompt":"hi","return_token_strs":true}`, status: 200, want: `"token_strs":["a","hi"]}`},
		{name: "messages", path: "/tokenize", body: `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, status: 200, want: `{"count":2,`},
		{name: "ids", path: "/detokenize", body: `{"model":"m","tokens":[3,4]}`, status: 200, want: `{"prompt":"m[3 4]"}`},
		{name: "not understood", path: "/tokenize", body: `{"model":"m"}`, status: 400, want: `{"error":{"message":"prompt: expected prompt or messages","type":"invalid_request_error","param":"prompt"`, refused: 1},
		{name: "no ids", path: "/detokenize", body: `{"model":"m"}`, status: 400, want: `"param":"tokens"`, refused: 1},
		{name: "too large", path: "/detokenize", body: `{"model":"m","tokens":[3,4]}`, stub: &stub{set: httpapi.Settings{MaxBody: 10}}, status: 413, want: `request too large`, refused: 1},
		{name: "no tokens", path: "/tokenize", body: `{"model":"m","prompt":"hi"}`, stub: &stub{refuse: busy}, status: 503, want: `later`},
		{name: "no text", path: "/detokenize", body: `{"model":"m","tokens":[]}`, stub: &stub{refuse: busy}, status: 503, want: `later`},
	} {
		for _, version := range []string{"", "/v1"} {
			t.Run(version+c.path+" "+c.name, func(t *testing.T) {
				t.Parallel()
				s := &stub{}
				if c.stub != nil {
					s.set, s.refuse = c.stub.set, c.stub.refuse
				}
				h, _ := handler(t, s)
				r := request(t, http.MethodPost, version+c.path, c.body)
				r.Header.Set("Authorization", "Bearer k")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || s.refused.Load() != c.refused {
					t.Errorf("%d %s, refused %d", w.Code, w.Body, s.refused.Load())
				}
				if w.Header().Get("X-Request-Id") == "" || w.Header().Get("Content-Type") != "application/json" {
					t.Errorf("headers %v", w.Header())
				}
				if call := s.last.Load(); call != nil && (call.Key != "k" || call.Surface != "chat" || (call.Request != nil) != (c.name == "messages")) {
					t.Errorf("call %+v", call)
				}
			})
		}
	}
}
