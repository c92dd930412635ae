package gateway_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// TestResponseSocketNonsense sends messages that mean nothing: each costs an error event, and the socket stays.
func TestResponseSocketNonsense(t *testing.T) {
	t.Parallel()
	w, s := start(t, options{}), responses()
	k := w.dial(s.path)
	for _, c := range []struct {
		name, message string
		kind          int
		want          want
	}{
		{name: "bad JSON", message: `{"type":"response.create","model":`, want: invalid("", "not JSON")},
		{name: "no JSON", message: "hello", want: invalid("", "the message is not a JSON object")},
		{name: "empty", want: invalid("", "the message is not a JSON object")},
		{name: "array", message: `[{"type":"response.create"}]`, want: invalid("", "the message is not a JSON object")},
		{name: "no type", message: `{"model":"sim","input":"hello"}`, want: invalid("type", "the message has no type")},
		{name: "type is a number", message: `{"type":1}`, want: invalid("type", "type is not a string")},
		{name: "unknown type", message: `{"type":"session.update"}`, want: invalid("type", `unknown type "session.update", expected response.create or response.interrupt`)},
		{name: "an answer's own", message: `{"type":"response.completed","response":{}}`, want: invalid("type", "unknown type")},
		{name: "long type", message: `{"type":"` + strings.Repeat("a", 1<<16) + `"}`, want: invalid("type", "unknown type")},
		{name: "frame of another mode", message: `{"type":"request","id":1,"body":{}}`, want: invalid("type", "unknown type")},
		{name: "nothing asked", message: `{"type":"response.create"}`, want: invalid("model", "")},
		{name: "no input", message: `{"type":"response.create","model":"sim"}`, want: invalid("input", "")},
		{name: "binary", message: "\x00\x01", kind: websocket.BinaryMessage, want: invalid("", "binary messages are not served here")},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := *k
			k.tb = t
			if err := k.conn.WriteMessage(max(c.kind, websocket.TextMessage), []byte(c.message)); err != nil {
				t.Fatal(err)
			}
			f, e := k.refused(s)
			c.want.check(t, s, e)
			if len(f.Data) > 4096 {
				t.Errorf("%d bytes are told of it", len(f.Data))
			}
		})
	}
	k.over = false
	for _, idle := range []string{"response.interrupt", "response.cancel"} { // of nothing: no answer
		k.send(`{"type":"` + idle + `"}`)
	}
	if r := k.create(says("say fine")); r.says(t) != "fine" {
		t.Errorf("after all that: %+v", r)
	}
	k.send(`{"input":"say late","model":"sim","store":false,"type":"response.create"}`) // the type may stand at the end
	if a := s.read(t, k.turn("1")); a.of("text") != "late" {
		t.Errorf("got %+v", a)
	}
}

// TestResponseSocketAtOnce has clients that go on in the moment that a turn has told of its end, however it ended.
func TestResponseSocketAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	for i := range 4 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := *w
			w.tb = t
			k := w.dial(responses().path)
			wrong, good := object(`"type":"response.create"`, `"model":"none"`, says("hi")), object(`"type":"response.create"`, `"model":"sim"`, says("say hi"), unstored)
			warm := strings.Replace(good, "{", `{"generate":false,`, 1)
			turns := slices.Repeat([]string{good, warm, good, wrong, good, good}, 40)
			for i := -1; i < len(turns)-1; {
				k.send(turns[i+1])
				for i++; ; {
					_, b, err := k.conn.ReadMessage()
					if err != nil {
						t.Fatal(err)
					}
					if bytes.HasPrefix(b, []byte(`{"type":"response.completed"`)) {
						break
					}
					if bytes.HasPrefix(b, []byte(`{"type":"error"`)) {
						if turns[i] != wrong || !bytes.Contains(b, []byte("model_not_found")) {
							t.Fatalf("turn %d: %s", i, b)
						}
						break
					}
				}
			}
		})
	}
}

