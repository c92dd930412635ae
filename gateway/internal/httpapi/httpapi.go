// Package httpapi is the HTTP face of the gateway: routes, request ids, body limits and decompression,
// host and origin checks, and the two ways a turn leaves: streamed or whole. It knows no schema (that
// is the surfaces') and no model (that is the Gateway's).
package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// Call is one decoded request on its way to a turn.
type Call struct {
	Surface   string
	Key       string
	RequestID string
	Header    http.Header
	Request   *surface.Request
	Streamed  bool
}

// Job is an admitted turn. Done must be called once, whatever happened.
type Job struct {
	Turn     *turn.Turn
	Dispatch bool
	Prefix   string                   // of the header x-weir-prefix; empty: none
	Seal     func(text []byte) string // seals a summary for the turn's tenant
	Done     func(turn.Outcome)
}

// Gateway is what the handlers need of the rest. Its errors are *fault.Error.
type Gateway interface { //nolint:interfacebloat // because it is the one seam between the protocols' face and the rest
	// Authorize says who a key belongs to, and that it may use a model; an empty one asks for the key alone.
	Authorize(key, model string) (Tenant, error)
	// Begin admits a request, renders its prompt and binds it to a parser and engines.
	Begin(ctx context.Context, c *Call) (*Job, error)
	// Count counts the prompt of a request without running it.
	Count(ctx context.Context, c *Call) (tokens int, estimate bool, err error)
	// Tokenize gives the tokens of a text, or of a conversation, which is then the call's Request too.
	Tokenize(ctx context.Context, c *Call, r *surface.TokenizeRequest) (*surface.TokenizeResult, error)
	// Detokenize gives the text of tokens, special ones included.
	Detokenize(ctx context.Context, c *Call, r *surface.DetokenizeRequest) ([]byte, error)
	// Refused counts a request that was not understood or came too large, before it reached Begin.
	Refused(surface, requestID string, err error)
	// NotKept tells of an answer that the store did not take.
	NotKept(tenant, id string, err error)
	// Models is the body of the model list a key may see, or of one model if id is not empty.
	Models(key, id string) ([]byte, error)
	// Settings are those in force for the next request.
	Settings() Settings
	// Sockets counts open sockets up and down.
	Sockets(delta int)
}

// Tenant is what the handlers know of one.
type Tenant struct {
	Name      string
	Store     bool // answers may be kept
	WebSocket bool
}

// Settings are the parts of the configuration that the handlers obey.
type Settings struct {
	MaxBody      int64
	Hosts        []string // allowed Host names beside the loopback names; "*" allows all
	AnyHost      bool     // the listener is beyond loopback and no list was given
	Origins      []string // allowed Origins; "*" allows all
	WebSocket    bool
	WriteTimeout time.Duration
	SocketStall  time.Duration

	OpenNames    bool          // of raw reasoning on responses
	SocketTTL    time.Duration // age at which a socket of responses ends
	SocketMemory int64         // bytes of conversations that one keeps
	Deflate      bool          // messages of one may be compressed
	StoreTTL     time.Duration // how long answers are kept
}

// Surfaces are the protocols served. Where Chat is a surface.Tokens too, its endpoints are served.
type Surfaces struct {
	Chat     surface.Surface
	Messages surface.Surface
	// DecodeCount and CountBody are the messages surface's token counting.
	DecodeCount func(body []byte, h http.Header) (*surface.Request, error)
	CountBody   func(tokens int) []byte
}

// Handler serves the public address. Its sockets end with the context given to New.
type Handler struct {
	gw       Gateway
	surfaces Surfaces
	log      *slog.Logger
	base     context.Context //nolint:containedctx // because sockets, which it ends at shutdown, outlive their request
	mux      *http.ServeMux
	store    chain.Store
	live     live
	sockets  sync.WaitGroup
	buffers  sync.Pool // of *[]byte, for the frames of streams
	bodies   sync.Pool // of *[]byte, for the bodies of requests
}

