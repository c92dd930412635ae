package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

// TestEngineRefuses has an engine that answers with an error before its stream: the client gets a
// status, the same one streamed or not, and the engine's own words only where the request is to blame.
func TestEngineRefuses(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	busy := want{status: 503, messages: 529, chatType: "server_error", code: "engine_overloaded", messagesType: "overloaded_error", text: "overloaded"}
	limited := want{status: 429, chatType: "rate_limit_error", code: "rate_limit_exceeded", messagesType: "rate_limit_error", text: "overloaded"}
	unprocessable, internal := invalid("", "no such adapter"), want{status: 500, chatType: "server_error", code: "engine_error", messagesType: "api_error"}
	unprocessable.status = 422
	broken := want{status: 502, chatType: "server_error", code: "engine_error", messagesType: "api_error"}
	overflow := want{status: 400, chatType: "invalid_request_error", code: "context_length_exceeded", messagesType: "invalid_request_error"}
	for _, c := range []struct {
		name   string
		script enginetest.Script
		want   want
		retry  string
		secret string // what must not be told
	}{
		{name: "400", script: enginetest.Script{Status: 400, Body: `{"error":{"message":"bad regex"}}`}, want: invalid("", "bad regex")},
		{name: "422", script: enginetest.Script{Status: 422, Body: `{"detail":"no such adapter"}`}, want: unprocessable},
		{name: "429", script: enginetest.Script{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, want: limited, retry: "7"},
		{name: "429 without a time", script: enginetest.Script{Status: 429}, want: limited, retry: "1"},
		{name: "the gateway's key is refused", script: enginetest.Script{Status: 401, Body: `{"error":{"message":"bad key sk-1"}}`}, want: broken, secret: "sk-1"},
		{name: "503", script: enginetest.Script{Status: 503}, want: busy, retry: "1"},
		{name: "529", script: enginetest.Script{Status: 529}, want: busy, retry: "1"},
		{name: "500", script: enginetest.Script{Status: 500, Body: `{"error":{"message":"cuda at 10.0.0.7"}}`}, want: internal, secret: "10.0.0.7"},
		{name: "502 with a page", script: enginetest.Script{Status: 502, Type: "text/html", Body: "<html>nginx</html>"}, want: broken, secret: "nginx"},
		{name: "a page", script: enginetest.Script{Type: "text/html", Body: "<html>welcome</html>"}, want: broken, secret: "welcome"},
		{name: "overflow", script: enginetest.Script{Status: 400, Body: `{"error":{"message":"The decoder prompt (length 9254) is longer than the maximum model length of 4096."}}`}, want: overflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				expect := c.want
				if c.name == "overflow" {
					expect.param, expect.text = "messages", "maximum context length is 4096 tokens"
					if s.name == "messages" {
						expect.param, expect.text = "", "prompt is too long"
					}
				}
				w.double.Play(c.script)
				check := func(got refusal) {
					t.Helper()
					expect.check(t, s, got)
					if c.secret != "" && strings.Contains(got.Message, c.secret) {
						t.Errorf("the engine's internals are told: %q", got.Message)
					}
				}
				for _, more := range []string{streamed, `"stream":false`} {
					resp, b := w.post(s.path, s.body("double", "hello", more))
					check(s.refusal(t, resp.StatusCode, b))
					if got := resp.Header.Get("Retry-After"); got != c.retry {
						t.Errorf("retry-after %q, want %q", got, c.retry)
					}
				}
				k := w.dial(s.path)
				k.request("1", s.body("double", "hello"))
				_, e := k.refused(s)
				check(e)
				if k.next().Event != "done" {
					t.Error("no done")
				}
			})
		})
	}
}

// TestEngineUnreachable has an engine where nothing listens.
func TestEngineUnreachable(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: "[engines.dead]\nkind = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nconnect_timeout = \"1s\"\n" +
		"[[models]]\nid = \"dead\"\nengines = [\"dead\"]\nfamily = \"qwen3\"\n" +
		"[[models]]\nid = \"replicated\"\nengines = [\"dead\", \"double\"]\nfamily = \"qwen3\"\n"})
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("still here")})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		resp, b := w.post(s.path, s.body("dead", "hello", streamed))
		want{status: 503, chatType: "server_error", code: "engine_unavailable", messagesType: "api_error"}.check(t, s, s.refusal(t, resp.StatusCode, b))
		if resp.Header.Get("Retry-After") == "" {
			t.Error("no retry-after")
		}
		if a := w.ask(s, s.body("replicated", "hello", streamed)); a.of("text") != "still here" {
			t.Errorf("the second replica: %+v", a)
		}
	})
}

