//go:build !linux

package plughost

// populate leaves it to the system to give b its memory when it is touched.
func populate([]byte) {}
