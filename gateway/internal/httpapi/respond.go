package httpapi

import (
	"net/http"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/transport"
	"github.com/weirgate/weir/gateway/internal/transport/sse"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// frames is a turn's sink that streams: events become frames of the surface.
type frames struct {
	surface.Encoder
	w *counted
}

// newFrames encodes a turn to w.
func newFrames(s surface.Surface, req *surface.Request, info surface.Info, w transport.Writer) frames {
	c := &counted{Writer: w}
	c.ender, _ = w.(transport.Ender)
	return frames{Encoder: s.Encode(req, info, c), w: c}
}

// Event writes what an event is for the client.
func (f frames) Event(e *event.Event) error {
	f.w.last = f.w.last || e.Kind == event.Finish || e.Kind == event.FaultKind
	return f.Encoder.Event(e)
}

// Flush sends what the events wrote.
func (f frames) Flush() (sent bool, err error) {
	sent = f.w.waiting
	f.w.waiting = false
	if f.w.last && f.w.ender != nil {
		return sent, f.w.ender.End()
	}
	return sent, f.w.Flush()
}

// counted is a writer that knows whether a frame waits for its flush.
type counted struct {
	transport.Writer
	ender   transport.Ender // the same writer, or nil
	waiting bool
	last    bool // the turn is over
}

// Write adds a frame.
func (c *counted) Write(f transport.Frame) error {
	c.waiting = true
	return c.Writer.Write(f)
}

// folded is a turn's sink that keeps the whole answer.
type folded struct{ event.Folder }

// KeepAlive does nothing: an answer that is not streamed has nothing to keep alive.
func (*folded) KeepAlive() error { return nil }

// Flush does nothing.
func (*folded) Flush() (bool, error) { return false, nil }

// maxBuffer is the largest buffer that is kept for other streams.
const maxBuffer = 32 << 10

// stream answers with server-sent events.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, s surface.Surface, req *surface.Request, info surface.Info, job *Job, set Settings, id string) {
	buf, _ := h.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	out := sse.New(w, set.WriteTimeout, *buf)
	defer func() {
		if *buf = out.Buffer(); cap(*buf) <= maxBuffer {
			h.buffers.Put(buf)
		}
	}()
	job.Turn.Streamed = true
	job.Turn.Sink = newFrames(s, req, info, out)
	res, err := job.Turn.Run(r.Context())
	job.Done(res)
	if err != nil && !errGone(err) {
		h.answerFault(w, s, id, err)
	}
}

// whole answers with one body: the fold of the same events.
func (h *Handler) whole(w http.ResponseWriter, r *http.Request, s surface.Surface, req *surface.Request, info surface.Info, job *Job, id string) {
	sink := &folded{}
	job.Turn.Sink = sink
	res, err := job.Turn.Run(r.Context())
	job.Done(res)
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, s.Body(req, info, &sink.Result))
	case !errGone(err):
		h.answerFault(w, s, id, err)
	}
}

var _ turn.Sink = (*folded)(nil)