// TestEngineBreaksOff has an engine that fails in the middle: what came is delivered, the open block is
// closed, the fault goes in-band and a call is never presented as whole.
func TestEngineBreaksOff(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	text := enginetest.Say("<think>\nwhy", " not\n</think>\n\n", "Hello", " there")
	call := enginetest.Say("Look.\n<tool_call>\n", `{"name": "f", "arguments": {"t": "half`, ` of it`, `", "a": 1}}`)
	for _, c := range []struct {
		name   string
		script enginetest.Script
		blocks []block
	}{
		{"cut inside a line", enginetest.Script{Chunks: text, Fault: enginetest.FaultLine, At: 3}, []block{{Kind: "reasoning", Text: "why not"}, {Kind: "text", Text: "Hello"}}},
		{"no finish", enginetest.Script{Chunks: text, Fault: enginetest.FaultEnd, At: 4}, []block{{Kind: "reasoning", Text: "why not"}, {Kind: "text", Text: "Hello there"}}},
		{"in reasoning", enginetest.Script{Chunks: text, Fault: enginetest.FaultReset, At: 1}, []block{{Kind: "reasoning", Text: "why"}}},
		{"an error chunk", enginetest.Script{Chunks: text, Fault: enginetest.FaultError, At: 3}, []block{{Kind: "reasoning", Text: "why not"}, {Kind: "text", Text: "Hello"}}},
		{"in a call", enginetest.Script{Chunks: call, Fault: enginetest.FaultReset, At: 3}, []block{{Kind: "text", Text: "Look."}, {Kind: "call", Name: "f", Text: `{"t": "half of it`}}},
		{"in a header", enginetest.Script{Chunks: call, Fault: enginetest.FaultReset, At: 1}, []block{{Kind: "text", Text: "Look.\n<tool_call>\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				body := s.body("double", "hello", streamed, thinks, s.tools("f"))
				w.double.Play(c.script)
				k := w.dial(s.path)
				k.request("7", body)
				for i, a := range []answer{w.ask(s, body), s.read(t, k.turn("7"))} {
					broken(t, i, a, c.blocks)
				}
				resp, b := w.post(s.path, s.body("double", "hello", thinks, s.tools("f")))
				want{status: 502, chatType: "server_error", code: "engine_error", messagesType: "api_error"}.check(t, s, s.refusal(t, resp.StatusCode, b))
			})
		})
	}
}

func broken(t *testing.T, i int, a answer, blocks []block) {
	t.Helper()
	for j := range a.Blocks {
		a.Blocks[j].ID = ""
	}
	if got, want := fmt.Sprintf("%q", a.Blocks), fmt.Sprintf("%q", blocks); got != want {
		t.Errorf("stream %d: got %s, want %s", i, got, want)
	}
	if a.Fault == nil || a.Finish != "" {
		t.Errorf("stream %d: fault %v, finish %q", i, a.Fault, a.Finish)
		return
	}
	if a.Fault.Message != "the engine's stream broke off, try again later" || a.Fault.Type != "api_error" && a.Fault.Code != "engine_error" && a.Fault.Code != "server_error" {
		t.Errorf("stream %d: fault %+v", i, *a.Fault)
	}
}

// TestLateHeaders has an engine that takes its time for its headers and then fails: the stream is open
// by then, and the fault goes in-band.
func TestLateHeaders(t *testing.T) {
	t.Parallel()
	release := make(chan struct{}, 4)
	late := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
				h.ServeHTTP(rw, r)
			case <-r.Context().Done():
			}
		})
	}
	w := start(t, options{server: "header_wait = \"50ms\"\nkeepalive = \"1s\"", wrap: late})
	w.double.Play(enginetest.Script{Status: 500})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := []frame{st.must()} // the turn has begun, and the engine has said nothing
		for len(frames) < 3 {
			frames = append(frames, st.must()) // signs of life
		}
		release <- struct{}{}
		a := s.read(t, append(frames, st.rest()...))
		alive := 2
		if s.name == "responses" { // the first one is part of the beginning
			alive = 1
		}
		if a.Fault == nil || a.Alive != alive || len(a.Blocks) != 0 {
			t.Errorf("got %+v", a)
		}
	})
}

