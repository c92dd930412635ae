// Package surface is the contract of a client protocol: bytes to a canonical request, canonical events
// to frames, a folded turn to one body, a fault to a status and a body. The folders below implement it;
// nothing outside them knows a protocol's schema.
package surface

import (
	"net/http"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// Request is a decoded request with what only its surface cares about.
type Request struct {
	*conv.Request
	// IncludeUsage asks chat for its usage chunk (stream_options.include_usage).
	IncludeUsage bool
	// Ignored names members that were understood and have no effect here, for the log.
	Ignored []string
	// Seal says how reasoning goes out sealed, so that it can come back as the model thought it.
	Seal SealMode
	// Own is what the surface itself reads again to answer; nil where it needs nothing.
	Own any
}

// SealMode is what a surface needs of the seal of reasoning.
type SealMode uint8

// Modes of seals.
const (
	SealNone SealMode = iota // the surface has no place for one
	SealTag                  // the text goes out beside it: a short tag that vouches for it
	SealFull                 // the seal holds the text
)

// Info is what an encoder needs beside the request.
type Info struct {
	ID       string    // of the answer, without the surface's prefix: [A-Za-z0-9]{24}
	Model    string    // as the client wrote it
	Created  time.Time // when the turn began
	Dispatch bool      // emit tool_call_dispatch
}

// Encoder writes one streamed turn. Event is called from the turn's goroutine; KeepAlive may be called
// from a timer, never while Event runs (the caller locks).
type Encoder interface {
	event.Sink
	// KeepAlive writes what this surface's clients count as life while the engine is silent.
	KeepAlive() error
}

// Surface is one protocol. Implementations hold no state but what makes Decode faster, and are safe for concurrent use.
type Surface interface { //nolint:interfacebloat // because it is all that differs between protocols, in one place
	// Name labels metrics and logs: chat, messages.
	Name() string
	// Decode reads a request body, to which nothing that it returns refers. The values of the request may be shared with
	// other requests; the lists of messages and tools are its own. Its errors are *fault.Error with Param naming the place.
	Decode(body []byte, header http.Header) (*Request, error)
	// Encode streams a turn to w. Frames are complete after every event; the caller flushes.
	Encode(req *Request, info Info, w transport.Writer) Encoder
	// Body is the answer to a request that did not ask for a stream.
	Body(req *Request, info Info, res *event.Result) []byte
	// Error is a fault before anything was streamed. header holds what goes beside the usual ones.
	Error(f *fault.Error, requestID string) (status int, header http.Header, body []byte)
	// RequestIDHeader is the response header that carries the request id.
	RequestIDHeader() string
}

// TokenizeRequest asks for the tokens of a text, or of a conversation as the model gets it.
type TokenizeRequest struct {
	Model   string
	Chat    *Request // the conversation; nil for a text
	Text    string
	Special bool // of a text: with the tokens that the vocabulary's own rule puts around one
	Strings bool // the texts of the tokens too
}

// TokenizeResult is what a TokenizeRequest asked for.
type TokenizeResult struct {
	Tokens  []uint32
	Strings []string // one a token; nil when they were not asked for
	Context int      // the model's window, in tokens
}

// DetokenizeRequest asks for the text of tokens.
type DetokenizeRequest struct {
	Model  string
	Tokens []uint32
}

// Tokens is a surface that has endpoints for the tokens of a model. As those of Surface, its methods are safe
// for concurrent use, what they decode does not refer to the body, and errors of decoding are *fault.Error.
type Tokens interface {
	DecodeTokenize(body []byte, header http.Header) (*TokenizeRequest, error)
	// TokenizeBody is the answer. In it a token's text that is not UTF-8 has U+FFFD.
	TokenizeBody(res *TokenizeResult) []byte
	DecodeDetokenize(body []byte) (*DetokenizeRequest, error)
	DetokenizeBody(text []byte) []byte
}
