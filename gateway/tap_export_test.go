package gateway

import (
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/sim"
)

// Simulate puts what of makes of a simulated engine's settings in the place of the engine. Nothing may run yet.
func (g *Gateway) Simulate(name string, of func(sim.Config) engines.Engine) {
	e := g.pool.live[name]
	e.Engine = of(g.simConfig(e.config))
}

// Assets is what a model's files came to. It is the same for as long as they are not read again.
func (g *Gateway) Assets(model string) any { return g.current.Load().models[model].assets }