// New builds the routes. ctx ends open sockets when it is done. The store stays its caller's, to be closed when Wait
// has returned.
func New(ctx context.Context, gw Gateway, s Surfaces, store chain.Store, log *slog.Logger) *Handler {
	h := &Handler{gw: gw, surfaces: s, store: store, log: log, base: ctx, mux: http.NewServeMux()}
	for path, sf := range map[string]surface.Surface{"/v1/chat/completions": s.Chat, "/v1/messages": s.Messages} {
		h.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { h.serveTurn(w, r, sf) })
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { h.serveSocket(w, r, sf) })
	}
	h.mux.HandleFunc("POST /v1/messages/count_tokens", h.serveCount)
	h.mux.HandleFunc("POST /v1/responses", h.serveResponse)
	h.mux.HandleFunc("GET /v1/responses", h.serveResponseSocket)
	h.mux.HandleFunc("POST /v1/responses/compact", h.serveCompact)
	h.mux.HandleFunc("POST /v1/responses/input_tokens", h.serveInputTokens)
	h.mux.HandleFunc("GET /v1/responses/{id}", h.serveGet)
	h.mux.HandleFunc("DELETE /v1/responses/{id}", h.serveDelete)
	h.mux.HandleFunc("GET /v1/responses/{id}/input_items", h.serveItems)
	h.mux.HandleFunc("POST /v1/responses/{id}/cancel", h.serveCancel)
	if t, ok := s.Chat.(surface.Tokens); ok {
		for _, version := range [...]string{"", "/v1"} { // vLLM has them without
			h.mux.HandleFunc("POST "+version+"/tokenize", func(w http.ResponseWriter, r *http.Request) { h.serveTokenize(w, r, t) })     //nolint:contextcheck // the answer is made within the request
			h.mux.HandleFunc("POST "+version+"/detokenize", func(w http.ResponseWriter, r *http.Request) { h.serveDetokenize(w, r, t) }) //nolint:contextcheck // as above
		}
	}
	h.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) { h.serveModels(w, r, "") })
	h.mux.HandleFunc("GET /v1/models/{id...}", func(w http.ResponseWriter, r *http.Request) { h.serveModels(w, r, r.PathValue("id")) })
	h.mux.HandleFunc("GET /api/hello", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	h.mux.HandleFunc("/", h.serveUnknown)
	return h
}

// Wait waits until no socket is open, once the context given to New is done and no server listens any
// more. It fails with the cause of ctx.
func (h *Handler) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		h.sockets.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ServeHTTP gives every request an id and refuses what a web page could send, before any route.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := h.gw.Settings()
	if err := checkHost(r, set); err != nil {
		h.refuse(w, r, h.surfaceFor(r), err)
		return
	}
	if err := checkOrigin(r, set); err != nil {
		h.refuse(w, r, h.surfaceFor(r), err)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// surfaceFor picks whose error shape a path gets.
func (h *Handler) surfaceFor(r *http.Request) surface.Surface {
	if strings.HasPrefix(r.URL.Path, "/v1/messages") || r.Header.Get("Anthropic-Version") != "" {
		return h.surfaces.Messages
	}
	if strings.HasPrefix(r.URL.Path, "/v1/responses") {
		return responses.Surface{}
	}
	return h.surfaces.Chat
}

const idLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewID is 24 random letters and digits.
func NewID() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it does not fail (crypto/rand)
	for i := range b {
		b[i] = idLetters[int(b[i])%len(idLetters)]
	}
	return string(b[:])
}

// requestID is the client's own id where it sent a sane one, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 128 {
		return "req_" + NewID()
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return "req_" + NewID()
		}
	}
	return id
}

// idByte reports whether a byte of a client's request id can be echoed in a header and a log as it is.
func idByte(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '-', c == '_', c == '.', c == ':':
		return true
	}
	return false
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, s surface.Surface, err error) {
	h.answerFault(w, s, requestID(r), err)
}

