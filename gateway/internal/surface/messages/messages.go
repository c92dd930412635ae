// Package messages is the surface of Anthropic's messages.
package messages

import (
	"strconv"

	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// Surface is messages. The zero Surface is ready. It is safe for concurrent use.
type Surface struct {
	Recall *recall.Memory // of what was decoded before; nil: each body is decoded whole
}

// Name returns "messages".
func (Surface) Name() string { return "messages" }

// RequestIDHeader returns the header in which this surface's clients look for the request id.
func (Surface) RequestIDHeader() string { return "Request-Id" }

// CountBody is the answer of count_tokens for a prompt of n tokens.
func CountBody(n int) []byte {
	return append(strconv.AppendInt([]byte(`{"input_tokens":`), int64(n), 10), '}')
}

const idPrefix = "msg_"

// unsealed is the signature of thinking that the turn did not seal. Clients replay a signature as it
// came; this one says nothing and is taken off again.
const unsealed = "weir1.unsealed"

var _ surface.Surface = Surface{}
