package wire

import (
	"fmt"
	"net/http"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// OpenAIError is an error as OpenAI's surfaces tell it.
type OpenAIError struct {
	Status  int
	Type    string
	Code    string // empty is null
	Message string
	Param   string // empty is null
}

// invalid is the type of what the client can mend.
const invalid = "invalid_request_error"

// openAI holds every kind. Clients compact the conversation on context_length_exceeded and try 429 and
// 5xx again.
var openAI = map[fault.Kind]OpenAIError{
	fault.Invalid:      {Status: http.StatusBadRequest, Type: invalid},
	fault.Unsupported:  {Status: http.StatusBadRequest, Type: invalid, Code: "unsupported"},
	fault.Unauthorized: {Status: http.StatusUnauthorized, Type: invalid, Code: "invalid_api_key"},
	fault.Forbidden:    {Status: http.StatusForbidden, Type: invalid, Code: "forbidden"},
	fault.NotFound:     {Status: http.StatusNotFound, Type: invalid, Code: "not_found"},
	fault.Conflict:     {Status: http.StatusConflict, Type: invalid, Code: "conflict"},
	fault.TooLarge:     {Status: http.StatusRequestEntityTooLarge, Type: invalid, Code: "request_too_large"},
	fault.Overflow:     {Status: http.StatusBadRequest, Type: invalid, Code: "context_length_exceeded"},
	fault.Quota:        {Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded"},
	fault.Busy:         {Status: http.StatusServiceUnavailable, Type: "server_error", Code: "engine_overloaded"},
	fault.Unavailable:  {Status: http.StatusServiceUnavailable, Type: "server_error", Code: "engine_unavailable"},
	fault.Engine:       {Status: http.StatusBadGateway, Type: "server_error", Code: "engine_error"},
	fault.Plugin:       {Status: http.StatusInternalServerError, Type: "server_error", Code: "plugin_error"},
	fault.Timeout:      {Status: http.StatusGatewayTimeout, Type: "server_error", Code: "timeout"},
	fault.Canceled:     {Status: 499, Type: invalid, Code: "canceled"}, // the status that proxies log for a client that left
	fault.Internal:     {Status: http.StatusInternalServerError, Type: "server_error", Code: "internal_error"},
}

// OpenAI is what a kind of fault is on OpenAI's surfaces.
func OpenAI(k fault.Kind, message, param string) OpenAIError {
	e, ok := openAI[k]
	if !ok {
		e = openAI[fault.Internal]
	}
	if k == fault.NotFound && param == "model" {
		e.Code = "model_not_found"
	}
	e.Message, e.Param = message, param
	return e
}

// OpenAIFault is OpenAI of a fault before the stream. Of its cause nothing is told. conversation names the member
// that holds the prompt. Clients know a full window by its text.
func OpenAIFault(f *fault.Error, conversation string) OpenAIError {
	if f.Kind != fault.Overflow {
		return OpenAI(f.Kind, Message(f), f.Param)
	}
	text := "Your messages exceed this model's maximum context length."
	switch {
	case f.Limit >= f.Tokens && f.Tokens > 0: // the first of the numbers that clients read is the larger
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion).", f.Limit, f.Tokens+f.Room, f.Tokens, f.Room)
	case f.Limit > 0 && f.Tokens > 0:
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", f.Limit, f.Tokens)
	case f.Limit > 0:
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in more.", f.Limit)
	}
	return OpenAI(f.Kind, text, conversation)
}

// Append appends the object that is the error.
func (e *OpenAIError) Append(b []byte) []byte {
	b = jsonscan.AppendString(append(b, `{"message":`...), e.Message)
	b = append(append(b, `,"type":"`...), e.Type...)
	b = AppendNullable(append(b, `","param":`...), e.Param)
	b = AppendNullable(append(b, `,"code":`...), e.Code)
	return append(b, '}')
}

// AppendNullable appends a string, an empty one as null.
func AppendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return jsonscan.AppendString(b, s)
}
