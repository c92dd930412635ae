package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/transport"
	"github.com/weirgate/weir/gateway/internal/transport/ws"
)

// maxFrameID bounds the id a client gives its request.
const maxFrameID = 256

// socket is one connection in the framed mode of chat and messages:
//
//	in   {"type":"request","id":ID,"body":{..}}   {"type":"cancel","id":ID}
//	out  {"id":ID,"event":NAME,"data":{..}} ..    {"id":ID,"event":"done"}
type socket struct {
	*line
	s surface.Surface
}

// serveSocket upgrades a GET of chat or messages.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request, s surface.Surface) {
	l := h.upgrade(w, r, s, ws.Options{})
	if l == nil {
		return
	}
	k := &socket{line: l, s: s}
	l.serve(k.frame, func() {
		k.sendError("null", "req_"+NewID(), fault.New(fault.Invalid, "binary frames are not served here, send JSON text"), false)
	})
}

// frame takes one frame. What a client says wrongly costs it an error frame, not the socket.
func (k *socket) frame(data []byte) {
	f, err := parseFrame(data)
	if err != nil {
		k.sendError(f.id, "req_"+NewID(), err, f.kind == "request")
		return
	}
	switch f.kind {
	case "request":
		err := k.begin(f.id, func(ctx context.Context) { k.turn(ctx, f) }, func() {
			_ = k.conn.Send(k.ctx, []byte(`{"id":`+f.id+`,"event":"done"}`)) // a closed socket needs no goodbye
		})
		if err != nil {
			k.sendError(f.id, "req_"+NewID(), err, true)
		}
	case "cancel":
		k.cancelTurn(f.id)
	}
}

type inFrame struct {
	kind string
	id   string // the client's id as it wrote it: a JSON string or number, or null
	body []byte
}

// parseFrame reads one frame. The id comes back even when the rest is wrong.
func parseFrame(data []byte) (inFrame, error) {
	f := inFrame{id: "null"}
	rd := jsonscan.NewReader(data)
	err := rd.Object(func(key []byte) error {
		name := string(key)
		raw, err := rd.Raw()
		if err != nil {
			return err
		}
		switch name {
		case "type":
			b, err := jsonscan.AppendUnquoted(nil, raw)
			if err != nil {
				return fault.At(fault.Invalid, "type", "type is not a string")
			}
			f.kind = string(b)
		case "id":
			if t := jsonscan.TypeOf(raw); (t != jsonscan.String && t != jsonscan.Number) || len(raw) > maxFrameID || !jsonscan.Valid(raw) || !utf8.Valid(raw) {
				return fault.At(fault.Invalid, "id", "id must be a string or a number of at most %d bytes", maxFrameID)
			}
			f.id = string(raw)
		case "body":
			f.body = raw
		}
		return nil
	})
	if err == nil {
		err = rd.End()
	}
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return f, known
	case err != nil:
		return f, fault.Wrap(fault.Invalid, err, "the frame is not a JSON object: %v", err)
	case f.kind != "request" && f.kind != "cancel":
		return f, fault.At(fault.Invalid, "type", "unknown frame type %s, expected request or cancel", printable(f.kind))
	case f.id == "null":
		return f, fault.At(fault.Invalid, "id", "the frame has no id")
	case f.kind == "request" && jsonscan.TypeOf(f.body) != jsonscan.Object:
		return f, fault.At(fault.Invalid, "body", "body must be an object")
	}
	return f, nil
}

// turn runs one turn. It is always streamed: a socket has no other way.
func (k *socket) turn(ctx context.Context, f inFrame) {
	h, id := k.h, "req_"+NewID()
	req, err := k.s.Decode(f.body, k.header)
	if err != nil {
		h.gw.Refused(k.s.Name(), id, err)
		k.sendError(f.id, id, err, false)
		return
	}
	req.Stream, req.IncludeUsage = true, true
	job, err := h.gw.Begin(ctx, &Call{Surface: k.s.Name(), Key: tenant.KeyOf(k.header), RequestID: id, Header: k.header, Request: req, Streamed: true})
	if err != nil {
		k.sendError(f.id, id, err, false)
		k.revoked(ctx, err)
		return
	}
	out := &frameWriter{conn: k.conn, ctx: ctx, id: f.id}
	if k.header.Get("X-Weir-Prefix") == "1" { // a socket's frames are read by programs that may not know it
		out.prefix = job.Prefix
	}
	info := surface.Info{ID: NewID(), Model: req.Model, Created: time.Now(), Dispatch: job.Dispatch}
	job.Turn.Streamed = true
	job.Turn.Sink = newFrames(k.s, req, info, out)
	res, err := job.Turn.Run(ctx)
	job.Done(res)
	if err != nil && k.ctx.Err() == nil {
		k.sendError(f.id, id, err, false)
	}
}

// sendError sends a fault as an error frame, with the surface's own body and its status beside it.
func (k *socket) sendError(id, requestID string, err error, done bool) {
	f := fault.From(err)
	if f.Kind == fault.Internal {
		k.h.log.Error("internal error", "request_id", requestID, "error", err)
	}
	status, _, body := faultBody(k.s, f, requestID)
	msg := append([]byte(`{"id":`+id+`,"event":"error","status":`+strconv.Itoa(status)+`,"data":`), body...)
	if k.conn.Send(k.ctx, msg, []byte{'}'}) == nil && done {
		_ = k.conn.Send(k.ctx, []byte(`{"id":`+id+`,"event":"done"}`)) // as above
	}
}

// frameWriter turns a surface's frames into the socket's. A frame without a name is a chunk.
type frameWriter struct {
	conn *ws.Conn
	ctx  context.Context //nolint:containedctx // because a cancelled turn must not wait for a slow peer, and transport.Writer takes none
	id   string
	head []byte
	// prefix is what the first frame says of the prompt's prefix; empty: nothing.
	prefix string
}

var _ transport.Writer = (*frameWriter)(nil)

// Write sends one frame. Sentinels that are not JSON, such as chat's [DONE], have no place on a socket.
func (w *frameWriter) Write(f transport.Frame) error {
	if len(f.Data) == 0 || f.Data[0] != '{' {
		return nil
	}
	name := f.Event
	switch {
	case name != "":
	case bytes.HasPrefix(f.Data, []byte(`{"error":`)): // chat's fault has no name of its own
		name = "error"
	default:
		name = "chunk"
	}
	w.head = append(append(w.head[:0], `{"id":`...), w.id...)
	w.head = append(append(w.head, `,"event":`...), '"')
	w.head = append(append(w.head, name...), '"')
	if w.prefix != "" {
		w.head = jsonscan.AppendString(append(w.head, `,"prefix":`...), w.prefix)
		w.prefix = ""
	}
	w.head = append(w.head, `,"data":`...)
	return w.conn.Send(w.ctx, w.head, f.Data, []byte{'}'})
}

// Flush does nothing: the connection's writer sends as soon as it can.
func (w *frameWriter) Flush() error { return nil }
