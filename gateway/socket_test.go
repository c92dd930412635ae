package gateway_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// TestSocketNonsense sends frames that mean nothing: each costs an error frame, and the socket stays.
func TestSocketNonsense(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onFramed(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		k := w.dial(s.path)
		for _, c := range []struct {
			name, frame string
			binary      bool
			id          string
			done        bool // the frame was a request
			want        want
		}{
			{name: "bad JSON", frame: `{"type":"request","id":1`, id: "1", done: true, want: invalid("", "the frame is not a JSON object")},
			{name: "no JSON", frame: `hello`, id: "null", want: invalid("", "the frame is not a JSON object")},
			{name: "empty", frame: ``, id: "null", want: invalid("", "the frame is not a JSON object")},
			{name: "array", frame: `[]`, id: "null", want: invalid("", "the frame is not a JSON object")},
			{name: "two values", frame: `{"type":"cancel","id":1} {}`, id: "1", want: invalid("", "the frame is not a JSON object")},
			{name: "no type", frame: `{"id":1,"body":{}}`, id: "1", want: invalid("type", "unknown frame type")},
			{name: "unknown type", frame: `{"type":"hello","id":"x"}`, id: `"x"`, want: invalid("type", `unknown frame type "hello", expected request or cancel`)},
			{name: "type is a number", frame: `{"id":3,"type":5}`, id: "3", want: invalid("type", "not a string")},
			{name: "no id", frame: `{"type":"request","body":{}}`, id: "null", done: true, want: invalid("id", "has no id")},
			{name: "id is null", frame: `{"type":"request","id":null,"body":{}}`, id: "null", done: true, want: invalid("id", "must be a string or a number")},
			{name: "id is an object", frame: `{"type":"request","id":{},"body":{}}`, id: "null", done: true, want: invalid("id", "must be a string or a number")},
			{name: "id is long", frame: `{"type":"request","id":"` + strings.Repeat("a", 300) + `","body":{}}`, id: "null", done: true, want: invalid("id", "at most 256 bytes")},
			{name: "no body", frame: `{"type":"request","id":1}`, id: "1", done: true, want: invalid("body", "must be an object")},
			{name: "body is a string", frame: `{"type":"request","id":1,"body":"x"}`, id: "1", done: true, want: invalid("body", "must be an object")},
			{name: "binary", frame: "\x00\x01", binary: true, id: "null", want: invalid("", "binary frames are not served here")},
		} {
			t.Run(c.name, func(t *testing.T) {
				k := *k
				k.tb = t
				kind := websocket.TextMessage
				if c.binary {
					kind = websocket.BinaryMessage
				}
				if err := k.conn.WriteMessage(kind, []byte(c.frame)); err != nil {
					t.Fatal(err)
				}
				f, e := k.refused(s)
				if string(f.ID) != c.id {
					t.Errorf("the frame is of %s, want %s", f.ID, c.id)
				}
				c.want.check(t, s, e)
				if c.done {
					if f := k.next(); f.Event != "done" || string(f.ID) != c.id {
						t.Errorf("got %s of %s, want done", f.Event, f.ID)
					}
				}
			})
		}
		k.request(`"é\u0022"`, s.body("sim", "say fine"))
		if a := s.read(t, k.turn(`"é\u0022"`)); a.of("text") != "fine" {
			t.Errorf("after all that: %+v", a)
		}
	})
}

// TestSocketTurns has several turns on one socket: one at a time, cancelled by a frame, and by leaving.
func TestSocketTurns(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onFramed(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		k := w.dial(s.path)
		for i, text := range []string{"one", "two", "three"} {
			id := strconv.Itoa(i)
			k.request(id, s.body("sim", "say "+text, streamed, thinks))
			a := s.read(t, k.turn(id))
			if a.of("text") != text || a.of("reasoning") == "" || a.Input == 0 || a.Output == 0 {
				t.Errorf("turn %d: %+v", i, a)
			}
		}

		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Fault: enginetest.FaultStall, At: 1})
		k.request(`"a"`, s.body("double", "hello"))
		k.until("Hello")
		k.request(`"b"`, s.body("sim", "say never"))
		f, e := k.refused(s)
		if string(f.ID) != `"b"` {
			t.Errorf("a refusal of %s", f.ID)
		}
		want{status: 409, chatType: "invalid_request_error", code: "conflict", messagesType: "invalid_request_error", text: "a turn is running"}.check(t, s, e)
		if f := k.next(); f.Event != "done" || string(f.ID) != `"b"` {
			t.Errorf("got %s of %s", f.Event, f.ID)
		}
		k.send(`{"type":"cancel","id":"c"}`) // of nobody
		k.send(`{"type":"cancel","id":"a"}`)
		w.gone()
		var fault *refusal
		for f := k.next(); f.Event != "done"; f = k.next() {
			if strings.Contains(string(f.Data), `"error":`) { // on chat a fault within the turn is one of its chunks
				e := s.refusal(t, 0, f.Data)
				fault = &e
			}
			if string(f.ID) != `"a"` {
				t.Errorf("a frame of %s", f.ID)
			}
		}
		if fault == nil || !strings.Contains(fault.Message, "canceled") {
			t.Errorf("a cancelled turn ends with %+v", fault)
		}
		k.send(`{"type":"cancel","id":"a"}`) // over already
		k.request("9", s.body("sim", "say after"))
		if a := s.read(t, k.turn("9")); a.of("text") != "after" {
			t.Errorf("after a cancel: %+v", a)
		}

		k.request("10", s.body("double", "hello"))
		k.until("Hello")
		if err := k.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")); err != nil {
			t.Fatal(err)
		}
		w.gone()
	})
}

