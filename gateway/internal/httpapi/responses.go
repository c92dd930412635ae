package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// dialog is what a request of responses may go on from: the answers that are kept of its tenant and, on a socket, those
// of the connection.
type dialog struct {
	h     *Handler
	s     responses.Surface
	set   Settings
	who   Tenant
	local *recent // nil over HTTP
	alone bool    // what the request goes on from is in local and nowhere else
}

// responses is the surface as it is configured.
func (s Settings) responses() responses.Surface { return responses.Surface{OpenNames: s.OpenNames} }

// open finds out whose dialog it is. It does so for each request, for keys are revoked and models taken away.
func (h *Handler) open(header http.Header, model string, set Settings) (*dialog, error) {
	who, err := h.gw.Authorize(tenant.KeyOf(header), model)
	if err != nil {
		return nil, err
	}
	return &dialog{h: h, s: set.responses(), set: set, who: who}, nil
}

// join puts a request together with what came before it.
func (d *dialog) join(ctx context.Context, req *surface.Request) error {
	responses.Keep(req, d.who.Store)
	own := responses.OwnOf(req)
	history, err := d.history(ctx, own.Previous)
	if err != nil {
		return err
	}
	for _, ref := range own.Refs {
		item, err := d.item(ctx, history, ref)
		if err != nil {
			return err
		}
		own.Input[ref.At] = *item
	}
	own.History = history
	return responses.Join(req, history)
}

// history is what was said up to an answer. One of the connection is found first: it may be kept nowhere else.
func (d *dialog) history(ctx context.Context, id string) ([]chain.Item, error) {
	if id == "" {
		return nil, nil
	}
	if l := d.local.get(id); l != nil {
		d.alone = !l.stored
		return l.items, nil
	}
	missing := fault.At(fault.NotFound, responses.PreviousParam, "there is no response %s to go on from: send the whole input", printable(id))
	if !d.who.Store {
		return nil, missing
	}
	items, err := d.h.store.History(ctx, d.who.Name, id)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, missing
	}
	return items, stored(err)
}

// item finds what an item_reference stands for.
func (d *dialog) item(ctx context.Context, history []chain.Item, ref responses.Ref) (*chain.Item, error) {
	for i := range slices.Backward(history) {
		if history[i].ID == ref.ID {
			return &history[i], nil
		}
	}
	missing := fault.At(fault.NotFound, ref.Path, "there is no item %s: send the item itself", printable(ref.ID))
	if !d.who.Store {
		return nil, missing
	}
	item, err := d.h.store.Item(ctx, d.who.Name, ref.ID)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, missing
	}
	return item, stored(err)
}

// stored is an error of the store for a client.
func stored(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "the store of responses does not work")
}

// maxShortened is how often a conversation is made shorter for its compaction: the window is known in tokens, and what
// was taken away in bytes.
const maxShortened = 8

// begin admits the request. A compaction that is over the window gives up the oldest results of tools first: it is asked
// for where conversations are too long.
func (d *dialog) begin(ctx context.Context, c *Call) (*Job, error) {
	own := responses.OwnOf(c.Request)
	for tries := 0; ; tries++ {
		job, err := d.h.gw.Begin(ctx, c)
		if err == nil {
			own.SealSummary = job.Seal
			return job, nil
		}
		f := fault.From(err)
		if !own.Compact || f.Kind != fault.Overflow || tries == maxShortened || !responses.Shorten(c.Request, overBy(f)) {
			return nil, err
		}
	}
}

// overBy is how many bytes a prompt is too long by, with room for what is to be written.
func overBy(f *fault.Error) int {
	const bytesPerToken, room = 4, 2048
	return (max(f.Tokens-f.Limit+f.Room, 0) + room) * bytesPerToken
}

// keep remembers an answer, so that a client can go on from it as soon as it is told of its end, and returns its body where
// that was made for the store.
func (d *dialog) keep(ctx context.Context, req *surface.Request, info surface.Info, res *event.Result) (body []byte) {
	own := responses.OwnOf(req)
	if !own.Store && d.local == nil {
		return nil
	}
	output, stored := responses.Output(req, info, res), false
	if own.Store {
		body = d.s.Body(req, info, res)
		stored = d.store(ctx, req, info, output, body)
	}
	d.local.put(own.Previous, responses.ID(info), stored, own.History, slices.Concat(own.Input, output))
	return body
}

// store keeps an answer for as long as the configuration says, and reports whether it could.
func (d *dialog) store(ctx context.Context, req *surface.Request, info surface.Info, output []chain.Item, body []byte) bool {
	own := responses.OwnOf(req)
	l := chain.Link{
		ID: responses.ID(info), Owner: d.who.Name, Parent: own.Previous, Model: req.Model, Input: own.Input, Output: output,
		Body: body, Created: info.Created, Expires: info.Created.Add(d.set.StoreTTL),
	}
	if d.alone {
		// The answer before is not kept, and this one must not depend on it.
		l.Parent, l.Input = "", slices.Concat(own.History, own.Input)
	}
	// A client that leaves in this moment has its answer kept or not; what is begun is ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := d.h.store.Put(ctx, &l); err != nil {
		d.h.gw.NotKept(d.who.Name, l.ID, err)
		return false
	}
	return true
}

// storeTimeout bounds how long the end of an answer waits for its being kept.
const storeTimeout = 5 * time.Second

