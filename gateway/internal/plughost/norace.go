//go:build !race

package plughost

// raceDetector tells that the race detector runs: sync.Pool then loses things on purpose.
const raceDetector = false