// TestSocketTooBig sends a message over the limit.
func TestSocketTooBig(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: `max_body = "1KiB"`})
	k := w.dial(chat().path)
	k.request("1", chat().body("sim", strings.Repeat("a", 2<<10)))
	if code := k.closed(); code != websocket.CloseMessageTooBig {
		t.Errorf("closed with %d, want 1009", code)
	}
}

// TestSocketOff has WebSockets turned off.
func TestSocketOff(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: "websocket = false"})
	onFramed(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		k, resp := w.try(s.path)
		if k != nil || resp.StatusCode != http.StatusUpgradeRequired {
			t.Fatalf("got %s, want 426", resp.Status)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.refusal(t, resp.StatusCode, b); !strings.Contains(got.Message, "WebSocket is off") {
			t.Errorf("got %+v", got)
		}
		if resp.Header.Get(s.idHeader) == "" {
			t.Error("no request id")
		}
		resp, b = w.do(w.request(http.MethodGet, s.path, ""))
		if got := s.refusal(t, resp.StatusCode, b); got.Status != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Errorf("a plain GET: %+v, allow %q", got, resp.Header.Get("Allow"))
		}
		if a := w.ask(s, s.body("sim", "say hi", streamed)); a.of("text") != "hi" {
			t.Errorf("POST: %+v", a)
		}
	})
}

// TestSocketKeyRevoked takes a key away while a socket is open: at its next turn the socket is closed.
func TestSocketKeyRevoked(t *testing.T) {
	t.Parallel()
	key, hash := tenant.NewKey()
	keyed := func(hash string) options {
		return options{tenants: "[[tenants]]\nname = \"a\"\nkeys = [\"" + hash + "\"]\n"}
	}
	w := start(t, keyed(hash))
	s := messages()
	k := w.dial(s.path, "X-Api-Key", key)
	k.request("1", s.body("sim", "say hi"))
	s.read(t, k.turn("1"))
	_, hash = tenant.NewKey()
	w.configure(keyed(hash))
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	k.request("2", s.body("sim", "say hi"))
	if _, e := k.refused(s); e.Status != http.StatusUnauthorized {
		t.Errorf("got %+v", e)
	}
	if code := k.closed(); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d, want 1008", code)
	}
}

// TestForeign refuses what a web page could send.
func TestForeign(t *testing.T) {
	t.Parallel()
	w := start(t, options{server: "hosts = [\"weir.test\"]\norigins = [\"https://chat.test\"]"})
	forbidden := func(param string) want {
		return want{status: 403, chatType: "invalid_request_error", code: "forbidden", messagesType: "permission_error", param: param}
	}
	host := strings.TrimPrefix(w.url, "http://")
	onFramed(t, func(t *testing.T, s surface) {
		for _, c := range []struct {
			name, header, value string
			want                want
		}{
			{"loopback", "Host", "127.0.0.1", want{}},
			{"localhost with a port", "Host", "LOCALHOST:80", want{}},
			{"loopback v6", "Host", "[::1]:8000", want{}},
			{"below localhost", "Host", "weir.localhost", want{}},
			{"allowed", "Host", "weir.test:8000", want{}},
			{"rebound", "Host", "evil.test", forbidden("host")},
			{"looks like loopback", "Host", "127.0.0.1.evil.test", forbidden("host")},
			{"below an allowed one", "Host", "a.weir.test", forbidden("host")},
			{"own origin", "Origin", "http://" + host, want{}},
			{"allowed origin", "Origin", "https://chat.test", want{}},
			{"allowed origin, other port", "Origin", "https://chat.test:444", forbidden("origin")},
			{"page", "Origin", "https://evil.test", forbidden("origin")},
			{"file", "Origin", "null", forbidden("origin")},
			{"another port", "Origin", "http://127.0.0.1:1", forbidden("origin")},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := *w
				w.tb = t
				resp, b := w.post(s.path, s.body("sim", "say hi"), c.header, c.value)
				k, up := w.try(s.path, c.header, c.value)
				if c.want.status == 0 {
					if resp.StatusCode != http.StatusOK || k == nil {
						t.Errorf("post %s, socket %s", resp.Status, up.Status)
					}
					return
				}
				c.want.check(t, s, s.refusal(t, resp.StatusCode, b))
				if k != nil || up.StatusCode != http.StatusForbidden {
					t.Errorf("a socket: %s", up.Status)
				}
				if resp.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Error("CORS is on")
				}
			})
		}
	})
}