// asked reads a request of responses, puts it together with what came before it, and begins its turn. It has answered
// where that fails, and the answer is nil then.
func (h *Handler) asked(w http.ResponseWriter, r *http.Request, decode func([]byte, http.Header) (*surface.Request, error)) (*answer, *dialog) {
	set := h.gw.Settings()
	a := &answer{h: h, s: set.responses(), id: requestID(r), set: set}
	err := a.decode(w, r, decode)
	var d *dialog
	if err == nil {
		d, err = h.open(r.Header, a.req.Model, set)
	}
	if err == nil {
		err = d.join(r.Context(), a.req)
	}
	if err != nil {
		a.refused(w, err)
		return nil, nil
	}
	if a.job, err = d.begin(r.Context(), a.call(r)); err != nil {
		h.answerFault(w, a.s, a.id, err)
		return nil, nil
	}
	return a, d
}

// serveResponse runs one turn of responses over HTTP.
func (h *Handler) serveResponse(w http.ResponseWriter, r *http.Request) {
	a, d := h.asked(w, r, responses.Surface{}.Decode)
	if a == nil {
		return
	}
	ctx, over := h.live.add(r.Context(), d.who.Name, a.req, a.info)
	defer over()
	a.keep = func(res *event.Result) []byte { return d.keep(ctx, a.req, a.info, res) }
	a.write(ctx, w)
}

// serveCompact makes a summary of a conversation, to go on from in its place.
func (h *Handler) serveCompact(w http.ResponseWriter, r *http.Request) {
	a, _ := h.asked(w, r, responses.DecodeCompact)
	if a == nil {
		return
	}
	a.body = func(res *event.Result) ([]byte, error) {
		sealed := a.job.Seal(responses.SummaryText(res))
		if sealed == "" {
			return nil, fault.New(fault.Engine, "the model wrote no summary of the conversation")
		}
		return responses.CompactBody(a.req, a.info, res, sealed), nil
	}
	a.write(r.Context(), w)
}

// serveInputTokens counts the prompt of a request.
func (h *Handler) serveInputTokens(w http.ResponseWriter, r *http.Request) {
	set := h.gw.Settings()
	h.serveCounted(w, r, set.responses(), responses.DecodeCount, responses.CountBody, func(ctx context.Context, req *surface.Request) error {
		d, err := h.open(r.Header, req.Model, set)
		if err != nil {
			return err
		}
		return d.join(ctx, req)
	})
}

// serveKept answers from the store.
func (h *Handler) serveKept(w http.ResponseWriter, r *http.Request, use func(ctx context.Context, d *dialog, id string) ([]byte, error)) {
	set, rid, id := h.gw.Settings(), requestID(r), r.PathValue("id")
	s := set.responses()
	d, err := h.open(r.Header, "", set)
	var body []byte
	if err == nil {
		body, err = use(r.Context(), d, id)
	}
	if errors.Is(err, chain.ErrNotFound) {
		err = fault.New(fault.NotFound, "there is no response %s", printable(id))
	}
	if err != nil {
		h.answerFault(w, s, rid, err)
		return
	}
	w.Header().Set(s.RequestIDHeader(), rid)
	writeJSON(w, http.StatusOK, body)
}

// get is an answer that is kept.
func (d *dialog) get(ctx context.Context, id string) (*chain.Link, error) {
	if !d.who.Store {
		return nil, chain.ErrNotFound
	}
	l, err := d.h.store.Get(ctx, d.who.Name, id)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, err
	}
	return l, stored(err)
}

func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request) {
	h.serveKept(w, r, func(ctx context.Context, d *dialog, id string) ([]byte, error) {
		if r.URL.Query().Get("stream") == "true" {
			return nil, fault.At(fault.Unsupported, "stream", "a kept response is answered in one body")
		}
		l, err := d.get(ctx, id)
		if err != nil {
			return nil, err
		}
		return l.Body, nil
	})
}

func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request) {
	h.serveKept(w, r, func(ctx context.Context, d *dialog, id string) ([]byte, error) {
		if !d.who.Store {
			return nil, chain.ErrNotFound
		}
		if err := h.store.Delete(ctx, d.who.Name, id); errors.Is(err, chain.ErrNotFound) {
			return nil, err
		} else if err != nil {
			return nil, stored(err)
		}
		return responses.DeletedBody(id), nil
	})
}

func (h *Handler) serveItems(w http.ResponseWriter, r *http.Request) {
	h.serveKept(w, r, func(ctx context.Context, d *dialog, id string) ([]byte, error) {
		page, err := responses.ParsePage(r.URL.Query())
		if err != nil {
			return nil, err
		}
		l, err := d.get(ctx, id)
		if err != nil {
			return nil, err
		}
		items, err := d.input(ctx, l)
		if err != nil {
			return nil, err
		}
		return responses.ItemsBody(items, page), nil
	})
}

// input is what an answer was made from: what it went on from is part of that, as long as it is there.
func (d *dialog) input(ctx context.Context, l *chain.Link) ([]chain.Item, error) {
	if l.Parent == "" {
		return l.Input, nil
	}
	all, err := d.h.store.History(ctx, d.who.Name, l.ID)
	if errors.Is(err, chain.ErrNotFound) {
		return l.Input, nil
	}
	return all[:max(0, len(all)-len(l.Output))], stored(err)
}

// serveCancel ends a turn that runs. What its client gets is the surface's error.
func (h *Handler) serveCancel(w http.ResponseWriter, r *http.Request) {
	h.serveKept(w, r, func(ctx context.Context, d *dialog, id string) ([]byte, error) {
		if t := h.live.cancel(ctx, d.who.Name, id); t != nil {
			return d.s.Cancelled(t.req, t.info), nil
		}
		if _, err := d.get(ctx, id); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Invalid, "response %s has ended, only one that runs can be cancelled", printable(id))
	})
}
