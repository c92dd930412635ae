package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/tenant"
)

// want is a refusal on the two surfaces. A param is a member on chat and begins the text on messages.
type want struct {
	status               int
	chatType, code       string
	messagesType         string
	param, text          string
	chatStatus, messages int // where they differ
}

// check compares a refusal with what a surface should say.
func (x want) check(t *testing.T, s surface, got refusal) {
	t.Helper()
	status, kind, code, param := x.status, x.messagesType, "", ""
	if s.name == "responses" && x.param == "messages" {
		x.param = "input"
	}
	if s.name != "messages" {
		kind, code, param = x.chatType, x.code, x.param
	}
	if s.name != "messages" && x.chatStatus != 0 {
		status = x.chatStatus
	}
	if s.name == "messages" && x.messages != 0 {
		status = x.messages
	}
	if got.Status != status || got.Type != kind || got.Code != code || got.Param != param {
		t.Errorf("got %+v, want status %d, type %s, code %q, param %q", got, status, kind, code, param)
	}
	if !strings.Contains(got.Message, x.text) || !strings.Contains(got.Message, x.param) && s.name == "messages" {
		t.Errorf("message %q, want it to name %q and say %q", got.Message, x.param, x.text)
	}
}

func invalid(param, text string) want {
	return want{status: 400, chatType: "invalid_request_error", messagesType: "invalid_request_error", param: param, text: text}
}

