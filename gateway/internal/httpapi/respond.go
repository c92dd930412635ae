package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/tenant"
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

// kept is a turn's sink that has the answer kept before its end is told.
type kept struct {
	turn.Sink
	folder event.Folder
	keep   func(*event.Result) (body []byte)
	last   func() // called before the end is told, of a turn that failed too; may be nil
}

// Event folds an event, and hands it on.
func (k *kept) Event(e *event.Event) error {
	if err := k.folder.Event(e); err != nil {
		return err
	}
	if e.Kind == event.Finish {
		k.keep(&k.folder.Result)
	}
	if k.last != nil && (e.Kind == event.Finish || e.Kind == event.FaultKind) {
		k.last()
	}
	return k.Sink.Event(e)
}

// maxBuffer is the largest buffer that is kept for other streams.
const maxBuffer = 32 << 10

// answer is one request over HTTP and what it is answered with.
type answer struct {
	h    *Handler
	s    surface.Surface
	id   string // of the request
	set  Settings
	req  *surface.Request
	info surface.Info
	job  *Job
	keep func(*event.Result) (body []byte)   // is given the whole answer before its end is told, and may make its body; may be nil
	body func(*event.Result) ([]byte, error) // of an answer that is not streamed; nil: the surface's
}

// decode reads the request.
func (a *answer) decode(w http.ResponseWriter, r *http.Request, decode func([]byte, http.Header) (*surface.Request, error)) (err error) {
	a.req, err = a.h.read(w, r, a.set.MaxBody, decode)
	return err
}

// refused answers a request that does not reach Begin.
func (a *answer) refused(w http.ResponseWriter, err error) {
	a.h.gw.Refused(a.s.Name(), a.id, err)
	a.h.answerFault(w, a.s, a.id, err)
}

// call is the request on its way to a turn. The answer gets its id with it.
func (a *answer) call(r *http.Request) *Call {
	a.info = surface.Info{ID: NewID(), Model: a.req.Model, Created: time.Now()}
	return &Call{Surface: a.s.Name(), Key: tenant.KeyOf(r.Header), RequestID: a.id, Header: r.Header, Request: a.req, Streamed: a.req.Stream}
}

// write runs the turn and answers.
func (a *answer) write(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set(a.s.RequestIDHeader(), a.id)
	if a.job.Turn.Prompt.Estimate {
		w.Header().Set("X-Weir-Count", "estimate")
	}
	if a.job.Prefix != "" {
		w.Header().Set("X-Weir-Prefix", a.job.Prefix)
	}
	a.info.Dispatch = a.job.Dispatch
	if a.req.Stream {
		a.stream(ctx, w)
	} else {
		a.whole(ctx, w)
	}
}

// stream answers with server-sent events.
func (a *answer) stream(ctx context.Context, w http.ResponseWriter) {
	buf, _ := a.h.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	out := sse.New(w, a.set.WriteTimeout, *buf)
	defer func() {
		if *buf = out.Buffer(); cap(*buf) <= maxBuffer {
			a.h.buffers.Put(buf)
		}
	}()
	a.job.Turn.Streamed = true
	a.job.Turn.Sink = newFrames(a.s, a.req, a.info, out)
	if a.keep != nil {
		a.job.Turn.Sink = &kept{Sink: a.job.Turn.Sink, keep: a.keep}
	}
	res, err := a.job.Turn.Run(ctx)
	a.job.Done(res)
	if err != nil && !errGone(err) {
		a.h.answerFault(w, a.s, a.id, err)
	}
}

// whole answers with one body: the fold of the same events.
func (a *answer) whole(ctx context.Context, w http.ResponseWriter) {
	sink := &folded{}
	a.job.Turn.Sink = sink
	res, err := a.job.Turn.Run(ctx)
	a.job.Done(res)
	var body []byte
	if err == nil {
		if a.keep != nil {
			body = a.keep(&sink.Result)
		}
		switch {
		case a.body != nil:
			body, err = a.body(&sink.Result)
		case body == nil:
			body = a.s.Body(a.req, a.info, &sink.Result)
		}
	}
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, body)
	case !errGone(err):
		a.h.answerFault(w, a.s, a.id, err)
	}
}

var _ turn.Sink = (*folded)(nil)
