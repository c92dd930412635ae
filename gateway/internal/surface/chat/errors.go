package chat

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
	code   string // error.code; empty is null
}

const invalid = "invalid_request_error"

// rows holds every kind. Clients compact the conversation on context_length_exceeded and try 429 and
// 5xx again.
var rows = map[fault.Kind]row{
	fault.Invalid:      {http.StatusBadRequest, invalid, ""},
	fault.Unsupported:  {http.StatusBadRequest, invalid, "unsupported"},
	fault.Unauthorized: {http.StatusUnauthorized, invalid, "invalid_api_key"},
	fault.Forbidden:    {http.StatusForbidden, invalid, "forbidden"},
	fault.NotFound:     {http.StatusNotFound, invalid, "model_not_found"},
	fault.Conflict:     {http.StatusConflict, invalid, "conflict"},
	fault.TooLarge:     {http.StatusRequestEntityTooLarge, invalid, "request_too_large"},
	fault.Overflow:     {http.StatusBadRequest, invalid, "context_length_exceeded"},
	fault.Quota:        {http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded"},
	fault.Busy:         {http.StatusServiceUnavailable, "server_error", "engine_overloaded"},
	fault.Unavailable:  {http.StatusServiceUnavailable, "server_error", "engine_unavailable"},
	fault.Engine:       {http.StatusBadGateway, "server_error", "engine_error"},
	fault.Plugin:       {http.StatusInternalServerError, "server_error", "plugin_error"},
	fault.Timeout:      {http.StatusGatewayTimeout, "server_error", "timeout"},
	fault.Canceled:     {499, invalid, "canceled"}, // the status that proxies log for a client that left
	fault.Internal:     {http.StatusInternalServerError, "server_error", "internal_error"},
}

func rowOf(k fault.Kind) row {
	if r, ok := rows[k]; ok {
		return r
	}
	return rows[fault.Internal]
}

// Error is a fault before the stream. Of f's cause nothing is told.
func (Surface) Error(f *fault.Error, _ string) (status int, header http.Header, body []byte) {
	param := f.Param
	text := wire.Message(f)
	if f.Kind == fault.Overflow {
		param, text = "messages", overflow(f)
	}
	return rowOf(f.Kind).status, wire.RetryHeader(f), appendError(nil, f.Kind, text, param)
}

// overflow is the text that clients know as a full window.
func overflow(f *fault.Error) string {
	switch {
	case f.Limit > 0 && f.Tokens > 0:
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", f.Limit, f.Tokens)
	case f.Limit > 0:
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in more.", f.Limit)
	}
	return "Your messages exceed this model's maximum context length."
}

func appendError(b []byte, k fault.Kind, text, param string) []byte {
	r := rowOf(k)
	b = jsonscan.AppendString(append(b, `{"error":{"message":`...), text)
	b = append(append(b, `,"type":"`...), r.kind...)
	b = append(b, `","param":`...)
	b = appendNullable(b, param)
	code := r.code
	if k == fault.NotFound && param != "model" {
		code = "not_found"
	}
	b = append(b, `,"code":`...)
	b = appendNullable(b, code)
	return append(b, `}}`...)
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return jsonscan.AppendString(b, s)
}