// TestRefusedRequests sends what cannot become a turn, over HTTP and on a socket, to both surfaces.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	w := start(t, options{sim: "context = 2048\nmax_output = 2048\nmin_room = 256"})
	hello := `"messages":[{"role":"user","content":"hello"}]`
	for _, c := range []struct {
		name     string
		members  string // of the body, instead of a good one
		httpOnly bool
		want     want
	}{
		{name: "cut JSON", members: `"model":"sim","messages":[{"role":"user",`, httpOnly: true, want: invalid("", "not JSON: byte ")},
		{name: "after the end", members: `"model":"sim","max_tokens":9,` + hello + `}, {"a":1`, httpOnly: true, want: invalid("", "not JSON: byte ")},
		{name: "not UTF-8", members: `"model":"sim","max_tokens":9,"messages":[{"role":"user","content":"` + "a\xff" + `"}]`, httpOnly: true, want: invalid("", "expected UTF-8")},
		{name: "no model", members: `"max_tokens":9,` + hello, want: invalid("model", "expected the name of a model")},
		{name: "model is a number", members: `"model":7,"max_tokens":9,` + hello, want: invalid("model", "expected a string, got number")},
		{name: "no messages", members: `"model":"sim","max_tokens":9`, want: invalid("messages", "expected at least one message")},
		{name: "empty messages", members: `"model":"sim","max_tokens":9,"messages":[]`, want: invalid("messages", "expected at least one message")},
		{name: "messages is an object", members: `"model":"sim","max_tokens":9,"messages":{}`, want: invalid("messages", "expected an array, got object")},
		{name: "text is a number", members: `"model":"sim","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":5}]}]`, want: invalid("messages[0].content[0].text", "expected a string, got number")},
		{name: "stream is a string", members: `"model":"sim","max_tokens":9,"stream":"yes",` + hello, want: invalid("stream", "expected true or false, got string")},
		{name: "max_tokens is negative", members: `"model":"sim","max_tokens":-1,` + hello, want: invalid("max_tokens", "1")},
		{name: "temperature is text", members: `"model":"sim","max_tokens":9,"temperature":"hot",` + hello, want: invalid("temperature", "expected a number, got string")},
		{name: "unknown model", members: `"model":"nosuch","max_tokens":9,` + hello, want: want{status: 404, chatType: "invalid_request_error", code: "model_not_found", messagesType: "not_found_error", param: "model", text: `model "nosuch" does not exist`}},
		{name: "an image", members: `"model":"sim","max_tokens":9,"messages":[{"role":"user","content":[MEDIA]}]`, want: want{status: 400, chatType: "invalid_request_error", code: "unsupported", messagesType: "invalid_request_error", param: "messages[0]", text: "image"}},
		{name: "a forced call", members: `"model":"double","max_tokens":9,"tool_choice":CHOICE,TOOLS,` + hello, want: want{status: 400, chatType: "invalid_request_error", code: "unsupported", messagesType: "invalid_request_error", param: "tool_choice", text: "cannot be forced"}},
		{
			name: "too long", members: `"model":"sim","max_tokens":999,"messages":[{"role":"user","content":"` + strings.Repeat("word and more words, ", 500) + `"}]`,
			want: want{status: 400, chatType: "invalid_request_error", code: "context_length_exceeded", messagesType: "invalid_request_error"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			onFramed(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				media, choice := `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`, `"required"`
				if s.name == "messages" {
					media, choice = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`, `{"type":"any"}`
				}
				body := "{" + strings.NewReplacer("MEDIA", media, "CHOICE", choice, "TOOLS", s.tools("f")).Replace(c.members) + "}"
				resp, b := w.post(s.path, body)
				got := s.refusal(t, resp.StatusCode, b)
				expect := c.want
				if c.name == "too long" {
					expect.param, expect.text = "messages", "This model's maximum context length is 2048 tokens. However, your messages resulted in "
					if s.name == "messages" {
						expect.param, expect.text = "", "prompt is too long: "
						if !strings.HasSuffix(got.Message, " tokens > 1792 maximum") {
							t.Errorf("clients read the numbers of %q", got.Message)
						}
					}
				}
				expect.check(t, s, got)
				if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
					t.Errorf("content type %q", kind)
				}
				if id := resp.Header.Get(s.idHeader); id == "" || s.name == "messages" && id != got.ID {
					t.Errorf("request id %q, in the body %q", id, got.ID)
				}
				if c.httpOnly {
					return
				}
				k := w.dial(s.path)
				k.request(`"one"`, body)
				f, e := k.refused(s)
				expect.check(t, s, e)
				if string(f.ID) != `"one"` || k.next().Event != "done" {
					t.Errorf("frame of %s, or no done", f.ID)
				}
				k.request(`2`, s.body("sim", "say again"))
				if a := s.read(t, k.turn("2")); a.of("text") != "again" {
					t.Errorf("the socket is of no use after it: %+v", a)
				}
			})
		})
	}
}

// TestKeys has a tenant with a key for one model, and nobody without one.
func TestKeys(t *testing.T) {
	t.Parallel()
	key, hash := tenant.NewKey()
	other, otherHash := tenant.NewKey()
	w := start(t, options{tenants: "[[tenants]]\nname = \"a\"\nkeys = [\"" + hash + "\"]\nmodels = [\"sim\"]\n" +
		"[[tenants]]\nname = \"b\"\nkeys = [\"" + otherHash + "\"]\nmodels = [\"d*\"]\n"})
	unknown := want{status: 401, chatType: "invalid_request_error", code: "invalid_api_key", messagesType: "authentication_error"}
	forbidden := want{status: 403, chatType: "invalid_request_error", code: "forbidden", messagesType: "permission_error", param: "model", text: "sim"}
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		for _, c := range []struct {
			name   string
			header []string
			want   want
		}{
			{"no key", nil, unknown},
			{"wrong key", []string{"Authorization", "Bearer weir_wrong"}, unknown},
			{"wrong key as x-api-key", []string{"X-Api-Key", "weir_wrong"}, unknown},
			{"the hash as key", []string{"X-Api-Key", hash}, unknown},
			{"no bearer", []string{"Authorization", "Basic " + key}, unknown},
			{"key of another tenant", []string{"Authorization", "Bearer " + other}, forbidden},
		} {
			t.Run(c.name, func(t *testing.T) {
				resp, b := w.post(s.path, s.body("sim", "say hi", streamed), c.header...)
				c.want.check(t, s, s.refusal(t, resp.StatusCode, b))
			})
		}
		for _, header := range [][]string{{"Authorization", "Bearer " + key}, {"X-Api-Key", key}, {"Authorization", "bearer  " + key}} {
			if a := w.ask(s, s.body("sim", "say hi", streamed), header...); a.of("text") != "hi" {
				t.Errorf("%s: %+v", header[0], a)
			}
		}
		if k, resp := w.try(s.path); k != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("a socket without a key: %s", resp.Status)
		}
		k := w.dial(s.path, "X-Api-Key", other)
		k.request("1", s.body("sim", "say hi"))
		_, e := k.refused(s)
		forbidden.check(t, s, e)
	})
	resp, b := w.do(w.request(http.MethodGet, "/v1/models", "", "X-Api-Key", other))
	if resp.StatusCode != http.StatusOK || strings.Contains(string(b), `"sim"`) || !strings.Contains(string(b), `"double"`) {
		t.Errorf("models of a tenant: %s %s", resp.Status, b)
	}
	resp, b = w.do(w.request(http.MethodGet, "/v1/models/sim", "", "X-Api-Key", other))
	forbidden.check(t, chat(), chatRefusal(t, resp.StatusCode, b))
}
