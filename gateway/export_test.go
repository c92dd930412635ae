package gateway

import "github.com/weirgate/weir/gateway/internal/plughost"

// Plugins lists what the registry holds, and what it refused.
func (g *Gateway) Plugins() []plughost.Status { return g.registry.Status() }

// LivePlugins is the number of plugin versions whose runtime is not closed.
func (g *Gateway) LivePlugins() int { return g.host.Live() }

// Recalled is how many bytes are held of what was decoded.
func (g *Gateway) Recalled() int { return g.chat.Recall.Bytes() }