// TestResponseSocketInterrupt ends a turn in its middle: what comes is whole, and the next turn runs.
func TestResponseSocketInterrupt(t *testing.T) {
	t.Parallel()
	w, s := start(t, options{}), responses()
	for _, c := range []struct{ name, message string }{{"interrupt", `{"type":"response.interrupt"}`}, {"cancel", `{"type":"response.cancel"}`}} {
		for _, open := range []struct {
			name string
			said []string
		}{
			{"in text", []string{"Hello"}},
			{"in reasoning", []string{"<think>\nHello"}},
			{"in a call", []string{"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": \"Hello", " more"}},
			{"behind a call", []string{callF, "Hello"}},
		} {
			t.Run(c.name+" "+open.name, func(t *testing.T) {
				w := *w
				w.tb = t
				k := w.dial(s.path)
				kept := k.create(says("say kept"), unstored)
				w.double.Play(enginetest.Script{Chunks: enginetest.Say(append(open.said, "never")...), Fault: enginetest.FaultStall, At: len(open.said)})
				k.request("1", object(`"model":"double"`, says("hello"), s.tools("f"), unstored))
				frames := []frame{k.next()}
				for !strings.Contains(string(frames[len(frames)-1].Data), "Hello") {
					frames = append(frames, k.next())
				}
				k.send(c.message)
				w.gone()
				frames = append(frames, k.turn("1")...)
				a := s.read(t, frames)
				if a.Fault == nil || !strings.Contains(a.Fault.Message, "canceled") || a.Fault.Code == "" {
					t.Errorf("it ends with %+v", a.Fault)
				}
				k.send(c.message) // over already
				if r := k.create(says("say after"), previous(kept), unstored); r.says(t) != "after" {
					t.Errorf("the next turn: %+v", r)
				}
			})
		}
	}
}

// TestResponseSocketConflict begins a second turn while one runs: it is refused, and the first goes on.
func TestResponseSocketConflict(t *testing.T) {
	t.Parallel()
	w, s := start(t, options{}), responses()
	k := w.dial(s.path)
	gate := make(chan struct{})
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " there", "."), Gate: gate})
	k.request("1", s.body("double", "hello"))
	gate <- struct{}{}
	frames := []frame{k.next()}
	for !strings.Contains(string(frames[len(frames)-1].Data), "Hello") {
		frames = append(frames, k.next())
	}
	for range 3 {
		k.request("1", s.body("sim", "say never"))
		_, e := k.refused(s)
		want{status: 409, chatType: "invalid_request_error", code: "conflict", text: "a turn is running"}.check(t, s, e)
		k.over = false // the turn is not
	}
	close(gate)
	frames = append(frames, k.turn("1")...)
	checkEvents(t, frames)
	if a := s.read(t, frames); a.of("text") != "Hello there." || a.Fault != nil {
		t.Errorf("got %+v", a)
	}
	first := complete(t, resourceOf(t, frames))
	if r := k.create(says("say after"), previous(first)); r.says(t) != "after" {
		t.Errorf("got %+v", r)
	}
}

// TestResponseSocketMemory fills what a socket keeps of conversations: the oldest go, each answer in place of the one before.
func TestResponseSocketMemory(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: "[responses]\nsocket_memory = \"1MiB\"\n"})
	k := w.dial(responses().path)
	text := func(n int) string { return says("say hi\n" + strings.Repeat("a", n)) } // which is kept twice: as JSON, and for prompts
	warm := `"generate":false`
	a := k.create(text(200<<10), warm, unstored)
	b := k.create(text(200<<10), warm, unstored)
	a2 := k.create(says("say more"), warm, previous(a), unstored) // in place of a, behind b
	k.fails("previous_response_not_found", says("say hi"), previous(a), unstored)
	c := k.create(text(200<<10), warm, unstored) // over: b goes
	k.fails("previous_response_not_found", says("say hi"), previous(b), unstored)
	a3 := k.create(says("say hi"), previous(a2), warm, unstored)
	c2 := k.create(says("say hi"), previous(c), warm, unstored)
	huge := k.create(text(600<<10), warm, unstored) // nothing goes for it, and it is not kept
	k.fails("previous_response_not_found", says("say hi"), previous(huge), unstored)
	k.create(says("say hi"), previous(a3), warm, unstored)
	k.create(says("say hi"), previous(c2), warm, unstored)
	stored := k.create(text(600<<10), warm) // kept by the gateway
	k.create(says("say hi"), previous(stored), warm, unstored)
}

