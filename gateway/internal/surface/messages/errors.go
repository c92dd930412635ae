package messages

import (
	"fmt"
	"net/http"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// row is what a kind of fault is on this surface.
type row struct {
	status int
	kind   string // error.type
}

const invalid = "invalid_request_error"

// rows holds every kind. 529 is this surface's own status for a busy service.
var rows = map[fault.Kind]row{
	fault.Invalid:      {http.StatusBadRequest, invalid},
	fault.Unsupported:  {http.StatusBadRequest, invalid},
	fault.Unauthorized: {http.StatusUnauthorized, "authentication_error"},
	fault.Forbidden:    {http.StatusForbidden, "permission_error"},
	fault.NotFound:     {http.StatusNotFound, "not_found_error"},
	fault.Conflict:     {http.StatusConflict, invalid},
	fault.TooLarge:     {http.StatusRequestEntityTooLarge, "request_too_large"},
	fault.Overflow:     {http.StatusBadRequest, invalid},
	fault.Quota:        {http.StatusTooManyRequests, "rate_limit_error"},
	fault.Busy:         {529, "overloaded_error"},
	fault.Unavailable:  {http.StatusServiceUnavailable, "api_error"},
	fault.Engine:       {http.StatusBadGateway, "api_error"},
	fault.Plugin:       {http.StatusInternalServerError, "api_error"},
	fault.Timeout:      {http.StatusGatewayTimeout, "timeout_error"},
	fault.Canceled:     {499, invalid}, // the status that proxies log for a client that left
	fault.Internal:     {http.StatusInternalServerError, "api_error"},
}

func rowOf(k fault.Kind) row {
	if r, ok := rows[k]; ok {
		return r
	}
	return rows[fault.Internal]
}

// Error is a fault before the stream. Of f's cause nothing is told.
func (Surface) Error(f *fault.Error, requestID string) (status int, header http.Header, body []byte) {
	text := wire.Message(f)
	if f.Kind == fault.Overflow {
		text = overflow(f)
	}
	return rowOf(f.Kind).status, wire.RetryHeader(f), appendError(nil, f.Kind, text, requestID)
}

// overflow is the text on which clients compact the conversation; they read its numbers.
func overflow(f *fault.Error) string {
	switch {
	case f.Limit > 0 && f.Tokens > 0:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", f.Tokens, f.Limit-f.Room)
	case f.Limit > 0:
		return fmt.Sprintf("prompt is too long: it exceeds the context window of %d tokens", f.Limit)
	}
	return "prompt is too long: it exceeds the context window"
}

func appendError(b []byte, k fault.Kind, text, requestID string) []byte {
	b = append(append(b, `{"type":"error","error":{"type":"`...), rowOf(k).kind...)
	b = jsonscan.AppendString(append(b, `","message":`...), text)
	b = append(b, '}')
	if requestID != "" {
		b = jsonscan.AppendString(append(b, `,"request_id":`...), requestID)
	}
	return append(b, '}')
}
