package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/transport/ws"
)

// line is an open socket on which one turn runs at a time, in a goroutine of its own so that a cancel can be read;
// serve ends it. What the frames mean is its user's business.
type line struct {
	h      *Handler
	conn   *ws.Conn
	header http.Header
	ctx    context.Context //nolint:containedctx // because it is the connection's life, which no single call has
	end    context.CancelCauseFunc

	mu      sync.Mutex // guards the running turn
	id      string     // its id, empty when none runs
	told    bool       // its client is told of its end, or will be in a moment
	closed  bool       // no more turns
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
}

// upgrade makes a socket of a GET. Everything that can be refused with a status is refused before; the result is nil
// then. Who gets a line serves it.
func (h *Handler) upgrade(w http.ResponseWriter, r *http.Request, s surface.Surface, opt ws.Options) *line {
	set := h.gw.Settings()
	asked := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	if !asked {
		h.noSocket(w, r, s, http.StatusMethodNotAllowed, "this path takes POST, or a WebSocket upgrade")
		return nil
	}
	if !set.WebSocket {
		h.noSocket(w, r, s, http.StatusUpgradeRequired, "WebSocket is off here, use POST")
		return nil
	}
	who, err := h.gw.Authorize(tenant.KeyOf(r.Header), "")
	if err != nil {
		h.refuse(w, r, s, err)
		return nil
	}
	if !who.WebSocket {
		h.noSocket(w, r, s, http.StatusUpgradeRequired, "WebSocket is off for this API key, use POST")
		return nil
	}
	w.Header().Set(s.RequestIDHeader(), requestID(r))
	opt.MaxMessage, opt.Stall = set.MaxBody, set.SocketStall
	opt.CheckOrigin = func(*http.Request) bool { return true } // ServeHTTP has checked it
	h.sockets.Add(1)
	conn, err := ws.Accept(w, r, opt)
	if err != nil {
		h.sockets.Done()
		h.log.Debug("websocket upgrade refused", "error", err)
		return nil
	}
	h.gw.Sockets(1)
	ctx, cancel := context.WithCancelCause(r.Context())
	return &line{h: h, conn: conn, header: r.Header, ctx: ctx, end: cancel}
}

func (h *Handler) noSocket(w http.ResponseWriter, r *http.Request, s surface.Surface, status int, text string) {
	id := requestID(r)
	_, _, body := s.Error(fault.New(fault.Unsupported, "%s", text), id)
	w.Header().Set("Allow", "POST")
	w.Header().Set(s.RequestIDHeader(), id)
	writeJSON(w, status, body)
}

// serve hands frames on until the connection ends, and ends all that was begun on it. binary is called for a message
// that is not text.
func (l *line) serve(frame func([]byte), binary func()) {
	defer l.h.sockets.Done()
	defer l.h.gw.Sockets(-1)
	stop := context.AfterFunc(l.h.base, l.shutdown)
	for {
		data, err := l.conn.Read()
		if errors.Is(err, ws.ErrBinary) {
			binary()
			continue
		}
		if err != nil {
			break
		}
		frame(data)
	}
	stop()
	l.end(fault.New(fault.Canceled, "the socket closed"))
	l.running.Wait()
	l.conn.Close(ws.CloseNormal, "")
	l.conn.Wait()
}

// shutdown lets a running turn finish, which the gateway bounds, and says goodbye.
func (l *line) shutdown() { l.retire("shutting down") }

// retire closes the socket once no turn runs on it, and takes no more.
func (l *line) retire(why string) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	l.conn.Drain(ctx)
	l.conn.Close(ws.CloseGoingAway, why)
}

// begin starts a turn, unless one runs; it is called by what reads the socket. over is called when the next one may
// begin, so that a client which answers what over sends at once is not refused.
func (l *line) begin(id string, run func(context.Context), over func()) error {
	idle := l.idle()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fault.New(fault.Unavailable, "this socket takes no further requests")
	}
	if !idle {
		return fault.New(fault.Conflict, "a turn is running on this socket")
	}
	ctx, cancel := context.WithCancelCause(l.ctx)
	l.id, l.cancel = id, cancel
	l.running.Go(func() {
		defer cancel(nil)
		run(ctx)
		l.mu.Lock()
		l.id, l.cancel, l.told = "", nil, false
		l.mu.Unlock()
		over()
	})
	return nil
}

// idle reports whether no turn runs; it is called by what reads the socket. One that tells of its end is waited for: a
// client which goes on at once does not know of what is left.
func (l *line) idle() bool {
	l.mu.Lock()
	told := l.told
	l.mu.Unlock()
	if told {
		l.running.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id == ""
}

// tell says that the running turn is about to tell its client of its end.
func (l *line) tell() {
	l.mu.Lock()
	l.told = true
	l.mu.Unlock()
}

// cancelTurn ends the running turn if it has this id; an empty one ends any.
func (l *line) cancelTurn(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil && (id == "" || l.id == id) {
		l.cancel(fault.New(fault.Canceled, "canceled by the client"))
	}
}

// revoked closes the socket of a key that is no longer valid.
func (l *line) revoked(ctx context.Context, err error) {
	if fault.From(err).Kind == fault.Unauthorized {
		l.conn.Drain(ctx)
		l.conn.Close(ws.ClosePolicy, "the key was revoked")
	}
}
