//go:build race

package gateway_test

// raceDetector tells that the race detector runs, which makes everything ten times slower.
const raceDetector = true