// answerFault answers with the surface's status and body.
func (h *Handler) answerFault(w http.ResponseWriter, s surface.Surface, id string, err error) {
	f := fault.From(err)
	if f.Kind == fault.Internal {
		h.log.Error("internal error", "request_id", id, "error", err)
	}
	status, header, body := faultBody(s, f, id)
	out := w.Header()
	maps.Copy(out, header)
	if f.Kind == fault.TooLarge {
		// The rest of the body was not read: this connection cannot be used again.
		out.Set("Connection", "close")
	}
	out.Set(s.RequestIDHeader(), id)
	writeJSON(w, status, body)
}

// faultBody is the surface's answer to a fault, with the engine's own status where it has one.
func faultBody(s surface.Surface, f *fault.Error, id string) (int, http.Header, []byte) {
	status, header, body := s.Error(f, id)
	if f.Status != 0 {
		status = f.Status
	}
	return status, header, body
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone shows at the next request
}

// serveTurn runs one turn over HTTP.
func (h *Handler) serveTurn(w http.ResponseWriter, r *http.Request, s surface.Surface) {
	a := &answer{h: h, s: s, id: requestID(r), set: h.gw.Settings()}
	if err := a.decode(w, r, s.Decode); err != nil {
		a.refused(w, err)
		return
	}
	var err error
	if a.job, err = h.gw.Begin(r.Context(), a.call(r)); err != nil {
		h.answerFault(w, s, a.id, err)
		return
	}
	a.write(r.Context(), w)
}

// read reads and decodes a body.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, limit int64, decode func([]byte, http.Header) (*surface.Request, error)) (*surface.Request, error) {
	var req *surface.Request
	err := h.withBody(w, r, limit, func(body []byte) (err error) {
		req, err = decode(body, r.Header)
		return err
	})
	return req, err
}

func (h *Handler) serveCount(w http.ResponseWriter, r *http.Request) {
	h.serveCounted(w, r, h.surfaces.Messages, h.surfaces.DecodeCount, h.surfaces.CountBody, nil)
}

// serveCounted counts the prompt of a request. join, which may be nil, puts it together with what came before it.
func (h *Handler) serveCounted(w http.ResponseWriter, r *http.Request, s surface.Surface, decode func([]byte, http.Header) (*surface.Request, error), body func(int) []byte, join func(context.Context, *surface.Request) error) {
	a := &answer{h: h, s: s, id: requestID(r), set: h.gw.Settings()}
	err := a.decode(w, r, decode)
	if err == nil && join != nil {
		err = join(r.Context(), a.req)
	}
	if err != nil {
		a.refused(w, err)
		return
	}
	n, estimate, err := h.gw.Count(r.Context(), a.call(r))
	if err != nil {
		h.answerFault(w, s, a.id, err)
		return
	}
	if estimate {
		w.Header().Set("X-Weir-Count", "estimate")
	}
	w.Header().Set(s.RequestIDHeader(), a.id)
	writeJSON(w, http.StatusOK, body(n))
}

func (h *Handler) serveModels(w http.ResponseWriter, r *http.Request, id string) {
	s, rid := h.surfaceFor(r), requestID(r)
	body, err := h.gw.Models(tenant.KeyOf(r.Header), id)
	if err != nil {
		h.answerFault(w, s, rid, err)
		return
	}
	w.Header().Set(s.RequestIDHeader(), rid)
	writeJSON(w, http.StatusOK, body)
}

func (h *Handler) serveUnknown(w http.ResponseWriter, r *http.Request) {
	h.refuse(w, r, h.surfaceFor(r), fault.New(fault.NotFound, "there is nothing at %s %s", r.Method, printable(r.URL.Path)))
}

// printable shortens a path from outside for an error text.
func printable(s string) string {
	if len(s) > 100 {
		s = s[:100] + "..."
	}
	return string(jsonscan.AppendString(nil, s))
}

// errGone reports whether the client left, so that nobody is there to be answered.
func errGone(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == fault.Canceled
}
