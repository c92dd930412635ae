package responses

import (
	"net/http"

	"github.com/weirgate/weir/gateway/internal/surface"
)

// DecodeCount reads the body of input_tokens, which says what Decode reads and is never answered.
func DecodeCount(body []byte, header http.Header) (*surface.Request, error) {
	req, err := decode(body, header, true)
	if err != nil {
		return nil, err
	}
	OwnOf(req).Store, req.Stream = false, false
	return req, nil
}

// DecodeCompact reads the body of compact, whose answer is one compaction item as if the input ended with a trigger.
func DecodeCompact(body []byte, header http.Header) (*surface.Request, error) {
	req, err := decode(body, header, false)
	if err != nil {
		return nil, err
	}
	own := OwnOf(req)
	own.Compact, own.Store, own.NoGenerate, req.Stream = true, false, false, false
	return req, nil
}
