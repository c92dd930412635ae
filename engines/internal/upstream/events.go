package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/ssein"
)

const eventStream = "text/event-stream"

// drainTime is how long Close waits for the end of an answer that has told its last event, so that
// the connection can be kept.
const drainTime = 50 * time.Millisecond

// Events is an answered request that streams server-sent events. It is pulled by one goroutine.
type Events struct {
	client *Client
	ctx    context.Context //nolint:containedctx // the caller's; it outlives Open because the stream does
	x      *exchange
	sse    *ssein.Reader // nil once closed, when it serves another stream
	tail   time.Duration // how long Next waits, 0 for ever
	closed bool
}

// ErrClosed is what Next returns after Close.
var ErrClosed = errors.New("stream is closed")

// Open sends JSON to the address and returns once the server has answered with a stream of events.
// limit bounds one event in bytes, 0 means ssein.DefaultLimit. It takes body over; to must not change
// while the client is used. Cancelling ctx closes the connection at once.
func (c *Client) Open(ctx context.Context, to *url.URL, body *Body, f Forward, limit int) (*Events, error) {
	defer c.release(body)
	x, err := c.do(ctx, &request{method: http.MethodPost, to: to, accept: eventStream, forward: f, body: body})
	if err != nil {
		return nil, err
	}
	if !streams(x.Header.Get("Content-Type")) {
		return nil, c.noStream(ctx, x)
	}
	sse, ok := c.readers.Get().(*ssein.Reader)
	if !ok {
		sse = &ssein.Reader{}
	}
	sse.Reset(x.Body, limit)
	return &Events{client: c, ctx: ctx, x: x, sse: sse}, nil
}

// streams reports whether a content type is that of an event stream.
func streams(contentType string) bool {
	switch contentType {
	case eventStream, eventStream + "; charset=utf-8": // what almost every server says
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == eventStream
}

// noStream is the error for a success that is not a stream: an error in a body of its own, or a page
// of something that is no engine.
func (c *Client) noStream(ctx context.Context, x *exchange) error {
	b, err := x.explanation()
	if err != nil && ctx.Err() != nil {
		return c.canceled(ctx)
	}
	message := fmt.Sprintf("answer of type %q, want text/event-stream", x.Header.Get("Content-Type"))
	if t := parseFailure(b); t.structured {
		message += ": " + t.message
	}
	e := c.Fail(engines.ClassProtocol, message, nil)
	e.Status = x.StatusCode
	return e
}

// Ready reports whether Next would return an event without reading.
func (e *Events) Ready() bool { return !e.closed && e.sse.Ready() }

// Next returns the next event, valid until the following call of Next or Ready; io.EOF at the end of
// the answer, an *engines.Error of ClassProtocol when it broke off, and the context's cause when that ended.
func (e *Events) Next() (ssein.Event, error) {
	if e.closed {
		return ssein.Event{}, fmt.Errorf("engine %s: %w", e.client.name, ErrClosed)
	}
	ev, err := e.wait()
	if err == nil {
		return ev, nil
	}
	if err == io.EOF || e.tail > 0 && timedOut(err) && e.ctx.Err() == nil {
		return ssein.Event{}, io.EOF
	}
	if _, big := errors.AsType[*ssein.TooLargeError](err); big {
		return ssein.Event{}, e.client.Fail(engines.ClassProtocol, "read the stream", err)
	}
	return ssein.Event{}, e.client.broke(e.ctx, "the stream broke off", err)
}

// Cut reports whether the answer ended inside an event. It is asked before Close.
func (e *Events) Cut() bool { return !e.closed && e.sse.Pending() }

// EndWithin makes every Next from here on wait at most d for an event, and then tell the end. Only
// waiting counts, not the time between calls.
func (e *Events) EndWithin(d time.Duration) { e.tail = d }

func (e *Events) wait() (ssein.Event, error) {
	if e.tail > 0 && !e.sse.Ready() {
		_ = e.x.conn.SetReadDeadline(time.Now().Add(e.tail)) // a closed connection tells by its read
	}
	return e.sse.Next()
}

// Close ends the request. told says that its last event was read: the connection is then kept if the
// server ends the answer in time. Otherwise it is closed at once, and so the generation ends.
func (e *Events) Close(told bool) error {
	if e.closed {
		return nil
	}
	e.closed = true
	if told && !e.sse.Ended() && e.ctx.Err() == nil {
		_ = e.x.conn.SetReadDeadline(time.Now().Add(drainTime)) // a closed connection tells by its read
		e.sse.Discard()
	}
	e.x.close(e.sse.Ended())
	e.sse.Reset(nil, 0)
	e.client.readers.Put(e.sse)
	e.sse = nil
	return nil
}
