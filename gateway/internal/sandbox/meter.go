package sandbox

// Globals that Prepare adds to a module and exports, for the host alone: a guest cannot name them, since
// their indices are past its own. A module that exports one of the names itself is refused.
const (
	// ExportFuel is a mutable i64: what a call may still spend. The host sets it before a call; a call
	// that brings it below zero traps, and it stays below zero.
	ExportFuel = "weir fuel"
	// ExportDepth is a mutable i32: how many functions are open. It is 0 between calls; a call that brings
	// it above Limits.Depth traps and leaves it so.
	ExportDepth = "weir depth"
)