// TestResponseSocketDeflate compresses messages both ways where both ends will.
func TestResponseSocketDeflate(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("all work and no play ", 200)
	for _, c := range []struct {
		name, more    string
		offer, packed bool
	}{
		{"offered", "", true, true},
		{"not offered", "", false, false},
		{"off", "[responses]\ndeflate = false\n", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, options{more: c.more, server: `max_body = "1MiB"`})
			var in, out atomic.Int64
			dialer := websocket.Dialer{EnableCompression: c.offer, HandshakeTimeout: patience, NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
				return &meteredConn{Conn: conn, in: &in, out: &out}, err
			}}
			conn, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+responses().path, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { resp.Body.Close(); conn.Close() })
			if got := strings.HasPrefix(resp.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate"); got != c.packed {
				t.Errorf("extensions %q", resp.Header.Get("Sec-Websocket-Extensions"))
			}
			if resp.Header.Get("X-Codex-Websocket-Max-Message-Bytes") != "1048576" {
				t.Errorf("header %v", resp.Header)
			}
			k := &socket{tb: t, conn: conn, bare: true}
			asked := object(`"model":"sim"`, says("say "+text), unstored)
			k.request("1", asked)
			frames, told := k.turn("1"), int64(0)
			for _, f := range frames {
				told += int64(len(f.Data))
			}
			if a := responses().read(t, frames); strings.TrimSpace(a.of("text")) != strings.TrimSpace(text) {
				t.Errorf("%d bytes came back of %d", len(a.of("text")), len(text))
			}
			if out.Load() < int64(len(asked)) != c.packed || in.Load() < told != c.packed {
				t.Errorf("%d bytes out for %d, %d in for %d", out.Load(), len(asked), in.Load(), told)
			}
			if !c.packed {
				return
			}
			// A bomb: little on the wire, too much when unpacked.
			k.request("1", object(`"model":"sim"`, says(strings.Repeat("a", 2<<20))))
			if code := k.closed(); code != websocket.CloseMessageTooBig {
				t.Errorf("closed with %d, want 1009", code)
			}
		})
	}
}

// meteredConn counts bytes.
type meteredConn struct {
	net.Conn
	in, out *atomic.Int64
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c *meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}

// TestResponseSocketTooBig sends a message over the limit, which is told before.
func TestResponseSocketTooBig(t *testing.T) {
	t.Parallel()
	w, s := start(t, options{server: `max_body = "1KiB"`}), responses()
	k := w.dial(s.path)
	k.request("1", s.body("sim", strings.Repeat("a", 2<<10)))
	if code := k.closed(); code != websocket.CloseMessageTooBig {
		t.Errorf("closed with %d, want 1009", code)
	}
}

// TestResponseSocketOff has tenants with and without sockets, and a gateway without any.
func TestResponseSocketOff(t *testing.T) {
	t.Parallel()
	s := responses()
	key, hash := tenant.NewKey()
	tenants := start(t, options{tenants: "[[tenants]]\nname = \"post\"\nkeys = [\"" + hash + "\"]\nwebsocket = false\n[[tenants]]\nname = \"all\"\nany_key = true\n"})
	for name, w := range map[string]*world{"a tenant's": tenants, "all": start(t, options{server: "websocket = false"})} {
		k, resp := w.try(s.path, "Authorization", "Bearer "+key)
		if k != nil || resp.StatusCode != http.StatusUpgradeRequired {
			t.Fatalf("%s: got %s, want 426", name, resp.Status)
		}
		e := s.refusal(t, resp.StatusCode, body(t, resp))
		if !strings.Contains(e.Message, "WebSocket is off") || !strings.Contains(e.Message, "use POST") {
			t.Errorf("%s: got %+v", name, e)
		}
		if resp, _ := w.post(s.path, s.body("sim", "say hi"), "Authorization", "Bearer "+key); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: POST: %s", name, resp.Status)
		}
		if resp, _ := w.do(w.request(http.MethodGet, s.path, "", "Authorization", "Bearer "+key)); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: a plain GET: %s", name, resp.Status)
		}
	}
	if r := tenants.dial(s.path, "Authorization", "Bearer another").create(says("say hi")); r.says(t) != "hi" {
		t.Errorf("another tenant: %+v", r)
	}
}

// TestResponseSocketKeyRevoked takes a key away while a socket is open: at its next turn the socket is closed.
func TestResponseSocketKeyRevoked(t *testing.T) {
	t.Parallel()
	key, hash := tenant.NewKey()
	keyed := func(hash string) options {
		return options{tenants: "[[tenants]]\nname = \"a\"\nkeys = [\"" + hash + "\"]\n"}
	}
	w, s := start(t, keyed(hash)), responses()
	k := w.dial(s.path, "Authorization", "Bearer "+key)
	first := k.create(says("say hi"), unstored)
	_, hash = tenant.NewKey()
	w.configure(keyed(hash))
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	k.request("1", object(`"model":"sim"`, says("say hi"), previous(first), unstored))
	if _, e := k.refused(s); e.Status != http.StatusUnauthorized {
		t.Errorf("got %+v", e)
	}
	k.over = false
	if code := k.closed(); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d, want 1008", code)
	}
}
