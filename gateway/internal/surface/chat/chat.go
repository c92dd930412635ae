// Package chat is the surface of OpenAI's chat completions.
package chat

import "github.com/weirgate/weir/gateway/internal/surface"

// Surface is chat completions. It holds nothing and is safe for concurrent use.
type Surface struct{}

// Name returns "chat".
func (Surface) Name() string { return "chat" }

// RequestIDHeader returns the header in which this surface's clients look for the request id.
func (Surface) RequestIDHeader() string { return "X-Request-Id" }

const idPrefix = "chatcmpl-"

var _ surface.Surface = Surface{}
