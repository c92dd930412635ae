package wire

import "github.com/weirgate/weir/abi/event"

// Usage is the account of a turn: what the engine said at the end, with the prompt as it was counted
// at the start where the engine did not say.
func Usage(start, end event.Usage) event.Usage {
	if end.Input == 0 {
		end.Input, end.Estimate = start.Input, start.Estimate
	}
	if end.Cached > end.Input {
		end.Cached = end.Input
	}
	return end
}
