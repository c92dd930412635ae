// Package chat is the surface of OpenAI's chat completions.
package chat

import (
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// Surface is chat completions. The zero Surface is ready. It is safe for concurrent use.
type Surface struct {
	Recall *recall.Memory // of what was decoded before; nil: each body is decoded whole
}

// Name returns "chat".
func (Surface) Name() string { return "chat" }

// RequestIDHeader returns the header in which this surface's clients look for the request id.
func (Surface) RequestIDHeader() string { return "X-Request-Id" }

const idPrefix = "chatcmpl-"

var _ surface.Surface = Surface{}
