package httpapi

import (
	"net/http"

	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

func (h *Handler) serveTokenize(w http.ResponseWriter, r *http.Request, t surface.Tokens) {
	h.serveTokens(w, r, func(body []byte, c *Call) (func() ([]byte, error), error) {
		req, err := t.DecodeTokenize(body, r.Header)
		if err != nil {
			return nil, err
		}
		c.Request = req.Chat
		return func() ([]byte, error) {
			res, err := h.gw.Tokenize(r.Context(), c, req)
			if err != nil {
				return nil, err
			}
			return t.TokenizeBody(res), nil
		}, nil
	})
}

func (h *Handler) serveDetokenize(w http.ResponseWriter, r *http.Request, t surface.Tokens) {
	h.serveTokens(w, r, func(body []byte, c *Call) (func() ([]byte, error), error) {
		req, err := t.DecodeDetokenize(body)
		if err != nil {
			return nil, err
		}
		return func() ([]byte, error) {
			text, err := h.gw.Detokenize(r.Context(), c, req)
			if err != nil {
				return nil, err
			}
			return t.DetokenizeBody(text), nil
		}, nil
	})
}

// serveTokens answers a request about tokens. decode returns what makes the answer, which does not refer to the
// body.
func (h *Handler) serveTokens(w http.ResponseWriter, r *http.Request, decode func(body []byte, c *Call) (func() ([]byte, error), error)) {
	s := h.surfaces.Chat
	c := &Call{Surface: s.Name(), Key: tenant.KeyOf(r.Header), RequestID: requestID(r), Header: r.Header}
	var answer func() ([]byte, error)
	err := h.withBody(w, r, h.gw.Settings().MaxBody, func(body []byte) (err error) {
		answer, err = decode(body, c)
		return err
	})
	if err != nil {
		h.gw.Refused(s.Name(), c.RequestID, err)
		h.answerFault(w, s, c.RequestID, err)
		return
	}
	out, err := answer()
	if err != nil {
		h.answerFault(w, s, c.RequestID, err)
		return
	}
	w.Header().Set(s.RequestIDHeader(), c.RequestID)
	writeJSON(w, http.StatusOK, out)
}
