package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/transport"
	"github.com/weirgate/weir/gateway/internal/transport/ws"
)

// responseSocket is one connection in the mode of responses:
//
//	in   {"type":"response.create", members of a request ..}   {"type":"response.interrupt"}
//	out  the events of the answer, a message each; {"type":"error","status":N,"error":{..}}
//
// A request goes on from an answer of this connection by its id, stored or not.
type responseSocket struct {
	*line
	s      responses.Surface
	local  *recent
	opened time.Time
}

// maxMessageHeader tells Codex how large a message may be: it sends larger requests by POST.
const maxMessageHeader = "X-Codex-Websocket-Max-Message-Bytes"

func (h *Handler) serveResponseSocket(w http.ResponseWriter, r *http.Request) {
	set := h.gw.Settings()
	s := set.responses()
	w.Header().Set(maxMessageHeader, strconv.FormatInt(set.MaxBody, 10))
	l := h.upgrade(w, r, s, ws.Options{Compression: set.Deflate})
	if l == nil {
		return
	}
	k := &responseSocket{line: l, s: s, local: &recent{max: set.SocketMemory}, opened: time.Now()}
	old := time.AfterFunc(set.SocketTTL, k.aged)
	defer old.Stop()
	l.serve(k.frame, func() {
		k.sendError("req_"+NewID(), fault.New(fault.Invalid, "binary messages are not served here, send JSON text"))
	})
}

// aged ends a socket that is old enough and has nothing to do. One that is at work ends with the next request.
func (k *responseSocket) aged() {
	k.mu.Lock()
	busy := k.id != ""
	k.closed = k.closed || !busy // what comes in this moment is not begun
	k.mu.Unlock()
	if !busy {
		k.expire()
	}
}

// expire tells the client to connect again.
func (k *responseSocket) expire() {
	_ = k.conn.Send(k.ctx, responses.LimitFrame()) // a closed socket needs no goodbye
	k.retire("the connection is too old")
}

// frame takes one message. What a client says wrongly costs it an error frame, not the socket.
func (k *responseSocket) frame(data []byte) {
	id := "req_" + NewID()
	kind, err := frameKind(data)
	switch {
	case err != nil:
		k.sendError(id, err)
	case kind == "response.create":
		if time.Since(k.opened) >= k.h.gw.Settings().SocketTTL && k.idle() {
			k.expire()
			return
		}
		if err := k.begin(id, func(ctx context.Context) { k.turn(ctx, data, id) }, func() {}); err != nil {
			k.sendError(id, err)
		}
	case kind == "response.interrupt", kind == "response.cancel":
		k.cancelTurn("")
	default:
		k.sendError(id, fault.At(fault.Invalid, "type", "unknown type %s, expected response.create or response.interrupt", printable(kind)))
	}
}

// frameKind is the type of a message. It is read up to there, where it is mostly the first member.
func frameKind(data []byte) (string, error) {
	rd := jsonscan.NewReader(data)
	err := rd.OpenObject()
	for err == nil {
		var key, raw []byte
		var more bool
		if key, more, err = rd.Member(); err != nil || !more {
			break
		}
		found := string(key) == "type"
		if raw, err = rd.Raw(); err == nil && found {
			kind, err := jsonscan.AppendUnquoted(nil, raw)
			if err != nil {
				return "", fault.At(fault.Invalid, "type", "type is not a string")
			}
			return string(kind), nil
		}
	}
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "the message is not a JSON object: %v", err)
	}
	return "", fault.At(fault.Invalid, "type", "the message has no type")
}

// turn runs one request. It is always streamed: a socket has no other way.
func (k *responseSocket) turn(ctx context.Context, data []byte, id string) {
	req, err := k.s.Decode(data, k.header)
	if err == nil {
		req.Stream = true
		err = k.answer(ctx, req, id)
	} else {
		k.h.gw.Refused(k.s.Name(), id, err)
	}
	if err == nil {
		return
	}
	if req != nil {
		// What did not go on from an answer once does not the next time either: the client sends all of it again.
		k.local.drop(responses.OwnOf(req).Previous)
	}
	if k.ctx.Err() == nil {
		k.tell()
		k.sendError(id, err)
		k.revoked(ctx, err)
	}
}

// answer runs a request. An error means that nothing was sent.
func (k *responseSocket) answer(ctx context.Context, req *surface.Request, id string) error {
	own := responses.OwnOf(req)
	d, err := k.h.open(k.header, req.Model, k.h.gw.Settings())
	if err == nil {
		d.local = k.local
		err = d.join(ctx, req)
	}
	if err != nil {
		k.h.gw.Refused(k.s.Name(), id, err)
		return err
	}
	info := surface.Info{ID: NewID(), Model: req.Model, Created: time.Now()}
	out := &eventWriter{conn: k.conn, ctx: ctx}
	keep := func(res *event.Result) []byte { return d.keep(ctx, req, info, res) }
	if own.NoGenerate {
		keep(&event.Result{Reason: event.ReasonStop})
		k.tell()
		return d.s.Warm(req, info, out)
	}
	job, err := d.begin(ctx, &Call{Surface: k.s.Name(), Key: tenant.KeyOf(k.header), RequestID: id, Header: k.header, Request: req, Streamed: true})
	if err != nil {
		return err
	}
	info.Dispatch = job.Dispatch
	ctx, over := k.h.live.add(ctx, d.who.Name, req, info)
	defer over()
	job.Turn.Streamed = true
	job.Turn.Sink = &kept{Sink: newFrames(d.s, req, info, out), keep: keep, last: k.tell}
	res, err := job.Turn.Run(ctx)
	job.Done(res)
	if err == nil && res.Fault != nil {
		k.local.drop(own.Previous)
	}
	return err
}

// sendError sends a fault as an error frame.
func (k *responseSocket) sendError(id string, err error) {
	f := fault.From(err)
	if f.Kind == fault.Internal {
		k.h.log.Error("internal error", "request_id", id, "error", err)
	}
	_ = k.conn.Send(k.ctx, responses.ErrorFrame(f, id)) // a closed socket needs none
}

// eventWriter sends events as messages of a socket: their type is in them.
type eventWriter struct {
	conn *ws.Conn
	ctx  context.Context //nolint:containedctx // because a cancelled turn must not wait for a slow peer, and transport.Writer takes none
}

var _ transport.Writer = (*eventWriter)(nil)

// Write sends one event. Sentinels that are not JSON have no place on a socket.
func (w *eventWriter) Write(f transport.Frame) error {
	if len(f.Data) == 0 || f.Data[0] != '{' {
		return nil
	}
	return w.conn.Send(w.ctx, f.Data)
}

// Flush does nothing: the connection's writer sends as soon as it can.
func (w *eventWriter) Flush() error { return nil }
