package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Hop stands on loopback between a client and a server, and keeps what passes. It can do harm to sockets.
type Hop struct {
	URL string // without a slash at the end

	http   *http.Server
	proxy  *httputil.ReverseProxy
	done   sync.WaitGroup
	meddle Meddle   // may be nil
	hidden []string // headers of the server's 101 that the client does not see

	mu       sync.Mutex
	target   *url.URL      // guarded by mu
	requests []*HopRequest // guarded by mu
	sockets  []*HopSocket  // guarded by mu
}

// HopRequest is a request over HTTP, one for a socket included. Answer is what came back so far.
type HopRequest struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Status       int
	Answer       []byte
}

// HopSocket is what passed over a socket, both ways in the order of arrival.
type HopSocket struct {
	Header   http.Header // of the client's request
	Answer   http.Header // of the server's 101
	Messages []HopMessage
}

// HopMessage is a whole text message, or the code of a close frame.
type HopMessage struct {
	FromServer bool
	Text       []byte
	Close      int
}

// Meddle is asked about each message before it is passed on. socket and message count from 0, the latter those of one
// socket both ways. It returns what is passed on, which may be another text, or why not.
type Meddle func(socket, message int, fromServer bool, text []byte) ([]byte, error)

// Errors that a Meddle returns.
var (
	// ErrCut breaks both connections, as a network does.
	ErrCut = errors.New("cut")
	// ErrTooBig closes the client's side with 1009, as a server does that takes no message of this size.
	ErrTooBig = errors.New("message too big")
)

// maxHopBody bounds what is kept of a body.
const maxHopBody = 16 << 20

// NewHop listens in front of a server until it is closed. hidden are headers with which the server takes a socket, and
// of which the client shall not know.
func NewHop(ctx context.Context, target string, meddle Meddle, hidden ...string) (*Hop, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &Hop{URL: "http://" + l.Addr().String(), meddle: meddle, hidden: hidden}
	if err := h.Point(target); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	h.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(h.to()) },
		FlushInterval: -1,
		// A client that leaves is nothing to write home about.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	}
	h.http = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	h.done.Go(func() { _ = h.http.Serve(l) }) // until Close
	return h, nil
}

// Point has what comes from now on go to another server.
func (h *Hop) Point(target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target = u
	return nil
}

func (h *Hop) to() *url.URL {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.target
}

// Close ends everything that passes.
func (h *Hop) Close() {
	_ = h.http.Close() // nothing is left to do about it
	h.done.Wait()
	h.proxy.Transport.(*http.Transport).CloseIdleConnections()
}

// Requests are copies of what was asked so far, except for models.
func (h *Hop) Requests() []HopRequest {
	return h.requestsTo(func(path string) bool { return path != modelsPath })
}

// Catalogues are the requests for the list of models.
func (h *Hop) Catalogues() []HopRequest {
	return h.requestsTo(func(path string) bool { return path == modelsPath })
}

const modelsPath = "/v1/models"

func (h *Hop) requestsTo(wanted func(path string) bool) []HopRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []HopRequest
	for _, r := range h.requests {
		if wanted(r.Path) {
			c := *r
			c.Answer = slices.Clone(c.Answer)
			all = append(all, c)
		}
	}
	return all
}

// Sockets are copies of what passed over sockets so far.
func (h *Hop) Sockets() []HopSocket {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []HopSocket
	for _, s := range h.sockets {
		c := *s
		c.Messages = slices.Clone(c.Messages)
		all = append(all, c)
	}
	return all
}

// ServeHTTP passes one request on.
func (h *Hop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxHopBody+1))
	if err != nil || len(body) > maxHopBody {
		http.Error(w, fmt.Sprintf("read the request: %v", err), http.StatusBadRequest)
		return
	}
	kept := &HopRequest{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	h.mu.Lock()
	h.requests = append(h.requests, kept)
	h.mu.Unlock()
	if r.Header.Get("Upgrade") != "" {
		h.upgrade(w, r, kept)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.proxy.ServeHTTP(&hopWriter{ResponseWriter: w, hop: h, kept: kept}, r)
}

// hopWriter keeps what is answered.
type hopWriter struct {
	http.ResponseWriter
	hop  *Hop
	kept *HopRequest
}

// WriteHeader keeps the status.
func (w *hopWriter) WriteHeader(status int) {
	w.hop.mu.Lock()
	w.kept.Status = status
	w.hop.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

// Write keeps the bytes.
func (w *hopWriter) Write(b []byte) (int, error) {
	w.hop.mu.Lock()
	if len(w.kept.Answer)+len(b) <= maxHopBody {
		w.kept.Answer = append(w.kept.Answer, b...)
	}
	w.hop.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *hopWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
