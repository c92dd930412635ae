package chat

import (
	"net/http"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Error is a fault before the stream. Of f's cause nothing is told.
func (Surface) Error(f *fault.Error, _ string) (status int, header http.Header, body []byte) {
	e := wire.OpenAIFault(f, "messages")
	return e.Status, wire.RetryHeader(f), appendError(nil, &e)
}

func appendError(b []byte, e *wire.OpenAIError) []byte {
	return append(e.Append(append(b, `{"error":`...)), '}')
}
