package gateway_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/weirgate/weir/engines/enginetest"
)

// ending begins to stop a gateway and returns when no new connections are taken; the channel gets what
// the stop comes to.
func (w *world) ending(stop func() error) <-chan error {
	w.tb.Helper()
	done := make(chan error, 1)
	go func() { done <- stop() }()
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	eventually(w.tb, "the listener is closed", func() bool {
		resp, err := fresh.Do(w.request(http.MethodGet, "/api/hello", ""))
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	return done
}

// TestShutdownGrace lets running streams finish.
func TestShutdownGrace(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s surface) {
		t.Parallel()
		w, stop := run(t, options{server: `shutdown_grace = "30s"`})
		gate := make(chan struct{}, 2)
		gate <- struct{}{}
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Gate: gate})
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := st.until("Hello")
		done := w.ending(stop)
		gate <- struct{}{}
		if a := s.read(t, append(frames, st.rest()...)); a.of("text") != "Hello again" || a.Finish != s.stop {
			t.Errorf("got %+v", a)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownGraceOnSockets is the same for a turn on a socket, which the HTTP server knows nothing of.
func TestShutdownGraceOnSockets(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s surface) {
		t.Parallel()
		w, stop := run(t, options{server: `shutdown_grace = "30s"`})
		gate := make(chan struct{}, 2)
		gate <- struct{}{}
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Gate: gate})
		k := w.dial(s.path)
		k.request("1", s.body("double", "hello"))
		frames := []frame{k.until("Hello")}
		done := w.ending(stop)
		gate <- struct{}{}
		for f := k.next(); f.Event != "done"; f = k.next() {
			frames = append(frames, f)
		}
		last := frames[len(frames)-1]
		if s.name == "messages" && last.Event != "message_stop" || s.name == "chat" && len(frames) < 3 {
			t.Errorf("the turn was not let to finish: %s", tail(frames))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownGraceOver ends what does not finish in time with the surface's error.
func TestShutdownGraceOver(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s surface) {
		t.Parallel()
		w, stop := run(t, options{server: `shutdown_grace = "50ms"`})
		w.double.Play(enginetest.Script{Chunks: enginetest.Say("Hello", " again"), Fault: enginetest.FaultStall, At: 1})
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := st.until("Hello")
		done := w.ending(stop)
		a := s.read(t, append(frames, st.rest()...))
		if a.Fault == nil || a.of("text") != "Hello" {
			t.Errorf("got %+v", a)
		}
		w.gone()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownIdleSockets says goodbye to sockets on which nothing runs.
func TestShutdownIdleSockets(t *testing.T) {
	t.Parallel()
	w, stop := run(t, options{})
	k := w.dial(chat().path)
	k.request("1", chat().body("sim", "say hi"))
	k.turn("1")
	if err := stop(); err != nil {
		t.Error(err)
	}
	_, err := k.read()
	var c *websocket.CloseError
	if !errors.As(err, &c) || c.Code != websocket.CloseGoingAway {
		t.Errorf("got %v, want close 1001", err)
	}
}
