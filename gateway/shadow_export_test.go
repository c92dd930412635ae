package gateway

// Shadows is what the page of shadows shows.
func (g *Gateway) Shadows() []byte { return g.shadowPage().Append(nil) }

// Drawn is the choice of streams for a canary.
func Drawn(share float64, names ...string) bool { return drawn(share, names...) }