// TestSilentEngine has an engine that stops in the middle of a block.
func TestSilentEngine(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: `keepalive = "1s"`})
	onEach(t, func(t *testing.T, s surface) {
		t.Parallel()
		gate := make(chan struct{}, 8)
		gate <- struct{}{}
		w := start(t, w.opt)
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Gate: gate})
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := append(st.until("Hello"), st.must())
		gate <- struct{}{}
		a := s.read(t, append(frames, st.rest()...))
		if a.of("text") != "Hello again" || a.Alive == 0 || a.Finish != s.stop {
			t.Errorf("got %+v", a)
		}

		k := w.dial(s.path)
		k.request("1", s.body("double", "hello"))
		gate <- struct{}{}
		for frames = []frame{k.next()}; !strings.Contains(string(frames[len(frames)-1].Data), "Hello"); {
			frames = append(frames, k.next())
		}
		frames = append(frames, k.next())
		gate <- struct{}{}
		if a := s.read(t, append(frames, k.turn("1")...)); a.of("text") != "Hello again" || a.Alive == 0 {
			t.Errorf("on a socket: %+v", a)
		}
	})
}

// TestForwarded is what an engine gets to see of a client's request.
func TestForwarded(t *testing.T) {
	t.Parallel()
	w := start(t, options{script: []enginetest.Script{{Chunks: enginetest.Say("Hi")}}})
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		w.double.Requests()
		w.ask(s, s.body("double", "hello", streamed), "Authorization", "Bearer secret", "X-Api-Key", "secret", "Cookie", "secret", "Traceparent", trace, "X-Request-Id", "abc", "X-Other", "1")
		got := w.double.Requests()
		if len(got) != 1 || got[0].Path != "/v1/completions" {
			t.Fatalf("the engine got %+v", got)
		}
		h := got[0].Header
		if h.Get("Traceparent") != trace || h.Get("X-Request-Id") != "abc" || h.Get("X-Other") != "" || strings.Contains(fmt.Sprint(h), "secret") {
			t.Errorf("headers %v", h)
		}
		if !strings.Contains(string(got[0].Body), `"stop":["<|im_end|>"]`) || !strings.Contains(string(got[0].Body), `"stream":true`) {
			t.Errorf("body %s", got[0].Body)
		}
	})
}

// TestIdleEngine has an engine that hangs for longer than it may.
func TestIdleEngine(t *testing.T) {
	t.Parallel()
	w := start(t, options{engine: `idle_timeout = "1s"`, server: `keepalive = "1s"`})
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Fault: enginetest.FaultStall, At: 1})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		a := w.ask(s, s.body("double", "hello", streamed))
		if a.Fault == nil || a.Fault.Type != "timeout_error" && a.Fault.Code != "timeout" && s.name != "responses" || a.of("text") != "Hello" {
			t.Errorf("got %+v, %+v", a, a.Fault)
		}
		w.gone()
		resp, b := w.post(s.path, s.body("double", "hello"))
		want{status: 504, chatType: "server_error", code: "timeout", messagesType: "timeout_error", text: "sent nothing"}.check(t, s, s.refusal(t, resp.StatusCode, b))
		w.gone()
	})
}

// TestClientLeaves has a client that is gone in the middle, over HTTP streamed and not, and on a socket.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	w := start(t, options{tenants: "[[tenants]]\nname = \"all\"\nany_key = true\nmax_concurrent = 1\n"})
	stall := enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Fault: enginetest.FaultStall, At: 1}
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		over := func() { // the tenant's one turn is free again
			t.Helper()
			w.gone()
			eventually(t, "the turn is over", func() bool {
				resp, _ := w.post(s.path, s.body("sim", "say hi"))
				return resp.StatusCode == http.StatusOK
			})
		}
		w.double.Play(stall)
		st := w.open(s.path, s.body("double", "hello", streamed))
		st.until("Hello")
		st.resp.Body.Close()
		over()

		r := w.untilEngine(w.request(http.MethodPost, s.path, s.body("double", "hello")))
		if resp, err := w.http.Do(r); err == nil {
			resp.Body.Close()
			t.Errorf("an answer: %s", resp.Status)
		}
		over()

		k := w.dial(s.path)
		k.request("1", s.body("double", "hello"))
		k.until("Hello")
		k.conn.Close()
		over()
	})
}
