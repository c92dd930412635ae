package responses

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Codes of an answer that failed.
const (
	serverError   = "server_error"
	invalidPrompt = "invalid_prompt"
)

// noSummary is what a compaction without one says.
const noSummary = "The model wrote no summary of the conversation. Try again."

// failure is the code of an answer that failed when it had begun. Codex ends its turn on the codes of a full service,
// so that what passes by itself is a server_error, after which it tries again.
func failure(k fault.Kind) string {
	switch k {
	case fault.Overflow:
		return "context_length_exceeded"
	case fault.Quota:
		return "rate_limit_exceeded"
	case fault.Invalid, fault.Unsupported:
		return invalidPrompt
	}
	return serverError
}

// Error is a fault before the answer began. Of f's cause nothing is told.
func (Surface) Error(f *fault.Error, _ string) (status int, header http.Header, body []byte) {
	e := openAI(f)
	return e.Status, wire.RetryHeader(f), append(e.Append([]byte(`{"error":`)), '}')
}

// openAI is a fault on this surface. What was kept and is not here any more has one code, whether the client names an
// answer or an item: with it clients send the conversation in full.
func openAI(f *fault.Error) wire.OpenAIError {
	e := wire.OpenAIFault(f, "input")
	if f.Kind == fault.NotFound && (f.Param == "previous_response_id" || strings.HasPrefix(f.Param, "input")) {
		e.Status, e.Code = http.StatusBadRequest, "previous_response_not_found"
	}
	return e
}

// ErrorFrame is a fault as a message of a socket. What else would be headers of its answer stands in it.
func ErrorFrame(f *fault.Error, requestID string) []byte {
	e := openAI(f)
	if f.Status != 0 {
		e.Status = f.Status
	}
	b := appendErrorFrame(nil, &e)
	after := wire.RetryHeader(f).Get("Retry-After")
	if after == "" && requestID == "" {
		return append(b, '}')
	}
	b = append(b, `,"headers":{`...)
	if after != "" {
		b = append(append(append(b, `"retry-after":"`...), after...), '"')
	}
	if requestID != "" {
		if after != "" {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(append(b, `"x-request-id":`...), requestID)
	}
	return append(b, `}}`...)
}

// LimitFrame tells a socket that it was open for as long as one may be: clients open another and send the
// conversation in full.
func LimitFrame() []byte {
	e := wire.OpenAI(fault.Invalid, "This connection was open for as long as one may be. Open another one to go on.", "")
	e.Code = "websocket_connection_limit_reached"
	return append(appendErrorFrame(nil, &e), '}')
}

// appendErrorFrame appends the frame up to what it has beside the error.
func appendErrorFrame(b []byte, e *wire.OpenAIError) []byte {
	b = strconv.AppendInt(append(b, `{"type":"error","status":`...), int64(e.Status), 10)
	return e.Append(append(b, `,"error":`...))
}
